// Goal: the operational routes show what the service says of the node. Method: real requests.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TestFront } from '../../testing/front.fake.js';

let front: TestFront;

beforeEach(async () => {
  front = await TestFront.start({ tenancyHeader: true });
});
afterEach(() => front.stop());

test('health', async () => {
  const client = front.client();
  const healthy = await client.request('/health');
  expect([healthy.status, JSON.parse(healthy.body)]).toEqual([200, front.service.health()]);
  front.service.healthy = false;
  const settling = await client.request('/health');
  expect([settling.status, JSON.parse(settling.body).status]).toEqual([503, 'settling']);
});

test('health without the body', async () => {
  const client = front.client();
  const head = await client.request('/health', { method: 'HEAD' });
  expect(head.status).toBe(200);
  expect(head.headers.get('content-length')).toBe(
    String(JSON.stringify(front.service.health()).length),
  );
  // No byte of a body came: the next answer is in step.
  expect((await client.request('/health')).status).toBe(200);
});

test('metrics', async () => {
  const client = front.client();
  await client.request('/api/v1/pop/queue/q');
  await client.request('/api/v1/ack', { body: '{"transactionId":"a"}' });
  const answer = await client.request('/metrics');
  expect(JSON.parse(answer.body)).toEqual({
    uptime: expect.any(Number),
    requests: { total: 2, rate: 0 },
    messages: { total: 1, rate: 0 },
    memory: { rss: expect.any(Number), heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 },
    cpu: { user: 0, system: 0 },
    engine: 'raft',
    raft: front.service.raftFigures(),
  });
});

test('raft routes', async () => {
  const client = front.client();
  const status = await client.request('/api/v1/raft/status');
  expect([status.status, JSON.parse(status.body)]).toEqual([200, front.service.raftStatus()]);
  const answer = {
    engine: 'raft',
    clusterId: 'c-1',
    leaderId: null,
    term: 3,
    self: 1,
    voters: 1,
    members: [],
  } as const;
  front.service.members = { kind: 'raft-members', answer };
  const members = await client.request('/api/v1/raft/members');
  expect([members.status, JSON.parse(members.body)]).toEqual([200, answer]);
  front.service.members = { kind: 'refused', refusal: { reason: 'timeout', error: 'late' } };
  expect((await client.request('/api/v1/raft/members')).status).toBe(503);
});

test('a promotion that the node has not applied is to be asked for again', async () => {
  front.service.onSubmit = (_, reply) => reply.send({ kind: 'promoted', wasStandby: true });
  const path = '/api/v1/system/link/promote';
  const answer = await front.client().request(path, { method: 'POST', body: '' });
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
  const error = "this standby's promotion is in flight";
  expect(JSON.parse(answer.body)).toEqual({ error, code: 'retry' });
});

test('routes of the node read no tenant', async () => {
  const headers = { 'x-svc-tenant': 'rubbish' };
  expect((await front.client().request('/health', { headers })).status).toBe(200);
  expect((await front.client().request('/api/v1/raft/status', { headers })).status).toBe(200);
  expect((await front.client().request('/api/v1/resources/queues', { headers })).status).toBe(400);
});
