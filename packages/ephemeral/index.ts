/**
 * Ephemeral queues: messages that live in the memory of one node (state-surfaces 4).
 *
 * `EphemeralRings` is what a node holds; `ownerOf` says which node holds a ring. Nothing in here
 * knows a clock, a socket or the log.
 */
export {
  type Allowance,
  type DropCounts,
  type RingLimits,
  type RingSurroundings,
  ringLimits,
} from './books.js';
export { type CarriedGroup, type CarriedRing, carriedBytes } from './carried-ring.js';
export type { AckItem, AckOutcome, EphemeralQueue } from './ephemeral-queue.js';
export {
  EphemeralRings,
  type RingPlace,
  type RingPop,
  type RingRefusal,
} from './ephemeral-rings.js';
export type { Delivered, SettleStatus } from './group-cursor.js';
export { formatMessageId, type MessageId, parseMessageId } from './message-id.js';
export { ownerOf } from './owner.js';
export type { PopRoom } from './pop-room.js';
export {
  type DeclaredTerms,
  LEASE_SECONDS_MAX,
  type QueueTerms,
  RETRY_LIMIT_MAX,
  type TermCeilings,
  termsInForce,
} from './queue-terms.js';
export { copyMessages, type Payloads, type StoredMessage } from './stored-messages.js';
export type { PopEnd, WaitingPop } from './waiting-pop.js';
