/**
 * What commands cost, in units of work, and how much of it one turn takes.
 *
 * The job: while the leader plans a turn, and while a node applies its entry, nothing else runs on
 * that node: no heartbeat, no health check, no other client. So a turn is bounded by what it costs
 * and not by the number of its commands or items. The bound on the entry bounds every follower and
 * every replay too, for they apply what was planned.
 *
 * One unit is one microsecond of planning and applying together on the machine of the measurements
 * (`npm run bench -- --prices` prints the table of the machine that it runs on). The prices only
 * have to be right among each other: a machine that is half as fast has turns twice as long.
 *
 * Measured so on 26 November 2026, two cores of an AMD EPYC beside other work (all figures some
 * 1.3 times what they are without), in microseconds: pop that finds nothing 5, claim 47, dead
 * letter 30, timer that is scheduled 31, that fires 24 with its message, key that is put 9, key of
 * a stream 9, listed key 6, position 29 with its rows; for comparison a new partition 43.
 *
 * Users of the prices:
 * - `CallSlices` (packages/broker) cuts a push or a batch of acknowledgements that costs more than
 *   SLICE_UNITS into commands that cost less, and submits them one after another.
 * - The planner counts each command at its price when it arrives, which decides its line
 *   (`turn-lines.ts`), and counts exactly while it plans: a turn ends when its units are spent.
 * - Calls that apply as a whole (transactions, stream cycles) cannot be cut. They are refused above
 *   ATOMIC_UNITS_MAX, before anything is written.
 */
import type { PushCommand } from './commands/commands.js';
import type { KvCall } from './commands/kv.js';
import type { TimerCall } from './commands/timers.js';
import type { Refusal } from './refusals.js';

export const PRICES = {
  /** Any command: its outcome, its record, its answer. */
  command: 5,
  /** A queue that does not exist yet, beside its first partition. */
  newQueue: 25,
  /** A partition that does not exist yet, beside its first append. */
  newPartition: 50,
  /** An append: one for each partition that a command pushes to. */
  append: 15,
  /** A pushed message. */
  item: 1,
  /** Its transaction id: a look-up for duplicates, and its place in the index. */
  itemId: 7,
  /**
   * A message that is not stored, because its partition has its transaction id already: the append
   * that holds the original is found. Those of one append cost nothing beside the first.
   */
  duplicate: 12,
  /** 1,024 bytes of payload or value: copied, checked, written. */
  kibibyte: 1,
  /** A pop, beside the command; and each partition that it claims: a row read, a cursor written. */
  pop: 10,
  claim: 35,
  /** A queue that a pop by namespace or task looks at; and one that its group begins to read. */
  matchedQueue: 2,
  newGroup: 13,
  /** A partition whose cursor an acknowledgement asks for, and a message that it names. */
  ackTarget: 15,
  ackItem: 4,
  /** One whose message was looked up in an earlier turn. */
  knownAckItem: 1,
  /** A message that is filed as a dead letter, beside its bytes. */
  deadLetter: 20,
  /**
   * A cursor that a transaction places in a known partition. Its three rows are read in turns
   * before (`transaction-ahead.ts`), unless there are few.
   */
  position: 15,
  positionRows: 10,
  /** A key that a key/value call names. */
  key: 8,
  /** A change of a key of a stream's state. */
  streamKey: 7,
  /** A row of a page of keys. */
  listedKey: 5,
  /** A timer that is scheduled or cancelled, or that fires, beside its message. */
  timer: 25,
} as const;

/** A parked pop by labels looks at so many of its queues for one unit, when it is tried. */
export const LOOKS_PER_UNIT = 32;

/**
 * Units that a turn takes of small commands; and, beside those, one command that is not small. So a
 * turn of slices and small commands is 24 ms at most, and what waits for its entry waits for two
 * or three turns, some 60 ms.
 */
export const TURN_UNITS = 12_000;

/** What a command may cost to stand among the small ones: four of them are a turn. */
export const SMALL_UNITS = 3000;

/**
 * And what it may add to the log: sixteen of them fill an entry. Bytes are cheap to plan, but an
 * entry of megabytes takes the disk, the followers and apply tens of milliseconds.
 */
export const SMALL_BYTES = 256 * 1024;

/**
 * With so many bytes of entries with wide commands in flight, no further wide command is planned.
 * Entries are made durable and applied in order, so a small command waits for all that is in
 * flight: for 8 MiB and one more wide command, some 100 ms on a disk that takes 100 MiB a second.
 * Two slices of pushes are enough to keep such a disk busy.
 */
export const WIDE_BYTES_IN_FLIGHT = 2 * 4 * 1024 * 1024;

/** What a slice of a call costs at most, unless it is a single message. */
export const SLICE_UNITS = TURN_UNITS;

/** Payload bytes of a slice, unless it is a single message: the bytes of a turn. */
export const SLICE_BYTES = 4 * 1024 * 1024;

/**
 * What a transaction or a stream cycle may cost: the 50,000 messages with ids that a cycle may push
 * are 400,000 units and some 0.2 s; 16,384 positions in known partitions are 245,760. While it is
 * planned nothing else is. It goes after all small commands, and two of them never follow each
 * other at once (`turn-lines.ts`). What only reads is done in turns before it
 * (`transaction-ahead.ts`) and does not count.
 *
 * Measured on 26 November 2026 on two cores of an AMD EPYC that others used too, processor time of
 * the main thread, rows read from LMDB: 16,384 positions take 14 turns of 2 to 8 ms and one of 50
 * to 80, the first such call of a process 95; applying the entry takes 20, the first time 60.
 */
export const ATOMIC_UNITS_MAX = 410_000;

/** Why a call that applies as a whole is not planned: it costs `units`, or more. */
export function tooMuchWork(what: string, units: number): Refusal {
  const { newPartition, append, itemId, item, position } = PRICES;
  const parts = Math.ceil(units / ATOMIC_UNITS_MAX);
  return {
    reason: 'too_large',
    error:
      `the ${what} takes ${units} units of work or more, and what applies as a whole may take ` +
      `${ATOMIC_UNITS_MAX} (a new partition takes ${newPartition + append}, a known one ` +
      `${append}, a message ${item + itemId}, a position ${position}); nothing was applied: ` +
      `send it in ${parts} parts or more`,
  };
}

/** At the price of known partitions. Items count as if each had a transaction id. */
export function pushPrice({ groups, itemGroup, body }: PushCommand): number {
  const perItem = PRICES.item + PRICES.itemId;
  return groups.length * PRICES.append + itemGroup.length * perItem + bytesPrice(body.length);
}

/** The price of that many bytes. */
export function bytesPrice(bytes: number): number {
  return (bytes >>> 10) * PRICES.kibibyte;
}

export function kvPrice({ ops }: KvCall): number {
  let units = 0;
  for (const op of ops) {
    if (op.op === 'getPrefix') units += op.limit * PRICES.listedKey;
    else units += (op.op === 'getMany' ? op.keys.length : 1) * PRICES.key;
    if (op.op === 'put' || op.op === 'putIfAbsent') units += bytesPrice(op.value.length);
  }
  return units;
}

export function timersPrice(call: TimerCall | null): number {
  return call === null ? 0 : call.ops.length * PRICES.timer;
}
