// Goal: each value of an answer comes out as the very text that stands there, whatever it holds,
// and a text that is cut or is no JSON is refused. Method: nasty texts by hand, random values.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { base64, textOfBase64 } from '../base/base64.js';
import { parseButTexts } from './raw-values.js';

const NASTY = [
  '12345678901234567890',
  '-0.10E+5',
  'null',
  '""',
  '"\\\\"',
  '"\\\\\\""',
  '"a\\"}],\\"value\\":1"',
  '"value"',
  '{"value":{"value":[1,{"value":"]:{\\"}"}]}}',
  '[["value",":"]]',
  '{"a":1,"a":2}',
  '[]',
  '{}',
  '"\ud83d\ude00 \\ud83d\u2028"',
];

function answerOf(values: readonly string[], space: string): string {
  const rows = values.map(
    (text, i) => `{"key":"value",${space}"value"${space}:${space}${text},"n":${i}}`,
  );
  return `${space}{"results":[{"op":"value","rows":[${rows.join(',')}]}]}${space}`;
}

test.each(['', ' ', '\n\t '])('nasty values, with %j between the tokens', (space) => {
  const rows = NASTY.map((value, n) => ({ key: 'value', value, n }));
  const expected = { results: [{ op: 'value', rows }] };
  expect(parseButTexts(answerOf(NASTY, space), 'value')).toEqual(expected);
});

test('random values', () => {
  fc.assert(
    fc.property(fc.array(fc.json()), (values) => {
      const parsed = parseButTexts(answerOf(values, ''), 'value') as {
        results: { rows: { value: string }[] }[];
      };
      expect(parsed.results[0]?.rows.map(({ value }) => value)).toEqual(values);
    }),
  );
});

test('every beginning of an answer is refused', () => {
  const text = answerOf(NASTY, '');
  for (let length = 0; length < text.length; length++) {
    expect(() => parseButTexts(text.slice(0, length), 'value')).toThrow(SyntaxError);
  }
});

test('base64 of any text', () => {
  for (const text of ['', 'a', 'ä€😀\0', '😀'.repeat(100_000)]) {
    expect(base64(text)).toBe(Buffer.from(text).toString('base64'));
    expect(textOfBase64(base64(text))).toBe(text);
  }
});
