/**
 * What goes between the core thread and a front thread, as frames (`frames.ts`). Each request of a
 * thread has a number that the thread gives out, and the frames of its answer carry it.
 *
 *     to the core:    command     a forwarded command (`command-codec.ts`)
 *                     pop         length u8, owner of the answer's room | a forwarded command
 *                     ack and pop as pop, but length u32, the acknowledgements' command | the pop's
 *                     give back   a forwarded command, which nobody answers
 *                     gone        the client has gone
 *                     taken       the client has its answer, or has gone: its room is free
 *                     calls       counters that have risen (`CALL_COUNTERS`), as varints
 *                     call        a request for the core's own front: lines of its head | its body,
 *                                 or what came of it
 *                     more        so many bytes of its answer were taken, as a varint
 *                     port call   a request for the core's gateway, as call
 *                     body        more of that body: last u8 | bytes
 *                     gated       as pop, with a demand (`gate-frames.ts`) before the command
 *                     ask         demand | tenant, of a call that has no command
 *     to the thread:  outcome     an answer (`outcome-codec.ts`)
 *                     held outcome  as outcome; the core counts its room until it hears `taken`
 *                     judged      what the gate says, where that is all the answer
 *                     acked       verdicts that belong to the outcome behind it
 *                     delivered   what a pop has taken, with the payloads
 *                     held        as delivered; the core counts its room until it hears `taken`
 *                     over        nothing comes any more for a client that has gone
 *                     cut         the reader of a held answer is too slow for those who wait
 *                     head        of the answer to a call: JSON of it | its first bytes
 *                     bytes       the next bytes of that answer
 *                     broken      there is no more of it: the connection is to be closed
 *                     read on     the core takes more of the body of a port call
 *
 * Commands and outcomes are those that a follower and its leader exchange: one codec, one set of
 * checks. Only a pop's answer differs, because a follower reads payloads from its own log, and a
 * thread has none. Payloads that stand close together in an append are sent as one stretch of it,
 * by reference, so they are copied once on their way into the ring.
 */
import {
  ByteWriter,
  type Command,
  decodeAnswer,
  decodeForwarded,
  encodeAnswer,
  encodeForwarded,
  GuardedReader,
  KeptWriter,
  type Outcome,
  readTerms,
  writeAnswer,
  writeForwarded,
  writeTerms,
} from '@svc/engine';
import type { AnswerHead, DeliveredOutcome, MessageBatch, PoppedMessages } from '@svc/http';
import { type CallMeters, NAME_BYTES_MAX } from '@svc/wire';

export const TO_CORE = {
  command: 1,
  pop: 2,
  giveBack: 3,
  gone: 4,
  taken: 5,
  calls: 6,
  call: 7,
  more: 8,
  ackAndPop: 9,
  portCall: 10,
  body: 11,
  gated: 12,
  ask: 13,
} as const;
export const TO_THREAD = {
  outcome: 1,
  delivered: 2,
  held: 3,
  over: 4,
  cut: 5,
  acked: 6,
  heldOutcome: 7,
  judged: 8,
  // From here on: frames of a request that is passed on.
  head: 9,
  bytes: 10,
  broken: 11,
  readOn: 12,
} as const;

/** In the order of their varints. */
export const CALL_COUNTERS = [
  'pushRequests',
  'pushMessages',
  'popRequests',
  'popMessages',
  'ackRequests',
  'ackMessages',
] as const satisfies readonly (keyof CallMeters)[];

const TEXT_BYTES_MAX = 2 ** 31;
const NUMBER_MAX = Number.MAX_SAFE_INTEGER;
/** Payloads that are spread over so much more than they take are gathered. */
const SPREAD_MAX = 2;
const NO_TERM = 0;

// --- commands and outcomes -----------------------------------------------------------------------

/** A pop has its deadline in it; those of the others are the core's. */
export function commandParts(command: Command, nowMs: number): Uint8Array[] {
  return encodeForwarded({ term: NO_TERM, deadlineMs: 0, origin: null, command }, nowMs);
}

