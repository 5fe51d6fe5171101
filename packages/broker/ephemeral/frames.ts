/**
 * What nodes ask each other about ephemeral queues, as bytes: one kind of call, whose first byte
 * says what is asked.
 *
 *     push:      place | count | length of each payload | payloads
 *     pop:       tenant | queue | partition or none | group | batch | autoAck | waits ms (0: not)
 *     ack:       tenant | queue | group | count | (id | verdict) of each
 *     give-back: tenant | queue | group | count | ids
 *     reset:     tenant | queue
 *     applied:   log index; answered when the node has applied it
 *     ready:     nothing
 *     leaving:   epoch
 *     adopt:     epoch | count | parts of rings (ephemeral/carried-frames.ts)
 *
 *     answer:    verdict u8 | content
 *     pop:       count | (partition | incarnation | sequence | attempts | length) of each |
 *   payloads
 *     ack:       count | outcomes u8
 *     ready:     epoch
 *     adopt:     count | incarnations that were refused
 *
 * What is asked here is never passed on: it is done by the node that hears it, or refused. Decoding
 * never throws and allocates nothing on the word of a number.
 */
import { ByteWriter, type GuardedReader } from '@svc/engine';
import { type Payloads, parseMessageId, type RingPlace } from '@svc/ephemeral';
import type {
  EphemeralAckOutcome,
  EphemeralAcks,
  EphemeralMessage,
  EphemeralPop,
  EphemeralPush,
  EphemeralRefusalCode,
} from '@svc/http';
import { EPHEMERAL_ITEMS_MAX, EPHEMERAL_NAME_BYTES_MAX } from '@svc/wire';

export const EPHEMERAL_ASKS = [
  'push',
  'pop',
  'ack',
  'give-back',
  'reset',
  'applied',
  'ready',
  'leaving',
  'adopt',
] as const;
export type EphemeralAsk = (typeof EPHEMERAL_ASKS)[number];

/** How a call ended where it was heard. */
export const EPHEMERAL_ANSWERS = [
  'done',
  'queue_full',
  'ephemeral_quota_exceeded',
  'ephemeral_unavailable',
  'owner_moved',
  /** It was no question. */
  'content',
  'ephemeral_too_large',
] as const satisfies readonly ('done' | 'content' | EphemeralRefusalCode)[];
export type EphemeralAnswerWord = (typeof EPHEMERAL_ANSWERS)[number];

const TENANT_BYTES = 36;
const ID_BYTES_MAX = 1024;
const WAIT_MS_MAX = 600_000;
const PAYLOAD_BYTES_MAX = 2 ** 31;
const INCARNATION_MAX = 2 ** 48;
/** Sequences may be below zero by what is put in front of a ring; all are safe integers. */
const SEQUENCE_BASE = 2 ** 50;
const ACK_OUTCOMES: readonly [EphemeralAckOutcome, ...EphemeralAckOutcome[]] = [
  'acked',
  'redelivered',
  'stale',
  'unknown',
];

export function askWriter(ask: EphemeralAsk): ByteWriter {
  const w = new ByteWriter(128);
  w.u8(EPHEMERAL_ASKS.indexOf(ask));
  return w;
}

/** null: it asks for something that this build does not know. */
export function readAsk(r: GuardedReader): EphemeralAsk | null {
  return EPHEMERAL_ASKS[r.u8()] ?? null;
}

export function answerWordBytes(verdict: EphemeralAnswerWord): Uint8Array {
  return Uint8Array.of(EPHEMERAL_ANSWERS.indexOf(verdict));
}

export function answerWriter(): ByteWriter {
  const w = new ByteWriter(128);
  w.u8(EPHEMERAL_ANSWERS.indexOf('done'));
  return w;
}

export function readAnswerWord(r: GuardedReader): EphemeralAnswerWord {
  return EPHEMERAL_ANSWERS[r.u8()] ?? 'content';
}

// --- push ----------------------------------------------------------------------------------------

/** Payloads are taken by reference. */
export function pushParts(request: EphemeralPush): Uint8Array[] {
  const { start, end, bytes } = request;
  const w = askWriter('push');
  writePlace(w, request);
  w.varint(start.length);
  const payloads: Uint8Array[] = [];
  for (let i = 0; i < start.length; i++) {
    const payload = bytes.subarray(start[i], end[i]);
    w.varint(payload.length);
    payloads.push(payload);
  }
  return [w.finish(), ...payloads];
}

