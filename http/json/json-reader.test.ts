// Goal: the reader accepts exactly what RFC 8259 does (and UTF-8, and no more than the depth
// bound), and refuses the rest with a text that names what is wrong and at which byte.
// Method: a table of texts, agreement with the platform's parser on mutated texts from a printed
// seed, and the reading methods one by one.
import { isUtf8 } from 'node:buffer';
import { describe, expect, test } from 'vitest';
import { JSON_DEPTH_MAX } from '../base/limits.js';
import { JsonError } from './json-error.js';
import { keySet } from './json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from './json-reader.js';

function bytesOf(text: string | readonly number[]): Buffer {
  return typeof text === 'string' ? Buffer.from(text, 'utf8') : Buffer.from(text);
}

/** null when accepted, else the error. */
function refusalOf(bytes: Buffer): JsonError | null {
  try {
    const reader = new JsonReader(bytes);
    reader.skipValue();
    reader.finish();
    return null;
  } catch (error) {
    if (error instanceof JsonError) return error;
    throw error;
  }
}

const nested = (open: string, close: string, levels: number): string =>
  open.repeat(levels) + close.repeat(levels);

const ACCEPTED: readonly string[] = [
  'null',
  'true',
  'false',
  '0',
  '-0',
  '-1',
  '1',
  '10',
  '123456789012345678901234567890',
  '0.0',
  '1.0',
  '-0.5',
  '1.5e3',
  '1E5',
  '1e+5',
  '1e-5',
  '0e0',
  '0E+0',
  '-0e-0',
  '1e400',
  '1e-400',
  '""',
  '"a"',
  '" "',
  '"\\""',
  '"\\\\"',
  '"\\/"',
  '"/"',
  '"\\b\\f\\n\\r\\t"',
  '"\\u0000"',
  '"\\u001f"',
  '"\\uABCD"',
  '"\\uabcd"',
  '"\\ud83d\\ude00"',
  '"\\ud83d"',
  '"\\ude00\\ud83d"',
  '"\\uD800\\uD800"',
  '"\u007f"',
  '"\u0080"',
  '"ü"',
  '"€"',
  '"😀"',
  '"\u2028\u2029"',
  '"\ufeff"',
  '"\uffff"',
  '"\u{10ffff}"',
  '"\\\\\\\\"',
  '"a\\\\\\"b"',
  '[]',
  '[ ]',
  '[\n]',
  '[1]',
  '[1,2]',
  '[ 1 , 2 ]',
  '[[]]',
  '[[],[]]',
  '[[[]]]',
  '[{}]',
  '[null,true,false,0,"",[],{}]',
  '{}',
  '{ }',
  '{"":0}',
  '{"a":1}',
  '{"a":1,"b":2}',
  '{"a":1,"a":2}',
  '{ "a" : 1 , "b" : 2 }',
  '{"a":{}}',
  '{"a":[]}',
  '{"a":[{"b":[{}]}]}',
  '{"\\u0061":1}',
  '{"ü":"ü"}',
  '{"a":null}',
  '{"__proto__":1}',
  ' null',
  'null ',
  '\tnull\n',
  '\r\n[\t1\r,\n2 ]\r\n',
  '[1,\n2]',
  '[-0]',
  '[-0.0,1e1]',
  '"\\n"',
  '"a\\u0062c"',
  '[""]',
  '["\\"","]"]',
  '["[","{"]',
  '{"]":"}"}',
  '{"a":"b\\"c"}',
  nested('[', ']', JSON_DEPTH_MAX),
  `${'{"a":'.repeat(JSON_DEPTH_MAX - 1)}{}${'}'.repeat(JSON_DEPTH_MAX - 1)}`,
  `[${'[],'.repeat(500)}[]]`,
];

