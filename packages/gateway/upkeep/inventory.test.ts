// Goal: what is there is never refused, what would be one too many is, and the store and the blocks
// follow the broker (gateway 6). Method: random histories of one node beside a broker that applies
// later what was let through; single courses for the rest.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LIMITS, type PlanLimits } from '../base/access.js';
import { FakeClock } from '../base/clock.fake.js';
import type { ClusterView } from '../base/cluster-view.js';
import { SeededRandom } from '../base/random.fake.js';
import { Admission } from '../limits/admission.js';
import { ClusterLimits } from '../limits/cluster-limits.js';
import type { Denial, Destination } from '../limits/limits.js';
import { PushBlocks } from '../limits/push-blocks.js';
import { changeTurns } from '../records/batch.js';
import { queuesOf } from '../records/queues.js';
import { MemoryStore } from '../store/memory-kv.fake.js';
import {
  type BrokerInventory,
  BrokerUnavailableError,
  Inventory,
  type ListedPage,
} from './inventory.js';

const UNLIMITED = Object.fromEntries(LIMITS.map((name) => [name, null])) as unknown as PlanLimits;
const QUEUES_MAX = 3;
const PARTITIONS_MAX = 3;

function clusterOf(limits: Partial<PlanLimits>): ClusterView {
  return {
    ...{ id: 'c', slug: 'c', tenantId: 't', tenantSlug: 't', brokerTenant: 'broker', cellId: 'l' },
    ...{ status: 'active', planCode: 'free' },
    features: { streams: true, traces: true, kv: true, timers: true, ephemeral: true },
    limits: { ...UNLIMITED, ...limits },
  };
}

class FakeBroker implements BrokerInventory {
  readonly has = new Map<string, Set<string>>();
  bytes = 0;
  otherBytes = 0;
  down = false;
  calls = 0;

  push({ queue, partition }: Destination): void {
    this.has.set(queue, (this.has.get(queue) ?? new Set()).add(partition));
  }

  async *queues(): AsyncGenerator<ListedPage> {
    this.#answers();
    const otherBytes = this.otherBytes;
    if (this.has.size === 0) yield { queues: [], otherBytes };
    for (const [name, { size }] of [...this.has]) {
      yield { queues: [{ name, partitions: size, retainedBytes: this.bytes }], otherBytes };
    }
  }

  async partitions(_tenant: string, queue: string, names: readonly string[]) {
    this.#answers();
    const found = this.has.get(queue) ?? new Set();
    return { partitions: found.size, names: new Set(names.filter((name) => found.has(name))) };
  }

  async retainedBytes(): Promise<number> {
    this.#answers();
    return this.bytes + this.otherBytes;
  }

  #answers(): void {
    if (this.down) throw new BrokerUnavailableError('down');
    this.calls++;
  }
}

class Node {
  readonly clock = new FakeClock();
  readonly store = new MemoryStore(this.clock);
  readonly broker = new FakeBroker();
  readonly blocks = new PushBlocks();
  readonly said: string[] = [];
  readonly cluster: ClusterView;
  /** Let through, and not yet applied by the broker. */
  flying: Destination[] = [];
  admission = new Admission();
  limits: ClusterLimits;
  inventory: Inventory;
  readonly records = {
    store: this.store,
    clock: this.clock,
    random: new SeededRandom(1),
    turns: changeTurns(),
    onInvalidated: () => {},
  };

