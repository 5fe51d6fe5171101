/**
 * What a machine has stored, as a value: a cluster is loaded once and started from its images as
 * often as there are bits to flip.
 */
import { CURRENT_STATE } from '@svc/broker';
import { SimulatedPlace } from '@svc/broker/testing';
import type { BackingRow, LogPosition } from '@svc/storage';
import { SimulatedDisk } from '@svc/storage/testing';
import { DIRECTORY } from '../simulation/machine-settings.js';

export interface StoreImage {
  readonly rows: readonly BackingRow[];
  readonly position: LogPosition;
}

export interface MachineImage {
  readonly number: number;
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** By name. */
  readonly stores: ReadonlyMap<string, StoreImage>;
}

/** Bits of a region of one file, or of one row of the state. */
export interface Flip {
  readonly target: { readonly path: string } | { readonly key: string };
  /** Bytes. */
  readonly from: number;
  readonly to: number;
  /** A byte of the file or row times 8, plus a bit. */
  readonly places: readonly number[];
}

export interface Stored {
  readonly disk: SimulatedDisk;
  readonly place: SimulatedPlace;
}

const ROWS_MAX = 1_000_000;

/** To be called when nothing runs on the machine. */
export function imageOf(number: number, { disk, place }: Stored): MachineImage {
  const files = new Map(disk.paths().map((path) => [path, disk.contents(path)]));
  const stores = new Map<string, StoreImage>();
  for (const name of place.names()) {
    const store = place.store(name);
    if (store === undefined) continue;
    const rows = store.range('', null, ROWS_MAX, false).map(({ key, value }) => {
      return { key, value: value.slice() };
    });
    const { index, term } = store.applied;
    stores.set(name, { rows, position: { index, term } });
  }
  return { number, files, stores };
}

/** `defer` runs the commits of whoever opens the stores then. */
export function restore(
  { files, stores }: MachineImage,
  seed: number,
  defer: (run: () => void) => void,
): Stored {
  const disk = new SimulatedDisk({ seed });
  disk.makeDirectorySync(DIRECTORY);
  for (const [path, bytes] of files) disk.plant(path, bytes);
  let filling = true;
  const place = new SimulatedPlace({ seed, defer: (run) => (filling ? run() : defer(run)) });
  for (const [name, { rows, position }] of stores) {
    const transaction = place.open(name, new Uint8Array(0)).begin();
    for (const { key, value } of rows) transaction.put(key, value);
    transaction.commit(position, () => {});
  }
  filling = false;
  return { disk, place };
}

export function applyFlip({ disk, place }: Stored, { target, places }: Flip): void {
  for (const at of places) {
    if ('path' in target) disk.flipBit(target.path, at >>> 3, at & 7);
    else place.store(CURRENT_STATE)?.flipBit(target.key, at >>> 3, at & 7);
  }
}

/** Whether the whole region is still what the flip made of it. */
export function isFlipped(stored: Stored, image: MachineImage, flip: Flip): boolean {
  const { target, from, to } = flip;
  const before =
    'path' in target
      ? image.files.get(target.path)
      : image.stores.get(CURRENT_STATE)?.rows.find(({ key }) => key === target.key)?.value;
  const now =
    'path' in target
      ? fileOf(stored, target.path)
      : stored.place.store(CURRENT_STATE)?.get(target.key);
  if (before === undefined || now === undefined) return false;
  return Buffer.compare(flipped(before, flip).subarray(from, to), now.subarray(from, to)) === 0;
}

function fileOf({ disk }: Stored, path: string): Uint8Array | undefined {
  return disk.paths().includes(path) ? disk.contents(path) : undefined;
}

function flipped(bytes: Uint8Array, { places }: Flip): Uint8Array {
  const changed = bytes.slice();
  for (const at of places) changed[at >>> 3] = (changed[at >>> 3] ?? 0) ^ (1 << (at & 7));
  return changed;
}

/**
 * The first file that is not what the flip made of the image; null when all are. An index file that
 * was not written yet is no change: it only repeats what its segment says.
 */
export function firstChange({ disk }: Stored, image: MachineImage, flip: Flip): string | null {
  const paths = disk.paths();
  for (const path of image.files.keys()) if (!paths.includes(path)) return path;
  for (const path of paths) {
    const bytes = image.files.get(path);
    if (bytes === undefined && path.endsWith('.index')) continue;
    if (bytes === undefined) return path;
    const isHit = 'path' in flip.target && flip.target.path === path;
    const before = isHit ? flipped(bytes, flip) : bytes;
    if (Buffer.compare(before, disk.contents(path)) !== 0) return path;
  }
  return null;
}
