/** Routes, fields and answers of the key/value store (state-surfaces 0, 1.1, 1.2, 1.6, 1.8). */
import type { Answer } from '@svc/http/api';
import { expect } from 'vitest';
import { sleep } from '../../process/node-under-test.js';
import { bodyOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { get, KV, kv, kvOne, put } from '../kv-calls.js';
import type { ContractRow, ContractTable } from '../table.js';

type KvListAnswer = Answer<'POST /api/v1/resources/kv/list'>;
type KvNamespacesAnswer = Answer<'GET /api/v1/resources/kv/namespaces'>;

const SHORT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,5}[1-9])?\+00:00$/;
const LONG = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const shortStamp: unknown = expect.stringMatching(SHORT);
const longStamp: unknown = expect.stringMatching(LONG);

async function list(broker: BrokerUnderTest, body: object): Promise<KvListAnswer> {
  const answer = await broker.client.post('/api/v1/resources/kv/list', body);
  return bodyOf(answer, 200) as KvListAnswer;
}

const inPath = (field: string): ContractRow => ({
  row: 'kv_field_in_path',
  does: `${field} in the body`,
  send: `PUT ${KV}/n/k`,
  body: { value: 1, forever: true, [field]: 'x' },
  answer: { status: 400, body: { error: 'kv_bad_request', reason: 'kv_field_in_path' } },
});

const badBody = (body: string): ContractRow => ({
  row: 'kv_bad_body',
  does: `${JSON.stringify(body)} is refused`,
  send: `POST ${KV}`,
  body,
  answer: { status: 400, body: { error: 'kv_bad_request', reason: 'kv_bad_body' } },
});

export const kvCommon: ContractTable = {
  section: 'state-surfaces 0.1',
  rows: [
    {
      row: 'a business verdict is 200',
      does: 'an absent key, a lost race',
      send: `POST ${KV}`,
      body: [get('a'), put('a', 1, { expect: 7 })],
      answer: {
        status: 200,
        text:
          '{"results":[{"index":0,"op":"get","found":false,"key":"a"},{"index":1,"op":"put",' +
          '"applied":false,"reason":"absent","key":"a","value":null,"version":0}]}',
      },
    },
  ],
};

export const kvEnvelopes: ContractTable = {
  section: 'state-surfaces 0.2',
  rows: [
    {
      row: 'envelope of KV, locks, timers',
      does: 'error, reason, detail',
      send: `POST ${KV}`,
      body: [get('')],
      answer: {
        status: 400,
        text:
          '{"error":"kv_bad_request","reason":"kv_bad_key",' +
          '"detail":"the key must be non-empty"}',
      },
    },
    {
      row: 'bad_body',
      does: 'KV has an envelope of its own',
      send: `POST ${KV}`,
      body: '[',
      answer: { status: 400, body: { error: 'kv_bad_request', reason: 'kv_bad_body' } },
    },
    {
      row: 'reserved_tenant',
      does: 'no route acts on it',
      send: `POST ${KV}`,
      headers: { 'x-svc-tenant': '00000000-0000-0000-0000-00000000fffe' },
      body: [get('k')],
      answer: { status: 403, code: 'reserved_tenant' },
    },
  ],
};

export const kvRouting: ContractTable = {
  section: 'state-surfaces 0.3',
  rows: [
    {
      row: 'any node',
      does: 'writes and reads at each in turn',
      run: async (broker) => {
        for (let i = 1; i <= 3; i++) {
          await kv(broker, put('k', i));
          expect(await kvOne(broker, get('k'))).toMatchObject({ value: i });
        }
      },
    },
    {
      row: 'reads are linearizable',
      does: 'what one node has answered, the next one shows: a get, a list, the namespaces',
      run: async (broker) => {
        const path = '/api/v1/resources/kv/namespaces';
        for (let i = 1; i <= 5; i++) {
          const { version } = await kvOne(broker, put(`k${i}`, i));
          expect(await kvOne(broker, get(`k${i}`))).toMatchObject({ version });
          expect((await list(broker, { namespace: 'n' })).rows).toHaveLength(i);
          const { namespaces } = bodyOf(await broker.client.get(path), 200) as KvNamespacesAnswer;
          expect(namespaces).toEqual([{ namespace: 'n', keys: i }]);
        }
      },
    },
    {
      row: 'time of a write',
      does: 'one stamp for all of a call',
      run: async (broker) => {
        await kv(broker, put('a', 1), put('b', 1));
        const [a, b] = await kv(broker, get('a'), get('b'));
        expect(a?.updatedAt).toBe(b?.updatedAt);
      },
    },
  ],
};

