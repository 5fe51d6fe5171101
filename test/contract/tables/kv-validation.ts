/** What a key/value call must be (state-surfaces 1.3). */
import { expect } from 'vitest';
import { bodyOf } from '../broker-api.js';
import { get, KV, kv, put, refusedKv } from '../kv-calls.js';
import type { ContractRow, ContractTable } from '../table.js';

const BASE = { ns: 'n', key: 'k' };
const INCR = { op: 'incr', ...BASE, delta: 1, forever: true };
const PATTERN = '^[a-z0-9][a-z0-9._-]{0,63}$';

const badRequests: readonly (readonly [object | null | number, string])[] = [
  [7, 'op at index 0 is not an object'],
  [null, 'op at index 0 is not an object'],
  [{ op: 'getMany', ns: 'n', keys: 'k' }, 'op at index 0: keys must be an array'],
  [{ op: 'put', ...BASE, forever: true }, 'op at index 0: put needs a value'],
  [{ ...INCR, expect: 1 }, 'op at index 0: incr takes no expect'],
  [{ ...INCR, delta: '1' }, 'op at index 0: delta must be a number'],
  [{ op: 'incr', ...BASE, forever: true }, 'op at index 0: incr needs a delta'],
  [{ ...INCR, min: true }, 'op at index 0: min must be a number'],
  [{ ...INCR, max: [1] }, 'op at index 0: max must be a number'],
  [put('k', 1, { required: 1 }), 'op at index 0: required must be a boolean'],
  [
    { op: 'getPrefix', ns: 'n', prefix: 'p', keysOnly: 'x' },
    'op at index 0: keysOnly must be a boolean',
  ],
  [
    { op: 'getPrefix', ns: 'n', prefix: 'p', limit: 1.5 },
    'op at index 0: limit must be an integer',
  ],
];

const ONE_EXPIRY = 'exactly one of ttlSeconds (integer > 0) and forever:true is required, got';

