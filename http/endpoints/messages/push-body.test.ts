// Goal: a push body becomes the right columns, and every wrong shape is refused with a text that
// names the field. Method: bodies by hand, and a generated one compared with the platform's parser.
import { describe, expect, test } from 'vitest';
import { readPushBody } from './push-body.js';

const read = (text: string): ReturnType<typeof readPushBody> => readPushBody(Buffer.from(text));

function payloads(text: string): string[] {
  const bytes = Buffer.from(text);
  const columns = readPushBody(bytes);
  return columns.payloadStart.map((start, i) =>
    bytes.toString('utf8', start, columns.payloadEnd[i]),
  );
}

describe('columns', () => {
  test('one item with everything', () => {
    const columns = read(
      '{"items":[{"queue":"q","partition":"p","transactionId":"t","payload":{"n":1.50}}]}',
    );
    expect(columns.groups).toEqual([{ queue: 'q', partition: 'p' }]);
    expect(columns.itemGroup).toEqual([0]);
    expect(columns.transactionIds).toEqual(['t']);
  });

  test('no items', () => {
    expect(read('{"items":[]}').itemGroup).toEqual([]);
  });

  test('payloads are the text that was sent', () => {
    const texts = [
      '{"b":1,"a":1.0,"x":12345678901234567890,"b":2}',
      'null',
      'true',
      '-0.0e-0',
      '"ü\\u00fc\\ud800"',
      '[ 1 ,\n2 ]',
      '""',
    ];
    const items = texts.map((text) => `{"queue":"q","payload": ${text} }`).join(' , ');
    expect(payloads(`{"items":[${items}]}`)).toEqual(texts);
  });

  test('the default partition stands for absent, null and the empty name', () => {
    const columns = read(
      '{"items":[{"queue":"q","payload":0},{"queue":"q","partition":null,"payload":0},' +
        '{"queue":"q","partition":"","payload":0},' +
        '{"queue":"q","partition":"Default","payload":0}]}',
    );
    expect(columns.groups).toEqual([{ queue: 'q', partition: 'Default' }]);
    expect(columns.itemGroup).toEqual([0, 0, 0, 0]);
  });

  test('an absent and a null transaction id are none, the empty one is given', () => {
    const columns = read(
      '{"items":[{"queue":"q","payload":0},{"queue":"q","transactionId":null,"payload":0},' +
        '{"queue":"q","transactionId":"","payload":0}]}',
    );
    expect(columns.transactionIds).toEqual([null, null, '']);
  });

  test('other members of an item and of the body are passed over', () => {
    const columns = read(
      '{"x":[{"items":1}],"items":[{"data":1,"traceId":2,"queue":"q","producerSub":{},' +
        '"payload":3}],"y":0}',
    );
    expect(columns.itemGroup).toEqual([0]);
  });

  test('groups are distinct pairs in first-seen order, however they alternate', () => {
    const names = ['a', 'b', 'a', 'c', 'b', 'ü', 'a', 'ü', 'a\\u0062', 'ab'];
    const items = names.map((name, i) => ({ name, queue: i % 2 === 0 ? 'q1' : 'q2' }));
    const text = items
      .map(({ name, queue }) => `{"queue":"${queue}","partition":"${name}","payload":0}`)
      .join(',');
    const columns = read(`{"items":[${text}]}`);
    const expected: string[] = [];
    const wanted = items.map(({ name, queue }) => {
      const key = `${queue}/${JSON.parse(`"${name}"`)}`;
      if (!expected.includes(key)) expected.push(key);
      return expected.indexOf(key);
    });
    expect(columns.groups.map(({ queue, partition }) => `${queue}/${partition}`)).toEqual(expected);
    expect(columns.itemGroup).toEqual(wanted);
  });

  test('many items agree with the platform', () => {
    const items = Array.from({ length: 500 }, (_, i) => ({
      queue: `queue.${i % 3}`,
      ...(i % 4 === 0 ? {} : { partition: `p-${(i * 7) % 11}` }),
      ...(i % 5 === 0 ? {} : { transactionId: `id "${i}" €` }),
      payload: { i, text: 'x'.repeat(i % 50), nested: [{ a: null }] },
    }));
    const text = JSON.stringify({ items });
    const columns = read(text);
    expect(columns.itemGroup.map((group) => columns.groups[group])).toEqual(
      items.map((item) => ({ queue: item.queue, partition: item.partition ?? 'Default' })),
    );
    expect(columns.transactionIds).toEqual(items.map((item) => item.transactionId ?? null));
    expect(payloads(text).map((payload) => JSON.parse(payload))).toEqual(
      items.map((item) => item.payload),
    );
  });
});

/** Always the same numbers, so a failure comes again. */
function below(end: number): number {
  state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
  return (state >>> 16) % end;
}
let state = 7;

