// Goal: slices are the exact bytes of their values. Method: documents whose spelling a parser
// would lose, compared as text; and broken ones.

import { expect, test } from 'vitest';
import { JsonShapeError, readArray, readInteger, readObject, readString } from './json-slices.js';

function members(text: string): readonly string[] {
  const found: string[] = [];
  const bytes = Buffer.from(text);
  const end = readObject(bytes, 0, (key, value) => found.push(`${key}=${value.toString()}`));
  expect(bytes.subarray(end).toString().trim()).toBe('');
  return found;
}

test('members keep their spelling, order and duplicates', () => {
  const text =
    ' { "b" : 1.0, "a":12345678901234567890,"b":-0e+2 , "s":"\\u00e9\\"}]\\\\" ,' +
    '"o":{"x":[1, {"y":"}"}],"z":""}, "l":[ ], "e":{ }, "t":true,"n":null } \n';
  expect(members(text)).toEqual([
    'b=1.0',
    'a=12345678901234567890',
    'b=-0e+2',
    's="\\u00e9\\"}]\\\\"',
    'o={"x":[1, {"y":"}"}],"z":""}',
    'l=[ ]',
    'e={ }',
    't=true',
    'n=null',
  ]);
  expect(members('{}')).toEqual([]);
});

test('elements keep their spelling', () => {
  const found: string[] = [];
  readArray(Buffer.from('[1.50 ,"a,]", [2,3],{"k":0}]'), 0, (value) => found.push(`${value}`));
  expect(found).toEqual(['1.50', '"a,]"', '[2,3]', '{"k":0}']);
});

test('strings and integers are decoded', () => {
  expect(readString(Buffer.from('"plain é"'))).toBe('plain é');
  expect(readString(Buffer.from('"\\u00e9\\n"'))).toBe('é\n');
  expect(readInteger(Buffer.from('17'))).toBe(17);
  expect(() => readString(Buffer.from('17'))).toThrow(JsonShapeError);
  expect(() => readInteger(Buffer.from('1.5'))).toThrow(JsonShapeError);
});

test.each(['', '[', '{"a"}', '{"a":}', '{"a":1', '{"a":"x', '{"a":[1}', '{a:1}', '{"a":1 "b":2}'])(
  'refuses %j',
  (text) => {
    expect(() => readObject(Buffer.from(text), 0, () => undefined)).toThrow(JsonShapeError);
  },
);
