/** Every route that the front serves. */
import type { Route } from '../route.js';
import { ackBatchRoute, ackRoute } from './ack.js';
import { configureRoute } from './configure.js';
import { extendRoute } from './extend.js';
import { fetchRoute } from './fetch.js';
import { healthRoute } from './health.js';
import {
  membershipLearnersRoute,
  membershipMemberRoute,
  membershipPromoteRoute,
  membershipRoute,
  membershipVotersRoute,
} from './membership.js';
import { metricsRoute } from './metrics.js';
import { popDiscoveryRoute, popPartitionRoute, popQueueRoute } from './pop.js';
import { prometheusRoute } from './prometheus.js';
import { pushRoute } from './push.js';
import { queueDeleteRoute } from './queue-delete.js';
import { queueDepthRoute } from './queue-depth.js';
import { queueDetailRoute } from './queue-detail.js';
import { queueListRoute } from './queue-list.js';
import { raftMembersRoute } from './raft-members.js';
import { raftStatusRoute } from './raft-status.js';

export const ROUTES: readonly Route[] = [
  pushRoute,
  popQueueRoute,
  popPartitionRoute,
  popDiscoveryRoute,
  ackRoute,
  ackBatchRoute,
  extendRoute,
  configureRoute,
  queueListRoute,
  queueDetailRoute,
  queueDepthRoute,
  queueDeleteRoute,
  fetchRoute,
  healthRoute,
  metricsRoute,
  prometheusRoute,
  raftStatusRoute,
  raftMembersRoute,
  membershipRoute,
  membershipLearnersRoute,
  membershipPromoteRoute,
  membershipVotersRoute,
  membershipMemberRoute,
];
