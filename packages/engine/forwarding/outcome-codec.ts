/**
 * Outcomes as bytes: on their way from the node that leads to the node that asked, and as what a
 * request record keeps (request-record.ts).
 *
 *     answer:  format u8 | index u64 | term u64 | outcome
 *     outcome: kind u8 | content
 *
 * Numbers are varints where nothing else is said. Outcomes of batches are runs: the ids of messages
 * that stand side by side in a partition follow from the first of them, and the items of an ack
 * mostly end alike. So the outcome of a push of 100 messages takes some 25 bytes, and in the worst
 * case, where no two items have anything in common, 20 for each; that of an ack 3 for each, and
 * each text once.
 *
 * Decoding never throws and never allocates on the word of a number: runs end where the number of
 * items of a command ends.
 */
import {
  formatUuid,
  isUuid,
  messageIdPrefix,
  messageIdSuffix,
  NAME_BYTES_MAX,
  type ParsedMessageId,
  parseMessageId,
} from '@svc/wire';
import { ByteWriter } from '../base/bytes.js';
import {
  type AckedOutcome,
  type AckItemOutcome,
  type AppendSlice,
  type Claim,
  ITEM_ERROR,
  type Outcome,
  type PoppedOutcome,
  type PushedOutcome,
  type QueueOptions,
  type RefusedOutcome,
} from '../base/commands/commands.js';
import type { TransactedOutcome } from '../base/commands/transaction.js';
import { POP_APPENDS_MAX } from '../base/delivery-limits.js';
import { readTerms, writeTerms } from '../base/delivery-terms.js';
import { GuardedReader } from '../base/guarded-reader.js';
import { CONFIGURE_DEFAULTS } from '../base/queue-options.js';
import type { Refusal, RefusalReason } from '../base/refusals.js';
import type { CodecRefusal } from './command-codec.js';
import { readReplayed, writeReplayed } from './dead-letter-codec.js';
import { readGroupChanged, writeGroupChanged } from './group-command-codec.js';
import { readKvOutcome, writeKvOutcome } from './kv-codec.js';
import { COMMAND_ITEMS_MAX } from './push-ack-codec.js';
import { readCycled, readRegistered, writeCycled, writeRegistered } from './stream-codec.js';
import { readSurfaceOutcome, writeSurfaceOutcome } from './surface-codec.js';
import { readTimersOutcome, writeTimersOutcome } from './timer-codec.js';
import { readRollback, writeRollback } from './transaction-codec.js';

/** What the leader says to a forwarded command. */
export interface ForwardedAnswer {
  /** The entry that has to be applied before the outcome is true; 0 with index and term: none. */
  readonly index: number;
  readonly term: number;
  readonly outcome: Outcome;
}

const FORMAT = 1;
const KINDS = [
  'pushed',
  'popped',
  'acked',
  'extended',
  'configured',
  'deleted',
  'transacted',
  'refused',
  'none',
  'group-changed',
  'dead-letters-dropped',
  'replayed',
  'traced',
  'timers',
  'kv',
  'switches-set',
  'grant-set',
  'tenant-purged',
  'stream-registered',
  'stream-cycled',
  'ephemeral-configured',
  'ephemeral-deleted',
] as const;
const REASONS: readonly [RefusalReason, ...RefusalReason[]] = [
  'bad_request',
  'name_too_long',
  'reserved_tenant',
  'retry',
  'no_leader',
  'timeout',
  'outcome_unknown',
  'standby',
  'storage_full',
  'overloaded',
  'internal',
  'too_large',
  'kv_check_needs_cluster_version_5',
  'quota_exceeded',
];
const TEXT_BYTES_MAX = 2 ** 31;
const NUMBER_MAX = 0xffff_ffff;
const UUID_BYTES = 16;
const CLAIMS_MAX = 64;
/** Milliseconds of a UUID: 48 bits. */
const MS_MAX = 2 ** 48 - 1;
const OFFSET_MAX = 2 ** 41 - 1;

