// Goal: a scrape is valid by the rules of the format, whatever queues are called, holds each family
// once, shares its work, and does not hold the loop. Method: real requests, read by the strict
// reader; where it is installed, `promtool` judges the same text.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { DEFAULT_TENANT, QUEUE_COLUMNS, type QueueFigures } from '@svc/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readExposition } from '../testing/exposition-reader.fake.js';
import { TestFront } from '../testing/front.fake.js';
import { FAMILIES } from './families.js';
import { SCRAPE_ASKERS_MAX, Scraper } from './scrape.js';

const PROMTOOL = process.env.PROMTOOL ?? '/usr/bin/promtool';
const OTHER_TENANT = '00000000-0000-0000-0000-00000000000a';

let front: TestFront;

beforeEach(async () => {
  front = await TestFront.start();
});
afterEach(() => front.stop());

async function scrapeText(): Promise<string> {
  const { status, body } = await front.client().request('/metrics/prometheus');
  expect(status).toBe(200);
  return body;
}

const scrape = async () => readExposition(await scrapeText());

function figuresOf(tenant: string, queue: string, counts: Partial<QueueFigures>): QueueFigures {
  const zeros = Object.fromEntries(QUEUE_COLUMNS.map((column) => [column, 0]));
  return { tenant, queue, ...zeros, ...counts } as QueueFigures;
}

/** Stands in for a bucket of time that was closed. */
function delivered(figures: readonly QueueFigures[]): void {
  Object.defineProperty(front.server.meters.queues, 'closed', { value: figures });
}

test('headers', async () => {
  const { headers } = await front.client().request('/metrics/prometheus');
  expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(headers.get('cache-control')).toBe('no-cache');
});

test('every family is there from the first scrape, once, with its type', async () => {
  const read = await scrape();
  const own = [...read.values()].filter(({ name }) => name.startsWith('svc_'));
  expect(own.map(({ name, type }) => [name, type])).toEqual(
    shownFamilies().map(({ name, type }) => [name, type]),
  );
  // Beside those of the runtime.
  expect(read.get('nodejs_heap_size_used_bytes')?.type).toBe('gauge');
  // A counter says so in its name, but for one that the contract names.
  const counters = FAMILIES.filter(({ type }) => type === 'counter').map(({ name }) => name);
  expect(counters.filter((name) => !name.endsWith('_total'))).toEqual(['svc_raft_apply_stats']);
  expect(read.get('svc_kv_ops_total')?.samples).toHaveLength(7 * 3);
  expect(read.get('svc_timers_fire_lag_seconds')?.samples).toEqual([]);
});

test('values', async () => {
  const { meters } = front.server;
  await front.client().request('/api/v1/pop/queue/q');
  meters.kv.ops.put.applied += 3;
  meters.kv.tookUs.put.record(2000);
  meters.pipeline.plan.record(1_500_000);
  const read = await scrape();
  const samples = (name: string) => read.get(name)?.samples ?? [];
  expect(samples('svc_process_pop_requests_total')).toMatchObject([{ labels: {}, value: 1 }]);
  expect(samples('svc_kv_ops_total')).toContainEqual({
    name: 'svc_kv_ops_total',
    labels: { op: 'put', result: 'applied' },
    value: 3,
  });
  expect(samples('svc_kv_op_duration_milliseconds')).toContainEqual({
    name: 'svc_kv_op_duration_milliseconds',
    labels: { op: 'put', quantile: '0.99' },
    value: 2,
  });
  expect(samples('svc_raft_plan_seconds').map(({ value }) => value)).toEqual([
    1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1,
  ]);
  expect(samples('svc_raft_state').find(({ value }) => value === 1)?.labels).toEqual({
    state: 'leader',
  });
  expect(samples('svc_raft_term')).toMatchObject([{ value: 5 }]);
  expect(samples('svc_raft_storage_full')).toMatchObject([{ value: 1 }]);
  expect(samples('svc_raft_store_ram_rows')).toMatchObject([
    { labels: { ks: 'queues', kind: 'active' }, value: 3 },
  ]);
});

