/**
 * The runtime switches of the state surfaces (state-surfaces 5.1): one replicated row, so they are
 * the same on every node, change at one place of the log, and survive a restart. Without the row
 * everything is on.
 *
 * Nodes read them from what they have applied, before a request is planned; the leader reads them
 * once more from what it has planned where a command must not pass (transactions, firing timers).
 */
import { flag, type Infer } from './fields/field.js';
import { record } from './fields/record.js';
import { SINGLETON_KEY } from './keys.js';
import type { State } from './state.js';
import { table } from './tables.js';

export const switchesRow = record({
  /** Key/value and locks. */
  kv: flag,
  /** New timers; pending ones fire all the same. */
  timersSchedule: flag,
  timersFire: flag,
  ephemeral: flag,
});
export type Switches = Infer<typeof switchesRow>;

export const SWITCH_NAMES = ['kv', 'timersSchedule', 'timersFire', 'ephemeral'] as const;

const ALL_ON: Switches = { kv: true, timersSchedule: true, timersFire: true, ephemeral: true };

export function switchesOf(state: State): Switches {
  return state.get(switches, SINGLETON_KEY) ?? ALL_ON;
}

export const switches = table(60, 'switches', switchesRow);