// --- writing -------------------------------------------------------------------------------------

export function encodeAnswer(answer: ForwardedAnswer): Uint8Array {
  const w = new ByteWriter(64);
  w.u8(FORMAT);
  w.u64(answer.index);
  w.u64(answer.term);
  writeOutcome(w, answer.outcome);
  return w.finish();
}

export function writeOutcome(w: ByteWriter, outcome: Outcome): void {
  w.u8(KINDS.indexOf(outcome.kind));
  switch (outcome.kind) {
    case 'pushed':
      writePushed(w, outcome);
      break;
    case 'popped':
      writePopped(w, outcome);
      break;
    case 'acked':
      writeAcked(w, outcome);
      break;
    case 'extended':
      w.varint(outcome.renewed);
      w.flag(outcome.expiresAtUs !== null);
      if (outcome.expiresAtUs !== null) w.varint(outcome.expiresAtUs);
      break;
    case 'configured':
      w.text(outcome.queueId);
      w.text(outcome.queue);
      writeOptions(w, outcome.options);
      break;
    case 'deleted':
      w.flag(outcome.existed);
      break;
    case 'transacted':
      writeTransacted(w, outcome);
      break;
    case 'group-changed':
      writeGroupChanged(w, outcome);
      break;
    case 'dead-letters-dropped':
      w.varint(outcome.deleted);
      w.flag(outcome.isDone);
      break;
    case 'replayed':
      writeReplayed(w, outcome);
      break;
    case 'traced':
      w.optionalText(outcome.traceId);
      break;
    case 'timers':
      writeTimersOutcome(w, outcome);
      break;
    case 'ephemeral-configured':
    case 'ephemeral-deleted':
      w.flag(outcome.kind === 'ephemeral-deleted' ? outcome.wasDeclared : outcome.isOverQuota);
      break;
    case 'kv':
      writeKvOutcome(w, outcome);
      break;
    case 'switches-set':
    case 'grant-set':
    case 'tenant-purged':
      writeSurfaceOutcome(w, outcome);
      break;
    case 'stream-registered':
      writeRegistered(w, outcome);
      break;
    case 'stream-cycled':
      writeCycled(w, outcome, (pushed) => writePushed(w, pushed));
      break;
    case 'refused':
      writeRefusal(w, outcome.refusal);
      break;
    case 'none':
      break;
  }
}

/** Statuses in the low bits of a run's first byte; above them whether its ids follow from one. */
const RUN_OF_PLACES = 4;

function writePushed(w: ByteWriter, outcome: PushedOutcome): void {
  const { status, messageIds } = outcome;
  w.varint(messageIds.length);
  let item = 0;
  while (item < messageIds.length) {
    const verdict = status[item] ?? ITEM_ERROR;
    const id = messageIds[item] ?? '';
    // All bits of such an id are in its parts, so it follows from them.
    const place = parseMessageId(id);
    if (place === null) {
      w.u8(verdict);
      w.varint(1);
      w.uuid(id);
      item++;
      continue;
    }
    const end = runEnd(outcome, item, place);
    w.u8(verdict | RUN_OF_PLACES);
    w.varint(end - item);
    w.varint(place.ms);
    w.u32(place.partition);
    w.flag(place.implicit);
    w.varint(place.offset);
    item = end;
  }
}

/** Behind the last item whose id and status follow from those of `item`. */
function runEnd(outcome: PushedOutcome, item: number, place: ParsedMessageId): number {
  const { status, messageIds } = outcome;
  const { partition, implicit, offset } = place;
  let end = item + 1;
  if (end === messageIds.length) return end;
  const prefix = messageIdPrefix(place.ms * 1000, partition);
  while (end < messageIds.length && status[end] === status[item]) {
    const next = offset + end - item;
    if (next > OFFSET_MAX) break;
    if (messageIds[end] !== prefix + messageIdSuffix(partition, implicit, next)) break;
    end++;
  }
  return end;
}

