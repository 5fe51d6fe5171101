/**
 * What the routes of the membership are asked: bodies, the query's `timeoutMs` and `force`. Whether
 * the nodes and addresses make sense is the broker's to say; here only their kinds are checked.
 */
import { describedAs, integer, list, nullable, optional, text } from '@svc/schema';
import { CHANGED_NODES_MAX } from '../../base/limits.js';
import { type DecodeFault, isFault, parseQuery, textOf } from '../../exchange/query.js';
import {
  alias,
  bodyForm,
  flagMember,
  given,
  integerMember,
  listMember,
  nameMember,
} from '../../json/body-form.js';
import type { JsonReader } from '../../json/json-reader.js';

export interface MembershipQuery {
  readonly timeoutMs: number;
  readonly force: boolean;
}

const TIMEOUT_MS_DEFAULT = 30_000;
export const TIMEOUT_MS_MAX = 120_000;
const INTEGER = /^\d{1,6}$/;
/** inspection 0.2. */
const YES = new Set(['true', '1', 'yes']);

const nodeMember = integerMember(integer);
const nodesMember = given(
  null,
  listMember(list(integer, CHANGED_NODES_MAX), readElement, { max: CHANGED_NODES_MAX, tooMany }),
);

/** What a body names; null or false where it names nothing. */
export const membershipForm = bodyForm({
  id: given(null, nodeMember),
  nodeId: alias('id', optional(describedAs('Another name of `id`.', nullable(integer)))),
  raft: given(null, nameMember(describedAs('`host:port` for other nodes.', text))),
  http: given(null, nameMember(describedAs('`host:port` for clients.', text))),
  ids: nodesMember,
  voters: nodesMember,
  to: given(null, nodeMember),
  force: given(false, flagMember()),
});

export type MembershipBody = ReturnType<typeof membershipForm.read>;

function readElement(reader: JsonReader, name: string, index: number): number {
  const [min, max] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
  return reader.readInteger(`${name}[${index}]`, min, max);
}

function tooMany(reader: JsonReader, name: string, at: number): never {
  return reader.fail(`${name} names more than ${CHANGED_NODES_MAX} nodes`, at);
}

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
