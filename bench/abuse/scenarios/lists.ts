// Lists and figures over very many names, and pages that look far back.

import { flood } from '../flood.js';
import {
  fillBacklog,
  fillCalls,
  fillItems,
  get,
  item,
  partitionItems,
  payloadOf,
  post,
  queueItems,
} from '../requests.js';
import type { AttackContext, Scenario } from '../scenario.js';

const KIND = 'lists';
/** So long that the bound of dead letters of one call, 16 MiB, is met before their number is. */
const DOOMED_BYTES = 1300;
const DOOMED = 16_394;

/** Ten rows have less than a kilobyte each. */
const PAGE_BYTES_MAX = 16_384;

const LISTS = [
  '/api/v1/resources/queues?limit=10',
  '/api/v1/resources/queues',
  '/api/v1/resources/overview',
  '/api/v1/consumer-groups',
  '/api/v1/consumer-groups/lagging',
  '/api/v1/resources/namespaces',
  '/api/v1/resources/tasks',
  '/api/v1/status',
  '/api/v1/status/queues?limit=100',
  '/api/v1/status/analytics',
  '/api/v1/resources/partitions?limit=10',
  '/api/v1/analytics/partition-liveness?limit=10',
] as const;

/** Each client asks for one list after the other, beginning with another one. */
function readLists(context: AttackContext, paths: readonly string[], clients: number) {
  const requests = paths.map(get);
  return flood(context, {
    clients,
    request: (client, round) => requests[(client + round) % requests.length] ?? null,
  });
}

/** Messages that became dead letters, by an acknowledgement that says so. */
async function fillDeadLetters(context: AttackContext, count: number): Promise<void> {
  const perPop = 1000;
  const payload = '"dead"';
  await fillItems(
    context,
    Array.from({ length: count }, () => item('dead', 'p', payload)),
  );
  for (let done = 0; done < count; done += perPop) {
    const answer = await context.ask(
      'GET',
      `/api/v1/pop/queue/dead?consumerGroup=undertaker&batch=${perPop}`,
    );
    if (answer.status !== 200) return;
    await context.ask('POST', '/api/v1/ack/batch', deadAcks(answer.body));
  }
}

function trace(client: number, round: number): string {
  return (
    `{"transactionId":"t${client}-${round}","partitionId":"1","traceNames":["name${client}"],` +
    `"data":{"text":${payloadOf(20_000)}}}`
  );
}

interface Popped {
  readonly messages: readonly {
    readonly transactionId: string;
    readonly partitionId: string;
    readonly leaseId: string;
  }[];
}

function deadAcks(popAnswer: Buffer): string {
  const { messages } = JSON.parse(popAnswer.toString('utf8')) as Popped;
  const acknowledgments = messages.map(({ transactionId, partitionId, leaseId }) => ({
    transactionId,
    partitionId,
    leaseId,
    status: 'dlq',
    error: 'poison',
  }));
  return JSON.stringify({ consumerGroup: 'undertaker', acknowledgments });
}

interface AckResult {
  readonly success: boolean;
  readonly dlq?: boolean;
  readonly error?: string | null;
}

/** One acknowledgement of very many messages as dead: each answer must say what became of it. */
async function manyDeadAcks(context: AttackContext): Promise<void> {
  const popped = await context.ask(
    'GET',
    `/api/v1/pop/queue/doomed?consumerGroup=undertaker&batch=${DOOMED}`,
  );
  const answer = await context.ask('POST', '/api/v1/ack/batch', deadAcks(popped.body));
  const parsed = JSON.parse(answer.body.toString('utf8')) as
    | readonly AckResult[]
    | { readonly results: readonly AckResult[] };
  const results = 'results' in parsed ? parsed.results : parsed;
  const silent = results.filter((one) => one.success && one.dlq !== true);
  context.count('dead letters', results.length - silent.length);
  context.check(
    'dead letters say so',
    silent.length === 0,
    `${silent.length} of ${results.length}`,
  );
}

