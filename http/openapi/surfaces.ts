/** Locks, switches, grants and the end of a tenant (state-surfaces 2, 5). */
import type {
  EphemeralSwitchAnswer,
  EphemeralSwitchedAnswer,
  KvTimersAnswer,
  LockAcquired,
  LockGot,
  LockGuard,
  LockHolder,
  LockHolderDetail,
  LockNotAcquired,
  LockNotReleased,
  LockNotRenewed,
  LockReleased,
  LockRenewed,
  LockResult,
  LocksAnswer,
  QuotaAnswer,
  TenantNotPurgedAnswer,
  TenantPurgedAnswer,
} from '@svc/wire';
import { GRANT_KINDS } from '@svc/wire';
import { LOCK_OP_KEYS, LOCK_OPS_MAX, LOCKS_BODY_KEYS } from '../lock-ops.js';
import { LOCK_SLOTS_MAX } from '../lock-service.js';
import { EPHEMERAL_SWITCH_BODY_KEYS, SWITCH_BODY_KEYS } from '../routes/system-switches.js';
import { PURGE_BODY_KEYS, QUOTA_BODY_KEYS } from '../routes/tenant-quota.js';
import { SURFACE_REFUSALS } from './kv.js';
import {
  answer,
  errorAnswer,
  type Operation,
  type Operations,
  parameter,
  refusal,
  STORAGE_FULL,
} from './operation.js';
import {
  anything,
  body,
  constant,
  count,
  describedAs,
  either,
  integerBetween,
  list,
  matching,
  named,
  nothing,
  nullable,
  object,
  oneOf,
  optional,
  type Schema,
  stamp,
  text,
  truth,
  uuid,
} from './schema.js';

const NUMBER_MAX = Number.MAX_SAFE_INTEGER;

// --- locks ---------------------------------------------------------------------------------------

/** A member that may not be there. */
const never: Schema<unknown> = { json: { not: {} }, uses: new Map() };
const positive = integerBetween(1, NUMBER_MAX);

