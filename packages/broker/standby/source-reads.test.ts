// Goal: a standby gets the applied entries of the log, whole and in order, within its bounds; it
// waits where nothing is new; whoever does not read, or follows another log, costs nothing
// (standby-link 9). Method: a log that is a list, a clock that a test moves, sinks that take as
// much as they are told, and the reader of answers that a standby has.
import type { ReadRequest } from '@svc/standby';
import { beforeEach, expect, test } from 'vitest';
import { CONFIGURATION, NORMAL } from '../consensus/consensus-storage.js';
import { createLogger } from '../system/logging.js';
import { FakeSink } from '../testing/answer-sink.fake.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { FakeLog } from '../testing/source-log.fake.js';
import { type SourceRead, SourceReads } from './source-reads.js';

const CLUSTER = '0190a7b4-7d5e-7abc-8def-0123456789ab';
const MIB = 1024 * 1024;

let log: FakeLog;
let clock: MovedClock;
let applied: number;
let noted: [string, number][];
let touched: number;
let result: 'kept' | 'full';
let damage: number;
let lines: string[];
let reads: SourceReads;

beforeEach(() => {
  log = new FakeLog();
  clock = new MovedClock();
  applied = 0;
  noted = [];
  touched = 0;
  result = 'kept';
  damage = 0;
  lines = [];
  reads = new SourceReads({
    clusterId: CLUSTER,
    log,
    appliedIndex: () => applied,
    holds: {
      note: (reader, after) => {
        noted.push([reader, after]);
        return result;
      },
      touch: () => {
        touched++;
      },
    },
    bytesPerS: MIB,
    heldBytesMax: 300_000,
    clock,
    logger: createLogger({ level: 'info', json: false }, (line) => lines.push(line)),
    onDamage: () => {
      damage++;
    },
  });
});

function fill(count: number, bytes = 100): void {
  for (let i = 0; i < count; i++) log.add(bytes);
  applied = log.list.length;
}

function ask(fields: Partial<ReadRequest> = {}, roomBytes = Number.POSITIVE_INFINITY) {
  const request: ReadRequest = {
    after: 0,
    afterTerm: fields.after === undefined || fields.after === 0 ? 0 : 1,
    maxBytes: 8 * MIB,
    waitMs: 0,
    reader: 'east',
    holdOnly: false,
    holdAfter: fields.after ?? 0,
    ...fields,
  };
  const sink = new FakeSink(request.after);
  sink.roomBytes = roomBytes;
  const read = reads.read(request, sink);
  return { sink, read, taken: read as SourceRead };
}

test('entries after the one that was named, up to what is applied, none of consensus', () => {
  fill(10);
  log.add(0);
  log.add(50, CONFIGURATION);
  log.add(70, NORMAL, 2);
  log.add(0, NORMAL, 2);
  applied = 14;
  log.add(99, NORMAL, 2);
  const { sink } = ask({ after: 7 });
  clock.move(10);
  expect(sink.indexes).toEqual([8, 9, 10, 13]);
  expect(sink.entries.at(-1)).toMatchObject({ term: 2, body: new Uint8Array(70).fill(13) });
  // What is not applied is not told; what is internal counts as covered.
  expect([sink.state, sink.kind]).toEqual(['ended', 'entries']);
  expect([sink.upto, sink.endTerm, sink.clusterId]).toEqual([14, 2, CLUSTER]);
  expect(noted).toEqual([['east', 7]]);
  expect([reads.size, clock.pending]).toEqual([0, 0]);
});

test('an answer ends at its bound, and one entry is always whole', () => {
  fill(5, 1000);
  const ends = (after: number, maxBytes: number) => {
    const { sink } = ask({ after, maxBytes });
    clock.move(10);
    expect(sink.state).toBe('ended');
    return [sink.indexes, sink.upto];
  };
  expect(ends(0, 1)).toEqual([[1], 1]);
  expect(ends(1, 1999)).toEqual([[2], 2]);
  expect(ends(2, 2000)).toEqual([[3, 4], 4]);
  expect(ends(4, 2000)).toEqual([[5], 5]);
  expect(log.mostBytes).toBeLessThanOrEqual(2000);
});

test('a turn of the loop sends one window', () => {
  fill(40, 100_000);
  const { sink } = ask();
  // 256 KiB hold two of them.
  expect(sink.indexes).toHaveLength(2);
  clock.next();
  expect(sink.indexes).toHaveLength(4);
  clock.move(50);
  expect([sink.indexes.length, sink.state, log.mostBytes]).toEqual([40, 'ended', 200_000]);
  // Many small ones are bounded by their number.
  fill(3000, 1);
  const small = ask({ after: 40 });
  expect(small.sink.indexes).toHaveLength(1024);
});

