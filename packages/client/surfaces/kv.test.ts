// Goal: what is sent and answered is what the wire has, exactly; nothing is done twice; misuse is
// refused before anything is sent. Method: a scripted network.
import { describe, expect, test } from 'vitest';
import { lostConnection, type Reply } from '../base/platform.fake.js';
import { rawJson } from '../base/write-json.js';
import { errorOf, fakeTransport, operationsOf } from './fake-client.fake.js';
import { type Kv, kvOf } from './kv.js';

const BIG = '12345678901234567890';
const WON: Reply =
  '{"results":[{"index":0,"op":"put","applied":true,"key":"k","value":1,"version":7}]}';

function lost(reason: string, value = 'null', version = 0): string {
  const result = { index: 0, applied: false, reason, key: 'k', value: 0, version };
  return `{"results":[${JSON.stringify(result).replace('"value":0', `"value":${value}`)}]}`;
}

function kvWith(...replies: (() => Reply)[]) {
  const { platform, transport } = fakeTransport((_, nth) => (replies[nth] ?? (() => WON))());
  return { platform, kv: kvOf(transport, 'orders') };
}

describe('what is sent', () => {
  const CALLS: readonly [call: (kv: Kv) => Promise<unknown>, op: object][] = [
    [(kv) => kv.put('k', { a: 1 }, { ttl: '1.5s' }), { op: 'put', value: { a: 1 }, ttlSeconds: 2 }],
    [
      (kv) => kv.put('k', null, { ttlSeconds: 9, expect: 0 }),
      { value: null, ttlSeconds: 9, expect: 0 },
    ],
    [(kv) => kv.put('k', 1, { until: 1_700_000_060_500 }), { ttlSeconds: 61 }],
    [(kv) => kv.put('k', 1, { until: new Date(1_700_000_060_000) }), { ttlSeconds: 60 }],
    [(kv) => kv.put('k', 1, { until: '2023-11-14T22:14:20Z' }), { ttlSeconds: 60 }],
    [(kv) => kv.putIfAbsent('k', [1], { forever: true }), { op: 'putIfAbsent', forever: true }],
    [(kv) => kv.delete('k'), { op: 'delete' }],
    [(kv) => kv.delete('k', { expect: 4 }), { op: 'delete', expect: 4 }],
    [(kv) => kv.incr('k', -2, { forever: true, min: 0 }), { op: 'incr', delta: -2, min: 0 }],
  ];
  test.each(CALLS)('%#', async (call, op) => {
    const { platform, kv } = kvWith();
    await platform.settled(call(kv));
    const [sent] = operationsOf(platform.requests[0] ?? {});
    expect(sent).toMatchObject({ ns: 'orders', key: 'k', ...op });
  });

  test('numbers of any length, in both directions', async () => {
    const times = '"expiresAt":null,"updatedAt":"u"';
    const fields = `"found":true,"key":"k","value":{"n":${BIG}},"version":3,${times}`;
    const found = `{"results":[{"index":0,"op":"get",${fields}}]}`;
    const { platform, kv } = kvWith(() => found);
    const row = await platform.settled(kv.get('k'));
    expect(row).toEqual({
      key: 'k',
      value: { n: Number(BIG) },
      raw: `{"n":${BIG}}`,
      version: 3,
      expiresAt: null,
      updatedAt: 'u',
    });
    await platform.settled(kv.put('k', rawJson(`{"n":${BIG}}`), { forever: true }));
    await platform.settled(kv.incr('k', '0.10', { forever: true, max: BigInt(BIG) }));
    expect(platform.requests[1]?.body).toContain(`"value":{"n":${BIG}},"forever":true}`);
    expect(platform.requests[2]?.body).toContain(`"delta":0.10,"max":${BIG},"forever":true}`);
  });
});

