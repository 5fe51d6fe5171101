/**
 * The runtime switches of the state surfaces (state-surfaces 5.1): one replicated row, so they are
 * the same on every node, change at one place of the log, and survive a restart. Without the row
 * everything is on.
 *
 * Nodes read them from what they have applied, before a request is planned; the leader reads them
 * once more from what it has planned where a command must not pass (transactions, firing timers).
 */
import type { ByteReader, ByteWriter } from './bytes.js';
import { SINGLETON_KEY } from './keys.js';
import type { State } from './state.js';
import { table } from './tables.js';

export interface Switches {
  /** Key/value and locks. */
  readonly kv: boolean;
  /** New timers; pending ones fire all the same. */
  readonly timersSchedule: boolean;
  readonly timersFire: boolean;
  readonly ephemeral: boolean;
}

export const SWITCH_NAMES = ['kv', 'timersSchedule', 'timersFire', 'ephemeral'] as const;

const ALL_ON: Switches = { kv: true, timersSchedule: true, timersFire: true, ephemeral: true };

export function switchesOf(state: State): Switches {
  return state.get(switches, SINGLETON_KEY) ?? ALL_ON;
}

export function writeSwitches(w: ByteWriter, row: Switches): void {
  for (const name of SWITCH_NAMES) w.flag(row[name]);
}

export function readSwitches(r: ByteReader): Switches {
  return {
    kv: r.flag(),
    timersSchedule: r.flag(),
    timersFire: r.flag(),
    ephemeral: r.flag(),
  };
}

export const switches = table<Switches>(60, 'switches', writeSwitches, readSwitches);
