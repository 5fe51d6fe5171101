/**
 * What goes into the engine and what comes out of it. A command is what a client asked for, already
 * parsed and validated for shape by the HTTP front; an outcome is the verdict that the front
 * renders. Neither knows HTTP: a status code is chosen from the outcome in one table of `http/`.
 *
 * Units: `...Us` microseconds since the epoch, `...Ms` milliseconds, `...Seconds` seconds.
 */

import { INT32_MAX, POP_PARTITIONS_MAX } from '@svc/wire';
import type { AutopilotWish, DeliveryTerms } from '../delivery-terms.js';
import { type ChoiceOf, kind } from '../fields/choice.js';
import {
  count,
  flag,
  type Infer,
  list,
  nullable,
  number32,
  refined,
  text,
  within,
} from '../fields/field.js';
import { refusal } from '../refusals.js';
import { queueOptions, type subscription } from '../rows.js';
import { name, namesFit, tenant } from './names.js';
import { optionChanges } from './option-changes.js';

/** The scope of every row (contract: message-plane 1.2): a lower-case UUID. */
export type Tenant = string;

/** A request that waits for its outcome, minted by the caller and known by identity. */
export type Ticket = object;

// --- push (message-plane 2) --------------------------------------------------------------------

export interface PushGroup {
  readonly queue: string;
  readonly partition: string;
}

/**
 * Items stand in columns, not in objects: a batch of 100 is five arrays. `payloadStart/End` are
 * byte positions in `body`; the bytes between them are the exact JSON text of the payload.
 */
export interface PushCommand {
  readonly kind: 'push';
  readonly tenant: Tenant;
  readonly producerSub: string | null;
  /** Owned by the command; nobody writes to it after submission. */
  readonly body: Uint8Array;
  /** Distinct (queue, partition) pairs in first-seen order. */
  readonly groups: readonly PushGroup[];
  readonly itemGroup: readonly number[];
  /** null: none given, the message id becomes the transaction id. */
  readonly transactionIds: readonly (string | null)[];
  readonly payloadStart: readonly number[];
  readonly payloadEnd: readonly number[];
  /**
   * Payloads that were encrypted before, by item: taken in queues that ask for it when the command
   * is planned, which encrypts what is missing.
   */
  readonly envelopes?: readonly (Uint8Array | undefined)[];
  /**
   * Ids that were promised, to the client of a timer (timers.ts), or that a cycle names for what it
   * emits (streams 4.1), by item; null: the broker's own. Left out: no item has one.
   */
  readonly messageIds?: readonly (string | null)[];
}

export const ITEM_QUEUED = 0;
export const ITEM_DUPLICATE = 1;
/** A duplicate whose original is not stored any more: answered with the all-zero UUID. */
export const ITEM_DUPLICATE_GONE = 2;
export const ITEM_ERROR = 3;

/** One column entry per item of the command, in request order. */
export interface PushedOutcome {
  readonly kind: 'pushed';
  readonly status: Uint8Array;
  /** The message id of each item, as 36-character lower-case UUIDs. */
  readonly messageIds: readonly string[];
}

// --- pop (message-plane 3) ---------------------------------------------------------------------

/**
 * The deadline of a pop whose deadline was over when it was sent on: asked for the outcome that it
 * had, and to be answered empty when it had none.
 */
export const DEADLINE_OVER = Number.NEGATIVE_INFINITY;

export type PopScope =
  /** `creates` false: where there is no such queue the pop makes none. It may wait for one. */
  | { readonly kind: 'queue'; readonly queue: string; readonly creates?: false }
  | { readonly kind: 'partition'; readonly queue: string; readonly partition: string }
  /** At least one of the two is a non-empty string. */
  | {
      readonly kind: 'discovery';
      readonly namespace: string | null;
      readonly task: string | null;
    };

export interface PopCommand {
  readonly kind: 'pop';
  readonly tenant: Tenant;
  readonly scope: PopScope;
  readonly consumerGroup: string;
  /** >= 1: the message budget of the whole call. */
  readonly batch: number;
  /** 1..64. */
  readonly partitions: number;
  readonly autoAck: boolean;
  readonly wait: boolean;
  /** Monotonic milliseconds at which the answer must be out. DEADLINE_OVER: it takes nothing. */
  readonly deadlineMs: number;
  /** null: the queue's `leaseTime`. */
  readonly leaseSeconds: number | null;
  /** The start point that the request names, used only at the group's first contact. */
  readonly subscription: Subscription;
  /** The delivery policy that the request names, stored at the group's registration; null: none. */
  readonly conflation: boolean | null;
  /** What of `batch` and `partitions` the leader chooses instead; null: neither. */
  readonly autopilot: AutopilotWish | null;
}

export type Subscription = Infer<typeof subscription>;

