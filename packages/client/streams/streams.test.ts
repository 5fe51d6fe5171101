/**
 * Goal: every message counts exactly once in state and outputs, whatever fails, and windows are
 * those of a simple model. Method: workers on a broker in memory, random input, lost requests and
 * answers, two workers at a time; models that know no batches.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FakePlatform } from '../base/platform.fake.js';
import { tokenBucketGate } from './gates.js';
import type { StreamRunner } from './runner.js';
import { Stream, type Windowed } from './stream.js';
import { type Event, GROUP, rig } from './stream-rig.fake.js';
import type { Fault, StreamServer } from './stream-server.fake.js';

const RUNS = 12;

interface Shown extends Windowed<number> {
  readonly partition: string;
}

const byText = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).sort();

/** Which cycles lose their answer, and which do not arrive. */
const faults = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.constant<Fault>('none') },
    { weight: 1, arbitrary: fc.constant<Fault>('answer') },
    { weight: 1, arbitrary: fc.constant<Fault>('request') },
  ),
  { minLength: 1, maxLength: 12 },
);

function faulty(given: readonly Fault[]): () => Fault {
  let nth = 0;
  // In the end all goes well.
  return () => (nth < 40 ? (given[nth++ % given.length] as Fault) : 'none');
}

/** Some calls take longer than others, so that workers overtake each other. */
function delays(platform: FakePlatform, seed: number): () => Promise<void> {
  let nth = seed;
  return () =>
    new Promise((resolve) => platform.after([0, 0, 350, 0, 1200][nth++ % 5] ?? 0, resolve));
}

const KINDS = {
  tumbling: (stream: Stream<Event>, options: object) =>
    stream.windowTumbling({ seconds: 4, ...options }),
  sliding: (stream: Stream<Event>, options: object) =>
    stream.windowSliding({ size: '6s', slide: '2s', ...options }),
  session: (stream: Stream<Event>, options: object) =>
    stream.windowSession({ gap: '3s', ...options }),
  cron: (stream: Stream<Event>, options: object) =>
    stream.windowCron({ every: 'second', ...options }),
};
type Kind = keyof typeof KINDS;
const kinds = fc.constantFrom(...(Object.keys(KINDS) as Kind[]));

function spansOf(kind: Kind, atMs: number): number[][] {
  const inside = (size: number, slide: number) => {
    const found: number[][] = [];
    for (let start = Math.ceil((atMs - size + 1) / slide) * slide; start <= atMs; start += slide) {
      found.push([start, start + size]);
    }
    return found;
  };
  if (kind === 'session') return [[atMs, atMs + 3000]];
  if (kind === 'sliding') return inside(6000, 2000);
  return kind === 'cron' ? inside(1000, 1000) : inside(4000, 4000);
}

