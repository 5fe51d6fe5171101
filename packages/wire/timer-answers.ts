/** Answers about timers (state-surfaces 3.2). */
import {
  constant,
  describedAs,
  either,
  type Infer,
  list,
  matching,
  named,
  nullable,
  object,
  oneOf,
  optional,
  stamp,
  text,
  uuid,
} from '@svc/schema';

/** How the bytes of a message are spelled, in requests too. */
export const base64 = matching(
  /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/,
);

const NAMES = { queue: text, timerKey: text };

/** Members of an operation that did something, also in a transaction. */
export const TIMER_DONE_FIELDS = {
  ok: constant(true),
  status: oneOf('scheduled', 'rescheduled', 'cancelled'),
  ...NAMES,
  txn: describedAs('The `txn` of the timer; of a cancelled timer: the one that it had.', text),
  messageId: optional(
    describedAs('The id of the message that it will be; absent when it was cancelled.', uuid),
  ),
  deliverAt: optional(describedAs('Absent when it was cancelled.', stamp)),
};

export const timerDoneAnswer = named('TimerDone', object(TIMER_DONE_FIELDS));
export type TimerDoneAnswer = Infer<typeof timerDoneAnswer>;

/** Members of a cancellation that found nothing, also in a transaction. */
export const TIMER_ABSENT_FIELDS = {
  ok: constant(false),
  status: constant('absent'),
  ...NAMES,
  txn: describedAs('The `txn` that the caller sent.', nullable(text)),
};

export const timerAbsentAnswer = named('TimerAbsent', object(TIMER_ABSENT_FIELDS));

export const timerResultAnswer = either(timerDoneAnswer, timerAbsentAnswer);
export type TimerResultAnswer = Infer<typeof timerResultAnswer>;

export const timersAnswer = object({ results: list(timerResultAnswer) });
export type TimersAnswer = Infer<typeof timersAnswer>;
