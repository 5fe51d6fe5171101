/** Random calls on timers and outcomes, for whatever moves them about as bytes. */

import type { TimerCall, TimerOp, TimerResult, TimersOutcome } from '../base/commands/timers.js';
import { TENANT } from './engine.fake.js';
import type { SeededRandom } from './random.fake.js';

const TEXTS = ['a', 'orders.eu', 'grüße ✓', '\u{1F680}'.repeat(9), 'x'.repeat(200)];
const ID = '01a2b3c4-0000-7000-8000-000000000001';

export function randomTimerCall(random: SeededRandom): TimerCall {
  const text = () => TEXTS[random.below(TEXTS.length)] as string;
  const chance = () => random.below(2) === 0;
  const ops = Array.from({ length: random.below(6) }, (_, i): TimerOp => {
    const names = { queue: text(), timerKey: `${i}${text()}` };
    if (chance()) return { op: 'cancel', ...names, txn: chance() ? null : text() };
    return {
      op: 'schedule',
      ...names,
      partition: chance() ? '' : text(),
      delayUs: random.below(2 ** 42),
      txn: text(),
      payload: Uint8Array.from({ length: random.below(300) }, () => random.below(256)),
      isJson: chance(),
      encrypted: chance(),
    };
  });
  return { kind: 'timers', tenant: TENANT, producerSub: chance() ? null : text(), ops };
}

export function randomTimersOutcome(random: SeededRandom): TimersOutcome {
  if (random.below(4) === 0) {
    const flaw = { reason: 'timers_encrypted_conflict', index: random.below(256) } as const;
    return { kind: 'timers', flaw, results: [] };
  }
  const results = Array.from({ length: random.below(6) }, (): TimerResult => {
    const status = (['scheduled', 'rescheduled', 'cancelled', 'absent'] as const)[random.below(4)];
    if (status === 'cancelled') return { status, txn: 'txn' };
    if (status === 'absent' || status === undefined) return { status: 'absent' };
    return { status, messageId: ID, deliverAtUs: random.below(2 ** 51) };
  });
  return { kind: 'timers', flaw: null, results };
}