describe('windows by event time', () => {
  const options = fc.record({
    gracePeriod: fc.constantFrom<number | string>(0, '1s', '4s'),
    allowedLateness: fc.constantFrom<number | string>(0, '2s', '5s'),
    onLate: fc.constantFrom<'drop' | 'include'>('drop', 'include'),
  });
  const events = fc.array(
    fc.record({
      partition: fc.constantFrom('a', 'b'),
      key: fc.constantFrom('x', 'y'),
      step: fc.integer({ min: -5, max: 6 }),
      n: fc.integer({ min: 1, max: 9 }),
    }),
    { minLength: 1, maxLength: 40 },
  );

  test('outputs and state are those of the model, in its order, whatever gets lost', async () => {
    const property = fc.asyncProperty(
      kinds,
      options,
      events,
      faults,
      fc.integer({ min: 1, max: 7 }),
      fc.integer({ min: 1, max: 2 }),
      async (kind, terms, steps, losses, batchSize, workers) => {
        const { server, platform, start, stop, drain, events: source } = rig();
        const all = new Map<string, Event[]>([
          ['a', []],
          ['b', []],
        ]);
        let at = 100;
        for (const { partition, key, step, n } of steps) {
          at = Math.max(0, at + step);
          const event = { key, at, n };
          all.get(partition)?.push(event);
          server.push('in', partition, event);
        }
        server.fault = faulty(losses);
        server.delay = delays(platform, losses.length);
        const stream = KINDS[kind](
          Stream.from(source()).keyBy(({ key }) => key),
          { ...terms, eventTime: (event: Event) => event.at * 1000 },
        )
          .reduce((sum, { n }) => sum + n, 0)
          .map((window, { partition }) => ({ partition, ...window }))
          .to('out');
        for (let i = 0; i < workers; i++) await start(stream, { batchSize, maxPartitions: 1 });
        await drain();
        await stop();
        const model = [...all].map(([partition, list]) => modelOf(kind, terms, partition, list));
        for (const { partition, out } of model) {
          const { messages } = server.partition('out', partition);
          const got = messages.map(({ payload }) => payload);
          // Windows that end together come in the order of their keys.
          expect(got).toEqual(out);
        }
        const open = server.stateRows('in').filter(([key]) => key !== '__wm__');
        expect(open.map(([, value]) => (value as { acc: number }).acc).sort()).toEqual(
          model.flatMap(({ open }) => open).sort(),
        );
      },
    );
    await fc.assert(property, { numRuns: 3 * RUNS });
  });
});

interface ModelWindow {
  readonly key: string;
  start: number;
  end: number;
  sum: number;
  /** How it sorts among those that end together. */
  readonly name: string;
}

interface ModelTerms {
  readonly gracePeriod: number | string;
  readonly allowedLateness: number | string;
  readonly onLate: string;
}

/** One message after another, over a list of open windows. */
function modelOf(kind: Kind, terms: ModelTerms, partition: string, events: readonly Event[]) {
  const [graceMs, latenessMs] = [terms.gracePeriod, terms.allowedLateness].map(
    (given) => Number.parseInt(String(given), 10) * 1000,
  ) as [number, number];
  const isDropped = terms.onLate === 'drop';
  let open: ModelWindow[] = [];
  let mark = Number.NEGATIVE_INFINITY;
  const out: Shown[] = [];
  const put = ({ key, start, end, sum }: ModelWindow) =>
    out.push({ partition, key, windowStart: start, windowEnd: end, value: sum });
  const close = () => {
    const ended = open.filter(({ end }) => end + graceMs <= mark);
    open = open.filter((window) => !ended.includes(window));
    ended.sort((a, b) => a.end - b.end || (a.name < b.name ? -1 : 1)).forEach(put);
  };
  for (const { key, at, n } of events) {
    const atMs = at * 1000;
    const isLate = atMs < mark;
    mark = Math.max(mark, atMs - latenessMs);
    close();
    if (isLate && isDropped) continue;
    for (const [start = 0, end = 0] of spansOf(kind, atMs)) {
      const name = `${new Date(start).toISOString()}${key}`;
      let window = open.find(
        (one) => one.key === key && (kind === 'session' || one.start === start),
      );
      if (window !== undefined && kind === 'session') {
        if (atMs < window.start - 3000 && isDropped) break;
        if (atMs >= window.end) {
          put(window);
          open.splice(open.indexOf(window), 1);
          window = undefined;
        } else {
          window.start = Math.min(window.start, start);
          window.end = Math.max(window.end, end);
        }
      }
      if (window === undefined) open.push({ key, start, end, sum: n, name });
      else window.sum += n;
    }
    close();
  }
  return { partition, out, open: open.map(({ sum }) => sum) };
}

