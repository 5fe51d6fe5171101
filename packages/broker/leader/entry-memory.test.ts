// Goal: the entry of a large command is written into memory that was written to before, a bounded
// part in a turn of the loop; small commands wait for nothing, and nothing grows that is not used.
// Method: a clock that runs one piece of work at a time, a planner, and counts of what is written.
import { crc32 } from 'node:zlib';
import {
  type Command,
  MapState,
  Planner,
  type PushCommand,
  type RequestOrigin,
  type RequestSession,
  TransactionIndex,
} from '@svc/engine';
import { beforeEach, expect, test, vi } from 'vitest';
import { TurnedClock } from '../testing/turned-clock.fake.js';
import { EntryMemory } from './entry-memory.js';

const MIB = 1 << 20;

let clock: TurnedClock;
let memory: EntryMemory;

beforeEach(() => {
  clock = new TurnedClock();
  memory = new EntryMemory(clock);
});

function push(bytes: number): PushCommand {
  return {
    kind: 'push',
    tenant: '00000000-0000-0000-0000-000000000001',
    producerSub: null,
    body: Buffer.alloc(bytes, '0'),
    groups: [{ queue: 'q', partition: 'p' }],
    itemGroup: [0],
    transactionIds: [null],
    payloadStart: [0],
    payloadEnd: [bytes],
  };
}

/** Most bytes that a turn of the loop writes, and how many turns there are. */
function run(): { readonly most: number; readonly turns: number } {
  let most = 0;
  let turns = 0;
  for (let work = clock.works.shift(); work !== undefined; work = clock.works.shift()) {
    const fill = vi.spyOn(Uint8Array.prototype, 'fill');
    work();
    const written = fill.mock.calls.reduce(
      (sum, [, from = 0, to = 0]) => sum + Number(to) - Number(from),
      0,
    );
    fill.mockRestore();
    most = Math.max(most, written);
    turns++;
  }
  return { most, turns };
}

test('a command of 20 MiB is planned into memory that eleven turns of the loop wrote to', () => {
  const made: Uint8Array[] = [];
  const state = new MapState();
  const planner = new Planner(state, TransactionIndex.load(state), {
    nodeId: 1,
    checksum: crc32,
    newUuid: () => '01a2b3c4-0000-7000-8000-000000000001',
    readLog: () => new Uint8Array(0),
    cipher: null,
    memory: (bytes) => {
      made.push(memory.take(bytes));
      return made.at(-1) ?? new Uint8Array(0);
    },
  });
  const command: Command = push(20 * MIB);
  expect(memory.takes(command, null, () => planner.enqueue(command, {}))).toBe(true);
  expect(planner.waiting).toBe(0);
  expect(run()).toEqual({ most: 2 * MIB, turns: 11 });
  expect(planner.waiting).toBe(1);
  const { body } = planner.turn({ index: 1, wallUs: 1_000_000, nowMs: 1000 });
  expect(made).toHaveLength(1);
  // The prepared buffer, and the entry is a view of it.
  expect(made[0]?.buffer.byteLength).toBe(21 * MIB);
  expect(body?.buffer === made[0]?.buffer).toBe(true);
  expect(body?.length).toBeGreaterThan(20 * MIB);
});

test('small commands wait for nothing, and get memory of their own', () => {
  expect(memory.takes(push(MIB), null, () => {})).toBe(false);
  expect(memory.takes({ ...push(0), itemGroup: [] }, null, () => {})).toBe(false);
  memory.takes(push(4 * MIB), null, () => {});
  run();
  expect(memory.take(1000).buffer.byteLength).toBe(1000);
  expect(memory.take(2 * MIB).buffer.byteLength).toBe(2 * MIB);
  expect(memory.take(4 * MIB).buffer.byteLength).toBe(5 * MIB);
  expect(memory.take(4 * MIB).buffer.byteLength).toBe(4 * MIB);
});

test('one at a time, in their order, and none is given away twice', () => {
  const given: Uint8Array[] = [];
  const planned = () => void clock.works.push(() => given.push(memory.take(8 * MIB)));
  for (let count = 0; count < 4; count++) memory.takes(push(8 * MIB), null, planned);
  expect(clock.works).toHaveLength(1);
  // Each turn comes while the memory of the next one is being made.
  const { turns } = run();
  expect(new Set(given.map(({ buffer }) => buffer)).size).toBe(4);
  expect(given.map(({ buffer }) => buffer.byteLength)).toEqual(new Array(4).fill(9 * MIB));
  expect(turns).toBe(4 * (5 + 1));
});

test('what nobody takes is bounded, the oldest goes, and a turn takes what fits it', () => {
  const sizes = [10, 20, 50].map((mib) => mib * MIB);
  for (const bytes of sizes) memory.takes(push(bytes), null, () => {});
  run();
  // 11 and 21 MiB would be 83 with 51.
  const lengths = sizes.map((bytes) => memory.take(bytes).buffer.byteLength);
  expect(lengths).toEqual([10 * MIB, 20 * MIB, 51 * MIB]);
  // Far smaller: it would hold the whole buffer for a part of it.
  memory.takes(push(20 * MIB), null, () => {});
  run();
  expect(memory.take(3 * MIB).buffer.byteLength).toBe(3 * MIB);
  expect(memory.take(20 * MIB).buffer.byteLength).toBe(21 * MIB);
});

test('it is known while it waits, and forgotten when the leadership ends', () => {
  const origin: RequestOrigin = {
    session: 's'.repeat(16) as RequestSession,
    sequence: 7,
    settledBelow: 0,
    settled: [],
  };
  memory.takes(push(8 * MIB), origin, () => {
    throw new Error('nobody leads');
  });
  expect([memory.knows(origin), memory.idle]).toEqual([true, false]);
  expect(memory.knows({ ...origin, sequence: 8 })).toBe(false);
  memory.stop();
  run();
  expect([memory.knows(origin), memory.idle]).toEqual([false, true]);
});
