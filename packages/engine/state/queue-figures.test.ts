// Goal: figures that are kept are those that a walk finds now, whatever happens between two
// questions or while one is answered; and a question costs as many walks as queues have changed.
// Method: random operations of whole planners, with questions in between, against walks; directed
// cases for time, for what changes under a walk, and for the bounds of what is kept.
import { QUEUE_MODE_GROUP } from '@svc/wire';
import { expect, test } from 'vitest';
import { WHOLE } from '../base/page.js';
import { EngineRig, TENANT } from '../testing/engine.fake.js';
import { CountedState, walked } from '../testing/page.fake.js';
import { SeededRandom } from '../testing/random.fake.js';
import { listQueues } from '../views/queue-views.js';
import { nameCountsOf } from './names/name-index.js';
import { type Figures, QueueFigures, WALKED_FIGURES } from './queue-figures.js';
import { newestNumbers, type QueueSum } from './queue-sums.js';

function newRig(keptMax?: number): { readonly rig: EngineRig; readonly figures: QueueFigures } {
  const rig = new EngineRig();
  const figures = new QueueFigures(rig.state, keptMax);
  rig.figures = figures;
  return { rig, figures };
}

function sums(rig: EngineRig, figures = WALKED_FIGURES): (readonly [number, QueueSum])[] {
  return [...newestNumbers(rig.state, TENANT)].map((number) => [
    number,
    walked(figures.of(rig.state, number, rig.wallUs)),
  ]);
}

/** As one question about all queues of the tenant shows them. */
function all(rig: EngineRig, figures: Figures = WALKED_FIGURES): (readonly [number, QueueSum])[] {
  const found: (readonly [number, QueueSum])[] = [];
  walked(figures.each(rig.state, TENANT, rig.wallUs, (queue, sum) => found.push([queue, sum])));
  return found.sort(([a], [b]) => a - b);
}

const SEEDS = Array.from({ length: 20 }, (_, seed) => seed);

test.each(SEEDS)('whatever happens, they are what a walk finds (seed %i)', (seed) => {
  const random = new SeededRandom(seed);
  const one = <T>(values: readonly T[]): T => values[random.below(values.length)] as T;
  const { rig, figures } = newRig();
  let leased: { partition: number; lease: string; id: string }[] = [];
  for (let i = 0; i < 80; i++) {
    const queue = one(['q', 'r', 's']);
    const partition = one(['a', 'b', 'c']);
    const consumerGroup = one(['g', 'h', QUEUE_MODE_GROUP]);
    const change = {
      tenant: TENANT,
      changeId: `01a2b3c4-0000-4000-8000-${String(i).padStart(12, '0')}`,
      consumerGroup,
    };
    const pop = { queue, consumerGroup, autoAck: one([true, false]), batch: 1 + random.below(3) };
    switch (random.below(9)) {
      case 0:
      case 1:
        rig.push(queue, partition, [`x${i}`, `y${i}`].slice(random.below(2)));
        break;
      case 2:
        rig.pop({ ...pop, subscription: { mode: one(['all', 'new'] as const) }, leaseSeconds: 2 });
        break;
      case 3: {
        const popped = rig.pop({ ...pop, partition, consumerGroup: 'g', leaseSeconds: 2 });
        const [claim] = popped.claims;
        const [message] = rig.messages(popped);
        if (claim === undefined || message === undefined) break;
        const { partitionNumber } = claim;
        leased.push({ partition: partitionNumber, lease: popped.leaseId, id: message.text });
        break;
      }
      case 4: {
        const held = leased.pop();
        const status = one(['completed', 'failed', 'dlq'] as const);
        if (held !== undefined) rig.ack(held.partition, held.lease, [[held.id, status]]);
        break;
      }
      case 5: {
        const targetUs = one([null, rig.wallUs - random.below(60_000_000)]);
        rig.call({ kind: 'seek', ...change, queue, partition: one([null, partition]), targetUs });
        break;
      }
      case 6:
        if (random.below(3) > 0) break;
        rig.call({ kind: 'delete-group', ...change, queue, deleteMetadata: one([true, false]) });
        break;
      case 7:
        if (random.below(4) > 0) break;
        leased = [];
        rig.call({ kind: 'delete-queue', tenant: TENANT, queue });
        for (let turns = 0; turns < 5; turns++) rig.turn();
        break;
      default:
        rig.configure(queue, { maxWaitTimeSeconds: one([0, 1]) });
        for (let turns = 0; turns < 5; turns++) {
          rig.advance(1200);
          rig.turn();
        }
    }
    if (random.below(3) > 0) rig.advance(random.below(1500));
    if (random.below(2) === 0) expect(sums(rig, figures)).toEqual(sums(rig));
    if (random.below(2) === 0) expect(all(rig, figures)).toEqual(all(rig));
  }
  expect(sums(rig, figures)).toEqual(sums(rig));
  expect(all(rig, figures)).toEqual(all(rig));
});

