/**
 * The settling table of message-plane 4.1 read row by row: slow, plain, and not the engine's code.
 */

import type { AckStatus } from '../base/commands/commands.js';
import type { SettleInput, Settlement } from '../delivery/ack-settle.js';

/** The word about one message; null: there is none. */
export type Word = AckStatus | null;

/**
 * `words[i]` is said about offset `committed + 1 + i`; under a lease they reach to its last offset.
 */
export function settleByTable(input: SettleInput, said: readonly Word[]): Settlement {
  const { committed: c, batchEnd, retries: n, retryLimit, conflation, fileFailed, spentAt } = input;
  const at = (i: number) => c + 1 + i;
  // Whatever was delivered too often fails for the last time, if it is not completed.
  const words = said.map((word, i) => (word === 'retry' && at(i) === spentAt ? 'failed' : word));
  const isOver = (i: number) => n >= retryLimit || at(i) === spentAt;
  const end = words.length - 1;
  const s = words.findIndex((word) => word !== null && word !== 'completed');
  const below = s === -1 ? words : words.slice(0, s);
  const p = at(below.lastIndexOf('completed'));
  const signal = words[s];
  const givenBack = false;
  if (batchEnd === null) return { committed: p, released: false, retries: n, givenBack, filed: [] };
  if (signal === undefined) {
    if (conflation && p > c)
      return { committed: batchEnd, released: true, retries: 0, givenBack, filed: [] };
    if (p === batchEnd) return { committed: p, released: true, retries: 0, givenBack, filed: [] };
    return { committed: p, released: false, retries: n, givenBack, filed: [] };
  }
  if (signal === 'retry')
    return { committed: p, released: true, retries: n, givenBack: true, filed: [] };
  if (signal === 'failed' && !isOver(s)) {
    return { committed: p, released: true, retries: n + 1, givenBack: true, filed: [] };
  }
  const filed = signal === 'dlq' || fileFailed ? [at(s)] : [];
  for (let i = s + 1; i <= end; i++) {
    const word = words[i];
    const passed = word === 'completed' || (word === null && i < words.lastIndexOf('completed'));
    if (word === 'dlq') filed.push(at(i));
    else if (word === 'failed' && isOver(i)) {
      if (fileFailed) filed.push(at(i));
    } else if (!passed) {
      const retries = word === 'failed' ? n : 0;
      const given = word !== null;
      return { committed: at(i - 1), released: true, retries, givenBack: given, filed };
    }
  }
  return { committed: at(end), released: true, retries: 0, givenBack, filed };
}
