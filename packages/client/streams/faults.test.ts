/**
 * Goal: what programs and other workers do to a stream in ordinary operation costs no message and
 * stops no partition. Method: directed cases on the broker in memory, one for each fault.
 */
import { expect, test } from 'vitest';
import { ClientError } from '../base/errors.js';
import type { FakePlatform } from '../base/platform.fake.js';
import { Stream, type Windowed } from './stream.js';
import { type Event, GROUP, rig } from './stream-rig.fake.js';

const event = (at: number, n = 1, key = 'x'): Event => ({ key, at, n });
const wait = (platform: FakePlatform, ms: number) =>
  new Promise<void>((resolve) => platform.after(ms, resolve));

test('a gate that denied reads again what another worker let through', async () => {
  const { server, start, stop, drain, platform, events } = rig();
  let most = 3;
  const counts: number[] = [];
  const stream = Stream.from(events())
    .gate((_, { state }) => {
      state.n = ((state.n as number | undefined) ?? 0) + 1;
      return (state.n as number) <= most;
    })
    .foreach(({ n }) => counts.push(n));
  server.push('in', 'a', ...[1, 2, 3, 4, 5].map((n) => event(0, n)));
  const first = await start(stream, { maxWaitMillis: '30s' });
  await platform.pass(1000);
  most = 100;
  const other = await start(stream, { maxWaitMillis: 100 });
  await drain();
  await platform.settled(other.stop());
  server.push('in', 'a', event(0, 6));
  await drain();
  await stop();
  expect([first, other].map((runner) => runner.metrics().messages)).toEqual([4, 2]);
  expect(counts).toEqual([1, 2, 3, 4, 5, 6]);
  expect(server.stateRows('in')).toMatchObject([[expect.anything(), { acc: { n: 6 } }]]);
});

test('windows of one value do not share what the reducer made of it', async () => {
  const { server, start, stop, drain, events } = rig();
  server.push('in', 'a', event(10), event(11), event(100));
  const stream = Stream.from(events())
    .windowSliding({ size: '6s', slide: '2s', eventTime: ({ at }) => at * 1000 })
    .reduce<Event | null>((sum, given) => {
      if (sum === null) return given;
      (sum as { n: number }).n += given.n;
      return sum;
    }, null)
    .to('out');
  await start(stream);
  await drain();
  await stop();
  const windows = server.payloads<Windowed<Event>>('out');
  expect(windows.map(({ value }) => value.n)).toEqual([2, 2, 2]);
});

test('a reducer that gives nothing fails at that value, wherever the batch ends', async () => {
  const { server, platform, start, stop, events } = rig();
  server.push('in', 'a', event(0, 1), event(0, 2));
  const told: string[] = [];
  const stream = Stream.from(events())
    .windowTumbling({ seconds: 60 })
    .reduce((sum, { n }) => (n === 1 ? (undefined as unknown as number) : sum + n), 0)
    .to('out');
  await start(stream, { onError: (error: unknown) => told.push(String(error)) });
  await platform.pass(500);
  await stop();
  expect([...new Set(told)]).toEqual([
    'TypeError: what reduce gave is undefined: write the state, which is JSON',
  ]);
  expect(server.pending('in', GROUP)).toBe(2);
});

test('windows that put out many values each close in parts', async () => {
  const { server, start, stop, drain, events } = rig();
  server.itemsMax = 6000;
  const keys = Array.from({ length: 700 }, (_, i) => event(1, 1, `k${i}`));
  server.push('in', 'a', ...keys, event(100));
  const stream = Stream.from(events())
    .keyBy(({ key }) => key)
    .windowTumbling({ seconds: 4, eventTime: ({ at }) => at * 1000 })
    .aggregate({ count: () => 1 })
    .flatMap((window) => Array.from({ length: 20 }, () => window))
    .to('out');
  const runner = await start(stream, { batchSize: 700 });
  await drain();
  await stop();
  expect(server.payloads('out')).toHaveLength(14_000);
  expect(runner.metrics().errors).toBe(0);
});

test('a refusal that a function met elsewhere does not end the stream', async () => {
  const { server, start, stop, drain, events } = rig();
  server.push('in', 'a', event(0), event(0));
  let failures = 1;
  const stream = Stream.from(events()).foreach(() => {
    if (failures-- > 0) throw new ClientError('not yours', { status: 403, code: 'forbidden' });
  });
  const runner = await start(stream);
  await drain();
  await stop();
  expect(runner.metrics()).toMatchObject({ errors: 1, messages: 2 });
});

test('a short lease is renewed before it ends', async () => {
  const { server, platform, start, stop, drain, events } = rig();
  server.push('in', 'a', event(0));
  const stream = Stream.from(events().leaseTime('5s')).foreach(() => wait(platform, 9000));
  const runner = await start(stream);
  await drain();
  await stop();
  expect(runner.metrics()).toMatchObject({ errors: 0, messages: 1 });
});

test('a slow gate gets on within a lease that is not renewed', async () => {
  const { server, platform, start, stop, drain, events } = rig();
  server.push('in', 'a', ...Array.from({ length: 20 }, (_, i) => event(0, i)));
  const seen: number[] = [];
  const stream = Stream.from(events().leaseTime('5s'))
    .gate(() => true)
    .foreach(async ({ n }) => {
      seen.push(n);
      await wait(platform, 600);
    });
  const runner = await start(stream);
  await drain();
  await stop();
  expect(seen).toEqual(Array.from({ length: 20 }, (_, i) => i));
  expect(runner.metrics()).toMatchObject({ errors: 0, denied: 0, messages: 20 });
});

