/** Every route that the front serves. */

import { systemMetricsRoute, workerMetricsRoute } from '../endpoints/analytics/processes.js';
import {
  parkedReplicasRoute,
  queueLagRoute,
  queueOpsRoute,
} from '../endpoints/analytics/queues.js';
import { retentionRoute } from '../endpoints/analytics/retention.js';
import { statusRoute } from '../endpoints/analytics/status.js';
import {
  statusAnalyticsRoute,
  statusQueueRoute,
  statusQueuesRoute,
} from '../endpoints/analytics/status-queues.js';
import { workloadRoute } from '../endpoints/analytics/workload.js';
import { ephemeralAckRoute } from '../endpoints/ephemeral/ack.js';
import { ephemeralPopRoute } from '../endpoints/ephemeral/pop.js';
import { ephemeralPushRoute } from '../endpoints/ephemeral/push.js';
import {
  ephemeralConfigureRoute,
  ephemeralDeleteRoute,
  ephemeralDepthRoute,
  ephemeralListRoute,
  ephemeralResetRoute,
} from '../endpoints/ephemeral/queues.js';
import { groupDeleteRoute, groupQueueDeleteRoute } from '../endpoints/groups/delete.js';
import { groupPositionsRoute } from '../endpoints/groups/positions.js';
import { groupDetailRoute, groupListRoute, laggingGroupsRoute } from '../endpoints/groups/reads.js';
import { seekPartitionRoute, seekQueueRoute } from '../endpoints/groups/seek.js';
import { groupSubscriptionRoute } from '../endpoints/groups/subscription.js';
import { kvRoute } from '../endpoints/kv/kv.js';
import { kvListRoute, kvNamespacesRoute } from '../endpoints/kv/kv-list.js';
import { kvDeleteRoute, kvGetRoute, kvPutRoute } from '../endpoints/kv/kv-path.js';
import { locksRoute } from '../endpoints/kv/locks.js';
import { ackBatchRoute, ackRoute } from '../endpoints/messages/ack.js';
import { extendRoute } from '../endpoints/messages/extend.js';
import { fetchRoute } from '../endpoints/messages/fetch.js';
import { fetchOffsetsRoute } from '../endpoints/messages/fetch-offsets.js';
import { popDiscoveryRoute, popPartitionRoute, popQueueRoute } from '../endpoints/messages/pop.js';
import { pushRoute } from '../endpoints/messages/push.js';
import { transactionRoute } from '../endpoints/messages/transaction.js';
import { healthRoute } from '../endpoints/node/health.js';
import { identityRoute } from '../endpoints/node/identity.js';
import {
  leadershipTransferRoute,
  membershipLearnersRoute,
  membershipMemberRoute,
  membershipPromoteRoute,
  membershipRoute,
  membershipVotersRoute,
} from '../endpoints/node/membership.js';
import { metricsRoute } from '../endpoints/node/metrics.js';
import { processStatusRoute } from '../endpoints/node/process-status.js';
import { prometheusRoute } from '../endpoints/node/prometheus.js';
import { raftLivenessRoute } from '../endpoints/node/raft-liveness.js';
import { raftMembersRoute } from '../endpoints/node/raft-members.js';
import { raftStatusRoute } from '../endpoints/node/raft-status.js';
import {
  linkPromoteRoute,
  linkRoute,
  sharedStateRoute,
  statsRefreshRoute,
} from '../endpoints/node/system.js';
import {
  ephemeralSwitchRoute,
  setEphemeralSwitchRoute,
  setSwitchesRoute,
  switchesRoute,
} from '../endpoints/node/system-switches.js';
import { quotaRoutes, tenantPurgeRoute } from '../endpoints/node/tenant-quota.js';
import { configureRoute } from '../endpoints/queues/configure.js';
import { partitionLivenessRoute } from '../endpoints/queues/partition-liveness.js';
import { partitionsChangedRoute } from '../endpoints/queues/partitions-changed.js';
import { queueDeleteRoute } from '../endpoints/queues/queue-delete.js';
import { queueDepthRoute } from '../endpoints/queues/queue-depth.js';
import { queueDetailRoute } from '../endpoints/queues/queue-detail.js';
import { queueListRoute } from '../endpoints/queues/queue-list.js';
import { queueSizesRoute } from '../endpoints/queues/queue-sizes.js';
import { namespacesRoute, tasksRoute } from '../endpoints/queues/resource-labels.js';
import { resourceOverviewRoute } from '../endpoints/queues/resource-overview.js';
import { resourcePartitionsRoute } from '../endpoints/queues/resource-partitions.js';
import { timerQueuesRoute } from '../endpoints/queues/resource-timers.js';
import {
  deadLetterListRoute,
  deadLetterPurgeRoute,
} from '../endpoints/records/dead-letter-list.js';
import {
  deadLetterReplayRoute,
  messageRetryRoute,
} from '../endpoints/records/dead-letter-replay.js';
import { deadLetterSignaturesRoute } from '../endpoints/records/dead-letter-signatures.js';
import { messageListRoute } from '../endpoints/records/message-list.js';
import { messageDeleteRoute, messageRoute } from '../endpoints/records/message-one.js';
import {
  messageTracesRoute,
  namedTracesRoute,
  traceNamesRoute,
} from '../endpoints/records/trace-reads.js';
import { traceWriteRoute } from '../endpoints/records/trace-write.js';
import { streamCycleRoute } from '../endpoints/streams/cycle.js';
import { streamQueryRoute } from '../endpoints/streams/query.js';
import { streamStateRoute } from '../endpoints/streams/state.js';
import { timerCancelRoute, timerListRoute, timerPeekRoute } from '../endpoints/timers/reads.js';
import { timersRoute } from '../endpoints/timers/timers.js';
import { openApiRoute } from '../openapi/route.js';
import type { Route } from '../routing/route.js';