const REFUSED: readonly (readonly [string | readonly number[], string])[] = [
  ['', 'the body is empty'],
  [' ', 'the body holds no value'],
  ['\n\t', 'the body holds no value'],
  ['\ufeffnull', 'byte order mark'],
  ['\ufeff', 'byte order mark'],
  ['\u00a0null', 'expected a value at byte 0'],
  ['\u2028null', 'expected a value'],
  ['\u000bnull', 'expected a value'],
  ['\fnull', 'expected a value'],
  ['nul', 'expected a value'],
  ['nullx', 'trailing characters at byte 4'],
  ['null null', 'trailing characters at byte 5'],
  ['null,', 'trailing characters at byte 4'],
  ['Null', 'expected a value'],
  ['TRUE', 'expected a value'],
  ['tru', 'expected a value'],
  ['truth', 'expected a value'],
  ['fals', 'expected a value'],
  ['falsee', 'trailing characters'],
  ['undefined', 'expected a value'],
  ['NaN', 'expected a value'],
  ['Infinity', 'expected a value'],
  ['-Infinity', 'invalid number'],
  ['-', 'invalid number at byte 0'],
  ['--1', 'invalid number'],
  ['+1', 'expected a value'],
  ['01', 'invalid number'],
  ['-01', 'invalid number'],
  ['00', 'invalid number'],
  ['1.', 'invalid number'],
  ['.5', 'expected a value'],
  ['-.5', 'invalid number'],
  ['1.e5', 'invalid number'],
  ['1e', 'invalid number'],
  ['1e+', 'invalid number'],
  ['1e-', 'invalid number'],
  ['1ee5', 'invalid number'],
  ['1e5.5', 'trailing characters'],
  ['1.5.5', 'trailing characters'],
  ['0x10', 'trailing characters'],
  ['1_000', 'trailing characters'],
  ['1a', 'trailing characters'],
  ['1 2', 'trailing characters'],
  ['- 1', 'invalid number'],
  ['１', 'expected a value'],
  ['"', 'unterminated string at byte 1'],
  ['"a', 'unterminated string at byte 2'],
  ['"\\', 'unterminated string'],
  ['"\\"', 'unterminated string'],
  ['"\\u', 'unterminated string'],
  ['"\\u00', 'unterminated string'],
  ['"\\u00"', 'invalid \\u escape'],
  ['"\\u00g0"', 'invalid \\u escape at byte 1'],
  ['"\\u 123"', 'invalid \\u escape'],
  ['"\\U0041"', 'invalid escape'],
  ['"\\a"', 'invalid escape at byte 1'],
  ['"\\x41"', 'invalid escape'],
  ['"\\0"', 'invalid escape'],
  ['"\\\'"', 'invalid escape'],
  ['"\\ü"', 'invalid escape'],
  ['"\n"', 'control character in a string at byte 1'],
  ['"\t"', 'control character'],
  ['"\u0000"', 'control character'],
  ['"\u001f"', 'control character'],
  ['"a\r"', 'control character'],
  ["'a'", 'expected a value'],
  ['`a`', 'expected a value'],
  ['a', 'expected a value'],
  ['[', 'unexpected end'],
  [']', 'expected a value'],
  ['[1', 'unexpected end of the body, expected `,` or `]` at byte 2'],
  ['[1,', 'expected a value'],
  ['[1,]', 'expected a value at byte 3'],
  ['[,1]', 'expected a value'],
  ['[,]', 'expected a value'],
  ['[1,,2]', 'expected a value'],
  ['[1 2]', 'expected `,` or `]` at byte 3'],
  ['[1;2]', 'expected `,` or `]`'],
  ['[1}', 'expected `,` or `]`'],
  ['[1]]', 'trailing characters'],
  ['[1][2]', 'trailing characters'],
  ['["a"', 'unexpected end'],
  ['["a",', 'unexpected end'],
  ['["]', 'unterminated string'],
  ['[//\n1]', 'expected a value'],
  ['[/**/1]', 'expected a value'],
  ['[1]//', 'trailing characters'],
  ['[...]', 'expected a value'],
  ['{', 'a member name'],
  ['}', 'expected a value'],
  ['{"a"', 'expected `:`'],
  ['{"a":', 'expected a value'],
  ['{"a":1', 'unexpected end of the body, expected `,` or `}`'],
  ['{"a":1,', 'a member name'],
  ['{"a":1,}', 'a member name at byte 7'],
  ['{,"a":1}', 'a member name'],
  ['{"a" 1}', 'expected `:`'],
  ['{"a"::1}', 'expected a value'],
  ['{"a",1}', 'expected `:`'],
  ['{"a":1 "b":2}', 'expected `,` or `}`'],
  ['{"a":1]', 'expected `,` or `}`'],
  ['{a:1}', 'a member name'],
  ["{'a':1}", 'a member name'],
  ['{1:1}', 'a member name'],
  ['{null:1}', 'a member name'],
  ['{"a":}', 'expected a value'],
  ['{"a":1}}', 'trailing characters'],
  ['{"a":1}x', 'trailing characters'],
  ['{"a\n":1}', 'control character'],
  ['{"\\x":1}', 'invalid escape'],
  ['{[]:1}', 'a member name'],
  ['{"a":[}', 'expected a value'],
  ['[{]', 'a member name'],
  ['[{}', 'unexpected end'],
  ['{}{}', 'trailing characters'],
  ['\u0000', 'expected a value'],
  ['null\u0000', 'trailing characters'],
  ['[1\u0000]', 'expected `,` or `]`'],
  ['[\u00a01]', 'expected a value'],
  [nested('[', ']', JSON_DEPTH_MAX + 1), `more than ${JSON_DEPTH_MAX} levels`],
  ['['.repeat(100_000), `more than ${JSON_DEPTH_MAX} levels`],
  ['{"a":'.repeat(100_000), `more than ${JSON_DEPTH_MAX} levels`],
  [[0x22, 0x80, 0x22], 'invalid UTF-8 at byte 1'],
  [[0x22, 0xbf, 0x22], 'invalid UTF-8'],
  [[0x22, 0xc0, 0x80, 0x22], 'invalid UTF-8'],
  [[0x22, 0xc1, 0xbf, 0x22], 'invalid UTF-8'],
  [[0x22, 0xc3, 0x22], 'invalid UTF-8'],
  [[0x22, 0xc3, 0x28, 0x22], 'invalid UTF-8'],
  [[0x22, 0xe0, 0x80, 0x80, 0x22], 'invalid UTF-8'],
  [[0x22, 0xe2, 0x82, 0x22], 'invalid UTF-8'],
  [[0x22, 0xed, 0xa0, 0x80, 0x22], 'invalid UTF-8 at byte 1'],
  [[0x22, 0xed, 0xbf, 0xbf, 0x22], 'invalid UTF-8'],
  [[0x22, 0xf0, 0x80, 0x80, 0x80, 0x22], 'invalid UTF-8'],
  [[0x22, 0xf4, 0x90, 0x80, 0x80, 0x22], 'invalid UTF-8'],
  [[0x22, 0xf5, 0x80, 0x80, 0x80, 0x22], 'invalid UTF-8'],
  [[0x22, 0xf8, 0x88, 0x80, 0x80, 0x80, 0x22], 'invalid UTF-8'],
  [[0x22, 0xfe, 0x22], 'invalid UTF-8'],
  [[0x22, 0xff, 0x22], 'invalid UTF-8'],
  [[0x22, 0x61, 0xc3, 0xbc, 0xff, 0x22], 'invalid UTF-8 at byte 4'],
  [[0x22, 0xf0, 0x9f, 0x98], 'invalid UTF-8'],
  [[0xff, 0xfe, 0x31, 0x00], 'expected a value'],
  [[0x00, 0x31], 'expected a value'],
];

