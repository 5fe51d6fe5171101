/** Every route that the front serves. */

import { systemMetricsEndpoint, workerMetricsEndpoint } from '../endpoints/analytics/processes.js';
import {
  parkedReplicasEndpoint,
  queueLagEndpoint,
  queueOpsEndpoint,
} from '../endpoints/analytics/queues.js';
import { retentionEndpoint } from '../endpoints/analytics/retention.js';
import { statusEndpoint } from '../endpoints/analytics/status.js';
import {
  statusAnalyticsEndpoint,
  statusQueueEndpoint,
  statusQueuesEndpoint,
} from '../endpoints/analytics/status-queues.js';
import { workloadEndpoint } from '../endpoints/analytics/workload.js';
import { ephemeralAckEndpoint } from '../endpoints/ephemeral/ack.js';
import { ephemeralPopEndpoint } from '../endpoints/ephemeral/pop.js';
import { ephemeralPushEndpoint } from '../endpoints/ephemeral/push.js';
import {
  ephemeralConfigureEndpoint,
  ephemeralDeleteEndpoint,
  ephemeralDepthEndpoint,
  ephemeralListEndpoint,
  ephemeralResetEndpoint,
} from '../endpoints/ephemeral/queues.js';
import { groupDeleteEndpoint, groupQueueDeleteEndpoint } from '../endpoints/groups/delete.js';
import { groupPositionsEndpoint } from '../endpoints/groups/positions.js';
import {
  groupDetailEndpoint,
  groupListEndpoint,
  laggingGroupsEndpoint,
} from '../endpoints/groups/reads.js';
import { seekPartitionEndpoint, seekQueueEndpoint } from '../endpoints/groups/seek.js';
import { groupSubscriptionEndpoint } from '../endpoints/groups/subscription.js';
import { kvEndpoint } from '../endpoints/kv/kv.js';
import { kvListEndpoint, kvNamespacesEndpoint } from '../endpoints/kv/kv-list.js';
import { kvDeleteEndpoint, kvGetEndpoint, kvPutEndpoint } from '../endpoints/kv/kv-path.js';
import { locksEndpoint } from '../endpoints/kv/locks.js';
import { ackBatchEndpoint, ackEndpoint } from '../endpoints/messages/ack.js';
import { extendEndpoint } from '../endpoints/messages/extend.js';
import { fetchEndpoint } from '../endpoints/messages/fetch.js';
import { fetchOffsetsEndpoint } from '../endpoints/messages/fetch-offsets.js';
import {
  popDiscoveryEndpoint,
  popPartitionEndpoint,
  popQueueEndpoint,
} from '../endpoints/messages/pop.js';
import { pushEndpoint } from '../endpoints/messages/push.js';
import { transactionEndpoint } from '../endpoints/messages/transaction.js';
import { healthEndpoint } from '../endpoints/node/health.js';
import { identityEndpoint } from '../endpoints/node/identity.js';
import {
  leadershipTransferEndpoint,
  membershipEndpoint,
  membershipLearnersEndpoint,
  membershipMemberEndpoint,
  membershipPromoteEndpoint,
  membershipVotersEndpoint,
} from '../endpoints/node/membership.js';
import { metricsEndpoint } from '../endpoints/node/metrics.js';
import { processStatusEndpoint } from '../endpoints/node/process-status.js';
import { prometheusEndpoint } from '../endpoints/node/prometheus.js';
import { raftLivenessEndpoint } from '../endpoints/node/raft-liveness.js';
import { raftMembersEndpoint } from '../endpoints/node/raft-members.js';
import { raftStatusEndpoint } from '../endpoints/node/raft-status.js';
import {
  linkEndpoint,
  linkPromoteEndpoint,
  sharedStateEndpoint,
  statsRefreshEndpoint,
} from '../endpoints/node/system.js';
import {
  ephemeralSwitchEndpoint,
  setEphemeralSwitchEndpoint,
  setSwitchesEndpoint,
  switchesEndpoint,
} from '../endpoints/node/system-switches.js';
import { quotaEndpoints, tenantPurgeEndpoint } from '../endpoints/node/tenant-quota.js';
import { configureEndpoint } from '../endpoints/queues/configure.js';
import { partitionLivenessEndpoint } from '../endpoints/queues/partition-liveness.js';
import { partitionsChangedEndpoint } from '../endpoints/queues/partitions-changed.js';
import { queueDeleteEndpoint } from '../endpoints/queues/queue-delete.js';
import { queueDepthEndpoint } from '../endpoints/queues/queue-depth.js';
import { queueDetailEndpoint } from '../endpoints/queues/queue-detail.js';
import { queueListEndpoint } from '../endpoints/queues/queue-list.js';
import { queueSizesEndpoint } from '../endpoints/queues/queue-sizes.js';
import { namespacesEndpoint, tasksEndpoint } from '../endpoints/queues/resource-labels.js';
import { resourceOverviewEndpoint } from '../endpoints/queues/resource-overview.js';
import { resourcePartitionsEndpoint } from '../endpoints/queues/resource-partitions.js';
import { timerQueuesEndpoint } from '../endpoints/queues/resource-timers.js';
import {
  deadLetterListEndpoint,
  deadLetterPurgeEndpoint,
} from '../endpoints/records/dead-letter-list.js';
import {
  deadLetterReplayEndpoint,
  messageRetryEndpoint,
} from '../endpoints/records/dead-letter-replay.js';
import { deadLetterSignaturesEndpoint } from '../endpoints/records/dead-letter-signatures.js';
import { messageListEndpoint } from '../endpoints/records/message-list.js';
import { messageDeleteEndpoint, messageEndpoint } from '../endpoints/records/message-one.js';
import {
  messageTracesEndpoint,
  namedTracesEndpoint,
  traceNamesEndpoint,
} from '../endpoints/records/trace-reads.js';
import { traceWriteEndpoint } from '../endpoints/records/trace-write.js';
import { streamCycleEndpoint } from '../endpoints/streams/cycle.js';
import { streamQueryEndpoint } from '../endpoints/streams/query.js';
import { streamStateEndpoint } from '../endpoints/streams/state.js';
import {
  timerCancelEndpoint,
  timerListEndpoint,
  timerPeekEndpoint,
} from '../endpoints/timers/reads.js';
import { timersEndpoint } from '../endpoints/timers/timers.js';
import { openApiEndpoint } from '../openapi/route.js';
import type { Endpoint } from '../routing/endpoint.js';

