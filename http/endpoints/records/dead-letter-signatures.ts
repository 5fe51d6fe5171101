/** GET /api/v1/analytics/dlq-signatures (inspection 5.9): what errors of a queue have in common. */

import { count, list, matching, nullable, number, stampMs, text } from '@svc/schema';
import { formatStampMs } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { rowsOf, shown } from '../../json/shown.js';
import type { SignaturesView } from '../../ports/record-service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { mandatoryParameter } from '../../routing/query-parameter.js';
import { sendShown, viewReply } from '../../routing/reply.js';
import { limitOf } from './record-query.js';

const DATE_CHARS = 10;

const signature = shown<SignaturesView['signatures'][number], number>()({
  text,
  n: [count, ({ count }) => count],
  share: [number, ({ count }, sample) => Math.round((1000 * count) / sample) / 1000],
});

const day = shown<SignaturesView['days'][number]>()({
  day: [
    matching(/^\d{4}-\d\d-\d\d$/),
    ({ startUs }) => formatStampMs(startUs).slice(0, DATE_CHARS),
  ],
  n: [count, ({ count }) => count],
});

/** inspection 5.9. */
const signaturesAnswer = shown<SignaturesView, string>()({
  queue: [text, (_, queue) => queue],
  rowsNow: [count, ({ rows }) => rows],
  sample: count,
  retryCounts: list(count),
  groups: list(text),
  oldest: [nullable(stampMs), ({ oldestUs }) => stampOrNull(oldestUs)],
  newest: [nullable(stampMs), ({ newestUs }) => stampOrNull(newestUs)],
  avgBytes: [count, ({ payloadBytes }) => payloadBytes],
  signatures: [
    list(signature),
    ({ signatures, sample }) => signatures.map((one) => signature.of(one, sample)),
  ],
  byDay: rowsOf(day, ({ days }) => days),
});

function stampOrNull(stampUs: number | null): string | null {
  return stampUs === null ? null : formatStampMs(stampUs);
}

export const deadLetterSignaturesEndpoint = endpoint({
  at: 'GET /api/v1/analytics/dlq-signatures',
  level: 'read-only',
  gateway: 'read',
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
    200: answer('`rowsNow` counts all; the rest is of the newest `sample`.', signaturesAnswer),
    400: refusal('`queue required`, or a malformed query.'),
  },
  names: ({ query }) => ({ queue: query.queue }),
  // No queue can have a name that no key can hold.
  tooLong: ({ exchange, query }) => render(exchange, query.queue, NOTHING),
  handle: (front, { exchange, tenant, query: { queue, limit } }) => {
    const reply = viewReply(exchange, queue, render);
    front.service.records.deadLetterSignatures(tenant, queue, limit, reply);
  },
});

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
  sendShown(exchange, '200 OK', signaturesAnswer, outcome, queue);
}
