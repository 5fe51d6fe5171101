// Goal: a buffer loses nothing, keeps the order, waits when it is full, and reports what the broker
// will never take. Method: a scripted broker, a clock that moves from timer to timer.
import { describe, expect, test } from 'vitest';
import { FakePlatform, lostConnection, type Reply, type Script } from '../base/platform.fake.js';
import type { StandardSchema } from '../base/standard-schema.js';
import { Client } from '../client.js';
import type { ClientOptions } from '../transport/settings.js';

interface Body {
  readonly items: readonly { readonly payload: number; readonly transactionId: string }[];
}

const payloadsOf = ({ requests }: FakePlatform) =>
  requests.map(({ body }) => (JSON.parse(body ?? '') as Body).items.map(({ payload }) => payload));
const items = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({ payload: from + i }));

/** Stores all; `fail` says what else happens to a request. */
function clientOf(fail: (nth: number) => Reply | Promise<Reply> | undefined = () => undefined) {
  const script: Script = ({ body }, nth) => {
    const failure = fail(nth);
    if (failure !== undefined) return failure;
    const json = (JSON.parse(body ?? '') as Body).items.map(() => ({
      status: 'queued',
      message_id: 'm',
    }));
    return { status: 201, json };
  };
  const platform = new FakePlatform(script);
  const client = new Client({ url: 'http://a:1', retryAttempts: 1 }, platform);
  return { platform, client, queue: client.queue<number>('q') };
}

describe('when a batch goes out', () => {
  test('at its count, and the rest at its time', async () => {
    const { platform, queue } = clientOf();
    const buffered = queue.buffer({ messageCount: 3, timeMillis: 1000, maxSize: 9 });
    expect(await platform.settled(buffered.push(items(0, 7)).then())).toEqual({
      buffered: true,
      count: 7,
    });
    await platform.pass(999);
    expect(payloadsOf(platform)).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    await platform.pass(1);
    expect(payloadsOf(platform)[2]).toEqual([6]);
    expect(platform.pendingTimers).toBe(0);
  });

  test('by flush', async () => {
    const { platform, client, queue } = clientOf();
    await platform.settled(queue.buffer().push(items(0, 2)).then());
    await platform.settled(client.flushAllBuffers());
    await platform.settled(queue.flushBuffer());
    expect(payloadsOf(platform)).toEqual([[0, 1]]);
  });
});

test('a failed batch is back at the front, with the same ids, before what came later', async () => {
  const { platform, queue } = clientOf((nth) => (nth < 2 ? lostConnection() : undefined));
  const buffered = queue.buffer({ messageCount: 2, timeMillis: 100, retryDelayMillis: 250 });
  await platform.settled(buffered.push(items(0, 2)).then());
  await platform.settled(buffered.push(items(2, 5)).then());
  await platform.pass(10_000);
  expect(payloadsOf(platform)).toEqual([[0, 1], [0, 1], [0, 1], [2, 3], [4]]);
  const ids = platform.requests.slice(0, 3).map(({ body }) => body);
  expect(new Set(ids).size).toBe(1);
  const times = platform.requests.map(({ atMs }) => atMs - (platform.requests[0]?.atMs ?? 0));
  expect(times.slice(0, 4)).toEqual([0, 250, 500, 500]);
});

test('a full buffer makes pushes wait, in their order', async () => {
  let answer: (reply: Reply) => void = () => undefined;
  const held = new Promise<Reply>((resolve) => {
    answer = resolve;
  });
  const { platform, client, queue } = clientOf((nth) => (nth === 0 ? held : undefined));
  const buffered = queue.buffer({ messageCount: 2, maxSize: 2 });
  const entered: string[] = [];
  const first = buffered.push(items(0, 2)).then(() => entered.push('first'));
  const second = buffered.push(items(2, 4)).then(() => entered.push('second'));
  const third = buffered.push(items(4, 5)).then(() => entered.push('third'));
  await platform.pass(20_000);
  expect(entered).toEqual(['first']);
  expect(client.getBufferStats()).toMatchObject([{ queue: 'q', messages: 2, waiting: 2 }]);
  const stored = { status: 'queued', message_id: 'm' };
  answer({ status: 201, json: [stored, stored] });
  await platform.settled(Promise.all([first, second, third]));
  expect(entered).toEqual(['first', 'second', 'third']);
  await platform.settled(client.close());
  expect(payloadsOf(platform)).toEqual([[0, 1], [2, 3], [4]]);
});