describe('the table', () => {
  test('has the size it is meant to have', () => {
    expect(ACCEPTED.length + REFUSED.length).toBeGreaterThanOrEqual(200);
  });

  test.each(ACCEPTED)('accepts %j', (text) => {
    expect(refusalOf(bytesOf(text))).toBeNull();
    expect(() => JSON.parse(text)).not.toThrow();
  });

  test.each(REFUSED)('refuses %j', (text, message) => {
    const bytes = bytesOf(text);
    const refusal = refusalOf(bytes);
    expect(refusal?.message).toContain(message);
    expect(refusal?.message).toMatch(/ at byte \d+$/);
    expect(refusal?.at).toBeLessThanOrEqual(bytes.length);
  });
});

/** A small generator with a period of 2^32, replayed by its seed. */
function generator(seed: number): (bound: number) => number {
  let state = seed >>> 0;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

/** What is wrong with a string of LONG letters whose byte at `place` is `byte`; null: nothing. */
function faultOfLong(place: number, byte: number): string | null {
  if (byte < 0x20) return `control character in a string at byte ${place}`;
  if (byte === 0x22) return `trailing characters at byte ${place + 1}`;
  if (byte === 0x5c && place === LONG) return `unterminated string at byte ${LONG + 3}`;
  if (byte === 0x5c) return `invalid escape at byte ${place}`;
  return byte < 0x80 ? null : `invalid UTF-8 at byte ${place}`;
}
const LONG = 44;

test.each([0, 1, 2, 3])(
  'long strings: every byte at every place, %i bytes into a word',
  (shift) => {
    const body = Buffer.alloc(shift + LONG + 3).subarray(shift);
    for (let place = 1; place <= LONG; place++) {
      for (let byte = 0; byte < 256; byte++) {
        body.write(`"${'m'.repeat(LONG)}" `);
        body[place] = byte;
        const found = refusalOf(body)?.message ?? null;
        const wanted = faultOfLong(place, byte);
        if (found !== wanted) expect([place, byte, found]).toEqual([place, byte, wanted]);
      }
    }
  },
);

describe('agreement with the platform', () => {
  // What the platform's parser takes beyond the standard: nothing; a byte order mark is removed by
  // the decoder before it, so texts that begin with one are left out.
  function platformAccepts(bytes: Buffer): boolean {
    if (!isUtf8(bytes)) return false;
    try {
      JSON.parse(bytes.toString('utf8'));
      return true;
    } catch (error) {
      if (error instanceof SyntaxError) return false;
      throw error;
    }
  }

  test('mutated texts are accepted and refused alike', () => {
    const seed = 20_261_121;
    const next = generator(seed);
    const seeds = ACCEPTED.filter((text) => text.length < 200);
    const alphabet = Buffer.from('{}[]:,"\\/ \n\t0123456789eE+-.truefalsn\u00fcu😀', 'utf8');
    let accepted = 0;
    for (let round = 0; round < 40_000; round++) {
      const parts = [seeds[next(seeds.length)] ?? '', seeds[next(seeds.length)] ?? ''];
      const joined = next(3) === 0 ? `[${parts.join(',')}]` : (parts[0] ?? '');
      const bytes = Array.from(bytesOf(joined));
      for (let edits = next(4); edits > 0; edits--) {
        const at = next(bytes.length + 1);
        const byte = next(8) === 0 ? next(256) : (alphabet[next(alphabet.length)] ?? 0);
        const kind = next(3);
        bytes.splice(at, kind === 0 ? 0 : 1, ...(kind === 2 ? [] : [byte]));
      }
      const body = Buffer.from(bytes);
      if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) continue;
      const ours = refusalOf(body);
      const message = `seed ${seed}, round ${round}: ${JSON.stringify(body.toString('latin1'))}`;
      expect(ours === null, `${message} ${ours?.message}`).toBe(platformAccepts(body));
      if (ours === null) accepted++;
    }
    expect(accepted).toBeGreaterThan(5_000);
  });

  test('strings of any characters, wherever their words of four bytes begin', () => {
    const next = generator(25_11);
    const pieces = ['a', 'é', '€', '😀', 'plain text ', '!', '#', '[', '\\n', '\\"'];
    const faults = ['"', '\\', '\n', '\u0001', '\u001f', '\x80', '\xc3'];
    let accepted = 0;
    for (let round = 0; round < 20_000; round++) {
      const parts = Array.from({ length: next(30) }, () =>
        bytesOf(pieces[next(pieces.length)] ?? ''),
      );
      const fault = Buffer.from(faults[next(faults.length)] ?? '', 'latin1');
      if (next(2) === 0) parts.splice(next(parts.length + 1), 0, fault);
      const body = Buffer.concat([bytesOf('["'), ...parts, bytesOf('"]')]);
      const ours = refusalOf(body);
      const message = `round ${round}: ${JSON.stringify(body.toString('latin1'))}`;
      expect(ours === null, `${message} ${ours?.message}`).toBe(platformAccepts(body));
      if (ours === null) accepted++;
    }
    expect(accepted).toBeGreaterThan(5_000);
  });

  test('every prefix of a valid text is refused', () => {
    const text = '{"a":[1.5e3,"\\u00fc\\n ü",{"b":null,"c":[true,false,{}]}],"d":""}';
    const bytes = bytesOf(text);
    expect(refusalOf(bytes)).toBeNull();
    for (let length = 0; length < bytes.length; length++) {
      expect(refusalOf(bytes.subarray(0, length)), `length ${length}`).not.toBeNull();
    }
  });
});

