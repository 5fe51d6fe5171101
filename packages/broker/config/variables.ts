/**
 * Every environment variable that this build reads: one row each, from which the configuration is
 * read and logged at boot. docs/configuration.md is held to these rows by a test.
 */
import { DEFAULT_PORT } from '@svc/wire';
import { parseLogFilter } from '../system/logging-filter.js';
import { directory, host, listenKind, port, serverIdKind } from './addresses.js';
import { AUTHENTICATION_VARIABLES } from './authentication.js';
import { DOOR_VARIABLES } from './door.js';
import { EDGE_VARIABLES } from './edge.js';
import { GATEWAY_VARIABLES } from './gateway.js';
import { GATEWAY_LIMIT_VARIABLES } from './gateway-limits.js';
import { GATEWAY_LOGIN_VARIABLES } from './gateway-logins.js';
import { NAME_VARIABLES } from './names.js';
import { forceRecoverKind, nodeIdKind, peersKind, replicatorKind, timing } from './peers.js';
import { SERIES_VARIABLES } from './series.js';
import { STANDBY_VARIABLES } from './standby.js';
import { SURFACE_VARIABLES } from './surfaces.js';
import {
  absentWhenOn,
  absentWhenSet,
  accepted,
  exactInteger,
  flag,
  integer,
  type Kind,
  MEGABYTE,
  optionalInteger,
  optionalText,
  orUnset,
  percent,
  positive,
  quoted,
  refused,
  secret,
  TIMER_MS_MAX,
} from './values.js';
import { type Area, type Variable, variable } from './variable.js';

/** A partition takes up to a kilobyte of an answer, and an answer has to stay below 512 MiB. */
const PARTITIONS_SHOWN_LIMIT = 400_000;
const TIMER_S_MAX = Math.floor(TIMER_MS_MAX / 1000);
const TIMER_MS = { min: 1, max: TIMER_MS_MAX };

const subscriptionMode: Kind<'all' | 'new'> = {
  label: '`all` or `new`',
  defaultText: 'all',
  minimum: null,
  parse: (given, name) => {
    const word = given?.trim().toLowerCase() ?? '';
    if (word === '' || word === 'all') return accepted('all');
    if (['new', 'new-only', 'new_only', 'newonly'].includes(word)) return accepted('new');
    return refused(`${name}="${given}" is not a start point (expected all or new)`);
  },
  show: String,
};

const logFilter: Kind<string> = {
  label: 'log filter',
  defaultText: 'info',
  minimum: null,
  parse: (given, name) => {
    const filter = given === undefined || given.trim() === '' ? 'info' : given;
    return parseLogFilter(filter) === null
      ? refused(
          `${name}="${given}" is not a log filter ` +
            '(expected off/error/warn/info/debug/trace, or target=level, separated by commas)',
        )
      : accepted(filter);
  },
  show: quoted,
};