export const kvStamps: ContractTable = {
  section: 'state-surfaces 0.5',
  rows: [
    {
      row: 'kv results and path GET',
      does: 'offset, and no zeros at the end of a fraction',
      run: async (broker) => {
        await kv(broker, put('k', 1, { forever: false, ttlSeconds: 3600 }));
        const stamps = { expiresAt: shortStamp, updatedAt: shortStamp };
        expect(await kvOne(broker, get('k'))).toMatchObject(stamps);
        const answer = await broker.client.get(`${KV}/n/k`);
        expect(bodyOf(answer, 200)).toMatchObject(stamps);
      },
    },
    {
      row: 'kv/list rows',
      does: 'six digits and Z',
      run: async (broker) => {
        await kv(broker, put('k', 1, { forever: false, ttlSeconds: 3600 }));
        const { rows } = await list(broker, { namespace: 'n' });
        expect(rows).toMatchObject([{ expiresAt: longStamp, updatedAt: longStamp }]);
      },
    },
  ],
};

export const kvRoutes: ContractTable = {
  section: 'state-surfaces 1.1',
  rows: [
    {
      row: 'POST /api/v1/kv',
      does: 'an array, or an object that holds it',
      run: async ({ client }) => {
        const array = bodyOf(await client.post(KV, [get('k')]), 200);
        expect(bodyOf(await client.post(KV, { operations: [get('k')], x: 1 }), 200)).toEqual(array);
      },
    },
    {
      row: 'GET path',
      does: 'the element, and the version as an entity tag',
      run: async (broker) => {
        const { version } = await kvOne(broker, put('k', { s: 1 }));
        const answer = await broker.client.get(`${KV}/n/k`);
        expect(answer.headers.etag).toBe(`"${version}"`);
        expect(bodyOf(answer, 200)).toEqual({
          index: 0,
          op: 'get',
          found: true,
          key: 'k',
          value: { s: 1 },
          version,
          expiresAt: null,
          updatedAt: shortStamp,
        });
      },
    },
    {
      row: 'PUT path',
      does: 'writes, and may be required to',
      run: async ({ client }) => {
        const send = async (body: object) =>
          bodyOf(await client.send('PUT', `${KV}/n/k`, JSON.stringify(body)), 200);
        expect(await send({ value: 1, ttlSeconds: 60 })).toMatchObject({
          op: 'put',
          applied: true,
        });
        expect(await send({ value: 2, forever: true, expect: 0 })).toMatchObject({
          applied: false,
          reason: 'exists',
        });
        const lost = await send({ value: 2, forever: true, expect: 0, required: true });
        expect(lost).toMatchObject({ ok: false, reason: 'kv_precondition', value: 1 });
      },
    },
    ...[undefined, '', 'null', '{}', '{"expect":null}'].slice(0, 4).map(
      (body): ContractRow => ({
        row: 'DELETE path',
        does: `with ${body === undefined ? 'no body' : JSON.stringify(body)}`,
        run: async (broker) => {
          await kv(broker, put('k', 'old'));
          const answer = await broker.client.send('DELETE', `${KV}/n/k`, body);
          expect(bodyOf(answer, 200)).toMatchObject({ op: 'delete', applied: true, value: 'old' });
        },
      }),
    ),
    {
      row: 'DELETE path',
      does: 'with an expectation that loses',
      send: `DELETE ${KV}/n/k`,
      body: { expect: 4 },
      answer: { status: 200, body: { applied: false, reason: 'absent', value: null, version: 0 } },
    },
    {
      row: 'key is a catch-all',
      does: 'slashes, plain and escaped, and other escapes',
      run: async (broker) => {
        await kv(broker, put('a/b c/é', 1));
        for (const path of ['a/b%20c/%C3%A9', 'a%2Fb%20c%2F%C3%A9']) {
          const answer = await broker.client.get(`${KV}/n/${path}`);
          expect(bodyOf(answer, 200)).toMatchObject({ found: true, key: 'a/b c/é' });
        }
      },
    },
    ...['GET', 'PUT', 'DELETE'].map(
      (method): ContractRow => ({
        row: 'kv_no_query_string',
        does: method,
        send: `${method} ${KV}/n/k?x=1`,
        ...(method === 'PUT' ? { body: { value: 1, forever: true } } : {}),
        answer: { status: 400, body: { error: 'kv_bad_request', reason: 'kv_no_query_string' } },
      }),
    ),
    ...['op', 'ns', 'namespace', 'key'].map(inPath),
    {
      row: 'others dropped',
      does: 'a tenant or a delta means nothing there',
      send: `PUT ${KV}/n/k`,
      body: { value: 1, forever: true, tenant: 'x', delta: 'y' },
      answer: { status: 200, body: { applied: true } },
    },
    {
      row: 'a missing key',
      does: 'is found:false',
      send: `GET ${KV}/n/none`,
      answer: { status: 200, text: '{"index":0,"op":"get","found":false,"key":"none"}' },
    },
    ...['', 'nonsense', '7', 'null', '{}', '{"operations":{}}', '[{"op":"get"]', '[] x'].map(
      badBody,
    ),
    {
      row: 'kv_bad_body',
      does: 'the text for another shape',
      send: `POST ${KV}`,
      body: '"x"',
      answer: {
        status: 400,
        body: { detail: 'body must be an array of operations, or {"operations":[...]}' },
      },
    },
    ...['[]', '{"operations":[]}'].map(
      (body): ContractRow => ({
        row: 'empty list',
        does: body,
        send: `POST ${KV}`,
        body,
        answer: { status: 200, text: '{"results":[]}' },
      }),
    ),
  ],
};

