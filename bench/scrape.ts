// `npm run bench -- --scrape`: how long GET /metrics/prometheus takes on a node with ten thousand
// queues, all of which were delivered from in the last bucket of time and have a dead letter: three
// samples for each. And whether anybody waits for it: another connection asks for /health all the
// time, once while nothing is scraped and once while the scrapes follow each other.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeEntry } from './checkout.js';
import { HttpExchange } from './http-exchange.js';
import { freePort, NodeProcess } from './node-process.js';
import { Scratch } from './scratch.js';

const QUEUES = 10_000;
const QUEUES_PER_PUSH = 500;
const WORKERS = 16;
const SCRAPES = 50;
const MS_PER_TICK = 10;
/** The bucket of time in which all queues are delivered from. */
const BUCKET_MS = 30_000;

export async function runScrapeBench(entry: string | undefined): Promise<void> {
  const scratch = new Scratch();
  scratch.endOnSignals();
  try {
    const directory = scratch.directory('scrape');
    const node = new NodeProcess(
      {
        entry: nodeEntry(entry),
        port: await freePort(),
        dataDirectory: join(directory, 'node'),
        logFile: join(directory, 'node.log'),
        runtimeArguments: [],
        environment: { METRICS_FLUSH_MS: String(BUCKET_MS) },
      },
      scratch,
    );
    await node.start();
    await measure(node);
    await node.stop();
  } finally {
    scratch.close();
  }
}

async function measure(node: NodeProcess): Promise<void> {
  await inParallel(node, Math.ceil(QUEUES / QUEUES_PER_PUSH), async (http, i) => {
    const first = i * QUEUES_PER_PUSH;
    const items = Array.from({ length: QUEUES_PER_PUSH }, (_, j) => ({
      queue: nameOf(first + j),
      payload: 1,
    }));
    await expectStatus(http, 201, 'POST', '/api/v1/push', { items });
  });
  // All within one bucket, which is closed a moment later.
  await untilBorder();
  const { seconds } = await timed(() => inParallel(node, QUEUES, killOne));
  await untilBorder();
  await sleep(2000);
  const first = await scrape(node, 1);
  const beforeMs = cpuMs(node.pid);
  const alone = await scrape(node, SCRAPES);
  const usedMs = (cpuMs(node.pid) - beforeMs) / SCRAPES;
  const idle = await healthTimes(node, () => sleep(1000));
  const busy = await healthTimes(node, async () => void (await scrape(node, SCRAPES)));
  const { bytes, samples } = alone;
  console.log(
    `${QUEUES} queues, ${samples} samples by queue, ${bytes} bytes ` +
      `(prepared in ${seconds.toFixed(1)} s)`,
  );
  console.log(`first scrape  ${distribution(first.times)}`);
  console.log(
    `${SCRAPES} scrapes    ${distribution(alone.times)}; CPU of each ${usedMs.toFixed(1)} ms`,
  );
  console.log(`/health alone ${distribution(idle)}`);
  console.log(`/health then  ${distribution(busy)}`);
}

interface Scrapes {
  readonly times: readonly number[];
  readonly bytes: number;
  /** Of families by queue. */
  readonly samples: number;
}

/** One after the other. */
async function scrape(node: NodeProcess, count: number): Promise<Scrapes> {
  const http = new HttpExchange(node.address);
  const times: number[] = [];
  let body = Buffer.alloc(0);
  for (let i = 0; i < count; i++) {
    const one = await timed(() => http.request('GET', '/metrics/prometheus'));
    times.push(one.seconds * 1000);
    body = one.result.body as Buffer<ArrayBuffer>;
  }
  http.close();
  const samples = body.toString('utf8').match(/^svc_(queue|dlq)_/gm)?.length ?? 0;
  return { times, bytes: body.length, samples };
}

/** What the process has used since its start, which other load on the machine does not change. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
}

/** One message is delivered and becomes a dead letter. */
async function killOne(http: HttpExchange, i: number): Promise<void> {
  const { body } = await http.request('GET', `/api/v1/pop/queue/${nameOf(i)}`);
  const { partitionId, leaseId, messages } = JSON.parse(body.toString('utf8')) as {
    readonly partitionId: string;
    readonly leaseId: string;
    readonly messages: readonly { readonly transactionId: string }[];
  };
  const transactionId = messages[0]?.transactionId ?? '';
  const ack = { transactionId, partitionId, leaseId, status: 'dlq', error: 'planted' };
  await expectStatus(http, 200, 'POST', '/api/v1/ack', ack);
}

async function expectStatus(
  http: HttpExchange,
  expected: number,
  method: string,
  path: string,
  body: unknown,
): Promise<void> {
  const { status, body: text } = await http.request(method, path, JSON.stringify(body));
  if (status !== expected) throw new Error(`${path}: ${status} ${text.toString('utf8', 0, 300)}`);
}

async function inParallel(
  node: NodeProcess,
  count: number,
  work: (http: HttpExchange, i: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    const http = new HttpExchange(node.address);
    for (let i = next++; i < count; i = next++) await work(http, i);
    http.close();
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
}

/** Milliseconds of each question, one after the other, while `during` goes on. */
async function healthTimes(node: NodeProcess, during: () => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  let ended = false;
  const asking = (async () => {
    const http = new HttpExchange(node.address);
    while (!ended) times.push((await timed(() => http.request('GET', '/health'))).seconds * 1000);
    http.close();
  })();
  await during();
  ended = true;
  await asking;
  return times;
}

async function timed<Result>(
  work: () => Promise<Result>,
): Promise<{ readonly seconds: number; readonly result: Result }> {
  const startMs = performance.now();
  const result = await work();
  return { seconds: (performance.now() - startMs) / 1000, result };
}

function untilBorder(): Promise<void> {
  return sleep(BUCKET_MS - (Date.now() % BUCKET_MS) + 1100);
}

function distribution(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => (sorted[Math.ceil(share * sorted.length) - 1] ?? 0).toFixed(1);
  return `p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms`;
}

function nameOf(i: number): string {
  return `queue-${String(i).padStart(5, '0')}`;
}