const kept = new KeptWriter();

/** As `commandParts`; the first part is in memory that the next call of `lent...` writes to. */
export function lentCommandParts(command: Command, nowMs: number): Uint8Array[] {
  const forwarded = { term: NO_TERM, deadlineMs: 0, origin: null, command };
  const w = kept.begin();
  const body = writeForwarded(w, forwarded, nowMs);
  return body === null ? [w.view()] : [w.view(), body];
}

/** `owner`: whose part of the room for answers it takes, a char code for each byte. */
export function popParts(command: Command, owner: string, nowMs: number): Uint8Array[] {
  return [ownerHead(owner), ...commandParts(command, nowMs)];
}

export function ackAndPopParts(
  acks: Command,
  pop: Command,
  owner: string,
  nowMs: number,
): Uint8Array[] {
  const acksBytes = Buffer.concat(commandParts(acks, nowMs));
  return [ownerHead(owner), lengthOf(acksBytes), acksBytes, ...commandParts(pop, nowMs)];
}

/** Before a command that has room for its answer. */
export function ownerHead(owner: string): Uint8Array {
  const head = new Uint8Array(1 + owner.length);
  head[0] = owner.length;
  for (let i = 0; i < owner.length; i++) head[i + 1] = owner.charCodeAt(i);
  return head;
}

/** The owner of the answer's room, and the bytes of the command. */
export function splitPop(content: Uint8Array): readonly [string, Uint8Array] {
  const end = 1 + (content[0] ?? 0);
  return [Buffer.from(content.subarray(1, end)).toString('latin1'), content.subarray(end)];
}

/** The bytes of both commands. */
export function splitAckAndPop(bytes: Uint8Array): readonly [Uint8Array, Uint8Array] {
  const end = endOfFirst(bytes);
  return [bytes.subarray(4, end), bytes.subarray(end)];
}

/** null: the bytes cannot be read, which is a bug, for both threads are of one build. */
export function readCommand(content: Uint8Array, nowMs: number): Command | null {
  const forwarded = decodeForwarded(content, nowMs);
  return typeof forwarded === 'string' ? null : forwarded.command;
}

export function outcomeParts(outcome: Outcome): Uint8Array[] {
  return [encodeAnswer({ index: 0, term: NO_TERM, outcome })];
}

/** As `outcomeParts`, in memory as of `lentCommandParts`. */
export function lentOutcomeParts(outcome: Outcome): Uint8Array[] {
  const w = kept.begin();
  writeAnswer(w, { index: 0, term: NO_TERM, outcome });
  return [w.view()];
}

/** null: as of a command. */
export function readOutcome(content: Uint8Array): Outcome | null {
  const answer = decodeAnswer(content);
  return typeof answer === 'string' ? null : answer.outcome;
}

// --- what a pop delivers -------------------------------------------------------------------------

export function deliveredParts(outcome: DeliveredOutcome): Uint8Array[] {
  const w = new ByteWriter(256);
  const payloads: Uint8Array[] = [];
  w.text(outcome.leaseId);
  writeTerms(w, outcome.terms);
  w.varint(outcome.claims.length);
  for (const claim of outcome.claims) {
    w.text(claim.queue);
    w.text(claim.partition);
    w.varint(claim.partitionNumber);
    w.varint(claim.deliveryAttempt);
    w.varint(claim.batches.length);
    for (const batch of claim.batches) payloads.push(writeBatch(w, batch));
  }
  return [w.finish(), ...payloads];
}

