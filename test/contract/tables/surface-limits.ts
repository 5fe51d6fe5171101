/**
 * The gate ladder and quotas, with limits that rows grant to their own tenants (state-surfaces 0.4,
 * 5.2 to 5.4).
 */
import { DEFAULT_TENANT, RESERVED_TENANT } from '@svc/wire';
import { expect } from 'vitest';
import { sleep } from '../../process/node-under-test.js';
import { bodyOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import type { ContractRow, ContractTable, ExpectedAnswer } from '../table.js';

const QUOTA = '/api/v1/resources/quota';
const KV = '/api/v1/kv';
const EXCEEDED = '{"error":"kv_quota_exceeded","reason":"kv_quota_exceeded"}';
const LIMITED = '{"error":"rate_limited","reason":"rate_limited"}';
const NO_LIMITS = {
  maxRows: null,
  maxBytes: null,
  maxTimers: null,
  maxTimerHorizonSeconds: null,
  maxReadsPerSecond: null,
  maxWritesPerSecond: null,
  maxQueues: null,
  maxMessagesPerSecond: null,
  maxQueries: null,
};

const put = (key: string, value: unknown = 1) => ({
  op: 'put',
  ns: 'n',
  key,
  value,
  forever: true,
});

async function grant(broker: BrokerUnderTest, limits: object): Promise<void> {
  bodyOf(await broker.client.post(QUOTA, { kind: 'kv', ...limits }), 200);
}

/** Status and body of a call of key/value. */
async function kv(broker: BrokerUnderTest, ...ops: readonly object[]): Promise<string> {
  const { status, text } = await broker.client.post(KV, ops);
  return status === 200 ? '200' : `${status} ${text}`;
}

/**
 * Repeats a call until it is refused, and tells how: how fast a machine is decides how many a
 * bucket that refills lets pass before.
 */
async function drained(call: () => Promise<string>, passes = '200'): Promise<string> {
  for (let i = 0; i < 200; i++) {
    const told = await call();
    if (!told.startsWith(passes)) return told;
  }
  return 'never refused';
}

export const gateLadder: ContractTable = {
  section: 'state-surfaces 0.4',
  rows: [
    {
      row: 'token bucket',
      does: '429 with Retry-After',
      run: async ({ sameNode: broker }) => {
        await grant(broker, { maxWritesPerSecond: 1 });
        const waits = new Set<unknown>();
        const told = await drained(async () => {
          const { status, text, headers } = await broker.client.post(KV, [put('a')]);
          waits.add(headers['retry-after']);
          return `${status} ${text}`;
        });
        expect(told).toBe(`429 ${LIMITED}`);
        expect([...waits]).toEqual([undefined, '1']);
      },
    },
    {
      row: 'occupancy',
      does: '403 without Retry-After',
      run: async ({ sameNode: broker }) => {
        await grant(broker, { maxRows: 1 });
        const answer = await broker.client.post(KV, [put('a'), put('b')]);
        expect([answer.status, answer.text]).toEqual([403, EXCEEDED]);
        expect(answer.headers['retry-after']).toBeUndefined();
      },
    },
    {
      row: 'occupancy',
      does: 'of timers',
      run: async ({ sameNode: broker }) => {
        await grant(broker, { maxTimers: 1 });
        const schedule = (timerKey: string) => ({
          op: 'schedule',
          queue: broker.queue,
          timerKey,
          txn: timerKey,
          delayMs: 600_000,
          payload: 'MQ==',
        });
        bodyOf(await broker.client.post('/api/v1/timers', [schedule('a')]), 200);
        const { status, text } = await broker.client.post('/api/v1/timers', [schedule('b')]);
        const error = 'timers_quota_exceeded';
        expect([status, text]).toEqual([403, JSON.stringify({ error, reason: error })]);
        // A cancel makes room.
        const timer = `/api/v1/timers/${broker.queue}/a`;
        bodyOf(await broker.client.send('DELETE', timer, undefined), 200);
        bodyOf(await broker.client.post('/api/v1/timers', [schedule('b')]), 200);
      },
    },
    {
      row: 'never refused on occupancy',
      does: 'reads and deletes',
      run: async ({ sameNode: broker }) => {
        expect(await kv(broker, put('a'), put('b'))).toBe('200');
        await grant(broker, { maxRows: 1 });
        expect(await kv(broker, put('c'))).toBe(`403 ${EXCEEDED}`);
        expect(await kv(broker, { op: 'get', ns: 'n', key: 'a' })).toBe('200');
        expect(await kv(broker, { op: 'delete', ns: 'n', key: 'a' })).toBe('200');
      },
    },
    {
      row: 'edge size checks before',
      does: 'too many operations cost no token',
      run: async ({ sameNode: broker }) => {
        await grant(broker, { maxReadsPerSecond: 1 });
        const get = { op: 'get', ns: 'n', key: 'a' };
        const many = Array.from({ length: 257 }, () => get);
        for (let i = 0; i < 20; i++) expect(await kv(broker, ...many)).toContain('400');
        expect(await kv(broker, get)).toBe('200');
      },
    },
    {
      row: 'op shapes after',
      does: 'a malformed operation costs a token',
      run: async ({ sameNode: broker }) => {
        await grant(broker, { maxWritesPerSecond: 1 });
        const malformed = () => kv(broker, { op: 'put', ns: 'n' });
        expect(await malformed()).toContain('400');
        expect(await drained(malformed, '400')).toBe(`429 ${LIMITED}`);
      },
    },
    {
      row: 'inside a transaction',
      does: 'a grant and an allowance count as well, and nothing is applied',
      run: async ({ sameNode: broker }) => {
        const push = { type: 'push', items: [{ queue: broker.queue, payload: 1 }] };
        const ask = async (more: object) => {
          const body = { operations: [push], ...more };
          const { status, text } = await broker.client.post('/api/v1/transaction', body);
          return `${status} ${(JSON.parse(text) as { reason?: string }).reason ?? 'committed'}`;
        };
        await grant(broker, { maxRows: 1, maxTimers: 0 });
        expect(await ask({ kv: [put('a'), put('b')] })).toBe('403 kv_quota_exceeded');
        const timer = { op: 'schedule', queue: 'q', timerKey: 't', txn: 't', delayMs: 600_000 };
        const timers = [{ ...timer, payload: 'MQ==' }];
        expect(await ask({ timers })).toBe('403 timers_quota_exceeded');
        expect(await ask({ kv: [put('a')] })).toBe('200 committed');
        await grant(broker, { enabled: false });
        expect(await ask({ kv: [{ op: 'get', ns: 'n', key: 'a' }] })).toBe('403 feature_gated');
        expect(await ask({})).toBe('200 committed');
        const depth = await broker.client.get(`/api/v1/resources/queues/${broker.queue}/depth`);
        expect(bodyOf(depth, 200)).toMatchObject({ pending: 2 });
      },
    },
    {
      row: 'the code is repeated',
      does: 'in `error` and `reason`, without `detail`',
      run: async ({ sameNode: broker }) => {
        await grant(broker, { enabled: false });
        const error = 'feature_gated';
        expect(await kv(broker, put('a'))).toBe(`403 ${JSON.stringify({ error, reason: error })}`);
      },
    },
  ],
};

function quotaRefused(
  row: string,
  body: unknown,
  told: Omit<ExpectedAnswer, 'status'>,
): ContractRow {
  const answer = { status: 400, ...told };
  return { row, does: JSON.stringify(body), send: `POST ${QUOTA}`, body, answer };
}

export const quotas: ContractTable = {
  section: 'state-surfaces 5.2',
  rows: [
    ...['/api/v1/system/quota', '/api/v1/system/quotas'].map(
      (path): ContractRow => ({
        row: 'aliases',
        does: path,
        send: `POST ${path}`,
        body: { kind: 'streams', maxQueries: 3 },
        answer: { status: 200, body: { success: true, kind: 'streams', maxQueries: 3 } },
      }),
    ),
    ...[{ kind: 'other' }, {}, { kind: null }, { kind: 7 }].map((body) =>
      quotaRefused('kind', body, { text: '{"error":"kind must be kv, ephemeral, or streams"}' }),
    ),
    {
      row: 'tenant',
      does: "the caller's, unless one is named",
      run: async (broker) => {
        const own = bodyOf(await broker.client.post(QUOTA, { kind: 'kv' }), 200);
        expect(own).toMatchObject({ tenant: broker.tenant });
        const tenantId = 'FFFFFFFF-0000-4000-8000-00000000000A';
        const other = bodyOf(await broker.client.post(QUOTA, { kind: 'kv', tenantId }), 200);
        expect(other).toMatchObject({ tenant: tenantId.toLowerCase() });
      },
    },
    quotaRefused('tenant', { kind: 'kv', tenant: 'x' }, { code: 'bad_request' }),
    {
      row: 'tenant',
      does: 'not the reserved one',
      send: `POST ${QUOTA}`,
      body: { kind: 'kv', tenant: RESERVED_TENANT },
      answer: { status: 403, code: 'reserved_tenant' },
    },
    {
      row: 'snake_case',
      does: 'is read as well',
      send: `POST ${QUOTA}`,
      body: { kind: 'ephemeral', max_bytes: 5, max_messages_per_second: 6, max_queues: 7 },
      answer: { status: 200, body: { maxBytes: 5, maxMessagesPerSecond: 6, maxQueues: 7 } },
    },
    {
      row: 'enabled',
      does: 'true when absent; false closes the surface',
      run: async ({ sameNode: broker }) => {
        const granted = bodyOf(await broker.client.post(QUOTA, { kind: 'kv' }), 200);
        expect(granted).toMatchObject({ enabled: true });
        await grant(broker, { enabled: false });
        expect(await kv(broker, put('a'))).toContain('403');
        await grant(broker, {});
        expect(await kv(broker, put('a'))).toBe('200');
      },
    },
    {
      row: 'enabled',
      does: 'what one node is told counts on all of them, a moment later',
      run: async (broker) => {
        await grant(broker, { enabled: false });
        for (const node of broker.eachNode) {
          const untilMs = performance.now() + 5000;
          let told = await kv(node, put('a'));
          for (; told === '200' && performance.now() < untilMs; told = await kv(node, put('a'))) {
            await sleep(50);
          }
          expect(told).toContain('403');
        }
      },
    },
    quotaRefused('enabled', { kind: 'kv', enabled: 'yes' }, { code: 'bad_request' }),
    ...[-1, 1.5, '7', true].map((maxRows) =>
      quotaRefused('negative', { kind: 'kv', maxRows }, { code: 'bad_request', error: 'maxRows' }),
    ),
    {
      row: 'absent limit',
      does: 'is none, though there was one before',
      run: async ({ sameNode: broker }) => {
        await grant(broker, { maxRows: 0 });
        expect(await kv(broker, put('a'))).toBe(`403 ${EXCEEDED}`);
        await grant(broker, { maxBytes: 1000 });
        expect(await kv(broker, put('a'))).toBe('200');
      },
    },
    {
      row: 'answer',
      does: 'in the order of the contract',
      run: async (broker) => {
        const body = { kind: 'kv', maxRows: 100_000, maxTimers: 1000, maxReadsPerSecond: null };
        const { text } = await broker.client.post(QUOTA, body);
        expect(text).toBe(
          JSON.stringify({
            success: true,
            tenant: broker.tenant,
            kind: 'kv',
            enabled: true,
            ...NO_LIMITS,
            maxRows: 100_000,
            maxTimers: 1000,
          }),
        );
      },
    },
    {
      row: 'purge',
      does: 'everything of the tenant, its grants included, and of no other',
      run: async ({ sameNode: broker }) => {
        const doomed = broker.stranger;
        const { tenant } = doomed;
        for (const each of [broker, doomed]) {
          for (const partition of ['a', 'b']) await each.api.pushIds('q', partition, ['x']);
          expect(await kv(each, put('a'))).toBe('200');
          const trace = { transactionId: 't', traceNames: ['n'] };
          bodyOf(await each.client.post('/api/v1/traces', trace), 201);
          const timer = { op: 'schedule', queue: 'q', timerKey: 't', txn: 't', delayMs: 600_000 };
          bodyOf(await each.client.post('/api/v1/timers', [{ ...timer, payload: 'MQ==' }]), 200);
          const options = { queue: 'e', options: {} };
          bodyOf(await each.client.post('/api/v1/ephemeral/configure', options), 201);
        }
        await grant(doomed, { maxRows: 1 });
        const path = `/api/v1/resources/tenant?tenant=${tenant}`;
        const { status, text } = await broker.client.send('DELETE', path, undefined);
        expect(status).toBe(200);
        expect(text).toBe(
          `{"success":true,"tenant":"${tenant}","partitionsDeleted":2,"done":true}`,
        );
        expect(await shown(doomed)).toEqual({ queues: 0, rows: 0, traces: 0, timers: 0, rings: 0 });
        expect(await shown(broker)).toEqual({ queues: 1, rows: 1, traces: 1, timers: 1, rings: 1 });
        expect(await kv(doomed, put('a'), put('b'))).toBe('200');
      },
    },
    {
      row: 'purge by body',
      does: 'of a tenant that has nothing',
      send: 'DELETE /api/v1/resources/tenant',
      body: { tenant: 'dddddddd-1111-4000-8000-000000000001' },
      answer: { status: 200, body: { success: true, partitionsDeleted: 0, done: true } },
    },
    {
      row: 'purge by body',
      does: 'a text that is no tenant',
      send: 'DELETE /api/v1/resources/tenant',
      body: { tenant: 'x' },
      answer: { status: 400, code: 'bad_request' },
    },
    {
      row: 'default tenant',
      does: 'is refused',
      send: `DELETE /api/v1/resources/tenant?tenant=${DEFAULT_TENANT}`,
      answer: {
        status: 400,
        text: '{"success":false,"error":"refusing to purge the default tenant"}',
      },
    },
  ],
};

async function shown({ client }: BrokerUnderTest): Promise<object> {
  const list = bodyOf(await client.get('/api/v1/resources/queues'), 200) as { queues: unknown[] };
  const page = await client.post('/api/v1/resources/kv/list', { namespace: 'n' });
  const { rows } = bodyOf(page, 200) as { rows: unknown[] };
  const names = bodyOf(await client.get('/api/v1/traces/names'), 200) as { total: number };
  const timers = bodyOf(await client.get('/api/v1/timers/q'), 200) as { rows: unknown[] };
  const rings = bodyOf(await client.get('/api/v1/ephemeral/queues'), 200) as { count: number };
  return {
    queues: list.queues.length,
    rows: rows.length,
    traces: names.total,
    timers: timers.rows.length,
    rings: rings.count,
  };
}

export const occupancy: ContractTable = {
  section: 'state-surfaces 5.3',
  rows: [
    {
      row: 'refused above the cap',
      does: 'rows, and bytes of values',
      run: async ({ sameNode: broker }) => {
        await grant(broker, { maxRows: 3, maxBytes: 1000 });
        expect(await kv(broker, put('a'), put('b'))).toBe('200');
        expect(await kv(broker, put('c'), put('d'))).toBe(`403 ${EXCEEDED}`);
        await grant(broker, { maxBytes: 1000 });
        expect(await kv(broker, put('c', 'x'.repeat(2000)))).toBe(`403 ${EXCEEDED}`);
      },
    },
    {
      row: 'refunds',
      does: 'calls that lose add nothing',
      run: async ({ sameNode: broker }) => {
        expect(await kv(broker, put('a'))).toBe('200');
        await grant(broker, { maxRows: 2 });
        const lose = { ...put('a'), op: 'putIfAbsent' };
        for (let i = 0; i < 5; i++) expect(await kv(broker, lose)).toBe('200');
        expect(await kv(broker, put('b'))).toBe('200');
      },
    },
    {
      row: 'nothing added',
      does: 'a call without rows and bytes passes at the cap',
      run: async ({ sameNode: broker }) => {
        expect(await kv(broker, put('a'))).toBe('200');
        await grant(broker, { maxRows: 0 });
        expect(await kv(broker, { op: 'check', ns: 'n', key: 'b', expect: 0 })).toBe('200');
        expect(await kv(broker, put('b'))).toBe(`403 ${EXCEEDED}`);
      },
    },
    {
      row: 'delete frees',
      does: 'room for the next',
      run: async ({ sameNode: broker }) => {
        await grant(broker, { maxRows: 2 });
        expect(await kv(broker, put('a'), put('b'))).toBe('200');
        expect(await kv(broker, put('c'))).toBe(`403 ${EXCEEDED}`);
        expect(await kv(broker, { op: 'delete', ns: 'n', key: 'a' })).toBe('200');
        expect(await kv(broker, put('c'))).toBe('200');
      },
    },
  ],
};

export const tokenBuckets: ContractTable = {
  section: 'state-surfaces 5.4',
  rows: [
    {
      row: 'read and write apart',
      does: 'with writes used up, reads pass',
      run: async ({ sameNode: broker }) => {
        await grant(broker, { maxWritesPerSecond: 1 });
        expect(await drained(() => kv(broker, put('a')))).toBe(`429 ${LIMITED}`);
        for (let i = 0; i < 10; i++) {
          expect(await kv(broker, { op: 'get', ns: 'n', key: 'a' })).toBe('200');
        }
      },
    },
    {
      row: 'one token per call',
      does: 'however many operations; one write makes it a write',
      run: async ({ sameNode: broker }) => {
        await grant(broker, { maxWritesPerSecond: 1, maxReadsPerSecond: 100 });
        const ops = Array.from({ length: 50 }, (_, i) => put(`k${i}`));
        expect(await kv(broker, ...ops)).toBe('200');
        expect(await kv(broker, ...ops)).toBe('200');
        const mixed = [{ op: 'get', ns: 'n', key: 'a' }, put('a')];
        expect(await drained(() => kv(broker, ...mixed))).toBe(`429 ${LIMITED}`);
      },
    },
    {
      row: 'Retry-After',
      does: 'waiting so long helps',
      run: async ({ sameNode: broker }) => {
        await grant(broker, { maxWritesPerSecond: 1 });
        expect(await drained(() => kv(broker, put('a')))).toBe(`429 ${LIMITED}`);
        // One second was told, as the ladder's own row shows.
        await new Promise((resolve) => setTimeout(resolve, 1020));
        expect(await kv(broker, put('a'))).toBe('200');
      },
    },
    {
      row: 'a grant overrides',
      does: 'the standard rate',
      run: async ({ sameNode: broker }) => {
        await grant(broker, { maxReadsPerSecond: 1 });
        const read = () => kv(broker, { op: 'get', ns: 'n', key: 'a' });
        expect(await drained(read)).toBe(`429 ${LIMITED}`);
      },
    },
  ],
};
