/** Schemas of the operations on timers (state-surfaces 3). */
import {
  anything,
  constant,
  describedAs,
  either,
  list,
  matching,
  named,
  never,
  nullable,
  number,
  object,
  oneOf,
  optional,
  type Schema,
  truth,
  unread,
} from '@svc/schema';
import { base64 } from '@svc/wire';
import { body } from '../../json/json-keys.js';
import { TIMER_OP_KEYS } from './ops.js';

const nonEmpty = matching(/^[^\0]/);

const anyTruth = describedAs(
  'false when absent; 1 and 0, and the words in quotes, are taken too.',
  nullable(either(truth, oneOf('true', 'false'), constant(0), constant(1))),
);

/** What the broker owns. */
const OWNED = {
  producerSub: optional(never),
  producer_sub: optional(never),
  messageId: optional(never),
  message_id: optional(never),
  tenant: optional(never),
  tenantId: optional(never),
  tenant_id: optional(never),
  deliverAt: optional(never),
  deliver_at: optional(never),
  delaySeconds: optional(never),
  delay_seconds: optional(never),
  attempts: optional(never),
  claimToken: optional(never),
  claim_token: optional(never),
  claimedUntil: optional(never),
};

/** Also without members that begin with an underscore. */
function operation<Value>(name: string, { json, uses }: Schema<Value>): Schema<Value> {
  const underscored = { '^_': { not: {} } };
  return named(name, { json: { ...json, patternProperties: underscored }, uses });
}

const scheduled = body(TIMER_OP_KEYS, {
  ...OWNED,
  op: describedAs('The same: what has the name is replaced.', oneOf('schedule', 'reschedule')),
  queue: nonEmpty,
  timerKey: describedAs('Names the timer among those of its queue.', nonEmpty),
  partition: optional(describedAs('`Default` when absent or null.', nullable(nonEmpty))),
  delayMs: describedAs('From now on; zero or less: at once.', number),
  txn: describedAs('The transactionId of the message.', matching(/^./s)),
  payload: describedAs('The bytes of the message in base64.', base64),
  payloadZstd: optional(describedAs('The bytes are compressed with zstd.', anyTruth)),
  encrypted: optional(describedAs('The client has encrypted the payload.', anyTruth)),
});

const cancelled = body(TIMER_OP_KEYS, {
  ...OWNED,
  op: constant('cancel'),
  queue: nonEmpty,
  timerKey: nonEmpty,
  txn: optional(describedAs('Echoed when there is no such timer.', anything)),
  partition: optional(unread),
  delayMs: optional(unread),
  payload: optional(unread),
  payloadZstd: optional(unread),
  encrypted: optional(unread),
});

/** An operation, also of a transaction. */
export const timerOp = either(
  operation('TimerSchedule', scheduled),
  operation('TimerCancel', cancelled),
);

export const timersBody = named(
  'TimersBody',
  either(list(timerOp), object({ operations: list(timerOp) })),
);