export const kvValidation: ContractTable = {
  section: 'state-surfaces 1.3',
  rows: [
    ...badRequests.map(([op, detail]) =>
      refusedKv('kv_bad_request', [op], 'kv_bad_request', detail),
    ),
    refusedKv(
      'kv_unknown_op',
      { op: 'x' },
      'kv_unknown_op',
      "op at index 0: unknown operation 'x'",
    ),
    refusedKv('kv_unknown_op', {}, 'kv_unknown_op', 'op at index 0: unknown operation NULL'),
    ...['tenant', 'tenantId', '_tenant'].map((name): ContractRow => {
      const ops = [get('a'), { ...get('b'), [name]: null }];
      return refusedKv('kv_tenant_not_an_input', ops, 'kv_tenant_not_an_input');
    }),
    ...['', 'A', '.a', 'a b', 'x'.repeat(65)].map((ns) =>
      refusedKv(
        'kv_bad_namespace',
        { op: 'get', ns, key: 'k' },
        'kv_bad_namespace',
        `namespace '${ns}' does not match ${PATTERN}`,
      ),
    ),
    refusedKv('kv_bad_key', { op: 'get', ns: 'n' }, 'kv_bad_key', 'the key must be non-empty'),
    refusedKv('kv_bad_key', get(''), 'kv_bad_key', 'the key must be non-empty'),
    refusedKv('kv_bad_key', get('a\0'), 'kv_bad_key', 'the key must not contain NUL'),
    ...[get('\ud800'), { op: 'getMany', ns: 'n', keys: ['a', '\udc00'] }].map((op) =>
      refusedKv('kv_bad_key', op, 'kv_bad_key', 'the key must not contain a lone surrogate'),
    ),
    refusedKv(
      'kv_key_too_large',
      get('é'.repeat(257)),
      'kv_key_too_large',
      'key is 514 bytes, the ceiling is 512',
      413,
    ),
    {
      row: 'kv_key_too_large: the store key',
      does: 'the longest namespace and key have room, whoever the tenant is',
      run: async (broker) => {
        const op = { ns: 'n'.repeat(64), key: 'é'.repeat(256) };
        const [written] = await kv(broker, { op: 'put', ...op, value: 1, ttlSeconds: 60 });
        expect(written?.applied).toBe(true);
        expect(await kv(broker, { op: 'get', ...op })).toMatchObject([{ found: true, value: 1 }]);
      },
    },
    ...[{}, { prefix: '' }, { prefix: null }].map((more) =>
      refusedKv(
        'kv_prefix_required',
        { op: 'getPrefix', ns: 'n', ...more },
        'kv_prefix_required',
        'op at index 0: getPrefix needs a non-empty prefix',
      ),
    ),
    {
      row: 'kv_get_prefix_not_allowed_in_transaction',
      does: 'in the shape of transactions',
      send: 'POST /api/v1/transaction',
      body: { kv: [{ op: 'getPrefix', ns: 'n', prefix: 'p' }] },
      answer: {
        status: 400,
        body: {
          success: false,
          reason: 'kv_get_prefix_not_allowed_in_transaction',
          results: [],
        },
      },
    },
    ...[0, -1, 1.5, null, '5'].map((ttlSeconds) =>
      refusedKv(
        'kv_bad_ttl',
        { op: 'put', ...BASE, value: 1, ttlSeconds },
        'kv_bad_ttl',
        'op at index 0: ttlSeconds must be an integer greater than zero',
      ),
    ),
    ...[{}, { forever: false }, { forever: 'true' }].map((more) =>
      refusedKv(
        'kv_expiry_not_specified',
        { op: 'put', ...BASE, value: 1, ...more },
        'kv_expiry_not_specified',
        `op at index 0: ${ONE_EXPIRY} 0`,
      ),
    ),
    refusedKv(
      'kv_expiry_not_specified',
      put('k', 1, { ttlSeconds: 5 }),
      'kv_expiry_not_specified',
      `op at index 0: ${ONE_EXPIRY} 2`,
    ),
    refusedKv(
      'kv_value_too_large',
      put('k', 'x'.repeat(65_535)),
      'kv_value_too_large',
      'op at index 0: value is 65537 bytes, the ceiling is 65536',
      413,
    ),
    {
      row: 'kv_value_too_large',
      does: 'space around tokens is not counted',
      run: async (broker) => {
        const value = `${' '.repeat(70_000)}[1, "${'x'.repeat(65_000)}"]`;
        const body = `[{"op":"put","ns":"n","key":"k","forever":true,"value":${value}}]`;
        const answer = await broker.client.post(KV, body);
        expect(bodyOf(answer, 200)).toMatchObject({ results: [{ applied: true }] });
      },
    },
    ...[-1, 1.5, null, '1'].map((at) =>
      refusedKv('kv_bad_expect', put('k', 1, { expect: at }), 'kv_bad_expect'),
    ),
    refusedKv('kv_bad_expect', put('k', 1, { op: 'putIfAbsent', expect: 3 }), 'kv_bad_expect'),
    refusedKv('kv_bad_expect', { op: 'check', ...BASE }, 'kv_bad_expect'),
    ...['put', 'delete', 'incr'].map((op) =>
      refusedKv(
        'kv_duplicate_key_in_call',
        [put('k', 1), { op, ...BASE, value: 1, delta: 1, forever: true }],
        'kv_duplicate_key_in_call',
      ),
    ),
    refusedKv(
      'kv_too_many_ops',
      Array.from({ length: 257 }, () => get('k')),
      'kv_too_many_ops',
      '257 ops in one call, the ceiling is 256',
    ),
    {
      row: 'kv_too_many_ops',
      does: 'a transaction takes 64',
      send: 'POST /api/v1/transaction',
      body: { kv: Array.from({ length: 65 }, () => get('k')) },
      answer: { status: 400, body: { success: false, reason: 'kv_too_many_ops' } },
    },
    refusedKv(
      'kv_too_many_keys',
      [
        { op: 'getPrefix', ns: 'n', prefix: 'p', limit: 5000 },
        { op: 'getMany', ns: 'n', keys: Array.from({ length: 24 }, (_, i) => `k${i}`) },
        get('k'),
      ],
      'kv_too_many_keys',
      '1025 keys in one call, the ceiling is 1024',
    ),
    {
      row: 'kv_too_many_keys',
      does: 'a transaction takes 256',
      send: 'POST /api/v1/transaction',
      body: { kv: [{ op: 'getMany', ns: 'n', keys: Array.from({ length: 257 }, () => 'k') }] },
      answer: { status: 400, body: { success: false, reason: 'kv_too_many_keys' } },
    },
    refusedKv('order', [{ op: 'get', ns: 'X', key: '' }], 'kv_bad_namespace'),
    refusedKv('order', [put('', 1, { expect: -1 })], 'kv_bad_key'),
    refusedKv('order', [put('k', 1, { expect: -1, ttlSeconds: 0 })], 'kv_bad_ttl'),
    refusedKv('order', [get('k'), { op: 'x' }, 7], 'kv_unknown_op', undefined),
    {
      row: 'nothing written',
      does: 'the whole call is refused',
      run: async (broker) => {
        const answer = await broker.client.post(KV, [put('k', 1), get('')]);
        expect(answer.status).toBe(400);
        expect(await kv(broker, get('k'))).toMatchObject([{ found: false }]);
      },
    },
  ],
};
