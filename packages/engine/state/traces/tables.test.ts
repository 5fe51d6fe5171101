/**
 * Goal: traces are listed by message and by name, newest first, with totals that never differ from
 * the traces, and go when their time is up, a bounded number in an entry. Method: directed cases
 * over a planner; then random traces and expiries against a plain array.
 */
import { expect, test } from 'vitest';
import type { TraceCommand } from '../../base/commands/traces.js';
import { utf8Read } from '../../base/utf8.js';
import { EngineRig, TENANT, utf8 } from '../../testing/engine.fake.js';
import { walked } from '../../testing/page.fake.js';
import { SeededRandom } from '../../testing/random.fake.js';
import { listTraceNames, messageTraces, namedTraces, type Paging } from '../../views/trace-list.js';
import { findPartition, findQueue } from '../catalog.js';
import { traceData, traceIndex, traceMessages, traces, traceTotals } from './tables.js';

const WEEK_MS = 604_800_000;
const ALL: Paging = { limit: 1000, offset: 0 };

function command(trace: Partial<TraceCommand>): TraceCommand {
  return {
    kind: 'trace',
    tenant: TENANT,
    transactionId: 't',
    partitionId: null,
    names: [],
    eventType: 'event',
    data: utf8('null'),
    consumerGroup: null,
    worker: null,
    messageId: null,
    traceId: null,
    ...trace,
  };
}

function write(rig: EngineRig, trace: Partial<TraceCommand>): string | null | undefined {
  const { outcome } = rig.call(command(trace));
  return outcome?.kind === 'traced' ? outcome.traceId : undefined;
}

function ofName(rig: EngineRig, name: string, paging = ALL) {
  const { traces: found, total } = walked(namedTraces(rig.planner.state, TENANT, name, paging));
  return { total, data: found.map(({ data }) => utf8Read(data ?? utf8(''), 0, data?.length ?? 0)) };
}

function ofMessage(rig: EngineRig, partition: string, id: string, paging = ALL) {
  const walk = messageTraces(rig.planner.state, TENANT, partition, id, paging);
  const { traces: found, total } = walked(walk);
  return { total, data: found.map(({ data }) => utf8Read(data ?? utf8(''), 0, data?.length ?? 0)) };
}

function names(rig: EngineRig, paging = ALL) {
  const { names: found, total } = walked(listTraceNames(rig.planner.state, TENANT, paging));
  return {
    total,
    names: found.map(({ name, traces: count, messages }) => [name, count, messages]),
  };
}

test('by message and by name, newest first, a page at a time', () => {
  const rig = new EngineRig();
  rig.push('q', 'p', ['t']);
  const { state } = rig.planner;
  const row = findPartition(state, findQueue(state, TENANT, 'q')?.number ?? 0, 'p');
  const digits = String(row?.number);
  for (let i = 0; i < 3; i++) {
    write(rig, { partitionId: digits, names: ['n'], data: utf8(String(i)) });
  }
  write(rig, {
    partitionId: row?.id ?? '',
    transactionId: 't2',
    names: ['n', 'm'],
    data: utf8('3'),
  });
  expect(ofMessage(rig, digits, 't')).toEqual({ total: 3, data: ['2', '1', '0'] });
  expect(ofMessage(rig, row?.id ?? '', 't2')).toEqual({ total: 1, data: ['3'] });
  expect(ofMessage(rig, '99', 't')).toEqual({ total: 0, data: [] });
  expect(ofMessage(rig, 'x', 't')).toEqual({ total: 0, data: [] });
  expect(ofName(rig, 'n')).toEqual({ total: 4, data: ['3', '2', '1', '0'] });
  expect(ofName(rig, 'n', { limit: 2, offset: 1 })).toEqual({ total: 4, data: ['2', '1'] });
  expect(ofName(rig, 'n', { limit: 2, offset: 9 })).toEqual({ total: 4, data: [] });
  expect(names(rig)).toEqual({
    total: 2,
    names: [
      ['m', 1, 1],
      ['n', 4, 2],
    ],
  });
  expect(names(rig, { limit: 1, offset: 1 })).toEqual({ total: 2, names: [['n', 4, 2]] });
  const [newest] = walked(namedTraces(state, TENANT, 'n', ALL)).traces;
  expect(newest).toMatchObject({ queue: 'q', partition: 'p', partitionNumber: row?.number });
});

test('names that begin alike are apart, and stand in the order of their bytes', () => {
  const rig = new EngineRig();
  for (const name of ['a', 'ab', 'a\u00e9', 'Z', '\u{1F680}', 'a b']) write(rig, { names: [name] });
  expect(ofName(rig, 'a').total).toBe(1);
  expect(names(rig).names.map(([name]) => name)).toEqual([
    'Z',
    'a',
    'a b',
    'ab',
    'a\u00e9',
    '\u{1F680}',
  ]);
});

test('an unknown partition stores nothing; none named is none', () => {
  const rig = new EngineRig();
  expect(write(rig, { partitionId: '7', names: ['n'] })).toBeNull();
  expect(rig.entries).toBe(0);
  expect(write(rig, { names: ['n'] })).toMatch(/^[0-9a-f-]{36}$/);
  const own = '0199d0c4-7b1e-7c7e-9a10-3f5b2c8d9e0f';
  expect(write(rig, { traceId: own })).toBe(own);
  expect(walked(namedTraces(rig.planner.state, TENANT, 'n', ALL)).traces[0]).toMatchObject({
    partitionNumber: 0,
    queue: null,
    partition: null,
  });
});

