/**
 * The timers of one queue (state-surfaces 3.1): GET /api/v1/timers/{queue} lists them, and
 * /api/v1/timers/{queue}/{timerKey...} shows one, or cancels it. A key is the rest of the path.
 */
import type { RefusedOutcome, TimerCall, TimersOutcome, TimerView } from '@svc/engine';
import {
  constant,
  count,
  describedAs,
  either,
  integer,
  list,
  named,
  nullable,
  object,
  stamp,
  text,
  truth,
  uuid,
} from '@svc/schema';
import {
  base64,
  errorAnswer,
  formatStampUs,
  surfaceErrorAnswer,
  TRANSACTION_ID_BYTES_MAX,
  timerResultAnswer,
  utf8Length,
} from '@svc/wire';
import { assert } from '../../base/assert.js';
import type { Exchange } from '../../exchange/exchange.js';
import { quotedBytes, quotedBytesOrNull } from '../../json/json-text.js';
import type { TimerPageView, TimerPeekView } from '../../ports/timer-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { integerParameter, textParameter } from '../../routing/query-parameter.js';
import { replyBy } from '../../routing/reply.js';
import { refuseKv, SURFACE_REFUSALS } from '../kv/kv-answers.js';
import { TimerFault } from './ops.js';
import { refuseTimers, sendBytes, submitTimers, timerMembers } from './timers.js';

const ROW = {
  queue: text,
  timerKey: text,
  partition: text,
  deliverAt: stamp,
  txn: text,
  messageId: uuid,
  payloadZstd: describedAs('Payloads are stored decompressed.', constant(false)),
  encrypted: truth,
  producerSub: nullable(text),
  attempts: count,
  lastError: nullable(text),
  claimed: constant(false),
  createdAt: stamp,
  updatedAt: stamp,
};

const timerRowAnswer = named('TimerRow', object(ROW));

const timerFoundAnswer = object({
  found: constant(true),
  ...ROW,
  payload: describedAs(
    'The payload in base64, as it is stored: what was encrypted stays so.',
    base64,
  ),
});

const timerMissingAnswer = object({ found: constant(false), queue: text, timerKey: text });

const timerPeekAnswer = either(timerFoundAnswer, timerMissingAnswer);

const timerListAnswer = object({
  rows: list(timerRowAnswer),
  truncated: truth,
  nextAfter: nullable(text),
});

export const timerListEndpoint = endpoint({
  at: 'GET /api/v1/timers/{queue}',
  level: 'read-only',
  gateway: 'timers-read',
  tag: 'timers',
  summary: 'Pending timers of a queue, by key.',
  query: {
    after: textParameter('`nextAfter` of the page before.'),
    limit: integerParameter({ standard: 100, min: 1, max: 1000 }, integer),
  },
  answers: { 200: answer('A page.', timerListAnswer), ...SURFACE_REFUSALS },
  largeAnswer: 'read',
  reserves: true,
  names: ({ params, query }) => ({ ...params, timerKey: query.after }),
  handle: (front, { exchange, tenant, params: { queue }, query: { after, limit } }) => {
    const pass = front.gate.enter(exchange, tenant, { kind: 'timer-read' });
    if (pass === null) return;
    const reply = replyBy(exchange, null, renderList, pass);
    front.service.timers.list(tenant, queue, after, limit, reply);
  },
});

export const timerPeekEndpoint = endpoint({
  at: 'GET /api/v1/timers/{queue}/{timerKey...}',
  level: 'read-only',
  gateway: 'timers-read',
  tag: 'timers',
  summary: 'One pending timer with its payload.',
  answers: {
    200: answer('The timer, or that there is none.', timerPeekAnswer),
    ...SURFACE_REFUSALS,
  },
  largeAnswer: 'read',
  reserves: true,
  names: ({ params }) => params,
  handle: (front, { exchange, tenant, params }) => {
    const pass = front.gate.enter(exchange, tenant, { kind: 'timer-read' });
    if (pass === null) return;
    const reply = replyBy(exchange, params, renderPeek, pass);
    front.service.timers.peek(tenant, params.queue, params.timerKey, reply);
  },
});

