/** Calls on timers as tests write them: what matters by name, the rest filled in. */
import { assert } from '../base/assert.js';
import type {
  CancelTimer,
  ScheduleTimer,
  TimerCall,
  TimerOp,
  TimersOutcome,
} from '../base/commands/timers.js';
import { timerDue, timerPayloads, timers, timerUse } from '../state/timers/tables.js';
import { type EngineRig, TENANT, utf8 } from './engine.fake.js';

export interface ScheduleWords extends Partial<Omit<ScheduleTimer, 'op' | 'payload' | 'delayUs'>> {
  readonly delayMs?: number;
  /** The transaction id, and the payload as a JSON string, unless given. */
  readonly payload?: Uint8Array;
}

/** Into queue `q`, partition `p`. */
export function scheduleOf(timerKey: string, words: ScheduleWords = {}): ScheduleTimer {
  const { delayMs = 1000, txn = `txn-${timerKey}`, payload = utf8(`"${txn}"`), ...rest } = words;
  return {
    op: 'schedule',
    queue: 'q',
    timerKey,
    partition: 'p',
    delayUs: delayMs * 1000,
    txn,
    payload,
    isJson: true,
    encrypted: false,
    ...rest,
  };
}

export function cancelOf(timerKey: string, queue = 'q', txn: string | null = null): CancelTimer {
  return { op: 'cancel', queue, timerKey, txn };
}

export function timerCall(ops: readonly TimerOp[], tenant = TENANT): TimerCall {
  return { kind: 'timers', tenant, producerSub: 'who', ops };
}

export function callTimers(rig: EngineRig, ...ops: TimerOp[]): TimersOutcome {
  const { outcome } = rig.call(timerCall(ops));
  assert(outcome?.kind === 'timers', `the call was answered by ${outcome?.kind}`);
  return outcome;
}

/** A turn, and those that it asks for at once. */
export function settle(rig: EngineRig): void {
  do rig.turn();
  while (rig.planner.busy);
}

/** Moves the clock to what is due next, and runs the turns that follow. */
export function runDue(rig: EngineRig): void {
  const dueMs = rig.planner.nextDueMs();
  assert(dueMs !== null, 'nothing is due');
  if (dueMs > rig.nowMs) rig.advance(dueMs - rig.nowMs);
  settle(rig);
}

/** Timers that wait, of all tenants; every table must know the same. */
export function pending(rig: EngineRig): number {
  const rows = rig.rows(timers);
  const counted = rig.rows(timerUse).reduce((sum, row) => sum + row.timers, 0);
  const counts = [rig.rows(timerDue).length, rig.rows(timerPayloads).length, counted];
  for (const count of counts) assert(count === rows.length, `${count} of ${rows.length} timers`);
  return rows.length;
}

/** All messages of queue `q` that were not seen before, as they were delivered. */
export function consume(rig: EngineRig): string[] {
  const texts: string[] = [];
  for (;;) {
    const popped = rig.pop({ autoAck: true, batch: 10_000, partitions: 64 });
    if (popped.claims.length === 0) return texts;
    texts.push(...rig.texts(popped));
  }
}
