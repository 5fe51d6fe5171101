/**
 * A hunt below consensus: the log and the file of term and vote on a simulated disk that loses
 * power, fails and rots. Each seed is a few lives of both, and a damaged log that is repaired.
 */
import { SeededRandom } from '../seeded-random.js';
import { logCrashes } from './log-crashes.js';
import { logRepair } from './log-repair.js';
import { voteCrashes } from './vote-crashes.js';

/** Throws when something was lost, or is not what was written. */
export function diskHunt(seed: number): void {
  const random = new SeededRandom(seed);
  logCrashes(random.fork(), seed);
  voteCrashes(random.fork(), seed);
  logRepair(random.fork(), seed);
}
