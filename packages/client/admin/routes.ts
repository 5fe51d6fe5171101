/** The management routes: the method that `client.admin` has for each of them. */
import type { Repeat } from '../transport/repeats.js';
import type { FigureApi } from './figures-api.js';
import type { GroupApi } from './groups-api.js';
import type { NodeApi } from './node-api.js';
import type { QueueApi } from './queues-api.js';
import type { RecordApi } from './records-api.js';
import type { SurfaceApi } from './surfaces-api.js';

/** By method and path. Tests hold these types against those of the broker's endpoints. */
export interface AdminApi extends QueueApi, GroupApi, RecordApi, SurfaceApi, FigureApi, NodeApi {}

export interface RouteTerms<Query extends PropertyKey = string> {
  /** The names of its query. */
  readonly query?: readonly Query[];
  /** Absent: it takes none. */
  readonly body?: 'required' | 'optional';
  /** `any` without: carried out twice it does what it does once. */
  readonly repeat?: Repeat;
  /** The answer is a text and no JSON. */
  readonly isText?: true;
}

export interface Route<At extends keyof AdminApi = keyof AdminApi> extends RouteTerms {
  readonly at: At;
}

type QueryOf<Operation> = Operation extends { readonly query: infer Query } ? keyof Query : never;

function at<At extends keyof AdminApi>(
  at: At,
  terms: RouteTerms<QueryOf<AdminApi[At]>> = {},
): Route<At> {
  return { at, ...(terms as RouteTerms) };
}

const PAGE = ['limit', 'after'] as const;
const OFFSET = ['limit', 'offset'] as const;
const SERIES = ['from', 'to', 'queue'] as const;
const METADATA = ['deleteMetadata'] as const;
const BODY = { body: 'required' } as const;
const MEMBERSHIP = { query: ['timeoutMs', 'force'], repeat: 'unapplied' } as const;

