// Goal: a stored payload is shown as it was pushed, and as a string when it is no JSON.
// Method: a table of payloads and their texts.
import { expect, test } from 'vitest';
import { storedJsonText } from './stored-json.js';

test.each([
  ['{"b":1,"a":1.0}', '{"b":1,"a":1.0}'],
  ['null', 'null'],
  ['"x"', '"x"'],
  [' [1] ', ' [1] '],
  ['', 'null'],
  ['hello', '"hello"'],
  ['{"a":1}x', '"{\\"a\\":1}x"'],
  ['{"a":1', '"{\\"a\\":1"'],
  ['01', '"01"'],
  ['grüße', '"grüße"'],
  ['"grüße"', '"grüße"'],
])('%s', (stored, shown) => {
  const text = storedJsonText(Buffer.from(stored, 'utf8'));
  expect(Buffer.from(text, 'latin1').toString('utf8')).toBe(shown);
});

test('bytes that are no UTF-8 are a string all the same', () => {
  const text = Buffer.from(storedJsonText(new Uint8Array([0xff, 0x41])), 'latin1').toString('utf8');
  expect(JSON.parse(text)).toBe('\ufffdA');
  expect(storedJsonText(null)).toBe('null');
});
