/** POST /api/v1/locks: the model and its requests (state-surfaces 2.1, 2.2). */
import { expect } from 'vitest';
import { bodyOf } from '../broker-api.js';
import { acquire, LOCKS, release, renewal, runLock, runLocks } from '../lock-calls.js';
import type { ContractRow, ContractTable } from '../table.js';

function refused(reason: string, ops: unknown, detail?: string, row = reason): ContractRow {
  const text = JSON.stringify(ops);
  return {
    row,
    does: text.length > 120 ? `${text.slice(0, 120)}...` : text,
    send: `POST ${LOCKS}`,
    body: ops,
    answer: {
      status: 400,
      body: { error: 'locks_bad_request', reason, ...(detail === undefined ? {} : { detail }) },
    },
  };
}

/** The same one operation with each of these members. */
function refusedEach(reason: string, base: object, changes: readonly object[]): ContractRow[] {
  return changes.map((change) => refused(reason, [{ ...base, ...change }]));
}

const gets = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ op: 'get', name: `g${i}` }));

export const lockModel: ContractTable = {
  section: 'state-surfaces 2.1',
  rows: [
    {
      row: 'a permit is one KV row',
      does: 'in svc-locks under name#slot; deleted there, it is free',
      run: async (broker) => {
        const { token } = await runLock(broker, acquire('l', 'w-1', { limit: 1 }));
        const path = '/api/v1/kv/svc-locks/l%230';
        const row = bodyOf(await broker.client.get(path), 200) as Record<string, unknown>;
        expect(row).toMatchObject({ found: true, key: 'l#0', value: { owner: 'w-1' } });
        expect(row.version).toBe(token);
        bodyOf(await broker.client.send('DELETE', path, undefined), 200);
        expect(await runLock(broker, acquire('l', 'w-2'))).toMatchObject({ acquired: true });
      },
    },
    {
      row: 'size is not stored',
      does: 'each acquire states how many permits there are for it',
      run: async (broker) => {
        await runLock(broker, acquire('s', 'a', { limit: 1 }));
        expect(await runLock(broker, acquire('s', 'b', { limit: 2 }))).toMatchObject({ slot: 1 });
        const third = await runLock(broker, acquire('s', 'c', { limit: 1 }));
        expect(third).toMatchObject({ reason: 'held', holders: [{ slot: 0, owner: 'a' }] });
        expect(await runLock(broker, acquire('s', 'd', { limit: 2 }))).toMatchObject({
          holders: [
            { slot: 0, owner: 'a' },
            { slot: 1, owner: 'b' },
          ],
        });
      },
    },
    {
      row: 'no waiting',
      does: 'a held lock is answered at once',
      run: async (broker) => {
        await runLock(broker, acquire('l'));
        expect(await runLock(broker, acquire('l', 'w-2'))).toMatchObject({ reason: 'held' });
      },
    },
    {
      row: 'independent operations',
      does: 'one that is refused takes nothing from the others',
      run: async (broker) => {
        await runLock(broker, acquire('a', 'x'));
        const results = await runLocks(broker, acquire('a'), acquire('b'), {
          ...release,
          name: 'c',
        });
        expect(results).toMatchObject([
          { acquired: false },
          { acquired: true },
          { released: false },
        ]);
      },
    },
  ],
};

