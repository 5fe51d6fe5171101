// Goal: each payload of an answer comes out as the very text that stands there, whatever it holds,
// and a text that is cut or is no JSON is refused. Method: nasty texts by hand, random values.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseButTexts, payloadTexts } from './payload-texts.js';

const NASTY = [
  '12345678901234567890',
  '-0.10E+5',
  'null',
  'true',
  '""',
  '"\\\\"',
  '"\\\\\\""',
  '"a\\"}],\\"data\\":1"',
  '{"data":{"data":[1,{"data":"]}"}]}}',
  '{"messages":[{"data":2}]}',
  '{"a":1,"a":2}',
  ' { "x" : [ ] } '.trim(),
  '[]',
  '{}',
  '[[["\\u005d]"]]]',
  '"\ud83d\ude00 \\ud83d\u2028"',
  '[["data",":"]]',
  '[["value",":"]]',
];

function answerOf(payloads: readonly string[], space = ''): string {
  const rows = payloads.map(
    (text, i) => `{"id":"m${i}",${space}"data":${space}${text}${space},"offset":${i}}`,
  );
  return `${space}{"queue":"data","messages":${space}[${rows.join(',')}]${space},"n":1}${space}`;
}

test.each(['', ' ', '\n\t '])('nasty payloads, with %j between the tokens', (space) => {
  const { answer, texts } = payloadTexts(answerOf(NASTY, space), 'data');
  expect(texts).toEqual(NASTY);
  expect(answer).toMatchObject({ queue: 'data', n: 1 });
  const { messages } = answer as { messages: object[] };
  expect(messages).toEqual(NASTY.map((_, i) => ({ id: `m${i}`, data: i, offset: i })));
});

test('at any depth, in place', () => {
  const rows = NASTY.map((text) => `{"value" : ${text},"key":"value"}`);
  const answer = parseButTexts(`{"value":1,"results":[{"op":"value","rows":[${rows}]}]}`, 'value');
  expect(answer).toEqual({
    value: '1',
    results: [{ op: 'value', rows: NASTY.map((value) => ({ value, key: 'value' })) }],
  });
  expect(() => parseButTexts('{"value":{"a":}}', 'value')).toThrow(SyntaxError);
});

test('any JSON value', () => {
  fc.assert(
    fc.property(fc.array(fc.json({ noUnicodeString: false })), (payloads) => {
      expect(payloadTexts(answerOf(payloads), 'data').texts).toEqual(payloads);
      expect(parseButTexts(answerOf(payloads), 'data')).toMatchObject({
        messages: payloads.map((data) => ({ data })),
      });
    }),
  );
});

test('every cut of an answer is refused', () => {
  const text = answerOf(NASTY);
  for (let end = 0; end < text.length; end++) {
    expect(() => payloadTexts(text.slice(0, end), 'data')).toThrow(SyntaxError);
  }
});

test.each(['', '[]', '<html>', '{"messages":[{"data":}]}', '{"a" 1}', '{"a":1}x', '{"a":1,}'])(
  'no answer: %s',
  (text) => {
    expect(() => payloadTexts(text, 'data')).toThrow(SyntaxError);
  },
);

test('no messages, no payload, a message that is no object', () => {
  expect(payloadTexts('{}', 'data').texts).toEqual([]);
  expect(payloadTexts('{"messages":[]}', 'data').texts).toEqual([]);
  expect(payloadTexts('{"messages":null}', 'data').texts).toEqual([]);
  expect(payloadTexts('{"messages":[{"id":1},7]}', 'data').texts).toEqual([undefined, undefined]);
});

test('the work is linear: a long run of backslashes and deep nesting', () => {
  const long = `"${'\\\\'.repeat(500_000)}"`;
  const deep = '['.repeat(200_000) + ']'.repeat(200_000);
  expect(payloadTexts(answerOf([long, deep]), 'data').texts).toEqual([long, deep]);
});
