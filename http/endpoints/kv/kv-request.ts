/** Schemas of the operations and bodies of the key/value store (state-surfaces 1). */
import {
  type AnySchema,
  anything,
  constant,
  count,
  describedAs,
  each,
  either,
  type Field,
  integer,
  integerBetween,
  type JsonObject,
  list,
  matching,
  named,
  never,
  nullable,
  number,
  type ObjectOf,
  object,
  optional,
  type Schema,
  truth,
  unread,
} from '@svc/schema';
import { KV_NAMESPACE, kvFailureAnswer, kvResultAnswer } from '@svc/wire';
import { KV_LIMITS } from '../../base/limits.js';
import { body, keySet } from '../../json/json-keys.js';

/** Why bodies of key/value are read by hand. */
export const KV_READER =
  'Values stay where they are in the body; the first fault is told in the order of the rules.';

const only = <Value>(json: JsonObject): Schema<Value> => ({ json, uses: new Map() });

const literal = either(number, truth);

const namespace = describedAs(
  'The literal of a number or a boolean is read as text.',
  either(matching(KV_NAMESPACE), only<number>({ type: 'number', minimum: 0 }), truth),
);

const withoutNul = only<string>({ type: 'string', pattern: '^[^\\u0000]+$' });

const key = describedAs(
  '1 to 512 bytes without NUL; the literal of a number or a boolean is read as text.',
  either(withoutNul, literal),
);

export const expect = optional(
  describedAs('The version that the row must have; 0: there must be none.', count),
);

export const required = optional(
  describedAs('When it loses, nothing of the call is written.', truth),
);

const ttlSeconds = describedAs('From now on.', integerBetween(1, Number.MAX_SAFE_INTEGER));

/** Members that operations have; `kv-op-rules.ts` says what each must be. */
export const KV_OP_KEYS = keySet(
  'op',
  'ns',
  'key',
  'value',
  'ttlSeconds',
  'forever',
  'expect',
  'required',
  'delta',
  'min',
  'max',
  'keys',
  'prefix',
  'after',
  'limit',
  'keysOnly',
  'tenant',
  'tenantId',
  '_tenant',
  // Means something in the body of a path route only.
  'namespace',
);
export type KvField = (typeof KV_OP_KEYS.names)[number];

/** What an operation does not read may be anything; its tenant follows from the call. */
const UNREAD = {
  ...each(
    KV_OP_KEYS.names.filter((name) => name !== 'op'),
    optional(unread),
  ),
  ...each(['tenant', 'tenantId', '_tenant'], optional(never)),
};

type OpFields = { readonly [Name in keyof typeof UNREAD | 'op']: Field };

const PLACE = { ...UNREAD, ns: namespace, key };

export const FOR_A_TIME = { ttlSeconds, forever: optional(only<false>({ not: { const: true } })) };

export const FOR_EVER = { ttlSeconds: optional(never), forever: constant(true) };

/** With one of the two expiries. */
function expiring<const Given extends OpFields>(name: string, given: Given) {
  return [
    named(`Kv${name}ForATime`, body(KV_OP_KEYS, { ...given, ...FOR_A_TIME })),
    named(`Kv${name}ForEver`, body(KV_OP_KEYS, { ...given, ...FOR_EVER })),
  ] as const;
}

const VALUE = describedAs('Kept as the JSON that was sent, without the space in it.', anything);

/** What a put says of its row, in a call and on the path. */
export const WRITTEN = { value: VALUE, expect, required };
const PUT = { ...PLACE, op: constant('put'), ...WRITTEN };

const PUT_IF_ABSENT = {
  ...PUT,
  op: constant('putIfAbsent'),
  expect: optional(integerBetween(0, 0)),
};

const INCR = {
  ...PLACE,
  op: constant('incr'),
  delta: describedAs('Added exactly, as a decimal.', number),
  min: optional(number),
  max: optional(number),
  expect: optional(never),
  required,
};

const singleOps = [
  named('KvGet', body(KV_OP_KEYS, { ...PLACE, op: constant('get') })),
  ...expiring('Put', PUT),
  ...expiring('PutIfAbsent', PUT_IF_ABSENT),
  ...expiring('Incr', INCR),
  named('KvDelete', body(KV_OP_KEYS, { ...PLACE, op: constant('delete'), expect, required })),
  named('KvCheck', body(KV_OP_KEYS, { ...PLACE, op: constant('check'), expect: count, required })),
] as const;

const getMany = [
  named(
    'KvGetMany',
    body(KV_OP_KEYS, { ...UNREAD, op: constant('getMany'), ns: namespace, keys: list(key) }),
  ),
  named(
    'KvGetNothing',
    body(KV_OP_KEYS, {
      ...UNREAD,
      op: constant('getMany'),
      keys: optional(nullable(list(anything, 0))),
    }),
  ),
] as const;

const getPrefix = named(
  'KvGetPrefix',
  body(KV_OP_KEYS, {
    ...UNREAD,
    op: constant('getPrefix'),
    ns: namespace,
    prefix: either(withoutNul, literal),
    after: optional(describedAs('Only keys behind it; `nextAfter` of the page before.', anything)),
    limit: optional(describedAs('100; brought into 1 to 1000.', nullable(integer))),
    keysOnly: optional(nullable(truth)),
  }),
);

/** `SVC_KV_MAX_OPS_PER_CALL` may say otherwise. */
const OPS_MAX = KV_LIMITS.opsMax;

/** An operation of a transaction. */
export const kvTransactionOp = either(...singleOps, ...getMany);

const kvOp = either(...singleOps, ...getMany, getPrefix);

export const kvBody = named(
  'KvBody',
  either(list(kvOp, OPS_MAX), object({ operations: list(kvOp, OPS_MAX) })),
);

/** What the path says may not be said once more; of the rest only these members are read. */
export function onPath<const Read extends { readonly [Name in KvField]?: Field }>(
  read: Read,
): Schema<ObjectOf<Read>> {
  return body(KV_OP_KEYS, {
    ...UNREAD,
    ...each(['tenant', 'tenantId', '_tenant'], optional(unread)),
    ...read,
    ...each(['op', 'ns', 'key', 'namespace'], optional(never)),
  }) as AnySchema;
}

export const elementOrFailure = either(kvResultAnswer, kvFailureAnswer);

// --- examples of answers, whose members follow from the operation --------------------------------

const PLACED = { index: 0, key: 'cart/17' };

export const KV_FOUND = {
  ...PLACED,
  op: 'get',
  found: true,
  value: { items: 2 },
  version: 1,
  expiresAt: null,
  updatedAt: '2026-11-26T10:15:30.123456+00:00',
};
export const KV_WRITTEN = { ...PLACED, op: 'put', applied: true, version: 2, expiresAt: null };
export const KV_DELETED = { ...PLACED, op: 'delete', applied: true, version: 2 };
