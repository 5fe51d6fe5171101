/**
 * What the clients of a run met: requests by outcome, and the times in which no push was
 * acknowledged anywhere.
 */
import type { Observe } from '../process/node-caller.js';

interface Gap {
  readonly fromMs: number;
  readonly toMs: number;
}

const WRITES = new Set(['push', 'probe']);
/** Shorter pauses between two acknowledged pushes are not kept. */
const GAP_MS_MIN = 50;
/** 20 a second for an hour; the shortest go first. */
const GAPS_MAX = 72_000;

export class RequestLog {
  readonly #counts = new Map<string, Map<string, number>>();
  #gaps: Gap[] = [];
  #lastAckMs = performance.now();

  readonly observe: Observe = (request, outcome, _beganMs, endedMs) => {
    const outcomes = this.#counts.get(request) ?? new Map<string, number>();
    this.#counts.set(request, outcomes);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    if (WRITES.has(request) && outcome === 'ok') this.#acknowledged(endedMs);
  };

  /** Times of one `performance.now()`. */
  get lastAckMs(): number {
    return this.#lastAckMs;
  }

  /** The longest time without an acknowledged push, from some moment of the span on. */
  longestGapMs(fromMs: number, toMs: number): number {
    let longest = Math.max(0, toMs - Math.max(this.#lastAckMs, fromMs));
    for (const gap of this.#gaps) {
      if (gap.toMs < fromMs || gap.fromMs > toMs) continue;
      longest = Math.max(longest, gap.toMs - Math.max(gap.fromMs, fromMs));
    }
    return longest;
  }

  count(request: string, outcome: string): number {
    return this.#counts.get(request)?.get(outcome) ?? 0;
  }

  /** Rows of (request, outcome, count), the most frequent outcome of a request first. */
  rows(): readonly (readonly [request: string, outcome: string, count: number])[] {
    return [...this.#counts].flatMap(([request, outcomes]) =>
      [...outcomes]
        .sort(([, a], [, b]) => b - a)
        .map(([outcome, count]) => [request, outcome, count] as const),
    );
  }

  #acknowledged(nowMs: number): void {
    const gap = { fromMs: this.#lastAckMs, toMs: nowMs };
    this.#lastAckMs = nowMs;
    if (gap.toMs - gap.fromMs < GAP_MS_MIN) return;
    this.#gaps.push(gap);
    if (this.#gaps.length <= GAPS_MAX) return;
    this.#gaps.sort((a, b) => b.toMs - b.fromMs - (a.toMs - a.fromMs));
    this.#gaps.length = GAPS_MAX / 2;
  }
}
