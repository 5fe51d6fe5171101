/**
 * What clients did with keys and saw of them, as plain records: the input of the checkers of
 * registers and of batches. Times are as in `history.ts`.
 *
 * Values are JSON texts, so that a stored `null` differs from no row at all, which is null here.
 */

/** `put` with `expect` 0 is `putIfAbsent` too: they are one operation. */
export type KvAction =
  | { readonly op: 'get' }
  | { readonly op: 'put'; readonly value: string; readonly expect: number | null }
  | { readonly op: 'delete'; readonly expect: number | null }
  | {
      readonly op: 'incr';
      readonly delta: number;
      readonly min: number | null;
      readonly max: number | null;
    };

/** As answered (state-surfaces 1.6). A `get` that found something counts as applied. */
export interface KvAnswer {
  readonly applied: boolean;
  readonly reason: string | null;
  /** What was written, removed or found; of a write that lost, what is there. */
  readonly value: string | null;
  /** 0: there is no row. */
  readonly version: number;
}

/** One operation on one key. `refused` is definite: nothing was done. */
export interface KvOperation {
  readonly key: string;
  readonly action: KvAction;
  readonly beganMs: number;
  readonly endedMs: number;
  readonly answer: KvAnswer | 'refused' | 'unknown';
}

export interface KvWrite {
  readonly key: string;
  /** No two writes of a history have the same. */
  readonly value: string;
  /** The batch is to be dropped unless the key is at this version; 0: unless it is absent. */
  readonly expect: number | null;
}

export interface KvRead {
  readonly key: string;
  /** null: missing. */
  readonly value: string | null;
  readonly version: number;
}

/** One call: puts that go together, and then a `getMany`, either of which may be empty. */
export interface KvBatch {
  readonly writes: readonly KvWrite[];
  readonly beganMs: number;
  readonly endedMs: number;
  /** `lost`: a precondition did not hold, so nothing was written. */
  readonly outcome: 'committed' | 'lost' | 'refused' | 'unknown';
  /** Versions of the writes, in their order, where it is known to have committed. */
  readonly versions: readonly number[];
  /** What the `getMany` showed, where there was an answer. */
  readonly reads: readonly KvRead[];
}
