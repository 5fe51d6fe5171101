// Goal: every environment variable is read by its kind's rule, and what is refused is refused with
// the contract's text. Method: one table of (environment, expected field) and one of (environment,
// text).
import { describe, expect, test } from 'vitest';
import { type Config, describeConfig, readConfig } from './config.js';
import type { Environment } from './values.js';
import { ABSENT_VARIABLES, VARIABLES } from './variables.js';

function configOf(environment: Environment): Config {
  const config = readConfig(environment, 'svc-00000000');
  if (config.kind === 'refused') throw new Error(`refused: ${config.error}`);
  return config;
}

function refusalOf(environment: Environment): string {
  const config = readConfig(environment);
  return config.kind === 'refused' ? config.error : 'accepted';
}

const DEFAULTS: Config = {
  kind: 'config',
  port: 6632,
  bindAddress: '0.0.0.0',
  serverId: 'svc-00000000',
  httpThreads: null,
  bodyBytesMax: 67_108_864,
  cellId: null,
  dataDirectory: '/var/lib/svc/raft',
  segmentBytes: 67_108_864,
  mapBytes: 68_719_476_736,
  checkpointEveryMs: 1000,
  checkpointEveryBytes: 268_435_456,
  partitionsShownMax: 100_000,
  diskHighPct: 85,
  diskLowPct: 80,
  diskCheckMs: 100,
  scrubEverySeconds: 21_600,
  scrubRowsPerSecond: 2000,
  replicator: 'local',
  nodeId: 1,
  peers: [],
  self: null,
  raftListen: null,
  raftAddress: null,
  raftToken: null,
  raftJoin: false,
  forceRecover: null,
  electionMs: 150,
  heartbeatMs: 50,
  slowCommandMs: 50,
  seriesFlushMs: 60_000,
  groupLagCursorsMax: 200_000,
  queueSeriesMax: 20_000,
  seriesNodeHours: 168,
  seriesQueueHours: 24,
  seriesQueueRowsMax: 500_000,
  pipelineMetrics: true,
  pipelineMax: 8,
  turnBytesMax: 4_194_304,
  entryBytesMax: 100_663_296,
  logCacheBytes: 32 * 1024 * 1024,
  clockSkewMs: 500,
  readyLagMs: 2000,
  readyLagEntries: 1000,
  promoteMaxLag: 1000,
  catchUpMibPerSecond: 100,
  purgeHoldSeconds: 600,
  logKeepEntries: 4096,
  clusterVersionMs: 1000,
  requestIdWindowSeconds: 60,
  traceRetentionSeconds: 604_800,
  forwardInFlightMax: 4096,
  admitBytesMax: null,
  admitHoldMs: 15_000,
  admitForwardedHoldMs: 2000,
  popTimeoutMs: 30_000,
  writeTimeoutMs: 30_000,
  statementTimeoutMs: 30_000,
  defaultSubscriptionMode: 'all',
  autopilotDrainMs: 200,
  retentionIntervalMs: 5000,
  retentionBatchAppends: 1000,
  partitionCleanup: true,
  partitionCleanupDays: 30,
  autopilotBatchMin: 100,
  autopilotBatchMax: 1000,
  kvReadRate: 200,
  kvReadBurst: 400,
  kvWriteRate: 100,
  kvWriteBurst: 200,
  kvRequireGrant: false,
  kvTenantsMax: 10_000,
  kvQuotaReleasePct: 90,
  kvQuotaHotPct: 80,
  kvOpsMax: 256,
  kvKeysMax: 1024,
  kvValueBytesMax: 65_536,
  timerOpsMax: 256,
  timerPayloadBytesMax: 1_048_576,
  timerHorizonSeconds: 7_776_000,
  timerTickMs: 50,
  timerFireBatch: 256,
  timerFireBytesMax: 4_194_304,
  timerBackoffMinMs: 1000,
  timerBackoffMaxMs: 60_000,
  timerTransientBackoffMs: 1000,
  timerAttemptsMax: 5,
  ephemeralBytesMax: 268_435_456,
  ephemeralRingBytesMax: 16_777_216,
  ephemeralRingLengthMax: 10_000,
  ephemeralLeaseSeconds: 30,
  ephemeralRetryLimit: 5,
  ephemeralIdleSeconds: 300,
  ephemeralSilentMsMax: 4000,
  ephemeralRequireGrant: false,
  ephemeralRate: 5000,
  ephemeralBurst: 10_000,
  connectionsMax: null,
  connectionsPerAddressMax: null,
  queuesMax: null,
  partitionsMax: null,
  groupsMax: null,
  tenantQueuesMax: null,
  tenantPartitionsMax: null,
  tenantGroupsMax: null,
  trustedProxies: [],
  allowedOrigins: [],
  allowedHosts: [],
  jwtEnabled: false,
  jwtAlgorithm: 'HS256',
  jwtSecret: null,
  jwtPublicKey: null,
  jwksUrl: null,
  jwksRefreshSeconds: 3600,
  jwksTimeoutMs: 5000,
  jwtIssuer: null,
  jwtAudience: null,
  jwtClockSkewSeconds: 30,
  jwtSkipPaths: ['/health', '/metrics/prometheus', '/metrics', '/'],
  jwtRolesClaim: 'role',
  jwtRolesArrayClaim: 'roles',
  jwtRoleAdmin: 'admin',
  jwtRoleReadWrite: 'read-write',
  jwtRoleReadOnly: 'read-only',
  jwtRoleWriteOnly: 'write-only',
  tenancyHeader: false,
  trustedProxy: false,
  standbyToken: null,
  standbyHoldSeconds: 3600,
  standbyHoldDiskPct: 80,
  sourceAddresses: [],
  sourceToken: null,
  beginsAsStandby: false,
  seedNode: null,
  standbyName: null,
  standbyPipelineMax: 64,
  encryptionKey: null,
  gatewayEmbedded: false,
  gatewayPort: null,
  gatewayBindAddress: '0.0.0.0',
  gatewayTlsCertificate: null,
  gatewayTlsKey: null,
  gatewayInsecure: false,
  gatewayDefaultCluster: null,
  gatewaySharedHosts: [],
  gatewayTenantHeader: true,
  gatewayUpstreamConnectTimeoutMs: 5_000,
  gatewayUpstreamTimeoutMs: 35_000,
  gatewayLongPollMarginMs: 10_000,
  gatewayLongPollMaxMs: 90_000,
  gatewayStaleGraceMs: 600_000,
  gatewayInvalidationPollMs: 1_000,
  gatewayRevocationStrict: false,
  gatewayRevocationSweepMs: 3_600_000,
  gatewayJwtSecret: null,
  gatewayJwtPrivatePem: null,
  gatewayJwtPublicPem: null,
  gatewayJwtIssuer: 'svc-proxy',
  gatewayJwtAudience: null,
  gatewayCookieName: 'svc_session',
  gatewayOperators: null,
  gatewayJwtTtlS: 86_400,
  gatewayCookieDomain: null,
  gatewayPublicUrl: null,
  gatewayAuthHost: false,
  gatewayAuthPortalUrl: null,
  gatewayAuthPortalLabel: null,
  gatewayOauthStateSecret: null,
  gatewayAutoProvision: false,
  gatewayAutoProvisionTenant: null,
  gatewayDefaultRole: 'viewer',
  googleClientId: null,
  googleClientSecret: null,
  googleAllowedDomains: [],
  googleBaseUrl: null,
  githubClientId: null,
  githubClientSecret: null,
  githubBaseUrl: null,
  gatewayOperatorEnabled: false,
  gatewayControlPlaneToken: null,
  gatewayBootstrapTenant: null,
  gatewayBootstrapEmail: 'admin@localhost',
  gatewayBootstrapPassword: null,
  gatewayBootstrapPlan: 'dev',
  gatewayBootstrapApiKey: null,
  gatewayEnforce: false,
  gatewayBodyBytesMax: 16_777_216,
  gatewayBatchItemsMax: 10_000,
  gatewayParkedMax: 5_000,
  gatewayReconcileMs: 60_000,
  gatewayStorageRefreshMs: 10_000,
  gatewayMeterFlushMs: 15_000,
  gatewayUsageKeepDays: 90,
  gatewayRollUpMs: 3_600_000,
  gatewayQuotaWarnPercent: 80,
  gatewaySpoolDirectory: './svc-proxy-spool',
  gatewayDrainMs: 5_000,
  edgeRealIpHeader: 'x-forwarded-for',
  edgeRate: 0,
  edgeBurst: null,
  edgeWebRate: 20,
  edgeWebBurst: 60,
  edgeTrackedMax: 100_000,
  edgeIpv6Prefix: 64,
  edgeHeadersMax: 100,
  edgeHeaderBytesMax: 65_536,
  edgeHeaderValueBytesMax: 16_384,
  edgeUriBytesMax: 8_192,
  edgeRequestTimeoutMs: 60_000,
  edgeLongPollGraceMs: 10_000,
  edgeLongPollMaxMs: 310_000,
  edgeTimeoutExempt: [],
  edgeBodyBytesMax: 67_108_864,
  edgeWebBodyBytesMax: 1_048_576,
  edgeCorsOrigins: [],
  edgeCorsHeaders: 'authorization, content-type, x-request-id',
  edgeSessionCookies: [],
  publicOrigins: [],
  edgeHsts: 'auto',
  edgeHstsMaxAgeS: 31_536_000,
  loginAddressFailures: 10,
  loginAccountFailures: 5,
  loginBackoffMs: 1_000,
  loginLockoutS: 900,
  loginWindowS: 900,
  loginTrackedMax: 100_000,
  logFilter: 'info',
  logJson: false,
  logging: { level: 'info', json: false },
  logRatesMs: 10_000,
};

