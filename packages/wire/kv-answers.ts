/** Answers of the key/value surface (state-surfaces 1.6, 1.8), as they go over the wire. */
import {
  anything,
  constant,
  count,
  describedAs,
  type Infer,
  list,
  matching,
  named,
  nullable,
  object,
  oneOf,
  optional,
  text,
  truth,
} from '@svc/schema';

/** `2026-09-22T10:15:30.1234+00:00` */
const shortStamp = matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,5}[1-9])?\+00:00$/);

const loss = oneOf('exists', 'absent', 'version', 'limit', 'type');

const value = optional(describedAs('Absent where only keys were asked for.', anything));

export const kvRowAnswer = named(
  'KvRow',
  object({
    key: text,
    value,
    version: count,
    expiresAt: nullable(shortStamp),
    updatedAt: shortStamp,
  }),
);

/** One operation's element, also in a transaction; which members there are follows from `op`. */
export const KV_RESULT_FIELDS = {
  index: count,
  op: oneOf('get', 'getMany', 'getPrefix', 'put', 'putIfAbsent', 'delete', 'incr', 'check'),
  found: optional(truth),
  applied: optional(describedAs('Of a check: whether it held.', truth)),
  reason: optional(loss),
  key: optional(text),
  value: optional(
    describedAs('Of an operation that lost: the value that is there, or `null`.', anything),
  ),
  version: optional(describedAs('The version rises with every write; 0: there is no row.', count)),
  expiresAt: optional(nullable(shortStamp)),
  updatedAt: optional(shortStamp),
  rows: optional(list(kvRowAnswer)),
  missing: optional(list(text)),
  truncated: optional(describedAs('There are more rows than are shown.', truth)),
  nextAfter: optional(nullable(text)),
};

export const kvResultAnswer = named('KvResult', object(KV_RESULT_FIELDS));
export type KvResultAnswer = Infer<typeof kvResultAnswer>;

/** Members of a failure beside its reason; a value that is too long is left out. */
export const KV_FAILURE_FIELDS = {
  failedIndex: optional(describedAs('The index of the operation that lost.', count)),
  kvReason: optional(loss),
  version: optional(count),
  value: optional(describedAs('The value that is there, or `null`.', anything)),
};

/** An operation that was required lost, and nothing was written. */
export const kvFailureAnswer = named(
  'KvFailure',
  object({ ok: constant(false), reason: constant('kv_precondition'), ...KV_FAILURE_FIELDS }),
);
export type KvFailureAnswer = Infer<typeof kvFailureAnswer>;

/** One result for each operation, in their order. */
export const kvCallAnswer = object({ results: list(kvResultAnswer) });
export type KvCallAnswer = Infer<typeof kvCallAnswer>;

/** Either of the two, as a client reads it. */
export type KvAnswer = Partial<KvCallAnswer> & Partial<KvFailureAnswer>;

/** `{"error","reason","detail"}` of key/value, locks and timers (state-surfaces 0.2). */
export const surfaceErrorAnswer = named(
  'SurfaceError',
  object({ error: text, reason: optional(text), detail: optional(text) }),
);