describe('reading', () => {
  const KEYS = keySet('queue', 'count');

  test('members in any order, unknown ones passed over', () => {
    const reader = new JsonReader(bytesOf('{"x":[{}],"count":-7,"queue":"ü\\n","y":1}'));
    const read: [number, unknown][] = [];
    reader.enterObject('the body');
    let seen = 0;
    for (;;) {
      const key = reader.nextKey(KEYS, seen);
      if (key === KEYS_END) break;
      if (key === KEY_UNKNOWN) reader.skipValue();
      else seen |= 1 << key;
      if (key === 0) read.push([key, reader.readText('queue')]);
      if (key === 1) read.push([key, reader.readInteger('count', -10, 10)]);
    }
    reader.finish();
    expect(read).toEqual([
      [1, -7],
      [0, 'ü\n'],
    ]);
  });

  test('a known name spelled with escapes is the same name, and may not come twice', () => {
    const reader = new JsonReader(bytesOf('{"\\u0071ueue":1,"queue":2}'));
    reader.enterObject('the body');
    expect(reader.nextKey(KEYS, 0)).toBe(0);
    reader.skipValue();
    expect(() => reader.nextKey(KEYS, 1)).toThrow('duplicate field `queue` at byte 16');
  });

  test('nested containers return to the one around them', () => {
    const reader = new JsonReader(bytesOf('[[1],[],[2,3] ]'));
    const lengths: number[] = [];
    reader.enterArray('the body');
    while (reader.nextElement()) {
      let length = 0;
      reader.enterArray('an element');
      while (reader.nextElement()) {
        reader.skipValue();
        length++;
      }
      lengths.push(length);
    }
    reader.finish();
    expect(lengths).toEqual([1, 0, 2]);
  });

  test('the comma and the end of a container that is read step by step', () => {
    for (const text of ['[1 2]', '[1,', '[1', '[,1]', '{"queue":1 "count":2}', '{"queue":1,']) {
      const reader = new JsonReader(bytesOf(text));
      expect(() => {
        if (text.startsWith('[')) {
          reader.enterArray('the body');
          while (reader.nextElement()) reader.skipValue();
        } else {
          reader.enterObject('the body');
          while (reader.nextKey(KEYS, 0) !== KEYS_END) reader.skipValue();
        }
      }, text).toThrow(JsonError);
    }
    // A trailing comma is seen by whoever reads the next element.
    const reader = new JsonReader(bytesOf('[1,]'));
    reader.enterArray('the body');
    reader.nextElement();
    reader.skipValue();
    expect(reader.nextElement()).toBe(true);
    expect(() => reader.skipValue()).toThrow('expected a value at byte 3');
  });

  test('values stay where they are', () => {
    const text = ' {"payload" : {"b":1,"a":1.0,"x":12345678901234567890} }';
    const reader = new JsonReader(bytesOf(text));
    reader.enterObject('the body');
    reader.nextKey(keySet('payload'), 0);
    reader.skipValue();
    expect(text.slice(reader.valueStart, reader.valueEnd)).toBe(
      '{"b":1,"a":1.0,"x":12345678901234567890}',
    );
    expect(reader.valueText()).toBe('{"b":1,"a":1.0,"x":12345678901234567890}');
  });

  test('a text may not hold a lone surrogate, a payload may', () => {
    for (const text of ['"\\ud83d"', '"a\\ude00b"', '"\\ud83d\\ud83d"', '"\\ude00\\ud83d"']) {
      expect(() => new JsonReader(bytesOf(text)).readText('queue')).toThrow(
        'queue holds a lone surrogate at byte 0',
      );
      expect(refusalOf(bytesOf(text))).toBeNull();
    }
    expect(new JsonReader(bytesOf('"\\ud83d\\ude00"')).readText('queue')).toBe('😀');
  });

  test('types are told apart', () => {
    const typed = (text: string): JsonReader => new JsonReader(bytesOf(text));
    expect(() => typed('[]').enterObject('the body')).toThrow(
      'the body must be an object at byte 0',
    );
    expect(() => typed(' {}').enterArray('items')).toThrow('items must be an array at byte 1');
    expect(() => typed('1').readText('queue')).toThrow('queue must be a string at byte 0');
    expect(() => typed('nul').readText('queue')).toThrow('expected a value');
    expect(typed('null').readTextOrNull('error')).toBeNull();
    expect(typed('"x"').readTextOrNull('error')).toBe('x');
    expect(typed('null').isNull()).toBe(true);
    expect(typed('"null"').isNull()).toBe(false);
    expect(typed('"null"').isString()).toBe(true);
  });

  test('integers are exact', () => {
    const read = (text: string): number => new JsonReader(bytesOf(text)).readInteger('n', -5, 5);
    expect(read('5')).toBe(5);
    expect(read('-5')).toBe(-5);
    expect(Object.is(read('-0'), 0)).toBe(true);
    for (const text of ['6', '-6', '99999999999999999999999', '-99999999999999999999999']) {
      expect(() => read(text), text).toThrow('n must be between -5 and 5');
    }
    for (const text of ['1.0', '1e0', '"1"', 'true', 'null', '[]', '{}', '0.5']) {
      expect(() => read(text), text).toThrow('n must be an integer');
    }
  });

  test('a repeated text is recognised, and only where it is the same', () => {
    const read = (text: string, last: string): string =>
      new JsonReader(bytesOf(text)).readRepeatedName('queue', last);
    expect(read('"abc"', 'abc')).toBe('abc');
    expect(read('"abcd"', 'abc')).toBe('abcd');
    expect(read('"ab"', 'abc')).toBe('ab');
    expect(read('""', '')).toBe('');
    expect(read('"ü"', 'ü')).toBe('ü');
    expect(read('"\\u00fc"', 'ü')).toBe('ü');
    // The last text as it would look in JSON: quotes and escapes must not be taken for plain bytes.
    expect(read('"a\\\\"', 'a\\\\')).toBe('a\\');
    expect(read('"a\\"b"', 'a\\')).toBe('a"b');
    expect(read('"a"', 'a"b')).toBe('a');
    expect(() => read('"a\nb"', 'a\nb')).toThrow('control character');
    expect(() => read('abc', 'bc')).toThrow('expected a value');
    expect(() => read('"abc', 'abc')).toThrow('unterminated');
    expect(() => read('1', '')).toThrow('queue must be a string');
  });

  test('the depth bound counts containers that were entered, too', () => {
    const levels = JSON_DEPTH_MAX - 1;
    const deep = (inside: number): Buffer => bytesOf(`{"queue":${nested('[', ']', inside)}}`);
    const read = (bytes: Buffer): void => {
      const reader = new JsonReader(bytes);
      reader.enterObject('the body');
      reader.nextKey(KEYS, 0);
      reader.skipValue();
    };
    expect(() => read(deep(levels))).not.toThrow();
    expect(() => read(deep(levels + 1))).toThrow('levels of nesting');
  });
});
