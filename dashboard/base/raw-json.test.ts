// Goal: stored values keep their text, whatever is in them, and the envelope around them is read as
// JSON. Method: texts, compared with what JSON.parse makes of them where it is right.
import { expect, test } from 'vitest';
import { jsonLines } from './json-lines.js';
import { parseKeeping, RawJson } from './raw-json.js';

const raw = (text: string) => new RawJson(text);

test('stored members are kept as text, all else is parsed', () => {
  const text =
    '{"rows": [ {"key":"a","value": {"big":12345678901234567890 , "one":1.0} ,"version":7},' +
    ' {"key":"b","value":"x\\"]}","version":8} ], "nextAfter":null, "ok" : true }';
  expect(parseKeeping(text)).toEqual({
    rows: [
      { key: 'a', value: raw('{"big":12345678901234567890 , "one":1.0}'), version: 7 },
      { key: 'b', value: raw('"x\\"]}"'), version: 8 },
    ],
    nextAfter: null,
    ok: true,
  });
});

test.each(['[]', '{}', '[1,-2.5e3,"\\u00e9",null,[{"a":[]}]]', ' { "a" : [ ] } ', '"x"'])(
  'without stored members it is JSON.parse: %s',
  (text) => expect(parseKeeping(text)).toEqual(JSON.parse(text)),
);

test.each(['', '{', '[1,', '{"a"}', '{"a":1,}', '[1 2]', '{"a":1} x', '<html>'])(
  'no JSON: %j',
  (text) => expect(() => parseKeeping(text)).toThrow(SyntaxError),
);

test('a value that is nested a hundred thousand deep is kept', () => {
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  expect(parseKeeping(`{"payload":${deep}}`)).toEqual({ payload: raw(deep) });
});

/** Each line as it is drawn. */
function drawn(text: string, folded: readonly number[] = []): string[] {
  return jsonLines(text, new Set(folded)).map(
    ({ depth, name, text: shown }) => '  '.repeat(depth) + (name && `${name}: `) + shown,
  );
}

test('a tree shows each value as it was written', () => {
  const text = '{"big":12345678901234567890,"one":1.0,"a":[true,"x",{}],"a":null,"e":[]}';
  expect(drawn(text)).toEqual([
    '{',
    '  "big": 12345678901234567890',
    '  "one": 1.0',
    '  "a": [',
    '    true',
    '    "x"',
    '    {}',
    '  ]',
    '  "a": null',
    '  "e": []',
    '}',
  ]);
  expect(jsonLines(text).map(({ size }) => size)[0]).toBe(5);
  expect(drawn(text, [text.indexOf('[')])).toEqual([
    '{',
    '  "big": 12345678901234567890',
    '  "one": 1.0',
    '  "a": [ … ]',
    '  "a": null',
    '  "e": []',
    '}',
  ]);
  expect(drawn(text, [0])).toEqual(['{ … }']);
  expect(drawn('7')).toEqual(['7']);
});

test('ten thousand levels and a MiB are laid out, within the bound of lines', () => {
  const deep = `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`;
  expect(jsonLines(deep)).toHaveLength(20_001);
  const wide = `[${'1234567,'.repeat(131_072)}1]`;
  const lines = jsonLines(wide);
  expect(lines).toHaveLength(50_001);
  expect(lines.at(-1)?.kind).toBe('note');
  const long = jsonLines(`["${'x'.repeat(1_048_576)}"]`);
  expect(long).toHaveLength(3);
  expect(long[1]?.text.length).toBeLessThan(2_100);
  const named = jsonLines(`{"${'x'.repeat(1_048_576)}":1}`);
  expect(named[1]?.name.length).toBeLessThan(2_100);
});

test('a text that is no JSON is shown all the same', () => {
  expect(drawn('hello, world')).toEqual(['hello', 'world']);
  expect(jsonLines('}]{"a":').length).toBeLessThan(10);
});