function writePopped(w: ByteWriter, outcome: PoppedOutcome): void {
  w.text(outcome.queue);
  w.text(outcome.consumerGroup);
  w.text(outcome.leaseId);
  w.varint(outcome.claims.length);
  for (const claim of outcome.claims) {
    w.text(claim.queue);
    w.text(claim.partition);
    w.varint(claim.partitionNumber);
    w.varint(claim.deliveryAttempt);
    w.varint(claim.skipped);
    w.varint(claim.slices.length);
    for (const slice of claim.slices) {
      w.varint(slice.index);
      w.varint(slice.position);
      w.varint(slice.length);
      w.varint(slice.baseOffset);
      w.varint(slice.stampUs);
      w.varint(slice.first - slice.baseOffset);
      w.varint(slice.last - slice.first);
    }
  }
  writeTerms(w, outcome.terms);
}

const ACK_SUCCESS = 1;
const ACK_RELEASED = 2;
const ACK_DLQ = 4;
const ACK_NOOP = 8;
const ACK_FLAGS = 15;
/** What stands for an item's text: nothing, one that follows, or one of those before. */
const NO_TEXT = 0;
const NEW_TEXT = 1;
const FIRST_TEXT = 2;

function writeAcked(w: ByteWriter, outcome: AckedOutcome): void {
  const { items } = outcome;
  const texts = new Map<string, number>();
  w.varint(items.length);
  let at = 0;
  while (at < items.length) {
    const item = items[at];
    if (item === undefined) break;
    const flags = ackFlags(item);
    let end = at + 1;
    for (; end < items.length; end++) {
      const next = items[end];
      if (next === undefined || next.error !== item.error || ackFlags(next) !== flags) break;
    }
    w.u8(flags);
    w.varint(end - at);
    writeError(w, item.error, texts);
    at = end;
  }
}

function writeError(w: ByteWriter, error: string | null, texts: Map<string, number>): void {
  const known = error === null ? NO_TEXT : texts.get(error);
  w.varint(known ?? NEW_TEXT);
  if (known !== undefined || error === null) return;
  w.text(error);
  texts.set(error, FIRST_TEXT + texts.size);
}

function ackFlags(item: AckItemOutcome): number {
  return (
    (item.success ? ACK_SUCCESS : 0) |
    (item.leaseReleased ? ACK_RELEASED : 0) |
    (item.dlq ? ACK_DLQ : 0) |
    (item.noop ? ACK_NOOP : 0)
  );
}

/** Of the acks that filed something each number as its distance from the one before. */
function writeTransacted(w: ByteWriter, outcome: TransactedOutcome): void {
  const { rollback, filed, pushed, kv, timers } = outcome;
  writeRollback(w, rollback);
  w.varint(filed.length);
  let before = 0;
  for (const at of filed) {
    w.varint(at - before);
    before = at;
  }
  w.flag(pushed !== null);
  if (pushed !== null) writePushed(w, pushed);
  w.flag(kv !== null);
  if (kv !== null) writeKvOutcome(w, kv);
  w.flag(timers !== null);
  if (timers !== null) writeTimersOutcome(w, timers);
}

/** In the order of `QueueOptions`, of which builds of one cluster version have the same ones. */
function writeOptions(w: ByteWriter, options: QueueOptions): void {
  for (const name of OPTION_NAMES) {
    const value = options[name];
    if (typeof value === 'boolean') w.flag(value);
    else if (typeof value === 'number') w.u32(value);
    else w.text(value);
  }
}

const OPTION_NAMES = Object.keys(CONFIGURE_DEFAULTS) as (keyof QueueOptions)[];

function writeRefusal(w: ByteWriter, refusal: Refusal): void {
  w.u8(REASONS.indexOf(refusal.reason));
  w.text(refusal.error);
  w.flag(refusal.leader !== undefined);
  if (refusal.leader !== undefined) w.varint(refusal.leader);
}

