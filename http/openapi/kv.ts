/** The key/value store (state-surfaces 1). */
import {
  type AnySchema,
  anything,
  constant,
  count,
  describedAs,
  either,
  type Field,
  fields,
  integer,
  integerBetween,
  type JsonObject,
  list,
  matching,
  named,
  never,
  nothing,
  nullable,
  number,
  optional,
  text,
  truth,
} from '@svc/schema';
import {
  errorAnswer,
  KV_NAMESPACE,
  kvCallAnswer,
  kvFailureAnswer,
  kvListAnswer,
  kvNamespacesAnswer,
  kvResultAnswer,
  surfaceErrorAnswer,
} from '@svc/wire';
import { KV_LIMITS } from '../base/limits.js';
import { KV_LIST_BODY_KEYS } from '../endpoints/kv/kv-list.js';
import { KV_OP_KEYS } from '../endpoints/kv/kv-raw-ops.js';
import {
  answer,
  type Operation,
  type OperationAnswer,
  type Operations,
  STORAGE_FULL,
} from './operation.js';
import { body } from './schema.js';

const only = (json: JsonObject): AnySchema => ({ json, uses: new Map() });
const literal = either(number, truth);

const namespace = describedAs(
  'The literal of a number or a boolean is read as text.',
  either(matching(KV_NAMESPACE), only({ type: 'number', minimum: 0 }), truth),
);
const withoutNul = only({ type: 'string', pattern: '^[^\\u0000]+$' });
const key = describedAs(
  '1 to 512 bytes without NUL; the literal of a number or a boolean is read as text.',
  either(withoutNul, literal),
);
const expect = optional(
  describedAs('The version that the row must have; 0: there must be none.', count),
);
const required = optional(describedAs('When it loses, nothing of the call is written.', truth));
const ttlSeconds = describedAs('From now on.', integerBetween(1, Number.MAX_SAFE_INTEGER));

/** Whatever an operation does not read may be anything; its tenant follows from the call. */
const UNREAD = {
  ns: optional(anything),
  key: optional(anything),
  value: optional(anything),
  ttlSeconds: optional(anything),
  forever: optional(anything),
  expect: optional(anything),
  required: optional(anything),
  delta: optional(anything),
  min: optional(anything),
  max: optional(anything),
  keys: optional(anything),
  prefix: optional(anything),
  after: optional(anything),
  limit: optional(anything),
  keysOnly: optional(anything),
  namespace: optional(anything),
  tenant: optional(never),
  tenantId: optional(never),
  _tenant: optional(never),
};
type OpFields = { readonly [Name in keyof typeof UNREAD | 'op']: Field };

const PLACE = { ...UNREAD, ns: namespace, key };
const FOR_A_TIME = { ttlSeconds, forever: optional(only({ not: { const: true } })) };
const FOR_EVER = { ttlSeconds: optional(never), forever: constant(true) };

/** With one of the two expiries. */
function expiring(name: string, given: OpFields): readonly AnySchema[] {
  return [
    named(`Kv${name}ForATime`, body(KV_OP_KEYS, { ...given, ...FOR_A_TIME })),
    named(`Kv${name}ForEver`, body(KV_OP_KEYS, { ...given, ...FOR_EVER })),
  ];
}

const VALUE = describedAs('Kept as the JSON that was sent, without the space in it.', anything);
const PUT = { ...PLACE, op: constant('put'), value: VALUE, expect, required };
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

const singleOps: readonly AnySchema[] = [
  named('KvGet', body(KV_OP_KEYS, { ...PLACE, op: constant('get') })),
  ...expiring('Put', PUT),
  ...expiring('PutIfAbsent', PUT_IF_ABSENT),
  ...expiring('Incr', INCR),
  named('KvDelete', body(KV_OP_KEYS, { ...PLACE, op: constant('delete'), expect, required })),
  named('KvCheck', body(KV_OP_KEYS, { ...PLACE, op: constant('check'), expect: count, required })),
];

const getMany: readonly AnySchema[] = [
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
];

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

const kvBody = named(
  'KvBody',
  either(list(kvOp, OPS_MAX), fields({ operations: list(kvOp, OPS_MAX) })),
);