describe('defaults', () => {
  test('an empty environment gives the documented defaults', () => {
    expect(configOf({})).toEqual(DEFAULTS);
  });

  test('a minted server id is svc- and 8 hex digits, and another each time', () => {
    const ids = [readConfig({}), readConfig({})].map((config) =>
      config.kind === 'config' ? config.serverId : '',
    );
    expect(ids[0]).toMatch(/^svc-[0-9a-f]{8}$/);
    expect(ids[0]).not.toBe(ids[1]);
  });
});

const ACCEPTED: readonly [Environment, Partial<Config>][] = [
  [{ PORT: '0' }, { port: 0 }],
  [{ PORT: '65535' }, { port: 65_535 }],
  [
    { SVC_ALLOWED_ORIGINS: 'https://a.example, http://[::1]:3000,' },
    { allowedOrigins: ['https://a.example', 'http://[::1]:3000'] },
  ],
  [
    { SVC_EDGE_TRUSTED_PROXIES: 'loopback, 10.1.0.0/16,fd00::1' },
    { trustedProxies: ['loopback', '10.1.0.0/16', 'fd00::1'] },
  ],
  [{ SVC_ALLOWED_ORIGINS: '*' }, { allowedOrigins: ['*'] }],
  [{ SVC_PROXY_ENFORCE: 'true' }, { gatewayEnforce: true }],
  [{ SVC_PROXY_ENFORCE: '1' }, { gatewayEnforce: false }],
  [{ SVC_PROXY_USAGE_KEEP_DAYS: '1' }, { gatewayUsageKeepDays: 3 }],
  [{ SVC_PROXY_STORAGE_REFRESH_MS: '5' }, { gatewayStorageRefreshMs: 500 }],
  [{ SVC_PROXY_ROLLUP_MS: 'often' }, { gatewayRollUpMs: 3_600_000 }],
  [{ SVC_EDGE_REAL_IP_HEADER: ' X-Real-IP ' }, { edgeRealIpHeader: 'x-real-ip' }],
  [{ SVC_EDGE_CORS_HEADERS: 'a,b' }, { edgeCorsHeaders: 'a, b' }],
  [
    { SVC_EDGE_TIMEOUT_EXEMPT: '/api/v1/fetch, /streams/' },
    { edgeTimeoutExempt: ['/api/v1/fetch', '/streams/'] },
  ],
  [{ SVC_EDGE_HSTS: 'ON' }, { edgeHsts: 'on' }],
  [{ SVC_ALLOWED_HOSTS: 'a.example,10.0.0.1' }, { allowedHosts: ['a.example', '10.0.0.1'] }],
  [{ SVC_BIND_ADDR: '127.0.0.1' }, { bindAddress: '127.0.0.1' }],
  [{ SVC_BIND_ADDR: '::1' }, { bindAddress: '::1' }],
  [{ SVC_BIND_ADDR: '[::1]' }, { bindAddress: '::1' }],
  [{ SVC_BIND_ADDR: 'localhost' }, { bindAddress: 'localhost' }],
  [{ SVC_SERVER_ID: 'a', HOSTNAME: 'b' }, { serverId: 'a' }],
  [{ SVC_SERVER_ID: '' }, { serverId: '' }],
  [{ HOSTNAME: 'b' }, { serverId: 'b' }],
  [{ HOSTNAME: '' }, { serverId: 'svc-00000000' }],
  [{ SVC_CELL_ID: 'c-1' }, { cellId: 'c-1' }],
  // integer: clamped, text is the default
  [{ SVC_MAX_BODY_BYTES: '1000' }, { bodyBytesMax: 1000 }],
  [{ SVC_MAX_BODY_BYTES: ' 1000 ' }, { bodyBytesMax: 1000 }],
  [{ SVC_MAX_BODY_BYTES: '-5' }, { bodyBytesMax: 1 }],
  [{ SVC_MAX_BODY_BYTES: '64MB' }, { bodyBytesMax: 67_108_864 }],
  [{ SVC_MAX_BODY_BYTES: '1e3' }, { bodyBytesMax: 67_108_864 }],
  [{ SVC_MAX_BODY_BYTES: '' }, { bodyBytesMax: 67_108_864 }],
  [{ SVC_MAX_BODY_BYTES: '99999999999999999999' }, { bodyBytesMax: 67_108_864 }],
  [{ SVC_LOG_RATES_MS: '5' }, { logRatesMs: 1000 }],
  // engine numerics: 0, negative and text are the default
  [{ SVC_RAFT_SEGMENT_BYTES: '1048576' }, { segmentBytes: 1_048_576 }],
  [{ SVC_RAFT_SEGMENT_BYTES: '1' }, { segmentBytes: 4096 }],
  [{ SVC_RAFT_SEGMENT_BYTES: '0' }, { segmentBytes: 67_108_864 }],
  [{ SVC_RAFT_PIPELINE: '-1' }, { pipelineMax: 8 }],
  [{ SVC_RAFT_SLOW_COMMAND_MS: '5' }, { slowCommandMs: 5 }],
  [{ SVC_RAFT_SLOW_COMMAND_MS: '0' }, { slowCommandMs: 50 }],
  [{ SVC_RAFT_METRICS: ' Off ' }, { pipelineMetrics: false }],
  [{ SVC_RAFT_METRICS: '0' }, { pipelineMetrics: false }],
  [{ SVC_RAFT_METRICS: ' ' }, { pipelineMetrics: true }],
  [{ SVC_RAFT_PIPELINE: 'many' }, { pipelineMax: 8 }],
  [{ SVC_RAFT_LOG_CACHE_MB: '2' }, { logCacheBytes: 2 * 1024 * 1024 }],
  [{ SVC_RAFT_DURABLE_EVERY_MS: '99999999999' }, { checkpointEveryMs: 2 ** 31 - 1 }],
  // the first of two names that is set counts
  [
    { DEFAULT_TIMEOUT: '5', POP_DEFAULT_TIMEOUT_MS: '7' },
    { popTimeoutMs: 5, writeTimeoutMs: 5 },
  ],
  [{ DEFAULT_TIMEOUT: '', POP_DEFAULT_TIMEOUT_MS: '7' }, { popTimeoutMs: 7 }],
  [{ POP_DEFAULT_TIMEOUT_MS: '0' }, { popTimeoutMs: 1 }],
  [{ RUST_LOG: 'debug', LOG_LEVEL: 'warn' }, { logging: { level: 'debug', json: false } }],
  [{ LOG_LEVEL: 'info,raft=debug' }, { logging: { level: 'info,raft=debug', json: false } }],
  [{ LOG_LEVEL: ' ' }, { logging: { level: 'info', json: false } }],
  // booleans
  [{ SVC_LOG_JSON: ' YES ' }, { logJson: true, logging: { level: 'info', json: true } }],
  [{ SVC_LOG_JSON: 'on' }, { logJson: true }],
  [{ SVC_LOG_JSON: '1' }, { logJson: true }],
  [{ SVC_LOG_JSON: 'Off' }, { logJson: false }],
  [{ SVC_LOG_JSON: '' }, { logJson: false }],
  [{ SVC_TENANCY_HEADER: '1', SVC_KV_TRUSTED_PROXY: '1' }, { tenancyHeader: true }],
  // grants are needed where the tenancy header is read, unless the variable says otherwise
  [{}, { kvRequireGrant: false, ephemeralRequireGrant: false }],
  [
    { SVC_TENANCY_HEADER: 'yes', SVC_KV_TRUSTED_PROXY: '1' },
    { kvRequireGrant: true, ephemeralRequireGrant: true },
  ],
  [
    { SVC_TENANCY_HEADER: '1', SVC_KV_TRUSTED_PROXY: '1', SVC_KV_REQUIRE_GRANT: 'off' },
    { kvRequireGrant: false, ephemeralRequireGrant: true },
  ],
  [{ SVC_EPHEMERAL_REQUIRE_GRANT: 'on' }, { kvRequireGrant: false, ephemeralRequireGrant: true }],
  [
    { SVC_KV_READ_RATE: '0', SVC_KV_QUOTA_RELEASE_PERCENT: '100', SVC_KV_QUOTA_HOT_PERCENT: '0' },
    { kvReadRate: 200, kvQuotaReleasePct: 99, kvQuotaHotPct: 1 },
  ],
  [{ DEFAULT_SUBSCRIPTION_MODE: 'New-Only' }, { defaultSubscriptionMode: 'new' }],
  [{ DEFAULT_SUBSCRIPTION_MODE: 'new_only' }, { defaultSubscriptionMode: 'new' }],
  [{ DEFAULT_SUBSCRIPTION_MODE: ' ALL ' }, { defaultSubscriptionMode: 'all' }],
  // identity
  [{ SVC_RAFT_REPLICATOR: 'OpenRaft' }, { replicator: 'raft' }],
  [{ SVC_RAFT_NODE_ID: 'ordinal', HOSTNAME: 'svc-2' }, { nodeId: 3 }],
  [{ SVC_RAFT_NODE_ID: '7' }, { nodeId: 7 }],
  [
    { SVC_RAFT_REPLICATOR: 'raft', SVC_RAFT_PEERS: ' 1 = h:7400 / h:6632 ' },
    { self: { id: 1, raftAddress: 'h:7400', httpAddress: 'h:6632' } },
  ],
  // percent: fractions too; what is outside 1..100 is the default
  [{ SVC_RAFT_DISK_HIGH_PCT: '99.5' }, { diskHighPct: 99.5 }],
  [{ SVC_RAFT_DISK_HIGH_PCT: '0' }, { diskHighPct: 85 }],
  [{ SVC_RAFT_DISK_HIGH_PCT: '101' }, { diskHighPct: 85 }],
  [{ SVC_RAFT_DISK_LOW_PCT: '80%' }, { diskLowPct: 80 }],
  [{ SVC_RAFT_DISK_CHECK_MS: '1' }, { diskCheckMs: 10 }],
  [{ SVC_RAFT_ADMIT_MAX_MB: '0' }, { admitBytesMax: 0 }],
  [{ SVC_RAFT_ADMIT_MAX_MB: '2' }, { admitBytesMax: 2 * 1024 * 1024 }],
  [{ SVC_RAFT_ADMIT_MAX_MB: 'two' }, { admitBytesMax: null }],
  [
    { SVC_RAFT_JOIN: ' True ', SVC_RAFT_REPLICATOR: 'openraft' },
    { raftJoin: true, peers: [] },
  ],
  [{ SVC_RAFT_FORCE_RECOVER: '1', SVC_RAFT_REPLICATOR: 'raft' }, { forceRecover: 1 }],
  [{ SVC_RAFT_TOKEN: 'x' }, { raftToken: 'x' }],
  // what is off is off
  [
    { JWT_ENABLED: 'false', SVC_PROXY_EMBEDDED: '0', SVC_LINK_STANDBY: 'no' },
    { jwtEnabled: false, beginsAsStandby: false },
  ],
  // no key at all, or a malformed one, is no reason not to start
  [{ SVC_ENCRYPTION_KEY: 'abc' }, { encryptionKey: 'abc' }],
];