export interface AskedPush {
  readonly place: RingPlace;
  readonly payloads: Payloads;
}

export function readPush(r: GuardedReader): AskedPush | null {
  const place = readPlace(r);
  const lengths = readLengths(r, r.count(1, EPHEMERAL_ITEMS_MAX));
  const payloads = payloadsAfter(r, lengths);
  return r.whole && lengths.length > 0 ? { place, payloads } : null;
}

// --- pop -----------------------------------------------------------------------------------------

export function popParts(request: EphemeralPop, nowMs: number): Uint8Array[] {
  const w = askWriter('pop');
  w.text(request.tenant);
  w.text(request.queue);
  w.optionalText(request.partition);
  w.text(request.group);
  w.varint(request.batch);
  w.flag(request.autoAck);
  const { deadlineMs } = request;
  w.varint(deadlineMs === null ? 0 : Math.max(1, Math.ceil(deadlineMs - nowMs)));
  return [w.finish()];
}

export function readPop(r: GuardedReader, nowMs: number): EphemeralPop | null {
  const request = {
    tenant: r.text(TENANT_BYTES),
    queue: r.text(EPHEMERAL_NAME_BYTES_MAX),
    partition: r.optionalText(EPHEMERAL_NAME_BYTES_MAX),
    group: r.text(EPHEMERAL_NAME_BYTES_MAX),
    batch: r.within(1, EPHEMERAL_ITEMS_MAX),
    autoAck: r.flag(),
  };
  const waitsMs = r.within(0, WAIT_MS_MAX);
  return r.whole ? { ...request, deadlineMs: waitsMs === 0 ? null : nowMs + waitsMs } : null;
}

/** A delivered message between nodes; its id is made where the client asked. */
export interface CarriedMessage extends Omit<EphemeralMessage, 'id'> {
  readonly incarnation: number;
  readonly sequence: number;
}

export function poppedParts(messages: readonly CarriedMessage[]): Uint8Array[] {
  const w = answerWriter();
  w.varint(messages.length);
  const payloads: Uint8Array[] = [];
  for (const { partition, incarnation, sequence, attempts, bytes, start, end } of messages) {
    w.text(partition);
    w.varint(incarnation);
    w.varint(sequence + SEQUENCE_BASE);
    w.varint(attempts);
    w.varint(end - start);
    payloads.push(bytes.subarray(start, end));
  }
  return [w.finish(), ...payloads];
}

export function readPopped(r: GuardedReader): CarriedMessage[] | null {
  const heads: Omit<CarriedMessage, 'bytes' | 'start' | 'end'>[] = [];
  const lengths: number[] = [];
  for (let left = r.count(5, EPHEMERAL_ITEMS_MAX); left > 0 && !r.refused; left--) {
    heads.push({
      partition: r.text(EPHEMERAL_NAME_BYTES_MAX),
      incarnation: r.within(0, INCARNATION_MAX),
      sequence: r.varint() - SEQUENCE_BASE,
      attempts: r.varint(),
    });
    lengths.push(r.within(0, PAYLOAD_BYTES_MAX));
  }
  const { bytes, start, end } = payloadsAfter(r, lengths);
  if (!r.whole) return null;
  return heads.map((head, i) => ({ ...head, bytes, start: start[i] ?? 0, end: end[i] ?? 0 }));
}

// --- ack, give-back ------------------------------------------------------------------------------

/** What a client calls an id and no broker minted is sent as nothing, which is none either. */
export function ackParts(request: EphemeralAcks): Uint8Array[] {
  const w = askWriter('ack');
  writeGroup(w, request);
  w.varint(request.ids.length);
  request.ids.forEach((id, i) => {
    w.text(parseMessageId(id) === null ? '' : id);
    w.flag(request.verdicts[i] === 'completed');
  });
  return [w.finish()];
}

export function readAck(r: GuardedReader): EphemeralAcks | null {
  const group = readGroup(r);
  const ids: string[] = [];
  const verdicts: ('completed' | 'failed')[] = [];
  for (let left = r.count(2, EPHEMERAL_ITEMS_MAX); left > 0 && !r.refused; left--) {
    ids.push(r.text(ID_BYTES_MAX));
    verdicts.push(r.flag() ? 'completed' : 'failed');
  }
  return r.whole ? { ...group, ids, verdicts } : null;
}

