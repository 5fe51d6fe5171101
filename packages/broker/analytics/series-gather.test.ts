/**
 * Goal: a read of series has the answers of all nodes that give one in time, and names those that
 * do not; whatever a node answers, nobody else is harmed. Method: three nodes whose calls pass
 * through memory, or do not, on a clock that the test moves.
 */
import { LoopShare } from '@svc/http';
import type { Status } from '@svc/raft';
import { SimulatedDisk } from '@svc/storage/testing';
import { newMeters } from '@svc/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readConfig } from '../config/config.js';
import { memberId } from '../config/member-id.js';
import type { CallDone, CallFailure, PeerCalls } from '../peers/calls.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { blockAt, processAt } from '../testing/series.fake.js';
import { NodeSeries } from './node-series.js';
import {
  eachQueueRow,
  type GatheredSeries,
  SeriesGather,
  type SeriesQuestion,
} from './series-gather.js';

const NODES = [1, 2, 3];
const ALL: SeriesQuestion = {
  fromMinute: 0,
  toMinute: 1_000_000,
  widthMinutes: 1,
  process: true,
  totals: true,
  recentFrom: 2,
  queues: { tenant: 't', queue: null, names: true },
};

let clock: MovedClock;
let gathers: SeriesGather[];
let all: NodeSeries[];
/** What becomes of calls to a node: it serves them, or this. */
let fate: Map<number, CallFailure | Uint8Array | 'silent'>;
let asked: number[];

function callsOf(handlers: Map<number, (body: Uint8Array, done: CallDone) => void>, self: number) {
  return {
    serve: (_: string, handler: (call: unknown) => void) => {
      handlers.set(self, (body, done) =>
        handler({ body, answer: (parts: Uint8Array[]) => done(Buffer.concat(parts)) }),
      );
      return () => handlers.delete(self);
    },
    call: (to: number, _: string, parts: readonly Uint8Array[], ms: number, done: CallDone) => {
      asked.push(to);
      const outcome = fate.get(to);
      const serve = handlers.get(to);
      if (outcome === 'silent') clock.after(ms, () => done('timeout'));
      else if (outcome !== undefined) clock.soon(() => done(outcome));
      else if (serve === undefined) clock.soon(() => done('unserved'));
      else clock.soon(() => serve(Buffer.concat(parts), done));
      return { cancel: () => {} };
    },
  } as unknown as PeerCalls;
}

beforeEach(() => {
  clock = new MovedClock();
  fate = new Map();
  asked = [];
  const handlers = new Map<number, (body: Uint8Array, done: CallDone) => void>();
  const voters = NODES.map((node) => memberId(node, 7));
  const status = { configuration: { voters, learners: [], outgoing: [] } } as unknown as Status;
  all = NODES.map((node) => {
    const config = readConfig({ SVC_RAFT_DIR: '/d' }, `n${node}`);
    if (config.kind === 'refused') throw new Error(config.error);
    const silent = () => {};
    const logger = {
      error: silent,
      warn: silent,
      info: silent,
      debug: silent,
      trace: silent,
      fatal: silent,
    };
    const disk = new SimulatedDisk({ seed: node });
    const series = new NodeSeries({
      config,
      disk,
      clock,
      loop: new LoopShare(clock),
      logger,
      meters: newMeters(),
    });
    series.store.addProcess(processAt(1, 10 * node));
    series.store.addProcess(processAt(2, node));
    series.store.name(7, { tenant: 't', queue: 'q' }, 2);
    series.store.name(8, { tenant: 'other', queue: 'q' }, 2);
    series.store.addQueues(blockAt(2, { 7: node, 8: 100 }));
    return series;
  });
  gathers = NODES.map((node, i) => {
    const gather = new SeriesGather({
      self: memberId(node, 7),
      hostname: `n${node}`,
      port: 6632,
      series: all[i] ?? null,
      consensus: { status: () => status },
      calls: callsOf(handlers, node),
    });
    gather.open();
    return gather;
  });
});

afterEach(() => {
  for (const series of all) series.stop(() => {});
});

function ask(question = ALL, from = 0): GatheredSeries[] {
  const found: GatheredSeries[] = [];
  gathers[from]?.ask(question, (gathered) => found.push(gathered));
  return found;
}

