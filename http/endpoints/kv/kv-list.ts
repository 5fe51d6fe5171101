/**
 * The two listings of the key/value store (state-surfaces 1.8): which namespaces there are, and the
 * rows of one, page by page. They are for operators and see rows that have expired.
 */

import type { RefusedOutcome, Tenant } from '@svc/engine';
import {
  anything,
  constant,
  count,
  describedAs,
  type Field,
  integer,
  integerBetween,
  list,
  matching,
  named,
  nullable,
  object,
  optional,
  stamp,
  text,
  truth,
} from '@svc/schema';
import {
  formatStampUs,
  KV_NAMESPACE,
  KV_PREFIX_LIMIT_DEFAULT,
  KV_PREFIX_LIMIT_MAX,
} from '@svc/wire';
import { AnswerBytes } from '../../exchange/answer-bytes.js';
import type { Exchange } from '../../exchange/exchange.js';
import type { Pass } from '../../gate/gate.js';
import {
  bodyForm,
  describedBy,
  given,
  integerMember,
  type Member,
  textMember,
} from '../../json/body-form.js';
import type { JsonReader } from '../../json/json-reader.js';
import { quotedBytes, quotedBytesOrNull } from '../../json/json-text.js';
import { rowsOf, shown } from '../../json/shown.js';
import type {
  KvListedRow,
  KvListQuery,
  KvListView,
  KvNamespacesView,
} from '../../ports/kv-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { replyBy, sendShown } from '../../routing/reply.js';
import type { Front } from '../../routing/route.js';
import { refuseShape } from './kv.js';
import { refuseKv, SURFACE_REFUSALS } from './kv-answers.js';
import { checkKey, checkNamespace, KvFault } from './kv-op-rules.js';

/** Room for a row beside its value: names, numbers, and a key of ordinary length. */
const ROW_BYTES = 256;

const optionalTruth = optional(nullable(truth));

const name = <Described extends Field>(field: Described) =>
  describedBy(field, given('', textMember()));

/** A flag that is no boolean is refused with a reason of this surface. */
const flag: Member<boolean, typeof optionalTruth> = {
  field: optionalTruth,
  read: readFlag,
  absent: { value: false },
};

const listForm = bodyForm({
  namespace: name(matching(KV_NAMESPACE)),
  prefix: name(optional(nullable(text))),
  after: name(optional(nullable(text))),
  limit: describedBy(
    optional(
      describedAs(
        '100; brought into 1 to 1000.',
        nullable(integerBetween(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)),
      ),
    ),
    given(KV_PREFIX_LIMIT_DEFAULT, integerMember(integer)),
  ),
  keysOnly: flag,
  includeExpired: flag,
});

const namespaceRow = shown<KvNamespacesView['namespaces'][number]>()({
  namespace: text,
  keys: count,
});

const kvNamespacesAnswer = shown<KvNamespacesView>()({
  namespaces: rowsOf(namespaceRow, ({ namespaces }) => namespaces),
  truncated: [
    optional(describedAs('There are more namespaces than are shown.', constant(true))),
    ({ truncated }) => truncated || undefined,
  ],
});

export const kvNamespacesEndpoint = endpoint({
  at: 'GET /api/v1/resources/kv/namespaces',
  level: 'read-only',
  gateway: 'read',
  tag: 'kv',
  summary: 'The namespaces of the tenant, in byte order.',
  answers: {
    200: answer('`keys` counts every stored row, expired ones included.', kvNamespacesAnswer),
    ...SURFACE_REFUSALS,
  },
  largeAnswer: 'read',
  reserves: true,
  handle: (front, { exchange, tenant, query }) => {
    const pass = enter(front, exchange, tenant, query);
    if (pass === null) return;
    const reply = replyBy(exchange, null, renderNamespaces, pass);
    front.service.kv.namespaces(tenant, reply);
  },
});

const kvListedRowAnswer = named(
  'KvListedRow',
  object({
    key: text,
    value: optional(describedAs('Absent where only keys were asked for.', anything)),
    version: count,
    expiresAt: nullable(stamp),
    updatedAt: stamp,
    expired: truth,
  }),
);

