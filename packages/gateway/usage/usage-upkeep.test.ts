// Goal: quotas stop pushes, say so once, and let go only for a reason. Method: passes over clusters
// whose usage the test puts into the store.
import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../base/clock.fake.js';
import { SeededRandom } from '../base/random.fake.js';
import { PushBlocks } from '../limits/push-blocks.js';
import { DAYS, MINUTES } from '../metering/usage-rows.js';
import { changeTurns } from '../records/batch.js';
import { type Json, StoreUnavailableError } from '../store/kv.js';
import { MemoryStore } from '../store/memory-kv.fake.js';
import { UsageJournal } from './journal.js';
import { MemorySpool } from './memory-spool.fake.js';
import { MonthlyQuotas, type QuotaCluster } from './monthly-quotas.js';
import { UsageFlush } from './usage-flush.js';
import { UsageUpkeep } from './usage-upkeep.js';

const START_US = Date.UTC(2026, 10, 26, 12) * 1000;
const MINUTE = START_US - 60_000_000;
const HOUR_MS = 3_600_000;
const WARNING = 'cluster_monthly_quota_warning';
const BLOCKED = 'cluster_monthly_quota_blocked';

let clock: FakeClock;
let store: MemoryStore;
let node: Node;
let clusters: QuotaCluster[];
const said: string[] = [];

interface Node {
  readonly upkeep: UsageUpkeep;
  readonly journal: UsageJournal;
  readonly blocks: PushBlocks;
}

function startNode(boot: string): Node {
  const files = new MemorySpool();
  const log = { warn: (text: string) => said.push(text), error: (text: string) => said.push(text) };
  const shared = { files, clock, log, node: 'cell/1', boot };
  const defer = (work: () => void) => work();
  const journal = new UsageJournal({ ...shared, writer: boot, defer });
  const onLate = (clusterId: string) => upkeep.noteLate(clusterId);
  const pause = async () => {};
  const flush = new UsageFlush({ ...shared, journal, store, keepDays: 90, onLate, pause });
  const blocks = new PushBlocks();
  const random = new SeededRandom(boot.length);
  const records = { store, clock, random, turns: changeTurns(), onInvalidated: () => {} };
  const quotas = new MonthlyQuotas({ records, blocks, warnPercent: 80 });
  const upkeep = new UsageUpkeep({
    ...{ flush, quotas, blocks, store, clock, log },
    clusters: async function* () {
      if (store.down) throw new StoreUnavailableError('the store is down');
      yield clusters;
    },
    ...{ flushMs: 15_000, rollUpMs: HOUR_MS, keepDays: 90 },
  });
  return { upkeep, journal, blocks };
}

async function pushed(clusterId: string, msgs: number, op = 'push'): Promise<void> {
  const value = { msgs, reqs: 1, bytes_in: 0, bytes_out: 0 };
  const key = `#${clusterId}/${MINUTE}/${op}/x`;
  await store.batch([{ op: 'put', namespace: MINUTES, key, value }]);
}

async function events(): Promise<Json[]> {
  const found: Json[] = [];
  for (const key of store.keys('px.outbox')) {
    found.push((await store.get('px.outbox', key))?.value ?? null);
  }
  return found;
}

async function kinds(): Promise<unknown[]> {
  return (await events()).map((event) => (event as { kind: string }).kind);
}

beforeEach(() => {
  clock = new FakeClock(START_US);
  store = new MemoryStore(clock);
  clusters = [{ id: 'c', slug: 'acme', tenantId: 't', quota: 100 }];
  said.length = 0;
  node = startNode('boot1');
});