describe('what is read', () => {
  test('a key that is not there is null', async () => {
    const { platform, kv } = kvWith(
      () => '{"results":[{"index":0,"op":"get","found":false,"key":"k"}]}',
    );
    expect(await platform.settled(kv.get('k'))).toBeNull();
  });

  test('getMany asks again for what an answer had no room for', async () => {
    const row = (key: string) => ({ key, value: key, version: 1, expiresAt: null, updatedAt: 'u' });
    const script = [
      { rows: [row('a')], missing: ['c'], truncated: true },
      { rows: [row('b')], missing: [], truncated: false },
    ];
    const { platform, transport } = fakeTransport((_, nth) => ({
      json: { results: [script[nth]] },
    }));
    const found = await platform.settled(kvOf(transport, 'o').getMany(['a', 'b', 'c', 'a']));
    expect([...found].map(([key, { value }]) => [key, value])).toEqual([
      ['a', 'a'],
      ['b', 'b'],
    ]);
    expect(platform.requests.map((request) => operationsOf(request)[0]?.keys)).toEqual([
      ['a', 'b', 'c'],
      ['b'],
    ]);
    expect((await kvOf(transport, 'o').getMany([])).size).toBe(0);
  });

  test('listAll reads page by page, as far as it is read', async () => {
    const row = (n: number) => ({ key: `k${n}`, version: n, expiresAt: null, updatedAt: 'u' });
    const { platform, transport } = fakeTransport((_, nth) => ({
      json: {
        rows: [row(2 * nth), row(2 * nth + 1)],
        truncated: nth < 2,
        nextAfter: nth < 2 ? `k${2 * nth + 1}` : null,
      },
    }));
    const listing = kvOf(transport, 'orders').listAll({ pageSize: 2, keysOnly: true });
    expect(platform.requests).toHaveLength(0);
    for await (const { key } of listing) if (key === 'k1') break;
    expect(platform.requests).toHaveLength(1);
    platform.requests.length = 0;
    const again = kvOf(transport, 'orders').listAll({ pageSize: 2 }).pages();
    const first = await again.next();
    expect(first.value).toHaveLength(2);
    const body = { namespace: 'orders', prefix: '', after: null, limit: 2, keysOnly: false };
    expect(JSON.parse(platform.requests[0]?.body ?? '')).toEqual(body);
  });
});

describe('what is not applied', () => {
  test('is a result, with what is there instead', async () => {
    const { platform, kv } = kvWith(() => lost('version', '{"a":1}', 9));
    const written = await platform.settled(kv.put('k', 1, { forever: true, expect: 3 }));
    expect(written).toEqual({
      applied: false,
      reason: 'version',
      key: 'k',
      value: { a: 1 },
      raw: '{"a":1}',
      version: 9,
    });
  });

  const WRITES: readonly [name: string, reason: string, write: (kv: Kv) => Promise<unknown>][] = [
    ['putIfAbsent', 'exists', (kv) => kv.putIfAbsent('k', 1, { forever: true })],
    ['put with expect', 'version', (kv) => kv.put('k', 1, { forever: true, expect: 2 })],
    ['delete', 'absent', (kv) => kv.delete('k')],
  ];
  test.each(WRITES)('%s that was sent again may have lost to itself', async (_, reason, write) => {
    const { platform, kv } = kvWith(lostConnection, () => lost(reason, '1', 9));
    const error = await errorOf(platform, write(kv));
    expect(error).toMatchObject({ code: 'outcome_unknown', outcomeUnknown: true });
    expect(error.message).toContain('read the row');
  });

  test('but not when the first try was known to have applied nothing', async () => {
    const refused = { status: 503, json: { code: 'retry' }, headers: { 'retry-after': '1' } };
    const { platform, kv } = kvWith(
      () => refused,
      () => lost('exists', '1', 9),
    );
    const written = kv.putIfAbsent('k', 1, { forever: true });
    expect(await platform.settled(written)).toMatchObject({ applied: false, reason: 'exists' });
  });

  test('incr is sent again only when nothing was applied', async () => {
    const refused = { status: 503, json: { code: 'retry' }, headers: { 'retry-after': '1' } };
    const { platform, kv } = kvWith(() => refused, lostConnection);
    const error = await errorOf(platform, kv.incr('k', 1, { forever: true }));
    expect(error).toMatchObject({ outcomeUnknown: true });
    expect(platform.requests).toHaveLength(2);
  });

  test('once knows its own first try again', async () => {
    const { platform, transport } = fakeTransport(({ body = '' }, nth) => {
      if (nth === 0) return lostConnection();
      return lost('exists', JSON.stringify(operationsOf({ body })[0]?.value), 9);
    });
    const kv = kvOf(transport, 'o');
    expect(await platform.settled(kv.once('k', { ttl: '1h' }))).toMatchObject({
      applied: true,
      reason: null,
    });
    const other = fakeTransport(() => lost('exists', '{"once":"another"}', 9));
    const late = kvOf(other.transport, 'o').once('k', { ttl: '1h' });
    expect(await other.platform.settled(late)).toMatchObject({ applied: false });
  });
});