// --- reading -------------------------------------------------------------------------------------

export function decodeAnswer(bytes: Uint8Array): ForwardedAnswer | CodecRefusal {
  const r = new GuardedReader(bytes);
  if (r.u8() !== FORMAT) return 'format';
  const index = r.u64();
  const term = r.u64();
  const outcome = readOutcome(r);
  if (outcome === null) return r.refused ? 'content' : 'kind';
  return r.whole ? { index, term, outcome } : 'content';
}

/** null: no kind that this build knows. Whether it is whole the caller asks the reader. */
export function readOutcome(r: GuardedReader): Outcome | null {
  const kind = KINDS[r.u8()];
  switch (kind) {
    case 'pushed':
      return readPushed(r);
    case 'popped':
      return readPopped(r);
    case 'acked':
      return readAcked(r);
    case 'extended':
      return { kind, renewed: r.varint(), expiresAtUs: r.flag() ? r.varint() : null };
    case 'configured':
      return {
        kind,
        queueId: r.text(TEXT_BYTES_MAX),
        queue: r.text(NAME_BYTES_MAX),
        options: readOptions(r),
      };
    case 'deleted':
      return { kind, existed: r.flag() };
    case 'transacted':
      return readTransacted(r);
    case 'group-changed':
      return readGroupChanged(r);
    case 'dead-letters-dropped':
      return { kind, deleted: r.varint(), isDone: r.flag() };
    case 'replayed':
      return readReplayed(r);
    case 'traced':
      return { kind, traceId: r.optionalText(TEXT_BYTES_MAX) };
    case 'timers':
      return readTimersOutcome(r);
    case 'ephemeral-configured':
      return { kind, isOverQuota: r.flag() };
    case 'ephemeral-deleted':
      return { kind, wasDeclared: r.flag() };
    case 'kv':
      return readKvOutcome(r);
    case 'switches-set':
    case 'grant-set':
    case 'tenant-purged':
      return readSurfaceOutcome(r, kind);
    case 'stream-registered':
      return readRegistered(r);
    case 'stream-cycled':
      return readCycled(r, () => readPushed(r));
    case 'refused':
      return readRefused(r);
    case 'none':
      return { kind };
    default:
      return null;
  }
}

function readPushed(r: GuardedReader): PushedOutcome {
  const items = r.within(0, COMMAND_ITEMS_MAX);
  const statuses: number[] = [];
  const messageIds: string[] = [];
  while (messageIds.length < items && !r.refused) {
    const head = r.u8();
    const status = head % RUN_OF_PLACES;
    const count = r.within(1, items - messageIds.length);
    if (head > RUN_OF_PLACES + ITEM_ERROR || (head < RUN_OF_PLACES && count > 1)) r.refuse();
    if (head < RUN_OF_PLACES) {
      const bytes = r.view(UUID_BYTES);
      if (r.refused) break;
      statuses.push(status);
      messageIds.push(formatUuid(bytes));
      continue;
    }
    const ms = r.within(0, MS_MAX);
    const partition = r.u32();
    const implicit = r.flag();
    const offset = r.within(0, OFFSET_MAX);
    if (offset + count - 1 > OFFSET_MAX) r.refuse();
    const prefix = messageIdPrefix(ms * 1000, partition);
    for (let i = 0; i < count && !r.refused; i++) {
      statuses.push(status);
      messageIds.push(prefix + messageIdSuffix(partition, implicit, offset + i));
    }
  }
  return { kind: 'pushed', status: Uint8Array.from(statuses), messageIds };
}

