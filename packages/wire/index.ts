/** Shapes, names, limits and formats of the public API. Pure: imports '@svc/schema' alone. */
export * from './answers.js';
export * from './ephemeral-answers.js';
export * from './kv-answers.js';
export * from './limits.js';
export {
  messageId,
  messageIdPrefix,
  messageIdSuffix,
  type ParsedMessageId,
  parseMessageId,
} from './message-id.js';
export * from './message-status.js';
export {
  type CallMeters,
  type EncryptionMeters,
  EPHEMERAL_DROPS,
  EPHEMERAL_VERBS,
  type EphemeralMeters,
  KV_OPS,
  KV_REFUSALS,
  type KvMeters,
  type KvOpName,
  LOCK_OPS,
  type LockOpName,
  type Meters,
  newMeters,
  OP_RESULTS,
  type OpMeters,
  type OpResult,
  rotateSummaries,
  TIMER_REFUSALS,
} from './meters.js';
export { type Counts, counts } from './meters-counts.js';
export * from './names.js';
export * from './node-answers.js';
export {
  APPLY_FIELDS,
  type CommandMeters,
  commandMeters,
  FORWARD_KINDS,
  newPipelineMeters,
  type PipelineMeters,
} from './pipeline-meters.js';
export {
  newQueueCounts,
  QUEUE_COLUMNS,
  QUEUES_METERED_MAX,
  type QueueColumn,
  type QueueCounts,
  type QueueFigures,
  QueueMeters,
} from './queue-meters.js';
export * from './record-names.js';
export * from './standby-answers.js';
export { Summary, type SummaryPart } from './summary.js';
export * from './surface-answers.js';
export { isWellFormed, utf8Length } from './text.js';
export * from './timer-answers.js';
export { formatStampMs, formatStampUs, parseIsoUs } from './timestamp.js';
export { canonicalUuid, formatUuid, isUuid, uuidV7 } from './uuid.js';