describe('windows by the time of the broker', () => {
  test('each comes out once, with all that is in it, though clocks differ', async () => {
    const pushes = fc.array(
      fc.record({
        partition: fc.constantFrom('a', 'b'),
        key: fc.constantFrom('x', 'y'),
        n: fc.integer({ min: 1, max: 9 }),
        passMs: fc.constantFrom(0, 0, 300, 1100, 4500),
      }),
      { minLength: 1, maxLength: 25 },
    );
    const property = fc.asyncProperty(
      kinds,
      pushes,
      faults,
      fc.constantFrom(-7000, 0, 7000),
      fc.integer({ min: 1, max: 2 }),
      async (kind, given, losses, skewMs, workers) => {
        const { server, platform, start, stop, drain, events: source } = rig();
        server.delay = delays(platform, losses.length);
        server.skewMs = skewMs;
        server.fault = faulty(losses);
        const stream = KINDS[kind](
          Stream.from(source()).keyBy(({ key }) => key),
          { idleFlushMs: 500 },
        )
          .aggregate({ count: () => 1, sum: ({ n }) => n, most: ({ n }) => n })
          .map(({ value, ...window }, { partition }) => ({
            partition,
            ...window,
            value: value.sum,
          }))
          .to('out');
        for (let i = 0; i < workers; i++) await start(stream, { batchSize: 5 });
        for (const { partition, key, n, passMs } of given) {
          server.push('in', partition, { key, at: 0, n });
          await platform.pass(passMs);
        }
        await drain(() => server.stateRows('in').length === 0);
        await stop();
        expect(byText(server.payloads('out'))).toEqual(byText(storedWindows(kind, server)));
      },
    );
    await fc.assert(property, { numRuns: RUNS });
  });

  test('a worker whose clock is early closes nothing early', async () => {
    const { server, platform, start, stop, drain, events } = rig();
    server.skewMs = -7000;
    await platform.pass(4000 - (server.nowMs % 4000));
    const stream = Stream.from(events())
      .windowTumbling({ seconds: 4, idleFlushMs: 100 })
      .reduce((sum, { n }) => sum + n, 0)
      .to('out');
    await start(stream, { maxWaitMillis: 50 });
    for (let n = 1; n <= 3; n++) {
      server.push('in', 'a', { key: 'x', at: 0, n });
      await platform.pass(1000);
    }
    await drain(() => server.stateRows('in').length === 0);
    await stop();
    expect(server.payloads('out')).toMatchObject([{ value: 6 }]);
  });
});

function storedWindows(kind: Kind, server: StreamServer): Shown[] {
  const found: Shown[] = [];
  for (const partition of ['a', 'b']) {
    for (const { payload, atMs } of server.partition('in', partition).messages) {
      const { key, n } = payload as Event;
      for (const [windowStart = 0, windowEnd = 0] of spansOf(kind, atMs)) {
        const at = found.findIndex(
          (one) =>
            one.partition === partition &&
            one.key === key &&
            (kind === 'session' ? atMs < one.windowEnd : one.windowStart === windowStart),
        );
        const known = found[at];
        if (known === undefined) found.push({ partition, key, windowStart, windowEnd, value: n });
        else found[at] = { ...known, windowEnd, value: known.value + n };
      }
    }
  }
  return found;
}

