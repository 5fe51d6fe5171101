/** The timers of a transaction (message-plane 6): judged and written with the rest. */

import type { TimerCall, TimersOutcome } from '../../base/commands/timers.js';
import type { Rollback } from '../../base/commands/transaction.js';
import { switchesOf } from '../../base/switches.js';
import type { Draft } from '../../draft/draft.js';
import { judgeTimers, timersEntryBytes } from './plan.js';

/** What writes a call on timers that was judged. */
export interface TimerWriter {
  write(draft: Draft, call: TimerCall): TimersOutcome;
}

/** Why the transaction is refused whatever its parts are; null: it is not. */
export function timersLegRefusal({ state }: Draft, call: TimerCall | null): Rollback | null {
  if (call === null || switchesOf(state).timersSchedule) return null;
  return { reason: 'timers_disabled', error: 'scheduling timers is paused' };
}

/** `size` is what the transaction adds to its entry. */
export function judgeTimersLeg(
  draft: Draft,
  call: TimerCall | null,
  size: { bytes: number },
): Rollback | null {
  if (call === null) return null;
  size.bytes += timersEntryBytes(draft, call);
  const flaw = judgeTimers(draft, call);
  if (flaw === null) return null;
  const error = `timer op ${flaw.index}: the broker itself encrypts what is sent to this queue`;
  return { reason: flaw.reason, error };
}
