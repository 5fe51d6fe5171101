/** The environment of the state surfaces: rows of the table of variables. */
import { LEASE_SECONDS_MAX, RETRY_LIMIT_MAX } from '@svc/ephemeral';
import {
  KV_CALL_KEYS_MAX,
  TIMER_HORIZON_SECONDS_DEFAULT,
  TIMER_HORIZON_SECONDS_MAX,
  TIMER_OPS_MAX,
} from '@svc/wire';
import { accepted, flag, integer, type Kind, positive, TIMER_MS_MAX } from './values.js';
import { variable } from './variable.js';

/** 256 of them are read by one call at most, 64 MiB, which one answer between nodes carries. */
const KV_VALUE_BYTES_LIMIT = 262_144;

const TENANCY_HEADER = 'SVC_TENANCY_HEADER';

/** Where it is not set, as the tenancy header is. */
const asTenancyHeader: Kind<boolean> = {
  ...flag(false),
  defaultText: `as \`${TENANCY_HEADER}\``,
  parse: (given, name, environment) => {
    const own = flag(false).parse(given, name, environment);
    if (!own.ok || (given ?? '').trim() !== '') return own;
    // A value there that is no boolean is refused by its own row.
    const header = flag(false).parse(environment[TENANCY_HEADER], TENANCY_HEADER, environment);
    return accepted(header.ok && header.value);
  },
};