test.each(ACCEPTED)('%j is accepted', (environment, expected) => {
  expect(configOf(environment)).toMatchObject(expected);
});

const raft = (peers: string): Environment => ({
  SVC_RAFT_REPLICATOR: 'openraft',
  SVC_RAFT_PEERS: peers,
});

const NOT_BOOLEAN = 'is not a boolean (expected true/false, 1/0, yes/no, on/off)';

const REFUSED: readonly [Environment, string][] = [
  [{ SVC_KV_REQUIRE_GRANT: 'maybe' }, `SVC_KV_REQUIRE_GRANT="maybe" ${NOT_BOOLEAN}`],
  // Every boolean, whatever it switches.
  ...Object.values(VARIABLES)
    .filter(({ kind }) => kind.label === 'boolean')
    .map(({ names: [name = ''] }): [Environment, string] => [
      { [name]: 'maybe' },
      `${name}="maybe" ${NOT_BOOLEAN}`,
    ]),
  [{ PORT: '' }, 'PORT= is not a port (expected a number from 0 to 65535)'],
  [{ PORT: 'http' }, 'PORT=http is not a port (expected a number from 0 to 65535)'],
  [{ PORT: '65536' }, 'PORT=65536 is not a port (expected a number from 0 to 65535)'],
  [{ PORT: '-1' }, 'PORT=-1 is not a port (expected a number from 0 to 65535)'],
  [
    { SVC_BIND_ADDR: '' },
    'SVC_BIND_ADDR is set to the empty string — give it a host or IP, or unset it for 0.0.0.0',
  ],
  [
    { SVC_BIND_ADDR: '127.0.0.1:80' },
    'SVC_BIND_ADDR=127.0.0.1:80 carries a port — set the host or IP only, the port comes from PORT',
  ],
  [
    { SVC_BIND_ADDR: '[::1]:80' },
    'SVC_BIND_ADDR=[::1]:80 carries a port — set the host or IP only, the port comes from PORT',
  ],
  [
    { SVC_ALLOWED_ORIGINS: 'https://a.example,tools.example' },
    'SVC_ALLOWED_ORIGINS=https://a.example,tools.example: `tools.example` is not an origin: ' +
      'write scheme and host, and the port where it is not the standard one, such as ' +
      'https://tools.example or http://localhost:3000',
  ],
  [
    { SVC_EDGE_TRUSTED_PROXIES: '10.0.0.0/33' },
    'SVC_EDGE_TRUSTED_PROXIES=10.0.0.0/33: `10.0.0.0/33` is not a network: write IP addresses or ' +
      'networks such as 10.1.0.0/16, `loopback` or `private`',
  ],
  [{ SVC_EDGE_HSTS: 'yes' }, 'SVC_EDGE_HSTS=yes: expected auto, on or off'],
  [
    { SVC_EDGE_CORS_ORIGINS: 'app.example' },
    'SVC_EDGE_CORS_ORIGINS=app.example: `app.example` is not an origin: ' +
      'write scheme and host, and the port where it is not the standard one, such as ' +
      'https://tools.example or http://localhost:3000',
  ],
  [
    { SVC_EDGE_TIMEOUT_EXEMPT: 'streams' },
    'SVC_EDGE_TIMEOUT_EXEMPT=streams: `streams` is not a path: ' +
      'write it from its first slash on, such as /api/v1/fetch',
  ],
  [{ SVC_EDGE_REAL_IP_HEADER: 'real ip' }, "SVC_EDGE_REAL_IP_HEADER=real ip: not a header's name"],
  [{ SVC_EDGE_CORS_HEADERS: 'a,b c' }, "SVC_EDGE_CORS_HEADERS=a,b c: `b c` is not a header's name"],
  [
    { SVC_EDGE_SESSION_COOKIES: 'a=b' },
    'SVC_EDGE_SESSION_COOKIES=a=b: `a=b` is not the name of a cookie',
  ],
  [
    { SVC_ALLOWED_HOSTS: 'svc.example:6632' },
    'SVC_ALLOWED_HOSTS=svc.example:6632: `svc.example:6632` is not a host: write names or IP ' +
      'addresses without scheme and port, such as svc.example',
  ],
  [
    { SVC_RAFT_DIR: '' },
    'SVC_RAFT_DIR is set to the empty string — ' +
      'give it a directory, or unset it for /var/lib/svc/raft',
  ],
  [{ SVC_HTTP_THREADS: '9' }, 'SVC_HTTP_THREADS=9 is not a whole number from 0 to 8'],
  [{ SVC_MAX_QUEUES: '10k' }, 'SVC_MAX_QUEUES=10k is not a whole number from 1 on'],
  [{ SVC_LOG_JSON: 'maybe' }, `SVC_LOG_JSON="maybe" ${NOT_BOOLEAN}`],
  [{ JWT_ENABLED: 'enabled' }, `JWT_ENABLED="enabled" ${NOT_BOOLEAN}`],
  [{ SVC_RAFT_REPLICATOR: 'paxos' }, 'SVC_RAFT_REPLICATOR=paxos: expected `local` or `openraft`'],
  [{ SVC_RAFT_NODE_ID: '0' }, 'SVC_RAFT_NODE_ID=0: expected a node id from 1, or `ordinal`'],
  [
    { SVC_RAFT_NODE_ID: '2097152' },
    'SVC_RAFT_NODE_ID=2097152: expected a node id from 1, or `ordinal`',
  ],
  [raft('2097152=a/b'), 'SVC_RAFT_PEERS=2097152=a/b: `2097152` is not a node id'],
  [{ SVC_RAFT_NODE_ID: 'one' }, 'SVC_RAFT_NODE_ID=one: expected a node id from 1, or `ordinal`'],
  [
    { SVC_RAFT_NODE_ID: 'ordinal', HOSTNAME: 'svc' },
    'SVC_RAFT_NODE_ID=ordinal: HOSTNAME `svc` has no trailing number',
  ],
  [{ SVC_RAFT_PEERS: '1=a:1/b' }, 'SVC_RAFT_PEERS needs SVC_RAFT_REPLICATOR=openraft'],
  [raft('a'), 'SVC_RAFT_PEERS=a: `a` is not `id=raft_addr/http_addr`'],
  [raft('1=a:1/b,'), 'SVC_RAFT_PEERS=1=a:1/b,: `` is not `id=raft_addr/http_addr`'],
  [raft('x=a/b'), 'SVC_RAFT_PEERS=x=a/b: `x` is not a node id'],
  [raft('0=a/b'), 'SVC_RAFT_PEERS=0=a/b: node ids start at 1'],
  [raft('1=a'), 'SVC_RAFT_PEERS=1=a: node 1 needs `raft_addr/http_addr`'],
  [raft('1=a/b/c'), 'SVC_RAFT_PEERS=1=a/b/c: node 1 needs `raft_addr/http_addr`'],
  [raft('1=/b'), 'SVC_RAFT_PEERS=1=/b: node 1 has an empty address'],
  [raft('1=a:1/b,1=c:1/d'), 'SVC_RAFT_PEERS=1=a:1/b,1=c:1/d: node 1 is listed twice'],
  [raft('1=a/b'), 'SVC_RAFT_PEERS=1=a/b: raft address `a` is not host:port'],
  [raft('1=a:0/b'), 'SVC_RAFT_PEERS=1=a:0/b: raft address `a:0` is not host:port'],
  [raft('1=::1:7/b'), 'SVC_RAFT_PEERS=1=::1:7/b: raft address `::1:7` is not host:port'],
  [{ SVC_RAFT_LISTEN: '7400' }, 'SVC_RAFT_LISTEN=7400 is not host:port'],
  [{ SVC_RAFT_LISTEN: 'a:65536' }, 'SVC_RAFT_LISTEN=a:65536 is not host:port'],
  [
    { SVC_RAFT_JOIN: '1' },
    'SVC_RAFT_JOIN needs SVC_RAFT_REPLICATOR=openraft: a `local` node is never added',
  ],
  [
    { SVC_RAFT_FORCE_RECOVER: 'me' },
    'SVC_RAFT_FORCE_RECOVER=me: expected the id of the node to recover, a number from 1',
  ],
  [
    { ...raft('2=a:1/b,1=c:1/d'), SVC_RAFT_FORCE_RECOVER: '2' },
    'SVC_RAFT_FORCE_RECOVER=2, but this node is 1: ' +
      'it names the ONE surviving node to recover, and is set on that node only',
  ],
  [{ SVC_RAFT_FORCE_RECOVER: '1' }, 'SVC_RAFT_FORCE_RECOVER needs SVC_RAFT_REPLICATOR=openraft'],
  [raft('2=a:1/b'), 'SVC_RAFT_NODE_ID=1 is not in SVC_RAFT_PEERS'],
  [
    { SVC_RAFT_HEARTBEAT_MS: '150' },
    'SVC_RAFT_HEARTBEAT_MS=150 is not below SVC_RAFT_ELECTION_MS=150: ' +
      'a leader would lose its followers between two beats',
  ],
  [
    { SVC_RAFT_AUTOPILOT_BATCH_MIN: '1001' },
    'SVC_RAFT_AUTOPILOT_BATCH_MIN=1001 is above SVC_RAFT_AUTOPILOT_BATCH_MAX=1000',
  ],
  [
    { SVC_TENANCY_HEADER: 'true' },
    'SVC_TENANCY_HEADER=true needs SVC_KV_TRUSTED_PROXY=true: the tenant header is believed as ' +
      'it comes, so only a proxy that sets it may reach this node',
  ],
  [
    { LOG_LEVEL: 'inof' },
    'LOG_LEVEL="inof" is not a log filter ' +
      '(expected off/error/warn/info/debug/trace, or target=level, separated by commas)',
  ],
  [
    { DEFAULT_SUBSCRIPTION_MODE: 'latest' },
    'DEFAULT_SUBSCRIPTION_MODE="latest" is not a start point (expected all or new)',
  ],
];

