// Goal: what a body brings is what the front will store of it, or more, never less; and it is the
// same in however many parts it is read. Method: bodies; random ones, with blanks between what
// stands in them and without.
import { describe, expect, test } from 'vitest';
import { SummaryReader, summaryOf } from './body-summary.js';

const read = (rule: Parameters<typeof summaryOf>[0], body: unknown) =>
  summaryOf(rule, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));

test('a push: items, the largest payload as it was sent, each destination once', () => {
  const body =
    '{"items":[{"queue":"a","payload": {"x": 1} },' +
    '{"partition":"p","queue":"a","payload":"12345678"},' +
    '{"queue":"a","partition":"","payload":null},' +
    '{"queue":"a\\u0062","partition":null,"payload":1}]}';
  expect(read('push', body)).toMatchObject({
    items: 4,
    largest: { bytes: 10, index: 1 },
    destinations: [
      { queue: 'a', partition: 'Default' },
      { queue: 'a', partition: 'p' },
      { queue: 'ab', partition: 'Default' },
    ],
  });
  expect(read('push', { items: [] })).toMatchObject({ items: 0, largest: null, growing: null });
});

test.each(['', '[', '{"items":[{]}', '{"items":[]} x', '\ufeff{}', '"x"'])(
  'a push of %j cannot be read',
  (body) => {
    expect(read('push', body)).toBe(null);
  },
);

test.each([
  ['{"operations":[]}', []],
  ['{"kv":[],"timers":[ ]}', []],
  ['{"kv":[{"op":"get"}],"timers":[]}', ['kv']],
  ['{"kv":[],"kv":[{"op":"get"}],"kv":[]}', ['kv']],
  ['{"\\u006bv":[1],"timers":{}}', ['kv', 'timers']],
  [`{"timers":[${' '.repeat(300)}]}`, ['timers']],
])('a transaction %s uses %j', (body, features) => {
  expect([...(read('transaction', body)?.features ?? [])]).toEqual(features);
  expect([...(read('push', body.replace('{', '{"items":[],'))?.features ?? [])]).toEqual([]);
});

test('a transaction: flattened pushes, no acks', () => {
  const body = {
    operations: [
      { type: 'ack', transactionId: 't', partitionId: '1' },
      {
        type: 'push',
        items: [
          { queue: 'a', payload: 1 },
          { queue: 'b', payload: 22 },
        ],
      },
      { payload: 333, queue: 'c', type: 'push' },
    ],
    kv: [{ op: 'put' }],
  };
  expect(read('transaction', body)).toMatchObject({
    items: 3,
    largest: { bytes: 3, index: 2 },
    destinations: [{ queue: 'a' }, { queue: 'b' }, { queue: 'c' }],
  });
  expect(read('transaction', { operations: null, kv: [] })).toMatchObject({ items: 0 });
});

test('timers: those that are scheduled are messages to be, alone and in a transaction', () => {
  const timers = [
    { op: 'schedule', queue: 'a', payload: 'QUFBQUFB' },
    { op: 'cancel', queue: 'b' },
    { payload: 'QUFBQUFBQUE=', partition: 'p', queue: 'c', op: 'reschedule' },
  ];
  const scheduled = {
    items: 0,
    timers: 2,
    largest: { bytes: 8, index: 1 },
    destinations: [
      { queue: 'a', partition: 'Default' },
      { queue: 'c', partition: 'p' },
    ],
  };
  expect(read('timers', timers)).toMatchObject(scheduled);
  expect(read('timers', { operations: timers })).toMatchObject(scheduled);
  expect(read('transaction', { timers })).toMatchObject(scheduled);
  expect(read('timers', [{ op: 'cancel', queue: 'b' }])).toMatchObject({
    timers: 0,
    growing: null,
  });
});

test('a cycle: sink items, of which data is a payload too', () => {
  const body = { state_ops: [], push_items: [{ queue: 'a', data: 'xx' }, 5, { payload: 1 }] };
  expect(read('cycle', body)).toMatchObject({ items: 2, largest: { bytes: 4, index: 0 } });
  expect(read('cycle', { push_items: [] })).toMatchObject({ items: 0, growing: null });
});

test('an ephemeral push: messages', () => {
  const body = { messages: [{ payload: 1 }, { payload: 2 }], queue: 'a' };
  expect(read('ephemeral-push', body)).toMatchObject({ items: 2 });
});

