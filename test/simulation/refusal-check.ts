/** A node without peers must refuse a log with a flipped bit, name the file, and leave it alone. */
import { DamageError } from '@svc/storage';
import type { SimulatedDisk } from '@svc/storage/testing';
import type { SeededRandom } from '../seeded-random.js';
import { applyFlip, flipEarly } from './stored-damage.js';
import { Violation } from './violation.js';

/** Flips a bit, opens, and flips it back. False when there was none to flip. */
export function expectRefusal(
  disk: SimulatedDisk,
  random: SeededRandom,
  open: () => void,
): boolean {
  const flip = flipEarly(disk, random);
  if (flip === null) return false;
  const before = contentsOf(disk);
  try {
    open();
  } catch (error) {
    if (!(error instanceof DamageError)) throw error;
    const after = contentsOf(disk);
    const untouched = before.every((bytes, i) => bytes.equals(after[i] ?? Buffer.alloc(0)));
    if (!untouched) throw new Violation('touched', 'a refused log was changed');
    if (error.file !== flip.path) {
      throw new Violation('wrong_file', `${error.message} instead of ${flip.path}`);
    }
    applyFlip(disk, flip);
    return true;
  }
  throw new Violation('cut', `a bit flipped at ${flip.path}@${flip.position} was accepted`);
}

function contentsOf(disk: SimulatedDisk): Buffer[] {
  return disk.paths().map((path) => Buffer.from(disk.contents(path)));
}
