/**
 * The nodes of a source, as a follower goes through them: which one it reads, what the others said
 * since it last got on, and when each was last called.
 *
 * What one node says need not hold for the source: a node may have purged what another still has,
 * or be behind. So a follower judges the source by a *round*, in which every node was tried once
 * and none let it get on. Getting on ends the round.
 */
import { behindText } from './follower-texts.js';

/** How often each node hears of a standby, so that all keep the same entries for it. */
export const HOLD_EVERY_MS = 5000;

/** Why a node could not be read. */
export type Denial =
  | { readonly kind: 'purged'; readonly error: string }
  | { readonly kind: 'behind'; readonly applied: number }
  | { readonly kind: 'failed'; readonly error: string };

interface SourceNode {
  readonly address: string;
  calledMs: number;
  /** The call that only keeps its log, while there is one. */
  holdCall: number | null;
  /** What it had applied when it last answered such a call. */
  applied: number;
}

/** What a round came to: its nodes will not do, now or ever. */
export interface RoundResult {
  readonly isFinal: boolean;
  readonly error: string;
}

export class SourceNodes {
  readonly #nodes: readonly SourceNode[];
  #at = 0;
  readonly #denials = new Map<string, Denial>();

  constructor(addresses: readonly string[]) {
    this.#nodes = [...new Set(addresses)].map((address) => {
      return { address, calledMs: Number.NEGATIVE_INFINITY, holdCall: null, applied: 0 };
    });
  }

  /** The one to be read. */
  get current(): string {
    return this.#currentNode.address;
  }

  get #currentNode(): SourceNode {
    const node = this.#nodes[this.#at];
    if (node === undefined) throw new RangeError('a source has no nodes');
    return node;
  }

  moveOn(): void {
    this.#at = (this.#at + 1) % this.#nodes.length;
  }

  /** The node that was read last does not do; the next one is the current one. */
  deny(denial: Denial): void {
    this.#denials.set(this.current, denial);
    this.moveOn();
  }

  /** null: some node was not tried yet. `position`: the standby's. */
  takeRound(position: number): RoundResult | null {
    if (this.#denials.size < this.#nodes.length) return null;
    const denials = [...this.#denials.values()];
    this.#denials.clear();
    const purged = denials.findLast((denial) => denial.kind === 'purged');
    if (purged !== undefined) return { isFinal: true, error: purged.error };
    const failed = denials.findLast((denial) => denial.kind === 'failed');
    if (failed !== undefined) return { isFinal: false, error: failed.error };
    let applied = 0;
    for (const denial of denials) {
      if (denial.kind === 'behind') applied = Math.max(applied, denial.applied);
    }
    return { isFinal: false, error: behindText(applied, position) };
  }

  /** Some node let the follower get on. */
  endRound(): void {
    this.#denials.clear();
  }

  readBegins(nowMs: number): void {
    this.#currentNode.calledMs = nowMs;
  }

  /** When the next call is due that only keeps a log; null: all such calls are under way. */
  get holdDueMs(): number | null {
    let dueMs = Number.POSITIVE_INFINITY;
    for (const { holdCall, calledMs } of this.#nodes) {
      if (holdCall === null) dueMs = Math.min(dueMs, calledMs + HOLD_EVERY_MS);
    }
    return dueMs === Number.POSITIVE_INFINITY ? null : dueMs;
  }

  /** Calls `hold` for each node that was not called for a while; it returns the call. */
  callHolds(nowMs: number, hold: (address: string) => number): void {
    for (const node of this.#nodes) {
      if (node.holdCall !== null || nowMs < node.calledMs + HOLD_EVERY_MS) continue;
      node.calledMs = nowMs;
      node.holdCall = hold(node.address);
    }
  }

  /**
   * A node says what it has applied. True: it is not the one that is read, and at its answer
   * before, `HOLD_EVERY_MS` ago or more, that was more than `known` already.
   */
  holdAnswered(call: number, applied: number, known: number): boolean {
    const node = this.#nodes.find(({ holdCall }) => holdCall === call);
    if (node === undefined) return false;
    const wasAhead = node !== this.#currentNode && node.applied > known;
    node.applied = applied;
    return wasAhead;
  }

  /** The node that `call` asks to keep its log is the current one. */
  moveTo(call: number): void {
    this.#at = Math.max(
      0,
      this.#nodes.findIndex(({ holdCall }) => holdCall === call),
    );
  }

  /** False: `call` is none of those that only keep a log. */
  holdEnded(call: number): boolean {
    const node = this.#nodes.find(({ holdCall }) => holdCall === call);
    if (node === undefined) return false;
    node.holdCall = null;
    return true;
  }

  /** Forgets what was called, and gives the calls that are still under way to `cancel`. */
  forget(cancel: (call: number) => void): void {
    for (const node of this.#nodes) {
      if (node.holdCall !== null) cancel(node.holdCall);
      node.holdCall = null;
      node.calledMs = Number.NEGATIVE_INFINITY;
      node.applied = 0;
    }
    this.#denials.clear();
  }
}
