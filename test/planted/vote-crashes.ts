/**
 * Several lives of the file of term and vote: what was reported durable is there in the next one,
 * and nothing that was not asked for, although a bit of one of the two copies may flip between two
 * lives, unless a save was under way.
 */
import { HardStateFile } from '@svc/storage';
import { SimulatedDisk } from '@svc/storage/testing';
import type { SeededRandom } from '../seeded-random.js';

const LIVES = 6;
const STEPS_MAX = 30;
const AFTER_FAILURE_MAX = 6;
const IDENTITY = new Uint8Array(16).fill(5);
const PATH = '/raft/hard-state';

export function voteCrashes(random: SeededRandom, seed: number): void {
  const disk = new SimulatedDisk({ seed });
  let durable = 0;
  for (let life = 0; life < LIVES; life++) {
    let failed = false;
    const onFailure = () => {
      failed = true;
    };
    const file = HardStateFile.open({ disk, directory: '/raft', identity: IDENTITY, onFailure });
    const { term, vote } = file.state ?? { term: 0, vote: 0 };
    if (term < durable || vote !== voteOf(term)) {
      throw new Error(`term ${durable} was durable, found is a vote for ${vote} in term ${term}`);
    }
    durable = term;
    let asked = term;
    for (let left = random.between(0, STEPS_MAX); left > 0 && !failed; left--) {
      if (random.chance(0.3)) {
        const next = ++asked;
        file.save({ term: next, vote: voteOf(next) }, () => {
          durable = Math.max(durable, next);
        });
      } else if (random.chance(0.06)) {
        disk.failNext('fdatasync', 'EIO');
        // A later sync that succeeds would store what this one did not.
        left = Math.min(left, AFTER_FAILURE_MAX);
      } else disk.step();
    }
    disk.crash(random.chance(0.7) ? 'power' : 'process');
    // A save that was cut short may have torn the one copy already.
    if (asked === durable && random.chance(0.5)) flip(disk, random);
  }
}

function voteOf(term: number): number {
  return term % 5;
}

function flip(disk: SimulatedDisk, random: SeededRandom): void {
  const bytes = disk.contents(PATH);
  const used = [...bytes.keys()].filter((position) => bytes[position] !== 0);
  disk.flipBit(PATH, random.pick(used), random.between(0, 7));
}
