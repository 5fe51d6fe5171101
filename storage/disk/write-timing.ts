/**
 * How long the disk takes, told to whoever counts it. The log and the checkpoint have no clock of
 * their own; without this they read none.
 */
export interface WriteTiming {
  /** Monotonic milliseconds. */
  nowMs(): number;
  /** Entries of one append begin to be written, so long after they were given to the log. */
  pickedUp(waitedMs: number): void;
  /** One write and one sync made so much durable; `syncMs` is the sync alone. */
  synced(entries: number, bytes: number, syncMs: number): void;
  /** Files of the log were given up. */
  removed(files: number): void;
  /** The transaction of a checkpoint. */
  committed(tookMs: number): void;
}
