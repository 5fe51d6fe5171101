/** Answers about switches, grants, purges and locks (state-surfaces 2, 5). */
import {
  constant,
  count,
  describedAs,
  either,
  type Infer,
  list,
  named,
  nullable,
  object,
  oneOf,
  optional,
  stamp,
  text,
  truth,
} from '@svc/schema';

/** What a tenant can be granted. */
export const GRANT_KINDS = ['kv', 'ephemeral', 'streams'] as const;
export type GrantKind = (typeof GRANT_KINDS)[number];

/** How far; in the order of the answer. */
export const GRANT_LIMITS = [
  'maxRows',
  'maxBytes',
  'maxTimers',
  'maxTimerHorizonSeconds',
  'maxReadsPerSecond',
  'maxWritesPerSecond',
  'maxQueues',
  'maxMessagesPerSecond',
  'maxQueries',
] as const;
export type GrantLimit = (typeof GRANT_LIMITS)[number];

// --- locks (state-surfaces 2.3) ------------------------------------------------------------------

export const lockGuard = named(
  'LockGuard',
  object({
    op: constant('check'),
    ns: text,
    key: text,
    expect: count,
    required: constant(true),
  }),
);
export type LockGuard = Infer<typeof lockGuard>;

/** On refusals. */
export const lockHolder = object({ slot: count, owner: nullable(text) });
export type LockHolder = Infer<typeof lockHolder>;

export const lockHolderDetail = object({
  slot: count,
  owner: nullable(text),
  token: count,
  since: text,
  expiresAt: nullable(stamp),
  renewedAt: stamp,
});
export type LockHolderDetail = Infer<typeof lockHolderDetail>;

export const lockAcquired = object({
  index: count,
  op: constant('acquire'),
  name: text,
  acquired: constant(true),
  already: optional(
    describedAs('The owner held it before; its lifetime is what it was.', constant(true)),
  ),
  slot: count,
  token: describedAs(
    'The token is for fencing: it rises with each holder and each renewal.',
    count,
  ),
  owner: nullable(text),
  guard: describedAs('The guard goes into the `kv` array of a transaction.', lockGuard),
});

export const lockNotAcquired = object({
  index: count,
  op: constant('acquire'),
  name: text,
  acquired: constant(false),
  reason: oneOf('held', 'contended'),
  holders: list(lockHolder),
});

export const lockRenewed = object({
  index: count,
  op: constant('renew'),
  name: text,
  renewed: constant(true),
  slot: count,
  token: count,
  guard: lockGuard,
});

export const lockNotRenewed = object({
  index: count,
  op: constant('renew'),
  name: text,
  renewed: constant(false),
  reason: constant('lost'),
  slot: count,
  holders: list(lockHolder),
});

export const lockReleased = object({
  index: count,
  op: constant('release'),
  name: text,
  released: constant(true),
  slot: count,
});

export const lockNotReleased = object({
  index: count,
  op: constant('release'),
  name: text,
  released: constant(false),
  reason: constant('lost'),
  slot: count,
  holders: list(lockHolder),
});

export const lockGot = object({
  index: count,
  op: constant('get'),
  name: text,
  held: truth,
  holders: list(lockHolderDetail),
});

export const lockResult = named(
  'LockResult',
  either(
    lockAcquired,
    lockNotAcquired,
    lockRenewed,
    lockNotRenewed,
    lockReleased,
    lockNotReleased,
    lockGot,
  ),
);
export type LockResult = Infer<typeof lockResult>;

export const locksAnswer = object({ results: list(lockResult) });
export type LocksAnswer = Infer<typeof locksAnswer>;
