// Goal: what random histories meet too rarely or cannot see: pauses, lifetimes, files of others.
// Method: single courses of events on a node.
import { expect, test } from 'vitest';
import { DAYS, dayKey, MINUTES, OPEN_DAY, usageOf } from '../metering/usage-rows.js';
import { headText } from '../metering/usage-text.js';
import { monthMessages, rollUp } from './roll-up.js';
import { SPOOL_FILE_BYTES_MAX } from './spool-files.js';
import { UsageNode } from './usage-node.fake.js';

const START_US = Date.UTC(2026, 10, 26, 12, 0, 30) * 1000;
const MINUTE = START_US - 30_000_000;
const DAY_MS = 86_400_000;

async function nodeAt(startUs = START_US): Promise<UsageNode> {
  const node = new UsageNode(startUs);
  node.request('c', 'push', 5);
  node.settle();
  return node;
}

test('a row is the whole count of one process in one minute', async () => {
  const node = await nodeAt();
  node.request('c', 'push', 7);
  node.settle();
  await node.tick();
  expect(node.store.keys(MINUTES)).toEqual([]);
  node.advance(30_000);
  await node.tick();
  const key = `#c/${MINUTE}/push/1-boot1`;
  expect(node.store.keys(MINUTES)).toEqual([key]);
  const row = await node.store.get(MINUTES, key);
  expect(row?.value).toEqual({ msgs: 12, reqs: 2, bytes_in: 24, bytes_out: 6 });
  expect(node.spool.texts()).toEqual([]);
});

test('a clock that is set back over a minute that was stored begins other rows', async () => {
  const node = await nodeAt();
  node.advance(60_000);
  await node.tick();
  node.wallUs -= 60_000_000;
  node.request('c', 'push', 7);
  node.settle();
  node.advance(60_000);
  await node.tick();
  expect(node.store.keys(MINUTES)).toEqual([
    `#c/${MINUTE}/push/1-boot1`,
    `#c/${MINUTE}/push/1-boot1.1`,
  ]);
  expect([...(await node.stored()).values()]).toEqual([12]);
});

test('what is counted after the last flush is kept for the next process', async () => {
  const node = await nodeAt();
  await node.lastFlush();
  expect([...(await node.stored()).values()]).toEqual([5]);
  node.request('c', 'push', 7);
  node.settle();
  await node.kill();
  await node.tick();
  expect([...(await node.stored()).values()]).toEqual([12]);
});

test('minutes that come while a day is summed are in its sum', async () => {
  const node = await nodeAt();
  node.advance(60_000);
  await node.tick();
  node.request('c', 'push', 7);
  node.settle();
  node.advance(DAY_MS);
  node.store.onBatch = () => node.tick();
  expect(await rollUp(node.store, node.clock, 'c', 3)).toBe(false);
  const key = dayKey('c', '2026-11-26', 'push');
  expect((await node.store.get(DAYS, key))?.value).toEqual(OPEN_DAY);
  expect(await monthMessages(node.store, 'c', node.wallUs)).toBe(12);
  expect(await rollUp(node.store, node.clock, 'c', 3)).toBe(true);
  expect(usageOf((await node.store.get(DAYS, key))?.value ?? null)?.msgs).toBe(12);
  expect(node.late).toEqual(new Set(['c']));
});

test('another operation that comes late opens the day too', async () => {
  const node = await nodeAt();
  node.advance(60_000);
  await node.tick();
  node.request('c', 'txn', 7);
  node.settle();
  node.advance(DAY_MS);
  node.store.onBatch = () => node.tick();
  expect(await rollUp(node.store, node.clock, 'c', 3)).toBe(false);
  expect(await rollUp(node.store, node.clock, 'c', 3)).toBe(true);
  expect(node.store.keys(DAYS)).toEqual(['#c/2026-11-26/push', '#c/2026-11-26/txn']);
});

test('no day is summed before it is over for an hour', async () => {
  const node = await nodeAt();
  node.advance(12 * 3_600_000 + 59 * 60_000);
  await node.tick();
  await rollUp(node.store, node.clock, 'c', 3);
  expect(node.store.keys(DAYS).filter((key) => !key.includes('push'))).toEqual([]);
  node.advance(60_000);
  await rollUp(node.store, node.clock, 'c', 3);
  expect(node.store.keys(DAYS)).toEqual(['#c/2026-11-26/push']);
});