export const LISTS_SCENARIOS: readonly Scenario[] = [
  {
    name: 'lists-100000',
    does: 'reads every list of a node with 100,000 queues from four clients',
    kind: KIND,
    against: ['node'],
    fill: (context) => fillItems(context, queueItems('named', 100_000)),
    attack: async (context) => {
      const page = await context.once(get(LISTS[0]));
      const held = page.status === 200 && page.bodyBytes <= PAGE_BYTES_MAX;
      context.check('a page of ten', held, `${page.status}, ${page.bodyBytes} bytes`);
      await readLists(context, LISTS, 4);
    },
  },
  {
    name: 'lists-crowd',
    does: 'reads whole lists of 20,000 queues from 30 clients',
    kind: KIND,
    against: ['node', 'cluster'],
    fill: (context) => fillItems(context, queueItems('named', 20_000)),
    attack: (context) => readLists(context, LISTS.slice(1, 2), 30),
  },
  {
    name: 'metrics-scrapes',
    does: 'scrapes /metrics/prometheus of a node with 10,000 queues from 16 clients',
    kind: KIND,
    against: ['node'],
    fill: (context) => fillItems(context, queueItems('named', 10_000)),
    attack: (context) => readLists(context, ['/metrics/prometheus'], 16),
  },
  {
    name: 'analytics',
    does: 'reads analytics of a node with 10,000 queues from 16 clients',
    kind: KIND,
    against: ['node'],
    fill: (context) => fillItems(context, queueItems('named', 10_000)),
    attack: (context) =>
      readLists(
        context,
        [
          'queue-ops',
          'queue-lag',
          'queue-parked-replicas',
          'workload',
          'retention',
          'system-metrics',
        ]
          .map((name) => `/api/v1/analytics/${name}`)
          .concat('/status', '/metrics', '/api/v1/raft/status', '/api/v1/raft/members'),
        16,
      ),
  },
  {
    name: 'openapi',
    does: 'reads /openapi.json from 64 clients',
    kind: KIND,
    against: ['node'],
    attack: (context) => readLists(context, ['/openapi.json'], 64),
  },
  {
    name: 'message-pages',
    does: 'lists messages far into 200,000 from 16 clients',
    kind: KIND,
    against: ['node'],
    fill: (context) =>
      fillBacklog(context, 'paged', { partitions: 16, messages: 200_000, messageBytes: 100 }),
    attack: (context) =>
      readLists(
        context,
        [
          '/api/v1/messages?queue=paged&limit=1000&offset=190000',
          '/api/v1/messages?limit=1000&status=completed',
          '/api/v1/messages?queue=paged&limit=1000&from=2020-01-01T00:00:00Z',
        ],
        16,
      ),
  },
  {
    name: 'queue-details',
    does: 'reads depth, sizes and details of a queue with 100,000 partitions from 16 clients',
    kind: KIND,
    against: ['node'],
    fill: (context) => fillItems(context, partitionItems('wide', 'p', 100_000)),
    attack: (context) =>
      readLists(
        context,
        ['', '/depth?group=g', '/sizes']
          .map((end) => `/api/v1/resources/queues/wide${end}`)
          .concat('/api/v1/status/queues/wide', '/api/v1/analytics/partition-liveness?queue=wide'),
        16,
      ),
  },
  {
    name: 'dead-letter-lists',
    does: 'lists 20,000 dead letters and their signatures from 16 clients',
    kind: KIND,
    against: ['node'],
    fill: (context) => fillDeadLetters(context, 20_000),
    attack: (context) =>
      readLists(
        context,
        [
          '/api/v1/dlq?limit=10000',
          '/api/v1/dlq?queue=dead&limit=1000&offset=19000',
          '/api/v1/analytics/dlq-signatures?queue=dead',
        ],
        16,
      ),
  },
  {
    name: 'dead-letter-acks',
    does: 'acknowledges 16,394 messages as dead letters in one call',
    kind: KIND,
    against: ['node'],
    fill: (context) => {
      const one = item('doomed', 'p', payloadOf(DOOMED_BYTES));
      return fillItems(
        context,
        Array.from({ length: DOOMED }, () => one),
      );
    },
    attack: manyDeadAcks,
  },
  {
    name: 'traces',
    does: 'writes and lists traces from 32 clients',
    kind: KIND,
    against: ['node'],
    attack: (context) =>
      flood(context, {
        clients: 32,
        request: (client, round) =>
          round % 4 === 3
            ? get(`/api/v1/traces/by-name/name${client}?limit=1000`)
            : post('/api/v1/traces', trace(client, round)),
      }),
  },
  {
    name: 'offsets-and-changes',
    does: 'asks what changed in a queue with 100,000 partitions from 16 clients',
    kind: KIND,
    against: ['node'],
    fill: (context) => fillItems(context, partitionItems('wide', 'p', 100_000)),
    attack: (context) => {
      const changed = post(
        '/api/v1/partitions/changed',
        '{"entries":[{"queue":"wide","since":"2020-01-01T00:00:00Z","limit":10000}]}',
      );
      return flood(context, { clients: 16, request: () => changed });
    },
  },
  {
    name: 'group-reads',
    does: 'reads consumer groups of 1,000 groups over 100 partitions from 16 clients',
    kind: KIND,
    against: ['node'],
    fill: async (context) => {
      await fillItems(context, partitionItems('grouped', 'p', 100));
      await fillCalls(context, 1000, (index) => [
        'GET',
        `/api/v1/pop/queue/grouped?consumerGroup=g${index}&batch=100&partitions=100&autoAck=true`,
      ]);
    },
    attack: (context) =>
      readLists(
        context,
        [
          '/api/v1/consumer-groups',
          '/api/v1/consumer-groups/lagging',
          '/api/v1/consumer-groups/g1',
        ],
        16,
      ),
  },
];
