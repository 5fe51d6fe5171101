/** Effects on timers and their binary form (timers/apply.ts). */
import type { ByteReader, ByteWriter } from '../../base/bytes.js';
import type { Key, State } from '../../base/state.js';
import { applyTimerClock, delayTimer, putTimer, removeTimers, type TimerDelay } from './apply.js';
import { readTimer, type TimerRow, writeTimer } from './tables.js';

export type TimerEffect =
  /** A new timer, or the one that takes the place of what had the name. */
  | {
      readonly kind: 'timer';
      readonly key: Key;
      readonly row: TimerRow;
      readonly payload: Uint8Array;
    }
  | { readonly kind: 'remove-timers'; readonly keys: readonly Key[] }
  | { readonly kind: 'delay-timer'; readonly key: Key; readonly delay: TimerDelay }
  /** The time of timers at the turn (timer-clock.ts). */
  | { readonly kind: 'timer-clock'; readonly us: number };

export const TIMER_EFFECT_KINDS = ['timer', 'remove-timers', 'delay-timer', 'timer-clock'] as const;

export function applyTimerEffect(state: State, effect: TimerEffect): void {
  switch (effect.kind) {
    case 'timer':
      putTimer(state, effect.key, effect.row, effect.payload);
      break;
    case 'remove-timers':
      removeTimers(state, effect.keys);
      break;
    case 'delay-timer':
      delayTimer(state, effect.key, effect.delay);
      break;
    case 'timer-clock':
      applyTimerClock(state, effect.us);
      break;
  }
}

export function writeTimerEffect(w: ByteWriter, effect: TimerEffect): void {
  switch (effect.kind) {
    case 'timer':
      w.latin1(effect.key);
      writeTimer(w, effect.row);
      w.blob(effect.payload);
      break;
    case 'remove-timers':
      w.varint(effect.keys.length);
      for (const key of effect.keys) w.latin1(key);
      break;
    case 'delay-timer':
      w.latin1(effect.key);
      w.varint(effect.delay.dueUs);
      w.varint(effect.delay.attempts);
      w.text(effect.delay.lastError);
      w.varint(effect.delay.updatedAtUs);
      break;
    case 'timer-clock':
      w.varint(effect.us);
      break;
  }
}

export function readTimerEffect(kind: TimerEffect['kind'], r: ByteReader): TimerEffect {
  switch (kind) {
    case 'timer':
      return { kind, key: r.latin1() as Key, row: readTimer(r), payload: r.blob() };
    case 'remove-timers': {
      const keys: Key[] = [];
      for (let left = r.varint(); left > 0; left--) keys.push(r.latin1() as Key);
      return { kind, keys };
    }
    case 'delay-timer':
      return {
        kind,
        key: r.latin1() as Key,
        delay: {
          dueUs: r.varint(),
          attempts: r.varint(),
          lastError: r.text(),
          updatedAtUs: r.varint(),
        },
      };
    case 'timer-clock':
      return { kind, us: r.varint() };
  }
}
