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

export const ROUTES = {
  queues: at('GET /api/v1/resources/queues', { query: ['stats', 'limit', 'after'] }),
  queue: at('GET /api/v1/resources/queues/{queue}', { query: ['limit', 'after'] }),
  queueDepth: at('GET /api/v1/resources/queues/{queue}/depth', {
    query: ['group', 'limit', 'after'],
  }),
  queueSizes: at('GET /api/v1/resources/queues/{queue}/sizes', { query: ['limit', 'after'] }),
  configureQueue: at('POST /api/v1/configure', { body: 'required' }),
  deleteQueue: at('DELETE /api/v1/resources/queues/{queue}'),
  namespaces: at('GET /api/v1/resources/namespaces', { query: ['limit', 'after'] }),
  tasks: at('GET /api/v1/resources/tasks', { query: ['limit', 'after'] }),
  overview: at('GET /api/v1/resources/overview'),
  partitions: at('GET /api/v1/resources/partitions', { query: ['queue', 'limit'] }),
  partitionLiveness: at('GET /api/v1/analytics/partition-liveness', {
    query: ['queue', 'namespace', 'task', 'limit'],
  }),
  queueStatuses: at('GET /api/v1/status/queues', { query: ['limit', 'offset'] }),
  queueStatus: at('GET /api/v1/status/queues/{queue}', { query: ['limit', 'after'] }),
  messageCounts: at('GET /api/v1/status/analytics'),
  groups: at('GET /api/v1/consumer-groups', { query: ['limit', 'after'] }),
  group: at('GET /api/v1/consumer-groups/{group}', { query: ['limit', 'after'] }),
  laggingGroups: at('GET /api/v1/consumer-groups/lagging', {
    query: ['minLagSeconds', 'limit', 'after'],
  }),
  positions: at('POST /api/v1/consumer-groups/positions', { body: 'required' }),
  deleteGroup: at('DELETE /api/v1/consumer-groups/{group}', { query: ['deleteMetadata'] }),
  deleteGroupOfQueue: at('DELETE /api/v1/consumer-groups/{group}/queues/{queue}', {
    query: ['deleteMetadata'],
  }),
  subscribeGroup: at('POST /api/v1/consumer-groups/{group}/subscription', { body: 'required' }),
  seekQueue: at('POST /api/v1/consumer-groups/{group}/queues/{queue}/seek', { body: 'required' }),
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
  redriveDeadLetters: at('POST /api/v1/dlq/redrive', { body: 'required' }),
  deadLetterSignatures: at('GET /api/v1/analytics/dlq-signatures', { query: ['queue', 'limit'] }),
  traces: at('GET /api/v1/traces/{partitionId}/{transactionId}', { query: ['limit', 'offset'] }),
  tracesByName: at('GET /api/v1/traces/by-name/{traceName}', { query: ['limit', 'offset'] }),
  traceNames: at('GET /api/v1/traces/names', { query: ['limit', 'offset'] }),
  writeTrace: at('POST /api/v1/traces', { body: 'required', repeat: 'unapplied' }),
  fetch: at('POST /api/v1/fetch', { body: 'required' }),
  fetchOffsets: at('POST /api/v1/fetch/offsets', { body: 'required' }),
  changedPartitions: at('POST /api/v1/partitions/changed', { body: 'required' }),
  kvNamespaces: at('GET /api/v1/resources/kv/namespaces'),
  kvRows: at('POST /api/v1/resources/kv/list', { body: 'required' }),
  timerQueues: at('GET /api/v1/resources/timers', { query: ['limit', 'after'] }),
  ephemeralQueues: at('GET /api/v1/ephemeral/queues', { query: ['after', 'limit'] }),
  ephemeralDepth: at('GET /api/v1/ephemeral/queues/{queue}/depth', { query: ['group'] }),
  status: at('GET /api/v1/status', {
    query: ['from', 'to', 'queue', 'namespace', 'task', 'limit', 'after'],
  }),
  workload: at('GET /api/v1/analytics/workload', {
    query: ['from', 'to', 'groupBy', 'namespace', 'task', 'queue'],
  }),
  queueLag: at('GET /api/v1/analytics/queue-lag', { query: ['from', 'to', 'queue'] }),
  queueOps: at('GET /api/v1/analytics/queue-ops', { query: ['from', 'to', 'queue'] }),
  parkedPops: at('GET /api/v1/analytics/queue-parked-replicas', { query: ['from', 'to', 'queue'] }),
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
    query: ['timeoutMs', 'force'],
    body: 'required',
    repeat: 'unapplied',
  }),
  promoteLearners: at('POST /api/v1/system/raft/membership/promote', {
    query: ['timeoutMs', 'force'],
    body: 'required',
    repeat: 'unapplied',
  }),
  setVoters: at('PUT /api/v1/system/raft/membership/voters', {
    query: ['timeoutMs', 'force'],
    body: 'required',
    repeat: 'unapplied',
  }),
  removeMember: at('DELETE /api/v1/system/raft/membership/members/{id}', {
    query: ['timeoutMs', 'force'],
    repeat: 'unapplied',
  }),
  transferLeadership: at('POST /api/v1/system/raft/transfer', {
    query: ['timeoutMs', 'force'],
    body: 'required',
    repeat: 'unapplied',
  }),
  link: at('GET /api/v1/system/link'),
  promoteLink: at('POST /api/v1/system/link/promote'),
  sharedState: at('GET /api/v1/system/shared-state'),
  refreshStats: at('POST /api/v1/stats/refresh'),
  switches: at('GET /api/v1/system/kv-timers'),
  setSwitches: at('POST /api/v1/system/kv-timers', { body: 'required' }),
  ephemeralSwitch: at('GET /api/v1/system/ephemeral'),
  setEphemeralSwitch: at('POST /api/v1/system/ephemeral', { body: 'required' }),
  grantQuota: at('POST /api/v1/resources/quota', { body: 'required' }),
  purgeTenant: at('DELETE /api/v1/resources/tenant', { query: ['tenant'] }),
};
