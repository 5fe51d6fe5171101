/** Effects on timers (timers/apply.ts). */
import { type ChoiceOf, kind } from '../../base/fields/choice.js';
import { bytes, count, key, list, ROWS_MAX } from '../../base/fields/field.js';
import type { State } from '../../base/state.js';
import { applyTimerClock, delayTimer, putTimer, removeTimers } from './apply.js';
import { timerDelay, timerRow } from './tables.js';

export const timerEffects = {
  /** A new timer, or the one that takes the place of what had the name. */
  timer: kind(24, { key, row: timerRow, payload: bytes }),
  'remove-timers': kind(25, { keys: list(key, ROWS_MAX) }),
  'delay-timer': kind(26, { key, delay: timerDelay }),
  /** The time of timers at the turn (timer-clock.ts). */
  'timer-clock': kind(27, { us: count }),
};
export type TimerEffect = ChoiceOf<'kind', typeof timerEffects>;

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
