/**
 * Goal: the checker of timers is silent on a right history and names each kind of wrong one.
 * Method: one right history with calls of every outcome; each test plants one anomaly in it.
 */
import { describe, expect, it } from 'vitest';
import {
  checkTimers,
  type FiredMessage,
  type TimerAnomalyKind,
  type TimerCall,
  type TimerHistory,
} from './timer-checker.js';

/** `id` is the key's name and a number. */
function schedule(
  id: string,
  beganMs: number,
  delayMs: number,
  outcome: TimerCall['outcome'] = 'scheduled',
): TimerCall {
  const isTold = outcome === 'scheduled' || outcome === 'rescheduled';
  return {
    key: id.slice(0, 1),
    schedule: { transactionId: id, delayMs, payload: `"${id}"`, destination: 'q/p' },
    beganMs,
    endedMs: beganMs + 10,
    outcome,
    messageId: isTold ? `m-${id}` : null,
    removed: null,
  };
}

function cancel(
  key: string,
  beganMs: number,
  outcome: TimerCall['outcome'],
  removed: string | null = null,
): TimerCall {
  const endedMs = beganMs + 10;
  return { key, schedule: null, beganMs, endedMs, outcome, messageId: null, removed };
}

function fired(id: string, seenMs = Number.POSITIVE_INFINITY): FiredMessage {
  return {
    destination: 'q/p',
    transactionId: id,
    messageId: `m-${id}`,
    payload: `"${id}"`,
    seenMs,
  };
}

/**
 * `a` fires twice under two ids; `b` is replaced and then cancelled; of `c`, the second call had
 * its effect unseen, and of `d`, the cancel.
 */
const RIGHT: TimerHistory = {
  calls: [
    schedule('a1', 0, 1000),
    cancel('a', 1100, 'absent'),
    schedule('a2', 1200, 500),
    schedule('b1', 0, 3000),
    schedule('b2', 500, 3000, 'rescheduled'),
    cancel('b', 700, 'cancelled', 'b2'),
    schedule('b3', 800, 100, 'refused'),
    schedule('c1', 0, 1000),
    schedule('c2', 500, 1000, 'unknown'),
    schedule('d1', 0, 1000),
    cancel('d', 500, 'unknown'),
  ],
  messages: [fired('a1', 1050), fired('a2'), fired('c2', 1600)],
  clockBreaksMs: [],
};

function kinds(changes: Partial<TimerHistory>): TimerAnomalyKind[] {
  return [...new Set(checkTimers({ ...RIGHT, ...changes }).map(({ kind }) => kind))];
}

function withMessages(...messages: FiredMessage[]): Partial<TimerHistory> {
  return { messages: [...RIGHT.messages, ...messages] };
}

function withCalls(...calls: TimerCall[]): Partial<TimerHistory> {
  return { calls: [...RIGHT.calls, ...calls] };
}

describe('checkTimers', () => {
  it('is silent on a right history', () => {
    expect(kinds({})).toEqual([]);
    expect(kinds(withMessages(fired('c1', 1000), fired('d1', 1000)))).toEqual([]);
  });

  it('finds a timer that fired twice', () => {
    expect(kinds(withMessages(fired('a1')))).toEqual(['fired_twice']);
  });

  it('finds a timer that fired although it was cancelled', () => {
    expect(kinds(withMessages(fired('b2')))).toEqual(['fired_after_cancel']);
    const unsure = [schedule('d2', 2000, 100), cancel('d', 2050, 'cancelled', 'd2')];
    expect(kinds({ ...withCalls(...unsure), ...withMessages(fired('d2')) })).toEqual([
      'fired_after_cancel',
    ]);
  });

  it('finds a timer that fired although it was replaced', () => {
    expect(kinds(withMessages(fired('b1')))).toEqual(['fired_after_reschedule']);
  });

  it('finds one that was there too early, unless a clock jumped', () => {
    const early = { messages: [fired('a1', 690), fired('a2')] };
    expect(kinds(early)).toEqual(['early']);
    expect(kinds({ ...early, clockBreaksMs: [600] })).toEqual([]);
    expect(kinds({ messages: [fired('a1', 710), fired('a2')] })).toEqual([]);
  });

  it('finds a timer that never fires', () => {
    expect(kinds({ messages: [fired('a1', 1050)] })).toEqual(['lost']);
    expect(kinds({ messages: [fired('a1', 1050)], clockBreaksMs: [1300] })).toEqual([]);
    expect(kinds({ messages: [fired('a2')] })).toEqual(['lost']);
  });

  it('finds a cancel that finds nothing although something is pending', () => {
    const calls = [schedule('e1', 0, 2000), cancel('e', 500, 'absent')];
    const late = withMessages(fired('e1', 2000));
    expect(kinds({ ...withCalls(...calls), ...late })).toEqual(['wrong_verdict']);
    const second = [schedule('e1', 0, 2000), schedule('e2', 500, 100)];
    const both = withMessages(fired('e1', 2000), fired('e2'));
    expect(kinds({ ...withCalls(...second), ...both })).toEqual(['wrong_verdict']);
  });

  it('finds a cancel of what is not there any more', () => {
    expect(kinds(withCalls(cancel('b', 900, 'cancelled', 'b2')))).toEqual(['wrong_verdict']);
    expect(kinds(withCalls(schedule('b4', 900, 0, 'rescheduled')))).toContain('wrong_verdict');
    expect(kinds(withCalls(cancel('e', 0, 'cancelled', 'zz')))).toEqual(['wrong_verdict']);
  });

  it('finds what was refused, or scheduled by nobody', () => {
    expect(kinds(withMessages(fired('b3')))).toEqual(['refused_fired']);
    expect(kinds(withMessages(fired('zz')))).toEqual(['never_scheduled']);
  });

  it('finds another id than the promised one, another payload, another place', () => {
    const [first, ...others] = RIGHT.messages;
    const changed = (changes: Partial<FiredMessage>) =>
      kinds({ messages: first === undefined ? [] : [{ ...first, ...changes }, ...others] });
    expect(changed({ messageId: 'x' })).toEqual(['message_id']);
    expect(changed({ payload: 'x' })).toEqual(['payload']);
    expect(changed({ destination: 'q/other' })).toEqual(['payload']);
  });

  it('judges no key that two clients use at once', () => {
    expect(() => kinds(withCalls(schedule('a3', 1205, 0)))).toThrow('two clients');
  });
});
