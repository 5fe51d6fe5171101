/**
 * POST /api/v1/partitions/changed (message-plane 10): which partitions were written since an
 * instant, as the node that is asked has applied them.
 */
import type { ChangedEntry, ChangedPage, RefusedOutcome } from '@svc/engine';
import {
  anything,
  describedAs,
  instant,
  integer,
  list,
  named,
  nullable,
  optional,
  text,
} from '@svc/schema';
import {
  CHANGED_PAGE_MAX,
  type ChangedAnswer,
  type ChangedEntryErrorAnswer,
  type ChangedPageAnswer,
  changedAnswer,
  formatStampUs,
  POSITION_ENTRIES_MAX,
  parseIsoUs,
} from '@svc/wire';
import { badRequest, errorText } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { placesBudgetRefusal } from '../../exchange/name-budget.js';
import { body } from '../../json/body.js';
import { keySet } from '../../json/json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';
import type { ChangedView } from '../../ports/resource-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { PendingReply } from '../../routing/reply.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { stringOf } from './queue-options.js';

export const CHANGED_BODY_KEYS = keySet('entries');

export const CHANGED_ENTRY_KEYS = keySet('queue', 'since', 'after', 'limit');

const changedEntry = named(
  'ChangedEntry',
  body(CHANGED_ENTRY_KEYS, {
    queue: text,
    since: optional(describedAs('Inclusive.', nullable(instant))),
    after: optional(
      describedAs('`next` of the page before; what is none is answered `BAD_CURSOR`.', anything),
    ),
    limit: optional(describedAs('1000 when absent; clamped to 1..1000.', nullable(integer))),
  }),
);

export const partitionsChangedEndpoint = endpoint({
  at: 'POST /api/v1/partitions/changed',
  level: 'read-write',
  tag: 'reads by position',
  summary: 'Partitions written since an instant, as the node that is asked has applied them.',
  request: {
    share: 'drain',
    schema: body(CHANGED_BODY_KEYS, {
      entries: optional(nullable(list(changedEntry, POSITION_ENTRIES_MAX))),
    }),
  },
  answers: {
    200: answer(
      'Every record stamped at or before `safeTime` can be read from this node.',
      changedAnswer,
    ),
  },
  largeAnswer: 'read',
  handle,
});

function handle(front: Front, request: RouteRequest): void {
  const { exchange, tenant } = request;
  const read = readChangedBody(request.body);
  if (read.kind === 'too-many') {
    exchange.refuse(badRequest('too many entries'));
    return;
  }
  if (read.kind === 'bad-since') {
    exchange.json('400 Bad Request', errorText(`bad body: ${read.error}`, 'bad_body'));
    return;
  }
  const refusal = placesBudgetRefusal(tenant, read.entries);
  if (refusal !== null) {
    exchange.refuse(refusal);
    return;
  }
  const reply = new PendingReply(exchange, front.logger, read.entries, render);
  front.service.resources.changed(tenant, read.entries, reply);
}

export type ChangedBody =
  | { readonly kind: 'entries'; readonly entries: readonly ChangedEntry[] }
  | { readonly kind: 'too-many' }
  /** The text that follows `bad body: `. */
  | { readonly kind: 'bad-since'; readonly error: string };
const ENTRIES = 0;
const QUEUE = 0;
const SINCE = 1;
const AFTER = 2;
const LIMIT = 3;

const INTEGER_MAX = Number.MAX_SAFE_INTEGER;
const INTEGER_MIN = Number.MIN_SAFE_INTEGER;
/** Of a value that is not a timestamp, as much as an error repeats. */
const SHOWN_CHARACTERS_MAX = 200;

/** An entry whose `since` is no timestamp. */
interface BadSince {
  readonly json: string;
}

/** Throws `JsonError` for a body of another shape. */
export function readChangedBody(body: Buffer): ChangedBody {
  const reader = new JsonReader(body);
  const entries: ChangedEntry[] = [];
  let badSince: string | null = null;
  let seen = 0;
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(CHANGED_BODY_KEYS, seen);
    if (key === KEYS_END) break;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    if (key !== ENTRIES || reader.isNull()) {
      reader.skipValue();
      continue;
    }
    reader.enterArray('entries');
    while (reader.nextElement()) {
      if (entries.length === POSITION_ENTRIES_MAX) return { kind: 'too-many' };
      const entry = readEntry(reader);
      if ('json' in entry) {
        badSince ??= `entry ${entries.length}: since is not a timestamp: ${entry.json}`;
        entries.push({ queue: '', sinceUs: null, after: null, limit: 1 });
      } else entries.push(entry);
    }
  }
  reader.finish();
  return badSince === null ? { kind: 'entries', entries } : { kind: 'bad-since', error: badSince };
}

function readEntry(reader: JsonReader): ChangedEntry | BadSince {
  let queue = '';
  let sinceUs: number | null = null;
  let after: string | null = null;
  let limit = CHANGED_PAGE_MAX;
  let bad: BadSince | null = null;
  let seen = 0;
  reader.enterObject('an entry');
  for (;;) {
    const key = reader.nextKey(CHANGED_ENTRY_KEYS, seen);
    if (key === KEYS_END) break;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    if (key === QUEUE) queue = reader.readName('queue');
    else if (key === KEY_UNKNOWN || reader.isNull()) reader.skipValue();
    else if (key === SINCE) {
      reader.skipValue();
      const json = reader.valueText();
      sinceUs = parseIsoUs(stringOf(json) ?? '');
      if (sinceUs === null) bad = { json: cut(json) };
    } else if (key === AFTER) {
      reader.skipValue();
      const json = reader.valueText();
      // What is no string is no cursor, which is told of its entry alone.
      after = stringOf(json) ?? json;
    } else if (key === LIMIT) {
      const wanted = reader.readInteger('limit', INTEGER_MIN, INTEGER_MAX);
      limit = Math.min(Math.max(wanted, 1), CHANGED_PAGE_MAX);
    }
  }
  if ((seen & (1 << QUEUE)) === 0) reader.fail('missing field `queue`', reader.at);
  return bad ?? { queue, sinceUs, after, limit };
}

function cut(json: string): string {
  return json.length <= SHOWN_CHARACTERS_MAX ? json : `${json.slice(0, SHOWN_CHARACTERS_MAX)}...`;
}

function render(
  exchange: Exchange,
  entries: readonly ChangedEntry[],
  outcome: ChangedView | RefusedOutcome,
): void {
  if (outcome.kind === 'refused') {
    exchange.refuse(outcome.refusal);
    return;
  }
  const answer: ChangedAnswer = {
    safeTime: formatStampUs(outcome.safeUs),
    safeTimeDegraded: false,
    entries: outcome.pages.map((page, i) => pageAnswer(entries[i]?.queue ?? '', page)),
  };
  exchange.json('200 OK', JSON.stringify(answer));
}

function pageAnswer(queue: string, page: ChangedPage): ChangedPageAnswer | ChangedEntryErrorAnswer {
  switch (page.kind) {
    case 'unknown-queue':
      return { queue, error: 'UNKNOWN_TOPIC_OR_PARTITION' };
    case 'bad-cursor':
      return { queue, error: 'BAD_CURSOR' };
    case 'page': {
      const partitions = page.partitions.map(({ name, id, lastOffset, logStart, lastWriteUs }) => ({
        name,
        id,
        lastOffset,
        logStart,
        lastWriteAt: formatStampUs(lastWriteUs),
      }));
      return { queue, partitions, next: page.next };
    }
  }
}
