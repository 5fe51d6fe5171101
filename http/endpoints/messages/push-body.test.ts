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
    ['{"items":[1]}', 'an item must be an object at byte 10'],
    ['{"items":[{"queue":"a","data":1}]}', 'missing field `payload` at byte 32'],
    ['{"items":[{"queue":"a","queue":"a","payload":1}]}', 'duplicate field `queue`'],
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
    ['{"items":[{"queue":"a","payload":}]}', 'expected a value'],
    ['{"items":[{"queue":"a","payload":1}]', 'unexpected end'],
  ])('%s', (text, message) => {
    expect(() => read(text)).toThrow(message);
  });

  test('at most 100,000 items', () => {
    const items = (count: number): string =>
      `{"items":[${Array(count).fill('{"queue":"","payload":0}').join(',')}]}`;
    expect(read(items(100_000)).itemGroup).toHaveLength(100_000);
    expect(() => read(items(100_001))).toThrow('more than 100000 items at byte 2500010');
  });
});
