/** POST /api/v1/fetch (message-plane 10): records by position, without a lease or a cursor. */
import {
  count,
  describedAs,
  either,
  integer,
  list,
  named,
  nothing,
  nullable,
  optional,
  text,
} from '@svc/schema';
import {
  DEFAULT_PARTITION,
  FETCH_ENTRIES_MAX,
  FETCH_ENTRY_BYTES_DEFAULT,
  FETCH_ENTRY_BYTES_MAX,
  FETCH_WAIT_MS_MAX,
  fetchAnswer,
} from '@svc/wire';
import { assert } from '../../base/assert.js';
import { STREAMED_ANSWER_BYTES_MIN } from '../../base/limits.js';
import { AnswerBytes } from '../../exchange/answer-bytes.js';
import { badRequestFault } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { sendParts } from '../../exchange/sliced-answer.js';
import { body, keySet } from '../../json/json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';
import { quotedBytes } from '../../json/json-text.js';
import type {
  FetchEntry,
  FetchedEntry,
  FetchedOutcome,
  FetchRequest,
} from '../../ports/service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { expectedBytes, inParts, recordsText } from '../../routing/message-text.js';
import { viewReply } from '../../routing/reply.js';

export const FETCH_BODY_KEYS = keySet('entries', 'maxWaitMs', 'minBytes');

export const FETCH_ENTRY_KEYS = keySet('queue', 'partition', 'offset', 'maxBytes');

const fetchEntry = named(
  'FetchEntry',
  body(FETCH_ENTRY_KEYS, {
    queue: text,
    partition: optional(
      describedAs('An integer is its decimal spelling.', either(text, integer, nothing)),
    ),
    offset: count,
    maxBytes: optional(describedAs('Clamped to 1..8 MiB.', nullable(integer))),
  }),
);

export const fetchEndpoint = endpoint({
  at: 'POST /api/v1/fetch',
  level: 'read-write',
  gateway: 'consume',
  tag: 'reads by position',
  summary: 'Records by position, without a lease, as the node that is asked has applied them.',
  request: {
    share: 'drain',
    reader: 'It is asked for all the time, and the order of its refusals is a contract.',
    read: readFetchBody,
    schema: body(FETCH_BODY_KEYS, {
      entries: list(fetchEntry, FETCH_ENTRIES_MAX),
      maxWaitMs: optional(describedAs('30,000 at most.', nullable(count))),
      minBytes: optional(describedAs('1 when absent; below 1: do not wait.', nullable(integer))),
    }),
  },
  answers: {
    200: answer('One element for each entry, in their order.', fetchAnswer),
  },
  largeAnswer: 'read',
  reserves: true,
  names: ({ body }) => body.entries,
  handle: (front, { exchange, tenant, body: { entries, maxWaitMs, minBytes } }) => {
    const deadlineMs = front.service.monotonicMs() + maxWaitMs;
    const fetch: FetchRequest = { tenant, entries, maxWaitMs, minBytes, deadlineMs };
    front.service.fetch(fetch, viewReply(exchange, fetch, render));
  },
});

export interface FetchBody {
  readonly entries: readonly FetchEntry[];
  readonly maxWaitMs: number;
  readonly minBytes: number;
}

const INTEGER_MAX = Number.MAX_SAFE_INTEGER;
const INTEGER_MIN = Number.MIN_SAFE_INTEGER;
const INTEGER = /^-?\d+$/;
const ENTRIES = 0;
const MAX_WAIT_MS = 1;
const MIN_BYTES = 2;
const HAS_ENTRIES = 1 << ENTRIES;

export function readFetchBody(body: Buffer): FetchBody {
  const reader = new JsonReader(body);
  const entries: FetchEntry[] = [];
  let maxWaitMs = 0;
  let minBytes = 1;
  let seen = 0;
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(FETCH_BODY_KEYS, seen);
    if (key === KEYS_END) break;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    if (key === ENTRIES) {
      reader.enterArray('entries');
      while (reader.nextElement()) {
        if (entries.length === FETCH_ENTRIES_MAX) throw badRequestFault('too many entries');
        entries.push(readEntry(reader));
      }
    } else if (key === KEY_UNKNOWN || reader.isNull()) reader.skipValue();
    else if (key === MAX_WAIT_MS) {
      maxWaitMs = Math.min(reader.readInteger('maxWaitMs', 0, INTEGER_MAX), FETCH_WAIT_MS_MAX);
    } else if (key === MIN_BYTES) {
      minBytes = reader.readInteger('minBytes', INTEGER_MIN, INTEGER_MAX);
    }
  }
  reader.finish();
  if ((seen & HAS_ENTRIES) === 0) reader.fail('missing field `entries`', reader.at);
  if (entries.some(({ offset }) => offset < 0))
    throw badRequestFault('offset must be non-negative');
  return { entries, maxWaitMs, minBytes };
}
const QUEUE = 0;
const PARTITION = 1;
const OFFSET = 2;
const MAX_BYTES = 3;

