/** What can happen to simulated machines and to what lies between them, and how often it did. */

export const FAULTS = {
  kill: 'the process is killed; the disk keeps what was written',
  power: 'power is lost; what was not synced is dropped, torn or reordered',
  'power-at-sync': 'power is lost right before or right after a sync took effect',
  'power-all': 'all machines lose power at once',
  point: 'the process is killed at a named crash point',
  pause: 'the process is stopped for a while and goes on',
  stall: 'the disk hangs for a while',
  'slow-disk': 'every operation of the disk takes long for a while',
  'write-error': 'a write to the log fails',
  'sync-error': 'an fdatasync fails',
  'store-error': 'a checkpoint cannot be written',
  'disk-full': 'no space is left for a while',
  'bit-flip': 'a stored bit is flipped while the node is down',
  truncate: 'the end of the log is missing when the node starts',
  wipe: 'a directory is lost, and the member is replaced by the procedure',
  'clock-jump': 'the wall clock is set forward or back',
  'clock-strobe': 'the wall clock is set to and fro many times',
  'clock-drift': 'the clocks of the machines run at different speeds',
  partition: 'the machines are cut into two sides',
  'one-way': 'frames pass in one direction only',
  deaf: 'the leader sends and cannot hear',
  bridge: 'two sides that only one machine hears both of',
  ring: 'each machine hears only its neighbours in a ring',
  comeback: 'those that missed writes form a majority with one that lost power',
  'kill-behind': 'a machine that catches up, or one that it catches up from, is killed',
  clog: 'a path delays everything for a while',
  loss: 'a frame is lost',
  repeat: 'a frame arrives twice',
  reorder: 'a frame is overtaken by later ones',
  corrupt: 'bits of a frame are flipped or its end is missing',
  members: 'the operator adds, promotes or removes members',
  'other-members': 'the operator wants other members while a change is under way',
  transfer: 'the operator moves the leadership',
  'lost-answer': 'an answer never reaches its client',
  'client-gone': 'a client closes its connection before the answer',
} as const;

export type Fault = keyof typeof FAULTS;

export const FAULT_NAMES = Object.keys(FAULTS) as Fault[];

export type FaultCounts = { [fault in Fault]: number };

export function noFaults(): FaultCounts {
  return Object.fromEntries(FAULT_NAMES.map((fault) => [fault, 0])) as FaultCounts;
}

export function isFault(name: string): name is Fault {
  return Object.hasOwn(FAULTS, name);
}
