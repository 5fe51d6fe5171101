/**
 * Lists in pages (decisions 28): put together, the pages of a list are the list, whatever their
 * length; objects say in `nextAfter` where the next one begins, bare arrays in a header.
 */
import { expect } from 'vitest';
import { bodyOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import type { ContractRow, ContractTable } from '../table.js';

const PAGES_MAX = 100;
const NEXT_AFTER = 'x-svc-next-after';
const NOT_A_PLACE = 'after is not a place that this list has given';

interface ListPath {
  readonly row: string;
  /** Path of the list, without the leading `/api/v1/`. */
  readonly path: string;
  /** The member that holds the rows; null: a bare array. */
  readonly member: string | null;
  /** Rows of the whole list. */
  readonly rows: number;
}

/**
 * Five queues with labels of their own and timers, three partitions in the first, and two groups at
 * three.
 */
async function filled({ api, client, queue }: BrokerUnderTest): Promise<void> {
  for (const partition of ['p1', 'p2', 'p3']) await api.pushIds(`n1.t1.${queue}`, partition, ['a']);
  for (const i of [2, 3, 4, 5]) await api.pushIds(`n${i}.t${i}.${queue}`, 'p1', ['a']);
  const operations = [1, 1, 2, 3, 4, 5].map((i, at) => ({
    op: 'schedule',
    queue: `n${i}.t${i}.${queue}`,
    timerKey: `k${at}`,
    delayMs: 3_600_000 + at * 1000,
    txn: `t${at}`,
    payload: 'MQ==',
  }));
  bodyOf(await client.post('/api/v1/timers', { operations }), 200);
  for (const group of ['g', 'h']) {
    for (const i of [1, 2, 3]) {
      await api.popQueue(`n${i}.t${i}.${queue}`, { consumerGroup: group, leaseSeconds: 1 });
    }
  }
}

const LISTS: readonly ListPath[] = [
  { row: 'resources/queues', path: 'resources/queues', member: 'queues', rows: 5 },
  {
    row: 'resources/queues?stats=lanes',
    path: 'resources/queues?stats=lanes',
    member: 'queues',
    rows: 5,
  },
  { row: 'resources/namespaces', path: 'resources/namespaces', member: 'namespaces', rows: 5 },
  { row: 'resources/tasks', path: 'resources/tasks', member: 'tasks', rows: 5 },
  { row: 'resources/timers', path: 'resources/timers', member: 'timers', rows: 5 },
  { row: 'status', path: 'status', member: 'queues', rows: 5 },
  { row: 'consumer-groups', path: 'consumer-groups', member: null, rows: 6 },
  {
    row: 'consumer-groups/lagging',
    path: 'consumer-groups/lagging?minLagSeconds=-1',
    member: null,
    rows: 10,
  },
];

function nextOf(header: string | string[] | undefined): string | null {
  return typeof header === 'string' ? header : null;
}

function withQuery(path: string, query: string): string {
  return `/api/v1/${path}${path.includes('?') ? '&' : '?'}${query}`;
}

/** What changes with the moment at which it is looked at. */
function steady(rows: readonly unknown[]): unknown[] {
  const changing = ['maxTimeLag', 'time_lag_seconds', 'lag_hours', 'messages'];
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row as object).filter(([name]) => !changing.includes(name))),
  );
}

async function pageOf({ client }: BrokerUnderTest, path: string, member: string | null) {
  const answer = await client.get(path);
  const body = bodyOf(answer, 200) as Record<string, unknown>;
  const header = nextOf(answer.headers[NEXT_AFTER]);
  if (member === null) return { rows: body as never as unknown[], next: header, body };
  expect(header).toBeNull();
  return { rows: body[member] as unknown[], next: body.nextAfter as string | null, body };
}

async function pagesOf(
  broker: BrokerUnderTest,
  path: string,
  member: string | null,
  limit: number,
): Promise<unknown[]> {
  const found: unknown[] = [];
  let after = '';
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const query = `limit=${limit}${after === '' ? '' : `&after=${after}`}`;
    const { rows, next } = await pageOf(broker, withQuery(path, query), member);
    expect(rows.length).toBeLessThanOrEqual(limit);
    found.push(...rows);
    if (next === null) return found;
    after = encodeURIComponent(next);
  }
  throw new Error(`${path} has no end`);
}

const inPages: readonly ContractRow[] = LISTS.map(({ row, path, member, rows }) => ({
  row,
  does: 'pages of one, two and a hundred are the whole list',
  run: async (broker) => {
    await filled(broker);
    const whole = await pageOf(broker, `/api/v1/${path}`, member);
    expect(whole.rows).toHaveLength(rows);
    for (const limit of [1, 2, 100]) {
      const pages = await pagesOf(broker, path, member, limit);
      expect(steady(pages)).toEqual(steady(whole.rows));
    }
  },
}));