function readEntry(reader: JsonReader): FetchEntry {
  let queue = '';
  let partition = '';
  let offset = 0;
  let maxBytes = FETCH_ENTRY_BYTES_DEFAULT;
  let seen = 0;
  reader.enterObject('an entry');
  for (;;) {
    const key = reader.nextKey(FETCH_ENTRY_KEYS, seen);
    if (key === KEYS_END) break;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    if (key === QUEUE) queue = reader.readName('queue');
    else if (key === PARTITION) partition = readPartition(reader);
    else if (key === OFFSET) offset = reader.readInteger('offset', INTEGER_MIN, INTEGER_MAX);
    else if (key === MAX_BYTES && !reader.isNull()) {
      const wanted = reader.readInteger('maxBytes', INTEGER_MIN, INTEGER_MAX);
      maxBytes = Math.min(Math.max(wanted, 1), FETCH_ENTRY_BYTES_MAX);
    } else reader.skipValue();
  }
  if ((seen & (1 << QUEUE)) === 0) reader.fail('missing field `queue`', reader.at);
  if ((seen & (1 << OFFSET)) === 0) reader.fail('missing field `offset`', reader.at);
  return { queue, partition: partition === '' ? DEFAULT_PARTITION : partition, offset, maxBytes };
}

/** A numeric partition is its decimal spelling; "" for null. */
export function readPartition(reader: JsonReader): string {
  if (reader.isString()) return reader.readName('partition');
  reader.skipValue();
  const text = reader.valueText();
  if (text === 'null') return '';
  if (INTEGER.test(text)) return text;
  return reader.fail('partition must be a string or an integer', reader.valueStart);
}

function render(exchange: Exchange, request: FetchRequest, outcome: FetchedOutcome): void {
  const { entries } = request;
  assert(
    outcome.entries.length === entries.length,
    `${entries.length} entries asked for, ${outcome.entries.length} answered`,
  );
  let bytesExpected = 0;
  for (const { batches } of outcome.entries) bytesExpected += expectedBytes(batches);
  if (bytesExpected >= STREAMED_ANSWER_BYTES_MIN) {
    const into = new AnswerBytes(bytesExpected);
    sendParts(exchange, into, largeAnswer(request, outcome, into));
    return;
  }
  let text = '{"entries":[';
  for (let i = 0; i < entries.length; i++) {
    const fetched = outcome.entries[i] as FetchedEntry;
    text +=
      (i === 0 ? '' : ',') +
      headText(entries[i] as FetchEntry) +
      recordsText(fetched.partitionNumber, fetched.batches) +
      tailText(fetched);
  }
  exchange.jsonByteText('200 OK', `${text}]}`);
}

/** Stops after each part of the records, and of entries without any. */
function* largeAnswer(
  { entries }: FetchRequest,
  outcome: FetchedOutcome,
  into: AnswerBytes,
): Generator<void> {
  into.write('{"entries":[');
  for (let i = 0; i < entries.length; i++) {
    const fetched = outcome.entries[i] as FetchedEntry;
    into.write((i === 0 ? '' : ',') + headText(entries[i] as FetchEntry));
    let separator = '';
    for (const batches of inParts(fetched.batches)) {
      into.write(separator);
      into.write(recordsText(fetched.partitionNumber, batches, into));
      separator = ',';
      yield;
    }
    into.write(tailText(fetched));
    if (separator === '') yield;
  }
  into.write(']}');
}

function headText({ queue, partition }: FetchEntry): string {
  return `{"queue":${quotedBytes(queue)},"partition":${quotedBytes(partition)},"records":[`;
}

function tailText({ highWatermark, logStartOffset, error }: FetchedEntry): string {
  return (
    `],"highWatermark":${highWatermark},"logStartOffset":${logStartOffset}` +
    `${error === null ? '' : `,"error":"${error}"`}}`
  );
}