test.each<[object, object[]]>([
  [{}, []],
  [{ partition: 'p' }, []],
  [{ queue: ' a ' }, [{ queue: 'a', partition: 'Default' }]],
  [{ queue: null, partition: 5 }, []],
  [{ partition: 'p', queue: 'a' }, [{ queue: 'a', partition: 'p' }]],
  [{ queue: 'a', partition: 'p' }, [{ queue: 'a', partition: 'p' }]],
])('a replay %j goes to what it names', (body, destinations) => {
  expect(read('replay', body)).toMatchObject({ items: 0, growing: null, destinations });
});

test('a configure: the queue and what is asked of retention', () => {
  expect(read('configure', { queue: 'a', retentionSeconds: 5 })).toMatchObject({
    destinations: [{ queue: 'a', partition: 'Default' }],
    retention: [5],
  });
  expect(read('configure', '{"queue":"a","queue":"b"}')?.destinations).toHaveLength(1);
  const options = { retentionSeconds: null, completedRetentionSeconds: 7, leaseTime: 9 };
  expect(read('configure', { queue: 'a', options })).toMatchObject({ retention: [7] });
});

describe('operations', () => {
  test.each<[string, unknown, string | null]>([
    ['reads', [{ op: 'get' }, { op: 'getMany' }, { op: 'getPrefix' }], null],
    ['checks and deletions', { operations: [{ op: 'check' }, { op: 'delete' }] }, null],
    ['a put', [{ op: 'get' }, { op: 'put' }], 'op at index 1 (put) makes the store grow'],
    [
      'a schedule',
      { operations: [{ op: 'schedule' }] },
      'op at index 0 (schedule) makes the store grow',
    ],
    ['a cancellation', [{ op: 'cancel' }], null],
    ['one that is not known', [{ op: 'x' }], 'op at index 0 (x) makes the store grow'],
    ['one without a name', [{}], 'op at index 0 (NULL) makes the store grow'],
    [
      'two names, the first growing',
      '[{"op":"put","op":"get"}]',
      'op at index 0 (put) makes the store grow',
    ],
    [
      'two names, the last growing',
      '[{"op":"get","op":"put"}]',
      'op at index 0 (put) makes the store grow',
    ],
  ])('%s', (_name, body, growing) => {
    expect(read('kv', body)).toMatchObject({ growing });
  });

  const own = { op: 'put', ns: 'svc-kafka', key: 'qk:a' };
  test.each<[string, unknown, boolean]>([
    ['the facade alone', [own, { ...own, op: 'get' }], true],
    ['many keys', [{ op: 'getMany', ns: 'svc-kafka', keys: ['qk:a', 'qk:b'] }], true],
    ['a prefix', [{ op: 'getPrefix', ns: 'svc-kafka', prefix: 'qk:' }], true],
    ['none', [], false],
    ['another namespace', [own, { ...own, ns: 'mine' }], false],
    ['another key', [own, { ...own, key: 'x' }], false],
    ['another among many', [{ op: 'getMany', ns: 'svc-kafka', keys: ['qk:a', 'b'] }], false],
    ['a wider prefix', [{ op: 'getPrefix', ns: 'svc-kafka', prefix: 'q' }], false],
    ['no namespace', [{ op: 'get', key: 'qk:a' }], false],
    ['two namespaces', '[{"op":"get","ns":"mine","ns":"svc-kafka","key":"qk:a"}]', false],
    ['two keys', '[{"op":"get","ns":"svc-kafka","key":"x","key":"qk:a"}]', false],
    ['a key that is a number', '[{"op":"get","ns":"svc-kafka","key":5}]', false],
  ])('%s: the facade is %s', (_name, body, isFacade) => {
    expect(read('kv', body)).toMatchObject({ isFacade });
  });

  test('timers are never of the facade', () => {
    expect(read('timers', [own])).toMatchObject({ isFacade: false });
  });
});

const ITEM = { queue: 'a', payload: 'x'.repeat(1_000) };
const MANY = new Array(1_000).fill(ITEM);
const some = { items: 1_000, destinations: [{ queue: 'a' }] };