test('names of queues may hold anything', async () => {
  const names = ['plain', 'a"b', 'back\\slash', 'line\nfeed', '{x="1"}', 'ünïcödé ✓', '\\n', ''];
  front.service.parked = new Map(names.map((name, i) => [name, i + 1]));
  const counts = { popMessages: 2, lagMsSum: 30, lagMsMax: 20, conflated: 4 };
  delivered(
    names.flatMap((name) => [
      figuresOf(DEFAULT_TENANT, name, counts),
      figuresOf(OTHER_TENANT, name, counts),
    ]),
  );
  front.service.deadLetterDepths = names.map((queue) => ({
    tenant: DEFAULT_TENANT,
    queue,
    count: 7,
  }));
  const read = await scrape();
  expect(read.get('svc_parked_long_polls')?.samples.map(({ labels }) => labels.queue)).toEqual(
    names,
  );
  const lag = read.get('svc_queue_pop_lag_milliseconds')?.samples ?? [];
  expect(lag).toHaveLength(names.length * 2);
  // Tenants are summed, and are no label.
  expect(lag.slice(0, 2).map(({ labels, value }) => [labels, value])).toEqual([
    [{ queue: 'plain', stat: 'avg' }, 15],
    [{ queue: 'plain', stat: 'max' }, 20],
  ]);
  const conflated = read.get('svc_queue_conflated_per_minute')?.samples ?? [];
  expect(conflated.map(({ value }) => value)).toEqual(names.map(() => 8));
  expect(read.get('svc_dlq_depth_by_queue')?.samples.map(({ value }) => value)).toEqual(
    names.map(() => 7),
  );
  expect(read.get('svc_dlq_depth')?.samples).toMatchObject([
    { labels: {}, value: 7 * names.length },
  ]);
  // The lines of a bucket are made once, and stay what they were.
  const again = await scrape();
  expect(again.get('svc_queue_pop_lag_milliseconds')?.samples).toEqual(lag);
});

test('the lag of consumer groups', async () => {
  expect((await scrape()).get('svc_consumer_group_lag_complete')?.samples).toEqual([]);
  front.service.groupLags = {
    isComplete: false,
    rows: [
      { queue: 'q"1', group: 'g', messages: 7, oldestUs: 4_000_000 },
      { queue: 'q2', group: 'g', messages: 0, oldestUs: null },
    ],
  };
  const read = await scrape();
  const samples = (name: string) =>
    read.get(name)?.samples.map(({ labels, value }) => [labels, value]);
  const [first, second] = [
    { queue: 'q"1', consumer_group: 'g' },
    { queue: 'q2', consumer_group: 'g' },
  ];
  expect(samples('svc_consumer_group_lag_messages')).toEqual([
    [first, 7],
    [second, 0],
  ]);
  expect(samples('svc_consumer_group_lag_seconds')).toEqual([
    [first, 6],
    [second, 0],
  ]);
  expect(samples('svc_consumer_group_lag_complete')).toEqual([[{}, 0]]);
});

function shownFamilies() {
  const figures = front.service.figures();
  return FAMILIES.filter(({ isShown }) => isShown?.(figures) ?? true);
}

test('timings, admission and forwarding can be left out', async () => {
  front.service.showsPipeline = false;
  const read = await scrape();
  expect(read.has('svc_raft_plan_seconds')).toBe(false);
  expect(read.has('svc_raft_admit_bytes')).toBe(false);
  expect(read.has('svc_raft_forward_total')).toBe(false);
  expect(read.has('svc_raft_index')).toBe(true);
  const own = [...read.keys()].filter((name) => name.startsWith('svc_'));
  expect(own.length).toBe(shownFamilies().length);
});

function omitted(read: ReturnType<typeof readExposition>): Record<string, number> {
  const samples = read.get('svc_queue_series_omitted')?.samples ?? [];
  return Object.fromEntries(samples.map(({ labels, value }) => [labels.of, value]));
}

test('rates of a queue, of all tenants, until five minutes after it is quiet', async () => {
  const { queues } = front.server.meters;
  const count = (tenant: string, queue: string, pushMessages: number) => {
    const figures = queues.of(tenant, queue);
    if (figures !== null) Object.assign(figures, { pushMessages, popMessages: 20, ackSuccess: 10 });
  };
  const rates = async () => {
    const read = await scrape();
    return ['pushed', 'delivered', 'acked'].map((of) =>
      (read.get(`svc_queue_${of}_per_second`)?.samples ?? []).map(
        ({ labels, value }) => `${labels.queue} ${value}`,
      ),
    );
  };
  count(DEFAULT_TENANT, 'q', 60);
  count(OTHER_TENANT, 'q', 30);
  count(DEFAULT_TENANT, 'r', 1);
  queues.rotate(60_000, 20_000);
  expect(await rates()).toEqual([
    ['q 4.5', 'r 0.05'],
    ['q 2', 'r 1'],
    ['q 1', 'r 0.5'],
  ]);
  count(DEFAULT_TENANT, 'r', 0);
  queues.rotate(120_000, 60_000);
  expect((await rates())[0]).toEqual(['r 0', 'q 0']);
  queues.rotate(360_000, 60_000);
  expect((await rates())[0]).toEqual(['q 0', 'r 0']);
  queues.rotate(360_001, 60_000);
  expect((await rates())[0]).toEqual(['r 0']);
  queues.rotate(420_001, 60_000);
  expect((await rates())[0]).toEqual([]);
});

