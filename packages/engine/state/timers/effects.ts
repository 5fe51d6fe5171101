/** Effects on timers (timers/apply.ts). */
import { effect } from '../../base/fields/choice.js';
import { bytes, count, key, list, ROWS_MAX } from '../../base/fields/field.js';
import { applyTimerClock, delayTimer, putTimer, removeTimers } from './apply.js';
import { timerDelay, timerRow } from './tables.js';

export const timerEffects = {
  /** A new timer, or the one that takes the place of what had the name. */
  timer: effect(24, { key, row: timerRow, payload: bytes }, (state, it) => {
    putTimer(state, it.key, it.row, it.payload);
  }),
  'remove-timers': effect(25, { keys: list(key, ROWS_MAX) }, (state, { keys }) => {
    removeTimers(state, keys);
  }),
  'delay-timer': effect(26, { key, delay: timerDelay }, (state, it) => {
    delayTimer(state, it.key, it.delay);
  }),
  /** The time of timers at the turn (timer-clock.ts). */
  'timer-clock': effect(27, { us: count }, (state, { us }) => applyTimerClock(state, us)),
};
