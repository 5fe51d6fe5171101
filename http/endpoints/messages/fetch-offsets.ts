/**
 * POST /api/v1/fetch/offsets (message-plane 15): the first offset that was appended at or after a
 * time, as the node that is asked has applied it.
 */
import type { OffsetEntry } from '@svc/engine';
import {
  describedAs,
  either,
  instant,
  integer,
  list,
  named,
  nothing,
  object,
  optional,
  text,
} from '@svc/schema';
import {
  DEFAULT_PARTITION,
  fetchOffsetsAnswer,
  formatStampUs,
  POSITION_ENTRIES_MAX,
  parseIsoUs,
} from '@svc/wire';
import { badRequestFault } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { nameMember, objectForm, readEntries } from '../../json/body-form.js';
import type { JsonReader } from '../../json/json-reader.js';
import type { OffsetsView } from '../../ports/resource-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { sendAnswer, viewReply } from '../../routing/reply.js';
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

export const fetchOffsetsEndpoint = endpoint({
  at: 'POST /api/v1/fetch/offsets',
  level: 'read-write',
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
    const reply = viewReply(front, exchange, body, render);
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

function render(exchange: Exchange, entries: readonly OffsetEntry[], outcome: OffsetsView): void {
  sendAnswer(exchange, '200 OK', fetchOffsetsAnswer, {
    entries: outcome.offsets.map((found, i) => ({
      queue: entries[i]?.queue ?? '',
      partition: entries[i]?.partition ?? '',
      offset: found.offset,
      ts: found.stampUs === null ? null : formatStampUs(found.stampUs),
      highWatermark: found.highWatermark,
      logStartOffset: found.logStartOffset,
      ...(found.isUnknownQueue ? { error: 'UNKNOWN_TOPIC_OR_PARTITION' as const } : {}),
    })),
  });
}