test('items that begin like the one before them are read as each alone', () => {
  const members = [
    ['"queue":"q"', '"queue":"q2"', '"queue":"q" ', '"queue":"ü"', '"queue":"\\u0071"'],
    ['', '', '"partition":"p",', '"partition":"p2",', '"partition":null,', '"x":[1],'],
    ['', '', '"transactionId":null,', '"transactionId":"t",', '"transactionId":"t2",'],
    ['"payload":1', '"payload": {"queue":"q"}', '"payload":"payload"'],
    ['', '', ',"partition":"late"', ',"transactionId":"late"', ',"y":{"payload":2}'],
  ];
  const pick = (of: readonly string[]) => of[below(of.length)] as string;
  const item = (): string => {
    const [queue = '', partition = '', id = '', payload = '', last = ''] = members.map(pick);
    if (partition !== '' && last.includes('partition')) return item();
    if (id !== '' && last.includes('transactionId')) return item();
    return below(4) === 0
      ? `{${partition}${id}${payload}${last},${queue}}`
      : `{${queue},${partition}${id}${payload}${last}}`;
  };
  for (let round = 0; round < 300; round++) {
    const items = Array.from({ length: 2 + below(6) }, item);
    const text = `{"items":[${items.join(below(2) === 0 ? ',' : ' ,\n')}]}`;
    const columns = read(text);
    const alone = items.map((one) => read(`{"items":[${one}]}`));
    expect(columns.itemGroup.map((group) => columns.groups[group])).toEqual(
      alone.map(({ groups }) => groups[0]),
    );
    expect(columns.transactionIds).toEqual(alone.flatMap((one) => one.transactionIds));
    expect(payloads(text)).toEqual(items.flatMap((one) => payloads(`{"items":[${one}]}`)));
  }
});

describe('refusals', () => {
  test.each([
    ['{"items":[{"queue":"a","payload":1},{"queue":"a","payload":', 'unexpected end'],
    ['{"items":[{"queue":"a","payload":1},{"queue":"a","payload"', 'unexpected end'],
    ['{"items":[{"payload":1,"queue":"a"},{"payload":1}]}', 'missing field `queue`'],
    [
      '{"items":[{"queue":"a","payload":1},{"queue":"a","payload":1,"queue":"b"}]}',
      'duplicate field `queue`',
    ],
    [
      '{"items":[{"queue":"a","payload":1},{"queue":"a","payload":1,"payload":1}]}',
      'duplicate field `payload`',
    ],
    ['{}', 'missing field `items` at byte 2'],
    ['', 'the body is empty'],
    ['[]', 'the body must be an object'],
    ['{"items":null}', 'items must be an array'],
    ['{"items":{}}', 'items must be an array'],
    ['{"items":[],"items":[]}', 'duplicate field `items`'],
    ['{"items":[1]}', 'an item must be an object at byte 10'],
    ['{"items":[{"payload":1}]}', 'missing field `queue`'],
    ['{"items":[{"queue":"a","data":1}]}', 'missing field `payload` at byte 32'],
    ['{"items":[{"queue":1,"payload":1}]}', 'queue must be a string'],
    ['{"items":[{"queue":null,"payload":1}]}', 'queue must be a string'],
    ['{"items":[{"queue":"a","partition":1,"payload":1}]}', 'partition must be a string'],
    ['{"items":[{"queue":"a","transactionId":1,"payload":1}]}', 'transactionId must be a string'],
    ['{"items":[{"queue":"a","queue":"a","payload":1}]}', 'duplicate field `queue`'],
    ['{"items":[{"queue":"a","payload":1,"payload":1}]}', 'duplicate field `payload`'],
    ['{"items":[{"queue":"\\ud800","payload":1}]}', 'queue holds a lone surrogate'],
    ['{"items":[{"queue":"a","partition":"\\udc00","payload":1}]}', 'partition holds a lone'],
    ['{"items":[{"queue":"a\\u0000b","payload":1}]}', 'queue holds a NUL character at byte 19'],
    [
      '{"items":[{"queue":"a","payload":1},{"queue":"a\\u0000","payload":1}]}',
      'queue holds a NUL character at byte 45',
    ],
    ['{"items":[{"queue":"a","partition":"\\u0000","payload":1}]}', 'partition holds a NUL'],
    [
      '{"items":[{"queue":"a","transactionId":"\\udc00","payload":1}]}',
      'transactionId holds a lone',
    ],
    ['{"items":[{"queue":"a","payload":1},]}', 'expected a value'],
    ['{"items":[{"queue":"a","payload":01}]}', 'invalid number'],
    ['{"items":[{"queue":"a","payload":}]}', 'expected a value'],
    ['{"items":[{"queue":"a","payload":1}]', 'unexpected end'],
    ['{"items":[{"queue":"a","payload":1}]}x', 'trailing characters'],
  ])('%s', (text, message) => {
    expect(() => read(text)).toThrow(message);
  });

  test('at most 100,000 items', () => {
    const items = (count: number): string =>
      `{"items":[${Array(count).fill('{"queue":"","payload":0}').join(',')}]}`;
    expect(read(items(100_000)).itemGroup).toHaveLength(100_000);
    expect(() => read(items(100_001))).toThrow('more than 100000 items at byte 2500010');
  });

  test('a payload and an id may hold a NUL', () => {
    const payload = '"\\u0000"';
    const text = `{"items":[{"queue":"a","transactionId":${payload},"payload":${payload}}]}`;
    expect(payloads(text)).toEqual([payload]);
  });

  test('a broken later item refuses the whole body', () => {
    const good = '{"queue":"a","payload":1}';
    expect(() => read(`{"items":[${good},${good},{"queue":"a"}]}`)).toThrow(
      'missing field `payload`',
    );
  });
});
