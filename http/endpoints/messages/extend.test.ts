// Goal: a lease extension reads its body leniently and shows one time under three names.
// Method: bodies by table, real requests against a fake service.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TestFront } from '../../testing/front.fake.js';
import { readSeconds } from './extend.js';

let front: TestFront;

beforeEach(async () => {
  front = await TestFront.start();
});
afterEach(() => front.stop());

test.each([
  ['', 60],
  ['{}', 60],
  ['{"seconds":120}', 120],
  ['{"x":1,"seconds":5}', 5],
  ['{"seconds":0}', 1],
  ['{"seconds":-7}', 1],
  ['{"seconds":99999999999999999999999}', 2_147_483_647],
  ['{"seconds":1.5}', 60],
  ['{"seconds":"30"}', 60],
  ['{"seconds":null}', 60],
  ['{"seconds":1,"seconds":2}', 60],
  ['[]', 60],
  ['{', 60],
  ['rubbish', 60],
])('%s', (body, seconds) => {
  expect(readSeconds(Buffer.from(body))).toBe(seconds);
});

test('a renewed lease', async () => {
  front.service.onSubmit = (_, reply) => {
    reply.send({ kind: 'extended', renewed: 2, expiresAtUs: 1_792_000_000_000_000 });
  };
  const answer = await front.client().request('/api/v1/lease/L%20ü/extend', {
    body: '{"seconds":120}',
  });
  expect(front.service.submitted[0]).toMatchObject({
    kind: 'extend',
    leaseId: 'L ü',
    seconds: 120,
  });
  const time = '2026-10-14T17:46:40.000000Z';
  expect([answer.status, answer.body]).toEqual([
    200,
    `{"leaseId":"L ü","success":true,"renewed":2,"newExpiresAt":"${time}","expiresAt":"${time}",` +
      `"lease_expires_at":"${time}"}`,
  ]);
});

test('nothing to renew, without a body', async () => {
  front.service.onSubmit = (_, reply) => {
    reply.send({ kind: 'extended', renewed: 0, expiresAtUs: null });
  };
  const answer = await front.client().request('/api/v1/lease/L/extend', { method: 'POST' });
  expect([answer.status, answer.body]).toEqual([
    200,
    '{"leaseId":"L","success":false,"renewed":0,"newExpiresAt":null,"expiresAt":null,' +
      '"lease_expires_at":null}',
  ]);
});