export const lockRequests: ContractTable = {
  section: 'state-surfaces 2.2',
  rows: [
    {
      row: 'body',
      does: 'an array, or {"operations":[...]}',
      run: async (broker) => {
        const body = { operations: [{ op: 'get', name: 'l' }], other: 1 };
        expect(bodyOf(await broker.client.post(LOCKS, body), 200)).toEqual({
          results: [{ index: 0, op: 'get', name: 'l', held: false, holders: [] }],
        });
      },
    },
    {
      row: 'acquire',
      does: 'needs name and ttlSeconds only',
      run: async (broker) => {
        expect(
          await runLock(broker, {
            op: 'acquire',
            name: 'l',
            ttlSeconds: 1,
            owner: null,
            limit: null,
          }),
        ).toMatchObject({ acquired: true, slot: 0, owner: null });
      },
    },
    {
      row: 'renew',
      does: 'slot 0 and no owner unless they are named',
      run: async (broker) => {
        const { token } = await runLock(broker, acquire('l'));
        expect(await runLock(broker, { ...renewal, token, slot: null })).toMatchObject({ slot: 0 });
      },
    },
    {
      row: 'release',
      does: 'of another slot',
      run: async (broker) => {
        await runLock(broker, acquire('l', 'a', { limit: 1 }));
        const { token, slot } = await runLock(broker, acquire('l', 'b', { limit: 2 }));
        expect(slot).toBe(1);
        expect(await runLock(broker, { ...release, token, slot })).toEqual({
          index: 0,
          op: 'release',
          name: 'l',
          released: true,
          slot: 1,
        });
      },
    },
    {
      row: 'get',
      does: 'with members that others read',
      run: async (broker) => {
        const op = { op: 'get', name: 'l', ttlSeconds: 'x', token: -1, forever: true };
        expect(await runLock(broker, op)).toMatchObject({ held: false });
      },
    },
    {
      row: 'name',
      does: 'of 256 bytes, of any letters',
      run: async (broker) => {
        const names = ['n'.repeat(256), 'ü'.repeat(128), 'a/b c.d:e'];
        const results = await runLocks(broker, ...names.map((name) => acquire(name)));
        expect(results.map(({ acquired }) => acquired)).toEqual([true, true, true]);
      },
    },
    {
      row: 'owner',
      does: 'of 256 bytes',
      run: async (broker) => {
        const owner = 'o'.repeat(256);
        expect(await runLock(broker, acquire('l', owner))).toMatchObject({ acquired: true, owner });
        expect(await runLock(broker, acquire('l', owner))).toMatchObject({ already: true });
      },
    },
    {
      row: 'slot',
      does: '1023 is one that nobody holds',
      run: async (broker) => {
        expect(await runLock(broker, { ...release, slot: 1023 })).toMatchObject({
          released: false,
          slot: 1023,
        });
      },
    },
    {
      row: 'limit',
      does: '1024',
      run: async (broker) => {
        const result = await runLock(broker, acquire('l', 'w', { limit: 1024 }));
        expect(result.acquired).toBe(true);
        expect(result.slot).toBeLessThan(1024);
      },
    },
    refused(
      'locks_bad_ttl',
      '[{"op":"acquire","name":"l","ttlSeconds":30.0}]',
      undefined,
      'integers',
    ),
    refused('locks_bad_token', '[{"op":"release","name":"l","token":3e1}]', undefined, 'integers'),
    refused('locks_bad_body', 'nonsense'),
    refused('locks_bad_body', ''),
    ...['7', '"x"', 'null', '{}', '{"operations":7}', '{"operations":{}}'].map((body) =>
      refused(
        'locks_bad_body',
        body,
        'body must be an array of operations, or {"operations":[...]}',
      ),
    ),
    refused('locks_bad_request', [{ op: 'get', name: 'l' }, 7], 'op at index 1 is not an object'),
    refused('locks_bad_request', [null]),
    ...refusedEach('locks_unknown_op', { name: 'l' }, [
      {},
      { op: 'Acquire' },
      { op: null },
      { op: 1 },
    ]),
    ...refusedEach('locks_tenant_not_an_input', { op: 'get', name: 'l' }, [
      { tenant: 'x' },
      { tenantId: null },
      { _tenant: 1 },
    ]),
    ...refusedEach('locks_bad_name', { op: 'get' }, [
      {},
      { name: '' },
      { name: null },
      { name: 7 },
      { name: 'a#b' },
      { name: 'a\nb' },
      { name: 'a\u0000' },
      { name: 'a\u0085' },
      { name: 'n'.repeat(257) },
    ]),
    ...refusedEach('locks_bad_owner', { op: 'acquire', name: 'l', ttlSeconds: 5 }, [
      { owner: '' },
      { owner: 7 },
      { owner: 'a\tb' },
      { owner: 'a\u009f' },
      { owner: 'o'.repeat(257) },
    ]),
    ...refusedEach('locks_bad_slot', release, [
      { slot: -1 },
      { slot: 1024 },
      { slot: '0' },
      { slot: 1.5 },
    ]),
    ...refusedEach('locks_bad_limit', acquire('l'), [
      { limit: 0 },
      { limit: 1025 },
      { limit: '1' },
    ]),
    ...refusedEach('locks_bad_token', renewal, [
      { token: 0 },
      { token: -1 },
      { token: null },
      { token: '1' },
      { token: 2 ** 60 },
    ]),
    ...refusedEach('locks_ttl_required', { op: 'acquire', name: 'l' }, [
      {},
      { forever: true },
      { forever: false, ttlSeconds: 5 },
    ]),
    ...refusedEach('locks_bad_ttl', { op: 'acquire', name: 'l' }, [
      { ttlSeconds: 0 },
      { ttlSeconds: -1 },
      { ttlSeconds: null },
      { ttlSeconds: '5' },
    ]),
    refused('locks_token_required', [{ op: 'renew', name: 'l', ttlSeconds: 5 }]),
    refused('locks_token_required', [{ op: 'release', name: 'l' }]),
    refused('locks_too_many_ops', gets(65), '65 operations in one call, the ceiling is 64'),
    {
      row: 'locks_too_many_ops',
      does: '64 releases are not',
      run: async (broker) => {
        const ops = Array.from({ length: 64 }, (_, i) => ({ ...release, name: `r${i}` }));
        expect(await runLocks(broker, ...ops)).toHaveLength(64);
      },
    },
    refused('locks_duplicate_in_call', [{ op: 'get', name: 'l' }, release]),
    refused('locks_too_many_keys', gets(5)),
    refused('locks_too_many_keys', [
      ...gets(3),
      acquire('a', 'w', { limit: 1024 }),
      acquire('b', 'w', { limit: 73 }),
    ]),
    {
      row: 'locks_too_many_keys',
      does: '4,096 are not',
      run: async (broker) => {
        const ops = [
          ...gets(3),
          acquire('a', 'w', { limit: 1024 }),
          acquire('b', 'w', { limit: 72 }),
        ];
        expect(await runLocks(broker, ...ops)).toHaveLength(5);
      },
    },
    {
      row: 'ladder as KV',
      does: 'one token for a call; only `get`s are reads',
      run: async ({ sameNode: broker }) => {
        const limits = { kind: 'kv', maxWritesPerSecond: 1, maxReadsPerSecond: 1 };
        bodyOf(await broker.client.post('/api/v1/resources/quota', limits), 200);
        // Refused in the end, each by itself: a call costs one token, however many it holds.
        const refusedAt = async (ops: readonly object[]) => {
          for (let calls = 0; calls < 200; calls++) {
            const answer = await broker.client.post(LOCKS, ops);
            if (answer.status !== 200) return { answer, calls };
          }
          throw new Error('never refused');
        };
        for (const ops of [[acquire('a'), ...gets(2)], gets(2)]) {
          const { answer, calls } = await refusedAt(ops);
          expect(calls).toBeGreaterThanOrEqual(2);
          expect(answer.status).toBe(429);
          expect(answer.text).toBe('{"error":"rate_limited","reason":"rate_limited"}');
          expect(answer.headers['retry-after']).toBe('1');
        }
      },
    },
    {
      row: 'occupancy',
      does: 'a row for each acquire, given back by those that added none',
      run: async ({ sameNode: broker }) => {
        bodyOf(
          await broker.client.post('/api/v1/resources/quota', { kind: 'kv', maxRows: 2 }),
          200,
        );
        for (let i = 0; i < 4; i++) await runLock(broker, acquire('a'));
        for (let i = 0; i < 4; i++) await runLock(broker, acquire('a', 'w-2'));
        const { token } = await runLock(broker, acquire('b'));
        const answer = await broker.client.post(LOCKS, [acquire('c')]);
        expect(answer.status).toBe(403);
        expect(answer.text).toBe('{"error":"kv_quota_exceeded","reason":"kv_quota_exceeded"}');
        // What adds nothing passes.
        expect(await runLock(broker, { ...renewal, name: 'b', token })).toMatchObject({
          renewed: true,
        });
      },
    },
    {
      row: 'empty list',
      does: 'is answered',
      send: `POST ${LOCKS}`,
      body: [],
      answer: { status: 200, text: '{"results":[]}' },
    },
    {
      row: 'empty list',
      does: 'as a member too',
      send: `POST ${LOCKS}`,
      body: { operations: [] },
      answer: { status: 200, text: '{"results":[]}' },
    },
  ],
};