test('they outlive their queue, and then name none', () => {
  const rig = new EngineRig();
  rig.push('q', 'p', ['t']);
  write(rig, { partitionId: '1', names: ['n'] });
  rig.call({ kind: 'delete-queue', tenant: TENANT, queue: 'q' });
  for (let turn = 0; turn < 5; turn++) rig.turn();
  expect(ofMessage(rig, '1', 't').total).toBe(1);
  const [trace] = walked(namedTraces(rig.planner.state, TENANT, 'n', ALL)).traces;
  expect(trace).toMatchObject({ partitionNumber: 1, queue: null, partition: null });
});

test('expire in steps of 512, also after another leader has taken over', () => {
  const rig = new EngineRig();
  expect(rig.planner.nextDueMs()).toBeNull();
  for (let i = 0; i < 1100; i++) rig.send(command({ names: ['n'], data: utf8(String(i)) }));
  rig.turnAll();
  rig.advance(WEEK_MS / 2);
  write(rig, { names: ['n', 'young'], data: utf8('young') });
  rig.advance(WEEK_MS / 2 - 1);
  rig.turn();
  expect(ofName(rig, 'n').total).toBe(1101);
  rig.advance(60_000);
  rig.turn();
  expect(ofName(rig, 'n')).toMatchObject({ total: 1101 - 512 });
  rig.restart(2);
  for (let turn = 0; turn < 5; turn++) {
    rig.advance(100);
    rig.turn();
  }
  expect(ofName(rig, 'n')).toEqual({ total: 1, data: ['young'] });
  rig.advance(WEEK_MS);
  rig.turn();
  rig.advance(60_000);
  rig.turn();
  for (const table of [traces, traceData, traceIndex, traceTotals, traceMessages]) {
    expect([table.name, rig.rows(table as never)]).toEqual([table.name, []]);
  }
  rig.advance(60_000);
  rig.turn();
  expect(rig.planner.nextDueMs()).toBeNull();
});

test('expire at a leader that is asked nothing, when it says that it is due', () => {
  const rig = new EngineRig();
  for (let i = 0; i < 600; i++) rig.send(command({ names: ['n'] }));
  rig.turn();
  rig.restart(2);
  // A new term looks at what there is.
  expect(rig.planner.nextDueMs()).toBe(0);
  const writtenMs = rig.nowMs;
  let turns = 0;
  for (;;) {
    const dueMs = rig.planner.nextDueMs();
    if (dueMs === null) break;
    rig.advance(Math.max(0, dueMs - rig.nowMs));
    rig.turn();
    turns++;
    if (turns > 20_000) throw new Error(`still due at ${rig.planner.nextDueMs()}`);
  }
  expect(ofName(rig, 'n').total).toBe(0);
  // Looks are a minute apart, and the two steps a moment.
  expect(turns).toBeLessThan(WEEK_MS / 60_000 + 10);
  expect(rig.nowMs - writtenMs).toBeGreaterThan(WEEK_MS);
  expect(rig.nowMs - writtenMs).toBeLessThan(WEEK_MS + 2 * 60_000);
});

test.each([1, 2, 3, 4])('lists and totals agree with a plain array (seed %i)', (seed) => {
  const random = new SeededRandom(seed);
  const rig = new EngineRig();
  rig.push('q', 'p1', ['x']);
  rig.push('q', 'p2', ['x']);
  let model: {
    atMs: number;
    partition: string | null;
    id: string;
    names: string[];
    data: string;
  }[] = [];
  for (let step = 0; step < 120; step++) {
    if (random.below(12) > 0) {
      const partition = ['1', '2', null][random.below(3)] ?? null;
      const own = ['a', 'b', 'c'].filter(() => random.below(2) === 0);
      const trace = { partition, id: `t${random.below(3)}`, names: own, data: String(step) };
      const { id: transactionId, data } = trace;
      write(rig, { partitionId: partition, transactionId, names: own, data: utf8(data) });
      model.push({ atMs: rig.nowMs, ...trace });
    } else {
      rig.advance(random.below(WEEK_MS / 4));
      // A look may be a minute late, and is as fresh as the last one then.
      rig.advance(60_000);
      rig.turn();
      rig.advance(100);
      rig.turn();
      model = model.filter(({ atMs }) => atMs >= rig.nowMs - 100 - WEEK_MS);
    }
    const newest = [...model].reverse();
    for (const name of ['a', 'b', 'c']) {
      const own = newest.filter((trace) => trace.names.includes(name)).map(({ data }) => data);
      expect([seed, step, name, ofName(rig, name)]).toEqual([
        seed,
        step,
        name,
        { total: own.length, data: own },
      ]);
    }
    const own = newest.filter(({ partition, id }) => partition === '1' && id === 't1');
    expect([seed, step, ofMessage(rig, '1', 't1').data]).toEqual([
      seed,
      step,
      own.map(({ data }) => data),
    ]);
    const expected = ['a', 'b', 'c'].flatMap((name) => {
      const those = model.filter((trace) => trace.names.includes(name));
      const messages = new Set(those.map(({ partition, id }) => `${partition} ${id}`));
      return those.length === 0 ? [] : [[name, those.length, messages.size]];
    });
    expect([seed, step, names(rig)]).toEqual([
      seed,
      step,
      { total: expected.length, names: expected },
    ]);
  }
});
