/**
 * A small log of several segments that tests damage, another node's log of the same entries, and
 * what a host does between the two.
 */

import { assert, DamageError } from '../disk/faults.js';
import type { DamagedSlot } from '../log/damage.js';
import type { LogEntry } from '../log/entry.js';
import { Log } from '../log/log.js';
import { SimulatedDisk } from './simulated-disk.js';

export const DIRECTORY = '/log';
export const WITNESS = `${DIRECTORY}/witness`;
export type Files = ReadonlyMap<string, Uint8Array>;

export interface Shape {
  readonly identity: number;
  readonly segmentBytes: number;
}

export const SUBJECT: Shape = { identity: 7, segmentBytes: 700 };
export const PEER: Shape = { identity: 9, segmentBytes: 1500 };

export function open(disk: SimulatedDisk, shape: Shape, damage: 'refuse' | 'keep'): Log {
  return Log.open({
    disk,
    directory: DIRECTORY,
    identity: new Uint8Array(16).fill(shape.identity),
    segmentBytes: shape.segmentBytes,
    zeroFillBytes: 128,
    recentBytesMax: 0,
    damage,
    onFailure: (error) => {
      throw error;
    },
  });
}

export function entry(index: number, term: number): LogEntry {
  const body = `body ${index} of ${term};`.repeat((index * 7) % 5);
  return { index, term, type: index % 3, data: new Uint8Array(Buffer.from(body)) };
}

/** The groups in which the subject wrote its log: first index, count, term. */
const GROUPS = [
  [1, 3, 1],
  [4, 1, 1],
  [5, 4, 1],
  [9, 2, 2],
  [11, 1, 2],
  [12, 5, 3],
  [17, 2, 3],
  [19, 1, 3],
  [20, 3, 5],
] as const;
export const ENTRIES: readonly LogEntry[] = GROUPS.flatMap(([first, count, term]) =>
  Array.from({ length: count }, (_, i) => entry(first + i, term)),
);
export const LAST = ENTRIES.length;

export function build(shape: Shape, end: 'close' | 'kill'): Files {
  const disk = new SimulatedDisk({ seed: 1 });
  const log = open(disk, shape, 'refuse');
  for (const [first, count] of GROUPS) {
    log.append(ENTRIES.slice(first - 1, first - 1 + count), () => {});
    disk.settle();
  }
  log.tick();
  disk.settle();
  if (end === 'close') log.close(() => {});
  disk.settle();
  return snapshot(disk);
}

export function snapshot(disk: SimulatedDisk): Files {
  return new Map(disk.paths().map((path) => [path, disk.contents(path)]));
}

export function diskWith(files: Files): SimulatedDisk {
  const disk = new SimulatedDisk({ seed: 1 });
  for (const [path, bytes] of files) disk.plant(path, bytes);
  return disk;
}

export function withFile(files: Files, path: string, bytes: Uint8Array | null): Files {
  const changed = new Map(files);
  if (bytes === null) changed.delete(path);
  else changed.set(path, bytes);
  return changed;
}

export function flipped(files: Files, path: string, ...bits: number[]): Files {
  const bytes = files.get(path)?.slice() ?? new Uint8Array(0);
  for (const bit of bits) bytes[bit >>> 3] = (bytes[bit >>> 3] ?? 0) ^ (1 << (bit & 7));
  return withFile(files, path, bytes);
}

export function text({ index, term, type, data }: LogEntry): string {
  return `${index}/${term}/${type}/${Buffer.from(data).toString()}`;
}

export function content(log: Log): string[] {
  const found: string[] = [];
  for (let index = log.firstIndex; index <= log.lastIndex; ) {
    const some = log.entries(index, log.lastIndex + 1, 500);
    found.push(...some.map(text));
    index += some.length;
  }
  return found;
}

export const WHOLE = ENTRIES.map(text);

export interface Healing {
  /** Everything from here on was cut and given anew; LAST + 1 when nothing was. */
  cutAt: number;
  repaired: number;
}