export const SURFACE_VARIABLES = {
  kvReadRate: variable(
    'surfaces',
    'SVC_KV_READ_RATE',
    positive(200, { min: 1 }),
    'calls a second of each tenant that only read keys, values, locks or timers, on each node',
  ),
  kvReadBurst: variable(
    'surfaces',
    'SVC_KV_READ_BURST',
    positive(400, { min: 1 }),
    'such calls that may come at once',
  ),
  kvWriteRate: variable(
    'surfaces',
    'SVC_KV_WRITE_RATE',
    positive(100, { min: 1 }),
    'calls a second of each tenant that write keys, locks or timers, on each node',
  ),
  kvWriteBurst: variable(
    'surfaces',
    'SVC_KV_WRITE_BURST',
    positive(200, { min: 1 }),
    'such calls that may come at once',
  ),
  kvRequireGrant: variable(
    'surfaces',
    'SVC_KV_REQUIRE_GRANT',
    asTenancyHeader,
    'key/value, locks and timers only for tenants that were granted them',
  ),
  kvTenantsMax: variable(
    'surfaces',
    'SVC_KV_MAX_TENANTS',
    positive(10_000, { min: 1, max: 1_000_000 }),
    'tenants without a grant that a node serves; more are refused, and none is forgotten',
  ),
  kvQuotaReleasePct: variable(
    'surfaces',
    'SVC_KV_QUOTA_RELEASE_PERCENT',
    integer(90, { min: 1, max: 99 }),
    'percent of its allowance to which a tenant that met it has to fall before it may grow again',
  ),
  kvQuotaHotPct: variable(
    'surfaces',
    'SVC_KV_QUOTA_HOT_PERCENT',
    integer(80, { min: 1, max: 100 }),
    'percent of its allowance from which a tenant is counted as hot',
  ),
  kvOpsMax: variable(
    'surfaces',
    'SVC_KV_MAX_OPS_PER_CALL',
    positive(256, { min: 1, max: 1024 }),
    'operations of one key/value call; transactions take 64',
  ),
  kvKeysMax: variable(
    'surfaces',
    'SVC_KV_MAX_KEYS_PER_CALL',
    positive(1024, { min: 1, max: KV_CALL_KEYS_MAX }),
    'keys that the operations of one call name together; a page counts its limit',
  ),
  kvValueBytesMax: variable(
    'surfaces',
    'SVC_KV_MAX_VALUE_BYTES',
    positive(65_536, { min: 1, max: KV_VALUE_BYTES_LIMIT }),
    'bytes of a value as compact JSON',
  ),
  timerOpsMax: variable(
    'surfaces',
    'SVC_TIMERS_MAX_OPS_PER_CALL',
    positive(256, { min: 1, max: TIMER_OPS_MAX }),
    'operations of one call on timers, and timers of one transaction',
  ),
  timerPayloadBytesMax: variable(
    'surfaces',
    'SVC_TIMERS_MAX_PAYLOAD_BYTES',
    positive(1_048_576, { min: 1, max: 67_108_864 }),
    "bytes of a timer's payload as it is sent, without base64",
  ),
  timerHorizonSeconds: variable(
    'surfaces',
    'SVC_TIMERS_MAX_HORIZON_S',
    positive(TIMER_HORIZON_SECONDS_DEFAULT, { min: 1, max: TIMER_HORIZON_SECONDS_MAX }),
    'seconds from now for which a timer may be scheduled at most',
  ),
  timerTickMs: variable(
    'surfaces',
    'SVC_RAFT_TIMER_TICK_MS',
    integer(50, { min: 0, max: TIMER_MS_MAX }),
    '0: timers never fire. Any other number changes nothing: they fire when they are due',
  ),
  timerFireBatch: variable(
    'surfaces',
    'SVC_RAFT_TIMER_FIRE_BATCH',
    positive(256, { min: 1, max: 10_000 }),
    'timers that fire in one entry; when more are due the next one follows at once',
  ),
  timerFireBytesMax: variable(
    'surfaces',
    'SVC_RAFT_TIMER_FIRE_MAX_BYTES',
    positive(4_194_304, { min: 1 }),
    'bytes of their messages, unless a single one is longer',
  ),
  timerBackoffMinMs: variable(
    'surfaces',
    'SVC_SWEEPER_BACKOFF_MIN_MS',
    positive(1000, { min: 1, max: TIMER_MS_MAX }),
    'milliseconds after which a timer that could not fire is tried again, doubled each time',
  ),
  timerBackoffMaxMs: variable(
    'surfaces',
    'SVC_SWEEPER_BACKOFF_MAX_MS',
    positive(60_000, { min: 1, max: TIMER_MS_MAX }),
    'milliseconds that it waits at most',
  ),
  timerTransientBackoffMs: variable(
    'surfaces',
    'SVC_SWEEPER_TRANSIENT_BACKOFF_MS',
    positive(1000, { min: 1, max: TIMER_MS_MAX }),
    'milliseconds after which timers are tried again that a full disk held up',
  ),
  timerAttemptsMax: variable(
    'surfaces',
    'SVC_SWEEPER_MAX_ATTEMPTS',
    positive(5, { min: 1, max: 1000 }),
    'attempts after which a timer that cannot fire becomes a dead letter',
  ),
  ephemeralRequireGrant: variable(
    'surfaces',
    'SVC_EPHEMERAL_REQUIRE_GRANT',
    asTenancyHeader,
    'ephemeral queues only for tenants that were granted them',
  ),
  ephemeralBytesMax: variable(
    'surfaces',
    'SVC_EPHEMERAL_MAX_BYTES',
    positive(268_435_456, { min: 1 }),
    'bytes of messages that all ephemeral queues of a node hold together',
  ),
  ephemeralRingBytesMax: variable(
    'surfaces',
    'SVC_EPHEMERAL_QUEUE_MAX_BYTES',
    positive(16_777_216, { min: 1 }),
    'bytes that a partition of an ephemeral queue holds, whatever its options say',
  ),
  ephemeralRingLengthMax: variable(
    'surfaces',
    'SVC_EPHEMERAL_QUEUE_MAX_LENGTH',
    positive(10_000, { min: 1 }),
    'messages that it holds',
  ),
  ephemeralLeaseSeconds: variable(
    'surfaces',
    'SVC_EPHEMERAL_LEASE_S',
    integer(30, { min: 1, max: LEASE_SECONDS_MAX }),
    'seconds after which an ephemeral message that was not acknowledged comes again',
  ),
  ephemeralRetryLimit: variable(
    'surfaces',
    'SVC_EPHEMERAL_RETRY_LIMIT',
    integer(5, { min: 1, max: RETRY_LIMIT_MAX }),
    'deliveries that may fail before an ephemeral message is dropped',
  ),
  ephemeralIdleSeconds: variable(
    'surfaces',
    'SVC_EPHEMERAL_IMPLICIT_IDLE_S',
    integer(300, { min: 0, max: 31_536_000 }),
    'seconds after which an empty ephemeral queue that nobody declared is forgotten; 0: never',
  ),
  ephemeralSilentMsMax: variable(
    'surfaces',
    'SVC_EPHEMERAL_MEMBER_TTL_MS',
    positive(4000, { min: 200, max: 60_000 }),
    'milliseconds of silence after which a member holds no ephemeral messages for the others',
  ),
  ephemeralRate: variable(
    'surfaces',
    'SVC_EPHEMERAL_RATE',
    positive(5000, { min: 1 }),
    'messages a second that each tenant may push to ephemeral queues, on each node',
  ),
  ephemeralBurst: variable(
    'surfaces',
    'SVC_EPHEMERAL_BURST',
    positive(10_000, { min: 1 }),
    'such messages that may come at once',
  ),
};