/** What the path says may not be said once more; of the rest only these members are read. */
function onPath(read: { readonly [Name in keyof typeof UNREAD]?: Field }): AnySchema {
  return body(KV_OP_KEYS, {
    ...UNREAD,
    tenant: optional(anything),
    tenantId: optional(anything),
    _tenant: optional(anything),
    ...read,
    op: optional(never),
    ns: optional(never),
    key: optional(never),
    namespace: optional(never),
  });
}

// --- answers -----------------------------------------------------------------------------------

function surfaceRefusal(description: string): OperationAnswer {
  return answer(description, either(surfaceErrorAnswer, errorAnswer));
}

/** What calls of key/value, locks and timers can be answered besides. */
export const SURFACE_REFUSALS: Readonly<Record<number, OperationAnswer>> = {
  400: surfaceRefusal('`reason` names what is wrong.'),
  403: surfaceRefusal('`feature_gated` or a quota: waiting does not help.'),
  413: surfaceRefusal('`payload_too_large`: `reason` names what is.'),
  429: surfaceRefusal('`rate_limited`; `Retry-After` says when one more may come.'),
  503: surfaceRefusal('Switched off, or not served at the moment.'),
};

const elementOrFailure = either(kvResultAnswer, kvFailureAnswer);

const call: Operation = {
  tag: 'kv',
  summary: 'Operations on the key/value store that apply together.',
  body: { schema: kvBody },
  answers: {
    200: answer(
      'What came of each operation, or that a required one lost.',
      either(kvCallAnswer, kvFailureAnswer),
    ),
    ...SURFACE_REFUSALS,
    507: STORAGE_FULL,
  },
};

const get: Operation = {
  tag: 'kv',
  summary: 'The row of one key.',
  answers: {
    200: answer('`found` says whether there is one.', kvResultAnswer),
    ...SURFACE_REFUSALS,
  },
};

const put: Operation = {
  tag: 'kv',
  summary: 'Writes the row of one key.',
  body: {
    schema: either(
      onPath({ value: VALUE, expect, required, ...FOR_A_TIME }),
      onPath({ value: VALUE, expect, required, ...FOR_EVER }),
    ),
  },
  answers: {
    200: answer('Whether it was written.', elementOrFailure),
    ...SURFACE_REFUSALS,
    507: STORAGE_FULL,
  },
};

const remove: Operation = {
  tag: 'kv',
  summary: 'Deletes the row of one key.',
  body: {
    schema: either(nothing, onPath({ expect, required })),
    optional: true,
  },
  answers: { 200: answer('Whether there was one.', elementOrFailure), ...SURFACE_REFUSALS },
};

const namespaces: Operation = {
  tag: 'kv',
  summary: 'The namespaces of the tenant, in byte order.',
  answers: {
    200: answer('`keys` counts every stored row, expired ones included.', kvNamespacesAnswer),
    ...SURFACE_REFUSALS,
  },
};

const rows: Operation = {
  tag: 'kv',
  summary: 'The rows of a namespace, a page at a time.',
  body: {
    schema: body(KV_LIST_BODY_KEYS, {
      namespace: matching(KV_NAMESPACE),
      prefix: optional(nullable(text)),
      after: optional(nullable(text)),
      limit: optional(
        describedAs(
          '100; brought into 1 to 1000.',
          nullable(integerBetween(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)),
        ),
      ),
      keysOnly: optional(nullable(truth)),
      includeExpired: optional(nullable(truth)),
    }),
  },
  answers: {
    200: answer('In the byte order of keys.', kvListAnswer),
    ...SURFACE_REFUSALS,
  },
};

export const KV_OPERATIONS: Operations = {
  'POST /api/v1/kv': call,
  'GET /api/v1/kv/{ns}/{key...}': get,
  'PUT /api/v1/kv/{ns}/{key...}': put,
  'DELETE /api/v1/kv/{ns}/{key...}': remove,
  'GET /api/v1/resources/kv/namespaces': namespaces,
  'POST /api/v1/resources/kv/list': rows,
};