/** What the host does at a boot: the tail first, then slot by slot; what nobody has is cut. */
export function heal(disk: SimulatedDisk, log: Log, peer: Log): Healing {
  const healing = { cutAt: LAST + 1, repaired: 0 };
  const cut = (index: number) => {
    if (index <= log.lastIndex) healing.cutAt = Math.min(healing.cutAt, index);
    log.cutFrom(index, () => {});
    disk.settle();
  };
  for (let round = 0; !log.isWhole; round++) {
    assert(round < 100, 'the repair does not come to an end');
    const slots = log.damage();
    const tail = slots.find((slot) => slot.kind === 'tail');
    if (tail !== undefined) cut(tail.index);
    for (const slot of slots) {
      if (slot.kind === 'tail' || slot.index > log.lastIndex) continue;
      if (repairFrom(log, peer, slot) === 'different') cut(runFirst(log, slot));
      else healing.repaired++;
    }
    disk.settle();
  }
  const missing = ENTRIES.slice(log.lastIndex);
  if (missing.length > 0) healing.cutAt = Math.min(healing.cutAt, log.lastIndex + 1);
  log.append(missing, () => {});
  disk.settle();
  return healing;
}

/** The first slot of the run of damaged headers that `slot` is in: no cut can be made behind it. */
export function runFirst(log: Log, slot: DamagedSlot): number {
  const { file, offset } = slot;
  const run = log.damage().find((each) => each.file === file && each.offset === offset);
  return run?.index ?? slot.index;
}

export function repairFrom(log: Log, peer: Log, slot: DamagedSlot): string {
  const answer = peer.answerFor(slot);
  return answer.kind === 'have' ? log.repair(answer.entry, () => {}) : 'different';
}

/** Never wrong: everything that can be read is what was written; the rest is known as damaged. */
export function expectHonest(log: Log): void {
  for (let index = log.firstIndex; index <= log.lastIndex; index++) {
    const term = log.term(index);
    const wanted = ENTRIES[index - 1]?.term;
    assert(term === undefined || term === wanted, `entry ${index} has term ${term}`);
    try {
      const [found] = log.entries(index, index + 1, 0);
      const is = found === undefined ? 'nothing' : text(found);
      assert(is === WHOLE[index - 1], `${is} instead of ${WHOLE[index - 1]}`);
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
    }
  }
}

/** The first entries of the log, and nothing else. */
function isPrefix(found: readonly string[]): boolean {
  return found.every((each, at) => each === WHOLE[at]);
}

/** In one word: what a node that refuses damage does with these files. */
export function refusing(files: Files): string {
  try {
    const log = open(diskWith(files), SUBJECT, 'refuse');
    const found = content(log);
    assert(isPrefix(found), `wrong entries: ${found}`);
    return found.length === LAST ? 'whole' : `cut at ${found.length + 1}`;
  } catch (error) {
    if (!(error instanceof DamageError)) throw error;
    assert(error.file.startsWith(DIRECTORY), error.file);
    return error.code;
  }
}

/**
 * In one word: what a node that keeps damage ends with. `repaired`: all log files are what they
 * were, byte for byte; `equal`: all entries are.
 */
export function keeping(files: Files, original: Files, peer: Log): string {
  const disk = diskWith(files);
  let log: Log;
  try {
    log = open(disk, SUBJECT, 'keep');
    log.examine(1);
  } catch (error) {
    if (!(error instanceof DamageError)) throw error;
    return `refused: ${error.code}`;
  }
  expectHonest(log);
  const { cutAt } = heal(disk, log, peer);
  assert(isWhole(log), `wrong entries: ${content(log)}`);
  const before = snapshot(disk);
  log.close(() => {});
  disk.settle();
  const again = open(disk, SUBJECT, 'refuse');
  assert(isWhole(again), `wrong entries after a restart: ${content(again)}`);
  if (cutAt <= LAST) return `cut at ${cutAt}`;
  const logs = [...original].filter(([path]) => path !== WITNESS);
  return logs.every(([path, bytes]) => sameStart(before.get(path), bytes)) ? 'repaired' : 'equal';
}

/** Zeros written ahead may differ; a shorter file is continued by zeros. */
function sameStart(found: Uint8Array | undefined, wanted: Uint8Array): boolean {
  if (found === undefined) return false;
  const length = Math.max(found.length, wanted.length);
  const padded = (bytes: Uint8Array) => Buffer.concat([bytes, Buffer.alloc(length - bytes.length)]);
  return Buffer.compare(padded(found), padded(wanted)) === 0;
}

function isWhole(log: Log): boolean {
  const found = content(log);
  return found.length === LAST && isPrefix(found);
}