  constructor(limits: Partial<PlanLimits>) {
    this.cluster = clusterOf(limits);
    ({ limits: this.limits, inventory: this.inventory } = this.#start());
  }

  restart(): void {
    this.admission = new Admission();
    ({ limits: this.limits, inventory: this.inventory } = this.#start());
  }

  #start(): { readonly limits: ClusterLimits; readonly inventory: Inventory } {
    const log = {
      warn: (text: string) => this.said.push(text),
      error: (text: string) => this.said.push(text),
    };
    const { blocks, clock, broker, records, admission } = this;
    const limits = new ClusterLimits({ blocks, admission, batchItemsMax: 10, parkedMax: 10 });
    const times = { reconcileMs: 60_000, storageRefreshMs: 10_000 };
    const ports = { broker, records, limits, admission, blocks, clock, log };
    return { limits, inventory: new Inventory({ ...ports, ...times }) };
  }

  /** As the pipeline does it. */
  async push(destinations: readonly Destination[]): Promise<Denial | null> {
    const nowMs = this.clock.nowMs();
    this.limits.request(this.cluster, nowMs);
    if (!this.limits.knows(this.cluster, destinations, nowMs)) {
      await this.inventory.learn(this.cluster, destinations);
    }
    const denial = this.limits.admit(this.cluster, destinations, nowMs);
    if (denial === null) for (const one of destinations) this.flying.push(one);
    return denial;
  }

  land(): void {
    for (const one of this.flying) this.broker.push(one);
    this.flying = [];
  }

  async noted(): Promise<[string, number][]> {
    const rows: [string, number][] = [];
    for await (const page of queuesOf(this.records, 'c')) {
      for (const { name, partitions_count } of page) rows.push([name, partitions_count]);
    }
    return rows;
  }
}

const destination = fc.record({
  queue: fc.constantFrom('q0', 'q1', 'q2', 'q3'),
  partition: fc.constantFrom('p0', 'p1', 'p2', 'p3'),
});

type Step =
  | { readonly kind: 'push'; readonly destinations: readonly Destination[] }
  /** Some other node's. */
  | { readonly kind: 'elsewhere'; readonly destination: Destination }
  | { readonly kind: 'delete'; readonly queue: string }
  | { readonly kind: 'rest'; readonly ms: number }
  | { readonly kind: 'land' | 'reconcile' | 'refresh' | 'restart' };

const keyOf = ({ queue, partition }: Destination) => `${queue} ${partition}`;
const destinations = fc.uniqueArray(destination, { minLength: 1, maxLength: 4, selector: keyOf });
const named = <Kind extends Step['kind']>(kind: Kind) => fc.constant(kind);
const rest = fc.record({ kind: named('rest'), ms: fc.nat(20_000) });
const OWN: { weight: number; arbitrary: fc.Arbitrary<Step> }[] = [
  { weight: 10, arbitrary: fc.record({ kind: named('push'), destinations }) },
  { weight: 3, arbitrary: fc.record({ kind: named('land') }) },
  { weight: 3, arbitrary: rest },
  { weight: 1, arbitrary: fc.record({ kind: named('reconcile') }) },
  { weight: 1, arbitrary: fc.record({ kind: named('refresh') }) },
  { weight: 1, arbitrary: fc.record({ kind: named('restart') }) },
];
const OTHERS: { weight: number; arbitrary: fc.Arbitrary<Step> }[] = [
  { weight: 2, arbitrary: fc.record({ kind: named('elsewhere'), destination }) },
  { weight: 1, arbitrary: destination.map(({ queue }) => ({ kind: 'delete' as const, queue })) },
];

async function perform(node: Node, step: Step, isAlone: boolean): Promise<void> {
  switch (step.kind) {
    case 'push':
      return push(node, step.destinations, isAlone);
    case 'elsewhere':
      node.broker.push(step.destination);
      // A list of the last second may still refuse.
      node.clock.advance(1_000);
      return;
    case 'delete':
      node.broker.has.delete(step.queue);
      return;
    case 'rest':
      // A push is applied within seconds.
      node.land();
      node.clock.advance(step.ms);
      return;
    case 'restart':
      node.land();
      node.restart();
      return;
    case 'land':
      node.land();
      return;
    default:
      await node.inventory[step.kind]();
  }
}

type Names = ReadonlyMap<string, ReadonlySet<string>>;

/** The broker's partitions when all that was let through is applied. */
function whole(has: Names, flying: readonly Destination[]): Names {
  const all = new Map([...has].map(([queue, names]) => [queue, new Set(names)]));
  for (const { queue, partition } of flying) {
    all.set(queue, (all.get(queue) ?? new Set()).add(partition));
  }
  return all;
}

/** Whether something is new and one too many. */
function exceeds(before: Names, after: Names): boolean {
  return [...after].some(
    ([queue, names]) =>
      (!before.has(queue) && after.size > QUEUES_MAX) ||
      (names.size > (before.get(queue)?.size ?? 0) && names.size > PARTITIONS_MAX),
  );
}

async function push(node: Node, wanted: readonly Destination[], isAlone: boolean): Promise<void> {
  const before = whole(node.broker.has, node.flying);
  const after = whole(before, wanted);
  const isThere = wanted.every(({ queue, partition }) => before.get(queue)?.has(partition));
  const denial = await node.push(wanted);
  if (isAlone) expect(denial !== null).toBe(exceeds(before, after));
  if (isThere) expect(denial).toBeNull();
  if (denial !== null)
    expect(denial.refusal).toMatchObject({ status: 403, code: 'quota_exceeded' });
}

const LIMITED = { max_queues: QUEUES_MAX, max_partitions_per_queue: PARTITIONS_MAX };

describe('admission', () => {
  test('of one node is exact', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(...OWN), { maxLength: 80 }), async (steps) => {
        const node = new Node(LIMITED);
        for (const step of steps) await perform(node, step, true);
      }),
      { numRuns: 150 },
    );
  });

  test('never refuses what is there, whatever others make and take away', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(...OWN, ...OTHERS), { maxLength: 80 }), async (steps) => {
        const node = new Node(LIMITED);
        for (const step of steps) await perform(node, step, false);
      }),
      { numRuns: 150 },
    );
  });

  test('lets no two requests at once have the same place', async () => {
    const node = new Node({ max_queues: 3 });
    const pushes = Array.from({ length: 50 }, (_, i) =>
      node.push([{ queue: `q${i}`, partition: 'Default' }]),
    );
    const denials = (await Promise.all(pushes)).filter((denial) => denial !== null);
    expect(denials).toHaveLength(47);
    expect(denials[0]?.refusal.error).toBe("the plan's 3 queues are there: `q3` would be one more");
    // Those that came at once share the list that they waited for.
    expect(node.broker.calls).toBeLessThanOrEqual(3);
  });

  test('names the partition that is one too many', async () => {
    const node = new Node(LIMITED);
    const wanted = Array.from({ length: 4 }, (_, i) => ({ queue: 'q', partition: `p${i}` }));
    expect((await node.push(wanted))?.refusal.error).toBe(
      "the plan's 3 partitions of queue `q` are there: `p3` would be one more",
    );
  });

  test('forgets after a while what was let through and never came', async () => {
    const node = new Node(LIMITED);
    for (const partition of ['p0', 'p1', 'p2']) await node.push([{ queue: 'q', partition }]);
    node.flying = [];
    node.broker.push({ queue: 'q', partition: 'p0' });
    const fourth = [{ queue: 'q', partition: 'p3' }];
    expect(await node.push(fourth)).not.toBeNull();
    node.clock.advance(10_000);
    expect(await node.push(fourth)).toBeNull();
  });

  test('asks nobody for a plan without numbers, and keeps nothing of it', async () => {
    const node = new Node({});
    expect(await node.push([{ queue: 'q', partition: 'p' }])).toBeNull();
    expect(node.broker.calls).toBe(0);
    expect(node.admission.size).toBe(0);
  });

  test('keeps no names of partitions that have no number', async () => {
    const node = new Node({ max_queues: 1 });
    for (let i = 0; i < 100; i++) await node.push([{ queue: 'q', partition: `p${i}` }]);
    expect(node.admission.youngOf('c', 'q')).toEqual(['p0']);
  });

  test('stops nobody while the broker does not answer', async () => {
    const node = new Node({ max_queues: 0 });
    node.broker.down = true;
    expect(await node.push([{ queue: 'q', partition: 'p' }])).toBeNull();
    expect(node.said).toEqual(['admission waits: down']);
    node.broker.down = false;
    expect(await node.push([{ queue: 'other', partition: 'p' }])).not.toBeNull();
  });
});

