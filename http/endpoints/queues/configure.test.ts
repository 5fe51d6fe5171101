// Goal: every rule and error text of message-plane 7. Method: bodies by table, one real request.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TestFront } from '../../testing/front.fake.js';
import { readConfigureBody } from './configure.js';

const read = (text: string): ReturnType<typeof readConfigureBody> =>
  readConfigureBody(Buffer.from(text));

describe('commands', () => {
  test.each([
    ['{"queue":"q"}', {}],
    ['{"queue":"q","options":{}}', {}],
    ['{"queue":"q","options":null,"leaseTime":5}', { leaseTime: 5 }],
    ['{"queue":"q","leaseTime":5,"unknown":{},"retryLimit":-1}', { leaseTime: 5, retryLimit: -1 }],
    ['{"queue":"q","options":{"leaseTime":5},"retryLimit":"x"}', { leaseTime: 5 }],
    ['{"queue":"q","options":{"leaseTime":null,"x":1}}', { leaseTime: null }],
    ['{"queue":"q","options":{"namespace":7,"task":"t"}}', { namespace: '', task: 't' }],
    ['{"queue":"q","options":{},"namespace":"n","task":""}', { namespace: 'n' }],
    ['{"queue":"q","options":{"namespace":"a"},"namespace":"b"}', { namespace: 'a' }],
    ['{"queue":"q","options":{"namespace":null},"namespace":"b"}', { namespace: null }],
    ['{"queue":"q","options":{"minPopWaitTime":70000}}', { minPopWaitTime: 60_000 }],
    ['{"queue":"q","options":{"minPopWaitTime":-1}}', { minPopWaitTime: 0 }],
    ['{"queue":"q","options":{"dedupWindowSeconds":-5}}', { dedupWindowSeconds: 0 }],
    [
      '{"queue":"q","options":{"deadLetterQueue":false,"retentionSinkHold":"a.B-_9",' +
        '"priority":-0}}',
      { deadLetterQueue: false, retentionSinkHold: 'a.B-_9', priority: 0 },
    ],
    [
      '{"queue":"q","options":{"retentionSinkHoldMaxSeconds":60}}',
      { retentionSinkHoldMaxSeconds: 60 },
    ],
  ])('%s', (body, changes) => {
    expect(read(body)).toEqual({ queue: 'q', replace: false, changes });
  });
});

describe('refusals', () => {
  test.each([
    ['{"queue":"a\\u0000"}', 'queue holds a NUL character'],
    ['{"queue":"q","mode":{"a":1}}', 'mode must be "merge" or "replace", got {"a":1}'],
    ['{"queue":"q","options":{"leaseTime":1e3}}', 'leaseTime must be an integer'],
    ['{"queue":"q","leaseTime":true}', 'leaseTime must be an integer'],
    [
      '{"queue":"q","options":{"retentionSinkHold":"a b"}}',
      'retentionSinkHold must match [A-Za-z0-9._-]{0,64}',
    ],
    [
      '{"queue":"q","options":{"retentionSinkHoldMaxSeconds":59}}',
      'retentionSinkHoldMaxSeconds must be between 60 and 31536000',
    ],
    [
      '{"queue":"q","options":{"retentionSinkHoldMaxSeconds":31536001}}',
      'retentionSinkHoldMaxSeconds must be between 60 and 31536000',
    ],
  ])('%s', (body, error) => {
    expect(() => read(body)).toThrow(JSON.stringify(error).slice(1, -1));
  });

  test.each([
    ['{"queue":"q","queue":"r"}', 'duplicate field `queue`'],
    ['{"queue":"q","options":{"ttl":1,"ttl":2}}', 'duplicate field `ttl`'],
  ])('%s', (body, error) => {
    expect(() => read(body)).toThrow(error);
  });
});

describe('requests', () => {
  let front: TestFront;

  beforeEach(async () => {
    front = await TestFront.start();
  });
  afterEach(() => front.stop());

  test('refusals', async () => {
    const client = front.client();
    const field = await client.request('/api/v1/configure', { body: '{}' });
    expect([field.status, JSON.parse(field.body)]).toEqual([
      400,
      { error: 'queue is required', code: 'bad_request' },
    ]);
    const body = await client.request('/api/v1/configure', { body: '{' });
    expect([body.status, JSON.parse(body.body).code]).toEqual([400, 'bad_body']);
    // The partition `Default` is created with the queue and takes its seven bytes.
    const name = (length: number): string => `{"queue":"${'q'.repeat(length)}"}`;
    const long = await client.request('/api/v1/configure', { body: name(405) });
    expect([long.status, JSON.parse(long.body).code]).toEqual([413, 'name_too_long']);
    expect(front.service.submitted).toEqual([]);
    await client.request('/api/v1/configure', { body: name(404) });
    expect(front.service.submitted).toHaveLength(1);
    // A label has the room of a queue's name; a wrong mode is not sent back whole.
    const tooLong = 'is 412 bytes; the composite store key limit leaves 447 bytes for names';
    for (const field of ['namespace', 'task']) {
      const label = (length: number) => ({ [field]: '\u00e9'.repeat(length / 2) });
      const beside = JSON.stringify({ queue: 'q', ...label(412) });
      const within = JSON.stringify({ queue: 'q', options: label(412) });
      for (const text of [beside, within]) {
        const refused = await client.request('/api/v1/configure', { body: text });
        expect([refused.status, JSON.parse(refused.body)]).toEqual([
          413,
          {
            error: `${field} ${tooLong}`,
            code: 'name_too_long',
          },
        ]);
      }
      const fits = JSON.stringify({ queue: 'q', ...label(410) });
      await client.request('/api/v1/configure', { body: fits });
    }
    expect(front.service.submitted).toHaveLength(3);
    const mode = await client.request('/api/v1/configure', {
      body: JSON.stringify({ queue: 'q', mode: 'x'.repeat(1_000_000) }),
    });
    expect(mode.status).toBe(400);
    expect(mode.body.length).toBeLessThan(200);
  });
});
