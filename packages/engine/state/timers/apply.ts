/** What effects on timers do to the state: apply runs these, and they keep the tables in step. */
import { assert } from '../../base/assert.js';
import { SINGLETON_KEY } from '../../base/keys.js';
import type { Key, State } from '../../base/state.js';
import { meta } from '../../base/tables.js';
import {
  type TimerDelay,
  type TimerRow,
  tenantOfTimer,
  timerDue,
  timerDueKey,
  timerMessageBytes,
  timerPayloads,
  timers,
  timerUse,
  timerUseKey,
} from './tables.js';

/** A new timer, or another one in the place of the one that has the name. */
export function putTimer(state: State, key: Key, row: TimerRow, payload: Uint8Array): void {
  const before = state.get(timers, key);
  if (before !== undefined) forget(state, before);
  state.put(timers, key, row);
  list(state, key, row);
  state.put(timerPayloads, row.place, payload);
  const added = payload.length - (before?.payloadBytes ?? 0);
  count(state, key, before === undefined ? 1 : 0, added);
}

/** These timers, which exist, are gone: fired, cancelled or filed as dead. */
export function removeTimers(state: State, keys: readonly Key[]): void {
  // What a tenant has pending is counted once for all of its timers that stand together.
  let [removed, bytes] = [0, 0];
  for (const [i, key] of keys.entries()) {
    const row = timerAt(state, key);
    forget(state, row);
    state.delete(timers, key);
    removed++;
    bytes += row.payloadBytes;
    const next = keys[i + 1];
    if (next !== undefined && tenantOfTimer(next) === tenantOfTimer(key)) continue;
    count(state, key, -removed, -bytes);
    [removed, bytes] = [0, 0];
  }
}

/** The timer, which exists, stays and is due later. */
export function delayTimer(state: State, key: Key, delay: TimerDelay): void {
  const row = timerAt(state, key);
  const later = { ...row, ...delay };
  state.delete(timerDue, timerDueKey(row.dueUs, row.place));
  state.put(timers, key, later);
  list(state, key, later);
}

/** The time of timers has come this far. */
export function applyTimerClock(state: State, us: number): void {
  const row = state.get(meta, SINGLETON_KEY);
  assert(
    row !== undefined && us >= row.timerUs,
    `the time of timers went back from ${row?.timerUs} to ${us}`,
  );
  state.put(meta, SINGLETON_KEY, { ...row, timerUs: us });
}

function timerAt(state: State, key: Key): TimerRow {
  const row = state.get(timers, key);
  assert(row !== undefined, 'a timer was fired, removed or delayed that does not exist');
  return row;
}

function list(state: State, key: Key, row: TimerRow): void {
  const bytes = timerMessageBytes(row);
  state.put(timerDue, timerDueKey(row.dueUs, row.place), { timer: key, bytes });
}

function forget(state: State, row: TimerRow): void {
  state.delete(timerDue, timerDueKey(row.dueUs, row.place));
  state.delete(timerPayloads, row.place);
}

function count(state: State, key: Key, timersAdded: number, bytesAdded: number): void {
  const tenant = timerUseKey(tenantOfTimer(key));
  const before = state.get(timerUse, tenant) ?? { timers: 0, bytes: 0 };
  const use = { timers: before.timers + timersAdded, bytes: before.bytes + bytesAdded };
  assert(use.timers >= 0 && use.bytes >= 0, `${use.timers} timers of ${use.bytes} bytes`);
  if (use.timers === 0) state.delete(timerUse, tenant);
  else state.put(timerUse, tenant, use);
}