export const timerCancelEndpoint = endpoint({
  at: 'DELETE /api/v1/timers/{queue}/{timerKey...}',
  level: 'read-write',
  gateway: 'timers-open',
  tag: 'timers',
  summary: 'Cancels a timer. No switch, quota or rate stops it.',
  query: { txn: textParameter('Echoed when there is no such timer.') },
  answers: {
    200: answer('What became of it.', timerResultAnswer),
    400: answer('A `txn` or a query that cannot be.', either(surfaceErrorAnswer, errorAnswer)),
    413: answer('Names that are too long.', errorAnswer),
    429: answer('Too much waits to be planned.', errorAnswer),
  },
  names: ({ params }) => params,
  // Nothing stops a cancellation (state-surfaces 0.4).
  handle: (front, { exchange, tenant, subject, params, query }) => {
    if (utf8Length(query.txn) > TRANSACTION_ID_BYTES_MAX) {
      const reason = `QTIMER op 0: txn exceeds the ${TRANSACTION_ID_BYTES_MAX}-byte limit`;
      refuseTimers(front, exchange, new TimerFault('shape', reason));
      return;
    }
    const ops = [{ op: 'cancel', ...params, txn: query.txn || null }] as const;
    const call: TimerCall = { kind: 'timers', tenant, producerSub: subject, ops };
    submitTimers(front, exchange, null, call, renderCancelled);
  },
});

function renderCancelled(
  exchange: Exchange,
  { ops: [op] }: TimerCall,
  { results: [result] }: TimersOutcome,
): void {
  assert(op !== undefined && result !== undefined, 'a cancellation without a result');
  sendBytes(exchange, `{${timerMembers(op, result)}}`);
}

function renderPeek(
  exchange: Exchange,
  { queue, timerKey }: { readonly queue: string; readonly timerKey: string },
  outcome: TimerPeekView | RefusedOutcome,
): void {
  if (outcome.kind === 'refused') {
    refuseKv(exchange, outcome.refusal);
    return;
  }
  const { timer } = outcome;
  if (timer === null) {
    const names = `"queue":${quotedBytes(queue)},"timerKey":${quotedBytes(timerKey)}`;
    sendBytes(exchange, `{"found":false,${names}}`);
    return;
  }
  const payload = Buffer.from(timer.payload ?? []).toString('base64');
  sendBytes(exchange, `{"found":true,${rowMembers(timer)},"payload":"${payload}"}`);
}

function renderList(exchange: Exchange, _: null, outcome: TimerPageView | RefusedOutcome): void {
  if (outcome.kind === 'refused') {
    refuseKv(exchange, outcome.refusal);
    return;
  }
  const { timers, truncated, nextAfter } = outcome;
  const rows = timers.map((timer) => `{${rowMembers(timer)}}`).join();
  const next = quotedBytesOrNull(nextAfter);
  sendBytes(exchange, `{"rows":[${rows}],"truncated":${truncated},"nextAfter":${next}}`);
}

/** The members of a `TimerRowAnswer`. Payloads are stored decompressed, and no timer is claimed. */
function rowMembers(timer: TimerView): string {
  const { queue, timerKey, partition, txn, messageId, encrypted } = timer;
  const { deliverAtUs, createdAtUs, updatedAtUs, attempts } = timer;
  return (
    `"queue":${quotedBytes(queue)},"timerKey":${quotedBytes(timerKey)},` +
    `"partition":${quotedBytes(partition)},"deliverAt":"${formatStampUs(deliverAtUs)}",` +
    `"txn":${quotedBytes(txn)},"messageId":"${messageId}","payloadZstd":false,` +
    `"encrypted":${encrypted},"producerSub":${quotedBytesOrNull(timer.producerSub)},` +
    `"attempts":${attempts},"lastError":${quotedBytesOrNull(timer.lastError)},"claimed":false,` +
    `"createdAt":"${formatStampUs(createdAtUs)}","updatedAt":"${formatStampUs(updatedAtUs)}"`
  );
}
