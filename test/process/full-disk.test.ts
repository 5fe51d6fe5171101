/**
 * Goal: on a volume that fills up, what grows is refused as a 507 and everything that drains goes
 * on, also when nothing is free any more; when even the reserve is gone the node stops taking part,
 * stays up and says so; with room again it starts with all that it acknowledged. Method: a real
 * node on a real file system of 64 MiB, which the test fills itself.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openPrivateVolume, type PrivateVolume, volumesWork } from '../cluster/private-volume.js';
import { HttpClient } from './http-client.js';
import {
  type Environment,
  type NodeUnderTest,
  startNode,
  type TemporaryDirectory,
  temporaryDirectory,
} from './node-under-test.js';
import { freePort } from './ports.js';

const MEBIBYTES = 64;
/** What others leave: less than the high mark wants, less than the reserve holds. */
const SCARCE_BYTES = 8 << 20;
const NEXT_TO_NOTHING_BYTES = 1 << 20;
const ITEM = { queue: 'q', payload: 'x'.repeat(1000) };
/** The node looks ten times a second; the machine may be slow. */
const LOOK_MS_MAX = 10_000;
/** What a pop took that found no space comes again after it. */
const LEASE = 'leaseSeconds=3';
const STOPPED_MS_MAX = 20_000;

const POP = `/api/v1/pop/queue/q?consumerGroup=g&${LEASE}`;

const reason = await volumesWork();
let directory: TemporaryDirectory;
let volume: PrivateVolume;
let node: NodeUnderTest;
let client: HttpClient;

beforeEach(async () => {
  if (reason !== null) return;
  directory = temporaryDirectory();
  volume = await openPrivateVolume(directory.path, MEBIBYTES);
  pushed = 0;
  done.clear();
  doubtful.clear();
});

afterEach(async () => {
  if (reason !== null) return;
  client.close();
  await node.kill();
  await volume.close();
  directory.remove();
});

async function start(checkpointMs: number, settings: Environment = {}): Promise<void> {
  const port = await freePort();
  const environment = {
    SVC_RAFT_DISK_HIGH_PCT: '85',
    SVC_RAFT_DISK_LOW_PCT: '80',
    ...settings,
    SVC_RAFT_SEGMENT_BYTES: '1048576',
    SVC_RAFT_DURABLE_EVERY_MS: String(checkpointMs),
  };
  node = await startNode({
    directory: directory.path,
    port,
    environment,
    launcher: volume.launcher,
  });
  client = new HttpClient(port);
}

/** Gives the status. */
async function push(count: number): Promise<number> {
  const items = Array.from({ length: count }, () => ITEM);
  const { status } = await client.post('/api/v1/push', { items });
  if (status === 201) pushed += count;
  return status;
}

interface Popped {
  readonly leaseId: string;
  readonly partitionId: string;
  readonly messages: readonly { readonly transactionId: string }[];
}

async function pop(batch: number): Promise<Popped> {
  const path = `${POP}&batch=${batch}&wait=true&timeout=9000`;
  const { status, text } = await client.get(path);
  expect({ status, text }).toMatchObject({ status: 200 });
  return JSON.parse(text) as Popped;
}

function idsOf({ messages }: Popped): string[] {
  return messages.map(({ transactionId }) => transactionId);
}

function ack(popped: Popped, status: string, error: string | null = null) {
  const { leaseId, partitionId } = popped;
  const acknowledgments = idsOf(popped).map((transactionId) => {
    return { transactionId, partitionId, leaseId, status, error };
  });
  return client.post('/api/v1/ack/batch', { consumerGroup: 'g', acknowledgments });
}

/** Messages that were acknowledged as stored. */
let pushed = 0;
/** Answered with success: these never come again. */
const done = new Set<string>();
const doubtful = new Set<string>();

async function complete(count: number): Promise<void> {
  const popped = await pop(count);
  const { status, text } = await ack(popped, 'completed');
  expect({ status, text }).toMatchObject({ status: 200 });
  for (const id of idsOf(popped)) done.add(id);
}

/** Into the dead letters, as far as that can still be written. */
async function bury(): Promise<void> {
  const { status, text } = await client.get(`${POP}&batch=10`);
  if (status !== 200) return;
  const popped = JSON.parse(text) as Popped;
  for (const id of idsOf(popped)) doubtful.add(id);
  const answer = await ack(popped, 'dlq', 'because '.repeat(1000));
  expect([200, 503]).toContain(answer.status);
  if (answer.status !== 200) return;
  for (const id of idsOf(popped)) {
    done.add(id);
    doubtful.delete(id);
  }
}

