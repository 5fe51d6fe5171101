/** Locks, switches, grants and the end of a tenant (state-surfaces 2, 5). */
import {
  anything,
  constant,
  describedAs,
  either,
  integerBetween,
  list,
  matching,
  named,
  never,
  nothing,
  nullable,
  oneOf,
  optional,
  text,
  truth,
  uuid,
} from '@svc/schema';
import {
  ephemeralSwitchAnswer,
  ephemeralSwitchedAnswer,
  errorAnswer,
  GRANT_KINDS,
  kvTimersAnswer,
  locksAnswer,
  quotaAnswer,
  tenantNotPurgedAnswer,
  tenantPurgedAnswer,
} from '@svc/wire';
import { LOCK_OP_KEYS, LOCK_OPS_MAX, LOCKS_BODY_KEYS } from '../endpoints/kv/lock-ops.js';
import { EPHEMERAL_SWITCH_BODY_KEYS, SWITCH_BODY_KEYS } from '../endpoints/node/system-switches.js';
import { PURGE_BODY_KEYS, QUOTA_BODY_KEYS } from '../endpoints/node/tenant-quota.js';
import { LOCK_SLOTS_MAX } from '../ports/lock-service.js';
import { SURFACE_REFUSALS } from './kv.js';
import {
  answer,
  type Operation,
  type Operations,
  parameter,
  refusal,
  STORAGE_FULL,
} from './operation.js';
import { body } from './schema.js';

const NUMBER_MAX = Number.MAX_SAFE_INTEGER;

// --- locks ---------------------------------------------------------------------------------------

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

const lockOp = either(
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
const locks: Operation = {
  tag: 'locks',
  summary: 'Acquires, renews, releases and shows locks and semaphores, each for itself.',
  body: {
    schema: named('LocksBody', either(lockOps, body(LOCKS_BODY_KEYS, { operations: lockOps }))),
  },
  answers: {
    200: answer('The verdict of each operation, in their order.', locksAnswer),
    ...SURFACE_REFUSALS,
    507: STORAGE_FULL,
  },
};

// --- switches ------------------------------------------------------------------------------------

const [some, any] = [truth, optional(truth)];

const readSwitches: Operation = {
  tag: 'operations',
  summary: 'Whether key/value and timers are switched on.',
  answers: { 200: answer('As they are on the whole cluster.', kvTimersAnswer) },
};

const setSwitches: Operation = {
  tag: 'operations',
  summary: 'Switches key/value, scheduling and firing of timers on or off.',
  body: {
    schema: either(
      body(SWITCH_BODY_KEYS, { kv: some, timersSchedule: any, timersFire: any }),
      body(SWITCH_BODY_KEYS, { kv: any, timersSchedule: some, timersFire: any }),
      body(SWITCH_BODY_KEYS, { kv: any, timersSchedule: any, timersFire: some }),
    ),
  },
  answers: {
    200: answer('As they are from now on.', kvTimersAnswer),
    400: refusal('None is named, or one is no boolean.'),
  },
};

const readEphemeral: Operation = {
  tag: 'operations',
  summary: 'Whether ephemeral queues are switched on.',
  answers: {
    200: answer('On the whole cluster.', ephemeralSwitchAnswer),
  },
};

const setEphemeral: Operation = {
  tag: 'operations',
  summary: 'Switches ephemeral queues on or off.',
  body: { schema: body(EPHEMERAL_SWITCH_BODY_KEYS, { enabled: truth }) },
  answers: {
    200: answer('From now on.', ephemeralSwitchedAnswer),
    400: refusal('`enabled` is missing or no boolean.'),
  },
};

// --- grants and purge ----------------------------------------------------------------------------

const limit = optional(nullable(integerBetween(0, NUMBER_MAX)));
const whose = optional(describedAs("The caller's when absent.", nullable(uuid)));
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
    200: answer('The grant; null where it does not limit.', quotaAnswer),
    400: refusal('A member is not what it should be.'),
    403: refusal('`reserved_tenant`.'),
  },
};

const purge: Operation = {
  tag: 'operations',
  summary: 'Removes whatever a tenant has, its grants included.',
  query: [parameter('tenant', 'Else the one that the body names.', text)],
  body: {
    schema: either(
      nothing,
      body(PURGE_BODY_KEYS, { tenant: whose, tenantId: whose, tenant_id: whose }),
    ),
    optional: true,
  },
  answers: {
    200: answer('Nothing is left of it.', tenantPurgedAnswer),
    400: answer('No tenant that could be purged.', either(tenantNotPurgedAnswer, errorAnswer)),
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