test.each([
  ['push', { items: MANY }, some],
  ['transaction', { operations: MANY.map((item) => ({ ...item, type: 'push' })) }, some],
  ['transaction', { operations: [{ type: 'push', items: MANY }] }, some],
  ['transaction', { operations: MANY.map((item) => ({ items: [item], type: 'push' })) }, some],
  ['push', Object.fromEntries(MANY.map((item, at) => [`name ${at}`, item])), { items: 0 }],
  ['timers', MANY.map((timer) => ({ ...timer, op: 'schedule' })), { timers: 1_000 }],
] as const)('a large body of a %s is read in parts', (rule, body, summary) => {
  const reader = new SummaryReader(rule, Buffer.from(JSON.stringify(body)));
  let count = 0;
  while (!reader.parts.step()) count++;
  expect(reader.summary).toMatchObject(summary);
  expect(count).toBeGreaterThan(10);
  expect(count).toBeLessThan(20);
});

test('random bodies mean the same in one part and in many', () => {
  const random = newRandom(1);
  let [parts, messages] = [0, 0];
  for (let round = 0; round < 300; round++) {
    const rule = RULES[random(RULES.length)] ?? 'push';
    const tokens = randomBody(random, rule);
    const short = new SummaryReader(rule, Buffer.from(tokens.join('')));
    expect(short.parts.step()).toBe(true);
    // An empty list with many blanks in it is one that is used.
    const spread = tokens.map((one) => {
      return one === '[' || random(4) > 0 ? one : one + ' '.repeat(random(60_000));
    });
    const long = new SummaryReader(rule, Buffer.from(spread.join('')));
    while (!long.parts.step()) {
      parts++;
      // Another body that is read meanwhile.
      summaryOf('push', Buffer.from('{"items":[{}]}'));
    }
    messages += short.items;
    const what = `${rule} ${tokens.join('')}`;
    expect([what, seen(long)]).toEqual([what, seen(short)]);
  }
  expect(parts).toBeGreaterThan(200);
  expect(messages).toBeGreaterThan(50);
});

const RULES = [
  'push',
  'transaction',
  'configure',
  'replay',
  'ephemeral-push',
  'cycle',
  'kv',
  'timers',
] as const;

/** All that a summary tells. */
function seen({ summary }: SummaryReader): unknown {
  if (summary === null) return null;
  const { items, timers, largest, destinations, growing, isFacade, retention } = summary;
  const features = [...summary.features];
  return { items, timers, largest, destinations, growing, isFacade, retention, features };
}

/** Below its argument. */
function newRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const LISTS = ['items', 'operations', 'messages', 'push_items', 'kv', 'timers', 'keys'];
const LIST_OF: { readonly [rule in (typeof RULES)[number]]?: string } = {
  cycle: 'push_items',
  'ephemeral-push': 'messages',
  kv: 'operations',
  timers: 'operations',
  transaction: 'operations',
};
const TEXTS = ['queue', 'partition', 'type', 'op', 'ns', 'key', 'payload', 'data', 'other'];
const WORDS = ['"push"', '"a"', '"b"', '"get"', '"put"', '"svc-kafka"', '"qk:a"', '7', 'null', ''];

/** Tokens of a text of known names, most of the time in the places where they count. */
function randomBody(random: (below: number) => number, rule: (typeof RULES)[number]): string[] {
  const lists = [...LISTS, ...new Array(LISTS.length).fill(LIST_OF[rule] ?? 'items')];
  const tokens: string[] = [];
  const one = (of: readonly string[]) => of[random(of.length)] ?? '';
  const list = (depth: number) => {
    const count = random(4);
    tokens.push('[');
    for (let at = 0; at < count; at++) {
      if (at > 0) tokens.push(',');
      if (random(5) > 0) object(depth);
      else tokens.push(one(WORDS.slice(0, -1)));
    }
    tokens.push(']');
  };
  const object = (depth: number) => {
    const count = 1 + random(4);
    tokens.push('{');
    for (let at = 0; at < count; at++) {
      if (at > 0) tokens.push(',');
      const isList = depth > 0 && random(2) === 0;
      const name = one(isList ? lists : [...TEXTS, 'retentionSeconds', 'options']);
      tokens.push(`"${name}"`, ':');
      if (isList) list(depth - 1);
      else if (name === 'options') object(0);
      else if (name === 'type') tokens.push('"push"');
      else tokens.push(one(random(100) === 0 ? WORDS : WORDS.slice(0, -1)));
    }
    tokens.push('}');
  };
  if (random(8) === 0) list(2);
  else object(3);
  return tokens;
}
