/** Every route that the front serves. */
import type { Route } from '../route.js';
import { ackBatchRoute, ackRoute } from './ack.js';
import { systemMetricsRoute, workerMetricsRoute } from './analytics-processes.js';
import { parkedReplicasRoute, queueLagRoute, queueOpsRoute } from './analytics-queues.js';
import { retentionRoute } from './analytics-retention.js';
import { workloadRoute } from './analytics-workload.js';
import { configureRoute } from './configure.js';
import { deadLetterListRoute, deadLetterPurgeRoute } from './dead-letter-list.js';
import { deadLetterReplayRoute, messageRetryRoute } from './dead-letter-replay.js';
import { deadLetterSignaturesRoute } from './dead-letter-signatures.js';
import { ephemeralAckRoute } from './ephemeral-ack.js';
import { ephemeralPopRoute } from './ephemeral-pop.js';
import { ephemeralPushRoute } from './ephemeral-push.js';
import {
  ephemeralConfigureRoute,
  ephemeralDeleteRoute,
  ephemeralDepthRoute,
  ephemeralListRoute,
  ephemeralResetRoute,
} from './ephemeral-queues.js';
import { extendRoute } from './extend.js';
import { fetchRoute } from './fetch.js';
import { fetchOffsetsRoute } from './fetch-offsets.js';
import { groupDeleteRoute, groupQueueDeleteRoute } from './group-delete.js';
import { groupPositionsRoute } from './group-positions.js';
import { groupDetailRoute, groupListRoute, laggingGroupsRoute } from './group-reads.js';
import { seekPartitionRoute, seekQueueRoute } from './group-seek.js';
import { groupSubscriptionRoute } from './group-subscription.js';
import { healthRoute } from './health.js';
import { identityRoute } from './identity.js';
import { kvRoute } from './kv.js';
import { kvListRoute, kvNamespacesRoute } from './kv-list.js';
import { kvDeleteRoute, kvGetRoute, kvPutRoute } from './kv-path.js';
import { locksRoute } from './locks.js';
import {
  leadershipTransferRoute,
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
import { partitionLivenessRoute } from './partition-liveness.js';
import { partitionsChangedRoute } from './partitions-changed.js';
import { popDiscoveryRoute, popPartitionRoute, popQueueRoute } from './pop.js';
import { processStatusRoute } from './process-status.js';
import { prometheusRoute } from './prometheus.js';
import { pushRoute } from './push.js';
import { queueDeleteRoute } from './queue-delete.js';
import { queueDepthRoute } from './queue-depth.js';
import { queueDetailRoute } from './queue-detail.js';
import { queueListRoute } from './queue-list.js';
import { queueSizesRoute } from './queue-sizes.js';
import { raftLivenessRoute } from './raft-liveness.js';
import { raftMembersRoute } from './raft-members.js';
import { raftStatusRoute } from './raft-status.js';
import { namespacesRoute, tasksRoute } from './resource-labels.js';
import { resourceOverviewRoute } from './resource-overview.js';
import { resourcePartitionsRoute } from './resource-partitions.js';
import { timerQueuesRoute } from './resource-timers.js';
import { statusRoute } from './status.js';
import { statusAnalyticsRoute, statusQueueRoute, statusQueuesRoute } from './status-queues.js';
import { streamCycleRoute } from './stream-cycle.js';
import { streamQueryRoute } from './stream-query.js';
import { streamStateRoute } from './stream-state.js';
import { linkPromoteRoute, linkRoute, sharedStateRoute, statsRefreshRoute } from './system.js';
import {
  ephemeralSwitchRoute,
  setEphemeralSwitchRoute,
  setSwitchesRoute,
  switchesRoute,
} from './system-switches.js';
import { quotaRoutes, tenantPurgeRoute } from './tenant-quota.js';
import { timerCancelRoute, timerListRoute, timerPeekRoute } from './timer-reads.js';
import { timersRoute } from './timers.js';
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
