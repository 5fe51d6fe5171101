/**
 * A tenant that has something on every surface, all of it named so that it is found in any answer,
 * and the requests by which somebody could ask for it: one or more for each route of the API.
 */
import type { PopAnswer } from '@svc/wire';
import { BrokerApi, bodyOf } from '../contract/broker-api.js';
import type { Answer, Caller } from '../process/http-client.js';

/** The names that requests use: those of a tenant, or as many that nobody has. */
export interface Named {
  readonly queue: string;
  readonly ephemeral: string;
  readonly partition: string;
  readonly group: string;
  readonly transactionId: string;
  readonly deadTransactionId: string;
  readonly kvNamespace: string;
  readonly kvKey: string;
  readonly timer: string;
  readonly trace: string;
  readonly query: string;
  readonly lock: string;
  readonly partitionId: string;
  readonly leaseId: string;
  readonly messageId: string;
  readonly deadLetterId: string;
  readonly ephemeralId: string;
  readonly traceId: string;
  readonly queryId: string;
  readonly brokerTenant: string;
}

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

const names = (word: string) => ({
  queue: `${word}.queue`,
  ephemeral: `${word}.ephemeral`,
  partition: `${word}-partition`,
  group: `${word}-group`,
  transactionId: `${word}-transaction`,
  deadTransactionId: `${word}-dead`,
  kvNamespace: `${word}-namespace`,
  kvKey: `${word}-key`,
  timer: `${word}-timer`,
  trace: `${word}-trace`,
  query: `${word}-query`,
  lock: `${word}-lock`,
});

/** In payloads, values and errors: no request names it, so it stands in nobody else's answer. */
export const CONTENT = 'telltale content';

/** Fills every surface by `client`'s credential. */
export async function mark(client: Caller, brokerTenant: string): Promise<Named> {
  const own = names('telltale');
  const api = new BrokerApi(client);
  const { queue, partition, group, transactionId, deadTransactionId } = own;
  const post = async (path: string, body: object, status = 200) =>
    bodyOf(await client.post(path, body), status) as Record<string, unknown>;
  const payload = { content: CONTENT };
  await api.configure(queue, { leaseTime: 600 });
  const pushed = await api.push(
    [deadTransactionId, transactionId].map((id) => {
      return { queue, partition, transactionId: id, payload };
    }),
  );
  const pop = () => api.popPartition(queue, partition, { consumerGroup: group, batch: 1 });
  const { partitionId, leaseId } = (await pop()) as PopAnswer;
  const dead = { transactionId: deadTransactionId, partitionId, leaseId };
  await api.ack(group, [{ ...dead, status: 'dlq', error: CONTENT }]);
  const lease = (await pop()) as PopAnswer;
  const letters = bodyOf(await client.get('/api/v1/dlq'), 200) as { messages: { id: string }[] };
  const { kvNamespace: ns, kvKey: key } = own;
  await post('/api/v1/kv', [{ op: 'put', ns, key, value: CONTENT, forever: true }]);
  const base64 = Buffer.from(JSON.stringify(payload)).toString('base64');
  const timer = { queue, timerKey: own.timer, txn: own.timer, delayMs: 3_600_000, payload: base64 };
  await post('/api/v1/timers', [{ op: 'schedule', ...timer }]);
  const traced = await post(
    '/api/v1/traces',
    { transactionId, partitionId, names: [own.trace], data: payload, worker: own.trace },
    201,
  );
  const query = { name: own.query, source_queue: queue, config_hash: 'h' };
  const registered = await post('/streams/v1/queries', query);
  const queryId = String(registered.query_id);
  await post('/streams/v1/cycle', {
    query_id: queryId,
    partition_id: partitionId,
    consumer_group: `streams.${queryId}`,
    state_ops: [{ type: 'upsert', key: own.kvKey, value: payload }],
  });
  const lock = { op: 'acquire', name: own.lock, owner: CONTENT, ttlSeconds: 3600 };
  await post('/api/v1/locks', [lock]);
  const messages = [{ payload }, { payload }];
  await post('/api/v1/ephemeral/push', { queue: own.ephemeral, messages }, 201);
  const leased = `/api/v1/ephemeral/pop?queue=${own.ephemeral}&batch=1&leaseSeconds=600`;
  const popped = bodyOf(await client.get(leased), 200) as { messages: { id: string }[] };
  return {
    ...own,
    partitionId,
    leaseId: lease.leaseId,
    messageId: pushed[1]?.message_id ?? '',
    deadLetterId: letters.messages[0]?.id ?? '',
    ephemeralId: popped.messages[0]?.id ?? '',
    traceId: String(traced.traceId),
    queryId,
    brokerTenant,
  };
}

