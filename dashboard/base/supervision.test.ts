// Goal: reports of consuming processes are joined from their rows, and rows that are not as they
// should be take nothing with them. Method: rows as the client writes them, and spoilt ones.
import { expect, test } from 'vitest';
import { processesOf } from './supervision.js';

const DOCUMENT = {
  hostname: 'wörker-1',
  pid: 7,
  engine: 'js',
  state: 'running',
  uptime_seconds: 60,
  pool_status: [
    {
      name: 'orders',
      queue: 'orders',
      consumer_group: 'billing',
      desired: 4,
      running: 4,
      busy: 1,
      completed: 90,
      failed: 2,
      last_completed_at_epoch: 1_791_000_000,
      oldest_inflight_seconds: null,
    },
  ],
};
const updatedAt = '2026-10-12T10:00:00.000000Z';
const base64 = (text: string) => Buffer.from(text).toString('base64');

function rows(text: string, change: { readonly write?: string; readonly chunks?: unknown } = {}) {
  const { write = 'w1', chunks = 2 } = change;
  const half = Math.floor(text.length / 2);
  return [
    { key: 'shop/a/1/head', value: { write: 'w1', chunks }, updatedAt },
    {
      key: 'shop/a/1/chunk/0000',
      value: { write: 'w1', data: base64(text.slice(0, half)) },
      updatedAt,
    },
    { key: 'shop/a/1/chunk/0001', value: { write, data: base64(text.slice(half)) }, updatedAt },
  ];
}

const whole = JSON.stringify(DOCUMENT);

test('a report in two chunks', () => {
  expect(processesOf(rows(whole))).toEqual({
    unread: 0,
    processes: [
      {
        group: 'shop/a',
        id: '1',
        host: 'wörker-1',
        pid: 7,
        engine: 'js',
        state: 'running',
        uptimeSeconds: 60,
        updatedAt,
        pools: [
          {
            name: 'orders',
            queue: 'orders',
            group: 'billing',
            desired: 4,
            running: 4,
            busy: 1,
            completed: 90,
            failed: 2,
            lastCompletedMs: 1_791_000_000_000,
            oldestInflightSeconds: null,
          },
        ],
      },
    ],
  });
});

test.each([
  ['a chunk of another write', rows(whole, { write: 'w2' })],
  ['a chunk that is missing', rows(whole).slice(0, 2)],
  ['a number of chunks that is none', rows(whole, { chunks: 'many' })],
  ['too many chunks', rows(whole, { chunks: 1e9 })],
  ['no JSON', rows('no json at all')],
  ['no document', rows('null')],
  [
    'no base64',
    [rows(whole)[0] ?? [], { key: 'shop/a/1/chunk/0000', value: { write: 'w1', data: '%' } }],
  ],
])('left out: %s', (_name, spoilt) => {
  const good = rows(whole).map((row) => ({ ...row, key: row.key.replace('/1/', '/2/') }));
  const { processes, unread } = processesOf([...spoilt, ...good] as typeof good);
  expect([processes.map(({ id }) => id), unread]).toEqual([['2'], 1]);
});

test('members of other kinds are unknown', () => {
  const odd = '{"hostname":1,"pid":"x","pool_status":[null,{"busy":"y"}]}';
  const [process] = processesOf(rows(odd)).processes;
  expect([process?.host, process?.pid, process?.pools.length]).toEqual(['', null, 2]);
  expect(process?.pools[1]?.busy).toBeNull();
});