const DESCRIBED: readonly Endpoint[] = [
  pushEndpoint,
  popQueueEndpoint,
  popPartitionEndpoint,
  popDiscoveryEndpoint,
  ackEndpoint,
  ackBatchEndpoint,
  transactionEndpoint,
  kvEndpoint,
  kvNamespacesEndpoint,
  kvListEndpoint,
  kvGetEndpoint,
  kvPutEndpoint,
  kvDeleteEndpoint,
  messageListEndpoint,
  messageEndpoint,
  messageDeleteEndpoint,
  messageRetryEndpoint,
  deadLetterListEndpoint,
  deadLetterPurgeEndpoint,
  deadLetterReplayEndpoint,
  deadLetterSignaturesEndpoint,
  traceWriteEndpoint,
  traceNamesEndpoint,
  // Before the traces of a message, whose path has as many segments.
  namedTracesEndpoint,
  messageTracesEndpoint,
  timersEndpoint,
  timerQueuesEndpoint,
  timerListEndpoint,
  timerPeekEndpoint,
  timerCancelEndpoint,
  extendEndpoint,
  configureEndpoint,
  queueListEndpoint,
  queueDetailEndpoint,
  queueDepthEndpoint,
  queueDeleteEndpoint,
  queueSizesEndpoint,
  resourcePartitionsEndpoint,
  resourceOverviewEndpoint,
  namespacesEndpoint,
  tasksEndpoint,
  ephemeralPushEndpoint,
  ephemeralPopEndpoint,
  ephemeralAckEndpoint,
  ephemeralConfigureEndpoint,
  ephemeralResetEndpoint,
  ephemeralDeleteEndpoint,
  ephemeralListEndpoint,
  ephemeralDepthEndpoint,
  fetchEndpoint,
  fetchOffsetsEndpoint,
  partitionsChangedEndpoint,
  streamQueryEndpoint,
  streamStateEndpoint,
  streamCycleEndpoint,
  groupListEndpoint,
  laggingGroupsEndpoint,
  groupDetailEndpoint,
  groupDeleteEndpoint,
  groupQueueDeleteEndpoint,
  groupPositionsEndpoint,
  groupSubscriptionEndpoint,
  seekQueueEndpoint,
  seekPartitionEndpoint,
  statusEndpoint,
  statusQueuesEndpoint,
  statusQueueEndpoint,
  statusAnalyticsEndpoint,
  queueOpsEndpoint,
  queueLagEndpoint,
  parkedReplicasEndpoint,
  workloadEndpoint,
  retentionEndpoint,
  systemMetricsEndpoint,
  workerMetricsEndpoint,
  partitionLivenessEndpoint,
  statsRefreshEndpoint,
  sharedStateEndpoint,
  linkEndpoint,
  linkPromoteEndpoint,
  processStatusEndpoint,
  healthEndpoint,
  metricsEndpoint,
  prometheusEndpoint,
  identityEndpoint,
  raftStatusEndpoint,
  raftMembersEndpoint,
  raftLivenessEndpoint,
  membershipEndpoint,
  membershipLearnersEndpoint,
  membershipPromoteEndpoint,
  membershipVotersEndpoint,
  membershipMemberEndpoint,
  leadershipTransferEndpoint,
  locksEndpoint,
  switchesEndpoint,
  setSwitchesEndpoint,
  ephemeralSwitchEndpoint,
  setEphemeralSwitchEndpoint,
  ...quotaEndpoints,
  tenantPurgeEndpoint,
];

export const ROUTES: readonly Endpoint[] = [...DESCRIBED, openApiEndpoint(DESCRIBED)];