/** Nobody's, of the same shapes. */
export function unnamed(like: Named): Named {
  const uuid = (digit: string) => `0199d0c4-7b1e-7c7e-9a10-${digit.repeat(12)}`;
  return {
    ...names('nonesuch'),
    partitionId: '987654321',
    leaseId: uuid('1'),
    messageId: uuid('2'),
    deadLetterId: uuid('3'),
    ephemeralId: like.ephemeralId.replace(/\d/g, '9'),
    traceId: uuid('4'),
    queryId: uuid('5'),
    brokerTenant: `0199d0c4-7b1e-4c7e-9a10-${'6'.repeat(12)}`,
  };
}

const EPHEMERAL = '/api/v1/ephemeral';

type Asking = (named: Named) => readonly Omit<Sent, 'method'>[];

/** By method and path of the record: what a stranger sends who knows all names and ids. */
export const ASKED: Readonly<Record<string, Asking>> = {
  ...reads(),
  ...takes(),
  ...writes(),
  ...removals(),
};

function reads(): Readonly<Record<string, Asking>> {
  return {
    'GET /health': () => [{ path: '/health' }],
    'GET /openapi.json': () => [{ path: '/openapi.json' }],
    'GET /api/v1/messages': ({ queue, partition }) => [
      { path: '/api/v1/messages' },
      { path: `/api/v1/messages?queue=${queue}` },
      { path: `/api/v1/messages?queue=${queue}&partition=${partition}` },
    ],
    'GET /api/v1/messages/{partitionId}/{transactionId}': (one) => [
      { path: `/api/v1/messages/${one.partitionId}/${one.transactionId}` },
    ],
    ...lists([
      'resources/namespaces',
      'resources/overview',
      'resources/partitions',
      'resources/queues',
      'resources/tasks',
      'resources/kv/namespaces',
      'resources/timers',
      'status/analytics',
      'status/queues',
      'consumer-groups',
      'consumer-groups/lagging',
      'dlq',
      'traces/names',
      'ephemeral/queues',
      'analytics/dlq-signatures',
      'analytics/partition-liveness',
      'analytics/queue-lag',
      'analytics/queue-ops',
      'analytics/queue-parked-replicas',
      'analytics/retention',
      'analytics/workload',
    ]),
    ...ofQueue(['resources/queues/{queue}', 'status/queues/{queue}', 'timers/{queue}']),
    ...ofQueue(['resources/queues/{queue}/depth', 'resources/queues/{queue}/sizes']),
    'GET /api/v1/consumer-groups/{group}': ({ group }) => [
      { path: `/api/v1/consumer-groups/${group}` },
    ],
    'GET /api/v1/traces/by-name/{traceName}': ({ trace }) => [
      { path: `/api/v1/traces/by-name/${trace}` },
    ],
    'GET /api/v1/traces/{partitionId}/{transactionId}': (one) => [
      { path: `/api/v1/traces/${one.partitionId}/${one.transactionId}` },
    ],
    'GET /api/v1/ephemeral/queues/{queue}/depth': ({ ephemeral }) => [
      { path: `${EPHEMERAL}/queues/${ephemeral}/depth` },
    ],
    'GET /api/v1/kv/{ns}/{key...}': (one) => [
      { path: `/api/v1/kv/${one.kvNamespace}/${one.kvKey}` },
    ],
    'POST /api/v1/resources/kv/list': (one) => [
      { path: '/api/v1/resources/kv/list', body: { ns: one.kvNamespace, prefix: 'tell' } },
    ],
    'GET /api/v1/timers/{queue}/{timerKey...}': (one) => [
      { path: `/api/v1/timers/${one.queue}/${one.timer}` },
    ],
    'POST /streams/v1/state/get': (one) => [
      {
        path: '/streams/v1/state/get',
        body: { query_id: one.queryId, partition_id: one.partitionId },
      },
    ],
  };
}