/** What an operation does not read may be anything; whose tenant it is follows from the call. */
const UNREAD = {
  name: describedAs(
    '1 to 256 bytes.',
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused.
    matching(/^[^\u0000-\u001f\u007f#]{1,256}$/),
  ),
  owner: optional(anything),
  limit: optional(anything),
  ttlSeconds: optional(anything),
  forever: optional(anything),
  token: optional(anything),
  slot: optional(anything),
  tenant: optional(never),
  tenantId: optional(never),
  _tenant: optional(never),
};
const OWNED = {
  ttlSeconds: describedAs('The lifetime from now on.', positive),
  forever: optional(never),
  owner: optional(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused.
    describedAs('1 to 256 bytes.', nullable(matching(/^[^\u0000-\u001f\u007f]{1,256}$/))),
  ),
};
const HELD = {
  token: describedAs('As the permit was granted or renewed.', positive),
  slot: optional(describedAs('0 when absent.', nullable(integerBetween(0, LOCK_SLOTS_MAX - 1)))),
};

const lockOp = either<unknown>(
  named(
    'LockAcquire',
    body(LOCK_OP_KEYS, {
      ...UNREAD,
      ...OWNED,
      op: constant('acquire'),
      limit: optional(
        describedAs('Permits of the semaphore; 1.', nullable(integerBetween(1, LOCK_SLOTS_MAX))),
      ),
    }),
  ),
  named('LockRenew', body(LOCK_OP_KEYS, { ...UNREAD, ...OWNED, ...HELD, op: constant('renew') })),
  named('LockRelease', body(LOCK_OP_KEYS, { ...UNREAD, ...HELD, op: constant('release') })),
  named('LockGet', body(LOCK_OP_KEYS, { ...UNREAD, op: constant('get') })),
);
const lockOps = list(lockOp, LOCK_OPS_MAX);

const guard = named(
  'LockGuard',
  object<LockGuard>({
    op: constant('check'),
    ns: text,
    key: text,
    expect: count,
    required: constant(true),
  }),
);
const holder = object<LockHolder>({ slot: count, owner: nullable(text) });
const lost = constant('lost');

const lockResult = named(
  'LockResult',
  either<LockResult>(
    object<LockAcquired>({
      index: count,
      op: constant('acquire'),
      name: text,
      acquired: constant(true),
      already: optional(describedAs('Held before; its lifetime is what it was.', constant(true))),
      slot: count,
      token: describedAs('Fences: it rises with each holder and renewal.', count),
      owner: nullable(text),
      guard: describedAs('For the `kv` array of a transaction.', guard),
    }),
    object<LockNotAcquired>({
      index: count,
      op: constant('acquire'),
      name: text,
      acquired: constant(false),
      reason: oneOf('held', 'contended'),
      holders: list(holder),
    }),
    object<LockRenewed>({
      index: count,
      op: constant('renew'),
      name: text,
      renewed: constant(true),
      slot: count,
      token: count,
      guard,
    }),
    object<LockNotRenewed>({
      index: count,
      op: constant('renew'),
      name: text,
      renewed: constant(false),
      reason: lost,
      slot: count,
      holders: list(holder),
    }),
    object<LockReleased>({
      index: count,
      op: constant('release'),
      name: text,
      released: constant(true),
      slot: count,
    }),
    object<LockNotReleased>({
      index: count,
      op: constant('release'),
      name: text,
      released: constant(false),
      reason: lost,
      slot: count,
      holders: list(holder),
    }),
    object<LockGot>({
      index: count,
      op: constant('get'),
      name: text,
      held: truth,
      holders: list(
        object<LockHolderDetail>({
          slot: count,
          owner: nullable(text),
          token: count,
          since: text,
          expiresAt: nullable(stamp),
          renewedAt: stamp,
        }),
      ),
    }),
  ),
);

const locks: Operation = {
  tag: 'locks',
  summary: 'Acquires, renews, releases and shows locks and semaphores, each for itself.',
  body: {
    schema: named(
      'LocksBody',
      either<unknown>(lockOps, body(LOCKS_BODY_KEYS, { operations: lockOps })),
    ),
  },
  answers: {
    200: answer(
      'The verdict of each operation, in their order.',
      object<LocksAnswer>({ results: list(lockResult) }),
    ),
    ...SURFACE_REFUSALS,
    507: STORAGE_FULL,
  },
};

// --- switches ------------------------------------------------------------------------------------

const kvTimers = named(
  'KvTimers',
  object<KvTimersAnswer>({
    kvEnabled: truth,
    timersScheduleEnabled: truth,
    timersFireEnabled: truth,
    quotaTenants: describedAs('With an allowance, and measured by this node.', count),
    quotaAgeMs: describedAs('Since the latest measurement.', nullable(count)),
    quotaHot: describedAs('Of these tenants, those near an end of it.', count),
  }),
);
const [some, any] = [truth, optional(truth)];

const readSwitches: Operation = {
  tag: 'operations',
  summary: 'Whether key/value and timers are switched on.',
  answers: { 200: answer('As they are on the whole cluster.', kvTimers) },
};

const setSwitches: Operation = {
  tag: 'operations',
  summary: 'Switches key/value, scheduling and firing of timers on or off.',
  body: {
    schema: either<unknown>(
      body(SWITCH_BODY_KEYS, { kv: some, timersSchedule: any, timersFire: any }),
      body(SWITCH_BODY_KEYS, { kv: any, timersSchedule: some, timersFire: any }),
      body(SWITCH_BODY_KEYS, { kv: any, timersSchedule: any, timersFire: some }),
    ),
  },
  answers: {
    200: answer('As they are from now on.', kvTimers),
    400: refusal('None is named, or one is no boolean.'),
  },
};

const readEphemeral: Operation = {
  tag: 'operations',
  summary: 'Whether ephemeral queues are switched on.',
  answers: {
    200: answer(
      'On the whole cluster.',
      object<EphemeralSwitchAnswer>({ ephemeralEnabled: truth }),
    ),
  },
};

const setEphemeral: Operation = {
  tag: 'operations',
  summary: 'Switches ephemeral queues on or off.',
  body: { schema: body(EPHEMERAL_SWITCH_BODY_KEYS, { enabled: truth }) },
  answers: {
    200: answer(
      'From now on.',
      object<EphemeralSwitchedAnswer>({ ephemeralEnabled: truth, mirrored: constant(true) }),
    ),
    400: refusal('`enabled` is missing or no boolean.'),
  },
};

// --- grants and purge ----------------------------------------------------------------------------

const limit = optional(nullable(integerBetween(0, NUMBER_MAX)));
const whose = optional(describedAs("The caller's when absent.", nullable(uuid)));
const granted = nullable(count);

const quota: Operation = {
  tag: 'operations',
  summary: 'Grants a tenant a surface, with limits; replaces what was granted before.',
  body: {
    schema: named(
      'QuotaBody',
      body(QUOTA_BODY_KEYS, {
        tenant: whose,
        tenantId: whose,
        tenant_id: whose,
        kind: oneOf(...GRANT_KINDS),
        enabled: optional(describedAs('True when absent.', nullable(truth))),
        maxRows: limit,
        max_rows: limit,
        maxBytes: limit,
        max_bytes: limit,
        maxTimers: limit,
        max_timers: limit,
        maxTimerHorizonSeconds: limit,
        max_timer_horizon_seconds: limit,
        maxReadsPerSecond: limit,
        max_reads_per_second: limit,
        maxWritesPerSecond: limit,
        max_writes_per_second: limit,
        maxQueues: limit,
        max_queues: limit,
        maxMessagesPerSecond: limit,
        max_messages_per_second: limit,
        maxQueries: limit,
        max_queries: limit,
      }),
    ),
  },
  answers: {
    200: answer(
      'The grant; null where it does not limit.',
      named(
        'Quota',
        object<QuotaAnswer>({
          success: constant(true),
          tenant: uuid,
          kind: oneOf(...GRANT_KINDS),
          enabled: truth,
          maxRows: granted,
          maxBytes: granted,
          maxTimers: granted,
          maxTimerHorizonSeconds: granted,
          maxReadsPerSecond: granted,
          maxWritesPerSecond: granted,
          maxQueues: granted,
          maxMessagesPerSecond: granted,
          maxQueries: granted,
        }),
      ),
    ),
    400: refusal('A member is not what it should be.'),
    403: refusal('`reserved_tenant`.'),
  },
};

const purge: Operation = {
  tag: 'operations',
  summary: 'Removes whatever a tenant has, its grants included.',
  query: [parameter('tenant', 'Else the one that the body names.', text)],
  body: {
    schema: either<unknown>(
      nothing,
      body(PURGE_BODY_KEYS, { tenant: whose, tenantId: whose, tenant_id: whose }),
    ),
    optional: true,
  },
  answers: {
    200: answer(
      'Nothing is left of it.',
      object<TenantPurgedAnswer>({
        success: constant(true),
        tenant: uuid,
        partitionsDeleted: count,
        done: constant(true),
      }),
    ),
    400: answer(
      'No tenant that could be purged.',
      either<TenantNotPurgedAnswer>(
        object<TenantNotPurgedAnswer>({ success: constant(false), error: text }),
        errorAnswer,
      ),
    ),
    403: refusal('`reserved_tenant`.'),
  },
};

export const SURFACE_OPERATIONS: Operations = {
  'POST /api/v1/locks': locks,
  'GET /api/v1/system/kv-timers': readSwitches,
  'POST /api/v1/system/kv-timers': setSwitches,
  'GET /api/v1/system/ephemeral': readEphemeral,
  'POST /api/v1/system/ephemeral': setEphemeral,
  'POST /api/v1/resources/quota': quota,
  'POST /api/v1/system/quota': quota,
  'POST /api/v1/system/quotas': quota,
  'DELETE /api/v1/resources/tenant': purge,
};
