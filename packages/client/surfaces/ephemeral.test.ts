// Goal: ephemeral queues are sent and answered as the wire has them, a push is never stored twice,
// and misuse is refused before anything is sent. Method: a scripted network.
import { describe, expect, test } from 'vitest';
import { lostConnection, type Reply } from '../base/platform.fake.js';
import { type EphemeralQueue, ephemeralOf } from './ephemeral.js';
import { errorOf, fakeTransport } from './fake-client.fake.js';

function queueWith(...replies: Reply[]) {
  const { platform, transport } = fakeTransport((_, nth) => replies[nth] as Reply);
  return { platform, queue: ephemeralOf(transport, 'presence') };
}

const bodyOf = ({ body = '{}' }: { readonly body?: string }) => JSON.parse(body);

test('push', async () => {
  const { platform, queue } = queueWith('{"pushed":1}', '{"pushed":2}');
  expect(await platform.settled(queue.push({ payload: null }))).toBe(1);
  expect(bodyOf(platform.requests[0] ?? {})).toEqual({
    queue: 'presence',
    messages: [{ payload: null }],
  });
  const two = queue.push([{ payload: 1 }, { payload: 'b' }], { partition: 'p' });
  expect(await platform.settled(two)).toBe(2);
  const sent = { queue: 'presence', partition: 'p', messages: [{ payload: 1 }, { payload: 'b' }] };
  expect(bodyOf(platform.requests[1] ?? {})).toEqual(sent);
});

test('a push is sent again when it was refused, and not when it may be stored', async () => {
  const moved = { status: 503, json: { code: 'owner_moved' }, headers: { 'retry-after': '1' } };
  const first = queueWith(moved, '{"pushed":1}');
  expect(await first.platform.settled(first.queue.push({ payload: 1 }))).toBe(1);
  for (const doubt of [
    lostConnection(),
    { ...moved, json: { code: 'ephemeral_forward_failed' } },
  ]) {
    const { platform, queue } = queueWith(doubt);
    expect(await errorOf(platform, queue.push({ payload: 1 }))).toMatchObject({
      outcomeUnknown: true,
    });
    expect(platform.requests).toHaveLength(1);
  }
});

test('pop', async () => {
  const message =
    '{"id":"e:1","partition":"p","attempts":2,"payload":{"payload":12345678901234567890}}';
  const { platform, queue } = queueWith(
    `{"queue":"presence","messages":[${message}]}`,
    '{"queue":"presence","messages":[]}',
  );
  const [popped] = await platform.settled(queue.pop({ group: 'g', batch: 10, wait: '1.5s' }));
  const raw = '{"payload":12345678901234567890}';
  expect(popped).toEqual({
    id: 'e:1',
    partition: 'p',
    attempts: 2,
    payload: JSON.parse(raw),
    raw,
    group: 'g',
  });
  expect(platform.requests[0]?.path).toBe(
    '/api/v1/ephemeral/pop?queue=presence&group=g&batch=10&wait=true&timeout=1500',
  );
  expect(await platform.settled(queue.pop({ partition: 'p', commitOnDelivery: true }))).toEqual([]);
  expect(platform.requests[1]?.path).toBe(
    '/api/v1/ephemeral/pop?queue=presence&partition=p&batch=1&wait=false&commitOnDelivery=true',
  );
});

test('a pop that acknowledges is not repeated in silence when its answer is lost', async () => {
  const { platform, transport } = fakeTransport((_, nth) =>
    nth === 0 ? lostConnection() : '{"messages":[]}',
  );
  const popped = ephemeralOf(transport, 'presence').pop({ commitOnDelivery: true });
  await expect(platform.settled(popped)).rejects.toMatchObject({ outcomeUnknown: true });
});