describe('a cycle', () => {
  test('is one commit of acknowledgement, state and outputs', async () => {
    const { server, start, stop, drain, events } = rig();
    server.push('in', 'a', { key: 'x', at: 1, n: 1 }, { key: 'x', at: 9, n: 2 });
    const stream = Stream.from(events())
      .filter(({ n }) => n > 0)
      .windowTumbling({ seconds: 4, eventTime: ({ at }) => at * 1000 })
      .aggregate({ min: ({ n }) => n, avg: ({ n }) => n, count: () => 1 })
      .flatMap((window) => [window, { ...window, again: true }])
      .to('out', { partition: ({ key }) => `of-${key}` });
    const runner = await start(stream);
    await drain();
    await stop();
    expect(server.cycles).toHaveLength(1);
    const [cycle] = server.cycles;
    expect(cycle).toMatchObject({ ack: { count: 2 }, release_lease: true });
    expect(cycle?.state_ops?.map(({ type, key }) => `${type} ${key}`)).toEqual([
      'upsert __wm__',
      'delete tumb:4\u001f1970-01-01T00:00:00.000Z\u001fa',
      'upsert tumb:4\u001f1970-01-01T00:00:08.000Z\u001fa',
    ]);
    const value = { min: 1, avg: 1, count: 1 };
    expect(cycle?.push_items).toMatchObject([
      {
        queue: 'out',
        partition: 'of-a',
        payload: { key: 'a', windowStart: 0, windowEnd: 4000, value },
      },
      { payload: { again: true } },
    ]);
    expect(runner.metrics()).toMatchObject({ cycles: 1, messages: 2, outputs: 2, stateChanges: 3 });
  });

  test('what a function throws gives the batch back, and nothing counts twice', async () => {
    const { server, start, stop, drain, events } = rig();
    const told: unknown[] = [];
    let failures = 2;
    server.push('in', 'a', { key: 'x', at: 1, n: 1 }, { key: 'x', at: 2, n: 2 });
    const stream = Stream.from(events())
      .windowSession({ gap: '1m' })
      .reduce((seen: number[], { n }) => {
        seen.push(n);
        if (seen.length === 2 && failures-- > 0) throw new Error('not now');
        return seen;
      }, [])
      .foreach(() => undefined);
    const onError = (error: unknown, where: object) => told.push([String(error), where]);
    const runner = await start(stream, { onError });
    await drain();
    await stop();
    const given = server.cycles.filter(({ ack }) => ack?.status === 'retry');
    expect(given, 'before its lease ended').toHaveLength(2);
    expect(told).toEqual(Array(2).fill(['Error: not now', { partition: 'a' }]));
    expect(server.stateRows('in')).toMatchObject([[expect.anything(), { acc: [1, 2] }]]);
    expect(runner.metrics()).toMatchObject({ errors: 2, messages: 2 });
  });

  test('a batch that is too much for one commit goes in parts that are whole', async () => {
    const { server, start, stop, drain, client } = rig();
    server.itemsMax = 100;
    let answers = 0;
    // A partial commit that was sent again would pass messages over.
    server.fault = ({ ack }) =>
      ack?.status === 'completed' && ++answers % 4 === 3 ? 'answer' : 'none';
    server.push('in', 'a', ...Array.from({ length: 50 }, (_, i) => i));
    const stream = Stream.from(client.queue<number>('in'))
      .flatMap((n) => Array.from({ length: 9 }, () => n))
      .to('out');
    await start(stream);
    await drain();
    await stop();
    expect(server.payloads('out')).toEqual(
      Array.from({ length: 450 }, (_, i) => Math.floor(i / 9)),
    );
    expect(server.cycles.filter(({ ack }) => ack?.status === 'completed').length).toBeGreaterThan(
      4,
    );
  });

  test('what never fits is not tried at once again, and others go on', async () => {
    const { server, platform, start, stop, client } = rig();
    server.itemsMax = 3;
    server.push('in', 'a', ...Array.from({ length: 8 }, () => 4));
    server.push('in', 'b', 1, 2, 3);
    const stream = Stream.from(client.queue<number>('in'))
      .flatMap((n) => Array.from({ length: n }, () => n))
      .to('out');
    const fails = () => {
      throw new Error('so does this');
    };
    const runner = await start(stream, { onError: fails });
    await platform.pass(60_000);
    await stop();
    expect(byText(server.payloads('out'))).toEqual(byText([1, 2, 2, 3, 3, 3]));
    const { errors } = runner.metrics();
    // Three halves at once, then a pause, or the end of the lease after 5 s.
    expect(errors > 7 && errors < 20, `${errors}`).toBe(true);
  });

  test('a stream that is stopped, or whose client is closed, commits what it began', async () => {
    const { server, platform, client, start, events } = rig();
    const stream = Stream.from(events())
      .map(async ({ n }) => {
        await new Promise<void>((resolve) => platform.after(700, resolve));
        return n;
      })
      .to('out');
    for (const end of [(runner: StreamRunner) => runner.stop(), () => client.close()]) {
      server.push('in', 'a', { key: 'x', at: 0, n: 1 }, { key: 'x', at: 0, n: 2 });
      const runner = await start(stream);
      await platform.pass(300);
      await platform.settled(Promise.all([end(runner), runner.ended]));
      expect([server.pending('in', GROUP), runner.metrics().messages]).toEqual([0, 2]);
    }
  });

  test('more windows than a commit holds close before the message that closes them', async () => {
    const { server, start, stop, drain, events } = rig();
    const keys = Array.from({ length: 6000 }, (_, i) => ({ key: `k${i}`, at: 1, n: 1 }));
    server.push('in', 'a', ...keys);
    const stream = Stream.from(events())
      .keyBy(({ key }) => key)
      .windowTumbling({ seconds: 4, eventTime: ({ at }) => at * 1000 })
      .aggregate({ count: () => 1 })
      .to('out');
    await start(stream, { batchSize: 6000 });
    await drain();
    server.push('in', 'a', { key: 'late', at: 100, n: 1 });
    let lost = 0;
    // The second part does not arrive.
    server.fault = ({ push_items = [] }) =>
      push_items.length > 0 && ++lost === 2 ? 'request' : 'none';
    await drain();
    await stop();
    expect(new Set(byText(server.payloads('out'))).size).toBe(6000);
    expect(server.payloads('out')).toHaveLength(6000);
    expect(server.stateRows('in')).toHaveLength(2);
    for (const { state_ops = [], push_items = [] } of server.cycles) {
      expect(state_ops.length + push_items.length).toBeLessThanOrEqual(5001);
    }
  });

  test('a worker that another one outlived commits nothing', async () => {
    const { server, platform, start, stop, drain, events } = rig();
    server.push('in', 'a', { key: 'x', at: 1, n: 1 });
    let isSlow = true;
    const stream = Stream.from(events())
      .windowTumbling({ seconds: 60 })
      .reduce(async (sum, { n }) => {
        const waitMs = isSlow ? 9000 : 0;
        isSlow = false;
        await new Promise<void>((resolve) => platform.after(waitMs, resolve));
        return sum + n;
      }, 0)
      .foreach(() => undefined);
    const [slow, other] = [await start(stream), await start(stream)];
    await drain();
    await platform.pass(9000);
    server.push('in', 'a', { key: 'x', at: 1, n: 2 });
    await drain();
    await stop();
    expect(slow.metrics().messages + other.metrics().messages).toBe(2);
    expect(slow.metrics().errors + other.metrics().errors).toBe(1);
    expect(server.stateRows('in')).toMatchObject([[expect.anything(), { acc: 3 }]]);
  });

  test.each([
    ['cycle', 604_800],
    ['flush', 10],
  ])('a %s reads again what another worker has changed meanwhile', async (by, seconds) => {
    const { server, start, stop, drain, platform, events } = rig();
    const stream = Stream.from(events())
      .windowTumbling({ seconds, idleFlushMs: 1000 })
      .reduce((seen: number[], { n }) => seen.concat(n), [])
      .to('out');
    const push = (n: number) => server.push('in', 'a', { key: 'x', at: 0, n });
    await platform.pass(10_000 - (server.nowMs % 10_000));
    push(1);
    // It takes the first message at once, and asks again after a long time.
    const first = await start(stream, { maxWaitMillis: '30s' });
    await drain();
    push(2);
    const other = await start(stream, { maxWaitMillis: 100 });
    await drain();
    await platform.settled(other.stop());
    const acc = by === 'cycle' ? [1, 2, 3] : [1, 2];
    if (by === 'cycle') push(3);
    await drain(() => (by === 'cycle') === server.stateRows('in').length > 0);
    await stop();
    expect([first, other].map((runner) => runner.metrics().messages)).toEqual([acc.length - 1, 1]);
    if (by === 'cycle')
      expect(server.stateRows('in')).toMatchObject([[expect.anything(), { acc }]]);
    else expect(server.payloads('out')).toMatchObject([{ value: acc }]);
  });

  test('windows that a commit left open close, although its answer was lost', async () => {
    const { server, start, stop, drain, events } = rig();
    const stream = Stream.from(events())
      .windowTumbling({ seconds: 2, idleFlushMs: 300 })
      .reduce((sum, { n }) => sum + n, 0)
      .to('out');
    await start(stream);
    for (const n of [1, 2]) {
      server.push('in', 'a', { key: 'x', at: 0, n });
      await drain(() => server.payloads('out').length === n);
      let nth = 0;
      server.fault = () => (nth++ === 0 ? 'answer' : 'none');
    }
    await stop();
    expect(server.payloads('out')).toMatchObject([{ value: 1 }, { value: 2 }]);
  });

  test('a flush and a cycle of one partition take turns', async () => {
    const { server, platform, start, stop, drain, events } = rig();
    server.delay = () => new Promise((resolve) => platform.after(700, resolve));
    const stream = Stream.from(events())
      .windowTumbling({ seconds: 1, idleFlushMs: 50 })
      .reduce((sum, { n }) => sum + n, 0)
      .to('out');
    const runner = await start(stream, { maxWaitMillis: 20 });
    for (let i = 1; i <= 12; i++) {
      server.push('in', 'a', { key: 'x', at: 0, n: 1 });
      await platform.pass(1700 + 83 * i);
    }
    await drain(() => server.stateRows('in').length === 0);
    await stop();
    expect(server.openMax).toBe(1);
    expect(runner.metrics().flushes).toBeGreaterThan(2);
    expect(runner.metrics().errors).toBe(0);
    const sum = server.payloads<Windowed<number>>('out').reduce((all, { value }) => all + value, 0);
    expect(sum).toBe(12);
  });
});