test('what the broker will never take is reported, and what is behind it is sent', async () => {
  const refusal: Reply = { status: 413, json: { error: 'too long', code: 'name_too_long' } };
  const { platform, client, queue } = clientOf((nth) => (nth === 0 ? refusal : undefined));
  const refused: unknown[] = [];
  const onError = (lost: readonly unknown[], { code }: { code?: string | undefined }) => {
    refused.push([lost, code]);
  };
  await platform.settled(queue.buffer({ messageCount: 1, onError }).push(items(0, 2)).then());
  const { unsent } = await platform.settled(client.close());
  expect(refused).toEqual([[[{ payload: 0 }], 'name_too_long']]);
  expect(payloadsOf(platform)).toEqual([[0], [1]]);
  expect(unsent).toMatchObject([{ queue: 'q', items: [{ payload: 0 }] }]);
});

/** Refuses each batch with a message of `bad`. */
function pickyClient(bad: ReadonlySet<number>, options: Partial<ClientOptions> = {}) {
  const platform = new FakePlatform(({ body }) => {
    const payloads = (JSON.parse(body ?? '') as Body).items.map(({ payload }) => payload);
    if (payloads.some((payload) => bad.has(payload))) return { status: 413, json: {} };
    return { status: 201, json: payloads.map(() => ({ status: 'queued', message_id: 'm' })) };
  });
  return { platform, client: new Client({ url: 'http://a:1', ...options }, platform) };
}

test('one message that is refused takes no other with it', async () => {
  const { platform, client } = pickyClient(new Set([13, 77]));
  const queue = client.queue<number>('q').buffer({ messageCount: 100 });
  await platform.settled(queue.push(items(0, 100)).then());
  await platform.settled(queue.flushBuffer());
  const stored = payloadsOf(platform).filter((sent) => !sent.includes(13) && !sent.includes(77));
  const good = items(0, 100).map(({ payload }) => payload);
  expect(stored.flat()).toEqual(good.filter((n) => n !== 13 && n !== 77));
  expect(platform.requests.length).toBeLessThan(40);
  const { unsent } = await platform.settled(client.close());
  expect(unsent).toMatchObject([{ items: [{ payload: 13 }] }, { items: [{ payload: 77 }] }]);
});

test('what is not stored for another one before it is sent again', async () => {
  const { platform, client, queue } = clientOf((nth) => {
    const stored = { status: 'queued', message_id: 'm' };
    const error = { status: 'error', message_id: 'm' };
    if (nth === 0) return { status: 201, json: [stored, error, error, stored] };
    return nth === 1 ? { status: 201, json: [error, error] } : undefined;
  });
  await platform.settled(queue.buffer({ messageCount: 4 }).push(items(0, 4)).then());
  const { unsent } = await platform.settled(client.close());
  expect(payloadsOf(platform)).toEqual([[0, 1, 2, 3], [1, 2], [1], [2]]);
  expect(unsent).toEqual([]);
});

test('a batch is no larger than the broker takes', async () => {
  const { platform, client, queue } = clientOf();
  const large = 'x'.repeat(7_000_000) as unknown as number;
  const buffered = queue.buffer();
  await platform.settled(buffered.push([1, 2, 3].map(() => ({ payload: large }))).then());
  await platform.settled(client.close());
  expect(payloadsOf(platform).map(({ length }) => length)).toEqual([2, 1]);
});

test.each([401, 404, 502])('a batch that is answered %i is kept', async (status) => {
  const { platform, client, queue } = clientOf((nth) => (nth < 3 ? { status } : undefined));
  await platform.settled(queue.buffer().push(items(0, 2)).then());
  expect(await platform.settled(client.close())).toEqual({ unsent: [] });
  expect(payloadsOf(platform).at(-1)).toEqual([0, 1]);
});

test('an onError that throws does no harm', async () => {
  const said: string[] = [];
  const logger = { warn: () => undefined, error: (text: string) => said.push(text) };
  const { platform, client } = pickyClient(new Set([0, 1]), { logger });
  const onError = () => {
    throw new Error('mine');
  };
  const buffered = client.queue<number>('q').buffer({ messageCount: 1, onError });
  await platform.settled(buffered.push(items(0, 3)).then());
  await platform.settled(client.flushAllBuffers());
  expect(payloadsOf(platform)).toEqual([[0], [1], [2]]);
  expect(said).toEqual(['onError of a buffer threw', 'onError of a buffer threw']);
});