test('a question walks the queues that have changed, and no other', () => {
  const { rig, figures } = newRig();
  for (let i = 0; i < 20; i++) rig.push(`q${i}`, 'p', ['x']);
  const counted = new CountedState(rig.state);
  const ask = (): number => {
    counted.rows = 0;
    let visited = 0;
    walked(figures.each(counted, TENANT, rig.wallUs, () => visited++));
    expect(visited).toBe(nameCountsOf(rig.state, TENANT).queues);
    return counted.rows;
  };
  expect(ask()).toBeGreaterThan(20 * 5);
  // The count of the tenant alone.
  expect(ask()).toBeLessThanOrEqual(2);
  rig.push('q7', 'p', ['y']);
  expect(ask()).toBeLessThanOrEqual(2 + 12);
  expect(ask()).toBeLessThanOrEqual(2);
  rig.call({ kind: 'delete-queue', tenant: TENANT, queue: 'q3' });
  expect(ask()).toBeLessThanOrEqual(2);
  // One that is new is found where the numbers of the youngest queues are.
  rig.push('q20', 'p', ['z']);
  expect(ask()).toBeLessThanOrEqual(2 + 20 + 12);
  expect(ask()).toBeLessThanOrEqual(2);
});

test('a lease that runs out is another sum', () => {
  const { rig, figures } = newRig();
  rig.push('q', 'p', ['x']);
  rig.pop({ leaseSeconds: 10 });
  const [[, leased]] = sums(rig, figures) as [readonly [number, QueueSum]];
  expect([leased.processing, leased.leases]).toEqual([1, 1]);
  rig.advance(10_001);
  const [[, free]] = sums(rig, figures) as [readonly [number, QueueSum]];
  expect([free.processing, free.leases]).toEqual([0, 0]);
});

test('what changes under a walk is not kept', () => {
  const { rig, figures } = newRig();
  rig.push('q', 'p', ['x']);
  const walk = figures.of(rig.state, 1, rig.wallUs);
  walk.next();
  rig.push('q', 'p', ['y']);
  walked(walk);
  expect(sums(rig, figures)).toEqual(sums(rig));
});

test('as many are kept as may be; the others are walked', () => {
  const { rig, figures } = newRig(3);
  for (let i = 0; i < 5; i++) rig.push(`q${i}`, 'p', ['x']);
  expect(all(rig, figures)).toEqual(all(rig));
  expect(figures.size).toBe(3);
  rig.call({ kind: 'delete-queue', tenant: TENANT, queue: 'q4' });
  expect(figures.size).toBe(2);
});

test('a list of queues whose sums are kept pauses at each of them all the same', () => {
  const { rig, figures } = newRig();
  for (let i = 0; i < 20; i++) rig.push(`q${i}`, 'p', ['x']);
  all(rig, figures);
  const walk = listQueues(rig.state, figures, TENANT, WHOLE, rig.wallUs, () => true);
  let pauses = 0;
  while (walk.next().done !== true) pauses++;
  expect(pauses).toBeGreaterThanOrEqual(20);
});