describe('a gate', () => {
  test('lets the beginning of a batch through, and the rest comes again in order', async () => {
    const { server, platform, start, stop, drain, events } = rig();
    const numbers = Array.from({ length: 20 }, (_, i) => ({ key: 'x', at: i, n: i }));
    server.push('in', 'a', ...numbers);
    const seen: [number, number][] = [];
    const stream = Stream.from(events())
      .keyBy(({ key }) => key)
      .gate(tokenBucketGate({ capacity: 4, refillPerSec: 1 }))
      .map(({ n }) => n)
      .foreach((n) => seen.push([n, platform.nowMs()]));
    const runner = await start(stream);
    const beganMs = platform.nowMs();
    await drain();
    await stop();
    expect(seen.map(([n]) => n)).toEqual(numbers.map(({ n }) => n));
    for (const [i, [, atMs]] of seen.entries()) {
      expect(i + 1).toBeLessThanOrEqual(4 + (atMs - beganMs) / 1000 + 0.01);
    }
    expect(runner.metrics().denied).toBeGreaterThan(2);
    const partial = server.cycles.filter(({ ack }) => ack?.status === 'completed');
    expect(partial.map(({ release_lease }) => release_lease)).toEqual([
      ...Array(partial.length - 1).fill(false),
      true,
    ]);
  });

  test('nothing is sent when the first message is denied', async () => {
    const { server, platform, start, stop, events } = rig();
    server.push('in', 'a', { key: 'x', at: 1, n: 1 });
    await start(
      Stream.from(events())
        .gate(() => false)
        .to('out'),
    );
    await platform.pass(2000);
    await stop();
    expect(server.cycles).toEqual([]);
  });
});
