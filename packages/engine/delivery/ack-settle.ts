/**
 * What an acknowledgement does to a cursor (message-plane 4.1, steps 4 to 7), as a pure function.
 *
 * Items name offsets and say `completed` or one of three signals. The lowest signal, the head,
 * decides: what is completed below it is done, and the head itself is delivered again or filed.
 * Acknowledging is cumulative: what lies unnamed below a completed message is done with it.
 */
import type { AckStatus } from '../base/commands/commands.js';

export interface SettleItem {
  readonly status: AckStatus;
  readonly offset: number;
}

export interface SettleInput {
  readonly committed: number;
  /** Last offset of the lease on record, live or not; null without one. */
  readonly batchEnd: number | null;
  readonly retries: number;
  readonly retryLimit: number;
  /** Only the last message of the lease was delivered: being done with anything is being done. */
  readonly conflation: boolean;
  /** A message that failed too often is filed as a dead letter; otherwise it is dropped. */
  readonly fileFailed: boolean;
  /** The message that is not given back any more, whatever is left of its retries; -1: none. */
  readonly spentAt: number;
}

export interface Settlement {
  readonly committed: number;
  readonly released: boolean;
  readonly retries: number;
  /** A `failed` or `retry` has ended the lease: its message is to come again. */
  readonly givenBack: boolean;
  /** Offsets to file as dead letters, ascending. */
  readonly filed: readonly number[];
}

/** At one offset the stronger word counts. */
const STRENGTH: Readonly<Record<AckStatus, number>> = { completed: 0, retry: 1, failed: 2, dlq: 3 };

/** `items` are those found in `(committed, batchEnd]`, in any order. */
export function settle(input: SettleInput, items: readonly SettleItem[]): Settlement {
  const words = strongestWords(items);
  let head = Number.POSITIVE_INFINITY;
  for (const [offset, status] of words) {
    if (status !== 'completed' && offset < head) head = offset;
  }
  const passed = highestCompleted(words, head, input.committed);
  const { batchEnd, retries, retryLimit } = input;
  const headStatus = words.get(head);
  if (headStatus === undefined) {
    const moved = batchEnd !== null && passed > input.committed;
    if (!moved) return { committed: passed, released: false, retries, givenBack: false, filed: [] };
    const released = passed >= batchEnd || input.conflation;
    const committed = released ? batchEnd : passed;
    return { committed, released, retries: released ? 0 : retries, givenBack: false, filed: [] };
  }
  if (batchEnd === null)
    return { committed: passed, released: false, retries, givenBack: false, filed: [] };
  if (head === input.spentAt) return settleRun(input, words, head);
  const again = { committed: passed, released: true, givenBack: true, filed: [] };
  if (headStatus === 'retry') return { ...again, retries };
  if (headStatus === 'failed' && retries < Math.max(retryLimit, 0)) {
    return { ...again, retries: retries + 1 };
  }
  return settleRun(input, words, head);
}

/** Whether a message of this word that does not come again is filed and not dropped. */
function isFiled({ fileFailed }: SettleInput, word: AckStatus): boolean {
  return word === 'dlq' || (word !== 'completed' && fileFailed);
}

/**
 * Walks on from a filed or dropped head while this call decides each next message. Only the named
 * ones are looked at: a lease of last values may span millions.
 */
function settleRun(
  input: SettleInput,
  words: ReadonlyMap<number, AckStatus>,
  head: number,
): Settlement {
  const top = highestCompleted(words, Number.POSITIVE_INFINITY, -1);
  const spent = input.retries >= Math.max(input.retryLimit, 0);
  const filed: number[] = [];
  let committed = head - 1;
  let retries = 0;
  let givenBack = false;
  const decided = [...words].filter(([offset]) => offset >= head).sort(([a], [b]) => a - b);
  for (const [offset, word] of decided) {
    // What lies unnamed in between is done with a completed message above it, else undecided.
    if (offset > committed + 1 && offset > top) break;
    committed = offset - 1;
    const comesAgain = word === 'retry' || (word === 'failed' && !spent);
    givenBack = comesAgain && offset !== input.spentAt;
    if (givenBack) {
      if (word === 'failed') retries = input.retries;
      break;
    }
    if (isFiled(input, word)) filed.push(offset);
    committed = offset;
  }
  return { committed, released: true, retries, givenBack, filed };
}

function strongestWords(items: readonly SettleItem[]): Map<number, AckStatus> {
  const words = new Map<number, AckStatus>();
  for (const { offset, status } of items) {
    const known = words.get(offset);
    if (known === undefined || STRENGTH[known] < STRENGTH[status]) words.set(offset, status);
  }
  return words;
}

function highestCompleted(
  words: ReadonlyMap<number, AckStatus>,
  below: number,
  otherwise: number,
): number {
  let highest = otherwise;
  for (const [offset, status] of words) {
    if (status === 'completed' && offset < below && offset > highest) highest = offset;
  }
  return highest;
}