test('what has to be read from files is read at the pace that is allowed', () => {
  fill(64, 64 * 1024);
  log.recentFrom = 1000;
  const east = ask();
  const west = ask({ reader: 'west' });
  clock.move(1000);
  // A mebibyte a second for both together, and a window ahead of it.
  expect(log.fileBytes).toBeGreaterThan(0.9 * MIB);
  expect(log.fileBytes).toBeLessThan(1.4 * MIB);
  clock.move(10_000);
  expect([east.sink.state, west.sink.state]).toEqual(['ended', 'ended']);
  expect([east.sink.indexes.length, west.sink.indexes.length]).toEqual([64, 64]);
});

test('a reader that does not read costs one window, and is cut off', () => {
  fill(40, 100_000);
  const { sink, taken } = ask({}, 0);
  clock.move(29_000);
  expect([sink.state, sink.indexes.length]).toEqual(['open', 0]);
  taken.onRoom();
  // The head alone had filled it: now a window has.
  expect(sink.indexes).toHaveLength(2);
  clock.move(29_999);
  expect([sink.state, sink.indexes.length]).toEqual(['open', 2]);
  clock.move(1);
  expect([sink.state, sink.indexes.length, reads.size]).toEqual(['cut', 2, 0]);
  taken.onRoom();
  taken.cancel();
  expect(clock.pending).toBe(0);
});

test('all who do not read hold little together, and the others go on after them', () => {
  fill(40, 100_000);
  const stuck = ['a', 'b', 'c', 'd'].map((reader) => ask({ reader }, 1000));
  const honest = ask({ reader: 'e' });
  clock.move(1000);
  // Two windows of 200,000 bytes are more than may be held.
  expect(stuck.map(({ sink }) => sink.indexes.length)).toEqual([2, 2, 0, 0]);
  expect([honest.sink.indexes.length, log.readBytes]).toEqual([0, 400_000]);
  stuck[0]?.taken.cancel();
  clock.move(1);
  // Who has waited longest goes first.
  expect(stuck[2]?.sink.indexes.length).toBe(2);
  clock.move(70_000);
  expect(stuck.slice(1).map(({ sink }) => sink.state)).toEqual(['cut', 'cut', 'cut']);
  expect([honest.sink.state, honest.sink.indexes.length]).toEqual(['ended', 40]);
  expect([reads.size, clock.pending]).toEqual([0, 0]);
});

test('a reader at the end waits until something is applied', () => {
  fill(3);
  const { sink } = ask({ after: 3, waitMs: 20_000 });
  clock.move(19_000);
  expect(sink.kind).toBe('');
  // Its hold is renewed meanwhile: the shortest is of ten seconds.
  expect(touched).toBeGreaterThanOrEqual(4);
  reads.applied();
  // This node's own clients go first.
  expect(sink.kind).toBe('');
  clock.move(0);
  expect([sink.kind, sink.indexes, sink.upto, sink.state]).toEqual(['entries', [], 3, 'ended']);
  const other = ask({ after: 3, waitMs: 20_000 });
  log.add(10);
  applied = 4;
  reads.applied();
  clock.move(1);
  expect([other.sink.indexes, other.sink.state]).toEqual([[4], 'ended']);
});

test('a reader that has waited long enough is told that nothing came', () => {
  fill(3);
  const { sink } = ask({ after: 3, waitMs: 5000 });
  clock.move(4999);
  expect(sink.state).toBe('open');
  clock.move(1);
  expect([sink.state, sink.upto, sink.indexes]).toEqual(['ended', 3, []]);
  expect(clock.pending).toBe(0);
});

test('nobody waits where there is something to say', () => {
  fill(9);
  applied = 8;
  const behind = ask({ after: 9, waitMs: 9000 });
  expect([behind.sink.state, behind.sink.upto]).toEqual(['ended', 8]);
  const holds = ask({ after: 8, waitMs: 9000, holdOnly: true });
  expect([holds.sink.state, holds.sink.upto, holds.sink.indexes]).toEqual(['ended', 8, []]);
  const early = ask({ after: 2, waitMs: 9000, holdOnly: true });
  expect([early.sink.state, early.sink.upto, early.sink.indexes]).toEqual(['ended', 2, []]);
  const other = ask({ after: 8, afterTerm: 7, waitMs: 9000 });
  expect([other.sink.state, other.sink.kind, other.sink.term]).toEqual(['ended', 'mismatch', 1]);
  log.firstIndex = 5;
  const late = ask({ after: 3, waitMs: 9000 });
  expect([late.sink.state, late.sink.kind]).toEqual(['ended', 'purged']);
  // The log is kept for those whom it serves.
  expect(noted.map(([, after]) => after)).toEqual([9, 8, 2]);
});