test('a group elects more slowly than a node alone', () => {
  const group = { ...raft('1=a:1/b,2=c:1/d') };
  expect(configOf(group)).toMatchObject({ electionMs: 1000, heartbeatMs: 100 });
  expect(
    configOf({ ...group, SVC_RAFT_ELECTION_MS: '300', SVC_RAFT_HEARTBEAT_MS: '0' }),
  ).toMatchObject({ electionMs: 300, heartbeatMs: 100 });
  expect(configOf(raft('1=a:1/b'))).toMatchObject({ electionMs: 1000, heartbeatMs: 100 });
  expect(configOf({})).toMatchObject({ electionMs: 150, heartbeatMs: 50 });
});

test('every interface is listened on, at the own raft port, unless it is said otherwise', () => {
  const pair = raft('2=[::1]:7402/d,1=a:7401/b');
  expect(configOf(pair)).toMatchObject({
    self: { id: 1, raftAddress: 'a:7401', httpAddress: 'b' },
    raftAddress: { host: '0.0.0.0', port: 7401 },
  });
  const named = { ...pair, SVC_RAFT_LISTEN: '[::1]:7' };
  expect(configOf(named).raftAddress).toEqual({ host: '::1', port: 7 });
  expect(configOf({ SVC_RAFT_LISTEN: 'a:7' }).raftAddress).toBeNull();
  expect(configOf(raft('')).raftAddress).toBeNull();
});

