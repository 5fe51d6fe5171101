/** Every route that the front serves. */
import type { Route } from '../route.js';
import { ackBatchRoute, ackRoute } from './ack.js';
import { configureRoute } from './configure.js';
import { deadLetterListRoute, deadLetterPurgeRoute } from './dead-letter-list.js';
import { deadLetterReplayRoute, messageRetryRoute } from './dead-letter-replay.js';
import { deadLetterSignaturesRoute } from './dead-letter-signatures.js';
import { extendRoute } from './extend.js';
import { fetchRoute } from './fetch.js';
import { fetchOffsetsRoute } from './fetch-offsets.js';
import { groupDeleteRoute, groupQueueDeleteRoute } from './group-delete.js';
import { groupDetailRoute, groupListRoute, laggingGroupsRoute } from './group-reads.js';
import { seekPartitionRoute, seekQueueRoute } from './group-seek.js';
import { groupSubscriptionRoute } from './group-subscription.js';
import { healthRoute } from './health.js';
import { identityRoute } from './identity.js';
import {
  membershipLearnersRoute,
  membershipMemberRoute,
  membershipPromoteRoute,
  membershipRoute,
  membershipVotersRoute,
} from './membership.js';
import { messageListRoute } from './message-list.js';
import { messageDeleteRoute, messageRoute } from './message-one.js';
import { metricsRoute } from './metrics.js';
import { openApiRoute } from './openapi.js';
import { partitionsChangedRoute } from './partitions-changed.js';
import { popDiscoveryRoute, popPartitionRoute, popQueueRoute } from './pop.js';
import { prometheusRoute } from './prometheus.js';
import { pushRoute } from './push.js';
import { queueDeleteRoute } from './queue-delete.js';
import { queueDepthRoute } from './queue-depth.js';
import { queueDetailRoute } from './queue-detail.js';
import { queueListRoute } from './queue-list.js';
import { queueSizesRoute } from './queue-sizes.js';
import { raftMembersRoute } from './raft-members.js';
import { raftStatusRoute } from './raft-status.js';
import { namespacesRoute, tasksRoute } from './resource-labels.js';
import { resourceOverviewRoute } from './resource-overview.js';
import { resourcePartitionsRoute } from './resource-partitions.js';
import { messageTracesRoute, namedTracesRoute, traceNamesRoute } from './trace-reads.js';
import { traceWriteRoute } from './trace-write.js';
import { transactionRoute } from './transaction.js';

const DESCRIBED: readonly Route[] = [
  pushRoute,
  popQueueRoute,
  popPartitionRoute,
  popDiscoveryRoute,
  ackRoute,
  ackBatchRoute,
  transactionRoute,
  messageListRoute,
  messageRoute,
  messageDeleteRoute,
  messageRetryRoute,
  deadLetterListRoute,
  deadLetterPurgeRoute,
  deadLetterReplayRoute,
  deadLetterSignaturesRoute,
  traceWriteRoute,
  traceNamesRoute,
  // Before the traces of a message, whose path has as many segments.
  namedTracesRoute,
  messageTracesRoute,
  extendRoute,
  configureRoute,
  queueListRoute,
  queueDetailRoute,
  queueDepthRoute,
  queueDeleteRoute,
  queueSizesRoute,
  resourcePartitionsRoute,
  resourceOverviewRoute,
  namespacesRoute,
  tasksRoute,
  fetchRoute,
  fetchOffsetsRoute,
  partitionsChangedRoute,
  groupListRoute,
  laggingGroupsRoute,
  groupDetailRoute,
  groupDeleteRoute,
  groupQueueDeleteRoute,
  groupSubscriptionRoute,
  seekQueueRoute,
  seekPartitionRoute,
  healthRoute,
  metricsRoute,
  prometheusRoute,
  identityRoute,
  raftStatusRoute,
  raftMembersRoute,
  membershipRoute,
  membershipLearnersRoute,
  membershipPromoteRoute,
  membershipVotersRoute,
  membershipMemberRoute,
];

export const ROUTES: readonly Route[] = [...DESCRIBED, openApiRoute(DESCRIBED)];
