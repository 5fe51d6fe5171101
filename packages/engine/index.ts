/**
 * The deterministic broker. In teaching order: the state and its rows; commands, effects and how
 * they are applied; the leader's planner; reads.
 */

export { ackTargetKey, UNFILED } from './ack-target.js';
export {
  AppendDamage,
  type Checksum,
  type DecodedAppend,
  decodeAppend,
  type TransactionSink,
  verifyAppend,
} from './append.js';
export { findAppend, offsetOfTransaction } from './append-search.js';
export type { AppliedEvents } from './applied-events.js';
export { AppliedFigures } from './applied-figures.js';
export { type AppendObserver, applyEntry, readMeta } from './apply.js';
export { EngineBug } from './assert.js';
export { ByteWriter } from './bytes.js';
export {
  findNamedPartition,
  findOwnPartition,
  findPartition,
  findQueue,
  queueByNumber,
} from './catalog.js';
export { CatalogueFault } from './catalogue-fault.js';
export {
  type ChangedEntry,
  type ChangedPage,
  type ChangedPartitions,
  changedPartitions,
  PARTITIONS_WALKED_MAX,
} from './changed-partitions.js';
export { type ClusterTotals, readTotals } from './cluster-totals.js';
export { CLUSTER_VERSION_READ, clusterVersionOf, refuseNewerVersion } from './cluster-version.js';
export {
  type CodecRefusal,
  decodeForwarded,
  encodeForwarded,
  type ForwardedCommand,
} from './command-codec.js';
export * from './commands.js';
export type * from './dead-letter-commands.js';
export type { DeadLetterDepth } from './dead-letter-depths.js';
export { DeadLetterGauges } from './dead-letter-gauges.js';
export {
  type DeadLetterFilter,
  type DeadLetterList,
  type ListedDeadLetter,
  listDeadLetters,
} from './dead-letter-list.js';
export { type DeadLetterSignatures, deadLetterSignatures } from './dead-letter-signatures.js';
export { transactionDigest } from './dead-letter-tables.js';
export type { Ticket } from './delivery.js';
export type { Consumption, Turnover } from './delivery-memory.js';
export type { AutopilotSizes, AutopilotWish, DeliveryTerms } from './delivery-terms.js';
export type { Surroundings } from './draft.js';
export type {
  EphemeralCommand,
  EphemeralConfigureCommand,
  EphemeralConfiguredOutcome,
  EphemeralDeleteCommand,
  EphemeralDeletedOutcome,
} from './ephemeral-commands.js';
export { planEphemeral } from './ephemeral-plan.js';
export {
  applyEphemeralEffect,
  type DeclaredQueue,
  declaredOptions,
  declaredQueues,
  type EphemeralQueueEffect,
} from './ephemeral-queues.js';
export { storedTerms } from './first-contact.js';
export { FirstHeap } from './first-heap.js';
export {
  type GrantLimits,
  type GrantRow,
  grantOf,
  grants,
} from './grants.js';
export type * from './group-commands.js';
export { type GroupLag, type GroupLagLimits, type GroupLags, groupLags } from './group-lag.js';
export { type FoundPosition, groupPositions, type PositionPlace } from './group-positions.js';
export {
  type GroupDetailRow,
  type GroupPartitionView,
  type GroupView,
  groupDetail,
  type LaggingList,
  type LaggingView,
  laggingGroups,
  listGroups,
  queueNames,
} from './group-views.js';
export { growingBytes } from './growing-bytes.js';
export { GuardedReader } from './guarded-reader.js';
export { HOUSEKEEPING_LIMITS, type HousekeepingLimits } from './housekeeping.js';
export { keyText } from './keys.js';
export * from './kv-call.js';
export { kvAnswerBytes, kvReadBudget } from './kv-judge.js';
export { atOneMoment } from './kv-moment.js';
export { readKv } from './kv-plan.js';
export { type KvNamespaces, listKvNamespaces, walkPage } from './kv-read.js';
export { type KvRow, type KvUseRow, kvUseOf } from './kv-tables.js';
export { CONTENT_WINDOW_BYTES, type FoundAppend, scanContents } from './log-contents.js';
export { type LiveStretch, liveStretches } from './log-use.js';
export { MapState } from './map-state.js';
export { applyMembership, type Membership, membershipAt } from './memberships.js';
export {
  forgottenEnd,
  type MessageDetail,
  messageCandidates,
  messageDetail,
  partitionOf,
} from './message-find.js';
export {
  type ListedMessage,
  listMessages,
  type MessageFilter,
  type MessageList,
  type ReadingMode,
} from './message-list.js';
export type { NameBounds, NameLimits } from './name-bounds.js';
export { buildNameIndex, type Label, type NameCounts, nameCountsOf } from './name-index.js';
export { type FoundOffset, type OffsetEntry, offsetsSince } from './offsets-since.js';
export { decodeAnswer, encodeAnswer, type ForwardedAnswer } from './outcome-codec.js';
export { type NextAfter, type PageQuery, type TakeRow, WHOLE } from './page.js';
export type { MessageCounts } from './partition-counts.js';
export { partitionLiveness, type QueueLiveness } from './partition-liveness.js';
export {
  type PartitionRanking,
  type RankedPartition,
  rankPartitions,
} from './partition-ranking.js';
export { leastPayloadBytes, type PayloadCipher, sealedBytes } from './payload-cipher.js';
export {
  type Answer,
  Planner,
  type Turn,
} from './planner.js';
export { PLANNER_LIMITS, type PlannerLimits } from './planner-limits.js';
export { ANSWERS_FULL, type PopRoom } from './pop-room.js';
export { type Figures, QueueFigures } from './queue-figures.js';
export { isWanted, type QueueFilter } from './queue-filter.js';
export { queuePage } from './queue-page.js';
export { type QueueSizes, queueSizes } from './queue-sizes.js';
export type { QueueSum } from './queue-sums.js';
export {
  type DepthSums,
  listQueueNames,
  listQueues,
  type PartitionDepth,
  type PartitionView,
  type QueueDepth,
  type QueueDetail,
  type QueueName,
  type QueueView,
  queueDepth,
  queueDetail,
} from './queue-views.js';
export { ReadAhead } from './read-ahead.js';
export type * from './refusals.js';
export { isLiveAt, type Relocation, relocationOf } from './relocation.js';
export {
  newRequestSession,
  type RequestId,
  type RequestOrigin,
  type RequestSession,
  SETTLED_MAX,
} from './request-id.js';
export type * from './rows.js';
export { findSlices, freshSlice } from './slices.js';
export type * from './state.js';
export type {
  RegisterStreamCommand,
  StateColumns,
  StreamAck,
  StreamCycleCommand,
  StreamCycledOutcome,
  StreamRegisteredOutcome,
} from './stream-commands.js';
export {
  readStreamState,
  type StreamReadRoom,
  type StreamStateAnswer,
  type StreamStateEntry,
  type StreamStateFilter,
} from './stream-state.js';
export type * from './surface-commands.js';
export { SWITCH_NAMES, type Switches, switchesOf } from './switches.js';
export { LOCAL_TABLES, TABLES } from './table-list.js';
export { type HeldQueue, type TenantStatus, tenantStatus } from './tenant-status.js';
export {
  type LabelSum,
  sumsByLabel,
  type TenantOverview,
  tenantOverview,
} from './tenant-views.js';
export * from './timer-call.js';
export { TimerClock } from './timer-clock.js';
export { findTimer, listTimers } from './timer-list.js';
export { listTimerQueues, type TimerQueue } from './timer-queues.js';
export { timerUseOf } from './timer-tables.js';
export type { TimerLimits } from './timers.js';
export type * from './trace-commands.js';
export {
  listTraceNames,
  messageTraces,
  namedTraces,
  type Paging,
  storedTraces,
  type TraceList,
  type TraceNameList,
  type TraceView,
} from './trace-list.js';
export type * from './transaction-command.js';
export { TransactionIndex } from './transaction-id-index.js';
export { WindowSurvey } from './window-survey.js';
export {
  ATOMIC_UNITS_MAX,
  bytesPrice,
  PRICES,
  priceOf,
  pushPrice,
  SLICE_BYTES,
  SLICE_UNITS,
  SMALL_UNITS,
  TURN_UNITS,
} from './work-prices.js';
export { type QueueWorkload, queueWorkloads } from './workload-figures.js';
