/** What happens to stored bytes while nobody looks: bits flip, files lose their ends. */
import { CURRENT_STATE } from '@svc/broker';
import type { SimulatedPlace } from '@svc/broker/testing';
import type { SimulatedDisk } from '@svc/storage/testing';
import type { SeededRandom } from '../seeded-random.js';
import { DIRECTORY } from './machine-settings.js';

export interface Damage {
  /** For the trace. */
  readonly what: string;
  /** The stored bytes are no longer those that the damage left. */
  readonly isMended: () => boolean;
}

export interface Flip {
  readonly path: string;
  readonly position: number;
  readonly bit: number;
}

const LOG_DIRECTORY = `${DIRECTORY}/log`;
/** The last groups may rightly be taken for torn; what stands well before them may not. */
const MESSAGES_NEAR_END = 60;
const TRIES_MAX = 20;
const ROWS_MAX = 200;
/** Most damage happens at the end of the log, where it is hardest to tell from a torn write. */
const END_BYTES = 600;

/** A bit of a file, the log's newest only if `inNewest`, or of a row. null when there is none. */
export function flipSomewhere(
  disk: SimulatedDisk,
  place: SimulatedPlace,
  inNewest: boolean,
  random: SeededRandom,
): Damage | null {
  if (random.chance(0.2)) return flipRow(place, random);
  const newest = inNewest ? undefined : newestSegment(disk);
  const paths = disk.paths().filter((path) => path !== newest && disk.contents(path).length > 0);
  if (paths.length === 0) return null;
  const path = random.pick(paths);
  const bytes = disk.contents(path);
  const from = random.chance(0.3) ? Math.max(0, usedBytes(bytes) - END_BYTES) : 0;
  let position = from;
  // Most of a preallocated file is zeros, which nobody reads.
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    position = random.between(from, bytes.length - 1);
    if (bytes[position] !== 0) break;
  }
  disk.flipBit(path, position, random.between(0, 7));
  const byte = disk.contents(path)[position];
  return {
    what: `flip ${path}@${position}`,
    isMended: () => !disk.paths().includes(path) || disk.contents(path)[position] !== byte,
  };
}

function flipRow(place: SimulatedPlace, random: SeededRandom): Damage | null {
  const store = place.store(CURRENT_STATE);
  const rows = store?.range('', null, ROWS_MAX, random.chance(0.5)) ?? [];
  if (store === undefined || rows.length === 0) return null;
  const { key, value } = random.pick(rows);
  const position = random.between(0, value.length - 1);
  store.flipBit(key, position, random.between(0, 7));
  const byte = value[position];
  return {
    what: `flip row ${Buffer.from(key, 'latin1').toString('hex')}@${position}`,
    isMended: () => {
      return place.store(CURRENT_STATE) !== store || store.get(key)?.[position] !== byte;
    },
  };
}

/** The newest segment of the log ends earlier. null when there is none. */
export function cutEnd(disk: SimulatedDisk, random: SeededRandom): Damage | null {
  const path = newestSegment(disk);
  if (path === undefined) return null;
  const bytes = disk.contents(path);
  const used = usedBytes(bytes);
  const length = random.between(Math.max(0, used - END_BYTES), used);
  disk.plant(path, bytes.slice(0, length));
  return {
    what: `cut ${path} of ${used} at ${length}`,
    isMended: () => !disk.paths().includes(path) || usedBytes(disk.contents(path)) > length,
  };
}

/** A bit of a message that later, separately synced entries follow; null when there is none. */
export function flipEarly(disk: SimulatedDisk, random: SeededRandom): Flip | null {
  const path = random.chance(0.5) ? newestSegment(disk) : undefined;
  if (path === undefined) return null;
  const places: number[] = [];
  const marker = Buffer.from('{"value":');
  const content = Buffer.from(disk.contents(path));
  for (let at = content.indexOf(marker); at >= 0; at = content.indexOf(marker, at + 1)) {
    places.push(at);
  }
  const early = places.slice(0, Math.max(0, places.length - MESSAGES_NEAR_END));
  if (early.length === 0) return null;
  const flip = { path, position: random.pick(early), bit: random.between(0, 7) };
  applyFlip(disk, flip);
  return flip;
}

/** Twice is as if never. */
export function applyFlip(disk: SimulatedDisk, { path, position, bit }: Flip): void {
  disk.flipBit(path, position, bit);
}

function newestSegment(disk: SimulatedDisk): string | undefined {
  return disk
    .paths()
    .filter((path) => path.startsWith(`${LOG_DIRECTORY}/`) && path.endsWith('.log'))
    .at(-1);
}

/** Without the zeros that a preallocated file ends with. */
function usedBytes(bytes: Uint8Array): number {
  let length = bytes.length;
  while (length > 0 && bytes[length - 1] === 0) length--;
  return length;
}
