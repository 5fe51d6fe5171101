// Goal: what contract tests cannot bring about is rendered and parsed as well: answers that a bound
// cut short, payloads that are no JSON, refusals, and queries out of range.
// Method: real requests against a fake service with made figures.
import type { ListedDeadLetter, ListedMessage, QueueRow, RefusedOutcome } from '@svc/engine';
import { DEFAULT_TENANT } from '@svc/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { MessageContent } from '../../ports/record-service.js';
import type { SubmittedCommand, SubmittedOutcome } from '../../ports/service.js';
import { TestFront } from '../../testing/front.fake.js';
import type { RawAnswer } from '../../testing/raw-client.fake.js';

let front: TestFront;

beforeEach(async () => {
  front = await TestFront.start();
});
afterEach(() => front.stop());

interface Shown {
  readonly status: number;
  readonly text: string;
}

const shown = async (answer: Promise<RawAnswer>): Promise<Shown> => {
  const { status, body } = await answer;
  return { status, text: body };
};
const get = (path: string): Promise<Shown> => shown(front.client().request(path));

const OVERLOADED: RefusedOutcome = {
  kind: 'refused',
  refusal: { reason: 'overloaded', error: 'too many messages are being looked for' },
};
const STAMP_US = 1_792_000_000_000_120;
const ID = '0199d0c4-7b1e-7c7e-9a10-3f5b2c8d9e01';

const QUEUE = {
  number: 1,
  id: ID,
  tenant: 't',
  name: 'orders',
  createdAtUs: STAMP_US,
  partitions: 1,
  options: { namespace: 'orders', task: '', priority: 3 },
} as unknown as QueueRow;

const MESSAGE = {
  queue: QUEUE,
  partition: { number: 7, id: ID, name: 'Default' },
  offset: 41,
  baseOffset: 40,
  append: { count: 2, stampUs: STAMP_US, index: 1, position: 0, length: 1 },
  status: 'pending',
  consumedBy: 0,
  groups: 0,
  leaseExpiresAtUs: STAMP_US,
} as unknown as ListedMessage;

const CONTENT: MessageContent = {
  messageId: ID,
  transactionId: 'ü',
  transactionHash: '9f86d081884c7d659a2feaa0c55ad015',
  producerSub: 'svc-a',
  traceId: null,
  payload: null,
  isEncrypted: true,
};

function answerWith(outcome: SubmittedOutcome): SubmittedCommand[] {
  front.service.onSubmit = (_, reply) => void reply.send(outcome);
  return front.service.submitted;
}

test('a message without room for its payload says so, a list that there is more', async () => {
  front.service.records.answers.messages = {
    kind: 'message-list',
    messages: [{ ...MESSAGE, content: CONTENT }],
    mode: { hasQueueMode: true, groups: 2 },
    truncated: true,
  };
  const { text } = await get('/api/v1/messages?limit=5');
  expect(text).toBe(
    `{"messages":[{"id":"${ID}","transactionId":"ü",` +
      '"txnHash":"9f86d081884c7d659a2feaa0c55ad015","data":null,"payload":null,' +
      '"traceId":null,"producerSub":"svc-a","createdAt":"2026-10-14T17:46:40.000Z","offset":41,' +
      `"queue":"orders","partition":"Default","partitionId":"${ID}","status":"pending",` +
      '"queueStatus":"pending","busStatus":{"consumedBy":0,"totalGroups":0},' +
      '"queuePath":"orders/Default","namespace":null,"task":null,"queuePriority":3,' +
      '"payloadAvailable":false,"leaseExpiresAt":"2026-10-14T17:46:40.000Z",' +
      '"segment":{"seq":40,"frameIdx":1},"isEncrypted":true}],' +
      '"total":1,"pagination":{"limit":5,"offset":0},' +
      '"mode":{"hasQueueMode":true,"busGroupsCount":2,"type":"hybrid"},"truncated":true}',
  );
});

test('a dead letter of a timer, of a partition that is gone, and without room', async () => {
  const letter: ListedDeadLetter = {
    id: ID,
    queue: 'orders',
    partition: null,
    partitionNumber: 7,
    group: '__timer__',
    offset: -1,
    messageId: null,
    transactionId: 't',
    producerSub: null,
    retries: 0,
    reason: null,
    error: 'late "one"',
    failedAtUs: STAMP_US,
    payload: Buffer.from('no json'),
    isPayloadShown: true,
  };
  front.service.records.answers.deadLetters = {
    kind: 'dead-letter-list',
    letters: [letter, { ...letter, isPayloadShown: false }],
    total: 9,
  };
  const { messages, total } = JSON.parse((await get('/api/v1/dlq')).text);
  expect(total).toBe(9);
  const members = {
    partition: null,
    partitionId: '7',
    consumerGroup: '__timer__',
    offset: -1,
    messageId: null,
    errorMessage: 'late "one"',
    data: 'no json',
    payload: 'no json',
  };
  expect(messages[0]).toMatchObject(members);
  expect(messages[0]).not.toHaveProperty('payloadAvailable');
  expect(messages[1]).toMatchObject({ data: null, payload: null, payloadAvailable: false });
});

