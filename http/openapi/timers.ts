/** Timers (state-surfaces 3). */
import {
  type AnySchema,
  anything,
  constant,
  describedAs,
  either,
  fields,
  integer,
  list,
  matching,
  named,
  never,
  nullable,
  number,
  oneOf,
  optional,
  text,
  truth,
} from '@svc/schema';
import {
  base64,
  errorAnswer,
  surfaceErrorAnswer,
  timerListAnswer,
  timerPeekAnswer,
  timerQueuesAnswer,
  timerResultAnswer,
  timersAnswer,
} from '@svc/wire';
import { TIMER_OP_KEYS } from '../endpoints/timers/ops.js';
import { SURFACE_REFUSALS } from './kv.js';
import { answer, type Operation, type Operations, parameter, STORAGE_FULL } from './operation.js';
import { PAGE_QUERY } from './pages.js';
import { body } from './schema.js';

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

function operation(name: string, members: Parameters<typeof body<TimerKey>>[1]): AnySchema {
  const { json, uses } = body(TIMER_OP_KEYS, members);
  const underscored = { '^_': { not: {} } };
  return named(name, { json: { ...json, patternProperties: underscored }, uses });
}

type TimerKey = (typeof TIMER_OP_KEYS.names)[number];

const schedule = operation('TimerSchedule', {
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

const cancel = operation('TimerCancel', {
  ...OWNED,
  op: constant('cancel'),
  queue: nonEmpty,
  timerKey: nonEmpty,
  txn: optional(describedAs('Echoed when there is no such timer.', anything)),
  partition: optional(anything),
  delayMs: optional(anything),
  payload: optional(anything),
  payloadZstd: optional(anything),
  encrypted: optional(anything),
});

/** An operation, also of a transaction. */
export const timerOp = either(schedule, cancel);

const timersBody = named(
  'TimersBody',
  either(list(timerOp), fields({ operations: list(timerOp) })),
);

// --- answers -----------------------------------------------------------------------------------

const timers: Operation = {
  tag: 'timers',
  summary: 'Schedules, reschedules and cancels timers; all of it or nothing.',
  body: { schema: timersBody },
  answers: {
    200: answer('One result for each operation.', timersAnswer),
    ...SURFACE_REFUSALS,
    507: STORAGE_FULL,
  },
};

const timerList: Operation = {
  tag: 'timers',
  summary: 'Pending timers of a queue, by key.',
  query: [
    parameter('after', '`nextAfter` of the page before.', text),
    parameter('limit', '100 when absent or no integer; brought into 1 to 1000.', integer),
  ],
  answers: { 200: answer('A page.', timerListAnswer), ...SURFACE_REFUSALS },
};

const timerQueues: Operation = {
  tag: 'timers',
  summary: 'The queues that have timers, by name.',
  query: PAGE_QUERY,
  answers: {
    200: answer('The queues.', timerQueuesAnswer),
    ...SURFACE_REFUSALS,
  },
};

const timerPeek: Operation = {
  tag: 'timers',
  summary: 'One pending timer with its payload.',
  answers: {
    200: answer('The timer, or that there is none.', timerPeekAnswer),
    ...SURFACE_REFUSALS,
  },
};

const timerCancel: Operation = {
  tag: 'timers',
  summary: 'Cancels a timer. No switch, quota or rate stops it.',
  query: [parameter('txn', 'Echoed when there is no such timer.', text)],
  answers: {
    200: answer('What became of it.', timerResultAnswer),
    400: answer('A `txn` or a query that cannot be.', either(surfaceErrorAnswer, errorAnswer)),
    413: answer('Names that are too long.', errorAnswer),
    429: answer('Too much waits to be planned.', errorAnswer),
  },
};

export const TIMER_OPERATIONS: Operations = {
  'POST /api/v1/timers': timers,
  'GET /api/v1/resources/timers': timerQueues,
  'GET /api/v1/timers/{queue}': timerList,
  'GET /api/v1/timers/{queue}/{timerKey...}': timerPeek,
  'DELETE /api/v1/timers/{queue}/{timerKey...}': timerCancel,
};