test('flush waits for what is in, not for what comes meanwhile', async () => {
  const stored = { status: 'queued', message_id: 'm' };
  const json = [stored, stored];
  const { platform, queue } = clientOf(
    () => new Promise((resolve) => platform.after(5, () => resolve({ json }))),
  );
  const buffered = queue.buffer({ messageCount: 2, maxSize: 1000 });
  let isOver = false;
  const pushes = (async () => {
    for (let i = 0; i < 200 && !isOver; i++) {
      await buffered.push(items(2 * i, 2 * i + 2));
      await new Promise((resolve) => platform.after(1, () => resolve(0)));
    }
  })();
  await platform.settled(buffered.push(items(0, 2)).then());
  await platform.settled(queue.flushBuffer());
  isOver = true;
  await platform.settled(pushes);
  expect(platform.requests.length).toBeLessThan(10);
});

test('flush waits for pushes that nobody awaited, and for those that wait for room', async () => {
  const { platform, client, queue } = clientOf();
  const buffered = queue.buffer({ messageCount: 2, maxSize: 2 });
  const pushes = [buffered.push(items(0, 5)), buffered.push(items(5, 7))];
  await platform.settled(client.flushAllBuffers());
  expect(payloadsOf(platform).flat()).toEqual([0, 1, 2, 3, 4, 5, 6]);
  await platform.settled(Promise.all(pushes));
});

test('a push holds what was given when it was called', async () => {
  const { platform, client, queue } = clientOf();
  const reused = { n: 0 };
  const payload = reused as unknown as number;
  const pushes = [queue.push({ payload }), queue.buffer().push({ payload })];
  reused.n = 1;
  await platform.settled(Promise.all(pushes));
  await platform.settled(client.close());
  expect(payloadsOf(platform)).toEqual([[{ n: 0 }], [{ n: 0 }]]);
});

test('a schema that takes its time keeps the order; what it refuses rejects', async () => {
  const { platform, client } = clientOf();
  const validate = async (value: unknown) => {
    if (value === 1) await new Promise((resolve) => platform.after(100, () => resolve(0)));
    return value === 2 ? { issues: [{ message: 'no' }] } : { value };
  };
  const schema = { '~standard': { validate } } as StandardSchema<number, number>;
  const buffered = client.queue('q', { schema }).buffer({ messageCount: 3 });
  const pushes = [
    buffered.push(items(0, 2)),
    buffered.push(items(3, 4)),
    buffered.push(items(4, 5)),
  ];
  await expect(buffered.push(items(2, 3))).rejects.toThrow('payload: no');
  expect(await platform.settled(Promise.all(pushes))).toMatchObject([{ count: 2 }, {}, {}]);
  await platform.settled(client.close());
  expect(payloadsOf(platform).flat()).toEqual([0, 1, 3, 4]);
});

test('close tries for 30 s, and says what could not be sent', async () => {
  const { platform, client, queue } = clientOf(lostConnection);
  await platform.settled(queue.buffer().push(items(0, 2)).then());
  const from = platform.nowMs();
  const { unsent } = await platform.settled(client.close());
  expect(platform.nowMs() - from).toBe(30_000);
  expect(unsent).toMatchObject([{ queue: 'q', items: items(0, 2) }]);
  expect(platform.requests.length).toBeGreaterThan(50);
  await expect(queue.buffer().push(items(0, 1))).rejects.toMatchObject({ code: 'closed' });
  expect(await client.close()).toEqual({ unsent });
});

test('a push that found no room before the end rejects, with how much is missing', async () => {
  const { platform, client, queue } = clientOf(lostConnection);
  const buffered = queue.buffer({ messageCount: 2, maxSize: 2 });
  const inTime = buffered.push(items(0, 1));
  const late = buffered.push(items(1, 4)).catch((error: unknown) => error);
  const later = buffered.push(items(4, 5)).catch((error: unknown) => error);
  await platform.settled(inTime.then());
  const { unsent } = await platform.settled(client.close());
  expect(unsent).toMatchObject([{ items: items(0, 2) }]);
  const text = '2 of 3 messages found no room before close()';
  expect(await platform.settled(late)).toMatchObject({ code: 'closed', message: text });
  expect(await platform.settled(later)).toMatchObject({ code: 'closed' });
  expect(platform.pendingTimers).toBe(0);
});

test('flush rejects with what went wrong, and the batch is kept', async () => {
  const { platform, client, queue } = clientOf((nth) => (nth === 0 ? lostConnection() : undefined));
  await platform.settled(queue.buffer().push(items(0, 1)).then());
  const flushed = platform.settled(queue.flushBuffer());
  await expect(flushed).rejects.toMatchObject({ code: 'connection_lost' });
  expect(client.getBufferStats()).toMatchObject([{ messages: 1 }]);
  await platform.settled(queue.flushBuffer());
  expect(client.getBufferStats()).toMatchObject([{ messages: 0 }]);
});
