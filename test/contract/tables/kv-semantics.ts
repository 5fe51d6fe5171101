/** What key/value operations do, and what they answer (state-surfaces 1.4 to 1.7). */
import { expect } from 'vitest';
import { sleep } from '../../process/node-under-test.js';
import { bodyOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { get, KV, kv, kvOne, put } from '../kv-calls.js';
import type { ContractRow, ContractTable } from '../table.js';

const FOR = (ttlSeconds: number) => ({ forever: false, ttlSeconds });

function remove(key: string, more: object = {}): object {
  return { op: 'delete', ns: 'n', key, ...more };
}

function check(key: string, at: number | undefined, more: object = {}): object {
  return { op: 'check', ns: 'n', key, expect: at, ...more };
}

function incr(key: string, delta: number, more: object = {}): object {
  return { op: 'incr', ns: 'n', key, delta, forever: true, ...more };
}

/** What an operation on a row answers, and what stands there afterwards. */
function onRow(
  row: string,
  does: string,
  op: (version: number) => object,
  answer: object,
  after: unknown,
): ContractRow {
  return {
    row,
    does,
    run: async (broker) => {
      const { version = 0 } = await kvOne(broker, put('k', 'old'));
      expect(await kvOne(broker, op(version))).toMatchObject(answer);
      const left = await kvOne(broker, get('k'));
      expect(left.found ? left.value : undefined).toEqual(after);
    },
  };
}

/** The same where there is no row, and where there is one that has expired. */
function onNoRow(row: string, op: object, answer: object, after: unknown): ContractRow[] {
  return [false, true].map((expired) => ({
    row,
    does: expired ? 'on an expired row' : 'on no row',
    run: async (broker) => {
      if (expired) {
        await kv(broker, put('k', 'old', FOR(1)));
        await sleep(1020);
      }
      expect(await kvOne(broker, op)).toMatchObject(answer);
      const left = await kvOne(broker, get('k'));
      expect(left.found ? left.value : undefined).toEqual(after);
    },
  }));
}

const WROTE = { applied: true, value: 'new' };
const ABSENT = { applied: false, reason: 'absent', value: null, version: 0 };

async function raw(broker: BrokerUnderTest, body: string): Promise<string> {
  const { status, text } = await broker.client.post(KV, body);
  expect(status, text).toBe(200);
  return text;
}

const decimals: readonly (readonly [string, string, string])[] = [
  ['1.50', '0', '1.5'],
  ['0.1', '0.2', '0.3'],
  ['9007199254740993', '1', '9007199254740994'],
  ['123456789012345678901234567890', '0.00000001', '123456789012345678901234567890.00000001'],
  ['1e2', '-100', '0'],
  ['1e300', '1e300', '2e+300'],
];

export const kvOrder: ContractTable = {
  section: 'state-surfaces 1.4',
  rows: [
    {
      row: 'apply order',
      does: 'by namespace and key; versions tell',
      run: async (broker) => {
        const at = (ns: string, key: string) => put(key, 1, { ns });
        const versions = (
          await kv(broker, at('n', 'b'), at('n', 'a'), at('m', 'z'), at('n', 'B'))
        ).map(({ version = 0 }) => version);
        const first = Math.min(...versions);
        expect(versions.map((version) => version - first)).toEqual([3, 2, 0, 1]);
      },
    },
    {
      row: 'a get and the write of its key',
      does: 'before it the old value, behind it the new one',
      run: async (broker) => {
        await kv(broker, put('k', 1));
        const [before, , behind] = await kv(broker, get('k'), put('k', 2), get('k'));
        expect([before?.value, behind?.value]).toEqual([1, 2]);
      },
    },
    {
      row: 'multi-key reads see the writes',
      does: 'wherever they stand',
      run: async (broker) => {
        const many = { op: 'getMany', ns: 'n', keys: ['k'] };
        const page = { op: 'getPrefix', ns: 'n', prefix: 'k' };
        const [first, second] = await kv(broker, many, page, put('k', 1));
        expect([first, second]).toMatchObject([{ rows: [{ value: 1 }] }, { rows: [{ value: 1 }] }]);
      },
    },
    {
      row: 'a lost precondition leaves the rest',
      does: 'to be written',
      run: async (broker) => {
        const [lost, won] = await kv(broker, put('a', 1, { expect: 5 }), put('b', 1));
        expect([lost?.applied, won?.applied]).toEqual([false, true]);
        expect(await kvOne(broker, get('b'))).toMatchObject({ found: true });
      },
    },
    {
      row: 'all writes lose',
      does: 'its reads are answered all the same',
      run: async (broker) => {
        await kv(broker, put('k', 1));
        const answers = await kv(broker, put('k', 2, { expect: 0 }), get('k'));
        expect(answers).toMatchObject([{ reason: 'exists' }, { found: true, value: 1 }]);
      },
    },
    {
      row: 'read budget',
      does: '4 MiB: the row that straddles it is shown, the others are cut',
      run: async (broker) => {
        const value = 'x'.repeat(65_534);
        for (let i = 0; i < 66; i += 22) {
          await kv(
            broker,
            ...Array.from({ length: 22 }, (_, at) => put(`k${100 + i + at}`, value)),
          );
        }
        const page = { op: 'getPrefix', ns: 'n', prefix: 'k' };
        const first = await kvOne(broker, page);
        expect(first).toMatchObject({ truncated: true, nextAfter: 'k163' });
        expect(first.rows).toHaveLength(64);
        const keys = Array.from({ length: 66 }, (_, i) => `k${100 + i}`);
        const many = await kvOne(broker, { op: 'getMany', ns: 'n', keys });
        expect([many.rows?.length, many.missing, many.truncated]).toEqual([64, [], true]);
      },
    },
  ],
};

export const kvSemantics: ContractTable = {
  section: 'state-surfaces 1.5',
  rows: [
    {
      row: 'put, no expect',
      does: 'replaces value and expiry',
      run: async (broker) => {
        await kv(broker, put('k', 1, FOR(60)));
        expect(await kvOne(broker, put('k', 2))).toMatchObject({ applied: true });
        expect(await kvOne(broker, get('k'))).toMatchObject({ value: 2, expiresAt: null });
      },
    },
    ...onNoRow('put, no expect', put('k', 'new'), WROTE, 'new'),
    ...['put', 'putIfAbsent'].flatMap((op) => [
      onRow(
        'put expect:0, putIfAbsent',
        `${op} on a row`,
        () => put('k', 'new', { op, expect: 0 }),
        { applied: false, reason: 'exists', value: 'old' },
        'old',
      ),
      ...onNoRow('put expect:0, putIfAbsent', put('k', 'new', { op, expect: 0 }), WROTE, 'new'),
    ]),
    onRow('put expect:N', 'equal', (v) => put('k', 'new', { expect: v }), WROTE, 'new'),
    onRow(
      'put expect:N',
      'another',
      (v) => put('k', 'new', { expect: v + 1 }),
      { applied: false, reason: 'version', value: 'old' },
      'old',
    ),
    ...onNoRow('put expect:N', put('k', 'new', { expect: 3 }), ABSENT, undefined),
    onRow(
      'delete, no expect',
      'removes',
      () => remove('k'),
      { applied: true, value: 'old' },
      undefined,
    ),
    ...onNoRow('delete, no expect', remove('k'), ABSENT, undefined),
    onRow(
      'delete expect:0',
      'on a row',
      () => remove('k', { expect: 0 }),
      { applied: false, reason: 'exists', value: 'old' },
      'old',
    ),
    ...onNoRow(
      'delete expect:0',
      remove('k', { expect: 0 }),
      { applied: true, value: null, version: 0 },
      undefined,
    ),
    onRow(
      'delete expect:N',
      'equal',
      (v) => remove('k', { expect: v }),
      { applied: true, value: 'old' },
      undefined,
    ),
    onRow(
      'delete expect:N',
      'another',
      (v) => remove('k', { expect: v + 1 }),
      { applied: false, reason: 'version' },
      'old',
    ),
    ...onNoRow('delete expect:N', remove('k', { expect: 3 }), ABSENT, undefined),
    onRow(
      'incr',
      'what is no number',
      () => incr('k', 1),
      { applied: false, reason: 'type', value: 0 },
      'old',
    ),
    ...onNoRow('incr', incr('k', 3), { applied: true, value: 3 }, 3),
    ...onNoRow(
      'incr',
      incr('k', 3, { max: 2 }),
      { applied: false, reason: 'limit', value: 0, version: 0 },
      undefined,
    ),
    {
      row: 'incr',
      does: 'keeps the expiry, and never saturates',
      run: async (broker) => {
        await kv(broker, put('k', 5, FOR(60)));
        const before = await kvOne(broker, get('k'));
        expect(await kvOne(broker, incr('k', 2))).toMatchObject({ applied: true, value: 7 });
        const limit = { applied: false, reason: 'limit', value: 7 };
        expect(await kvOne(broker, incr('k', 9, { max: 10 }))).toMatchObject(limit);
        expect(await kvOne(broker, incr('k', -9, { min: 0 }))).toMatchObject(limit);
        const { expiresAt, value } = await kvOne(broker, get('k'));
        expect([expiresAt, value]).toEqual([before.expiresAt, 7]);
      },
    },
    onRow('check expect:N', 'equal', (v) => check('k', v), { applied: true }, 'old'),
    onRow(
      'check expect:N',
      'another',
      (v) => check('k', v + 1),
      { applied: false, reason: 'version' },
      'old',
    ),
    ...onNoRow('check expect:N', check('k', 3), ABSENT, undefined),
    onRow(
      'check expect:0',
      'on a row',
      () => check('k', 0),
      { applied: false, reason: 'exists' },
      'old',
    ),
    ...onNoRow('check expect:0', check('k', 0), { applied: true, version: 0 }, undefined),
    ...decimals.map(
      ([before, delta, after]): ContractRow => ({
        row: 'decimal',
        does: `${before} + ${delta} = ${after}`,
        run: async (broker) => {
          const place = '"ns":"n","key":"k","forever":true';
          await raw(broker, `[{"op":"put",${place},"value":${before}}]`);
          const text = await raw(broker, `[{"op":"incr",${place},"delta":${delta}}]`);
          expect(text).toContain(`"value":${after},`);
        },
      }),
    ),
    {
      row: 'literals',
      does: 'numbers, escapes and the order of members stay; space between tokens goes',
      run: async (broker) => {
        const value = '{ "b" : 1.0, "a":[1e2,\n 12345678901234567890], "s": " \\u00e9 é" }';
        const kept = '{"b":1.0,"a":[1e2,12345678901234567890],"s":" \\u00e9 é"}';
        const place = '"ns":"n","key":"k"';
        const put = await raw(broker, `[{"op":"put",${place},"forever":true,"value":${value}}]`);
        expect(put).toContain(`"value":${kept},`);
        expect(await raw(broker, `[{"op":"get",${place}}]`)).toContain(`"value":${kept},`);
      },
    },
    {
      row: 'liveness',
      does: 'a row is there until its time is up, and then it is not',
      run: async (broker) => {
        await kv(broker, put('k', 1, FOR(1)), put('l', 1, FOR(60)));
        expect(await kvOne(broker, get('k'))).toMatchObject({ found: true });
        await sleep(1020);
        const page = { op: 'getPrefix', ns: 'n', prefix: 'k' };
        const many = { op: 'getMany', ns: 'n', keys: ['k', 'l'] };
        expect(await kv(broker, get('k'), page, many)).toMatchObject([
          { found: false },
          { rows: [], truncated: false },
          { rows: [{ key: 'l' }], missing: ['k'] },
        ]);
      },
    },
    {
      row: 'sweep',
      does: 'takes expired rows away by itself',
      run: async (broker) => {
        await kv(broker, put('k', 1, FOR(1)), put('l', 1));
        const body = { namespace: 'n', includeExpired: true };
        for (;;) {
          const answer = await broker.client.post('/api/v1/resources/kv/list', body);
          const { rows } = bodyOf(answer, 200) as { rows: readonly object[] };
          if (rows.length === 1) break;
          await sleep(200);
        }
      },
    },
    {
      row: 'versions',
      does: 'rise over writes, deletion and expiry of a key',
      run: async (broker) => {
        const versions: number[] = [];
        const write = async (op: object) => {
          versions.push((await kvOne(broker, op)).version ?? 0);
        };
        await write(put('k', 1));
        await write(incr('k', 1));
        await kv(broker, remove('k'));
        await write(put('k', 1, FOR(1)));
        await sleep(1020);
        await write(put('k', 1, { expect: 0 }));
        expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
      },
    },
  ],
};

export const kvAnswers: ContractTable = {
  section: 'state-surfaces 1.6',
  rows: [
    {
      row: 'get',
      does: 'byte for byte',
      run: async (broker) => {
        const { version } = await kvOne(broker, put('k', { x: 1 }));
        const text = await raw(broker, JSON.stringify([get('k')]));
        const updatedAt = JSON.parse(text).results[0].updatedAt as string;
        expect(text).toBe(
          '{"results":[{"index":0,"op":"get","found":true,"key":"k","value":{"x":1},' +
            `"version":${version},"expiresAt":null,"updatedAt":"${updatedAt}"}]}`,
        );
      },
    },
    {
      row: 'getMany',
      does: 'in byte order, a repeated key twice',
      run: async (broker) => {
        await kv(broker, put('b', 2), put('a', 1));
        const many = { op: 'getMany', ns: 'n', keys: ['b', 'x', 'a', 'b'] };
        const { rows, missing, truncated } = await kvOne(broker, many);
        expect(rows?.map(({ key }) => key)).toEqual(['a', 'b', 'b']);
        expect([missing, truncated]).toEqual([['x'], false]);
      },
    },
    {
      row: 'getPrefix',
      does: 'rows, truncated, nextAfter',
      run: async (broker) => {
        await kv(broker, put('u:1', 1), put('u:2', 2));
        const page = { op: 'getPrefix', ns: 'n', prefix: 'u:', limit: 1 };
        expect(await kvOne(broker, page)).toMatchObject({
          rows: [{ key: 'u:1' }],
          truncated: true,
          nextAfter: 'u:1',
        });
      },
    },
    {
      row: 'put applied',
      does: 'the value written and its version, byte for byte',
      run: async (broker) => {
        const text = await raw(broker, JSON.stringify([put('k', { x: 1 })]));
        const version = JSON.parse(text).results[0].version as number;
        expect(text).toBe(
          '{"results":[{"index":0,"op":"put","applied":true,"key":"k","value":{"x":1},' +
            `"version":${version}}]}`,
        );
      },
    },
    {
      row: 'incr applied',
      does: 'the new number and version',
      run: async (broker) => {
        const { version = 0 } = await kvOne(broker, put('k', 1));
        const after = await kvOne(broker, incr('k', 1));
        expect(after).toMatchObject({ applied: true, value: 2 });
        expect(after.version).toBeGreaterThan(version);
      },
    },
    {
      row: 'delete applied',
      does: 'the removed value and version',
      run: async (broker) => {
        const { version } = await kvOne(broker, put('k', 'old'));
        const gone = { applied: true, key: 'k', value: 'old', version };
        expect(await kvOne(broker, remove('k'))).toMatchObject(gone);
      },
    },
    {
      row: 'any write lost',
      does: 'what is there, or null and 0',
      run: async (broker) => {
        const { version } = await kvOne(broker, put('k', 'old'));
        const lost = await kvOne(broker, put('k', 1, { op: 'putIfAbsent' }));
        expect(lost).toEqual({
          index: 0,
          op: 'putIfAbsent',
          applied: false,
          reason: 'exists',
          key: 'k',
          value: 'old',
          version,
        });
        expect(await kvOne(broker, put('x', 1, { expect: 1 }))).toMatchObject(ABSENT);
      },
    },
    {
      row: 'incr lost limit',
      does: 'the current number and version',
      run: async (broker) => {
        const { version } = await kvOne(broker, put('q', 1000));
        const lost = { applied: false, reason: 'limit', value: 1000, version };
        expect(await kvOne(broker, incr('q', 1, { max: 1000 }))).toMatchObject(lost);
      },
    },
    {
      row: 'incr lost type',
      does: '0 and the version of the row',
      run: async (broker) => {
        const { version } = await kvOne(broker, put('k', { a: 1 }));
        const lost = { applied: false, reason: 'type', value: 0, version };
        expect(await kvOne(broker, incr('k', 1))).toMatchObject(lost);
      },
    },
    {
      row: 'check',
      does: 'as a write, but without the value when it holds',
      run: async (broker) => {
        const { version = 0 } = await kvOne(broker, put('k', 'v'));
        const held = { index: 0, op: 'check', applied: true, key: 'k', version };
        expect(await kvOne(broker, check('k', version))).toEqual(held);
        expect(await kvOne(broker, check('gone', 0))).not.toHaveProperty('value');
        const lost = { applied: false, reason: 'version', value: 'v', version };
        expect(await kvOne(broker, check('k', version + 1))).toMatchObject(lost);
      },
    },
    {
      row: 'paging',
      does: 'page by page to the end',
      run: async (broker) => {
        await kv(broker, ...['a1', 'a2', 'a3'].map((key) => put(key, key)));
        const seen: string[] = [];
        for (let after: string | null = ''; after !== null; ) {
          const page = { op: 'getPrefix', ns: 'n', prefix: 'a', limit: 2, after };
          const { rows = [], nextAfter = null } = await kvOne(broker, page);
          seen.push(...rows.map(({ key }) => key));
          after = nextAfter;
        }
        expect(seen).toEqual(['a1', 'a2', 'a3']);
      },
    },
    {
      row: 'required',
      does: 'nothing is written, and the failure is told',
      run: async (broker) => {
        const { version } = await kvOne(broker, put('k', { chargeId: 'ch_1' }));
        const ops = [put('a', 1), put('k', 1, { expect: 0, required: true })];
        expect(await raw(broker, JSON.stringify(ops))).toBe(
          '{"ok":false,"reason":"kv_precondition","failedIndex":1,"kvReason":"exists",' +
            `"version":${version},"value":{"chargeId":"ch_1"}}`,
        );
        expect(await kvOne(broker, get('a'))).toMatchObject({ found: false });
      },
    },
    {
      row: 'required, too long',
      does: 'the reason alone',
      run: async (broker) => {
        await kv(broker, put('k', 'x'.repeat(5000)));
        const ops = [put('k', 1, { expect: 0, required: true })];
        expect(await raw(broker, JSON.stringify(ops))).toBe(
          '{"ok":false,"reason":"kv_precondition"}',
        );
      },
    },
    {
      row: 'required, in a transaction',
      does: 'the index is that of the flat results',
      run: async (broker) => {
        await kv(broker, put('k', 1));
        const { queue } = broker;
        const body = {
          operations: [{ type: 'push', items: [1, 2].map((n) => ({ queue, payload: n })) }],
          kv: [get('k'), check('k', 0, { required: true })],
        };
        const answer = bodyOf(await broker.client.post('/api/v1/transaction', body), 200);
        expect(answer).toMatchObject({
          success: false,
          reason: 'kv_precondition',
          error: 'QKV a required KV precondition failed; the transaction rolled back',
          ok: false,
          failedIndex: 3,
          kvReason: 'exists',
          value: 1,
          results: [],
        });
        expect(await broker.api.popQueue(queue)).toBeNull();
      },
    },
    {
      row: 'first loser in apply order',
      does: 'by key, not by place',
      run: async (broker) => {
        const ops = [check('b', 1, { required: true }), check('a', 1, { required: true })];
        const answer = await broker.client.post(KV, [...ops, put('z', 1)]);
        expect(bodyOf(answer, 200)).toMatchObject({ failedIndex: 1, kvReason: 'absent' });
      },
    },
  ],
};

export const kvStatuses: ContractTable = {
  section: 'state-surfaces 1.7',
  rows: [
    {
      row: '200',
      does: 'a lost required is none of a failure',
      send: `POST ${KV}`,
      body: [check('k', 1, { required: true })],
      answer: { status: 200, body: { ok: false } },
    },
    {
      row: '400',
      does: 'kv_bad_request',
      send: `POST ${KV}`,
      body: [{ op: 'x' }],
      answer: { status: 400, body: { error: 'kv_bad_request' } },
    },
    {
      row: '413',
      does: 'payload_too_large',
      send: `POST ${KV}`,
      body: [get('k'.repeat(513))],
      answer: { status: 413, body: { error: 'payload_too_large' } },
    },
    {
      row: 'putIfAbsent is safe to repeat',
      does: 'the second one loses to the first',
      run: async (broker) => {
        const op = put('k', 'mine', { op: 'putIfAbsent' });
        const first = await kvOne(broker, op);
        const second = await kvOne(broker, op);
        expect(second).toMatchObject({ applied: false, value: 'mine', version: first.version });
      },
    },
  ],
};
