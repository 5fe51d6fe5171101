/** How much of what a command carries is to be stored. */
import type { Command } from './commands.js';
import type { KvCall } from './kv.js';
import { cycleGrows } from './streams.js';
import { schedulesOf, type TimerCall, timerPayloadBytes } from './timers.js';

/** Of a key/value write beside its value: its names and its row's numbers, in entry and row. */
const KV_WRITE_BYTES = 256;
/** Of a timer beside its payload: the same, and its place among those that are due. */
const TIMER_BYTES = 512;

/** Bytes of what is to be stored, as they were sent; 0: the command adds nothing. */
export function growingBytes(command: Command): number {
  const bytes = growingBody(command)?.length ?? 0;
  if (command.kind === 'kv') return kvBytes(command);
  if (command.kind === 'timers') return timerBytes(command);
  if (command.kind !== 'transaction') return bytes;
  const { kv, timers } = command;
  return bytes + (kv === null ? 0 : kvBytes(kv)) + (timers === null ? 0 : timerBytes(timers));
}

/**
 * What planning a key/value call counts for in a turn: as its writes would, each key that it names,
 * read or written, so that a turn ends in time also when calls only delete, or read a great deal.
 * What the entry gets of what they find is only known when they are planned: the planner counts it
 * then.
 */
export function kvTurnBytes({ ops }: KvCall): number {
  let bytes = 0;
  for (const op of ops) {
    if (op.op === 'put' || op.op === 'putIfAbsent') bytes += op.value.length;
    const keys = op.op === 'getPrefix' ? op.limit : op.op === 'getMany' ? op.keys.length : 1;
    bytes += keys * KV_WRITE_BYTES;
  }
  return bytes;
}

function kvBytes({ ops }: KvCall): number {
  let bytes = 0;
  for (const op of ops) {
    if (op.op === 'put' || op.op === 'putIfAbsent') bytes += KV_WRITE_BYTES + op.value.length;
    else if (op.op === 'incr') bytes += KV_WRITE_BYTES;
  }
  return bytes;
}

function timerBytes(call: TimerCall): number {
  return timerPayloadBytes(call) + schedulesOf(call) * TIMER_BYTES;
}

/** The request body that a command's messages, or its trace, stand in; null: there is none. */
export function growingBody(command: Command): Uint8Array | null {
  if (command.kind === 'push') return command.body;
  if (command.kind === 'transaction') return command.pushes?.body ?? null;
  if (command.kind === 'trace') return command.data;
  if (command.kind === 'stream-cycle') return cycleGrows(command) ? command.body : null;
  return null;
}