test('nothing more is begun when the lease is known to be lost', async () => {
  const { server, platform, start, stop, events } = rig();
  server.push('in', 'a', ...Array.from({ length: 40 }, (_, i) => event(0, i)));
  const seen: number[] = [];
  const stream = Stream.from(events()).foreach(async ({ n }) => {
    if (seen.length < 40) await wait(platform, 1000);
    seen.push(n);
  });
  const runner = await start(stream);
  await platform.pass(23_000);
  const { errors } = runner.metrics();
  await stop();
  expect(errors).toBe(1);
});

test('sessions that end together come in the order of their ends', async () => {
  const { server, start, stop, drain, events } = rig();
  server.push('in', 'a', event(0), event(1, 1, 'y'), event(2), event(100));
  const stream = Stream.from(events())
    .keyBy(({ key }) => key)
    .windowSession({ gap: '3s', eventTime: ({ at }) => at * 1000 })
    .aggregate({ count: () => 1 })
    .to('out');
  await start(stream);
  await drain();
  await stop();
  const windows = server.payloads<Windowed<unknown>>('out');
  expect(windows.map(({ key, windowEnd }) => [key, windowEnd])).toEqual([
    ['y', 4000],
    ['x', 5000],
  ]);
});

test('windows that another worker has closed meanwhile are no error', async () => {
  const { server, start, stop, drain, platform, events } = rig();
  const stream = (idleFlushMs: number) =>
    Stream.from(events())
      .windowTumbling({ seconds: 1, idleFlushMs })
      .reduce((sum, { n }) => sum + n, 0)
      .to('out');
  server.push('in', 'a', event(0, 1));
  const first = await start(stream(0), { maxWaitMillis: '30s' });
  await drain();
  const other = await start(stream(100), { maxWaitMillis: 100 });
  await drain(() => server.payloads('out').length === 1);
  await platform.settled(other.stop());
  server.push('in', 'a', event(0, 2));
  await drain();
  await stop();
  expect(first.metrics()).toMatchObject({ errors: 0, messages: 2 });
  expect(server.payloads('out')).toMatchObject([{ value: 1 }]);
  expect(server.stateRows('in')).toMatchObject([[expect.anything(), { acc: 2 }]]);
});

test.each([
  [
    'eventTime is null',
    (stream: Stream<Event>) =>
      stream
        .windowTumbling({ seconds: 1, eventTime: () => null as unknown as number })
        .aggregate({ count: () => 1 }),
  ],
  [
    'forgetAt is NaN',
    (stream: Stream<Event>) =>
      stream.gate((_, context) => {
        context.state.n = 1;
        context.forgetAt = Number.NaN;
        return true;
      }),
  ],
])('a function that gives no time is told so: %s', async (text, build) => {
  const { server, platform, start, stop, events } = rig();
  server.push('in', 'a', event(0));
  const told: string[] = [];
  const onError = (error: unknown) => told.push(String(error));
  await start(
    build(Stream.from(events())).foreach(() => undefined),
    { onError },
  );
  await platform.pass(500);
  await stop();
  expect([...new Set(told)]).toEqual([expect.stringContaining(text)]);
});

test('a queue that was deleted and made anew has partitions of its own', async () => {
  const { server, platform, start, stop, drain, events } = rig();
  await platform.pass(1000 - (server.nowMs % 1000));
  const stream = Stream.from(events())
    .windowTumbling({ seconds: 1, idleFlushMs: 200 })
    .reduce((sum, { n }) => sum + n, 0)
    .to('out');
  server.push('in', 'a', event(0, 1));
  const runner = await start(stream, { maxWaitMillis: 100 });
  await platform.pass(300);
  server.drop('in');
  server.push('in', 'a', event(0, 2));
  await drain(() => server.payloads('out').length === 1);
  await platform.pass(3000);
  await stop();
  expect(server.payloads('out')).toMatchObject([{ value: 2 }]);
  expect(runner.metrics().errors, 'once, of the partition that is gone').toBe(1);
});

test.each([
  ['a clock that is set forward', 3_600_000, 0],
  ['a commit that takes long', 0, 400],
])('%s closes no window before its last message', async (_, setMs, takesMs) => {
  const { server, platform, start, stop, drain, events } = rig();
  const second = 1000;
  await platform.pass(10 * second - (server.nowMs % (10 * second)));
  const stream = Stream.from(events())
    .windowTumbling({ seconds: 10, idleFlushMs: 100 })
    .reduce((sum, { n }) => sum + n, 0)
    .to('out');
  server.push('in', 'a', event(0, 1));
  await start(stream, { maxWaitMillis: 100 });
  await platform.pass(2 * second);
  server.skewMs -= setMs;
  platform.setDate(setMs);
  await platform.pass(7900 + takesMs);
  // It was stored within the window, and shows itself now.
  const atMs = server.nowMs - takesMs;
  server.partition('in', 'a').messages.push({ payload: event(0, 2), atMs });
  await drain(() => server.stateRows('in').length === 0);
  await stop();
  expect(server.payloads('out')).toMatchObject([{ value: 3 }]);
});