const DESCRIBED: readonly Route[] = [
  pushRoute,
  popQueueRoute,
  popPartitionRoute,
  popDiscoveryRoute,
  ackRoute,
  ackBatchRoute,
  transactionRoute,
  kvRoute,
  kvNamespacesRoute,
  kvListRoute,
  kvGetRoute,
  kvPutRoute,
  kvDeleteRoute,
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
  timersRoute,
  timerQueuesRoute,
  timerListRoute,
  timerPeekRoute,
  timerCancelRoute,
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
  ephemeralPushRoute,
  ephemeralPopRoute,
  ephemeralAckRoute,
  ephemeralConfigureRoute,
  ephemeralResetRoute,
  ephemeralDeleteRoute,
  ephemeralListRoute,
  ephemeralDepthRoute,
  fetchRoute,
  fetchOffsetsRoute,
  partitionsChangedRoute,
  streamQueryRoute,
  streamStateRoute,
  streamCycleRoute,
  groupListRoute,
  laggingGroupsRoute,
  groupDetailRoute,
  groupDeleteRoute,
  groupQueueDeleteRoute,
  groupPositionsRoute,
  groupSubscriptionRoute,
  seekQueueRoute,
  seekPartitionRoute,
  statusRoute,
  statusQueuesRoute,
  statusQueueRoute,
  statusAnalyticsRoute,
  queueOpsRoute,
  queueLagRoute,
  parkedReplicasRoute,
  workloadRoute,
  retentionRoute,
  systemMetricsRoute,
  workerMetricsRoute,
  partitionLivenessRoute,
  statsRefreshRoute,
  sharedStateRoute,
  linkRoute,
  linkPromoteRoute,
  processStatusRoute,
  healthRoute,
  metricsRoute,
  prometheusRoute,
  identityRoute,
  raftStatusRoute,
  raftMembersRoute,
  raftLivenessRoute,
  membershipRoute,
  membershipLearnersRoute,
  membershipPromoteRoute,
  membershipVotersRoute,
  membershipMemberRoute,
  leadershipTransferRoute,
  locksRoute,
  switchesRoute,
  setSwitchesRoute,
  ephemeralSwitchRoute,
  setEphemeralSwitchRoute,
  ...quotaRoutes,
  tenantPurgeRoute,
];

export const ROUTES: readonly Route[] = [...DESCRIBED, openApiRoute(DESCRIBED)];
