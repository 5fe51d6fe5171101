// Goal: the ranking of partitions, the overview, sums by label and sizes say what the counting
// rules say, over all queues of one tenant and no other's. Method: a small state built by the
// engine itself, with figures that can be counted by hand.
import { beforeEach, describe, expect, test } from 'vitest';
import { WHOLE } from '../base/page.js';
import type { Label } from '../state/names/name-index.js';
import { WALKED_FIGURES } from '../state/queue-figures.js';
import { EngineRig, pushCommand, TENANT } from '../testing/engine.fake.js';
import {
  CountedState,
  type Lister,
  pagedOf,
  pageOf,
  walked,
  wholeOf,
} from '../testing/page.fake.js';
import { rankPartitions } from './partition-ranking.js';
import { queueSizes } from './queue-views.js';
import { type LabelSum, sumsByLabel, tenantOverview } from './tenant-views.js';

const OTHER_TENANT = '00000000-0000-0000-0000-000000000002';
const SECOND_MS = 1000;

let rig: EngineRig;

/**
 * a.x: p1 with 3 messages, p2 with 2, a second apart; a.y: 4 messages of which 1 is consumed and 2
 * are leased; plain: 1 message, consumed. Another second has passed since.
 */
beforeEach(() => {
  rig = new EngineRig();
  rig.push('a.x', 'p1', ['1', '2', '3']);
  rig.advance(SECOND_MS);
  rig.push('a.x', 'p2', ['1', '2']);
  rig.push('a.y', 'p', ['1', '2', '3', '4'], false);
  rig.pop({ queue: 'a.y', batch: 1, autoAck: true });
  rig.pop({ queue: 'a.y', batch: 2 });
  rig.push('plain', 'p', ['1']);
  rig.pop({ queue: 'plain', autoAck: true });
  rig.send({ ...pushCommand('a.z', 'p', ['1'], true), tenant: OTHER_TENANT });
  rig.turn();
  rig.advance(1.5 * SECOND_MS);
});

describe('ranking', () => {
  function ranked(queue: string | null, limit = 10, walkedMax = 100) {
    const ranking = walked(rankPartitions(rig.state, TENANT, queue, limit, walkedMax, rig.wallUs));
    const rows = ranking?.partitions.map((row) => [
      `${row.queue}/${row.partition}`,
      row.pending,
      row.processing,
      row.lagSeconds,
    ]);
    return { ...ranking, partitions: rows };
  }

  test('of all queues: most pending first, then by queue and name', () => {
    expect(ranked(null)).toEqual({
      partitions: [
        ['a.x/p1', 3, 0, 2],
        ['a.y/p', 3, 2, 1],
        ['a.x/p2', 2, 0, 1],
        ['plain/p', 0, 0, null],
      ],
      walked: 4,
      truncated: false,
    });
  });

  test('of one queue, and of none', () => {
    expect(ranked('a.x')).toMatchObject({ walked: 2, partitions: [['a.x/p1', 3, 0, 2], {}] });
    expect(walked(rankPartitions(rig.state, TENANT, 'a.z', 1, 1, 0))).toBeNull();
  });

  test('the limit keeps the largest, however late they are met', () => {
    rig.push('wide', 'p0', ['0']);
    for (let i = 1; i <= 40; i++) {
      rig.push('wide', `p${i}`, Array.from({ length: i % 20 }, (_, n) => `${n}`).concat('x'));
    }
    const { partitions, walked } = ranked('wide', 3);
    expect(partitions?.map(([name, pending]) => [name, pending])).toEqual([
      ['wide/p19', 20],
      ['wide/p39', 20],
      ['wide/p18', 19],
    ]);
    expect(walked).toBe(41);
  });

  test('a walk that meets its bound says so', () => {
    expect(ranked(null, 10, 3)).toMatchObject({ walked: 3, truncated: true });
    expect(ranked(null, 10, 4)).toMatchObject({ walked: 4, truncated: false });
    expect(ranked('a.x', 10, 1)).toMatchObject({ walked: 1, truncated: true });
  });

  test('a clock behind that of the leader makes no negative lag', () => {
    rig.wallUs -= 3_600_000_000;
    expect(ranked('a.x').partitions).toEqual([
      ['a.x/p1', 3, 0, 0],
      ['a.x/p2', 2, 0, 0],
    ]);
  });
});

