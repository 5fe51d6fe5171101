// Goal: what a client was told is counted exactly once, whatever is killed, torn, lost or away; and
// the sums of days and months are those of the minutes.
// Method: random histories of a node beside a model that adds up what its clients were told. Each
// history ends with a store and a disk that work.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dayOf, monthOf } from '../metering/calendar.js';
import { OP_CLASSES, type OpClass } from '../metering/samples.js';
import { DAYS, dayKey, opOf, usageOf } from '../metering/usage-rows.js';
import { StoreUnavailableError } from '../store/kv.js';
import { monthMessages, rollUp } from './roll-up.js';
import { UsageNode } from './usage-node.fake.js';

/** Two days before the end of a month. */
const START_US = Date.UTC(2026, 10, 28, 23, 50) * 1000;
const CLUSTERS = ['c0', 'c1', 'c2'];
const DAY_MS = 86_400_000;

type Step =
  | { readonly kind: 'request' | 'killInWrite'; readonly of: Of; readonly written: number }
  | { readonly kind: 'rest' | 'setBack'; readonly ms: number }
  | { readonly kind: 'rollUp' | 'rollUpWhileFlushing'; readonly clusterId: string }
  | { readonly kind: 'tear'; readonly written: number }
  | { readonly kind: 'settle' | 'tick' | 'loseAnswer' | 'close' | 'kill' }
  | { readonly kind: 'storeDown' | 'diskBroken'; readonly is: boolean };

interface Of {
  readonly clusterId: string;
  readonly op: OpClass;
  readonly msgs: number;
}

const clusterId = fc.constantFrom(...CLUSTERS);
const of = fc.record({ clusterId, op: fc.constantFrom(...OP_CLASSES), msgs: fc.nat(100_000) });
const written = fc.nat(250);

interface Weighted {
  readonly weight: number;
  readonly arbitrary: fc.Arbitrary<Step>;
}

function often(weight: number, arbitrary: fc.Arbitrary<Step>): Weighted {
  return { weight, arbitrary };
}

function named<Kind extends Step['kind']>(kind: Kind): fc.Arbitrary<Kind> {
  return fc.constant(kind);
}

const ALWAYS: readonly Weighted[] = [
  often(12, fc.record({ kind: named('request'), of, written })),
  often(4, fc.record({ kind: named('settle') })),
  often(5, fc.record({ kind: named('rest'), ms: fc.nat(90_000) })),
  often(1, fc.record({ kind: named('rest'), ms: fc.constant(DAY_MS) })),
  often(1, fc.record({ kind: named('setBack'), ms: fc.nat(600_000) })),
  often(4, fc.record({ kind: named('tick') })),
  often(2, fc.record({ kind: named('storeDown'), is: fc.boolean() })),
  often(2, fc.record({ kind: named('loseAnswer') })),
  often(1, fc.record({ kind: named('close') })),
  often(2, fc.record({ kind: named('rollUp'), clusterId })),
  often(2, fc.record({ kind: named('rollUpWhileFlushing'), clusterId })),
];
const KILLS: readonly Weighted[] = [
  often(2, fc.record({ kind: named('kill') })),
  often(1, fc.record({ kind: named('killInWrite'), of, written })),
];
const DISK_FAULTS: readonly Weighted[] = [
  often(2, fc.record({ kind: named('diskBroken'), is: fc.boolean() })),
  often(1, fc.record({ kind: named('tear'), written })),
];

function historyOf(...kinds: readonly Weighted[]): fc.Arbitrary<readonly Step[]> {
  return fc.array(fc.oneof(...kinds), { minLength: 20, maxLength: 150 });
}

async function perform(node: UsageNode, step: Step): Promise<void> {
  switch (step.kind) {
    case 'request':
      return node.request(step.of.clusterId, step.of.op, step.of.msgs);
    case 'killInWrite':
      return node.killInWrite(step.of.clusterId, step.of.op, step.of.msgs, step.written);
    case 'rest':
      return node.advance(step.ms);
    case 'setBack':
      node.wallUs -= step.ms * 1000;
      return;
    case 'rollUp':
      return rollUpIfUp(node, step.clusterId);
    case 'rollUpWhileFlushing':
      // A flush comes between the minutes that are read and the sums that are put.
      node.store.onBatch = () => node.tick();
      await rollUpIfUp(node, step.clusterId);
      node.store.onBatch = null;
      return;
    case 'tear':
      node.spool.tearsAfter = step.written;
      return;
    case 'loseAnswer':
      node.store.losesNextAnswer = true;
      return;
    case 'storeDown':
      node.store.down = step.is;
      return;
    case 'diskBroken':
      node.spool.broken = step.is;
      return;
    default:
      return node[step.kind]();
  }
}

async function rollUpIfUp(node: UsageNode, id: string): Promise<void> {
  try {
    await rollUp(node.store, node.clock, id, 30);
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
  }
}

async function run(history: readonly Step[]): Promise<UsageNode> {
  const node = new UsageNode(START_US);
  for (const step of history) await perform(node, step);
  await node.drain();
  return node;
}

async function expectExact(node: UsageNode): Promise<void> {
  const stored = await node.stored();
  for (const place of new Set([...stored.keys(), ...node.told.keys()])) {
    const told = node.told.get(place) ?? 0;
    const found = stored.get(place) ?? 0;
    expect(found, place).toBeGreaterThanOrEqual(told);
    expect(found, place).toBeLessThanOrEqual(told + (node.doubtful.get(place) ?? 0));
  }
}

/** The sums that a reader of days and months sees are those of the minutes. */
async function expectSums(node: UsageNode): Promise<void> {
  const days = new Map<string, number>();
  const months = new Map<string, number>();
  for (const [place, count] of await node.stored()) {
    const [id = '', minuteUs, opClass = ''] = place.split(' ');
    const day = `${id} ${dayOf(Number(minuteUs))} ${opClass}`;
    days.set(day, (days.get(day) ?? 0) + count);
    if (opClass !== 'push' && opClass !== 'txn') continue;
    const month = `${id} ${monthOf(Number(minuteUs))}`;
    months.set(month, (months.get(month) ?? 0) + count);
  }
  const month = (id: string) => monthMessages(node.store, id, node.wallUs);
  const expected = (id: string) => months.get(`${id} ${monthOf(node.wallUs)}`) ?? 0;
  for (const id of CLUSTERS) expect(await month(id)).toBe(expected(id));
  node.advance(DAY_MS + 3_600_000);
  for (const id of CLUSTERS) {
    expect(await rollUp(node.store, node.clock, id, 60)).toBe(true);
    expect(await month(id)).toBe(expected(id));
  }
  for (const [place, count] of days) {
    const [id = '', day = '', opClass] = place.split(' ');
    const row = await node.store.get(DAYS, dayKey(id, day, opOf(opClass) ?? 'read'));
    expect(row === null ? null : usageOf(row.value)?.msgs, place).toBe(count);
  }
}

describe('after any history', () => {
  test('with kills, what clients were told is counted exactly once', async () => {
    await fc.assert(
      fc.asyncProperty(historyOf(...ALWAYS, ...KILLS), async (history) => {
        const node = await run(history);
        await expectExact(node);
        await expectSums(node);
        // A process that was killed while it made a file leaves one that says nothing.
        expect(node.spool.texts().filter((text) => text.includes('\n'))).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });

  test('with a disk that fails and no kills, too', async () => {
    await fc.assert(
      fc.asyncProperty(historyOf(...ALWAYS, ...DISK_FAULTS), async (history) => {
        const node = await run(history);
        await expectExact(node);
        await expectSums(node);
      }),
      { numRuns: 60 },
    );
  });
});
