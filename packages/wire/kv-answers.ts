/** Answers of the key/value surface (state-surfaces 1.6, 1.8), as they go over the wire. */

/** Any JSON value. */
export type KvValue = unknown;

export interface KvRowAnswer {
  readonly key: string;
  /** Absent where only keys were asked for. */
  readonly value?: KvValue;
  readonly version: number;
  readonly expiresAt: string | null;
  readonly updatedAt: string;
}

export interface KvListedRowAnswer extends KvRowAnswer {
  readonly expired: boolean;
}

export interface KvNamespacesAnswer {
  readonly namespaces: readonly { readonly namespace: string; readonly keys: number }[];
  /** There are more than are shown. */
  readonly truncated?: true;
}

export interface KvListAnswer {
  readonly rows: readonly KvListedRowAnswer[];
  readonly truncated: boolean;
  readonly nextAfter: string | null;
  readonly bytes: number;
}

/** One operation's element; which members there are follows from `op`. */
export interface KvResultAnswer {
  readonly index: number;
  readonly op: string;
  readonly found?: boolean;
  readonly applied?: boolean;
  readonly reason?: string;
  readonly key?: string;
  readonly value?: KvValue;
  readonly version?: number;
  readonly expiresAt?: string | null;
  readonly updatedAt?: string;
  readonly rows?: readonly KvRowAnswer[];
  readonly missing?: readonly string[];
  readonly truncated?: boolean;
  readonly nextAfter?: string | null;
}

/** An operation that was required lost, and nothing was written; what is too long is left out. */
export interface KvFailureAnswer {
  readonly ok: false;
  readonly reason: 'kv_precondition';
  readonly failedIndex?: number;
  readonly kvReason?: string;
  readonly version?: number;
  readonly value?: KvValue;
}

export interface KvCallAnswer {
  /** One for each operation, in their order. */
  readonly results: readonly KvResultAnswer[];
}

/** Either of the two, as a client reads it. */
export type KvAnswer = Partial<KvCallAnswer> & Partial<KvFailureAnswer>;

/** `{"error","reason","detail"}` of key/value, locks and timers (state-surfaces 0.2). */
export interface SurfaceErrorAnswer {
  readonly error: string;
  readonly reason?: string;
  readonly detail?: string;
}