describe('a guard', () => {
  const check = { op: 'check', ns: 'svc-locks', key: 'job#0', expect: 5, required: true } as const;
  const refused = '{"ok":false,"reason":"kv_precondition","failedIndex":0,"kvReason":"version"}';

  test('goes before the write, again with a later token, and is a loss at the end', async () => {
    const script: Reply[] = [refused, WON, refused];
    const { platform, transport } = fakeTransport((_, nth) => script[nth] as Reply);
    let expectNow = 5;
    const guard = {
      guard: () => ({ ...check, expect: expectNow }),
      guardRefused: async () => expectNow++ < 6,
    };
    const kv = kvOf(transport, 'orders');
    expect(await platform.settled(kv.put('k', 1, { forever: true, guard }))).toMatchObject({
      applied: true,
    });
    expect(platform.requests.map((request) => operationsOf(request)[0])).toEqual([
      check,
      { ...check, expect: 6 },
    ]);
    expect(operationsOf(platform.requests[0] ?? {})[1]).toMatchObject({ op: 'put', key: 'k' });
    const late = await platform.settled(kv.delete('k', { guard }));
    expect(late).toMatchObject({ applied: false, reason: 'guard', key: 'k' });
  });
});

describe('misuse', () => {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const MISUSED: readonly [call: (kv: never) => unknown, text: string][] = [
    [
      (kv: Kv) => kv.put('k', 1, {} as never),
      'put of "k" does not say when the row ends: write one of { ttl',
    ],
    [(kv: Kv) => kv.put('k', 1, undefined as never), 'does not say when the row ends'],
    [
      (kv: Kv) => kv.put('k', 1, { ttl: '1h', forever: true } as never),
      'says ttl and forever: write one of',
    ],
    [(kv: Kv) => kv.put('k', 1, { ttlSeconds: 0 }), 'ttlSeconds is 0: write a whole number from 1'],
    [(kv: Kv) => kv.put('k', 1, { ttl: 'soon' }), 'ttl is "soon": write a number of milliseconds'],
    [(kv: Kv) => kv.put('k', 1, { until: 0 }), 'until is 1970-01-01T00:00:00.000Z, which is over'],
    [(kv: Kv) => kv.put('k', 1, { until: 'soon' }), 'until is "soon": write a Date'],
    [
      (kv: Kv) => kv.put('k', 1, { forever: false } as never),
      'forever is false: write true, or another expiry',
    ],
    [(kv: Kv) => kv.put('k', { a: 1n }, { forever: true }), 'value.a is a BigInt'],
    [(kv: Kv) => kv.put('k', undefined, { forever: true }), 'value is undefined'],
    [(kv: Kv) => kv.put('k', cycle, { forever: true }), 'in a cycle'],
    [(kv: Kv) => kv.put('k', 1, { forever: true, expect: -1 }), 'expect (a version) is -1'],
    [
      (kv: Kv) => kv.put('k', 1, { forever: true, ttlMs: 1 } as never),
      'put has no option ttlMs: write ttl; its options are ttl,',
    ],
    [
      (kv: Kv) => kv.putIfAbsent('k', 1, { forever: true, expect: 1 } as never),
      'putIfAbsent has no option expect',
    ],
    [(kv: Kv) => kv.get(''), 'the key is "": write a text'],
    [(kv: Kv) => kv.get('a\0b'), 'without NUL'],
    [(kv: Kv) => kv.get('ä'.repeat(257)), 'the key has 514 bytes: write one of up to 512'],
    [(kv: Kv) => kv.getMany('a' as never), "the list of keys is \"a\": write ['a', 'b']"],
    [(kv: Kv) => kv.getPrefix(''), 'has no prefix: write one, or read all rows with listAll()'],
    [
      (kv: Kv) => kv.getPrefix('a', { limit: 2000 }),
      'limit is 2000: write a whole number from 1 to 1000',
    ],
    [
      (kv: Kv) => kv.incr('k', '1,5', { forever: true }),
      'delta is "1,5": write a number, a BigInt',
    ],
    [(kv: Kv) => kv.incr('k', Number.NaN, { forever: true }), 'delta is NaN'],
    [(kv: Kv) => kv.incr('k', 1, {} as never), 'incr of "k" does not say when'],
  ];
  test.each(MISUSED)('%#', async (call, text) => {
    const { platform, kv } = kvWith();
    await expect(async () => call(kv as never)).rejects.toThrow(TypeError);
    await expect(async () => call(kv as never)).rejects.toThrow(text);
    expect(platform.requests).toEqual([]);
  });

  test('of the namespace, and of rawJson', () => {
    const { transport } = fakeTransport(() => WON);
    for (const name of [undefined, '', 'Orders', 'a'.repeat(65)]) {
      expect(() => kvOf(transport, name as string)).toThrow("write one like kv('orders')");
    }
    expect(() => rawJson('{')).toThrow('is no JSON: write a text like');
  });
});
