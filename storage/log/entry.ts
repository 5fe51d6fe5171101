/** What a log stores and how parts of it are named. */

/** One raft entry. `type` is a byte that means something to raft and the broker only. */
export interface LogEntry {
  readonly index: number;
  readonly term: number;
  readonly type: number;
  readonly data: Uint8Array;
}

/** `length` bytes at `position` of the body of entry `index`. */
export interface BodySlice {
  readonly index: number;
  readonly position: number;
  readonly length: number;
}

/** What opening a log found and did. */
export interface LogRecovery {
  readonly segments: number;
  readonly firstIndex: number;
  readonly lastIndex: number;
  /** Records read one by one: those of the last segment and of segments without a usable index. */
  readonly recordsScanned: number;
  readonly indexesRebuilt: number;
  /** Segment headers and segments that were damaged or lost and found again from what is around. */
  readonly headersRebuilt: number;
  readonly segmentsRecreated: number;
  /** The log was closed in order: nothing was written after the newest record it names. */
  readonly cleanStop: boolean;
  /**
   * The un-acknowledged tail that a power loss left half written, or null. Its shape says that it
   * was never stored as a whole (log/torn.ts) and no witness knows of it. `firstIndex` is the first
   * entry that stood there. A log that keeps damage tells of it at every start until
   * `Log.tornSettled()`.
   */
  readonly tornTail: {
    readonly file: string;
    readonly offset: number;
    readonly bytes: number;
    readonly firstIndex: number;
  } | null;
  /** Files of an interrupted roll, truncation or removal that were swept. */
  readonly filesRemoved: readonly string[];
}

export interface LogSegmentSummary {
  readonly file: string;
  readonly firstIndex: number;
  /** firstIndex - 1 while the segment is empty. */
  readonly lastIndex: number;
  readonly bytes: number;
}
