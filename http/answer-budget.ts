/**
 * Bytes of large answers that their readers have not taken. Answers of pops and all others have a
 * share each, so that those who read a log slowly cannot keep consumers from their messages.
 *
 * While a share is full, requests that may answer into it are refused. So that a few connections
 * that read slowly, or not at all, cannot keep the others out, a sweep after a refusal gives up the
 * answers that would take longest, until there is room. Nobody is cut off while nobody waits, and
 * none whose answer is nearly through.
 */
export type AnswerShare = 'pop' | 'read';

export interface UnreadAnswer {
  /** All its bytes: they are in memory until the last one is taken. */
  readonly answerBytes: number;
  /** Measures the progress, and cuts itself off when it is too slow for any reader. */
  sweep(nowMs: number): void;
  /**
   * Sweeps until the rest is taken, at the pace of the last ones; Infinity without progress, 0
   * before a whole interval has been measured.
   */
  sweepsLeft(): number;
  /** Ends it; it is removed before this returns. */
  cutOff(): void;
}

/** An answer that is done this soon is not worth cutting off. */
const SWEEPS_LEFT_MIN = 2;

interface Pool {
  readonly unread: Set<UnreadAnswer>;
  bytes: number;
  /** A request was refused since the last sweep. */
  refused: boolean;
}

export class AnswerBudget {
  readonly #bytesMax: number;
  readonly #pools: { readonly [share in AnswerShare]: Pool } = {
    pop: newPool(),
    read: newPool(),
  };

  /** `bytesMax` is for each share. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** False: the share is full, and the request must be refused. */
  admits(share: AnswerShare): boolean {
    const pool = this.#pools[share];
    if (pool.bytes < this.#bytesMax) return true;
    pool.refused = true;
    return false;
  }

  add(share: AnswerShare, answer: UnreadAnswer): void {
    const pool = this.#pools[share];
    pool.unread.add(answer);
    pool.bytes += answer.answerBytes;
  }

  remove(share: AnswerShare, answer: UnreadAnswer): void {
    const pool = this.#pools[share];
    if (pool.unread.delete(answer)) pool.bytes -= answer.answerBytes;
  }

  sweep(nowMs: number): void {
    this.#sweepPool(this.#pools.pop, nowMs);
    this.#sweepPool(this.#pools.read, nowMs);
  }

  #sweepPool(pool: Pool, nowMs: number): void {
    for (const answer of pool.unread) answer.sweep(nowMs);
    const refused = pool.refused;
    pool.refused = false;
    if (!refused || pool.bytes < this.#bytesMax) return;
    const slowestFirst = [...pool.unread]
      .filter((answer) => answer.sweepsLeft() > SWEEPS_LEFT_MIN)
      .sort(bySlowness);
    for (const answer of slowestFirst) {
      if (pool.bytes < this.#bytesMax) return;
      answer.cutOff();
    }
  }
}

/** Those that stand still are equally slow; of them the largest comes first. */
function bySlowness(a: UnreadAnswer, b: UnreadAnswer): number {
  const [aLeft, bLeft] = [a.sweepsLeft(), b.sweepsLeft()];
  return aLeft === bLeft ? b.answerBytes - a.answerBytes : aLeft < bLeft ? 1 : -1;
}

function newPool(): Pool {
  return { unread: new Set(), bytes: 0, refused: false };
}