test('after three failures the store has a rest, and memory is free', async () => {
  const node = await nodeAt();
  node.advance(60_000);
  node.store.down = true;
  const before = node.store.calls.batch;
  await node.tick();
  node.store.down = false;
  node.advance(29_000);
  await node.tick();
  expect(node.store.calls.batch).toBe(before);
  expect(node.spool.texts()).toEqual([
    `${headText({ node: 'cell/1', boot: 'boot1', writer: '1-boot1' })}` +
      `["c",${MINUTE},"push",5,1,10,3]\n`,
  ]);
  node.advance(1_000);
  await node.tick();
  expect([...(await node.stored()).values()]).toEqual([5]);
  expect(node.spool.texts()).toEqual([]);
});

test('rows that were read half-way and again are merged with those of the store', async () => {
  const node = await nodeAt();
  const early = node.spool.texts()[0] ?? '';
  node.request('c', 'push', 7);
  node.settle();
  node.advance(60_000);
  await node.tick();
  node.spool.put('meter-1-0.buf', early);
  await node.kill();
  await node.tick();
  expect([...(await node.stored()).values()]).toEqual([12]);
});

test('what no answer waits for is in a file from the next flush on', async () => {
  const node = new UsageNode(START_US);
  node.countOnly('c', 'read');
  expect(node.spool.texts()).toEqual([]);
  await node.tick();
  await node.kill();
  await node.tick();
  expect(node.store.keys(MINUTES)).toEqual([`#c/${MINUTE}/read/1-boot1`]);
});

test('files of others are left alone', async () => {
  const node = await nodeAt();
  const line = `["c",${MINUTE},"push",5,1,10,3]\n`;
  const others = [
    headText({ node: 'cell/2', boot: 'x', writer: '2-x' }) + line,
    headText({ node: 'cell/1', boot: 'boot2', writer: '1-boot2-thread1' }) + line,
    'some text\n',
    '',
    '{"usage":1,"no',
  ];
  others.forEach((text, i) => {
    node.spool.put(`meter-1-${i}.buf`, text);
  });
  await node.kill();
  await node.tick();
  expect(node.spool.texts()).toEqual(others);
  expect([...(await node.stored()).values()]).toEqual([5]);
});

test('lines that are no usage are said, and cost nothing else', async () => {
  const node = new UsageNode(START_US);
  const lines = [
    `["c",${MINUTE},"push",5,1,10,3]`,
    `["c",${MINUTE},"push",4,2,10,3]`,
    `["c",${MINUTE},"steal",5,1,10,3]`,
    `["c",${MINUTE},"push",-5,1,10,3]`,
    '{}',
    `["c",${MINUTE},"txn",5,1`,
  ];
  const head = headText({ node: 'cell/1', boot: 'x', writer: '1-x' });
  node.spool.put('meter-1-0.buf', head + lines.join('\n'));
  await node.kill();
  await node.tick();
  const row = await node.store.get(MINUTES, `#c/${MINUTE}/push/1-x`);
  expect(row?.value).toEqual({ msgs: 5, reqs: 2, bytes_in: 10, bytes_out: 3 });
  expect(node.said).toEqual(['meter-1-0.buf has 3 lines that are no usage']);
});

test('rows end with the days that are kept, and what is older is said and left out', async () => {
  const node = await nodeAt();
  node.advance(60_000);
  await node.tick();
  node.request('c', 'push', 7);
  node.settle();
  node.advance(89 * DAY_MS);
  expect(await node.stored()).toEqual(new Map([[`c ${MINUTE} push`, 5]]));
  await node.tick();
  expect(node.said).toEqual(['1 rows of usage are too old to be counted']);
  node.advance(DAY_MS);
  expect(await node.stored()).toEqual(new Map());
});

test('a file is followed by another one at 5 MB', async () => {
  const node = await nodeAt();
  let requests = 0;
  // Long names make long lines.
  const ids = Array.from({ length: 100 }, (_, i) => `${'c'.repeat(300)}${i}`);
  while (node.spool.texts().length < 3) {
    for (const id of ids) node.request(id, 'push', 1);
    requests += ids.length;
    node.settle();
  }
  const lengths = node.spool.texts().map((text) => text.length);
  expect(Math.max(...lengths)).toBeLessThan(SPOOL_FILE_BYTES_MAX + 50_000);
  await node.kill();
  await node.tick();
  const stored = [...(await node.stored()).values()].reduce((total, msgs) => total + msgs, 0);
  expect(stored).toBe(requests + 5);
});
