/** What can happen to a simulated node, and how often it did. */

export const FAULTS = {
  kill: 'the process is killed; the disk keeps what was written',
  power: 'power is lost; what was not synced is dropped, torn or reordered',
  'power-at-sync': 'power is lost right before or right after a sync took effect',
  point: 'the process is killed at a named crash point',
  stall: 'the disk hangs for a while',
  'write-error': 'a write to the log fails',
  'sync-error': 'an fdatasync fails',
  'store-error': 'a checkpoint cannot be written',
  'disk-full': 'no space is left for a while',
  'clock-jump': 'the wall clock is set forward or back',
  'bit-flip': 'a stored bit in the middle of the log is flipped while the node is down',
  'lost-answer': 'an answer never reaches its client',
  'client-gone': 'a client closes its connection before the answer',
} as const;

export type Fault = keyof typeof FAULTS;

export const FAULT_NAMES = Object.keys(FAULTS) as Fault[];

export type FaultCounts = { [fault in Fault]: number };

export function noFaults(): FaultCounts {
  return Object.fromEntries(FAULT_NAMES.map((fault) => [fault, 0])) as FaultCounts;
}