export const kvFields: ContractTable = {
  section: 'state-surfaces 1.2',
  rows: [
    {
      row: 'get',
      does: 'reads one row',
      run: async (broker) => {
        await kv(broker, put('k', [1]));
        expect(await kvOne(broker, get('k'))).toMatchObject({ found: true, value: [1] });
      },
    },
    {
      row: 'getMany',
      does: 'without keys nothing is asked, not even of the namespace',
      send: `POST ${KV}`,
      body: [
        { op: 'getMany', ns: 'NOT ONE' },
        { op: 'getMany', keys: null },
      ],
      answer: {
        status: 200,
        body: { results: [{ rows: [], missing: [], truncated: false }, { rows: [] }] },
      },
    },
    {
      row: 'getPrefix',
      does: 'after, limit, keysOnly',
      run: async (broker) => {
        await kv(broker, put('p1', 1), put('p2', 2), put('p3', 3), put('q', 4));
        const page = { op: 'getPrefix', ns: 'n', prefix: 'p' };
        const keys = async (more: object) =>
          (await kvOne(broker, { ...page, ...more })).rows?.map(({ key }) => key);
        expect(await keys({})).toEqual(['p1', 'p2', 'p3']);
        expect(await keys({ after: 'p1' })).toEqual(['p2', 'p3']);
        expect(await keys({ after: '', limit: 2 })).toEqual(['p1', 'p2']);
        expect(await keys({ limit: -4 })).toEqual(['p1']);
        const [bare] = (await kvOne(broker, { ...page, keysOnly: true })).rows ?? [];
        expect(bare).not.toHaveProperty('value');
      },
    },
    {
      row: 'put',
      does: 'a value of any kind',
      run: async (broker) => {
        for (const value of [null, false, 0, '', [], {}, 'grüße ✓']) {
          expect(await kvOne(broker, put('k', value))).toMatchObject({ applied: true, value });
          expect(await kvOne(broker, get('k'))).toMatchObject({ found: true, value });
        }
      },
    },
    {
      row: 'putIfAbsent',
      does: 'with expect 0 too',
      run: async (broker) => {
        const op = put('k', 1, { op: 'putIfAbsent', expect: 0 });
        expect(await kvOne(broker, op)).toMatchObject({ op: 'putIfAbsent', applied: true });
      },
    },
    {
      row: 'delete',
      does: 'an expiry means nothing',
      send: `POST ${KV}`,
      body: [{ op: 'delete', ns: 'n', key: 'k', ttlSeconds: 'x', forever: 7 }],
      answer: { status: 200, body: { results: [{ applied: false, reason: 'absent' }] } },
    },
    {
      row: 'incr',
      does: 'with bounds',
      send: `POST ${KV}`,
      body: [{ op: 'incr', ns: 'n', key: 'k', delta: 2, min: 0, max: 5, ttlSeconds: 60 }],
      answer: { status: 200, body: { results: [{ op: 'incr', applied: true, value: 2 }] } },
    },
    {
      row: 'check',
      does: 'writes nothing and needs no expiry',
      run: async (broker) => {
        const check = { op: 'check', ns: 'n', key: 'k', expect: 0 };
        expect(await kvOne(broker, check)).toMatchObject({ applied: true, version: 0 });
        expect(await kvOne(broker, get('k'))).toMatchObject({ found: false });
      },
    },
    {
      row: 'read as text',
      does: 'a number and a boolean by their literals',
      run: async (broker) => {
        await kv(broker, { op: 'put', ns: 7, key: 7, value: 'seven', forever: true });
        await kv(broker, { op: 'put', ns: true, key: false, value: 'no', forever: true });
        expect(await kvOne(broker, { op: 'get', ns: '7', key: '7' })).toMatchObject({ key: '7' });
        const many = { op: 'getMany', ns: 'true', keys: [false] };
        expect(await kvOne(broker, many)).toMatchObject({ rows: [{ key: 'false' }] });
      },
    },
    ...['ttlSeconds', 'expect', 'required'].map(
      (name): ContractRow => ({
        row: 'null is not absent',
        does: name,
        send: `POST ${KV}`,
        body: [put('k', 1, { [name]: null })],
        answer: { status: 400 },
      }),
    ),
    ...['min', 'max', 'delta'].map(
      (name): ContractRow => ({
        row: 'null is not absent',
        does: name,
        send: `POST ${KV}`,
        body: [{ op: 'incr', ns: 'n', key: 'k', delta: 1, forever: true, [name]: null }],
        answer: { status: 400 },
      }),
    ),
    {
      row: 'null is absent',
      does: 'limit, keysOnly, after',
      send: `POST ${KV}`,
      body: [{ op: 'getPrefix', ns: 'n', prefix: 'p', limit: null, keysOnly: null, after: null }],
      answer: { status: 200, body: { results: [{ rows: [], nextAfter: null }] } },
    },
    {
      row: 'integers spelled otherwise',
      does: '30.0 and 3e1',
      send: `POST ${KV}`,
      body:
        '[{"op":"put","ns":"n","key":"a","value":1,"ttlSeconds":30.0,"expect":0e0},' +
        '{"op":"put","ns":"n","key":"b","value":1,"ttlSeconds":3e1}]',
      answer: { status: 200, body: { results: [{ applied: true }, { applied: true }] } },
    },
    {
      row: 'unknown fields',
      does: 'are ignored',
      send: `POST ${KV}`,
      body: [{ ...get('k'), colour: 'red' }],
      answer: { status: 200, body: { results: [{ found: false }] } },
    },
    {
      row: 'forever',
      does: 'counts only when it is true',
      send: `POST ${KV}`,
      body: [put('k', 1, { forever: 'yes', ttlSeconds: 60 })],
      answer: { status: 200, body: { results: [{ applied: true }] } },
    },
  ],
};