test('what changes while a reader waits is judged when it is woken', () => {
  fill(5);
  const { sink } = ask({ after: 5, waitMs: 9000 });
  // A snapshot took the place of the log.
  log.firstIndex = 40;
  applied = 39;
  reads.applied();
  clock.move(0);
  expect([sink.state, sink.kind]).toEqual(['ended', 'purged']);
});

test('of one reader the newest read goes on, whatever the older one was at', () => {
  fill(40, 100_000);
  const resting = ask({ after: 40, waitMs: 9000 });
  const sending = ask({ after: 0 });
  expect(resting.sink.state).toBe('cut');
  const newest = ask({ after: 30 });
  expect(sending.sink.state).toBe('cut');
  const other = ask({ after: 30, reader: 'west' });
  // One that only holds disturbs nobody.
  ask({ after: 30, holdOnly: true });
  clock.move(20);
  expect([newest.sink.state, other.sink.state]).toEqual(['ended', 'ended']);
  expect(newest.sink.indexes).toHaveLength(10);
});

test('a log that is given up under a reader breaks the answer off', () => {
  fill(40, 100_000);
  const { sink } = ask();
  expect(sink.indexes).toEqual([1, 2]);
  log.firstIndex = 20;
  clock.move(20);
  expect([sink.state, sink.indexes]).toEqual(['cut', [1, 2]]);
});

test('damage breaks the answer off, is told once, and is to be repaired', () => {
  fill(40, 100_000);
  log.damagedAt = 5;
  for (let i = 0; i < 3; i++) {
    const { sink } = ask();
    clock.move(20);
    expect([sink.state, sink.indexes.length < 5]).toEqual(['cut', true]);
  }
  expect(damage).toBe(3);
  expect(lines).toHaveLength(1);
  // Its term cannot be compared here, and the standby need not be told that it differs.
  expect(ask({ after: 5 }).read).toBe('unreadable');
  const after = ask({ after: 6 });
  clock.move(50);
  expect([after.sink.state, after.sink.indexes.length]).toEqual(['ended', 34]);
  // Nor is the term of the place where an answer would end known to be none.
  log.damagedAt = 40;
  const behind = ask({ after: 50 });
  expect([behind.sink.state, damage]).toEqual(['cut', 5]);
});

test('nothing is sent beyond the end of a log that was lost', () => {
  fill(9);
  applied = 12;
  const { sink } = ask({ after: 5 });
  clock.move(10);
  expect([sink.state, sink.indexes, sink.upto]).toEqual(['ended', [6, 7, 8, 9], 9]);
  expect(ask({ after: 11 }).sink.upto).toBe(9);
});

test('a reader for whom there is no room is refused', () => {
  fill(3);
  result = 'full';
  const { read, sink } = ask({ waitMs: 5000 });
  expect([read, sink.state, reads.size]).toEqual(['too_many_readers', 'open', 0]);
});

test('a node that stops lets nobody wait, ends what is on its way and takes nothing new', () => {
  fill(40, 100_000);
  const waiting = ask({ after: 40, waitMs: 9000, reader: 'west' });
  const sending = ask();
  reads.drain();
  expect([waiting.sink.state, sending.sink.state]).toEqual(['ended', 'open']);
  reads.stop();
  expect(sending.sink.state).toBe('cut');
  expect(ask().read).toBe('stopping');
  expect([reads.size, clock.pending]).toEqual([0, 0]);
});

test('the log is held where the standby has applied, and not at all for one that is halted', () => {
  fill(9);
  ask({ after: 7, holdAfter: 4 });
  expect(noted).toEqual([['east', 4]]);
  clock.move(10);
  const before = touched;
  const { sink } = ask({ after: 9, holdAfter: null, waitMs: 9000 });
  clock.move(9000);
  expect(sink.state).toBe('ended');
  expect([noted.length, touched - before]).toEqual([1, 0]);
});

test('a reader that goes away takes nothing more', () => {
  fill(40, 100_000);
  const sending = ask();
  const waiting = ask({ after: 40, waitMs: 9000, reader: 'west' });
  sending.taken.cancel();
  waiting.taken.cancel();
  clock.move(10_000);
  log.add(1);
  applied++;
  reads.applied();
  expect([sending.sink.indexes.length, waiting.sink.kind]).toEqual([2, '']);
  expect([reads.size, clock.pending]).toEqual([0, 0]);
});
