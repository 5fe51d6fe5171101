/** POST /api/v1/locks: its answers and how they come about (state-surfaces 2.3, 2.4). */
import { expect } from 'vitest';
import { bodyOf } from '../broker-api.js';
import { acquire, release, renewal, runLock } from '../lock-calls.js';
import type { ContractTable } from '../table.js';

const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

export const lockAnswers: ContractTable = {
  section: 'state-surfaces 2.3',
  rows: [
    {
      row: 'acquired',
      does: 'with slot, token, owner and guard',
      run: async (broker) => {
        const result = await runLock(broker, acquire('gpu'));
        expect(Object.keys(result)).toEqual([
          'index',
          'op',
          'name',
          'acquired',
          'slot',
          'token',
          'owner',
          'guard',
        ]);
        expect(result).toMatchObject({ op: 'acquire', name: 'gpu', acquired: true, slot: 0 });
        expect(result.token).toBeGreaterThan(0);
      },
    },
    {
      row: 'held',
      does: 'with the holders',
      run: async (broker) => {
        await runLock(broker, acquire('job', 'w-9'));
        expect(await runLock(broker, acquire('job'))).toEqual({
          index: 0,
          op: 'acquire',
          name: 'job',
          acquired: false,
          reason: 'held',
          holders: [{ slot: 0, owner: 'w-9' }],
        });
      },
    },
    {
      row: 'renewed',
      does: 'under a new token',
      run: async (broker) => {
        const { token } = await runLock(broker, acquire('l'));
        const renewed = await runLock(broker, { ...renewal, token });
        expect(renewed.token).toBeGreaterThan(token);
        expect(renewed).toEqual({
          index: 0,
          op: 'renew',
          name: 'l',
          renewed: true,
          slot: 0,
          token: renewed.token,
          guard: {
            op: 'check',
            ns: 'svc-locks',
            key: 'l#0',
            expect: renewed.token,
            required: true,
          },
        });
      },
    },
    {
      row: 'renew lost',
      does: 'nobody holds it',
      run: async (broker) => {
        expect(await runLock(broker, renewal)).toEqual({
          index: 0,
          op: 'renew',
          name: 'l',
          renewed: false,
          reason: 'lost',
          slot: 0,
          holders: [],
        });
      },
    },
    {
      row: 'released',
      does: 'and free at once',
      run: async (broker) => {
        const { token } = await runLock(broker, acquire('l'));
        expect(await runLock(broker, { ...release, token })).toMatchObject({ released: true });
        expect(await runLock(broker, acquire('l', 'w-2'))).toMatchObject({ acquired: true });
      },
    },
    {
      row: 'release lost',
      does: 'another holds it',
      run: async (broker) => {
        await runLock(broker, acquire('l', null));
        expect(await runLock(broker, { ...release, token: 999_999_999 })).toEqual({
          index: 0,
          op: 'release',
          name: 'l',
          released: false,
          reason: 'lost',
          slot: 0,
          holders: [{ slot: 0, owner: null }],
        });
      },
    },
    {
      row: 'get',
      does: 'all permits in full, by slot',
      run: async (broker) => {
        for (const owner of ['a', 'b', 'c'])
          await runLock(broker, acquire('s', owner, { limit: 3 }));
        const result = await runLock(broker, { op: 'get', name: 's' });
        const holders = result.holders as readonly Record<string, string>[];
        expect(result.held).toBe(true);
        expect(holders.map(({ slot }) => slot)).toEqual([0, 1, 2]);
        for (const holder of holders) {
          expect(Object.keys(holder)).toEqual([
            'slot',
            'owner',
            'token',
            'since',
            'expiresAt',
            'renewedAt',
          ]);
          for (const name of ['since', 'expiresAt', 'renewedAt']) {
            expect(holder[name]).toMatch(STAMP);
          }
        }
      },
    },
    {
      row: 'already',
      does: 'the same permit, and no longer lifetime',
      run: async (broker) => {
        const first = await runLock(broker, acquire('l'));
        const before = await runLock(broker, { op: 'get', name: 'l' });
        const again = await runLock(broker, acquire('l', 'w-1', { ttlSeconds: 9999 }));
        expect(again).toEqual({ ...first, already: true });
        expect(await runLock(broker, { op: 'get', name: 'l' })).toEqual(before);
      },
    },
    {
      row: 'token',
      does: 'the earlier one stops working',
      run: async (broker) => {
        const { token } = await runLock(broker, acquire('l'));
        await runLock(broker, { ...renewal, token });
        expect(await runLock(broker, { ...release, token })).toMatchObject({
          released: false,
          holders: [{ slot: 0, owner: 'w-1' }],
        });
      },
    },
    {
      row: 'guard',
      does: 'a transaction commits under it, and not after a renewal',
      run: async (broker) => {
        const { guard, token } = await runLock(broker, acquire('l'));
        const push = { type: 'push', items: [{ queue: broker.queue, payload: 1 }] };
        const body = { operations: [push], kv: [guard] };
        expect(bodyOf(await broker.client.post('/api/v1/transaction', body), 200)).toMatchObject({
          success: true,
        });
        await runLock(broker, { ...renewal, token });
        const late = await broker.client.post('/api/v1/transaction', body);
        expect(JSON.parse(late.text)).toMatchObject({ success: false, reason: 'kv_precondition' });
      },
    },
    {
      row: 'holders',
      does: 'on a refusal: slots below the limit, with owners',
      run: async (broker) => {
        await runLock(broker, acquire('s', 'a', { limit: 1 }));
        await runLock(broker, acquire('s', null, { limit: 2 }));
        expect(await runLock(broker, acquire('s', 'c', { limit: 2 }))).toMatchObject({
          reason: 'held',
          holders: [
            { slot: 0, owner: 'a' },
            { slot: 1, owner: null },
          ],
        });
      },
    },
    {
      row: 'since',
      does: 'is not touched by renewals',
      run: async (broker) => {
        const { token } = await runLock(broker, acquire('l'));
        const since = async () => {
          const { holders } = await runLock(broker, { op: 'get', name: 'l' });
          return (holders as { since: string; renewedAt: string }[])[0];
        };
        const before = await since();
        const second = await runLock(broker, { ...renewal, token });
        await runLock(broker, { ...renewal, token: second.token });
        const after = await since();
        expect(before?.renewedAt).toBe(before?.since);
        expect(after?.since).toBe(before?.since);
        expect(after?.renewedAt).not.toBe(before?.renewedAt);
      },
    },
  ],
};

