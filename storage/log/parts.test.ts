/**
 * Goal: a large entry becomes durable part by part, two at a time, and a crash between two parts
 * leaves the log as if it had never been written. Method: the simulated disk, one operation at a
 * time, and a loss of power after each of them.
 */
import { expect, test } from 'vitest';
import type { DiskError } from '../disk/faults.js';
import { SimulatedDisk } from '../testing/simulated-disk.js';
import type { LogEntry } from './entry.js';
import { Log } from './log.js';

const MIB = 1 << 20;
const BYTES = 10 * MIB;

function entry(index: number, bytes: number): LogEntry {
  return { index, term: 1, type: 0, data: new Uint8Array(bytes).fill(index) };
}

function failed(error: DiskError): void {
  throw error;
}

function open(disk: SimulatedDisk, onFailure = failed): Log {
  const identity = new Uint8Array(16).fill(7);
  return Log.open({ disk, directory: '/log', identity, onFailure });
}

/** One small entry is durable, the large one is asked for; `done` runs when it is. */
function begun(disk: SimulatedDisk, done: () => void, onFailure = failed): Log {
  const log = open(disk, onFailure);
  log.append([entry(1, 10)], () => {});
  disk.settle();
  log.append([entry(2, BYTES)], done);
  return log;
}

test('its parts are told of before its end, and small entries have none', () => {
  const disk = new SimulatedDisk({ seed: 1 });
  let isDone = false;
  const log = begun(disk, () => {
    isDone = true;
  });
  expect(log.partBytes).toBe(0);
  const seen: number[] = [];
  const underWay: number[] = [disk.waitingCount];
  while (!isDone && disk.step()) {
    if (log.partBytes !== (seen.at(-1) ?? 0)) {
      seen.push(log.partBytes);
      underWay.push(disk.waitingCount);
    }
    expect(log.durableIndex).toBe(isDone ? 2 : 1);
  }
  expect(seen[0]).toBe(4 * MIB);
  expect(seen).toHaveLength(3);
  expect(seen[2]).toBeGreaterThan(BYTES);
  expect(underWay).toEqual([2, 2, 1, 0]);
});

test('when a part fails, what else is under way makes nothing durable', () => {
  for (const fails of ['write', 'fdatasync'] as const) {
    const disk = new SimulatedDisk({ seed: 3 });
    const errors: DiskError[] = [];
    const log = begun(
      disk,
      () => {
        throw new Error('it is not durable');
      },
      (error) => errors.push(error),
    );
    disk.failNext(fails, 'EIO');
    log.append([entry(3, 10)], () => {
      throw new Error('nor is what follows it');
    });
    disk.settle();
    expect(errors.map(({ code }) => code)).toEqual(['EIO']);
    expect(log.durableIndex).toBe(1);
  }
});

test('a loss of power after any step leaves all of it or nothing', () => {
  const found = new Set<number>();
  for (let steps = 0; ; steps++) {
    const disk = new SimulatedDisk({ seed: steps });
    let isDone = false;
    begun(disk, () => {
      isDone = true;
    });
    for (let step = 0; step < steps; step++) disk.step();
    disk.crash('power');
    const log = open(disk);
    if (isDone) expect(log.lastIndex).toBe(2);
    found.add(log.lastIndex);
    const [last] = log.entries(log.lastIndex, log.lastIndex + 1, BYTES);
    expect(last?.data.length).toBe(log.lastIndex === 2 ? BYTES : 10);
    if (isDone) break;
  }
  expect([...found].sort()).toEqual([1, 2]);
});
