/** The counts of a request that was relayed (gateway 10). */

export const OP_CLASSES = ['push', 'txn', 'delivery', 'configure', 'read'] as const;
export type OpClass = (typeof OP_CLASSES)[number];

export interface Sample {
  readonly clusterId: string;
  readonly op: OpClass;
  readonly reqs: number;
  readonly msgs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** Takes samples as requests end; the minute is that of the clock when it is called. */
export interface Meter {
  add(sample: Sample, wallUs: number): void;
  /** Calls `send` when what was added outlives the process: before that no answer tells of it. */
  whenWritten(send: () => void): void;
}