const kvListAnswer = object({
  rows: list(kvListedRowAnswer),
  truncated: truth,
  nextAfter: nullable(text),
  bytes: describedAs('The bytes of the values that are shown.', count),
});

export const kvListEndpoint = endpoint({
  at: 'POST /api/v1/resources/kv/list',
  level: 'read-only',
  gateway: 'read',
  tag: 'kv',
  summary: 'The rows of a namespace, a page at a time.',
  request: {
    share: 'drain',
    reader: 'Its faults have reasons of this surface, and come after those of the tenant.',
    schema: listForm.schema,
  },
  answers: {
    200: answer('In the byte order of keys.', kvListAnswer),
    ...SURFACE_REFUSALS,
  },
  largeAnswer: 'read',
  reserves: true,
  handle: (front, { exchange, tenant, query, body }) => {
    const pass = enter(front, exchange, tenant, query);
    if (pass === null) return;
    let wish: ListWish;
    try {
      wish = readListBody(body);
    } catch (error) {
      refuseShape(exchange, error);
      return;
    }
    const reply = replyBy(exchange, wish, renderList, pass);
    front.service.kv.list({ tenant, ...wish }, reply);
  },
});

/** null: the request has been refused. */
function enter(front: Front, exchange: Exchange, tenant: Tenant, query: string): Pass | null {
  if (query === '') return front.gate.enter(exchange, tenant, { kind: 'kv-read' });
  refuseShape(exchange, new KvFault('kv_no_query_string', 'this route takes no query string'));
  return null;
}
type ListWish = Omit<KvListQuery, 'tenant'>;

/** Throws `JsonError`, and `KvFault`. */
function readListBody(body: Buffer): ListWish {
  const wish = listForm.read(body);
  const { namespace, prefix, after, limit } = wish;
  checkNamespace(namespace);
  if (prefix !== '') checkKey(prefix);
  if (after !== '') checkKey(after);
  return { ...wish, limit: Math.min(Math.max(1, limit), KV_PREFIX_LIMIT_MAX) };
}

/** undefined for null, which is as good as absent. */
function readFlag(reader: JsonReader, name: string): boolean | undefined {
  reader.skipValue();
  const value = reader.valueText();
  if (value === 'null') return undefined;
  if (value === 'true' || value === 'false') return value === 'true';
  throw new KvFault('kv_bad_request', `${name} must be a boolean`);
}

function renderNamespaces(
  exchange: Exchange,
  _: null,
  outcome: KvNamespacesView | RefusedOutcome,
): void {
  if (outcome.kind === 'refused') refuseKv(exchange, outcome.refusal);
  else sendShown(exchange, '200 OK', kvNamespacesAnswer, outcome);
}

/** The members of a `KvListAnswer`. */
function renderList(exchange: Exchange, _: ListWish, outcome: KvListView | RefusedOutcome): void {
  if (outcome.kind === 'refused') {
    refuseKv(exchange, outcome.refusal);
    return;
  }
  const { rows, truncated, nextAfter, bytes } = outcome;
  const into = new AnswerBytes(rows.length * ROW_BYTES + bytes);
  into.write('{"rows":[');
  rows.forEach((row, i) => {
    writeRow(into, i > 0 ? ',{' : '{', row);
  });
  const next = quotedBytesOrNull(nextAfter);
  into.write(`],"truncated":${truncated},"nextAfter":${next},"bytes":${bytes}}`);
  exchange.jsonBytes('200 OK', into.finish());
}

function writeRow(into: AnswerBytes, head: string, row: KvListedRow): void {
  const { key, value, version, expiresAtUs, updatedAtUs, expired } = row;
  into.write(`${head}"key":${quotedBytes(key)},`);
  if (value !== null) {
    into.write('"value":');
    into.copy(value, 0, value.length);
    into.write(',');
  }
  const expires = expiresAtUs === null ? 'null' : `"${formatStampUs(expiresAtUs)}"`;
  into.write(
    `"version":${version},"expiresAt":${expires},` +
      `"updatedAt":"${formatStampUs(updatedAtUs)}","expired":${expired}}`,
  );
}