describe('a monthly quota', () => {
  test.each([
    [79, [], false],
    [80, [WARNING], false],
    [99, [WARNING], false],
    [100, [WARNING, BLOCKED], true],
    [101, [WARNING, BLOCKED], true],
  ])('at %i of 100 messages', async (msgs, expected, isBlocked) => {
    await pushed('c', msgs);
    await node.upkeep.pass();
    expect(await kinds()).toEqual(expected);
    expect(node.blocks.of('c')).toBe(isBlocked ? 'monthly' : null);
  });

  test('counts what was pushed, in transactions too, and nothing else', async () => {
    await pushed('c', 50, 'push');
    await pushed('c', 49, 'txn');
    await pushed('c', 500, 'delivery');
    await node.upkeep.pass();
    expect(node.blocks.of('c')).toBeNull();
  });

  test('writes events as the contract has them', async () => {
    await pushed('c', 120);
    await node.upkeep.pass();
    const payload = {
      ...{ cluster_id: 'c', cluster_slug: 'acme', tenant_id: 't' },
      ...{ month: '2026-11', msgs: 120, quota: 100, percent: 120 },
    };
    const id = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect(await events()).toEqual([
      { id, kind: WARNING, payload, created_at_us: START_US },
      { id, kind: BLOCKED, payload, created_at_us: START_US + 1 },
    ]);
    expect(store.keys('px.outbox')[0]).toMatch(/^#0000\d{16}\/[0-9a-f-]{36}$/);
  });

  test('says each once for a month, whatever restarts and whoever looks', async () => {
    await pushed('c', 120);
    await node.upkeep.pass();
    await node.upkeep.pass();
    const other = startNode('another');
    store.losesNextAnswer = true;
    await Promise.all([other.upkeep.pass(), node.upkeep.pass()]);
    await other.upkeep.pass();
    expect(await kinds()).toHaveLength(2);
    expect(other.blocks.of('c')).toBe('monthly');
  });

  test('says nothing again when the events were read and forgotten', async () => {
    await pushed('c', 120);
    await node.upkeep.pass();
    for (const key of store.keys('px.outbox')) {
      await store.batch([{ op: 'delete', namespace: 'px.outbox', key }]);
    }
    await startNode('another').upkeep.pass();
    expect(await kinds()).toEqual([]);
  });

  test('is over with the month', async () => {
    await pushed('c', 120);
    await node.upkeep.pass();
    clock.advance(5 * 24 * HOUR_MS);
    await node.upkeep.pass();
    expect(node.blocks.of('c')).toBeNull();
  });

  test('of 0 blocks at once', async () => {
    clusters = [{ id: 'c', slug: 'acme', tenantId: 't', quota: 0 }];
    await node.upkeep.pass();
    expect(node.blocks.of('c')).toBe('monthly');
    expect((await events())[0]).toMatchObject({ payload: { msgs: 0, quota: 0, percent: 100 } });
  });

  test.each<[string, () => void, boolean]>([
    ['is raised', () => (clusters = [{ ...(clusters[0] as QuotaCluster), quota: 121 }]), false],
    ['is gone', () => (clusters = [{ ...(clusters[0] as QuotaCluster), quota: null }]), false],
    ['is of a cluster that is gone', () => (clusters = []), false],
    ['cannot be read', () => (store.down = true), true],
  ])('that %s', async (_what, change, isBlocked) => {
    await pushed('c', 120);
    await node.upkeep.pass();
    change();
    await node.upkeep.pass();
    expect(node.blocks.of('c')).toBe(isBlocked ? 'monthly' : null);
  });
});

test('the clocks run until the end, and the end leaves nothing behind', async () => {
  await node.upkeep.start();
  expect(clock.waiting).toBe(2);
  const sample = {
    clusterId: 'c',
    op: 'push',
    reqs: 1,
    msgs: 90,
    bytesIn: 1,
    bytesOut: 1,
  } as const;
  node.journal.add(sample, clock.wallUs());
  for (let i = 0; i < 5; i++) {
    clock.advance(15_000);
    await expect.poll(() => clock.waiting).toBe(2);
  }
  expect(store.keys(MINUTES)).toHaveLength(1);
  clock.advance(HOUR_MS);
  await expect.poll(kinds).toEqual([WARNING]);
  node.journal.add(sample, clock.wallUs());
  await node.upkeep.close();
  expect(store.keys(MINUTES)).toHaveLength(2);
  expect(clock.waiting).toBe(0);
});

test('the first pass sums what earlier processes left, later ones what came late', async () => {
  const value = { msgs: 5, reqs: 1, bytes_in: 0, bytes_out: 0 };
  const dayAgo = (days: number) => START_US - days * 86_400_000_000;
  const put = (days: number) =>
    store.batch([{ op: 'put', namespace: MINUTES, key: `#c/${dayAgo(days)}/push/x`, value }]);
  await put(40);
  await node.upkeep.pass();
  expect(store.keys(DAYS)).toEqual(['#c/2026-10-17/push']);
  await put(39);
  await node.upkeep.pass();
  expect(store.keys(DAYS)).toHaveLength(1);
  node.upkeep.noteLate('c');
  await node.upkeep.pass();
  expect(store.keys(DAYS)).toEqual(['#c/2026-10-17/push', '#c/2026-10-18/push']);
});