test.each(REFUSED)('%j is refused', (environment, error) => {
  expect(refusalOf(environment)).toBe(error);
});

test.each(ABSENT_VARIABLES.map((row) => row.names[0]))('%s is never ignored', (name) => {
  expect(refusalOf({ [name]: 'true' })).toMatch(new RegExp(`^${name}[ =].*this build has no `));
});

describe('describeConfig', () => {
  test('one line per area, every variable in one of them', () => {
    const lines = describeConfig(
      configOf({ SVC_RAFT_DIR: '/data dir', SVC_RAFT_LOG_CACHE_MB: '8' }),
    );
    expect(lines.map((line) => line.split(' ', 2).join(' '))).toEqual([
      'config: server',
      'config: storage',
      'config: raft',
      'config: delivery',
      'config: surfaces',
      'config: auth',
      'config: security',
      'config: link',
      'config: gateway',
      'config: logging',
    ]);
    expect(lines[1]).toContain('SVC_RAFT_DIR="/data dir"');
    expect(lines[2]).toContain('SVC_RAFT_LOG_CACHE_MB=8 ');
    for (const row of Object.values(VARIABLES)) {
      expect(lines.join(' ')).toContain(` ${row.names[0]}=`);
    }
  });

  test('a secret shows its length and nothing else', () => {
    const text = describeConfig(configOf({ JWT_SECRET: 'hunter2' })).join('\n');
    expect(text).toContain('JWT_SECRET=<set:7 chars>');
    expect(text).not.toContain('hunter2');
    expect(text).toContain('SVC_ENCRYPTION_KEY=<unset>');
  });

  test('a line feed in a value does not make a second line', () => {
    const lines = describeConfig(configOf({ SVC_SERVER_ID: 'a\nconfig: forged' }));
    expect(lines.some((line) => line.includes('\n'))).toBe(false);
  });
});
