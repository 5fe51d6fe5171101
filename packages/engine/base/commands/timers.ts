/**
 * A call on timers (state-surfaces 3.2): operations that apply together, and what came of each. A
 * schedule and a reschedule are one upsert on (queue, timer key).
 */
import { TIMER_DELAY_US_MAX, TIMER_OPS_MAX } from '@svc/wire';
import { type ChoiceOf, choice, kind } from '../fields/choice.js';
import {
  count,
  flag,
  type Infer,
  list,
  nullable,
  oneOf,
  refined,
  text,
  uuid,
  view,
  within,
} from '../fields/field.js';
import { maybe, record } from '../fields/record.js';
import { name, namesFit, tenant, transactionId } from './names.js';

interface TimerNames {
  readonly queue: string;
  readonly timerKey: string;
}

/** A NUL ends a queue's name in a key. */
function isNamed({ queue, timerKey }: TimerNames): boolean {
  return timerKey !== '' && !`${queue}${timerKey}`.includes('\0') && namesFit(queue, '', timerKey);
}

const timerOp = choice('op', {
  cancel: kind(
    0,
    {
      queue: name,
      timerKey: name,
      /** Echoed when there is no such timer. */
      txn: nullable(transactionId),
    },
    isNamed,
  ),
  schedule: kind(
    1,
    {
      queue: name,
      /** Not empty, without a NUL. */
      timerKey: name,
      partition: name,
      /** From when the call is planned. */
      delayUs: within(0, TIMER_DELAY_US_MAX),
      /** The transaction id of the message that fires. */
      txn: transactionId,
      /** Decompressed. Nobody writes to it after submission. */
      payload: view,
      /** The payload is a JSON text, and becomes the message as it stands. */
      isJson: flag,
      /** The client says that it has encrypted the payload. */
      encrypted: flag,
    },
    (op) => isNamed(op) && namesFit(op.queue, '', op.partition),
  ),
});
export type TimerOp = Infer<typeof timerOp>;
export type ScheduleTimer = Extract<TimerOp, { readonly op: 'schedule' }>;
export type CancelTimer = Extract<TimerOp, { readonly op: 'cancel' }>;

function areDistinct(ops: readonly TimerNames[]): boolean {
  return new Set(ops.map(({ queue, timerKey }) => `${queue}\0${timerKey}`)).size === ops.length;
}

export const timerCallFields = {
  /** The subject that schedules, which messages that fire will name. */
  producerSub: nullable(text),
  /** One (queue, timer key) comes at most once. */
  ops: refined(list(timerOp, TIMER_OPS_MAX), areDistinct),
};

export const timerCommands = { timers: kind(14, { tenant, ...timerCallFields }) };
export type TimerCall = ChoiceOf<'kind', typeof timerCommands>;

const scheduled = { messageId: uuid, deliverAtUs: count };

/** In the order of the operations, one for each; queue and timer key are those of the operation. */
const timerResult = choice('status', {
  scheduled: kind(0, scheduled),
  rescheduled: kind(1, scheduled),
  /** `txn`: of the timer that is gone. */
  cancelled: kind(2, { txn: transactionId }),
  absent: kind(3, {}),
});
export type TimerResult = Infer<typeof timerResult>;

/** Why a call did nothing. */
const timerFlaw = record({
  reason: oneOf(['timers_encrypted_conflict']),
  /** The operation that has it. */
  index: within(0, TIMER_OPS_MAX),
});
export type TimerFlaw = Infer<typeof timerFlaw>;

export const timerOutcomes = {
  timers: kind(13, {
    flaw: maybe(timerFlaw),
    /** Empty with a flaw. */
    results: list(timerResult, TIMER_OPS_MAX),
  }),
};
export type TimersOutcome = ChoiceOf<'kind', typeof timerOutcomes>;

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

/** Beside the payload: the numbers of a timer, and its place among those that are due. */
const TIMER_BYTES = 512;

/** Bytes that the schedules of a call store; 0: it only cancels. */
export function timerStoredBytes({ ops }: TimerCall): number {
  let bytes = 0;
  for (const op of ops) if (op.op === 'schedule') bytes += TIMER_BYTES + op.payload.length;
  return bytes;
}