test('refusals of reads are rendered alike', async () => {
  front.service.records.answers = {
    messages: OVERLOADED,
    message: OVERLOADED,
    deadLetters: OVERLOADED,
    deadLetterSignatures: OVERLOADED,
    messageTraces: OVERLOADED,
    namedTraces: OVERLOADED,
    traceNames: OVERLOADED,
  };
  for (const path of [
    'messages',
    'messages/1/a',
    'dlq',
    'analytics/dlq-signatures?queue=q',
    'traces/1/a',
    'traces/by-name/a',
    'traces/names',
  ]) {
    const { status, text } = await get(`/api/v1/${path}`);
    expect([path, status, JSON.parse(text)]).toMatchObject([path, 503, { code: 'overloaded' }]);
  }
});

test('a replay that is refused, or whose override is too long', async () => {
  const replay = {
    result: 'too_large',
    queue: 'q',
    partition: 'p',
    group: 'g',
    deadLetterId: ID,
    transactionId: 't',
    messageId: '',
  } as const;
  const submitted = answerWith({ kind: 'replayed', replay });
  const post = (body: string) =>
    shown(front.client().request(`/api/v1/dlq/${ID}/replay`, { method: 'POST', body }));
  const refused = await post('{"queue":" a "}');
  expect([refused.status, JSON.parse(refused.text)]).toMatchObject([
    409,
    { success: false, reason: 'too_large', dlqRowRemoved: false },
  ]);
  expect(submitted).toMatchObject([{ kind: 'replay', queue: 'a', partition: null }]);
  const long = await post(JSON.stringify({ queue: 'q'.repeat(500) }));
  expect([long.status, JSON.parse(long.text).code]).toEqual([413, 'name_too_long']);
  expect((await post('  \n')).status).toBe(409);
});

test('signatures: shares, days, and a queue without dead letters', async () => {
  const { records } = front.service;
  records.answers.deadLetterSignatures = {
    kind: 'dead-letter-signatures',
    rows: 12,
    sample: 3,
    retryCounts: [0, 3],
    groups: ['billing'],
    oldestUs: STAMP_US,
    newestUs: STAMP_US,
    payloadBytes: 240,
    signatures: [
      { text: 'a <n>', count: 2 },
      { text: 'b', count: 1 },
    ],
    days: [{ startUs: 1_791_936_000_000_000, count: 3 }],
  };
  expect((await get('/api/v1/analytics/dlq-signatures?queue=orders')).text).toBe(
    '{"queue":"orders","rowsNow":12,"sample":3,"retryCounts":[0,3],"groups":["billing"],' +
      '"oldest":"2026-10-14T17:46:40.000Z","newest":"2026-10-14T17:46:40.000Z","avgBytes":240,' +
      '"signatures":[{"text":"a <n>","n":2,"share":0.667},{"text":"b","n":1,"share":0.333}],' +
      '"byDay":[{"day":"2026-10-14","n":3}]}',
  );
  const without = await get('/api/v1/analytics/dlq-signatures');
  expect([without.status, without.text]).toEqual([400, '{"error":"queue required"}']);
  await get(`/api/v1/analytics/dlq-signatures?queue=${'q'.repeat(500)}`);
  expect(records.asked).toEqual([[DEFAULT_TENANT, 'orders', 200]]);
});

test('the data of a trace may find no room', async () => {
  const view = {
    traceId: ID,
    transactionId: 't',
    names: ['n'],
    eventType: 'event',
    consumerGroup: null,
    worker: null,
    messageId: null,
    partitionNumber: 7,
    createdAtUs: STAMP_US,
    queue: null,
    partition: null,
    data: null,
  };
  front.service.records.answers.namedTraces = { kind: 'trace-list', traces: [view], total: 1 };
  const { traces } = JSON.parse((await get('/api/v1/traces/by-name/n')).text);
  expect(traces[0]).toMatchObject({ data: null, dataAvailable: false, partitionId: '7' });
});
