/**
 * The deterministic broker. In teaching order: the state and its rows; commands, effects and how
 * they are applied; the leader's planner; reads.
 */

export {
  AppendDamage,
  type Checksum,
  type DecodedAppend,
  decodeAppend,
  type TransactionSink,
  verifyAppend,
} from './base/append.js';
export { findAppend, offsetOfTransaction } from './base/append-search.js';
export { EngineBug } from './base/assert.js';
export { ByteWriter, KeptWriter } from './base/bytes.js';
export { CatalogueFault } from './base/catalogue-fault.js';
export * from './base/commands/commands.js';
export type * from './base/commands/dead-letters.js';
export type {
  EphemeralCommand,
  EphemeralConfigureCommand,
  EphemeralConfiguredOutcome,
  EphemeralDeleteCommand,
  EphemeralDeletedOutcome,
} from './base/commands/ephemeral.js';
export type * from './base/commands/groups.js';
export * from './base/commands/kv.js';
export type { PromoteCommand, PromotedOutcome } from './base/commands/standby.js';
export type {
  RegisterStreamCommand,
  StateColumns,
  StreamAck,
  StreamCycleCommand,
  StreamCycledOutcome,
  StreamRegisteredOutcome,
} from './base/commands/streams.js';
export type * from './base/commands/surfaces.js';
export * from './base/commands/timers.js';
export type * from './base/commands/traces.js';
export type * from './base/commands/transaction.js';
export {
  type AutopilotSizes,
  type AutopilotWish,
  type DeliveryTerms,
  readTerms,
  writeTerms,
} from './base/delivery-terms.js';
export { type Choice, type ChoiceOf, choice, type Kind, kind } from './base/fields/choice.js';
export type { Field, Infer } from './base/fields/field.js';
export * as fields from './base/fields/field.js';
export { added, maybe, type RecordField, record, type ValuesOf } from './base/fields/record.js';
export { FirstHeap } from './base/first-heap.js';
export {
  type GrantLimits,
  type GrantRow,
  grantOf,
  grants,
} from './base/grants.js';
export { GuardedReader } from './base/guarded-reader.js';
export { keyText } from './base/keys.js';
export { MapState } from './base/map-state.js';
export { type NextAfter, type PageQuery, type TakeRow, WHOLE } from './base/page.js';
export { ANSWERS_FULL, type PopRoom } from './base/pop-room.js';
export { ReadAhead } from './base/read-ahead.js';
export type * from './base/refusals.js';
export type * from './base/rows.js';
export type * from './base/state.js';
export { SWITCH_NAMES, type Switches, switchesOf } from './base/switches.js';
export { TimerClock } from './base/timer-clock.js';
export {
  ATOMIC_UNITS_MAX,
  bytesPrice,
  PRICES,
  pushPrice,
  SLICE_BYTES,
  SLICE_UNITS,
  SMALL_UNITS,
  TURN_UNITS,
} from './base/work-prices.js';
export { ackTargetKey, UNFILED } from './delivery/ack-target.js';
export { storedTerms } from './delivery/first-contact.js';
export type { Consumption, Turnover } from './delivery/memory.js';
export type { Surroundings } from './draft/draft.js';
export type { NameBounds, NameLimits } from './draft/name-bounds.js';
export { leastPayloadBytes, type PayloadCipher, sealedBytes } from './draft/payload-cipher.js';
export { planEphemeral } from './features/ephemeral/plan.js';
export { kvAnswerBytes, kvReadBudget } from './features/kv/judge.js';
export { atOneMoment } from './features/kv/moment.js';
export { readKv } from './features/kv/plan.js';
export { type KvNamespaces, listKvNamespaces, walkPage } from './features/kv/read.js';
export {
  MIRROR_BYTES_MAX,
  MirrorPlan,
  roleBody,
  type SourceAdmission,
  type SourceEntry,
  seedBody,
} from './features/standby/mirror.js';
export { findTimer, listTimers } from './features/timers/list.js';
export { listTimerQueues, type TimerQueue } from './features/timers/queues.js';
export type { TimerLimits } from './features/timers/timers.js';
export {
  type CodecRefusal,
  decodeForwarded,
  encodeForwarded,
  type ForwardedCommand,
  writeForwarded,
} from './forwarding/command-codec.js';
export {
  decodeAnswer,
  encodeAnswer,
  type ForwardedAnswer,
  writeAnswer,
} from './forwarding/outcome-codec.js';
export {
  fills,
  growingBytes,
  growsStorage,
  priceOf,
  takesSeveralTurns,
} from './planner/command-facts.js';
export { PLANNER_LIMITS, type PlannerLimits } from './planner/limits.js';
export {
  type Answer,
  Planner,
  type Turn,
} from './planner/planner.js';
export type { AppliedEvents } from './state/applied-events.js';
export { AppliedFigures } from './state/applied-figures.js';
export { type AppendObserver, applyEntry, readMeta } from './state/apply.js';
export {
  findNamedPartition,
  findOwnPartition,
  findPartition,
  findQueue,
  queueByNumber,
} from './state/catalog.js';
export { type ClusterTotals, readTotals } from './state/cluster-totals.js';
export {
  CLUSTER_VERSION_READ,
  clusterVersionOf,
  refuseNewerVersion,
} from './state/cluster-version.js';
export type { DeadLetterDepth } from './state/dead-letters/depths.js';
export { DeadLetterGauges } from './state/dead-letters/gauges.js';
export { transactionDigest } from './state/dead-letters/tables.js';
export {
  applyEphemeralEffect,
  type DeclaredQueue,
  declaredOptions,
  declaredQueues,
  type EphemeralQueueEffect,
} from './state/ephemeral-queues.js';
export { type KvRow, type KvUseRow, kvUseOf } from './state/kv/tables.js';
export { CONTENT_WINDOW_BYTES, type FoundAppend, scanContents } from './state/log-contents.js';
export { type LiveStretch, liveStretches } from './state/log-use.js';
export { applyMembership, type Membership, membershipAt } from './state/memberships.js';
export {
  buildNameIndex,
  type Label,
  type NameCounts,
  nameCountsOf,
} from './state/names/name-index.js';
export type { MessageCounts } from './state/partition-counts.js';
export { type Figures, QueueFigures } from './state/queue-figures.js';
export type { QueueSum } from './state/queue-sums.js';
export {
  newRequestSession,
  type RequestId,
  type RequestOrigin,
  type RequestSession,
  SETTLED_MAX,
} from './state/request-id.js';
export { findSlices, freshSlice } from './state/slices.js';
export {
  isStandby,
  SOURCE_START,
  type SourcePosition,
  STANDBY_ID_CHARACTERS,
  type StandbyRoleRow,
  sourcePositionOf,
  standbyRoleOf,
} from './state/standby/tables.js';
export { LOCAL_TABLES, TABLES } from './state/table-list.js';
export { timerUseOf } from './state/timers/tables.js';
export { TransactionIndex } from './state/transaction-ids/id-index.js';
export {
  readStreamState,
  type StreamReadRoom,
  type StreamStateAnswer,
  type StreamStateEntry,
  type StreamStateFilter,
} from './streams/state.js';
export type { CleanupLimits } from './upkeep/partition-cleanup.js';
export { isLiveAt, type Relocation, relocationOf } from './upkeep/relocation.js';
export {
  type ChangedEntry,
  type ChangedPage,
  type ChangedPartitions,
  changedPartitions,
  PARTITIONS_WALKED_MAX,
} from './views/changed-partitions.js';
export {
  type DeadLetterFilter,
  type DeadLetterList,
  type ListedDeadLetter,
  listDeadLetters,
} from './views/dead-letter-list.js';
export { type DeadLetterSignatures, deadLetterSignatures } from './views/dead-letter-signatures.js';
export {
  type GroupLag,
  type GroupLagLimits,
  type GroupLags,
  groupLags,
} from './views/group-lag.js';
export { type FoundPosition, groupPositions, type PositionPlace } from './views/group-positions.js';
export {
  type GroupDetailRow,
  type GroupFilter,
  type GroupPartitionView,
  type GroupView,
  groupDetail,
  type LaggingList,
  type LaggingView,
  laggingGroups,
  listGroups,
  queueNames,
} from './views/group-views.js';
export {
  forgottenEnd,
  type MessageDetail,
  messageCandidates,
  messageDetail,
  partitionOf,
} from './views/message-find.js';
export {
  type ListedMessage,
  listMessages,
  type MessageFilter,
  type MessageList,
  type ReadingMode,
} from './views/message-list.js';
export { type FoundOffset, type OffsetEntry, offsetsSince } from './views/offsets-since.js';
export { partitionLiveness, type QueueLiveness } from './views/partition-liveness.js';
export {
  type PartitionRanking,
  type RankedPartition,
  rankPartitions,
} from './views/partition-ranking.js';
export { isWanted, type QueueFilter } from './views/queue-filter.js';
export {
  type DepthSums,
  listQueueNames,
  listQueues,
  type PartitionDepth,
  type PartitionView,
  type QueueDepth,
  type QueueDetail,
  type QueueName,
  type QueueSizes,
  type QueueView,
  queueDepth,
  queueDetail,
  queuePage,
  queueSizes,
} from './views/queue-views.js';
export { type HeldQueue, type TenantStatus, tenantStatus } from './views/tenant-status.js';
export {
  type LabelSum,
  type QueueWorkload,
  queueWorkloads,
  sumsByLabel,
  type TenantOverview,
  tenantOverview,
} from './views/tenant-views.js';
export {
  listTraceNames,
  messageTraces,
  namedTraces,
  type Paging,
  storedTraces,
  type TraceList,
  type TraceNameList,
  type TraceView,
} from './views/trace-list.js';
export { WindowSurvey } from './views/window-survey.js';
