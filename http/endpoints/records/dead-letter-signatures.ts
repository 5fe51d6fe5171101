/** GET /api/v1/analytics/dlq-signatures (inspection 5.9): what errors of a queue have in common. */
import { deadLetterSignaturesAnswer, formatStampMs } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import type { SignaturesView } from '../../ports/record-service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { mandatoryParameter } from '../../routing/query-parameter.js';
import { sendAnswer, viewReply } from '../../routing/reply.js';
import { limitOf } from './record-query.js';

export const deadLetterSignaturesEndpoint = endpoint({
  at: 'GET /api/v1/analytics/dlq-signatures',
  level: 'read-only',
  tag: 'dead letters',
  summary: 'What the errors of the newest dead letters of a queue have in common.',
  query: {
    queue: mandatoryParameter('Exact.', {
      status: '400 Bad Request',
      text: '{"error":"queue required"}',
    }),
    limit: limitOf(200),
  },
  answers: {
    200: answer(
      '`rowsNow` counts all; the rest is of the newest `sample`.',
      deadLetterSignaturesAnswer,
    ),
    400: refusal('`queue required`, or a malformed query.'),
  },
  names: ({ query }) => ({ queue: query.queue }),
  // No queue can have a name that no key can hold.
  tooLong: ({ exchange, query }) => render(exchange, query.queue, NOTHING),
  handle: (front, { exchange, tenant, query: { queue, limit } }) => {
    const reply = viewReply(front, exchange, queue, render);
    front.service.records.deadLetterSignatures(tenant, queue, limit, reply);
  },
});

const DATE_CHARS = 10;

const NOTHING: SignaturesView = {
  kind: 'dead-letter-signatures',
  rows: 0,
  sample: 0,
  retryCounts: [],
  groups: [],
  oldestUs: null,
  newestUs: null,
  payloadBytes: 0,
  signatures: [],
  days: [],
};

function render(exchange: Exchange, queue: string, outcome: SignaturesView): void {
  const { sample, oldestUs, newestUs } = outcome;
  sendAnswer(exchange, '200 OK', deadLetterSignaturesAnswer, {
    queue,
    rowsNow: outcome.rows,
    sample,
    retryCounts: outcome.retryCounts,
    groups: outcome.groups,
    oldest: oldestUs === null ? null : formatStampMs(oldestUs),
    newest: newestUs === null ? null : formatStampMs(newestUs),
    avgBytes: outcome.payloadBytes,
    signatures: outcome.signatures.map(({ text, count }) => ({
      text,
      n: count,
      share: Math.round((1000 * count) / sample) / 1000,
    })),
    byDay: outcome.days.map(({ startUs, count }) => ({
      day: formatStampMs(startUs).slice(0, DATE_CHARS),
      n: count,
    })),
  });
}
