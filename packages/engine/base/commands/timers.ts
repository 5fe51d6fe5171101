/**
 * A call on timers (state-surfaces 3.2): operations that apply together, and what came of each. A
 * schedule and a reschedule are one upsert on (queue, timer key).
 */
import type { Tenant } from './commands.js';

export interface ScheduleTimer {
  readonly op: 'schedule';
  readonly queue: string;
  /** Not empty, without a NUL. */
  readonly timerKey: string;
  readonly partition: string;
  /** >= 0: from when the call is planned. */
  readonly delayUs: number;
  /** The transaction id of the message that fires. */
  readonly txn: string;
  /** Decompressed. Nobody writes to it after submission. */
  readonly payload: Uint8Array;
  /** The payload is a JSON text, and becomes the message as it stands. */
  readonly isJson: boolean;
  /** The client says that it has encrypted the payload. */
  readonly encrypted: boolean;
}

export interface CancelTimer {
  readonly op: 'cancel';
  readonly queue: string;
  readonly timerKey: string;
  /** Echoed when there is no such timer. */
  readonly txn: string | null;
}

export type TimerOp = ScheduleTimer | CancelTimer;

/** One (queue, timer key) comes at most once. */
export interface TimerCall {
  readonly kind: 'timers';
  readonly tenant: Tenant;
  /** Who schedules, for the messages that fire. */
  readonly producerSub: string | null;
  readonly ops: readonly TimerOp[];
}

/** In the order of the operations, one for each; queue and timer key are those of the operation. */
export type TimerResult =
  | {
      readonly status: 'scheduled' | 'rescheduled';
      readonly messageId: string;
      readonly deliverAtUs: number;
    }
  /** `txn`: of the timer that is gone. */
  | { readonly status: 'cancelled'; readonly txn: string }
  | { readonly status: 'absent' };

/** Why a call did nothing. */
export interface TimerFlaw {
  readonly reason: 'timers_encrypted_conflict';
  /** The operation that has it. */
  readonly index: number;
}

export interface TimersOutcome {
  readonly kind: 'timers';
  readonly flaw: TimerFlaw | null;
  /** Empty with a flaw. */
  readonly results: readonly TimerResult[];
}

/** A pending timer as it is shown; `payload` null where only a list was asked for. */
export interface TimerView {
  readonly queue: string;
  readonly timerKey: string;
  readonly partition: string;
  readonly deliverAtUs: number;
  readonly txn: string;
  readonly messageId: string;
  readonly encrypted: boolean;
  readonly producerSub: string | null;
  readonly attempts: number;
  readonly lastError: string | null;
  readonly createdAtUs: number;
  readonly updatedAtUs: number;
  /** As stored: what was encrypted stays so. */
  readonly payload: Uint8Array | null;
}

export interface TimerPage {
  /** In the byte order of their keys. */
  readonly timers: readonly TimerView[];
  readonly truncated: boolean;
  /** The timer key to go on behind; null: nothing is left. */
  readonly nextAfter: string | null;
}

/** What the schedules of a call are to store. */
export function timerPayloadBytes({ ops }: TimerCall): number {
  let bytes = 0;
  for (const op of ops) if (op.op === 'schedule') bytes += op.payload.length;
  return bytes;
}

export function schedulesOf({ ops }: TimerCall): number {
  let count = 0;
  for (const { op } of ops) if (op === 'schedule') count++;
  return count;
}
