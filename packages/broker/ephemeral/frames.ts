/**
 * Calls between nodes about ephemeral queues, as bytes: one kind of call for all that is asked.
 *
 *     question := number u8 | length | fields of what is asked | payloads
 *     answer   := number u8 | length | fields of the answer    | payloads
 *
 * A question is never passed on: the node that hears it does it, or refuses. Payloads stand behind
 * the fields, side by side, and are taken by reference. Decoding never throws and allocates nothing
 * on the word of a number.
 */
import { ByteWriter, choice, fields, GuardedReader, type Infer, kind, record } from '@svc/engine';
import type { CarriedGroup, Payloads, StoredMessage } from '@svc/ephemeral';
import { parseMessageId } from '@svc/ephemeral';
import type {
  EphemeralAckOutcome,
  EphemeralAcks,
  EphemeralMessage,
  EphemeralPop,
  EphemeralPush,
  EphemeralRefusalCode,
} from '@svc/http';
import { EPHEMERAL_ITEMS_MAX, EPHEMERAL_NAME_BYTES_MAX } from '@svc/wire';
import type { RingPart } from './ring-parts.js';

const TENANT_BYTES = 36;
const ID_BYTES_MAX = 1024;
const WAIT_MS_MAX = 600_000;
const PAYLOAD_BYTES_MAX = 2 ** 31;
const INCARNATION_MAX = 2 ** 48;
/** Messages of one ring; its own bounds are lower. */
const MESSAGES_MAX = 2 ** 31;
const GROUPS_MAX = 2 ** 20;
const PARTS_MAX = 2 ** 20;
const ATTEMPTS_MAX = 2 ** 20;
const FIELDS_BYTES_FIRST = 128;

const { count, flag, list, nullable, oneOf, refined, within } = fields;
const tenant = fields.textTo(TENANT_BYTES);
const name = fields.textTo(EPHEMERAL_NAME_BYTES_MAX);
const ids = list(fields.textTo(ID_BYTES_MAX), EPHEMERAL_ITEMS_MAX);
const length = within(0, PAYLOAD_BYTES_MAX);
const incarnation = within(0, INCARNATION_MAX);

/** The place of a message that a group has not settled, and how often it was delivered. */
const outstanding = fields.field<readonly [number, number]>(
  2,
  (w, [place, attempts]) => {
    w.varint(place);
    w.varint(attempts);
  },
  (r) => [r.varint(), r.within(0, ATTEMPTS_MAX)],
);

const carriedGroup = refined<CarriedGroup>(
  record({
    name,
    isWhole: flag,
    next: within(0, MESSAGES_MAX),
    skipped: count,
    outstanding: list(outstanding, MESSAGES_MAX),
  }),
  ({ next, outstanding }) =>
    outstanding.length <= next && outstanding.every(([place]) => place < next),
);

const ringPart = record({
  place: record({ tenant, queue: name, partition: name }),
  incarnation,
  number: count,
  messages: list(record({ ageMs: count, length }), MESSAGES_MAX),
  groups: nullable(list(carriedGroup, GROUPS_MAX)),
});

const questions = choice('ask', {
  push: kind(
    0,
    { tenant, queue: name, partition: name, lengths: list(length, EPHEMERAL_ITEMS_MAX) },
    ({ lengths }) => lengths.length > 0,
  ),
  pop: kind(1, {
    tenant,
    queue: name,
    partition: nullable(name),
    group: name,
    batch: within(1, EPHEMERAL_ITEMS_MAX),
    autoAck: flag,
    /** 0: it does not wait. */
    waitsMs: within(0, WAIT_MS_MAX),
  }),
  ack: kind(
    2,
    {
      tenant,
      queue: name,
      group: name,
      ids,
      verdicts: list(oneOf(['failed', 'completed']), EPHEMERAL_ITEMS_MAX),
    },
    ({ ids, verdicts }) => ids.length === verdicts.length,
  ),
  'give-back': kind(3, { tenant, queue: name, group: name, ids }),
  reset: kind(4, { tenant, queue: name }),
  /** Answered when the node has applied the entry. */
  applied: kind(5, { index: count }),
  ready: kind(6, {}),
  leaving: kind(7, { epoch: count }),
  adopt: kind(8, { epoch: count, parts: list(ringPart, PARTS_MAX) }),
});
export const questionKinds = questions.kinds;
export type Question = Infer<typeof questions>;
type Asked<Ask extends Question['ask']> = Extract<Question, { readonly ask: Ask }>;
export type AskedGiveBack = Omit<Asked<'give-back'>, 'ask'>;

const answers = choice('kind', {
  done: kind(0, {}),
  refused: kind(1, {
    code: oneOf<Exclude<EphemeralRefusalCode, 'ephemeral_forward_failed'> | 'content'>([
      'queue_full',
      'ephemeral_quota_exceeded',
      'ephemeral_unavailable',
      'owner_moved',
      /** It was no question that this build knows. */
      'content',
      'ephemeral_too_large',
    ]),
  }),
  popped: kind(2, {
    messages: list(
      record({ partition: name, incarnation, sequence: fields.signed, attempts: count, length }),
      EPHEMERAL_ITEMS_MAX,
    ),
  }),
  acked: kind(3, {
    outcomes: list(
      oneOf<EphemeralAckOutcome>(['acked', 'redelivered', 'stale', 'unknown']),
      EPHEMERAL_ITEMS_MAX,
    ),
  }),
  ready: kind(4, { epoch: count }),
  /** Incarnations of rings that were not taken. */
  adopted: kind(5, { refused: list(incarnation, PARTS_MAX) }),
});
export const answerKinds = answers.kinds;
export type Answer = Infer<typeof answers>;
export type AnswerRefusal = Extract<Answer, { readonly kind: 'refused' }>['code'];

