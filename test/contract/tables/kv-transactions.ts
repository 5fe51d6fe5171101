/** Key/value operations in a transaction (message-plane 6, state-surfaces 1). */
import { expect } from 'vitest';
import { bodyOf } from '../broker-api.js';
import { get, kv, kvOne, put } from '../kv-calls.js';
import type { ContractRow, ContractTable } from '../table.js';

const PATH = '/api/v1/transaction';

const refused = (op: object, reason: string, status = 400): ContractRow => ({
  row: 'kv_*',
  does: `${JSON.stringify(op).slice(0, 60)} is ${reason}`,
  send: `POST ${PATH}`,
  body: { kv: [op] },
  answer: { status, body: { success: false, reason, results: [] } },
});

export const kvInTransactions: ContractTable = {
  section: 'message-plane 6',
  rows: [
    {
      row: 'result kv',
      does: 'the element of a call, with its places; positions come behind',
      run: async (broker) => {
        const { client, queue } = broker;
        await broker.api.pushIds(queue, 'p', ['a']);
        const { version } = await kvOne(broker, put('old', 'é'));
        const body = {
          operations: [{ type: 'push', queue, partition: 'p', payload: 1, transactionId: 'ü' }],
          kv: [put('new', { a: 1 }), get('old'), { op: 'getMany', ns: 'n', keys: ['new', 'x'] }],
          positions: [{ queue, consumerGroup: 'g', partition: 'p', offset: 1 }],
        };
        const { text } = await client.post(PATH, body);
        const { transactionId, results } = JSON.parse(text);
        const [pushed, written, read, many] = results;
        const stamp = `"updatedAt":"${read.updatedAt}"`;
        expect(text).toBe(
          `{"transactionId":"${transactionId}","success":true,"results":[` +
            '{"index":0,"type":"push","success":true,"transactionId":"ü",' +
            `"messageId":"${pushed.messageId}","queueName":"${queue}"},` +
            '{"index":1,"opIndex":0,"type":"kv","op":"put","applied":true,"key":"new",' +
            `"value":{"a":1},"version":${written.version}},` +
            '{"index":2,"opIndex":1,"type":"kv","op":"get","found":true,"key":"old",' +
            `"value":"é","version":${version},"expiresAt":null,${stamp}},` +
            '{"index":3,"opIndex":2,"type":"kv","op":"getMany","rows":[{"key":"new",' +
            `"value":{"a":1},"version":${written.version},"expiresAt":null,` +
            `"updatedAt":"${many.rows[0].updatedAt}"}],"missing":["x"],"truncated":false},` +
            '{"index":4,"opIndex":0,"type":"position","success":true}]}',
        );
      },
    },
    {
      row: 'kv_precondition',
      does: 'nothing of the call applies',
      run: async (broker) => {
        const { client, queue } = broker;
        const { version } = await kvOne(broker, put('lock', 'mine'));
        const guard = { op: 'check', ns: 'n', key: 'lock', required: true };
        const call = (at: number) => ({
          operations: [{ type: 'push', queue, payload: 1 }],
          kv: [put('done', true), { ...guard, expect: at }],
        });
        const lost = bodyOf(await client.post(PATH, call((version ?? 0) + 1)), 200);
        expect(lost).toMatchObject({
          success: false,
          reason: 'kv_precondition',
          error: 'QKV a required KV precondition failed; the transaction rolled back',
          ok: false,
          failedIndex: 2,
          kvReason: 'version',
          version,
          value: 'mine',
          results: [],
        });
        expect(await kv(broker, get('done'))).toMatchObject([{ found: false }]);
        expect(await broker.api.popQueue(queue)).toBeNull();
        const won = bodyOf(await client.post(PATH, call(version ?? 0)), 200);
        expect(won).toMatchObject({ success: true });
        expect(await kv(broker, get('done'))).toMatchObject([{ found: true, value: true }]);
      },
    },
    {
      row: 'kv_precondition',
      does: 'without required it is told, and the rest applies',
      run: async (broker) => {
        const body = { kv: [put('a', 1, { expect: 4 }), put('b', 2)] };
        expect(bodyOf(await broker.client.post(PATH, body), 200)).toMatchObject({
          success: true,
          results: [
            { index: 0, opIndex: 0, type: 'kv', applied: false, reason: 'absent', value: null },
            { index: 1, opIndex: 1, type: 'kv', applied: true, value: 2 },
          ],
        });
      },
    },
    refused({ op: 'x' }, 'kv_unknown_op'),
    refused(get(''), 'kv_bad_key'),
    refused({ op: 'get', ns: 'N', key: 'k' }, 'kv_bad_namespace'),
    refused({ ...get('k'), tenant: 'x' }, 'kv_tenant_not_an_input'),
    refused({ op: 'put', ns: 'n', key: 'k', value: 1 }, 'kv_expiry_not_specified'),
    refused(put('k', 1, { forever: false, ttlSeconds: 0 }), 'kv_bad_ttl'),
    refused(put('k', 1, { expect: -1 }), 'kv_bad_expect'),
    refused(get('k'.repeat(513)), 'kv_key_too_large', 413),
    refused(put('k', 'x'.repeat(65_536)), 'kv_value_too_large', 413),
    {
      row: 'kv_*',
      does: 'a key that is written twice',
      send: `POST ${PATH}`,
      body: { kv: [put('k', 1), put('k', 2)] },
      answer: { status: 400, body: { success: false, reason: 'kv_duplicate_key_in_call' } },
    },
  ],
};