function lists(paths: readonly string[]): Record<string, Asking> {
  const asking = (path: string): Asking => {
    return ({ queue, group }) => [
      { path },
      { path: `${path}?queue=${queue}&limit=1000` },
      { path: `${path}?queue=${queue}&consumerGroup=${group}&group=${group}` },
    ];
  };
  return Object.fromEntries(
    paths.map((path) => [`GET /api/v1/${path}`, asking(`/api/v1/${path}`)]),
  );
}

function ofQueue(paths: readonly string[]): Record<string, Asking> {
  const asking = (path: string): Asking => {
    return ({ queue, group }) => [
      { path: path.replace('{queue}', queue) },
      { path: `${path.replace('{queue}', queue)}?group=${group}` },
    ];
  };
  return Object.fromEntries(
    paths.map((path) => [`GET /api/v1/${path}`, asking(`/api/v1/${path}`)]),
  );
}

/** Routes that take messages, or ask for them by name or position. */
function takes(): Readonly<Record<string, Asking>> {
  const popped = ({ queue, partition, group }: Named, isPartition: boolean) => {
    const path = `/api/v1/pop/queue/${queue}${isPartition ? `/partition/${partition}` : ''}`;
    return [{ path }, { path: `${path}?consumerGroup=${group}&subscriptionMode=all` }];
  };
  const withBody = (one: Named, isPartition: boolean) =>
    popped(one, isPartition).map((sent) => ({ ...sent, body: { acknowledgments: acks(one) } }));
  const acks = ({ transactionId, partitionId, leaseId }: Named) => [
    { transactionId, partitionId, leaseId, status: 'completed' },
  ];
  return {
    'GET /api/v1/pop/queue/{queue}': (one) => popped(one, false),
    'GET /api/v1/pop/queue/{queue}/partition/{partition}': (one) => popped(one, true),
    'POST /api/v1/pop/queue/{queue}': (one) => withBody(one, false),
    'POST /api/v1/pop/queue/{queue}/partition/{partition}': (one) => withBody(one, true),
    'POST /api/v1/ack': (one) => [
      { path: '/api/v1/ack', body: { consumerGroup: one.group, ...acks(one)[0] } },
    ],
    'POST /api/v1/ack/batch': (one) => [
      {
        path: '/api/v1/ack/batch',
        body: { consumerGroup: one.group, acknowledgments: acks(one) },
      },
    ],
    'POST /api/v1/lease/{leaseId}/extend': ({ leaseId }) => [
      { path: `/api/v1/lease/${leaseId}/extend`, body: { seconds: 60 } },
    ],
    'POST /api/v1/fetch': ({ queue, partition }) => [
      { path: '/api/v1/fetch', body: { entries: [{ queue, partition, offset: 0 }] } },
    ],
    'POST /api/v1/fetch/offsets': ({ queue, partition }) => [
      {
        path: '/api/v1/fetch/offsets',
        body: { entries: [{ queue, partition, timestamp: '2020-01-01T00:00:00Z' }] },
      },
    ],
    'POST /api/v1/partitions/changed': ({ queue }) => [
      { path: '/api/v1/partitions/changed', body: { entries: [{ queue }] } },
    ],
    'POST /api/v1/consumer-groups/positions': ({ queue, partition, group }) => [
      {
        path: '/api/v1/consumer-groups/positions',
        body: { positions: [{ queue, partition, consumerGroup: group }] },
      },
    ],
    'GET /api/v1/ephemeral/pop': ({ ephemeral }) => [
      { path: `${EPHEMERAL}/pop?queue=${ephemeral}` },
    ],
    'POST /api/v1/ephemeral/ack': ({ ephemeral, ephemeralId }) => [
      { path: `${EPHEMERAL}/ack`, body: { queue: ephemeral, acks: [{ id: ephemeralId }] } },
    ],
  };
}