export const VARIABLES = {
  port: variable('server', 'PORT', port(DEFAULT_PORT), 'HTTP port; 0 takes a free one'),
  bindAddress: variable('server', 'SVC_BIND_ADDR', host('0.0.0.0'), 'host or IP to listen on'),
  serverId: variable('server', 'SVC_SERVER_ID', serverIdKind, 'name of this node'),
  bodyBytesMax: variable(
    'server',
    'SVC_MAX_BODY_BYTES',
    integer(67_108_864, { min: 1 }),
    'bytes of a request body; a longer one is answered 413 before any handler',
  ),
  httpThreads: variable(
    'server',
    'SVC_HTTP_THREADS',
    orUnset(exactInteger(0, { min: 0, max: 8 }), 'processors - 2, from 0 to 8'),
    'threads that serve the HTTP port; 0: the thread of the broker does',
  ),
  partitionsShownMax: variable(
    'server',
    'SVC_DASH_SIZES_MAX',
    positive(100_000, { min: 1, max: PARTITIONS_SHOWN_LIMIT }),
    'partitions that one management read shows of a queue, or ranks; it counts all of them',
  ),
  ...DOOR_VARIABLES,
  ...NAME_VARIABLES,
  ...SERIES_VARIABLES,
  cellId: variable(
    'server',
    'SVC_CELL_ID',
    optionalText('derived from the cluster'),
    'name of the cluster: `clusterId` in answers',
  ),

  dataDirectory: variable(
    'storage',
    'SVC_RAFT_DIR',
    directory('/var/lib/svc/raft'),
    'data directory; created when absent',
  ),
  segmentBytes: variable(
    'storage',
    'SVC_RAFT_SEGMENT_BYTES',
    positive(67_108_864, { min: 4096 }),
    'bytes at which the log begins a new file',
  ),
  mapBytes: variable(
    'storage',
    'SVC_RAFT_MAP_BYTES',
    positive(68_719_476_736, { min: MEGABYTE }),
    'bytes that the state store may grow to: address space, not memory',
  ),
  checkpointEveryMs: variable(
    'storage',
    'SVC_RAFT_DURABLE_EVERY_MS',
    positive(1000, TIMER_MS),
    'milliseconds between checkpoints; bounds what a restart replays, no answer waits for one',
  ),
  checkpointEveryBytes: variable(
    'storage',
    'SVC_RAFT_DURABLE_EVERY_BYTES',
    positive(268_435_456, { min: 1 }),
    'log bytes after which a checkpoint comes early',
  ),
  diskHighPct: variable(
    'storage',
    'SVC_RAFT_DISK_HIGH_PCT',
    percent(85),
    'fullness of the volume at which writes that grow are refused with 507',
  ),
  diskLowPct: variable(
    'storage',
    'SVC_RAFT_DISK_LOW_PCT',
    percent(80),
    'fullness below which they are taken again',
  ),
  diskCheckMs: variable(
    'storage',
    'SVC_RAFT_DISK_CHECK_MS',
    integer(100, { min: 10, max: 60_000 }),
    'milliseconds from one look at the volume to the next',
  ),

  scrubEverySeconds: variable(
    'storage',
    'SVC_STORE_SCRUB_EVERY_S',
    integer(21_600, { min: 0, max: TIMER_S_MAX }),
    'seconds from one check of all rows of the state to the next; 0 for none',
  ),
  scrubRowsPerSecond: variable(
    'storage',
    'SVC_STORE_SCRUB_ROWS_PER_S',
    integer(2000, { min: 1 }),
    'rows that such a check reads in a second',
  ),

  replicator: variable(
    'raft',
    'SVC_RAFT_REPLICATOR',
    replicatorKind,
    '`local`: one node without a raft port; else a member of a cluster, of one or more',
  ),
  nodeId: variable(
    'raft',
    'SVC_RAFT_NODE_ID',
    nodeIdKind,
    'id from 1, or `ordinal`: the trailing number of `HOSTNAME` plus 1',
  ),
  peers: variable(
    'raft',
    'SVC_RAFT_PEERS',
    peersKind,
    '`id=raft_host:port/http_host:port`, the same list on every node; blank for one node alone',
  ),
  raftListen: variable(
    'raft',
    'SVC_RAFT_LISTEN',
    listenKind,
    'where the other nodes are listened for',
  ),
  raftToken: variable(
    'raft',
    'SVC_RAFT_TOKEN',
    secret(),
    'secret that the nodes of a cluster share; without it whoever reaches the port is believed',
  ),
  raftJoin: variable(
    'raft',
    'SVC_RAFT_JOIN',
    flag(false),
    'a fresh node waits to be added and never founds a cluster',
  ),
  forceRecover: variable(
    'raft',
    'SVC_RAFT_FORCE_RECOVER',
    forceRecoverKind,
    'id of this node, the one survivor: it becomes the only voter; unset it after one start',
  ),
  electionMs: variable(
    'raft',
    'SVC_RAFT_ELECTION_MS',
    timing(150, 1000),
    'election timeout in milliseconds, drawn between this and twice this',
  ),
  heartbeatMs: variable(
    'raft',
    'SVC_RAFT_HEARTBEAT_MS',
    timing(50, 100),
    'milliseconds between heartbeats; must be below the election timeout',
  ),
  slowCommandMs: variable(
    'raft',
    'SVC_RAFT_SLOW_COMMAND_MS',
    positive(50, { min: 1 }),
    'milliseconds of planning from which a command counts as slow',
  ),
  pipelineMetrics: variable(
    'raft',
    'SVC_RAFT_METRICS',
    flag(true),
    'timings, admission and forwarding in `/metrics/prometheus`',
  ),
  pipelineMax: variable('raft', 'SVC_RAFT_PIPELINE', positive(8, { min: 1 }), 'entries in flight'),
  turnBytesMax: variable(
    'raft',
    'SVC_RAFT_BATCH_MAX_BYTES',
    positive(4_194_304, { min: 1 }),
    'bytes that one turn of the loop gathers into an entry',
  ),
  entryBytesMax: variable(
    'raft',
    'SVC_RAFT_ENTRY_MAX_BYTES',
    positive(100_663_296, { min: 1 }),
    'bytes of the largest planned command; a larger one is refused',
  ),
  logCacheBytes: variable(
    'raft',
    'SVC_RAFT_LOG_CACHE_MB',
    positive(32, { min: 1, max: 65_536, scale: MEGABYTE }),
    'MiB of recent entries kept in memory, so that fresh messages are not read from disk; ' +
      'a standby, which nobody consumes from, keeps none',
  ),
  clockSkewMs: variable(
    'raft',
    'SVC_RAFT_MAX_CLOCK_SKEW_MS',
    positive(500, TIMER_MS),
    'milliseconds of grace for a lease that another node granted: how far its clock may be off',
  ),
  readyLagMs: variable(
    'raft',
    'SVC_RAFT_READY_LAG_MS',
    integer(2000, { min: 0, max: TIMER_MS_MAX }),
    'milliseconds that the newest applied entry of a follower far behind may be old in `/health`',
  ),
  readyLagEntries: variable(
    'raft',
    'SVC_RAFT_READY_LAG_ENTRIES',
    integer(1000, { min: 0 }),
    'entries that a follower may be behind before it counts as far behind',
  ),
  promoteMaxLag: variable(
    'raft',
    'SVC_RAFT_PROMOTE_MAX_LAG',
    integer(1000, { min: 0 }),
    'entries that a learner may be behind when it is made a voter without force',
  ),
  catchUpMibPerSecond: variable(
    'raft',
    'SVC_RAFT_CATCH_UP_MIB_S',
    exactInteger(100, { min: 1 }),
    'MiB a second that a leader sends of its log to members far behind, all of them together; ' +
      'and that a node reads from its disk for all standbys',
  ),
  purgeHoldSeconds: variable(
    'raft',
    'SVC_RAFT_PURGE_HOLD_S',
    positive(600, { min: 1 }),
    'seconds for which a silent member still holds the log from being given up',
  ),
  logKeepEntries: variable(
    'raft',
    'SVC_RAFT_LOG_KEEP',
    positive(4096, { min: 1 }),
    'entries kept below the point up to which the log may be given up, unless the log is too long',
  ),
  clusterVersionMs: variable(
    'raft',
    'SVC_RAFT_CLUSTER_VERSION_MS',
    integer(1000, { min: 0, max: TIMER_MS_MAX }),
    'milliseconds between looks whether all members read a higher version; 0 never raises it',
  ),
  requestIdWindowSeconds: variable(
    'raft',
    'SVC_RAFT_REQUEST_ID_WINDOW_S',
    positive(60, { min: 1, max: TIMER_S_MAX }),
    'seconds for which a forwarded command that is repeated gets its first outcome',
  ),
  traceRetentionSeconds: variable(
    'raft',
    'SVC_RAFT_TRACE_RETENTION_S',
    positive(604_800, { min: 1 }),
    'seconds for which traces are kept',
  ),
  forwardInFlightMax: variable(
    'raft',
    'SVC_RAFT_FWD_INFLIGHT',
    positive(4096, { min: 1, max: 65_536 }),
    'commands that a follower may have with the leader at a time',
  ),
  admitBytesMax: variable(
    'raft',
    'SVC_RAFT_ADMIT_MAX_MB',
    optionalInteger('128, or what the pipeline holds and two batches if that is more', {
      min: 0,
      max: 65_536,
      scale: MEGABYTE,
    }),
    'MiB of growing writes that may wait to be planned; 0 for no bound',
  ),
  admitHoldMs: variable(
    'raft',
    'SVC_RAFT_ADMIT_HOLD_MS',
    positive(15_000, TIMER_MS),
    "milliseconds that a client's write waits for room before it is refused",
  ),
  admitForwardedHoldMs: variable(
    'raft',
    'SVC_RAFT_ADMIT_FWD_HOLD_MS',
    positive(2000, TIMER_MS),
    'milliseconds that a write from another node waits for room',
  ),

  popTimeoutMs: variable(
    'delivery',
    ['DEFAULT_TIMEOUT', 'POP_DEFAULT_TIMEOUT_MS'],
    integer(30_000, TIMER_MS),
    'milliseconds a pop waits that names no time; deadline of push and management calls',
  ),
  statementTimeoutMs: variable(
    'delivery',
    'SVC_STMT_TIMEOUT_MS',
    integer(30_000, TIMER_MS),
    'deadline of acknowledgement and lease extension in milliseconds',
  ),
  defaultSubscriptionMode: variable(
    'delivery',
    'DEFAULT_SUBSCRIPTION_MODE',
    subscriptionMode,
    'where a consumer group starts whose first pop does not say',
  ),
  autopilotDrainMs: variable(
    'delivery',
    'SVC_RAFT_AUTOPILOT_DRAIN_MS',
    positive(200, { min: 1, max: 60_000 }),
    'milliseconds that a batch sized by the autopilot should last at the rate of its group',
  ),
  autopilotBatchMin: variable(
    'delivery',
    'SVC_RAFT_AUTOPILOT_BATCH_MIN',
    positive(100, { min: 1, max: 1_000_000 }),
    'messages of the smallest batch that the autopilot chooses',
  ),
  autopilotBatchMax: variable(
    'delivery',
    'SVC_RAFT_AUTOPILOT_BATCH_MAX',
    positive(1000, { min: 1, max: 1_000_000 }),
    'messages of the largest batch that the autopilot chooses',
  ),

  retentionIntervalMs: variable(
    'delivery',
    'RETENTION_INTERVAL',
    integer(5000, { min: 1, max: TIMER_MS_MAX }),
    'milliseconds between looks at what retention may remove from a queue',
  ),
  retentionBatchAppends: variable(
    'delivery',
    'RETENTION_BATCH_SIZE',
    integer(1000, { min: 1, max: 10_000 }),
    'appends that retention removes from a partition at a time, before it turns to others',
  ),
  partitionCleanup: variable(
    'delivery',
    'SVC_PARTITION_CLEANUP_ENABLED',
    flag(true),
    'remove partitions that are empty and that nobody has used for long',
  ),
  partitionCleanupDays: variable(
    'delivery',
    'PARTITION_CLEANUP_DAYS',
    integer(30, { min: 1, max: 36_500 }),
    'days for which nobody may have used a partition that is removed',
  ),

  ...SURFACE_VARIABLES,

  ...AUTHENTICATION_VARIABLES,

  tenancyHeader: variable(
    'security',
    'SVC_TENANCY_HEADER',
    flag(false),
    'read the tenant from the header `x-svc-tenant`; needs `SVC_KV_TRUSTED_PROXY`',
  ),
  trustedProxy: variable(
    'security',
    'SVC_KV_TRUSTED_PROXY',
    flag(false),
    'states that only a trusted proxy, which sets the tenant header, reaches this node',
  ),
  encryptionKey: variable(
    'security',
    'SVC_ENCRYPTION_KEY',
    secret(),
    'key of payloads at rest: 64 hexadecimal digits; with anything else they are stored plain',
  ),

  ...STANDBY_VARIABLES,

  ...GATEWAY_VARIABLES,
  ...GATEWAY_LOGIN_VARIABLES,

  ...GATEWAY_LIMIT_VARIABLES,
  ...EDGE_VARIABLES,

  logFilter: variable(
    'logging',
    ['RUST_LOG', 'LOG_LEVEL'],
    logFilter,
    'level, or levels by target such as `info,raft=debug`',
  ),
  logJson: variable('logging', 'SVC_LOG_JSON', flag(false), 'one JSON object per line'),
  logRatesMs: variable(
    'logging',
    'SVC_LOG_RATES_MS',
    integer(10_000, { min: 1000, max: TIMER_MS_MAX }),
    'milliseconds between lines with rates; an idle node writes none',
  ),
} satisfies Readonly<Record<string, Variable<unknown>>>;

function absent(area: Area, name: string, kind: Kind<null | false>, meaning: string) {
  return variable(area, name, kind, meaning);
}

/**
 * What this build lacks and what nobody should believe to be on: refused at boot, never ignored.
 */
export const ABSENT_VARIABLES: readonly Variable<null | false>[] = [
  absent(
    'raft',
    'SVC_RAFT_APPLY_SKIP',
    absentWhenSet('way to skip entries'),
    'entries to pass over',
  ),
  absent('gateway', 'SVC_KAFKA_EMBEDDED', absentWhenOn('log facade'), 'log facade in the process'),
  absent('gateway', 'SVC_SQS_EMBEDDED', absentWhenOn('queue facade'), 'queue facade'),
  absent('gateway', 'SVC_S3_EMBEDDED', absentWhenOn('lake sink'), 'object-store sink'),
];
