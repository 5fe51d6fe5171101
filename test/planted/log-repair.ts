/**
 * A log whose files have rotted, opened to be repaired. It is offered entries, the right ones and
 * others, as from peers of which not all tell the truth. At the end every entry that it holds must
 * be the one that was written, and what it lost it must have said.
 */
import { Log, type LogEntry } from '@svc/storage';
import { SimulatedDisk } from '@svc/storage/testing';
import type { SeededRandom } from '../seeded-random.js';

const ENTRIES_MAX = 60;
const ROUNDS_MAX = 100;
const IDENTITY = new Uint8Array(16).fill(9);

export function logRepair(random: SeededRandom, seed: number): void {
  const disk = new SimulatedDisk({ seed });
  const segmentBytes = random.between(300, 3000);
  const options = { disk, directory: '/log', identity: IDENTITY, segmentBytes } as const;
  const written = write(Log.open({ ...options, onFailure }), disk, random);
  const paths = disk.paths().filter((path) => path.endsWith('.log'));
  const path = random.pick(paths);
  const { length } = disk.contents(path);
  disk.flipBit(path, random.between(0, length - 1), random.between(0, 7));
  const log = Log.open({ ...options, damage: 'keep', onFailure });
  log.examine(log.firstIndex);
  mend(log, disk, written, random);
  disk.crash('power');
  compare(Log.open({ ...options, onFailure }), written, log.lastIndex);
}

function onFailure(error: Error): never {
  throw error;
}

function write(log: Log, disk: SimulatedDisk, random: SeededRandom): readonly LogEntry[] {
  const written: LogEntry[] = [];
  let term = 1;
  const count = random.between(1, ENTRIES_MAX);
  while (written.length < count) {
    if (random.chance(0.2)) term++;
    const data = new Uint8Array(random.between(0, 200)).map(() => random.between(0, 255));
    const entry = { index: written.length + 1, term, type: 0, data };
    written.push(entry);
    log.append([entry], () => {});
    if (random.chance(0.5)) disk.settle();
  }
  disk.settle();
  log.close(() => {});
  disk.settle();
  disk.crash('process');
  return written;
}

function mend(
  log: Log,
  disk: SimulatedDisk,
  written: readonly LogEntry[],
  random: SeededRandom,
): void {
  const tail = log.damage().at(-1);
  if (tail?.kind === 'tail') {
    log.cutFrom(tail.index, () => {});
    disk.settle();
  }
  for (let round = 0; !log.isWhole; round++) {
    if (round === ROUNDS_MAX) throw new Error(`not repaired: ${JSON.stringify(log.damage())}`);
    for (const { index } of log.damage()) {
      const right = written[index - 1];
      if (right === undefined) throw new Error(`entry ${index} was never written`);
      log.repair(random.chance(0.3) ? anotherThan(right, random) : right, () => {});
    }
    disk.settle();
  }
}

function anotherThan(entry: LogEntry, random: SeededRandom): LogEntry {
  if (random.chance(0.5)) return { ...entry, term: entry.term + 1 };
  return { ...entry, data: entry.data.map((byte) => byte ^ 1) };
}

/** Nothing may be missing but what was cut. */
function compare(log: Log, written: readonly LogEntry[], lastIndex: number): void {
  if (log.lastIndex !== lastIndex) {
    throw new Error(`the log ends at ${log.lastIndex} after a crash, before it was ${lastIndex}`);
  }
  for (let index = log.firstIndex; index <= lastIndex; index++) {
    const [found] = log.entries(index, index + 1, 0);
    const right = written[index - 1];
    if (found === undefined || right === undefined) throw new Error(`entry ${index} is missing`);
    if (found.term !== right.term || Buffer.compare(found.data, right.data) !== 0) {
      throw new Error(`entry ${index} is another one of term ${found.term}`);
    }
  }
}
