/** Ids that the front gives to calls, UUIDv7: of the wall clock's millisecond, and random. */
import { randomFillSync } from 'node:crypto';
import { uuidV7 } from '@svc/wire';

const words = new Uint32Array(3);

export function mintId(): string {
  randomFillSync(words);
  return uuidV7(Date.now(), words[0] ?? 0, words[1] ?? 0, words[2] ?? 0);
}