async function raftOf(path: string): Promise<{ status: number; role: string }> {
  const { status, text } = await client.get(path);
  const { raft } = JSON.parse(text) as { raft: { role: string } };
  return { status, role: raft.role };
}

test.runIf(reason !== null)('a full disk', (context) => {
  console.log(`skipped: ${reason}`);
  context.skip();
});

const onSmallVolume = test.runIf(reason === null);

onSmallVolume.each<[string, number, RegExp]>([
  ['log or checkpoint', 100, /ERROR raft .*no space.*make room/i],
  ['the log', 600_000, /ERROR raft raft log write failed: .*no space.*make room/i],
])('%s finds no space', async (_, checkpointMs, line) => {
  await start(checkpointMs);
  for (let i = 0; i < 5; i++) expect(await push(100)).toBe(201);

  volume.fill(SCARCE_BYTES);
  await expect.poll(() => push(1), { timeout: LOOK_MS_MAX }).toBe(507);
  const refused = await client.post('/api/v1/push', { items: [ITEM] });
  expect(JSON.parse(refused.text)).toEqual({
    error: 'storage is full on at least one node',
    code: 'storage_full',
  });
  expect(refused.headers['retry-after']).toBe(undefined);
  const transact = (parts: object) => client.post('/api/v1/transaction', parts);
  const storing = await transact({ operations: [{ type: 'push', ...ITEM }] });
  expect([storing.status, JSON.parse(storing.text).code]).toEqual([507, 'storage_full']);
  const positions = [{ queue: ITEM.queue, consumerGroup: 'other', offset: 1 }];
  expect(await transact({ positions })).toMatchObject({ status: 200 });
  expect(node.output).toMatch(/raft storage pressure changed.*full=true/);
  expect(await raftOf('/health')).toEqual({ status: 200, role: 'leader' });
  await complete(10);
  const configured = await client.post('/api/v1/configure', { queue: 'q', options: {} });
  expect(configured.status).toBe(200);
  expect(volume.exists('data/reserve')).toBe(true);

  // Less is left than the reserve holds: it is given up, and acks go on in it.
  volume.fill(NEXT_TO_NOTHING_BYTES);
  const reserved = () => volume.exists('data/reserve');
  await expect.poll(reserved, { timeout: LOOK_MS_MAX }).toBe(false);
  for (let i = 0; i < 20; i++) await complete(10);
  expect(await push(1)).toBe(507);

  // The reserve is taken by others too, while dead letters with long reasons need more and more.
  const untilMs = performance.now() + STOPPED_MS_MAX;
  while ((await raftOf('/health')).role !== 'stopped') {
    expect(performance.now()).toBeLessThan(untilMs);
    volume.fill(0);
    await bury();
  }
  expect(await raftOf('/health')).toEqual({ status: 503, role: 'stopped' });
  expect(node.output).toMatch(line);
  expect(node.exit).toBe(null);
  // Nothing is held: there is no leader to wait for here.
  const beganMs = performance.now();
  expect(await push(1)).toBe(503);
  expect(await client.get(`${POP}&wait=true`)).toMatchObject({ status: 503 });
  expect(performance.now() - beganMs).toBeLessThan(5000);
  expect(await client.get('/api/v1/raft/status')).toMatchObject({ status: 200 });
  expect(await node.signal('SIGTERM'), node.output).toEqual({ code: 0, signal: null });

  volume.free();
  client.close();
  await start(checkpointMs);
  expect(await push(1)).toBe(201);
  const rest = idsOf(await pop(1000));
  expect(rest.filter((id) => done.has(id))).toEqual([]);
  expect(done.size + rest.length).toBeGreaterThanOrEqual(pushed - doubtful.size);
  expect(done.size + rest.length).toBeLessThanOrEqual(pushed);
});

onSmallVolume('clients cannot fill the volume themselves between two looks', async () => {
  await start(100, { SVC_RAFT_DISK_CHECK_MS: '60000' });
  const items = Array.from({ length: 100 }, () => ITEM);
  const body = JSON.stringify({ items });
  const statuses = new Map<number, number>();
  const untilMs = performance.now() + STOPPED_MS_MAX;
  const pushAll = async (): Promise<void> => {
    while ((statuses.get(507) ?? 0) < 200 && performance.now() < untilMs) {
      const { status } = await client.post('/api/v1/push', body);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 32 }, pushAll));
  expect([...statuses.keys()].sort()).toEqual([201, 507]);
  expect(await raftOf('/health')).toEqual({ status: 200, role: 'leader' });
  expect((await ack(await pop(100), 'completed')).status).toBe(200);
});
