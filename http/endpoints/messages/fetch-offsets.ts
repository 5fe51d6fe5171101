/**
 * POST /api/v1/fetch/offsets (message-plane 15): the first offset that was appended at or after a
 * time, as the node that is asked has applied it.
 */
import type { FoundOffset, OffsetEntry } from '@svc/engine';
import {
  constant,
  count,
  describedAs,
  either,
  instant,
  integer,
  list,
  named,
  nothing,
  nullable,
  object,
  optional,
  stamp,
  text,
} from '@svc/schema';
import { DEFAULT_PARTITION, formatStampUs, POSITION_ENTRIES_MAX, parseIsoUs } from '@svc/wire';
import { badRequestFault } from '../../exchange/errors.js';
import { nameMember, objectForm, readEntries } from '../../json/body-form.js';
import type { JsonReader } from '../../json/json-reader.js';
import { rowsOf, shown } from '../../json/shown.js';
import type { OffsetsView } from '../../ports/resource-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { shownReply } from '../../routing/reply.js';
import { readPartition } from './fetch.js';

const US_PER_MS = 1000;
const INTEGER_MAX = Number.MAX_SAFE_INTEGER;
const INTEGER_MIN = Number.MIN_SAFE_INTEGER;

const entryForm = objectForm('an entry', {
  queue: nameMember(),
  partition: {
    field: optional(
      describedAs('An integer is its decimal spelling.', either(text, integer, nothing)),
    ),
    read: readPartition,
    absent: { value: '' },
  },
  timestamp: {
    field: describedAs('An integer: milliseconds.', either(integer, instant)),
    read: readTimestamp,
  },
});

interface Answered {
  readonly entry: OffsetEntry;
  readonly found: FoundOffset;
}

const foundOffset = shown<Answered>()({
  queue: [text, ({ entry }) => entry.queue],
  partition: [text, ({ entry }) => entry.partition],
  offset: [nullable(count), ({ found }) => found.offset],
  ts: [
    nullable(stamp),
    ({ found }) => (found.stampUs === null ? null : formatStampUs(found.stampUs)),
  ],
  highWatermark: [count, ({ found }) => found.highWatermark],
  logStartOffset: [count, ({ found }) => found.logStartOffset],
  error: [
    optional(constant('UNKNOWN_TOPIC_OR_PARTITION')),
    ({ found }) => (found.isUnknownQueue ? 'UNKNOWN_TOPIC_OR_PARTITION' : undefined),
  ],
});

const fetchOffsetsAnswer = shown<OffsetsView, readonly OffsetEntry[]>()({
  entries: rowsOf(foundOffset, ({ offsets }, entries) =>
    entries.map((entry, i) => ({ entry, found: offsets[i] as FoundOffset })),
  ),
});

export const fetchOffsetsEndpoint = endpoint({
  at: 'POST /api/v1/fetch/offsets',
  level: 'read-write',
  gateway: 'consume',
  tag: 'reads by position',
  summary:
    'The first offset appended at or after a time, as the node that is asked has applied it.',
  request: {
    share: 'drain',
    form: {
      read: readOffsetsBody,
      schema: object({
        entries: list(named('OffsetEntry', entryForm.schema), POSITION_ENTRIES_MAX),
      }),
    },
  },
  answers: {
    200: answer('One element for each entry, in their order.', fetchOffsetsAnswer),
  },
  largeAnswer: 'read',
  names: ({ body }) => body,
  handle: (front, { exchange, tenant, body }) => {
    const reply = shownReply(exchange, fetchOffsetsAnswer, body);
    front.service.resources.offsets(tenant, body, reply);
  },
});

/** Throws `JsonError` for a body of another shape, and `RequestFault` for too many entries. */
export function readOffsetsBody(body: Buffer): readonly OffsetEntry[] {
  const entries = readEntries(body, POSITION_ENTRIES_MAX, readEntry, false);
  if (entries === null) throw badRequestFault('too many entries');
  return entries;
}

function readEntry(reader: JsonReader): OffsetEntry {
  const { queue, partition, timestamp } = entryForm.readAt(reader);
  return { queue, partition: partition || DEFAULT_PARTITION, sinceUs: timestamp };
}

/** Milliseconds since the epoch, or ISO. */
function readTimestamp(reader: JsonReader): number {
  if (!reader.isString()) {
    return reader.readInteger('timestamp', INTEGER_MIN, INTEGER_MAX) * US_PER_MS;
  }
  reader.peek();
  const at = reader.at;
  const sinceUs = parseIsoUs(reader.readText('timestamp'));
  return sinceUs ?? reader.fail('timestamp is neither milliseconds nor ISO-8601', at);
}
