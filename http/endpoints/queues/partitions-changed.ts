/**
 * POST /api/v1/partitions/changed (message-plane 10): which partitions were written since an
 * instant, as the node that is asked has applied them.
 */
import type { ChangedEntry, ChangedPage } from '@svc/engine';
import {
  anything,
  constant,
  count,
  describedAs,
  either,
  instant,
  integer,
  list,
  named,
  nullable,
  object,
  oneOf,
  optional,
  stamp,
  text,
  uuid,
} from '@svc/schema';
import { CHANGED_PAGE_MAX, formatStampUs, POSITION_ENTRIES_MAX, parseIsoUs } from '@svc/wire';
import { badBodyText, badRequestFault, RequestFault } from '../../exchange/errors.js';
import {
  describedBy,
  given,
  integerMember,
  nameMember,
  objectForm,
  readEntries,
} from '../../json/body-form.js';
import type { JsonReader } from '../../json/json-reader.js';
import { rowsOf, shown } from '../../json/shown.js';
import type { ChangedView } from '../../ports/resource-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { shownReply } from '../../routing/reply.js';
import { stringOf } from './queue-options.js';

/** How much of a value that is not a timestamp an error repeats. */
const SHOWN_CHARACTERS_MAX = 200;

/** A `since` that is no timestamp. */
interface BadSince {
  readonly json: string;
}

const entryForm = objectForm('an entry', {
  queue: nameMember(),
  since: given(null, { field: describedAs('Inclusive.', instant), read: readSince }),
  after: describedBy(
    optional(
      describedAs('`next` of the page before; what is none is answered `BAD_CURSOR`.', anything),
    ),
    given(null, { field: text, read: readAfter }),
  ),
  limit: given(
    CHANGED_PAGE_MAX,
    integerMember(describedAs('1000 when absent; clamped to 1..1000.', integer)),
  ),
});

type Page = Extract<ChangedPage, { readonly kind: 'page' }>;

const changedPartitionRow = shown<Page['partitions'][number]>()({
  name: text,
  id: uuid,
  lastOffset: describedAs('-1: nothing was ever written.', integer),
  logStart: count,
  lastWriteAt: [stamp, ({ lastWriteUs }) => formatStampUs(lastWriteUs)],
});

/** Beside the page, the queue that it is of. */
const changedPageAnswer = shown<Page, string>()({
  queue: [text, (_, queue) => queue],
  partitions: rowsOf(changedPartitionRow, ({ partitions }) => partitions),
  next: describedAs('`null`: there are no more partitions.', nullable(text)),
});

const changedEntryErrorAnswer = object({
  queue: text,
  error: oneOf('UNKNOWN_TOPIC_OR_PARTITION', 'BAD_CURSOR'),
});

const changedAnswer = shown<ChangedView, readonly ChangedEntry[]>()({
  safeTime: [stamp, ({ safeUs }) => formatStampUs(safeUs)],
  safeTimeDegraded: constant(false),
  entries: [
    list(either(changedPageAnswer, changedEntryErrorAnswer)),
    ({ pages }, entries) => pages.map((page, i) => pageShown(entries[i]?.queue ?? '', page)),
  ],
});

function pageShown(queue: string, page: ChangedPage) {
  switch (page.kind) {
    case 'unknown-queue':
      return { queue, error: 'UNKNOWN_TOPIC_OR_PARTITION' } as const;
    case 'bad-cursor':
      return { queue, error: 'BAD_CURSOR' } as const;
    case 'page':
      return changedPageAnswer.of(page, queue);
  }
}

export const partitionsChangedEndpoint = endpoint({
  at: 'POST /api/v1/partitions/changed',
  level: 'read-write',
  gateway: 'consume',
  tag: 'reads by position',
  summary: 'Partitions written since an instant, as the node that is asked has applied them.',
  request: {
    share: 'drain',
    example: { entries: [{ queue: 'orders', since: '2026-11-26T10:00:00Z' }] },
    form: {
      read: readChangedBody,
      schema: object({
        entries: optional(
          nullable(list(named('ChangedEntry', entryForm.schema), POSITION_ENTRIES_MAX)),
        ),
      }),
    },
  },
  answers: {
    200: answer(
      'Every record stamped at or before `safeTime` can be read from this node.',
      changedAnswer,
    ),
  },
  largeAnswer: 'read',
  names: ({ body }) => body,
  handle: (front, { exchange, tenant, body }) => {
    const reply = shownReply(exchange, changedAnswer, body);
    front.service.resources.changed(tenant, body, reply);
  },
});

/** Throws `JsonError` for a body of another shape, and `RequestFault` for what cannot be asked. */
export function readChangedBody(body: Buffer): readonly ChangedEntry[] {
  let badSince: string | null = null;
  const entries = readEntries(
    body,
    POSITION_ENTRIES_MAX,
    (reader, index): ChangedEntry => {
      const { queue, since, after, limit } = entryForm.readAt(reader);
      if (typeof since === 'object' && since !== null) {
        badSince ??= `entry ${index}: since is not a timestamp: ${since.json}`;
        return { queue: '', sinceUs: null, after: null, limit: 1 };
      }
      const clamped = Math.min(Math.max(limit, 1), CHANGED_PAGE_MAX);
      return { queue, sinceUs: since, after, limit: clamped };
    },
    true,
  );
  if (entries === null) throw badRequestFault('too many entries');
  if (badSince === null) return entries;
  const text = badBodyText('bad body', badSince);
  throw new RequestFault({ status: '400 Bad Request', text });
}

function readSince(reader: JsonReader): number | BadSince {
  reader.skipValue();
  const json = reader.valueText();
  return parseIsoUs(stringOf(json) ?? '') ?? { json: cut(json) };
}

/** A cursor that is not a string is an error of its own entry alone. */
function readAfter(reader: JsonReader): string {
  reader.skipValue();
  const json = reader.valueText();
  return stringOf(json) ?? json;
}

function cut(json: string): string {
  return json.length <= SHOWN_CHARACTERS_MAX ? json : `${json.slice(0, SHOWN_CHARACTERS_MAX)}...`;
}
