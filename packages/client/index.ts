/** `@svc/client`: the client of the broker. */
export { type Admin, type AdminMethod, adminCall, type CallOptions } from './admin/admin.js';
export type * from './admin/figures-api.js';
export type * from './admin/groups-api.js';
export type * from './admin/node-api.js';
export type * from './admin/queries.js';
export type * from './admin/queues-api.js';
export type * from './admin/records-api.js';
export type { AdminApi } from './admin/routes.js';
export type * from './admin/surfaces-api.js';
export type { Duration } from './base/durations.js';
export { ClientError } from './base/errors.js';
export type { Logger } from './base/log.js';
export { payloadTexts, type WithTexts } from './base/payload-texts.js';
export type { Fetch } from './base/platform.js';
export type { StandardSchema } from './base/standard-schema.js';
export { type RawJson, rawJson, writeJson } from './base/write-json.js';
export { Client, type ClosedClient, type QueueSettings } from './client.js';
export type {
  BatchHandler,
  ConsumeOptions,
  HandlerContext,
  MessageHandler,
} from './consume/consume-terms.js';
export type { Consuming } from './consume/consuming.js';
export type { SupervisionOptions } from './consume/supervision.js';
export type {
  Acked,
  AckOptions,
  AckResult,
  AckStatus,
  Leased,
  RenewResult,
  StatusWord,
} from './messages/acks.js';
export type { BufferOptions, BufferStats, Unsent } from './messages/buffer.js';
export type { DeadLetter, DeadLetterQuery, DeadLetters } from './messages/dead-letters.js';
export type { Message, Trace } from './messages/message.js';
export type { Autopilot, PopResult } from './messages/pop.js';
export type { PushItem, PushResult } from './messages/push-items.js';
export type { Buffered, Pushing } from './messages/pushing.js';
export { type Configured, QUEUE_OPTIONS, type QueueOptions } from './messages/queue-options.js';
export type { Queue } from './queue/queue.js';
export type { StreamMetrics } from './streams/cycle.js';
export * from './streams/gates.js';
export type { Measures } from './streams/reducers.js';
export type { StreamRunner } from './streams/runner.js';
export * from './streams/stream.js';
export type { CronUnit, StreamContext, WindowOptions } from './streams/windows.js';
export type * from './surfaces/ephemeral.js';
export type { Guard, KvCheck } from './surfaces/guard.js';
export type * from './surfaces/kv.js';
export type { Listing } from './surfaces/listing.js';
export {
  type AcquireOptions,
  type HeldLock,
  type Lock,
  LockLost,
  type LockOptions,
  type LossReason,
  type SemaphoreOptions,
} from './surfaces/lock.js';
export type { Expiry } from './surfaces/options.js';
export type * from './surfaces/timer.js';
export type {
  Committed,
  Guarding,
  KvOperation,
  NotCommitted,
  OnceOptions,
  Transaction,
  TransactionTimer,
} from './transactions/transaction.js';
export {
  type ClientOptions,
  type Retry429,
  type Strategy,
  settingsOf,
} from './transport/settings.js';
export { type Answer, type Call, path, Transport, withQuery } from './transport/transport.js';
