/**
 * A node with much to show on every page of the dashboard, for `npm run page-cost`: a thousand
 * queues with partitions, groups that are behind in each of them, one queue with many partitions,
 * and long lists of everything else.
 */
import type { Caller } from '../process/http-client.js';
import { reportOfProcess } from './dashboard-stage.js';

export const QUEUES = 1000;
const PARTITIONS = 4;
const PARTITIONS_OF_WIDE = 2000;
const GROUPS = ['billing', 'search'];
const TIMERS_OF_ONE = 1000;
const KEYS = 1000;
const LOCKS = 500;
const EPHEMERAL = 500;
const QUERIES = 100;
const PROCESSES = 50;
const DEAD_LETTERS = 400;
const TRACES = 500;
const PARALLEL = 16;

const HOUR_MS = 3_600_000;
const queueAt = (i: number) => `shop${i % 20}.queue-${i}`;

/** The pages that ask again and again, each where it shows most. */
export const WATCHED: readonly string[] = [
  '/',
  '/queues',
  `/queues/${queueAt(7)}`,
  '/queues/wide',
  '/consumers',
  '/consumers?view=lagging&age=0',
  '/consumers?group=billing',
  '/messages',
  `/messages?queue=${queueAt(7)}`,
  '/dlq',
  '/dlq?queue=failing',
  '/timers',
  `/timers?queue=${queueAt(7)}`,
  '/kv',
  '/kv?namespace=settings',
  '/locks',
  '/ephemeral',
  '/streams',
  '/supervisors',
  '/workload',
  '/workload?by=queue',
  '/traces',
  '/traces?name=checkout',
  '/system',
];

/** Fails at the first call that is refused. */
class Stage {
  readonly #client: Caller;

  constructor(client: Caller) {
    this.#client = client;
  }

  async post(path: string, body: unknown): Promise<string> {
    const { status, text } = await this.#client.post(path, body);
    if (status >= 300) throw new Error(`${path} answered ${status}: ${text}`);
    return text;
  }

  async pop(queue: string, query: string): Promise<Popped> {
    const { status, text } = await this.#client.get(`/api/v1/pop/queue/${queue}?${query}`);
    if (status !== 200) throw new Error(`a pop of ${queue} answered ${status}: ${text}`);
    return JSON.parse(text);
  }
}

interface Popped {
  readonly leaseId?: string;
  readonly messages: readonly {
    readonly transactionId: string;
    readonly partitionId: string;
    readonly leaseId?: string;
  }[];
}

export async function fillForCost(client: Caller): Promise<void> {
  const stage = new Stage(client);
  await inParallel(range(QUEUES / 10), async (tens) => {
    const items = range(10).flatMap((i) => messagesOf(queueAt(tens * 10 + i), PARTITIONS, 5));
    await stage.post('/api/v1/push', { items });
  });
  await stage.post('/api/v1/push', { items: messagesOf('wide', PARTITIONS_OF_WIDE, 1) });
  await inParallel(range(QUEUES), async (i) => {
    for (const group of GROUPS) {
      const query = `consumerGroup=${group}&autoAck=true&batch=12&partitions=${PARTITIONS}`;
      await stage.pop(queueAt(i), query);
    }
  });
  await stage.pop('wide', `consumerGroup=billing&autoAck=true&batch=100&partitions=100`);
  await schedule(stage);
  await putKeys(stage);
  await inParallel(range(EPHEMERAL), async (i) => {
    const messages = [{ payload: { user: i } }];
    await stage.post('/api/v1/ephemeral/push', { queue: `presence-${i}`, messages });
  });
  for (const i of range(QUERIES)) {
    const query = { name: `totals-${i}`, source_queue: queueAt(i), config_hash: 'a1' };
    await stage.post('/streams/v1/queries', query);
    await stage.pop(queueAt(i), `consumerGroup=streams.totals-${i}&autoAck=true&batch=4`);
  }
  await fail(stage);
}

function messagesOf(queue: string, partitions: number, each: number): object[] {
  return range(partitions * each).map((i) => ({
    queue,
    partition: `p${i % partitions}`,
    payload: { order: i, customer: { name: 'Ada', tags: ['new', 'eu'] } },
  }));
}

async function schedule(stage: Stage): Promise<void> {
  const timer = (queue: string, i: number) => ({
    op: 'schedule',
    queue,
    timerKey: `remind-${i}`,
    delayMs: HOUR_MS + i * 1000,
    txn: `${queue}-${i}`,
    payload: Buffer.from(`{"user":${i}}`).toString('base64'),
  });
  const timers = [
    ...range(QUEUES).map((i) => timer(queueAt(i), 0)),
    ...range(TIMERS_OF_ONE).map((i) => timer(queueAt(7), i + 1)),
  ];
  await inChunks(timers, 100, (some) => stage.post('/api/v1/timers', some));
}

async function putKeys(stage: Stage): Promise<void> {
  const put = (ns: string, key: string, value: unknown) => {
    return { op: 'put', ns, key, value, ttlSeconds: 3600 };
  };
  const rows = [
    ...range(KEYS).map((i) => put('settings', `user/${i}`, { dark: true, size: i })),
    ...range(200).map((i) => put(`namespace-${i}`, 'a', 1)),
    ...range(PROCESSES).flatMap((i) => reportOfProcess(i, `host-${i}`, queueAt(i))),
  ];
  await inChunks(rows, 100, (some) => stage.post('/api/v1/kv', some));
  const locks = range(LOCKS).map((i) => {
    return { op: 'acquire', name: `job-${i}`, owner: `worker-${i}`, ttlSeconds: 3600 };
  });
  await inChunks(locks, 50, (some) => stage.post('/api/v1/locks', some));
}

/** Dead letters, and what was noted about the messages. */
async function fail(stage: Stage): Promise<void> {
  await stage.post('/api/v1/push', { items: messagesOf('failing', 4, DEAD_LETTERS / 4) });
  const query = `consumerGroup=billing&batch=${DEAD_LETTERS}&partitions=4`;
  const { messages, leaseId } = await stage.pop('failing', query);
  const acknowledgments = messages.map((message) => ({
    transactionId: message.transactionId,
    partitionId: message.partitionId,
    leaseId: leaseId ?? message.leaseId,
    status: 'dlq',
    error: `the card of order ${message.transactionId} was declined`,
  }));
  await stage.post('/api/v1/ack/batch', { consumerGroup: 'billing', acknowledgments });
  await inParallel(range(TRACES), async (i) => {
    const message = messages[i % messages.length];
    await stage.post('/api/v1/traces', {
      transactionId: message?.transactionId,
      partitionId: message?.partitionId,
      traceNames: ['checkout', `order-${i}`],
      eventType: 'declined',
      data: { code: i },
    });
  });
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}

async function inChunks<Item>(
  items: readonly Item[],
  size: number,
  send: (some: readonly Item[]) => Promise<unknown>,
): Promise<void> {
  for (let from = 0; from < items.length; from += size) await send(items.slice(from, from + size));
}

async function inParallel(
  numbers: readonly number[],
  work: (i: number) => Promise<void>,
): Promise<void> {
  const left = [...numbers];
  const worker = async () => {
    for (let i = left.pop(); i !== undefined; i = left.pop()) await work(i);
  };
  await Promise.all(range(PARALLEL).map(worker));
}