/** Routes that make or change what they name. */
function writes(): Readonly<Record<string, Asking>> {
  const at = (path: string, body: unknown) => [{ path, body }];
  return {
    'POST /api/v1/push': ({ queue, partition, transactionId }) =>
      at('/api/v1/push', { items: [{ queue, partition, transactionId, payload: 1 }] }),
    'POST /api/v1/transaction': ({ queue, partition, transactionId, partitionId }) =>
      at('/api/v1/transaction', {
        operations: [
          { type: 'push', items: [{ queue, partition, transactionId, payload: 1 }] },
          { type: 'ack', transactionId, partitionId, status: 'completed' },
        ],
      }),
    'POST /api/v1/configure': ({ queue }) =>
      at('/api/v1/configure', { queue, options: { leaseTime: 5 } }),
    'POST /api/v1/consumer-groups/{group}/queues/{queue}/seek': ({ group, queue }) =>
      at(`/api/v1/consumer-groups/${group}/queues/${queue}/seek`, { toEnd: true }),
    'POST /api/v1/consumer-groups/{group}/queues/{queue}/partitions/{partition}/seek': (one) =>
      at(
        `/api/v1/consumer-groups/${one.group}/queues/${one.queue}` +
          `/partitions/${one.partition}/seek`,
        { toEnd: true },
      ),
    'POST /api/v1/consumer-groups/{group}/subscription': ({ group }) =>
      at(`/api/v1/consumer-groups/${group}/subscription`, {
        subscriptionTimestamp: '2020-01-01T00:00:00Z',
      }),
    'POST /api/v1/dlq/redrive': ({ queue, group }) =>
      at('/api/v1/dlq/redrive', { queue, consumerGroup: group }),
    'POST /api/v1/dlq/{id}/replay': ({ deadLetterId }) =>
      at(`/api/v1/dlq/${deadLetterId}/replay`, {}),
    'POST /api/v1/messages/{partitionId}/{transactionId}/retry': (one) =>
      at(`/api/v1/messages/${one.partitionId}/${one.deadTransactionId}/retry`, {
        consumerGroup: one.group,
      }),
    'POST /api/v1/traces': ({ transactionId, partitionId, trace, traceId }) =>
      at('/api/v1/traces', { transactionId, partitionId, traceId, names: [trace] }),
    'POST /api/v1/ephemeral/configure': ({ ephemeral }) =>
      at(`${EPHEMERAL}/configure`, { queue: ephemeral, options: { capacity: 1 } }),
    'POST /api/v1/ephemeral/push': ({ ephemeral }) =>
      at(`${EPHEMERAL}/push`, { queue: ephemeral, messages: [{ payload: 1 }] }),
    'POST /api/v1/ephemeral/reset': ({ ephemeral }) =>
      at(`${EPHEMERAL}/reset`, { queue: ephemeral }),
    'POST /api/v1/kv': ({ kvNamespace: ns, kvKey: key }) => [
      { path: '/api/v1/kv', body: [{ op: 'get', ns, key }] },
      { path: '/api/v1/kv', body: [{ op: 'getPrefix', ns, prefix: key.slice(0, 4) }] },
      { path: '/api/v1/kv', body: [{ op: 'put', ns, key, value: 1, forever: true }] },
    ],
    'PUT /api/v1/kv/{ns}/{key...}': ({ kvNamespace, kvKey }) =>
      at(`/api/v1/kv/${kvNamespace}/${kvKey}?forever=true`, { value: 2, forever: true }),
    'POST /api/v1/locks': ({ lock }) => [
      { path: '/api/v1/locks', body: [{ op: 'get', name: lock }] },
      { path: '/api/v1/locks', body: [{ op: 'release', name: lock, token: 1 }] },
    ],
    'POST /api/v1/timers': ({ queue, timer }) => [
      { path: '/api/v1/timers', body: [{ op: 'cancel', queue, timerKey: timer }] },
      { path: '/api/v1/timers', body: [{ op: 'peek', queue, timerKey: timer }] },
    ],
    'POST /streams/v1/queries': ({ query, queue }) =>
      at('/streams/v1/queries', { name: query, source_queue: queue, config_hash: 'other' }),
    'POST /streams/v1/cycle': ({ queryId, partitionId, leaseId, transactionId }) =>
      at('/streams/v1/cycle', {
        query_id: queryId,
        partition_id: partitionId,
        consumer_group: `streams.${queryId}`,
        state_ops: [{ type: 'upsert', key: 'x', value: 1 }],
        ack: { leaseId, transactionId, status: 'completed', count: 1 },
      }),
  };
}