test('overview', () => {
  expect(walked(tenantOverview(rig.state, WALKED_FIGURES, TENANT, rig.wallUs))).toEqual({
    queues: 3,
    partitions: 4,
    namespaces: 2,
    tasks: 2,
    counts: { total: 10, pending: 8, processing: 2, completed: 2, deadLetter: 0 },
    lag: { queues: 2, secondsSum: 3, secondsMax: 2, messagesSum: 8, messagesMax: 5 },
  });
  expect(
    walked(tenantOverview(rig.state, WALKED_FIGURES, TENANT.replace('1', '3'), rig.wallUs)),
  ).toMatchObject({
    queues: 0,
    lag: { queues: 0 },
  });
});

const labels =
  (label: Label): Lister<LabelSum> =>
  (page, take) =>
    sumsByLabel(rig.state, WALKED_FIGURES, TENANT, label, page, rig.wallUs, take);

test('a page of labels is walked from its place', () => {
  for (let i = 0; i < 40; i++) rig.push(`many${100 + i}.t`, 'p', ['x']);
  for (const label of ['namespace', 'task'] as const) {
    const whole = wholeOf(labels(label));
    for (const limit of [1, 3, 100]) expect(pagedOf(labels(label), limit)).toEqual(whole);
  }
  const counted = new CountedState(rig.state);
  const counting: Lister<LabelSum> = (page, take) =>
    sumsByLabel(counted, WALKED_FIGURES, TENANT, 'namespace', page, rig.wallUs, take);
  const first = pageOf(counting, { after: '', limit: 20 });
  counted.rows = 0;
  const next = pageOf(counting, { after: first.nextAfter ?? '', limit: 2 });
  expect(next.rows.map(({ label }) => label)).toEqual(['many119', 'many120']);
  // What the index reads at a time, and two queues.
  expect(counted.rows).toBeLessThan(60);
});

test('labels that begin alike beyond what is indexed are told apart', () => {
  const begin = 'n'.repeat(600);
  for (const name of ['u', 'v', 'w']) rig.push(name, 'p', ['x']);
  rig.configure('u', { namespace: `${begin}2` });
  rig.configure('v', { namespace: `${begin}1` });
  rig.configure('w', { namespace: `${begin}2` });
  const shown = wholeOf(labels('namespace')).filter(({ label }) => label.startsWith('nn'));
  expect(shown.map(({ label, queues }) => [label.slice(-1), queues])).toEqual([
    ['1', 1],
    ['2', 2],
  ]);
});

test('sums by label, ascending, without the empty one', () => {
  const sums = (label: 'namespace' | 'task') =>
    wholeOf(labels(label)).map((sum) => [
      sum.label,
      sum.queues,
      sum.partitions,
      sum.counts.total,
      sum.counts.pending - sum.counts.processing,
    ]);
  expect(sums('namespace')).toEqual([
    ['a', 2, 3, 9, 6],
    ['plain', 1, 1, 1, 0],
  ]);
  expect(sums('task')).toEqual([
    ['x', 1, 2, 5, 5],
    ['y', 1, 1, 4, 1],
  ]);
});

test('sizes, by name', () => {
  const sizes = walked(queueSizes(rig.state, TENANT, 'a.x', WHOLE, 10));
  expect(sizes?.partitions.map(({ partition }) => partition)).toEqual(['p1', 'p2']);
  const [first, second] = sizes?.partitions ?? [];
  expect(first?.bytes).toBeGreaterThan(second?.bytes ?? 0);
  expect(sizes?.truncated).toBe(false);
  const cut = walked(queueSizes(rig.state, TENANT, 'a.x', WHOLE, 1));
  expect(cut).toEqual({ partitions: [first], truncated: true, nextAfter: null });
  expect(walked(queueSizes(rig.state, TENANT, 'a.x', WHOLE, 2))?.truncated).toBe(false);
  expect(walked(queueSizes(rig.state, OTHER_TENANT, 'a.x', WHOLE, 1))).toBeNull();
});