export const kvListing: ContractTable = {
  section: 'state-surfaces 1.8',
  rows: [
    {
      row: 'query string',
      does: 'of the namespaces',
      send: 'GET /api/v1/resources/kv/namespaces?limit=1',
      answer: { status: 400, body: { reason: 'kv_no_query_string' } },
    },
    {
      row: 'query string',
      does: 'of the list',
      send: 'POST /api/v1/resources/kv/list?limit=1',
      body: { namespace: 'n' },
      answer: { status: 400, body: { reason: 'kv_no_query_string' } },
    },
    {
      row: 'namespaces',
      does: 'in byte order, with all their rows',
      run: async (broker) => {
        const at = (ns: string, key: string) => put(key, 1, { ns, forever: false, ttlSeconds: 60 });
        await kv(broker, at('b', 'k'), at('a.b', 'k'), at('a', 'k'), at('a', 'l'));
        const answer = await broker.client.get('/api/v1/resources/kv/namespaces');
        expect(answer.text).toBe(
          '{"namespaces":[{"namespace":"a","keys":2},{"namespace":"a.b","keys":1},' +
            '{"namespace":"b","keys":1}]}',
        );
      },
    },
    {
      row: 'list',
      does: 'one row, as it is written',
      run: async (broker) => {
        const { version } = await kvOne(broker, put('ord_1', { s: 'x' }));
        const answer = await broker.client.post('/api/v1/resources/kv/list', { namespace: 'n' });
        const [row] = (JSON.parse(answer.text) as KvListAnswer).rows;
        expect(answer.text).toBe(
          `{"rows":[{"key":"ord_1","value":{"s":"x"},"version":${version},"expiresAt":null,` +
            `"updatedAt":"${row?.updatedAt}","expired":false}],` +
            '"truncated":false,"nextAfter":null,"bytes":9}',
        );
      },
    },
    ...[{}, { namespace: 'N' }, { namespace: null }].map(
      (body): ContractRow => ({
        row: 'namespace',
        does: `${JSON.stringify(body)} is refused`,
        send: 'POST /api/v1/resources/kv/list',
        body,
        answer: { status: 400, body: { reason: 'kv_bad_namespace' } },
      }),
    ),
    {
      row: 'namespace',
      does: 'unknown is an empty page',
      send: 'POST /api/v1/resources/kv/list',
      body: { namespace: 'none' },
      answer: {
        status: 200,
        text: '{"rows":[],"truncated":false,"nextAfter":null,"bytes":0}',
      },
    },
    {
      row: 'prefix',
      does: 'plain bytes, no wildcards',
      run: async (broker) => {
        await kv(broker, put('a*', 1), put('ab', 1), put('b', 1));
        const keys = async (prefix: string) =>
          (await list(broker, { namespace: 'n', prefix })).rows.map(({ key }) => key);
        expect(await keys('a')).toEqual(['a*', 'ab']);
        expect(await keys('a*')).toEqual(['a*']);
        expect(await keys('')).toEqual(['a*', 'ab', 'b']);
      },
    },
    {
      row: 'after',
      does: 'pages one by one',
      run: async (broker) => {
        await kv(broker, put('a', 1), put('b', 2), put('c', 3));
        const seen: string[] = [];
        for (let after: string | null = ''; after !== null; ) {
          const page: KvListAnswer = await list(broker, { namespace: 'n', after, limit: 1 });
          seen.push(...page.rows.map(({ key }) => key));
          expect(page.truncated).toBe(page.nextAfter !== null);
          after = page.nextAfter;
        }
        expect(seen).toEqual(['a', 'b', 'c']);
      },
    },
    ...[0, -7].map(
      (limit): ContractRow => ({
        row: 'limit',
        does: `${limit} is 1`,
        run: async (broker) => {
          await kv(broker, put('a', 1), put('b', 2));
          expect((await list(broker, { namespace: 'n', limit })).rows).toHaveLength(1);
        },
      }),
    ),
    {
      row: 'keysOnly',
      does: 'no values and no bytes',
      run: async (broker) => {
        await kv(broker, put('a', 1));
        const { rows, bytes } = await list(broker, { namespace: 'n', keysOnly: true });
        expect(bytes).toBe(0);
        expect(rows).toEqual([
          {
            key: 'a',
            version: rows[0]?.version,
            expiresAt: null,
            updatedAt: longStamp,
            expired: false,
          },
        ]);
      },
    },
    {
      row: 'includeExpired',
      does: 'shows what is not swept yet, and says so',
      run: async (broker) => {
        await kv(broker, put('a', 1), put('b', 1, { forever: false, ttlSeconds: 1 }));
        await sleep(1050);
        expect((await list(broker, { namespace: 'n' })).rows).toMatchObject([{ expired: false }]);
        const all = await list(broker, { namespace: 'n', includeExpired: true });
        // The sweep may have come meanwhile.
        expect(all.rows[0]).toMatchObject({ key: 'a', expired: false });
        expect(all.rows.slice(1).every(({ expired }) => expired)).toBe(true);
      },
    },
    {
      row: 'bytes',
      does: 'of the values shown; a short page is the budget speaking',
      run: async (broker) => {
        const value = 'x'.repeat(65_534);
        for (let i = 0; i < 66; i += 22) {
          const ops = Array.from({ length: 22 }, (_, at) => put(`k${100 + i + at}`, value));
          await kv(broker, ...ops);
        }
        const page = await list(broker, { namespace: 'n' });
        expect(page).toMatchObject({ truncated: true, nextAfter: 'k163', bytes: 4_194_304 });
      },
    },
  ],
};