/** Lists of the partitions of a queue; without them, and where a page ends, their answers agree. */
const partitionLists = (
  [
    ['resources/queues/{queue}', (body) => body.partitions],
    ['status/queues/{queue}', (body) => body.partitions],
    ['resources/queues/{queue}/depth', (body) => body.partitions],
    ['resources/queues/{queue}/sizes', (body) => Object.entries(body.partitions as object)],
  ] as const satisfies readonly (readonly [
    string,
    (body: Readonly<Record<string, unknown>>) => unknown,
  ])[]
).map(
  ([row, rowsOf]): ContractRow => ({
    row,
    does: 'pages of partitions are the whole list; sums are of all partitions on each page',
    run: async (broker) => {
      const { api, client, queue } = broker;
      for (const partition of ['b', 'a', 'ü', 'd e', 'c']) {
        await api.pushIds(queue, partition, ['1', '2']);
      }
      const path = `/api/v1/${row.replace('{queue}', queue)}`;
      const bodyAt = async (query: string) =>
        bodyOf(await client.get(`${path}${query}`), 200) as Readonly<Record<string, unknown>>;
      const { partitions: _, ...whole } = await bodyAt('');
      const rows = rowsOf(await bodyAt(''));
      expect(whole).not.toHaveProperty('nextAfter');
      for (const limit of [1, 2, 5, 9]) {
        const found: unknown[] = [];
        let after: string | null = '';
        while (after !== null) {
          const query: string = after === '' ? '' : `&after=${after}`;
          const body = await bodyAt(`?limit=${limit}${query}`);
          const { partitions: _, nextAfter, ...others } = body;
          expect(others).toEqual(whole);
          found.push(...(rowsOf(body) as unknown[]));
          after = nextAfter as string | null;
        }
        expect(found).toEqual(rows);
      }
      const wrong = await client.get(`${path}?after=nothing`);
      expect(bodyOf(wrong, 400)).toEqual({ error: NOT_A_PLACE, code: 'bad_request' });
    },
  }),
);

export const pagedLists: ContractTable = {
  section: 'decisions 28',
  rows: [
    ...inPages,
    ...partitionLists,
    {
      row: 'resources/timers',
      does: 'how many a queue has, and when the next is due',
      run: async (broker) => {
        await filled(broker);
        const { rows } = await pageOf(broker, '/api/v1/resources/timers', 'timers');
        const shown = rows as { queue: string; pending: number; nextAt: string }[];
        expect(shown.map(({ queue, pending }) => `${queue.slice(0, 2)} ${pending}`)).toEqual([
          'n1 2',
          'n2 1',
          'n3 1',
          'n4 1',
          'n5 1',
        ]);
        for (const { queue, nextAt } of shown) {
          const path = `/api/v1/timers/${queue}`;
          const { rows: own } = await pageOf(broker, path, 'rows');
          const stamps = (own as { deliverAt: string }[]).map(({ deliverAt }) => deliverAt);
          expect(nextAt).toBe(stamps.sort()[0]);
        }
      },
    },
    {
      row: 'consumer-groups/{group}',
      does: 'a queue goes on on the next page; the header says where',
      run: async (broker) => {
        await filled(broker);
        const found: string[] = [];
        let after = '';
        do {
          const path = `/api/v1/consumer-groups/g?limit=2${after === '' ? '' : `&after=${after}`}`;
          const answer = await broker.client.get(path);
          const body = bodyOf(answer, 200) as Record<
            string,
            { partitions: { partition: string }[] }
          >;
          for (const [queue, { partitions }] of Object.entries(body)) {
            found.push(...partitions.map(({ partition }) => `${queue.slice(0, 2)} ${partition}`));
          }
          after = nextOf(answer.headers[NEXT_AFTER]) ?? '';
        } while (after !== '');
        expect(found).toEqual(['n1 p1', 'n1 p2', 'n1 p3', 'n2 p1', 'n3 p1']);
      },
    },
    {
      row: 'a whole list',
      does: 'has neither `nextAfter` nor the header',
      run: async (broker) => {
        await filled(broker);
        for (const { path, member } of LISTS) {
          const { next, body } = await pageOf(broker, `/api/v1/${path}`, member);
          expect(next ?? null).toBeNull();
          expect(body).not.toHaveProperty('nextAfter');
        }
      },
    },
    {
      row: 'limit',
      does: 'what is no integer is a page of the standard length; below 1 is 1',
      run: async (broker) => {
        await filled(broker);
        for (const [limit, rows] of [
          ['many', 5],
          ['0', 1],
          ['-7', 1],
          ['2000', 5],
        ] as const) {
          const path = `/api/v1/resources/queues?limit=${limit}`;
          const page = await pageOf(broker, path, 'queues');
          expect(page.rows).toHaveLength(rows);
          expect(page.body).toHaveProperty('nextAfter');
        }
      },
    },
    {
      row: 'after',
      does: 'without `limit` asks for a page; the queue that it is of may be gone',
      run: async (broker) => {
        await filled(broker);
        const first = await pageOf(broker, '/api/v1/resources/queues?limit=2', 'queues');
        const { name } = first.rows[1] as { name: string };
        await broker.client.send('DELETE', `/api/v1/resources/queues/${name}`, undefined);
        const path = `/api/v1/resources/queues?after=${first.next}`;
        const rest = await pageOf(broker, path, 'queues');
        expect(rest.rows).toHaveLength(3);
        expect(rest.next).toBeNull();
      },
    },
    ...['resources/queues', 'resources/tasks', 'consumer-groups', 'consumer-groups/lagging'].map(
      (path): ContractRow => ({
        row: 'after',
        does: `of ${path}, what it has not given is refused`,
        send: `GET /api/v1/${path}?after=nothing`,
        answer: { status: 400, error: NOT_A_PLACE, code: 'bad_request' },
      }),
    ),
    {
      row: 'own forms',
      does: 'lists that had `limit` before keep what they answer',
      run: async (broker) => {
        await filled(broker);
        for (const path of [
          'status/queues?limit=1',
          'resources/partitions?limit=1',
          'dlq?limit=1',
        ]) {
          const body = bodyOf(await broker.client.get(`/api/v1/${path}`), 200);
          expect(body).not.toHaveProperty('nextAfter');
        }
      },
    },
  ],
};