test('all nodes, each with its own rows, of the tenant alone', () => {
  const found = ask();
  clock.move(10);
  const [gathered] = found;
  expect(gathered?.missing).toEqual([]);
  expect(gathered?.self).toBe(1);
  const nodes = gathered?.nodes ?? [];
  expect(nodes.map(({ node, hostname, port }) => [node, hostname, port])).toEqual([
    [1, 'n1', 6632],
    [2, 'n2', 6632],
    [3, 'n3', 6632],
  ]);
  for (const { node, process, totals, recent, newestMinute, queueBuckets, names } of nodes) {
    expect(process.map(({ counts }) => counts.pushMessages)).toEqual([10 * node, node]);
    expect(totals?.pushMessages).toBe(11 * node);
    expect(recent?.counts.pushMessages).toBe(node);
    expect(recent?.gauges.mapUsedPct).toBeNull();
    expect(newestMinute).toBe(2);
    const rows = [...eachQueueRow(queueBuckets)];
    expect(rows.map(({ number, counts }) => [number, counts.pushMessages])).toEqual([[7, node]]);
    expect([...names]).toEqual([[7, expect.objectContaining({ queue: 'q' })]]);
  }
});

test('who does not answer is named, and nobody waits longer than 1.5 s', () => {
  fate.set(2, 'silent');
  fate.set(3, 'unreachable');
  const found = ask();
  clock.move(1000);
  expect(found).toEqual([]);
  clock.move(500);
  expect(found[0]?.missing).toEqual([2, 3]);
  expect(found[0]?.nodes.map(({ node }) => node)).toEqual([1]);
});

test.each<[string, Uint8Array]>([
  ['nothing', new Uint8Array(0)],
  ['no number', Uint8Array.of(255, 255)],
  ['an empty record', Uint8Array.of(0)],
  ['a record that goes on', Uint8Array.of(9, 1)],
])('an answer that is %s counts as none', (_, bytes) => {
  fate.set(2, bytes);
  const found = ask();
  clock.move(10);
  expect(found[0]?.missing).toEqual([2]);
});

test('a question that is none is not answered, and does no harm', () => {
  // The last asks for buckets of no width.
  for (const text of ['', '{', '[]', '\0\0\0\0\0\0\0']) {
    const answers: unknown[] = [];
    const other = gathers[1] as unknown as { ask: unknown };
    expect(other).toBeDefined();
    callsServed(2, Buffer.from(text), (answer) => answers.push(answer));
    clock.move(5);
    expect(answers, text).toEqual([]);
  }
});

/** Sends a body to node 2 as if node 1 had made it. */
function callsServed(node: number, body: Uint8Array, done: CallDone): void {
  const handlers = new Map<number, (body: Uint8Array, done: CallDone) => void>();
  const gather = new SeriesGather({
    self: memberId(node, 7),
    hostname: 'x',
    port: 1,
    series: all[node - 1] ?? null,
    consensus: { status: () => null },
    calls: callsOf(handlers, node),
  });
  gather.open();
  handlers.get(node)?.(body, done);
}

test('equal questions are asked once, others are not held up', () => {
  const [first, second] = [ask(), ask()];
  const other = ask({ ...ALL, widthMinutes: 5 });
  expect(asked.length).toBe(4);
  clock.move(10);
  expect([first.length, second.length, other.length]).toEqual([1, 1, 1]);
  ask();
  expect(asked.length).toBe(6);
});

test('too many different questions at once are not taken', () => {
  fate.set(2, 'silent');
  const [gather] = gathers;
  const taken = Array.from({ length: 70 }, (_, i) =>
    gather?.ask({ ...ALL, fromMinute: i }, () => {}),
  );
  expect(taken.filter((one) => one).length).toBe(64);
  for (let left = 16; left > 0; left--) clock.move(1500);
  expect(gather?.ask(ALL, () => {})).toBe(true);
});

test('four are gathered at once, and the others after them, in their order', () => {
  fate.set(2, 'silent');
  const answered: number[] = [];
  for (let i = 0; i < 10; i++) {
    gathers[0]?.ask({ ...ALL, fromMinute: i }, () => answered.push(i));
  }
  expect(asked.length, 'calls to both of the others').toBe(4 * 2);
  clock.move(1500);
  expect(answered).toEqual([0, 1, 2, 3]);
  expect(asked.length).toBe(8 * 2);
  clock.move(1500);
  clock.move(1500);
  expect(answered).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test('a node that keeps nothing answers with nothing', () => {
  const found: GatheredSeries[] = [];
  const gather = new SeriesGather({
    self: memberId(1, 7),
    hostname: 'n1',
    port: 1,
    series: null,
    consensus: { status: () => null },
    calls: null,
  });
  expect(gather.ask(ALL, (gathered) => found.push(gathered))).toBe(true);
  expect(found[0]?.nodes[0]).toMatchObject({ process: [], totals: null, newestMinute: null });
});