/** Returns the bytes that its payloads stand in. */
function writeBatch(w: ByteWriter, batch: MessageBatch): Uint8Array {
  const { first, last, payloadStart, payloadEnd, transactionIds, producerSubs, traceIds } = batch;
  const from = payloadStart[first] ?? 0;
  let bytes = 0;
  let [least, most] = [from, from];
  for (let i = first; i <= last; i++) {
    const [start, end] = [payloadStart[i] ?? 0, payloadEnd[i] ?? 0];
    bytes += end - start;
    if (start < least) least = start;
    if (end > most) most = end;
  }
  const isDense = most - least <= SPREAD_MAX * bytes;
  w.varint(batch.stampUs);
  w.varint(batch.baseOffset + first);
  w.varint(last - first + 1);
  w.varint(isDense ? most - least : bytes);
  let at = 0;
  for (let i = first; i <= last; i++) {
    const [start, end] = [payloadStart[i] ?? 0, payloadEnd[i] ?? 0];
    w.varint(isDense ? start - least : at);
    w.varint(end - start);
    at += end - start;
  }
  writeColumn(w, transactionIds, first, last);
  writeColumn(w, producerSubs, first, last);
  writeColumn(w, traceIds, first, last);
  writeColumn(w, batch.messageIds ?? null, first, last);
  return isDense ? batch.bytes.subarray(least, most) : gathered(batch, bytes);
}

function gathered({ bytes, first, last, payloadStart, payloadEnd }: MessageBatch, total: number) {
  const into = new Uint8Array(total);
  let at = 0;
  for (let i = first; i <= last; i++) {
    into.set(bytes.subarray(payloadStart[i], payloadEnd[i]), at);
    at += (payloadEnd[i] ?? 0) - (payloadStart[i] ?? 0);
  }
  return into;
}

type Column = readonly (string | null)[] | null;

function writeColumn(w: ByteWriter, column: Column, first: number, last: number): void {
  let isEmpty = column === null;
  if (column !== null) {
    isEmpty = true;
    for (let i = first; i <= last && isEmpty; i++) isEmpty = (column[i] ?? null) === null;
  }
  w.flag(!isEmpty);
  if (isEmpty || column === null) return;
  for (let i = first; i <= last; i++) w.optionalText(column[i] ?? null);
}

/** Payloads are views of `content`. null: as of a command. */
export function readDelivered(content: Uint8Array): DeliveredOutcome | null {
  const r = new GuardedReader(content);
  const leaseId = r.text(TEXT_BYTES_MAX);
  const terms = readTerms(r);
  const claims: PoppedMessages[] = [];
  const lengths: number[] = [];
  for (let left = r.varint(); left > 0 && !r.refused; left--) {
    const queue = r.text(NAME_BYTES_MAX);
    const partition = r.text(NAME_BYTES_MAX);
    const partitionNumber = r.varint();
    const deliveryAttempt = r.varint();
    const batches: ReadBatch[] = [];
    for (let more = r.varint(); more > 0 && !r.refused; more--) {
      batches.push(readBatch(r, lengths));
    }
    claims.push({ queue, partition, partitionNumber, deliveryAttempt, batches });
  }
  let at = 0;
  for (const { batches } of claims) {
    for (const batch of batches as ReadBatch[]) batch.bytes = r.view(lengths[at++] ?? 0);
  }
  return r.whole ? { kind: 'delivered', leaseId, claims, terms } : null;
}

type ReadBatch = { -readonly [Name in keyof MessageBatch]: MessageBatch[Name] };

const NO_BYTES = new Uint8Array(0);

function readBatch(r: GuardedReader, lengths: number[]): ReadBatch {
  const stampUs = r.varint();
  const baseOffset = r.varint();
  const count = r.count(2, NUMBER_MAX);
  lengths.push(r.varint());
  const payloadStart: number[] = [];
  const payloadEnd: number[] = [];
  for (let i = 0; i < count; i++) {
    const start = r.varint();
    payloadStart.push(start);
    payloadEnd.push(start + r.varint());
  }
  return {
    bytes: NO_BYTES,
    payloadStart,
    payloadEnd,
    stampUs,
    baseOffset,
    first: 0,
    last: count - 1,
    transactionIds: readColumn(r, count) ?? new Array<null>(count).fill(null),
    producerSubs: readColumn(r, count),
    traceIds: readColumn(r, count),
    messageIds: readColumn(r, count),
  };
}

