/** Timers (state-surfaces 3). */
import type {
  TimerAbsentAnswer,
  TimerDoneAnswer,
  TimerFoundAnswer,
  TimerListAnswer,
  TimerMissingAnswer,
  TimerPeekAnswer,
  TimerQueueRow,
  TimerQueuesAnswer,
  TimerResultAnswer,
  TimerRowAnswer,
  TimersAnswer,
} from '@svc/wire';
import { TIMER_OP_KEYS } from '../timer-ops.js';
import { SURFACE_REFUSALS, surfaceError } from './kv.js';
import {
  answer,
  errorAnswer,
  type Operation,
  type Operations,
  parameter,
  STORAGE_FULL,
} from './operation.js';
import { nextAfter, PAGE_QUERY } from './pages.js';
import {
  type AnySchema,
  anything,
  body,
  constant,
  count,
  describedAs,
  either,
  fields,
  integer,
  list,
  matching,
  named,
  nullable,
  number,
  object,
  oneOf,
  optional,
  type Schema,
  stamp,
  text,
  truth,
  uuid,
} from './schema.js';

const never: Schema<unknown> = { json: { not: {} }, uses: new Map() };
const nonEmpty = matching(/^[^\0]/);
const base64 = matching(
  /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/,
);
const anyTruth = describedAs(
  'false when absent; 1 and 0, and the words in quotes, are taken too.',
  nullable(either<unknown>(truth, oneOf('true', 'false'), constant(0), constant(1))),
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
export const timerOp = either<unknown>(schedule, cancel);

const timersBody = named(
  'TimersBody',
  either<unknown>(list(timerOp), fields({ operations: list(timerOp) })),
);

// --- answers -----------------------------------------------------------------------------------

const NAMES = { queue: text, timerKey: text };

const DONE = {
  ok: constant(true),
  status: oneOf('scheduled', 'rescheduled', 'cancelled'),
  ...NAMES,
  txn: describedAs('Of the timer; a cancelled one names what it had.', text),
  messageId: optional(describedAs('Of the message that it will be.', uuid)),
  deliverAt: optional(stamp),
};
const ABSENT = {
  ok: constant(false),
  status: constant('absent'),
  ...NAMES,
  txn: describedAs("The caller's.", nullable(text)),
};

const result = either<TimerResultAnswer>(
  named('TimerDone', object<TimerDoneAnswer>(DONE)),
  named('TimerAbsent', object<TimerAbsentAnswer>(ABSENT)),
);

/** Members of a result, in a transaction. */
export const TIMER_DONE = DONE;
export const TIMER_ABSENT = ABSENT;

const ROW = {
  ...NAMES,
  partition: text,
  deliverAt: stamp,
  txn: text,
  messageId: uuid,
  payloadZstd: constant(false),
  encrypted: truth,
  producerSub: nullable(text),
  attempts: count,
  lastError: nullable(text),
  claimed: constant(false),
  createdAt: stamp,
  updatedAt: stamp,
};

const page = object<TimerListAnswer>({
  rows: list(named('TimerRow', object<TimerRowAnswer>(ROW))),
  truncated: truth,
  nextAfter: nullable(text),
});

const peeked = either<TimerPeekAnswer>(
  object<TimerFoundAnswer>({
    found: constant(true),
    ...ROW,
    payload: describedAs('base64; what was encrypted stays so.', base64),
  }),
  object<TimerMissingAnswer>({ found: constant(false), ...NAMES }),
);

const refused = { ...SURFACE_REFUSALS };

const timers: Operation = {
  tag: 'timers',
  summary: 'Schedules, reschedules and cancels timers; all of it or nothing.',
  body: { schema: timersBody },
  answers: {
    200: answer('One result for each operation.', object<TimersAnswer>({ results: list(result) })),
    ...refused,
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
  answers: { 200: answer('A page.', page), ...refused },
};

const timerQueues: Operation = {
  tag: 'timers',
  summary: 'The queues that have timers, by name.',
  query: PAGE_QUERY,
  answers: {
    200: answer(
      'The queues.',
      object<TimerQueuesAnswer>({
        timers: list(
          named(
            'TimerQueueRow',
            object<TimerQueueRow>({
              queue: text,
              pending: count,
              nextAt: describedAs('When the next one is due.', stamp),
            }),
          ),
        ),
        nextAfter,
      }),
    ),
    ...refused,
  },
};

const timerPeek: Operation = {
  tag: 'timers',
  summary: 'One pending timer with its payload.',
  answers: { 200: answer('The timer, or that there is none.', peeked), ...refused },
};

const timerCancel: Operation = {
  tag: 'timers',
  summary: 'Cancels a timer. No switch, quota or rate stops it.',
  query: [parameter('txn', 'Echoed when there is no such timer.', text)],
  answers: {
    200: answer('What became of it.', result),
    400: answer('A `txn` or a query that cannot be.', either(surfaceError, errorAnswer)),
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
