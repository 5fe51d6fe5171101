/** The chance that a node is given, drawn from the seed of a test. */
import { uuidV7 } from '@svc/wire';
import type { RandomSource } from '../system/random.js';

export function randomSource(next: () => number): RandomSource {
  const word = () => Math.floor(next() * 2 ** 32);
  return {
    fraction: next,
    newUuid: (nowUs) => uuidV7(Math.floor(nowUs / 1000), word(), word(), word()),
    fill: (bytes) => {
      for (let i = 0; i < bytes.length; i++) bytes[i] = Math.floor(next() * 256);
    },
  };
}