function readColumn(r: GuardedReader, count: number): (string | null)[] | null {
  if (!r.flag()) return null;
  const column: (string | null)[] = [];
  for (let i = 0; i < count; i++) column.push(r.optionalText(TEXT_BYTES_MAX));
  return column;
}

// --- counters ------------------------------------------------------------------------------------

/** The counts since `told`, which is brought up to date; null: none has risen. */
export function callsParts(calls: CallMeters, told: CallMeters): Uint8Array[] | null {
  const hasRisen = CALL_COUNTERS.some((name) => calls[name] !== told[name]);
  if (!hasRisen) return null;
  const w = new ByteWriter(16);
  for (const name of CALL_COUNTERS) {
    w.varint(calls[name] - told[name]);
    told[name] = calls[name];
  }
  return [w.finish()];
}

export function addCalls(calls: CallMeters, content: Uint8Array): void {
  const r = new GuardedReader(content);
  for (const name of CALL_COUNTERS) calls[name] += r.varint();
}

// --- requests that are passed on -----------------------------------------------------------------

/** The head of a passed request; `owner` as of a pop. */
export interface PassedCallHead {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly owner: string;
}

/** Whether the bytes behind a head are the whole body, or what came of it, or there is none. */
export type PassedCallBody = 'none' | 'whole' | 'begun';

export function callParts(
  head: PassedCallHead,
  bytes: Uint8Array,
  body: PassedCallBody,
): Uint8Array[] {
  const { method, target, headers, owner } = head;
  const lines = [body, method, target, Buffer.from(owner, 'latin1').toString('hex')];
  for (const [name, value] of headers) lines.push(name, value);
  // A carriage return ends whatever part of a head it stands in, so it stands in none.
  const text = Buffer.from(lines.join('\r'));
  return [lengthOf(text), text, bytes];
}

export function splitCall(
  content: Uint8Array,
): readonly [PassedCallHead & { readonly body: PassedCallBody }, Uint8Array] {
  const [text, bytes] = splitText(content);
  const lines = text.split('\r');
  const [body = '', method = '', target = '', owner = ''] = lines;
  const headers: (readonly [string, string])[] = [];
  for (let at = 4; at + 1 < lines.length; at += 2) {
    headers.push([lines[at] as string, lines[at + 1] as string]);
  }
  const head = { method, target, headers, owner: Buffer.from(owner, 'hex').toString('latin1') };
  return [{ ...head, body: body as PassedCallBody }, bytes];
}

export function bodyParts(bytes: Uint8Array, isLast: boolean): Uint8Array[] {
  return [Uint8Array.of(Number(isLast)), bytes];
}

/** The bytes, and whether they are the last. */
export function splitBody(content: Uint8Array): readonly [Uint8Array, boolean] {
  return [content.subarray(1), content[0] === 1];
}

export function headAndBytes(head: AnswerHead, bytes: Uint8Array): Uint8Array[] {
  const json = Buffer.from(JSON.stringify(head));
  return [lengthOf(json), json, bytes];
}

export function splitHead(content: Uint8Array): readonly [AnswerHead, Uint8Array] {
  const [json, bytes] = splitText(content);
  return [JSON.parse(json) as AnswerHead, bytes];
}

function lengthOf(bytes: Uint8Array): Uint8Array {
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, bytes.length);
  return length;
}

/** Where that ends whose length stands before it. */
function endOfFirst(content: Uint8Array): number {
  return 4 + new DataView(content.buffer, content.byteOffset, 4).getUint32(0);
}

function splitText(content: Uint8Array): readonly [string, Uint8Array] {
  const end = endOfFirst(content);
  return [Buffer.from(content.subarray(4, end)).toString(), content.subarray(end)];
}

export function moreParts(bytes: number): Uint8Array[] {
  const w = new ByteWriter(8);
  w.varint(bytes);
  return [w.finish()];
}

export function readMore(content: Uint8Array): number {
  return new GuardedReader(content).varint();
}