// --- questions -----------------------------------------------------------------------------------

/** `payloads` as the question says that they follow. */
export function questionParts(
  question: Question,
  payloads: readonly Uint8Array[] = [],
): Uint8Array[] {
  const w = new ByteWriter(FIELDS_BYTES_FIRST);
  questions.write(w, question);
  return [w.finish(), ...payloads];
}

/** `payloads` are a view of what was read. */
export interface Heard<Said> {
  readonly said: Said;
  readonly payloads: Uint8Array;
}

/** null: it is no question that this build knows. */
export function readQuestion(bytes: Uint8Array): Heard<Question> | null {
  const r = new GuardedReader(bytes);
  const said = questions.read(r);
  if (r.refused || payloadBytesOf(said) !== r.left) return null;
  return { said, payloads: r.view(r.left) };
}

function payloadBytesOf(question: Question): number {
  if (question.ask === 'push') return question.lengths.reduce((sum, one) => sum + one, 0);
  if (question.ask !== 'adopt') return 0;
  let sum = 0;
  for (const { messages } of question.parts) for (const { length } of messages) sum += length;
  return sum;
}

export function pushParts(request: EphemeralPush): Uint8Array[] {
  const { tenant, queue, partition, start, end, bytes } = request;
  const payloads = start.map((from, i) => bytes.subarray(from, end[i]));
  const lengths = payloads.map((payload) => payload.length);
  return questionParts({ ask: 'push', tenant, queue, partition, lengths }, payloads);
}

export function payloadsOf({ said, payloads }: Heard<Asked<'push'>>): Payloads {
  return placed(payloads, said.lengths);
}

export function popParts(request: EphemeralPop, nowMs: number): Uint8Array[] {
  const { deadlineMs } = request;
  const waitsMs = deadlineMs === null ? 0 : Math.max(1, Math.ceil(deadlineMs - nowMs));
  return questionParts({ ...request, ask: 'pop', waitsMs });
}

export function popOf({ waitsMs, ask: _ask, ...pop }: Asked<'pop'>, nowMs: number): EphemeralPop {
  return { ...pop, deadlineMs: waitsMs === 0 ? null : nowMs + waitsMs };
}

/** What a client calls an id and no broker minted is sent as nothing, which is none either. */
export function ackParts(request: EphemeralAcks): Uint8Array[] {
  const minted = request.ids.map((id) => (parseMessageId(id) === null ? '' : id));
  return questionParts({ ...request, ask: 'ack', ids: minted });
}

export function adoptParts(epoch: number, parts: readonly RingPart[], nowMs: number): Uint8Array[] {
  const payloads: Uint8Array[] = [];
  const sent = parts.map(({ messages, ...part }) => ({
    ...part,
    messages: messages.map(({ bytes, start, end, atMs }) => {
      payloads.push(bytes.subarray(start, end));
      return { ageMs: Math.max(0, Math.round(nowMs - atMs)), length: end - start };
    }),
  }));
  return questionParts({ ask: 'adopt', epoch, parts: sent }, payloads);
}

export interface AskedAdopt {
  readonly epoch: number;
  readonly parts: readonly RingPart[];
}

/** The payloads are views of what was read: whoever keeps them copies them. */
export function adoptOf({ said, payloads }: Heard<Asked<'adopt'>>, nowMs: number): AskedAdopt {
  let at = 0;
  const parts = said.parts.map(({ messages, ...part }) => ({
    ...part,
    messages: messages.map(({ ageMs, length }): StoredMessage => {
      const start = at;
      at += length;
      return { bytes: payloads, start, end: at, atMs: nowMs - ageMs };
    }),
  }));
  return { epoch: said.epoch, parts };
}

// --- answers -------------------------------------------------------------------------------------

export function answerParts(answer: Answer, payloads: readonly Uint8Array[] = []): Uint8Array[] {
  const w = new ByteWriter(FIELDS_BYTES_FIRST);
  answers.write(w, answer);
  return [w.finish(), ...payloads];
}

/** null: it is no answer. */
export function readAnswer(bytes: Uint8Array): Heard<Answer> | null {
  const r = new GuardedReader(bytes);
  const said = answers.read(r);
  if (r.refused) return null;
  const payloadBytes =
    said.kind === 'popped' ? said.messages.reduce((sum, one) => sum + one.length, 0) : 0;
  return payloadBytes === r.left ? { said, payloads: r.view(r.left) } : null;
}

/** A delivered message between nodes; its id is made where the client asked. */
export interface CarriedMessage extends Omit<EphemeralMessage, 'id'> {
  readonly incarnation: number;
  readonly sequence: number;
}

export function poppedParts(messages: readonly CarriedMessage[]): Uint8Array[] {
  const heads = messages.map(({ start, end, ...head }) => ({ ...head, length: end - start }));
  const payloads = messages.map(({ bytes, start, end }) => bytes.subarray(start, end));
  return answerParts({ kind: 'popped', messages: heads }, payloads);
}

/** null: it is another answer. */
export function poppedOf({ said, payloads }: Heard<Answer>): CarriedMessage[] | null {
  if (said.kind !== 'popped') return null;
  let at = 0;
  return said.messages.map(({ length, ...head }) => {
    const start = at;
    at += length;
    return { ...head, bytes: payloads, start, end: at };
  });
}

/** Payloads of these lengths stand side by side. */
function placed(bytes: Uint8Array, lengths: readonly number[]): Payloads {
  const start: number[] = [];
  const end: number[] = [];
  let at = 0;
  for (const length of lengths) {
    start.push(at);
    at += length;
    end.push(at);
  }
  return { bytes, start, end };
}
