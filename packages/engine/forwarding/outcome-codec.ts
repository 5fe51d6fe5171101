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
import { type ByteWriter, KeptWriter } from '../base/bytes.js';
import { type OutcomeByHand, outcomeFields } from '../base/commands/catalogue.js';
import {
  type AckedOutcome,
  type AckItemOutcome,
  type AppendSlice,
  type Claim,
  ITEM_ERROR,
  type Outcome,
  type PoppedOutcome,
  type PushedOutcome,
} from '../base/commands/commands.js';
import { kvOutcomes } from '../base/commands/kv.js';
import { timerOutcomes } from '../base/commands/timers.js';
import { rollback, type TransactedOutcome } from '../base/commands/transaction.js';
import { POP_APPENDS_MAX } from '../base/delivery-limits.js';
import { readTerms, writeTerms } from '../base/delivery-terms.js';
import { choice } from '../base/fields/choice.js';
import { ascending } from '../base/fields/field.js';
import { maybe, record } from '../base/fields/record.js';
import { GuardedReader } from '../base/guarded-reader.js';
import type { CodecRefusal } from './command-codec.js';
import { COMMAND_ITEMS_MAX } from './push-ack-codec.js';
import { readCycled, writeCycled } from './stream-codec.js';

/** What the leader says to a forwarded command. */
export interface ForwardedAnswer {
  /** The entry that has to be applied before the outcome is true; 0 with index and term: none. */
  readonly index: number;
  readonly term: number;
  readonly outcome: Outcome;
}

const FORMAT = 2;

/** Kinds that are written by hand, because their items are runs. */
const NUMBERS = { pushed: 0, popped: 1, acked: 2, transacted: 6, 'stream-cycled': 19 } as const;
const byHand = new Map<number, OutcomeByHand['kind']>(
  Object.entries(NUMBERS).map(([kind, number]) => [number, kind as OutcomeByHand['kind']]),
);

/** The others. Their numbers are not those above. */
const byFields = choice('kind', outcomeFields);

/** Beside what it pushed, which comes behind it. */
const transactedParts = record({
  rollback,
  filed: ascending(COMMAND_ITEMS_MAX),
  kv: maybe(record(kvOutcomes.kv.fields)),
  timers: maybe(record(timerOutcomes.timers.fields)),
});

function isByHand(outcome: Outcome): outcome is OutcomeByHand {
  return Object.hasOwn(NUMBERS, outcome.kind);
}

const TEXT_BYTES_MAX = 2 ** 31;
const NUMBER_MAX = 0xffff_ffff;
const UUID_BYTES = 16;
const CLAIMS_MAX = 64;
/** Milliseconds of a UUID: 48 bits. */
const MS_MAX = 2 ** 48 - 1;
const OFFSET_MAX = 2 ** 41 - 1;

// --- writing -------------------------------------------------------------------------------------

const kept = new KeptWriter();

export function encodeAnswer(answer: ForwardedAnswer): Uint8Array {
  const w = kept.begin();
  writeAnswer(w, answer);
  return w.copied();
}

export function writeAnswer(w: ByteWriter, answer: ForwardedAnswer): void {
  w.u8(FORMAT);
  w.u64(answer.index);
  w.u64(answer.term);
  writeOutcome(w, answer.outcome);
}

export function writeOutcome(w: ByteWriter, outcome: Outcome): void {
  if (!isByHand(outcome)) {
    byFields.write(w, outcome);
    return;
  }
  w.u8(NUMBERS[outcome.kind]);
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
    case 'transacted':
      writeTransacted(w, outcome);
      break;
    case 'stream-cycled':
      writeCycled(w, outcome, (pushed) => writePushed(w, pushed));
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

function writeTransacted(w: ByteWriter, outcome: TransactedOutcome): void {
  const { pushed } = outcome;
  transactedParts.write(w, outcome);
  w.flag(pushed !== null);
  if (pushed !== null) writePushed(w, pushed);
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
  const number = r.u8();
  const kind = byHand.get(number);
  switch (kind) {
    case 'pushed':
      return readPushed(r);
    case 'popped':
      return readPopped(r);
    case 'acked':
      return readAcked(r);
    case 'transacted':
      return readTransacted(r);
    case 'stream-cycled':
      return readCycled(r, () => readPushed(r));
    case undefined: {
      if (byFields.formOfNumber(number) === undefined) return null;
      const outcome = byFields.readKind(r, number);
      return r.refused ? null : outcome;
    }
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
  return { kind: 'pushed', status: new Uint8Array(statuses), messageIds };
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

function readTransacted(r: GuardedReader): TransactedOutcome | null {
  const { kv, timers, ...others } = transactedParts.read(r);
  const pushed = r.flag() ? readPushed(r) : null;
  if (r.refused) return null;
  return {
    kind: 'transacted',
    ...others,
    pushed,
    kv: kv === null ? null : { kind: 'kv', ...kv },
    timers: timers === null ? null : { kind: 'timers', ...timers },
  };
}

function readError(r: GuardedReader, texts: string[]): string | null {
  const code = r.within(NO_TEXT, FIRST_TEXT + texts.length - 1);
  if (code === NO_TEXT || r.refused) return null;
  if (code >= FIRST_TEXT) return texts[code - FIRST_TEXT] ?? null;
  const text = r.text(TEXT_BYTES_MAX);
  texts.push(text);
  return text;
}
