/**
 * Goal: front threads serve the port as the thread of the broker does, and a thread that fails
 * costs its own clients their connections and nobody anything else. Method: bytes of all sizes
 * between two real threads; a real node whose threads fail again and again under a load whose
 * checkers judge what its clients saw; a node that is stopped, and one that ends by itself.
 */
import { get } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { CERTIFICATE, writeCertificate } from '@svc/broker/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkLog } from '../checkers/log-checker.js';
import { checkQueue } from '../checkers/queue-checker.js';
import { SeededRandom } from '../seeded-random.js';
import { HttpClient, NoAnswer } from './http-client.js';
import {
  NodeUnderTest,
  sleep,
  startNode,
  type TemporaryDirectory,
  temporaryDirectory,
} from './node-under-test.js';
import { freePort } from './ports.js';
import { GROUPS, valueOfPayload, Workload } from './workload.js';

const DRAIN_MS_MAX = 60_000;
const FAILURES_MIN = 2;

let directory: TemporaryDirectory;
let node: NodeUnderTest | null;
let client: HttpClient;
let port: number;

beforeEach(async () => {
  directory = temporaryDirectory();
  port = await freePort();
  client = new HttpClient(port);
  node = null;
});

afterEach(async () => {
  client.close();
  if (node?.exit === null) await node.kill();
  directory.remove();
});

async function start(environment: Record<string, string>): Promise<NodeUnderTest> {
  node = await startNode({ directory: directory.path, port, environment });
  return node;
}

async function figure(name: string): Promise<number> {
  const { text } = await client.get('/metrics/prometheus');
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

/** A request may meet a thread that is failing. */
async function retried<Value>(work: () => Promise<Value>): Promise<Value> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      await sleep(20);
    }
  }
}

it('threads that fail under load lose and double nothing', async () => {
  const running = await start({ SVC_HTTP_THREADS: '2', SVC_CRASH_AT: 'front-thread:250' });
  const random = new SeededRandom(20_261_126);
  const workload = new Workload({ nodes: [client], random, name: 'threads' });
  workload.start();
  const failures = () => retried(() => figure('svc_http_thread_restarts_total'));
  while ((await failures()) < FAILURES_MIN) await sleep(50);
  await workload.runOut(() => retried(() => workload.pending(client)));
  const { sends, deliveries, acks } = workload;
  const records = await retried(() => workload.readLog(client));
  expect(records.length).toBeGreaterThan(100);
  expect([
    ...checkLog({ sends, records, otherReads: deliveries, readValue: valueOfPayload }),
    ...checkQueue({ sends, records, groups: GROUPS, deliveries, acks }),
  ]).toEqual([]);
  expect(running.output).toContain('a front thread has ended, and is started again');
  expect(await running.signal('SIGTERM')).toEqual({ code: 0, signal: null });
});

it('a stop answers parked pops of threads, and counts of threads add up', async () => {
  const running = await start({ SVC_HTTP_THREADS: '3' });
  while ((await figure('svc_http_threads')) < 3) await sleep(20);
  for (let n = 0; n < 30; n++) {
    const other = new HttpClient(port);
    const answer = await other.post('/api/v1/push', { items: [{ queue: 'q', payload: n }] });
    expect(answer.status).toBe(201);
    other.close();
  }
  // Each thread tells its counts with its next request; the scrapes go to all of them.
  const untilMs = performance.now() + DRAIN_MS_MAX;
  let counted = 0;
  while (counted < 30 && performance.now() < untilMs) {
    counted = await figure('svc_process_push_requests_total');
  }
  expect(counted).toBe(30);
  const parked = Array.from({ length: 8 }, async () => {
    const other = new HttpClient(port);
    const path = '/api/v1/pop/queue/empty?wait=true&timeout=50000';
    const { status } = await other.get(path, { timeoutMs: DRAIN_MS_MAX });
    other.close();
    return status;
  });
  await sleep(200);
  const exit = running.signal('SIGTERM', 20_000);
  expect(await Promise.all(parked)).toEqual(new Array<number>(8).fill(204));
  expect(await exit).toEqual({ code: 0, signal: null });
});