describe('the upkeep', () => {
  test('tells the store of new queues at once, and of the broker by and by', async () => {
    const node = new Node(LIMITED);
    await storeCluster(node.store);
    await node.push([
      { queue: 'q', partition: 'p0' },
      { queue: 'q', partition: 'p1' },
    ]);
    await node.inventory.refresh();
    expect(await node.noted()).toEqual([['q', 2]]);
    node.land();
    node.broker.push({ queue: 'q', partition: 'p2' });
    node.broker.push({ queue: 'other', partition: 'p' });
    await node.inventory.reconcile();
    expect(await node.noted()).toEqual([
      ['other', 1],
      ['q', 3],
    ]);
    node.broker.has.delete('q');
    await node.inventory.reconcile();
    expect(await node.noted()).toEqual([['other', 1]]);
  });

  test('keeps nothing of a cluster that makes no queue, before it does', async () => {
    const node = new Node(LIMITED);
    await storeCluster(node.store);
    node.broker.push({ queue: 'there', partition: 'p' });
    await node.push([]);
    await node.inventory.reconcile();
    expect([await node.noted(), node.admission.size]).toEqual([[['there', 1]], 0]);
    await node.push([{ queue: 'q', partition: 'p' }]);
    expect(node.admission.size).toBe(1);
  });

  test('blocks and releases by what the broker keeps, and never by a failed read', async () => {
    const node = new Node({ max_retained_bytes: 100 });
    await node.push([]);
    node.broker.bytes = 101;
    await node.inventory.refresh();
    expect(node.limits.pushBlock('c')).toBe('storage');
    node.broker.bytes = 0;
    node.broker.down = true;
    await node.inventory.refresh();
    await node.inventory.reconcile();
    expect(node.limits.pushBlock('c')).toBe('storage');
    expect(node.said).toEqual(['storage waits: down', 'reconciling waits: down']);
    node.broker.down = false;
    await node.inventory.refresh();
    expect(node.limits.pushBlock('c')).toBeNull();
    node.broker.otherBytes = 101;
    await node.inventory.reconcile();
    expect(node.limits.pushBlock('c')).toBe('storage');
  });

  test('goes on by the clock until it is closed', async () => {
    const node = new Node({ max_retained_bytes: 100 });
    await node.push([]);
    node.broker.bytes = 101;
    node.inventory.start();
    node.clock.advance(10_000);
    await expect.poll(() => node.limits.pushBlock('c')).toBe('storage');
    await expect.poll(() => node.clock.waiting).toBe(2);
    node.inventory.close();
    expect(node.clock.waiting).toBe(0);
  });
});

/** The rows of the cluster, without which none of its queues is written. */
async function storeCluster(store: MemoryStore): Promise<void> {
  const made = { status: 'active', created_at_us: 1 };
  const tenant = { ...made, id: 't', slug: 't', name: 't' };
  const names = { tenant_id: 't', cell_id: 'l', plan_id: 'p', broker_tenant_uuid: 'broker' };
  const cluster = { ...made, ...names, id: 'c', slug: 'c', limit_overrides: {} };
  await store.batch([
    { op: 'put', namespace: 'px.tenants', key: '#t', value: tenant },
    { op: 'put', namespace: 'px.clusters', key: '#c', value: cluster },
  ]);
}