test('more queues than a family tells of are left out and counted', async () => {
  front.service.queueSeriesMax = 2;
  front.service.parked = new Map(['a', 'b', 'c'].map((queue) => [queue, 1]));
  const { queues } = front.server.meters;
  for (let i = 0; i < 7; i++) queues.of(DEFAULT_TENANT, `q${i}`);
  queues.rotate(0, 60_000);
  const read = await scrape();
  expect(read.get('svc_queue_pushed_per_second')?.samples).toHaveLength(2);
  expect(read.get('svc_parked_long_polls')?.samples).toHaveLength(2);
  expect(omitted(read)).toEqual({ traffic: 5, dead_letters: 0, long_polls: 1 });
});

test('ten thousand queues are shown whole, a million are not, and nobody waits long', async () => {
  const depths = function* (count: number) {
    for (let i = 0; i < count; i++) yield { tenant: DEFAULT_TENANT, queue: `queue-${i}`, count: i };
  };
  front.service.deadLetterDepths = depths(10_000);
  const read = await scrape();
  expect(read.get('svc_dlq_depth_by_queue')?.samples).toHaveLength(10_000);
  front.service.deadLetterDepths = depths(1_000_000);
  let turns = 0;
  const counting = setInterval(() => turns++, 0);
  const text = await scrapeText();
  clearInterval(counting);
  expect(turns).toBeGreaterThan(0);
  const million = readExposition(text);
  expect(million.get('svc_dlq_depth_by_queue')?.samples).toHaveLength(20_000);
  expect(million.get('svc_dlq_depth')?.samples[0]?.value).toBe((1_000_000 * 999_999) / 2);
  expect(omitted(million)).toEqual({ traffic: 0, dead_letters: 980_000, long_polls: 0 });
});

test('who asks while a scrape is made gets the same', async () => {
  const scraper = new Scraper(() => {});
  let reads = 0;
  const read = () => {
    reads++;
    front.service.deadLetterDepths = (function* () {
      for (let i = 0; i < 50_000; i++)
        yield i % 100 === 0 ? null : { tenant: '', queue: `${i}`, count: 1 };
    })();
    return { meters: front.server.meters, figures: front.service.figures() };
  };
  const texts: (Buffer | null)[] = [];
  const ended = new Promise<void>((resolve) => {
    for (let asker = 1; asker <= SCRAPE_ASKERS_MAX; asker++) {
      const taken = scraper.scrape(read, (text) => {
        texts.push(text);
        if (texts.length === SCRAPE_ASKERS_MAX) resolve();
      });
      expect(taken).toBe(true);
    }
    expect(scraper.scrape(read, () => {})).toBe(false);
  });
  await ended;
  expect(reads).toBe(1);
  expect(new Set(texts).size).toBe(1);
});

test('a scrape that fails is answered, logged, and the next one works', async () => {
  front.service.deadLetterDepths = {
    [Symbol.iterator]: () => {
      throw new Error('a planted failure');
    },
  };
  expect((await front.client().request('/metrics/prometheus')).status).toBe(500);
  expect(front.logged).toEqual(['a scrape failed: Error: a planted failure']);
  front.service.deadLetterDepths = null;
  await scrape();
});

test('promtool finds no fault with it, where it is installed', async () => {
  if (!existsSync(PROMTOOL)) {
    console.log(`not run: ${PROMTOOL} is not here (Debian package prometheus)`);
    return;
  }
  front.service.parked = new Map([['a"b\\c\nd', 1]]);
  const input = await scrapeText();
  const { status, stdout, stderr } = spawnSync(PROMTOOL, ['check', 'metrics'], {
    input,
    encoding: 'utf8',
  });
  // 0: fine; 3: only matters of taste, which are names that the contract gives.
  expect([0, 3], stdout + stderr).toContain(status);
  const tastes = (stdout + stderr)
    .trim()
    .split('\n')
    .filter((line) => line !== '');
  const unknown = tastes.filter(
    (line) => !/(use base unit|have "(_total" suffix|quantile" label)|abbreviated)/.test(line),
  );
  expect(unknown).toEqual([]);
});