export const ROUTES = {
  queues: at('GET /api/v1/resources/queues', { query: ['stats', 'limit', 'after'] }),
  queue: at('GET /api/v1/resources/queues/{queue}', { query: PAGE }),
  queueDepth: at('GET /api/v1/resources/queues/{queue}/depth', {
    query: ['group', 'limit', 'after'],
  }),
  queueSizes: at('GET /api/v1/resources/queues/{queue}/sizes', { query: PAGE }),
  configureQueue: at('POST /api/v1/configure', BODY),
  deleteQueue: at('DELETE /api/v1/resources/queues/{queue}'),
  namespaces: at('GET /api/v1/resources/namespaces', { query: PAGE }),
  tasks: at('GET /api/v1/resources/tasks', { query: PAGE }),
  overview: at('GET /api/v1/resources/overview'),
  partitions: at('GET /api/v1/resources/partitions', { query: ['queue', 'limit'] }),
  partitionLiveness: at('GET /api/v1/analytics/partition-liveness', {
    query: ['queue', 'namespace', 'task', 'limit'],
  }),
  queueStatuses: at('GET /api/v1/status/queues', { query: OFFSET }),
  queueStatus: at('GET /api/v1/status/queues/{queue}', { query: PAGE }),
  messageCounts: at('GET /api/v1/status/analytics'),
  groups: at('GET /api/v1/consumer-groups', { query: ['queue', 'prefix', 'limit', 'after'] }),
  group: at('GET /api/v1/consumer-groups/{group}', { query: PAGE }),
  laggingGroups: at('GET /api/v1/consumer-groups/lagging', {
    query: ['minLagSeconds', 'limit', 'after'],
  }),
  positions: at('POST /api/v1/consumer-groups/positions', BODY),
  deleteGroup: at('DELETE /api/v1/consumer-groups/{group}', { query: METADATA }),
  deleteGroupOfQueue: at('DELETE /api/v1/consumer-groups/{group}/queues/{queue}', {
    query: METADATA,
  }),
  subscribeGroup: at('POST /api/v1/consumer-groups/{group}/subscription', BODY),
  seekQueue: at('POST /api/v1/consumer-groups/{group}/queues/{queue}/seek', BODY),
  seekPartition: at(
    'POST /api/v1/consumer-groups/{group}/queues/{queue}/partitions/{partition}/seek',
    { body: 'optional' },
  ),
  messages: at('GET /api/v1/messages', {
    query: ['queue', 'partition', 'namespace', 'task', 'status', 'from', 'to', 'limit', 'offset'],
  }),
  message: at('GET /api/v1/messages/{partitionId}/{transactionId}'),
  deleteMessage: at('DELETE /api/v1/messages/{partitionId}/{transactionId}'),
  retryMessage: at('POST /api/v1/messages/{partitionId}/{transactionId}/retry', {
    body: 'optional',
    repeat: 'never',
  }),
  deadLetters: at('GET /api/v1/dlq', { query: ['queue', 'consumerGroup', 'limit', 'offset'] }),
  purgeDeadLetters: at('DELETE /api/v1/dlq', { query: ['queue', 'consumerGroup'] }),
  replayDeadLetter: at('POST /api/v1/dlq/{id}/replay', { body: 'optional', repeat: 'never' }),
  redriveDeadLetters: at('POST /api/v1/dlq/redrive', BODY),
  deadLetterSignatures: at('GET /api/v1/analytics/dlq-signatures', { query: ['queue', 'limit'] }),
  traces: at('GET /api/v1/traces/{partitionId}/{transactionId}', { query: OFFSET }),
  tracesByName: at('GET /api/v1/traces/by-name/{traceName}', { query: OFFSET }),
  traceNames: at('GET /api/v1/traces/names', { query: OFFSET }),
  writeTrace: at('POST /api/v1/traces', { body: 'required', repeat: 'unapplied' }),
  fetch: at('POST /api/v1/fetch', BODY),
  fetchOffsets: at('POST /api/v1/fetch/offsets', BODY),
  changedPartitions: at('POST /api/v1/partitions/changed', BODY),
  kvNamespaces: at('GET /api/v1/resources/kv/namespaces'),
  kvRows: at('POST /api/v1/resources/kv/list', BODY),
  timerQueues: at('GET /api/v1/resources/timers', { query: PAGE }),
  ephemeralQueues: at('GET /api/v1/ephemeral/queues', { query: ['after', 'limit'] }),
  ephemeralDepth: at('GET /api/v1/ephemeral/queues/{queue}/depth', { query: ['group'] }),
  status: at('GET /api/v1/status', {
    query: ['from', 'to', 'queue', 'namespace', 'task', 'limit', 'after'],
  }),
  workload: at('GET /api/v1/analytics/workload', {
    query: ['from', 'to', 'groupBy', 'namespace', 'task', 'queue'],
  }),
  queueLag: at('GET /api/v1/analytics/queue-lag', { query: SERIES }),
  queueOps: at('GET /api/v1/analytics/queue-ops', { query: SERIES }),
  parkedPops: at('GET /api/v1/analytics/queue-parked-replicas', { query: SERIES }),
  retention: at('GET /api/v1/analytics/retention', { query: ['from', 'to', 'queue', 'groupBy'] }),
  systemMetrics: at('GET /api/v1/analytics/system-metrics', {
    query: ['from', 'to', 'hostname', 'workerId'],
  }),
  workerMetrics: at('GET /api/v1/analytics/worker-metrics', {
    query: ['from', 'to', 'hostname', 'workerId', 'queue'],
  }),
  health: at('GET /health', { repeat: 'never' }),
  identity: at('GET /auth/me'),
  process: at('GET /status'),
  metrics: at('GET /metrics'),
  prometheus: at('GET /metrics/prometheus', { isText: true }),
  raftStatus: at('GET /api/v1/raft/status'),
  raftMembers: at('GET /api/v1/raft/members'),
  raftLiveness: at('GET /api/v1/raft/liveness'),
  membership: at('GET /api/v1/system/raft/membership'),
  addLearner: at('POST /api/v1/system/raft/membership/learners', {
    ...MEMBERSHIP,
    body: 'required',
  }),
  promoteLearners: at('POST /api/v1/system/raft/membership/promote', {
    ...MEMBERSHIP,
    body: 'required',
  }),
  setVoters: at('PUT /api/v1/system/raft/membership/voters', {
    ...MEMBERSHIP,
    body: 'required',
  }),
  removeMember: at('DELETE /api/v1/system/raft/membership/members/{id}', {
    ...MEMBERSHIP,
  }),
  transferLeadership: at('POST /api/v1/system/raft/transfer', {
    ...MEMBERSHIP,
    body: 'required',
  }),
  link: at('GET /api/v1/system/link'),
  promoteLink: at('POST /api/v1/system/link/promote'),
  sharedState: at('GET /api/v1/system/shared-state'),
  refreshStats: at('POST /api/v1/stats/refresh'),
  switches: at('GET /api/v1/system/kv-timers'),
  setSwitches: at('POST /api/v1/system/kv-timers', BODY),
  ephemeralSwitch: at('GET /api/v1/system/ephemeral'),
  setEphemeralSwitch: at('POST /api/v1/system/ephemeral', BODY),
  grantQuota: at('POST /api/v1/resources/quota', BODY),
  purgeTenant: at('DELETE /api/v1/resources/tenant', { query: ['tenant'] }),
};