/**
 * Where the bytes of one append stand: `length` bytes at `position` of the body of entry `index`.
 */
export interface AppendLocation {
  readonly index: number;
  readonly position: number;
  readonly length: number;
}

/** A run of messages of one append, `first..last` inclusive offsets. */
export interface AppendSlice extends AppendLocation {
  readonly baseOffset: number;
  readonly stampUs: number;
  readonly first: number;
  readonly last: number;
}

export interface Claim {
  readonly queue: string;
  readonly partition: string;
  readonly partitionNumber: number;
  readonly deliveryAttempt: number;
  /** Messages that were passed over for the one delivered; 0 where the group gets all of them. */
  readonly skipped: number;
  readonly slices: readonly AppendSlice[];
}

export interface PoppedOutcome {
  readonly kind: 'popped';
  /** The path queue; "" on discovery. */
  readonly queue: string;
  readonly consumerGroup: string;
  /** "" with autoAck or without a claim. */
  readonly leaseId: string;
  readonly claims: readonly Claim[];
  /** null: nothing to say of how it was served; then no claims is 204. */
  readonly terms: DeliveryTerms | null;
}

export const leaseCommands = {
  /** Undo the claims of a pop that nobody received, attempt included. */
  'give-back': kind(
    2,
    {
      tenant,
      consumerGroup: name,
      leaseId: text,
      partitionNumbers: list(number32, POP_PARTITIONS_MAX),
    },
    ({ consumerGroup }) => namesFit('', consumerGroup, ''),
  ),
  extend: kind(4, { tenant, leaseId: text, seconds: within(1, INT32_MAX) }),
};
type LeaseCommand = ChoiceOf<'kind', typeof leaseCommands>;
export type GiveBackCommand = Extract<LeaseCommand, { readonly kind: 'give-back' }>;
export type ExtendCommand = Extract<LeaseCommand, { readonly kind: 'extend' }>;

// --- ack (message-plane 4) ---------------------------------------------------------------------

export type AckStatus = 'completed' | 'failed' | 'retry' | 'dlq';

export interface AckItem {
  readonly transactionId: string;
  /** The text as received; digits or not is judged per item. */
  readonly partitionId: string;
  /** "" = lease-less. */
  readonly leaseId: string;
  readonly status: AckStatus;
  readonly error: string | null;
}

export interface AckCommand {
  readonly kind: 'ack';
  readonly tenant: Tenant;
  readonly consumerGroup: string;
  readonly items: readonly AckItem[];
}

export interface AckItemOutcome {
  readonly success: boolean;
  readonly error: string | null;
  readonly leaseReleased: boolean;
  readonly dlq: boolean;
  readonly noop: boolean;
}

export interface AckedOutcome {
  readonly kind: 'acked';
  readonly items: readonly AckItemOutcome[];
}

// --- lease extension (message-plane 5) ---------------------------------------------------------

export const leaseOutcomes = {
  extended: kind(3, {
    renewed: count,
    /** The earliest resulting expiry; null when nothing was renewed. */
    expiresAtUs: nullable(count),
  }),
};
export type ExtendedOutcome = ChoiceOf<'kind', typeof leaseOutcomes>;

// --- queues (message-plane 7, 8) ---------------------------------------------------------------

/** Option values named in a configure call; null = restore the default, absent = keep. */
export type OptionChanges = { readonly [name: string]: string | number | boolean | null };

export type QueueOptions = Infer<typeof queueOptions>;

const queueInKey = refined(name, (one) => namesFit(one, '', ''));

export const queueCommands = {
  configure: kind(5, { tenant, queue: queueInKey, replace: flag, changes: optionChanges }),
  'delete-queue': kind(6, { tenant, queue: queueInKey }),
};
type QueueCommand = ChoiceOf<'kind', typeof queueCommands>;
export type ConfigureCommand = Extract<QueueCommand, { readonly kind: 'configure' }>;
export type DeleteQueueCommand = Extract<QueueCommand, { readonly kind: 'delete-queue' }>;

export const queueOutcomes = {
  configured: kind(4, { queueId: text, queue: name, options: queueOptions }),
  /** Answered when the last row is gone. */
  deleted: kind(5, { existed: flag }),
};
type QueueOutcome = ChoiceOf<'kind', typeof queueOutcomes>;
export type ConfiguredOutcome = Extract<QueueOutcome, { readonly kind: 'configured' }>;
export type DeletedOutcome = Extract<QueueOutcome, { readonly kind: 'deleted' }>;

export const otherOutcomes = {
  refused: kind(7, { refusal }),
  /** A give-back needs no answer. */
  none: kind(8, {}),
};
type OtherOutcome = ChoiceOf<'kind', typeof otherOutcomes>;
export type RefusedOutcome = Extract<OtherOutcome, { readonly kind: 'refused' }>;

export type { Command, Outcome } from './catalogue.js';
