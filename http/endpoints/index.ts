/** The records of all endpoints: every export is one, and what is exported here is served. */

export { systemMetricsEndpoint, workerMetricsEndpoint } from './analytics/processes.js';
export { parkedReplicasEndpoint, queueLagEndpoint, queueOpsEndpoint } from './analytics/queues.js';
export { retentionEndpoint } from './analytics/retention.js';
export { statusEndpoint } from './analytics/status.js';
export {
  statusAnalyticsEndpoint,
  statusQueueEndpoint,
  statusQueuesEndpoint,
} from './analytics/status-queues.js';
export { workloadEndpoint } from './analytics/workload.js';
export { ephemeralAckEndpoint } from './ephemeral/ack.js';
export { ephemeralPopEndpoint } from './ephemeral/pop.js';
export { ephemeralPushEndpoint } from './ephemeral/push.js';
export {
  ephemeralConfigureEndpoint,
  ephemeralDeleteEndpoint,
  ephemeralDepthEndpoint,
  ephemeralListEndpoint,
  ephemeralResetEndpoint,
} from './ephemeral/queues.js';
export { groupDeleteEndpoint, groupQueueDeleteEndpoint } from './groups/delete.js';
export { groupPositionsEndpoint } from './groups/positions.js';
export { groupDetailEndpoint, groupListEndpoint, laggingGroupsEndpoint } from './groups/reads.js';
export { seekPartitionEndpoint, seekQueueEndpoint } from './groups/seek.js';
export { groupSubscriptionEndpoint } from './groups/subscription.js';
export { kvEndpoint } from './kv/kv.js';
export { kvListEndpoint, kvNamespacesEndpoint } from './kv/kv-list.js';
export { kvDeleteEndpoint, kvGetEndpoint, kvPutEndpoint } from './kv/kv-path.js';
export { locksEndpoint } from './kv/locks.js';
export { ackBatchEndpoint, ackEndpoint } from './messages/ack.js';
export { ackAndPopPartitionEndpoint, ackAndPopQueueEndpoint } from './messages/ack-and-pop.js';
export { extendEndpoint } from './messages/extend.js';
export { fetchEndpoint } from './messages/fetch.js';
export { fetchOffsetsEndpoint } from './messages/fetch-offsets.js';
export { popDiscoveryEndpoint, popPartitionEndpoint, popQueueEndpoint } from './messages/pop.js';
export { pushEndpoint } from './messages/push.js';
export { transactionEndpoint } from './messages/transaction.js';
export {
  leadershipTransferEndpoint,
  membershipEndpoint,
  membershipLearnersEndpoint,
  membershipMemberEndpoint,
  membershipPromoteEndpoint,
  membershipVotersEndpoint,
} from './node/membership.js';
export { raftLivenessEndpoint, raftMembersEndpoint, raftStatusEndpoint } from './node/raft.js';
export {
  healthEndpoint,
  identityEndpoint,
  metricsEndpoint,
  processStatusEndpoint,
  prometheusEndpoint,
} from './node/status.js';
export {
  linkEndpoint,
  linkPromoteEndpoint,
  sharedStateEndpoint,
  statsRefreshEndpoint,
} from './node/system.js';
export {
  ephemeralSwitchEndpoint,
  setEphemeralSwitchEndpoint,
  setSwitchesEndpoint,
  switchesEndpoint,
} from './node/system-switches.js';
export {
  quotaEndpoint,
  systemQuotaEndpoint,
  systemQuotasEndpoint,
  tenantPurgeEndpoint,
} from './node/tenant-quota.js';
export { configureEndpoint } from './queues/configure.js';
export { partitionLivenessEndpoint } from './queues/partition-liveness.js';
export { partitionsChangedEndpoint } from './queues/partitions-changed.js';
export { queueDepthEndpoint } from './queues/queue-depth.js';
export { queueDeleteEndpoint, queueDetailEndpoint } from './queues/queue-detail.js';
export { queueListEndpoint } from './queues/queue-list.js';
export { queueSizesEndpoint } from './queues/queue-sizes.js';
export { resourcePartitionsEndpoint } from './queues/resource-partitions.js';
export {
  namespacesEndpoint,
  resourceOverviewEndpoint,
  tasksEndpoint,
  timerQueuesEndpoint,
} from './queues/resources.js';
export { deadLetterListEndpoint, deadLetterPurgeEndpoint } from './records/dead-letter-list.js';
export { deadLetterRedriveEndpoint } from './records/dead-letter-redrive.js';
export { deadLetterReplayEndpoint, messageRetryEndpoint } from './records/dead-letter-replay.js';
export { deadLetterSignaturesEndpoint } from './records/dead-letter-signatures.js';
export { messageListEndpoint } from './records/message-list.js';
export { messageDeleteEndpoint, messageEndpoint } from './records/message-one.js';
export {
  messageTracesEndpoint,
  namedTracesEndpoint,
  traceNamesEndpoint,
} from './records/trace-reads.js';
export { traceWriteEndpoint } from './records/trace-write.js';
export { streamCycleEndpoint } from './streams/cycle.js';
export { streamQueryEndpoint } from './streams/query.js';
export { streamStateEndpoint } from './streams/state.js';
export { timerCancelEndpoint, timerListEndpoint, timerPeekEndpoint } from './timers/reads.js';
export { timersEndpoint } from './timers/timers.js';
