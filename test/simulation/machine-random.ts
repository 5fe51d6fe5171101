/** The chance that a node is given, drawn from the simulation's seed. */
import type { RandomSource } from '@svc/broker';
import { uuidV7 } from '@svc/wire';

export function machineRandom(random: { next(): number }): RandomSource {
  return {
    fraction: () => random.next(),
    newUuid: (nowUs) => {
      const words = [0, 1, 2].map(() => Math.floor(random.next() * 2 ** 32));
      return uuidV7(Math.floor(nowUs / 1000), words[0] ?? 0, words[1] ?? 0, words[2] ?? 0);
    },
    fill: (bytes) => {
      for (let i = 0; i < bytes.length; i++) bytes[i] = Math.floor(random.next() * 256);
    },
  };
}