it('a node that is told twice to end, ends by itself and not by an abort', async () => {
  const running = await start({ SVC_HTTP_THREADS: '2' });
  // A body that does not come: the stop waits for it.
  const half = connect(port, '127.0.0.1');
  half.on('error', () => undefined);
  const head = 'Host: localhost\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n';
  half.write(`POST /api/v1/push HTTP/1.1\r\n${head}`);
  await new Promise((resolve) => half.once('data', resolve));
  running.send('SIGTERM');
  while (!running.output.includes('stopping')) await sleep(20);
  // Signals that come at once count as one.
  await sleep(600);
  running.send('SIGTERM');
  expect(await running.ended()).toEqual({ code: 1, signal: null });
  half.destroy();
});

it('a port that another node has is refused, and the gateway has TLS in its threads', async () => {
  const gatewayPort = await freePort();
  const { certificate, key } = writeCertificate(directory.path);
  await start({
    SVC_HTTP_THREADS: '2',
    SVC_PROXY_EMBEDDED: 'true',
    SVC_TENANCY_HEADER: 'true',
    SVC_KV_TRUSTED_PROXY: 'true',
    SVC_PROXY_PORT: `${gatewayPort}`,
    SVC_PROXY_SPOOL_DIR: join(directory.path, 'spool'),
    SVC_TLS_CERT: certificate,
    SVC_TLS_KEY: key,
  });
  expect(await securelyAsked(gatewayPort, '/healthz')).toBe(200);
  const other = temporaryDirectory();
  try {
    const environment = { SVC_HTTP_THREADS: '2' };
    const second = new NodeUnderTest({ directory: other.path, port, environment });
    expect(await second.ended()).toEqual({ code: 1, signal: null });
    expect(second.output).toContain('the port is taken (EADDRINUSE)');
    expect((await client.get('/health')).status).toBe(200);
  } finally {
    other.remove();
  }
});

/** The status; rejects when the certificate is another one. */
function securelyAsked(at: number, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const to = { host: '127.0.0.1', servername: 'localhost', port: at, ca: CERTIFICATE };
    const request = get({ ...to, path, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    request.on('error', reject);
  });
}

/** Sends frames of the lengths that it is given and says what it has received. */
const ECHO = `
const { parentPort, workerData } = require('node:worker_threads');
import(workerData.module).then(({ Channel }) => {
  const channel = new Channel({
    outward: workerData.outward,
    inward: workerData.inward,
    wake: () => parentPort.postMessage(0),
    soon: setImmediate,
    nowMs: () => performance.now(),
    onFrame: (kind, id, content) => channel.send(kind, id, [content]),
  });
  parentPort.on('message', () => channel.woken());
  channel.open();
});
`;

it('frames of all sizes come back from another thread, whole and in order', async () => {
  const built = new URL('../../packages/broker/dist/front/', import.meta.url);
  const { Channel } = await import(new URL('channel.js', built).href);
  const { ringMemory } = await import(new URL('ring.js', built).href);
  const random = new SeededRandom(7);
  const [outward, inward] = [ringMemory(4096), ringMemory(4096)];
  const module = new URL('channel.js', built).href;
  const workerData = { module, outward: inward, inward: outward };
  const worker = new Worker(ECHO, { eval: true, workerData });
  const sent: string[] = [];
  const received: string[] = [];
  const channel = new Channel({
    outward,
    inward,
    wake: () => worker.postMessage(0),
    soon: setImmediate,
    nowMs: () => performance.now(),
    onFrame: (kind: number, id: number, content: Uint8Array) =>
      received.push(`${kind} ${id} ${Buffer.from(content).toString('base64')}`),
  });
  worker.on('message', () => channel.woken());
  channel.open();
  for (let id = 0; id < 2000; id++) {
    const content = Buffer.alloc(random.between(0, random.chance(0.02) ? 30_000 : 60), id);
    channel.send(id % 7, id, [content]);
    sent.push(`${id % 7} ${id} ${content.toString('base64')}`);
    if (random.chance(0.05)) await sleep(random.between(0, 2));
  }
  const untilMs = performance.now() + DRAIN_MS_MAX;
  while (received.length < sent.length && performance.now() < untilMs) await sleep(5);
  await worker.terminate();
  expect(received).toEqual(sent);
});
