/**
 * What the routes of the membership are asked: bodies, the query's `timeoutMs` and `force`. Whether
 * the nodes and addresses make sense is the broker's to say; here only their kinds are checked.
 */
import type { Buffer } from 'node:buffer';
import { CHANGED_NODES_MAX } from '../../base/limits.js';
import { type DecodeFault, isFault } from '../../exchange/path.js';
import { parseQuery, textOf } from '../../exchange/query.js';
import { keySet } from '../../json/json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';

/** What a body named; null or false where it named nothing. */
export interface MembershipBody {
  readonly id: number | null;
  readonly raft: string | null;
  readonly http: string | null;
  readonly ids: readonly number[] | null;
  readonly voters: readonly number[] | null;
  readonly to: number | null;
  readonly force: boolean;
}

export interface MembershipQuery {
  readonly timeoutMs: number;
  readonly force: boolean;
}

const TIMEOUT_MS_DEFAULT = 30_000;
export const TIMEOUT_MS_MAX = 120_000;
const INTEGER = /^\d{1,6}$/;
/** inspection 0.2. */
const YES = new Set(['true', '1', 'yes']);

export const MEMBERSHIP_BODY_KEYS = keySet(
  'id',
  'nodeId',
  'raft',
  'http',
  'ids',
  'voters',
  'to',
  'force',
);
const [ID, NODE_ID, RAFT, HTTP, IDS, VOTERS, TO] = [0, 1, 2, 3, 4, 5, 6];

export function readMembershipQuery(text: string): MembershipQuery | DecodeFault {
  const query = parseQuery(text);
  if (isFault(query)) return query;
  const force = YES.has(textOf(query, 'force').toLowerCase());
  const given = textOf(query, 'timeoutMs');
  if (given === '') return { timeoutMs: TIMEOUT_MS_DEFAULT, force };
  const timeoutMs = INTEGER.test(given) ? Number(given) : 0;
  return timeoutMs < 1 || timeoutMs > TIMEOUT_MS_MAX
    ? { fault: `timeoutMs must be an integer from 1 to ${TIMEOUT_MS_MAX}` }
    : { timeoutMs, force };
}

/** Throws `JsonError`. An empty body is `{}`, and null is as good as no member. */
export function readMembershipBody(body: Buffer): MembershipBody {
  const found: { -readonly [name in keyof MembershipBody]: MembershipBody[name] } = {
    id: null,
    raft: null,
    http: null,
    ids: null,
    voters: null,
    to: null,
    force: false,
  };
  if (body.length === 0) return found;
  const reader = new JsonReader(body);
  let seen = 0;
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(MEMBERSHIP_BODY_KEYS, seen);
    if (key === KEYS_END) break;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    if (key === KEY_UNKNOWN || reader.isNull()) reader.skipValue();
    else if (key === ID || key === NODE_ID)
      found.id = readNode(reader, MEMBERSHIP_BODY_KEYS.names[key] as string);
    else if (key === RAFT) found.raft = reader.readName('raft');
    else if (key === HTTP) found.http = reader.readName('http');
    else if (key === IDS) found.ids = readNodes(reader, 'ids');
    else if (key === VOTERS) found.voters = readNodes(reader, 'voters');
    else if (key === TO) found.to = readNode(reader, 'to');
    else found.force = readBoolean(reader, 'force');
  }
  reader.finish();
  return found;
}

function readNode(reader: JsonReader, name: string): number {
  return reader.readInteger(name, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
}

function readNodes(reader: JsonReader, name: string): number[] {
  const at = reader.at;
  const nodes: number[] = [];
  reader.enterArray(name);
  while (reader.nextElement()) {
    if (nodes.length === CHANGED_NODES_MAX) {
      reader.fail(`${name} names more than ${CHANGED_NODES_MAX} nodes`, at);
    }
    nodes.push(readNode(reader, `${name}[${nodes.length}]`));
  }
  return nodes;
}

function readBoolean(reader: JsonReader, name: string): boolean {
  const at = reader.at;
  reader.skipValue();
  const text = reader.valueText();
  if (text !== 'true' && text !== 'false') reader.fail(`${name} must be a boolean`, at);
  return text === 'true';
}