test('ack: a call for each group and partition, outcomes in order', async () => {
  const { platform, transport } = fakeTransport(({ body }) => {
    const { acks } = bodyOf({ body: body ?? '' });
    return {
      json: {
        results: acks.map(({ id }: { id: string }) => ({ id, outcome: `outcome of ${id}` })),
      },
    };
  });
  const queue = ephemeralOf(transport, 'presence');
  const messages = [
    { id: 'a', partition: 'p', group: 'g' },
    { id: 'b', partition: 'q', group: 'g' },
    { id: 'c', partition: 'p', group: 'g' },
    { id: 'd', partition: 'p', group: undefined },
  ];
  const outcomes = await platform.settled(queue.ack(messages, 'retry', { error: 'e' }));
  expect(outcomes).toEqual(['a', 'b', 'c', 'd'].map((id) => `outcome of ${id}`));
  const ack = (id: string) => ({ id, status: 'retry', error: 'e' });
  expect(platform.requests.map(bodyOf)).toEqual([
    { queue: 'presence', group: 'g', acks: [ack('a'), ack('c')] },
    { queue: 'presence', group: 'g', acks: [ack('b')] },
    { queue: 'presence', acks: [ack('d')] },
  ]);
  const many = Array.from({ length: 25_000 }, (_, i) => ({ id: String(i) }));
  platform.requests.length = 0;
  expect(await platform.settled(queue.ack(many))).toHaveLength(25_000);
  expect(platform.requests.map((request) => bodyOf(request).acks.length)).toEqual([
    10_000, 10_000, 5_000,
  ]);
  expect(await queue.ack([])).toEqual([]);
});

test('configure, reset and delete', async () => {
  const { platform, queue } = queueWith(
    '{"queue":"presence","options":{"policy":"dropOldest"},"declared":true}',
    '{"queue":"presence","dropped":4}',
    '{"queue":"presence","deleted":true,"declared":true}',
  );
  expect(await platform.settled(queue.configure({ policy: 'dropOldest' }))).toEqual({
    policy: 'dropOldest',
  });
  expect(await platform.settled(queue.reset())).toBe(4);
  expect(await platform.settled(queue.delete())).toBe(true);
  expect(platform.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'POST /api/v1/ephemeral/configure',
    'POST /api/v1/ephemeral/reset',
    'DELETE /api/v1/ephemeral/queue/presence',
  ]);
});

describe('misuse', () => {
  const MISUSED: readonly [call: (queue: EphemeralQueue) => unknown, text: string][] = [
    [
      (queue) => queue.push('hello' as never),
      'push got "hello", which has no payload: write push({ payload',
    ],
    [
      (queue) => queue.push([{ payload: 1 }, { payload: { a: undefined } }]),
      'items[1].payload.a is undefined',
    ],
    [
      (queue) => queue.push({ payload: 1, partition: 'p' } as never),
      "write push({ payload }, { partition: 'room-7' })",
    ],
    [
      (queue) => queue.push({ payload: 1, transactionId: 't' } as never),
      'an item has no member transactionId',
    ],
    [(queue) => queue.push({ payload: 1 }, { partition: '' }), 'partition is "": write a text'],
    [(queue) => queue.pop({ batch: 0 }), 'batch is 0: write a whole number from 1 to 10000'],
    [(queue) => queue.pop({ wait: 'long' }), 'wait is "long": write a number of milliseconds'],
    [
      (queue) => queue.pop({ consumerGroup: 'g' } as never),
      'pop has no option consumerGroup: write group; its options are group,',
    ],
    [(queue) => queue.ack({ id: '' }), 'write a message as pop gave it'],
    [
      (queue) => queue.ack([], 'done' as never),
      'the status of an ack is "done": write one of true, false,',
    ],
    [
      (queue) => queue.configure({ maxbytes: 1 } as never),
      'configure has no option maxbytes: write maxBytes; its options are maxBytes',
    ],
  ];
  test.each(MISUSED)('%#', async (call, text) => {
    const { platform, queue } = queueWith();
    await expect(async () => call(queue)).rejects.toThrow(TypeError);
    await expect(async () => call(queue)).rejects.toThrow(text);
    expect(platform.requests).toEqual([]);
  });
});
