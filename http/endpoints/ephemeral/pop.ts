/** GET /api/v1/ephemeral/pop (state-surfaces 4.2): 200 always, also without messages. */
import type { RefusedOutcome } from '@svc/engine';
import { count, integer, text, truth } from '@svc/schema';
import { EPHEMERAL_ITEMS_MAX, ephemeralPopAnswer, QUEUE_MODE_GROUP } from '@svc/wire';
import { STREAMED_ANSWER_BYTES_MIN } from '../../base/limits.js';
import { AnswerBytes } from '../../exchange/answer-bytes.js';
import type { Exchange } from '../../exchange/exchange.js';
import {
  type DecodeFault,
  isFault,
  parseQuery,
  textOf,
  typedBoolean,
  typedInteger,
  typedUint64,
} from '../../exchange/query.js';
import { sendParts } from '../../exchange/sliced-answer.js';
import { quotedBytes } from '../../json/json-text.js';
import type {
  EphemeralMessage,
  EphemeralPop,
  EphemeralPopped,
  EphemeralRefused,
} from '../../ports/ephemeral-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { bufferOf } from '../../routing/message-text.js';
import { parameter } from '../../routing/query-parameter.js';
import { replyBy } from '../../routing/reply.js';
import type { Front } from '../../routing/route.js';
import {
  AWAY,
  BAD,
  badEphemeral,
  checkName,
  checkNameGiven,
  GATED,
  refuseEphemeral,
} from './refusals.js';

const TIMEOUT_MS_MAX = 300_000;
const INT32 = 2 ** 31;

export const ephemeralPopEndpoint = endpoint({
  at: 'GET /api/v1/ephemeral/pop',
  level: 'read-write',
  gateway: 'ephemeral-open',
  tag: 'ephemeral queues',
  summary: 'Takes messages, oldest of a partition first',
  exactQuery: {
    reader: 'Every value is exact, and what is refused has the shape of this family.',
    parameters: {
      queue: { ...parameter('Created when it is not there.', text), required: true },
      partition: parameter('Any when absent.', text),
      group: parameter('Each group gets everything; one shared cursor when absent.', text),
      batch: parameter('Messages at most: 1 to 10000; 1 when absent.', integer),
      wait: parameter('Whether to wait for a first message.', truth),
      timeout: parameter('Milliseconds to wait, at most 300000.', count),
      autoAck: parameter('Settled at delivery.', truth),
      commitOnDelivery: parameter('The other name of autoAck.', truth),
    },
  },
  answers: {
    200: answer('Also without messages.', ephemeralPopAnswer),
    400: BAD,
    403: GATED,
    503: AWAY,
  },
  consumes: true,
  largeAnswer: 'pop',
  reserves: true,
  handle: (front, { exchange, tenant, query }) => {
    const pop = readPop(front, tenant, query);
    if (isFault(pop)) throw badEphemeral(pop.fault);
    const pass = front.gate.enter(exchange, tenant, { kind: 'ephemeral' });
    if (pass === null) return;
    front.service.ephemeral.pop(pop, replyBy(exchange, pop.queue, render));
  },
});

function readPop(front: Front, tenant: string, text: string): EphemeralPop | DecodeFault {
  const query = parseQuery(text);
  if (isFault(query)) return query;
  const batch = typedInteger(query, 'batch', -INT32, INT32 - 1);
  if (isFault(batch)) return batch;
  const wait = typedBoolean(query, 'wait');
  if (isFault(wait)) return wait;
  const timeoutMs = typedUint64(query, 'timeout');
  if (isFault(timeoutMs)) return timeoutMs;
  const autoAck = typedBoolean(query, 'autoAck');
  if (isFault(autoAck)) return autoAck;
  const commitOnDelivery = typedBoolean(query, 'commitOnDelivery');
  if (isFault(commitOnDelivery)) return commitOnDelivery;
  const [queue, partition, group] = ['queue', 'partition', 'group'].map((name) =>
    textOf(query, name),
  ) as [string, string, string];
  checkName('queue', queue);
  checkNameGiven('partition', partition);
  checkNameGiven('group', group);
  const waitsMs = Math.min(timeoutMs ?? front.popTimeoutMs, TIMEOUT_MS_MAX);
  return {
    tenant,
    queue,
    partition: partition === '' ? null : partition,
    group: group === '' ? QUEUE_MODE_GROUP : group,
    batch: Math.min(Math.max(batch ?? 1, 1), EPHEMERAL_ITEMS_MAX),
    autoAck: autoAck === true || commitOnDelivery === true,
    deadlineMs: wait === true ? front.service.monotonicMs() + waitsMs : null,
  };
}

/** What a message takes beside its payload, seldom less. */
const MESSAGE_BYTES = 256;
/** Messages in a part of a large answer. */
const PART_MESSAGES = 128;
/** And bytes of them, after which other work has a turn. */
const PART_BYTES = 65_536;

/** A byte string, so that payloads come through as they were pushed. */
function render(
  exchange: Exchange,
  queue: string,
  outcome: EphemeralPopped | EphemeralRefused | RefusedOutcome,
): void {
  if (outcome.kind === 'refused') exchange.refuse(outcome.refusal);
  else if (outcome.kind === 'ephemeral-refused') refuseEphemeral(exchange, outcome.code);
  else {
    const { messages } = outcome;
    let bytes = MESSAGE_BYTES * (messages.length + 1);
    for (const { start, end } of messages) bytes += end - start;
    if (bytes >= STREAMED_ANSWER_BYTES_MIN) {
      const into = new AnswerBytes(bytes);
      sendParts(exchange, into, answerParts(queue, messages, into));
      return;
    }
    let text = headText(queue);
    let separator = '';
    for (const message of messages) {
      const payload = bufferOf(message.bytes).toString('latin1', message.start, message.end);
      text += `${separator}${beginText(message)}${payload}}`;
      separator = ',';
    }
    exchange.jsonByteText('200 OK', `${text}]}`);
  }
}

function headText(queue: string): string {
  return `{"queue":${quotedBytes(queue)},"messages":[`;
}

/** A message before its payload. */
function beginText({ id, partition, attempts }: EphemeralMessage): string {
  return (
    `{"id":${quotedBytes(id)},"partition":${quotedBytes(partition)},` +
    `"attempts":${attempts},"payload":`
  );
}

/** Stops after each part of the messages, and after a payload that is copied in parts. */
function* answerParts(
  queue: string,
  messages: readonly EphemeralMessage[],
  into: AnswerBytes,
): Generator<void> {
  let text = headText(queue);
  let separator = '';
  let left = PART_MESSAGES;
  let partBytes = 0;
  for (const message of messages) {
    const { bytes, start, end } = message;
    text += separator + beginText(message);
    separator = ',';
    if (AnswerBytes.isCopied(end - start)) {
      into.write(text);
      into.copy(bytes, start, end);
      partBytes += end - start;
      text = '}';
    } else text += `${bufferOf(bytes).toString('latin1', start, end)}}`;
    if (partBytes + text.length >= PART_BYTES || --left === 0) {
      into.write(text);
      text = '';
      partBytes = 0;
      left = PART_MESSAGES;
      yield;
    }
  }
  into.write(`${text}]}`);
}