export const lockAlgorithms: ContractTable = {
  section: 'state-surfaces 2.4',
  rows: [
    {
      row: 'acquire, limit 1',
      does: 'of ten that come at once one gets it',
      run: async (broker) => {
        const owners = Array.from({ length: 10 }, (_, i) => `w-${i}`);
        const results = await Promise.all(
          owners.map((owner) => runLock(broker, acquire('l', owner))),
        );
        expect(results.filter(({ acquired }) => acquired)).toHaveLength(1);
      },
    },
    {
      row: 'acquire, limit > 1',
      does: 'of ten that come at once none shares a permit, and none is left when they ask again',
      run: async (broker) => {
        const owners = Array.from({ length: 10 }, (_, i) => `w-${i}`);
        const ask = () =>
          Promise.all(owners.map((owner) => runLock(broker, acquire('s', owner, { limit: 5 }))));
        await ask();
        const results = await ask();
        const granted = results.filter(({ acquired }) => acquired);
        expect(new Set(granted.map(({ slot }) => slot)).size).toBe(granted.length);
        expect(granted).toHaveLength(5);
      },
    },
    {
      row: 'renew',
      does: 'by the owner, with a token that was lost',
      run: async (broker) => {
        await runLock(broker, acquire('l'));
        const op = { ...renewal, token: 999_999_999 };
        expect(await runLock(broker, { ...op, owner: 'w-1' })).toMatchObject({ renewed: true });
        expect(await runLock(broker, { ...op, owner: 'w-2' })).toMatchObject({
          renewed: false,
          holders: [{ slot: 0, owner: 'w-1' }],
        });
      },
    },
    {
      row: 'release',
      does: 'the owner is not asked',
      run: async (broker) => {
        const { token } = await runLock(broker, acquire('l', 'w-1'));
        expect(await runLock(broker, { ...release, token, owner: 'w-2' })).toMatchObject({
          released: true,
        });
      },
    },
    {
      row: 'without owner',
      does: 'a repetition is answered held, and lost',
      run: async (broker) => {
        const { token } = await runLock(broker, acquire('l', null));
        expect(await runLock(broker, acquire('l', null))).toMatchObject({ reason: 'held' });
        await runLock(broker, { ...release, token });
        expect(await runLock(broker, { ...release, token })).toMatchObject({ reason: 'lost' });
      },
    },
  ],
};
