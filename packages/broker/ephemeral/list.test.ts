// Goal: pages show every queue once, in the order of names, whether it is declared, held or both;
// a page of many queues is made in short steps. Method: random names over the rings of one node,
// from a seed that is printed, read in pages of random lengths and compared with a plain sort.
import { applyEphemeralEffect, declaredOptions, MapState } from '@svc/engine';
import { ringLimits } from '@svc/ephemeral';
import type { EphemeralQueuesPage } from '@svc/http';
import { newMeters } from '@svc/wire';
import { expect, test } from 'vitest';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { seededRandom } from '../testing/recovery.fake.js';
import { type QueuesAsked, queuesPage } from './list.js';
import { LocalRings } from './local.js';

const TENANT = '00000000-0000-0000-0000-000000000001';
const OTHER = '00000000-0000-0000-0000-000000000002';
const CEILINGS = { maxBytes: 4_000_000, maxLength: 10_000, leaseSeconds: 5, retryLimit: 1000 };

class Node {
  readonly state = new MapState();
  readonly rings = new LocalRings({
    clock: new MovedClock(),
    fraction: () => 0.5,
    limits: ringLimits(100_000_000, 300_000, CEILINGS),
    meters: newMeters().ephemeral,
    declared: (tenant, queue) => declaredOptions(this.state, tenant, queue),
    allowance: () => ({ bytesMax: null, queuesMax: null }),
  });

  declare(tenant: string, queue: string): void {
    const options = '{"maxLength":1000}';
    applyEphemeralEffect(this.state, { tenant, queue, options });
    this.rings.declarationChanged(tenant, queue, options);
  }

  push(tenant: string, queue: string): void {
    const payloads = { bytes: Buffer.from('1'), start: [0], end: [1] };
    expect(this.rings.push({ tenant, queue, partition: 'p' }, payloads)).toBeNull();
  }

  page(asked: QueuesAsked): { page: Omit<EphemeralQueuesPage, 'nodeId'>; steps: number } {
    const walk = queuesPage(this.rings, this.state, asked);
    for (let steps = 1; ; steps++) {
      const step = walk.next();
      if (step.done === true) return { page: step.value, steps };
    }
  }
}

const seed = Number(process.env.LIST_SEED ?? Date.now() % 1_000_000);
test(`pages hold every queue once and in order, seed ${seed}`, () => {
  const random = seededRandom(seed);
  for (let round = 0; round < 20; round++) {
    const node = new Node();
    const expected = new Map<string, string>();
    for (let i = random.below(300); i > 0; i--) {
      const letters = ['a', 'b', 'é', '\u{fffd}', '\u{1f600}'];
      const name = Array.from({ length: 1 + random.below(4) }, () => letters[random.below(5)]);
      const queue = name.join('');
      const which = random.below(3);
      if (which !== 0) node.declare(TENANT, queue);
      if (which !== 1) node.push(TENANT, queue);
      if (which !== 0) expected.set(queue, 'declared');
      else if (!expected.has(queue)) expected.set(queue, 'implicit');
      node.push(OTHER, `${queue} of another`);
    }
    const names = [...expected.keys()].sort((a, b) =>
      Buffer.compare(Buffer.from(a), Buffer.from(b)),
    );
    const limit = 1 + random.below(40);
    const shown: string[] = [];
    let after: string | null = '';
    while (after !== null) {
      const { page } = node.page({ tenant: TENANT, after, limit });
      expect(page.queues.length).toBeLessThanOrEqual(limit);
      expect(page.truncated).toBe(page.nextAfter !== null);
      for (const { queue, tier, options } of page.queues) {
        shown.push(queue);
        expect(tier, queue).toBe(expected.get(queue));
        expect(options.maxLength, queue).toBe(tier === 'declared' ? 1000 : CEILINGS.maxLength);
      }
      after = page.nextAfter;
    }
    expect(shown, `round ${round}`).toEqual(names);
  }
});

test('a queue that goes and comes back while names are passed shows once, and hides none', () => {
  const node = new Node();
  for (let i = 0; i < 1000; i++) node.push(TENANT, `q${1000 + i}`);
  const walk = queuesPage(node.rings, node.state, { tenant: TENANT, after: '', limit: 500 });
  walk.next();
  for (let i = 0; i < 100; i++) {
    node.rings.declarationChanged(TENANT, `q${1000 + i}`, undefined);
    node.push(TENANT, `q${1000 + i}`);
  }
  let step = walk.next();
  while (step.done !== true) step = walk.next();
  const names = step.value.queues.map(({ queue }) => queue);
  expect(new Set(names).size).toBe(names.length);
  const rest = node.page({ tenant: TENANT, after: step.value.nextAfter ?? '', limit: 1000 }).page;
  expect(names.length + rest.queues.length).toBe(1000);
});

test('what is many is passed in many steps, and a page holds no more than its limit', () => {
  const node = new Node();
  for (let i = 0; i < 5000; i++) node.push(TENANT, `q${(i * 7919) % 5000}`);
  const { page, steps } = node.page({ tenant: TENANT, after: '', limit: 2 });
  expect(page.queues.map(({ queue }) => queue)).toEqual(['q0', 'q1']);
  expect(page).toMatchObject({ truncated: true, nextAfter: 'q1' });
  expect(steps).toBeGreaterThan(15);
  expect(node.page({ tenant: TENANT, after: '', limit: 5000 }).steps).toBeGreaterThan(45);
});

test('a page tells the bytes of the node and those of its tenant', () => {
  const node = new Node();
  for (const [tenant, queue] of [
    [TENANT, 'a'],
    [OTHER, 'a'],
    [OTHER, 'b'],
  ] as const) {
    node.push(tenant, queue);
  }
  const { page } = node.page({ tenant: TENANT, after: '', limit: 10 });
  expect([page.cellBytes, page.tenantBytes]).toEqual([3, 1]);
});