function readPopped(r: GuardedReader): PoppedOutcome {
  const queue = r.text(NAME_BYTES_MAX);
  const consumerGroup = r.text(NAME_BYTES_MAX);
  const leaseId = r.text(TEXT_BYTES_MAX);
  if (leaseId !== '' && !isUuid(leaseId)) r.refuse();
  const claims: Claim[] = [];
  let slicesLeft = POP_APPENDS_MAX;
  for (let left = r.count(5, CLAIMS_MAX); left > 0 && !r.refused; left--) {
    const names = { queue: r.text(NAME_BYTES_MAX), partition: r.text(NAME_BYTES_MAX) };
    const partitionNumber = r.within(0, NUMBER_MAX);
    const deliveryAttempt = r.varint();
    const skipped = r.varint();
    const slices: AppendSlice[] = [];
    const count = r.count(7, slicesLeft);
    slicesLeft -= count;
    for (let i = 0; i < count && !r.refused; i++) slices.push(readSlice(r));
    claims.push({ ...names, partitionNumber, deliveryAttempt, skipped, slices });
  }
  return { kind: 'popped', queue, consumerGroup, leaseId, claims, terms: readTerms(r) };
}

function readSlice(r: GuardedReader): AppendSlice {
  const [index, position, length] = [r.varint(), r.within(0, NUMBER_MAX), r.within(0, NUMBER_MAX)];
  const baseOffset = r.within(0, OFFSET_MAX);
  const stampUs = r.varint();
  const first = baseOffset + r.within(0, OFFSET_MAX - baseOffset);
  const last = first + r.within(0, OFFSET_MAX - first);
  return { index, position, length, baseOffset, stampUs, first, last };
}

function readAcked(r: GuardedReader): AckedOutcome {
  const count = r.within(0, COMMAND_ITEMS_MAX);
  const items: AckItemOutcome[] = [];
  const texts: string[] = [];
  while (items.length < count && !r.refused) {
    const flags = r.u8();
    if (flags > ACK_FLAGS) r.refuse();
    const run = r.within(1, count - items.length);
    const error = readError(r, texts);
    const item: AckItemOutcome = {
      success: (flags & ACK_SUCCESS) !== 0,
      error,
      leaseReleased: (flags & ACK_RELEASED) !== 0,
      dlq: (flags & ACK_DLQ) !== 0,
      noop: (flags & ACK_NOOP) !== 0,
    };
    for (let i = 0; i < run && !r.refused; i++) items.push(item);
  }
  return { kind: 'acked', items };
}

function readTransacted(r: GuardedReader): TransactedOutcome {
  const rollback = readRollback(r);
  const filed: number[] = [];
  let at = 0;
  for (let left = r.count(1, COMMAND_ITEMS_MAX); left > 0 && !r.refused; left--) {
    at += r.within(0, COMMAND_ITEMS_MAX - 1);
    filed.push(at);
  }
  const pushed = r.flag() ? readPushed(r) : null;
  const kv = r.flag() ? readKvOutcome(r) : null;
  const timers = r.flag() ? readTimersOutcome(r) : null;
  return { kind: 'transacted', rollback, filed, pushed, kv, timers };
}

function readError(r: GuardedReader, texts: string[]): string | null {
  const code = r.within(NO_TEXT, FIRST_TEXT + texts.length - 1);
  if (code === NO_TEXT || r.refused) return null;
  if (code >= FIRST_TEXT) return texts[code - FIRST_TEXT] ?? null;
  const text = r.text(TEXT_BYTES_MAX);
  texts.push(text);
  return text;
}

function readOptions(r: GuardedReader): QueueOptions {
  const options: Record<string, string | number | boolean> = {};
  for (const name of OPTION_NAMES) {
    const before = CONFIGURE_DEFAULTS[name];
    if (typeof before === 'boolean') options[name] = r.flag();
    else if (typeof before === 'number') options[name] = r.u32() | 0;
    else options[name] = r.text(TEXT_BYTES_MAX);
  }
  return options as unknown as QueueOptions;
}

function readRefused(r: GuardedReader): RefusedOutcome {
  const reason = r.oneOf(REASONS);
  const error = r.text(TEXT_BYTES_MAX);
  if (!r.flag()) return { kind: 'refused', refusal: { reason, error } };
  return { kind: 'refused', refusal: { reason, error, leader: r.varint() } };
}