export function ackedParts(outcomes: readonly EphemeralAckOutcome[]): Uint8Array[] {
  const w = answerWriter();
  w.varint(outcomes.length);
  for (const outcome of outcomes) w.u8(ACK_OUTCOMES.indexOf(outcome));
  return [w.finish()];
}

export function readAcked(r: GuardedReader): EphemeralAckOutcome[] | null {
  const outcomes: EphemeralAckOutcome[] = [];
  for (let left = r.count(1, EPHEMERAL_ITEMS_MAX); left > 0 && !r.refused; left--) {
    outcomes.push(r.oneOf(ACK_OUTCOMES));
  }
  return r.whole ? outcomes : null;
}

export type AskedGiveBack = Omit<EphemeralAcks, 'verdicts'>;

export function giveBackParts(request: AskedGiveBack): Uint8Array[] {
  const w = askWriter('give-back');
  writeGroup(w, request);
  w.varint(request.ids.length);
  for (const id of request.ids) w.text(id);
  return [w.finish()];
}

export function readGiveBack(r: GuardedReader): AskedGiveBack | null {
  const group = readGroup(r);
  const ids: string[] = [];
  for (let left = r.count(1, EPHEMERAL_ITEMS_MAX); left > 0 && !r.refused; left--) {
    ids.push(r.text(ID_BYTES_MAX));
  }
  return r.whole ? { ...group, ids } : null;
}

// --- the rest ------------------------------------------------------------------------------------

export function resetParts(tenant: string, queue: string): Uint8Array[] {
  const w = askWriter('reset');
  w.text(tenant);
  w.text(queue);
  return [w.finish()];
}

export function readReset(
  r: GuardedReader,
): { readonly tenant: string; readonly queue: string } | null {
  const asked = { tenant: r.text(TENANT_BYTES), queue: r.text(EPHEMERAL_NAME_BYTES_MAX) };
  return r.whole ? asked : null;
}

/** One number: a log index, or an epoch. */
export function numberParts(ask: 'applied' | 'leaving', value: number): Uint8Array[] {
  const w = askWriter(ask);
  w.varint(value);
  return [w.finish()];
}

export function readNumber(r: GuardedReader): number | null {
  const value = r.varint();
  return r.whole ? value : null;
}

export function readyParts(epoch: number): Uint8Array[] {
  const w = answerWriter();
  w.varint(epoch);
  return [w.finish()];
}

export function writePlace(w: ByteWriter, { tenant, queue, partition }: RingPlace): void {
  w.text(tenant);
  w.text(queue);
  w.text(partition);
}

export function readPlace(r: GuardedReader): RingPlace {
  return {
    tenant: r.text(TENANT_BYTES),
    queue: r.text(EPHEMERAL_NAME_BYTES_MAX),
    partition: r.text(EPHEMERAL_NAME_BYTES_MAX),
  };
}

/** Lengths that what is left can hold. */
export function readLengths(r: GuardedReader, count: number): number[] {
  const lengths: number[] = [];
  for (let left = count; left > 0 && !r.refused; left--) {
    lengths.push(r.within(0, PAYLOAD_BYTES_MAX));
  }
  return lengths;
}

/** Payloads of these lengths stand side by side from here on. */
export function payloadsAfter(r: GuardedReader, lengths: readonly number[]): Payloads {
  const start: number[] = [];
  const end: number[] = [];
  let at = 0;
  for (const length of lengths) {
    start.push(at);
    at += length;
    end.push(at);
  }
  return { bytes: r.view(at), start, end };
}

function writeGroup(w: ByteWriter, { tenant, queue, group }: AskedGiveBack): void {
  w.text(tenant);
  w.text(queue);
  w.text(group);
}

function readGroup(r: GuardedReader): Omit<AskedGiveBack, 'ids'> {
  return {
    tenant: r.text(TENANT_BYTES),
    queue: r.text(EPHEMERAL_NAME_BYTES_MAX),
    group: r.text(EPHEMERAL_NAME_BYTES_MAX),
  };
}