function removals(): Readonly<Record<string, Asking>> {
  const at = (path: string) => [{ path }];
  return {
    'DELETE /api/v1/messages/{partitionId}/{transactionId}': (one) =>
      at(`/api/v1/messages/${one.partitionId}/${one.transactionId}`),
    'DELETE /api/v1/consumer-groups/{group}/queues/{queue}': ({ group, queue }) =>
      at(`/api/v1/consumer-groups/${group}/queues/${queue}?deleteMetadata=true`),
    'DELETE /api/v1/consumer-groups/{group}': ({ group }) =>
      at(`/api/v1/consumer-groups/${group}?deleteMetadata=true`),
    'DELETE /api/v1/dlq': ({ queue }) => at(`/api/v1/dlq?queue=${queue}`),
    'DELETE /api/v1/kv/{ns}/{key...}': (one) => at(`/api/v1/kv/${one.kvNamespace}/${one.kvKey}`),
    'DELETE /api/v1/timers/{queue}/{timerKey...}': (one) =>
      at(`/api/v1/timers/${one.queue}/${one.timer}`),
    'DELETE /api/v1/ephemeral/queue/{queue}': ({ ephemeral }) =>
      at(`${EPHEMERAL}/queue/${ephemeral}`),
    'DELETE /api/v1/resources/queues/{queue}': ({ queue }) =>
      at(`/api/v1/resources/queues/${queue}`),
  };
}

/** An answer's text with what it may have of the request taken out. */
export function unknownTo(sent: Sent, { text }: Answer, named: Named): string {
  let rest = text;
  const request = `${sent.path} ${JSON.stringify(sent.body ?? '')}`;
  for (const one of Object.values(named) as string[]) {
    if (request.includes(one)) rest = rest.replaceAll(one, '');
  }
  return rest;
}

/** Writes alike whatever differs from answer to answer: ids, times, places, tokens. */
export function plain(text: string, { partitionId, ...own }: Named): string {
  let rest = text;
  const values = Object.entries(own).sort(([, a], [, b]) => b.length - a.length);
  for (const [name, value] of values) rest = rest.replaceAll(value, `<${name}>`);
  return (
    rest
      .replaceAll(/telltale|nonesuch/g, '<word>')
      .replaceAll(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, '<token>')
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>')
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)/g, '<time>')
      .replaceAll(/\be:[0-9a-f]+:/g, 'e:<ring>:')
      .replaceAll(/"\d+"/g, '"<digits>"')
      // Versions of keys rise over all of the store; a ring of a queue lies on one of the nodes.
      .replaceAll(/"(version|dropped)":\d+/g, '"$1":0')
      .replaceAll(new RegExp(`(?<=partition )${partitionId}\\b`, 'g'), '<partition>')
  );
}

/** By a name of `ASKED`: it takes nothing and changes nothing. */
export const isRead = (at: string): boolean => at.startsWith('GET ') && !/\/pop(\/|$)/.test(at);

/** The last minutes, which go on by themselves, and what is the node's own. */
const MOVING = /^GET \/(health|api\/v1\/(analytics\/(queue|retention|workload)|status\/analytics))/;

/** All that a tenant can see of itself, but for the age of it. */
export async function viewOf(owner: Caller, named: Named): Promise<Record<string, string>> {
  const seen: Record<string, string> = {};
  for (const at of Object.keys(ASKED)) {
    if (!isRead(at) || MOVING.test(at)) continue;
    const [method = ''] = at.split(' ');
    for (const { path } of (ASKED[at] as Asking)(named)) {
      const { status, text } = await owner.send(method, path, undefined);
      const lasting = text
        .replaceAll(/"(capturedAt|timestamp)":"[^"]*"/g, '')
        .replaceAll(/"(maxTimeLag|timeLagSeconds|lagSeconds|statsAge)":\d+|"time":\{.*?\}/g, '');
      seen[`${method} ${path}`] = `${status} ${lasting}`;
    }
  }
  return seen;
}
