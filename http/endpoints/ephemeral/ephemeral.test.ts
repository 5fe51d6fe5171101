// Goal: what the routes of ephemeral queues hand over is within its bounds, payloads are bytes of
// the body and come back as they were, a push costs its messages where it came in, and each refusal
// has its status and its text. Method: real requests against a fake service; what needs a broker is
// in test/contract.
import { DEFAULT_TENANT } from '@svc/wire';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { GATE_DEFAULTS } from '../../gate/gate.js';
import type { EphemeralRefusalCode } from '../../ports/ephemeral-service.js';
import { TestFront } from '../../testing/front.fake.js';

const EPHEMERAL = '/api/v1/ephemeral';
let front: TestFront;

beforeEach(async () => {
  const ephemeralMessages = { perSecond: 1, burst: 5 };
  front = await TestFront.start({ gate: { ...GATE_DEFAULTS, ephemeralMessages } });
});
afterEach(() => front.stop());

function post(path: string, body: unknown) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return front.client().request(`${EPHEMERAL}/${path}`, { method: 'POST', body: text });
}

const get = (path: string) => front.client().request(`${EPHEMERAL}/${path}`);

test('a push costs a token for each of its messages, at the node that was asked', async () => {
  const messages = Array.from({ length: 5 }, () => ({ payload: 1 }));
  expect((await post('push', { queue: 'q', messages: [] })).status).toBe(201);
  expect((await post('push', { queue: 'q', messages })).status).toBe(201);
  const refused = await post('push', { queue: 'q', messages });
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
  expect(refused.body).toContain('"code":"rate_limited"');
  expect(front.service.ephemeral.asked).toHaveLength(1);
  expect((await get('pop?queue=q')).status, 'a pop costs none').toBe(200);
});

test.each<[EphemeralRefusalCode, number]>([
  ['ephemeral_too_large', 413],
  ['queue_full', 429],
  ['ephemeral_quota_exceeded', 403],
  ['ephemeral_unavailable', 503],
  ['owner_moved', 503],
  ['ephemeral_forward_failed', 503],
])('%s is %i, without Retry-After', async (code, status) => {
  const refused = { kind: 'ephemeral-refused', code } as const;
  Object.assign(front.service.ephemeral.answers, { push: refused, pop: refused, ack: refused });
  for (const answer of [
    await post('push', { queue: 'q', messages: [{ payload: 1 }] }),
    await get('pop?queue=q'),
    await post('ack', { queue: 'q', acks: [{ id: 'x' }] }),
  ]) {
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([status, undefined]);
    expect(JSON.parse(answer.body)).toMatchObject({ error: expect.any(String), code });
  }
});

describe('the query of a pop', () => {
  const base = {
    tenant: DEFAULT_TENANT,
    queue: 'q',
    partition: null,
    group: '__QUEUE_MODE__',
    batch: 1,
    autoAck: false,
    deadlineMs: null,
  };

  // The clock of the fake stands at 1000.
  test.each<[string, object]>([
    ['queue=q', {}],
    ['queue=q&partition=p&group=g&batch=7', { partition: 'p', group: 'g', batch: 7 }],
    ['queue=q&partition=&group=', {}],
    ['queue=q&batch=0', { batch: 1 }],
    ['queue=q&batch=99999', { batch: 10_000 }],
    ['queue=q&autoAck=true', { autoAck: true }],
    ['queue=q&autoAck=false&commitOnDelivery=true', { autoAck: true }],
    ['queue=q&timeout=50', {}],
    ['queue=q&wait=true', { deadlineMs: 31_000 }],
    ['queue=q&wait=true&timeout=50', { deadlineMs: 1050 }],
    ['queue=q&wait=true&timeout=0', { deadlineMs: 1000 }],
    ['queue=q&wait=true&timeout=9999999', { deadlineMs: 301_000 }],
  ])('%s', async (query, asked) => {
    expect((await get(`pop?${query}`)).status).toBe(200);
    expect(front.service.ephemeral.asked).toEqual([[{ ...base, ...asked }]]);
  });

  test.each([
    'queue=q&batch=x',
    'queue=q&wait=yes',
    'queue=q&timeout=-1',
    'queue=q&autoAck=1',
    `queue=${'ü'.repeat(257)}`,
    'queue=%ff',
    '',
  ])('%s is refused', async (query) => {
    const answer = await get(`pop?${encodeURI(query).replace('%25ff', '%ff')}`);
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([400, 'ephemeral_bad_request']);
  });
});

test('a popped payload is shown byte for byte', async () => {
  const bytes = Buffer.from('xx{"ü":1.0}xx');
  const message = { id: 'e:1:"p":0', partition: '"p"', attempts: 2, bytes, start: 2, end: 12 };
  front.service.ephemeral.answers.pop = { kind: 'ephemeral-popped', messages: [message] };
  const answer = await get('pop?queue=%22q%22');
  expect(answer.body).toBe(
    '{"queue":"\\"q\\"","messages":[{"id":"e:1:\\"p\\":0","partition":"\\"p\\"","attempts":2,' +
      '"payload":{"ü":1.0}}]}',
  );
});

test('what is declared goes on as it was sent, with bounds of its own', async () => {
  const options = '{ "maxLength" : 5 , "windowBuffer":null}';
  const answer = await post('configure', `{"queue":"q","options":${options}}`);
  expect(answer.body).toBe(`{"queue":"q","options":${options},"declared":true}`);
  expect(front.service.ephemeral.asked).toEqual([
    [{ kind: 'ephemeral-configure', tenant: DEFAULT_TENANT, queue: 'q', options }],
  ]);
  const long = `{"maxLength":${' '.repeat(5000)}5}`;
  expect((await post('configure', `{"queue":"q","options":${long}}`)).status).toBe(400);
  const name = 'n'.repeat(500);
  const tooLong = await post('configure', { queue: name });
  expect([tooLong.status, JSON.parse(tooLong.body).code]).toEqual([413, 'name_too_long']);
  front.service.ephemeral.answers.configure = { kind: 'ephemeral-configured', isOverQuota: true };
  const over = await post('configure', { queue: 'q' });
  expect([over.status, JSON.parse(over.body).code]).toEqual([403, 'ephemeral_quota_exceeded']);
});

test.each<[string, [string, number]]>([
  ['', ['', 10_000]],
  ['?limit=7&after=presence', ['presence', 7]],
  ['?limit=0', ['', 1]],
  ['?limit=99999', ['', 10_000]],
])('the list of queues%s', async (query, asked) => {
  const list = { queues: [], truncated: true, nextAfter: 'ü', nodeId: 3, cellBytes: 9 };
  front.service.ephemeral.answers.queues = { kind: 'ephemeral-queues', ...list, tenantBytes: 5 };
  const answer = await get(`queues${query}`);
  expect(JSON.parse(answer.body)).toEqual({ ...list, count: 0 });
  expect(front.service.ephemeral.asked).toEqual([[DEFAULT_TENANT, ...asked]]);
});

test('a list of queues behind what is no name is refused', async () => {
  const answer = await get(`queues?after=${'n'.repeat(513)}`);
  expect([answer.status, JSON.parse(answer.body).code]).toEqual([400, 'ephemeral_bad_request']);
});
