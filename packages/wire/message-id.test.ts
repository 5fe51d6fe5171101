// Goal: an id carries exactly what was put in, at every border of its fields, and nothing else
// parses. Method: borders by table, random fields from a printed seed, and single-character damage.
import { expect, test } from 'vitest';
import {
  isUuid,
  messageId,
  messageIdPrefix,
  messageIdSuffix,
  OFFSET_MAX,
  PARTITION_NUMBER_MAX,
  parseMessageId,
} from './index.js';

const STAMP_US = 1_792_000_000_123_456;

test('every border of every field comes back', () => {
  for (const ms of [0, 1, 65_535, 65_536, 2 ** 32, 2 ** 43, 1_792_000_000_123]) {
    for (const partition of [0, 1, 63, 64, 2 ** 20 - 1, 2 ** 20, 2 ** 31, PARTITION_NUMBER_MAX]) {
      for (const offset of [0, 1, 255, 256, 2 ** 32 - 1, 2 ** 32, 2 ** 40, OFFSET_MAX]) {
        for (const implicit of [true, false]) {
          const id = messageId(ms * 1000 + 999, partition, implicit, offset);
          expect(isUuid(id)).toBe(true);
          expect(id[14]).toBe('7');
          expect('89ab').toContain(id[19]);
          expect(parseMessageId(id)).toEqual({ ms, partition, implicit, offset });
        }
      }
    }
  }
});

test('the layout is fixed: ids in stored data must keep their meaning', () => {
  expect(messageId(STAMP_US, 0xfedcba98, true, 0x1_2345_6789)).toBe(
    '01a13b86-007b-7fed-b2ea-620123456789',
  );
  expect(messageId(STAMP_US, 0, false, 0)).toBe('01a13b86-007b-7000-8000-000000000000');
});

test('random fields come back, and a run shares its prefix', () => {
  const seed = 20_261;
  let state = seed;
  const next = (bound: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
  for (let i = 0; i < 2_000; i++) {
    const partition = next(2 ** 32);
    const offset = next(2 ** 41);
    const stampUs = next(2 ** 32) * 1_000_000;
    const implicit = next(2) === 1;
    const id = messageIdPrefix(stampUs, partition) + messageIdSuffix(partition, implicit, offset);
    const parsed = parseMessageId(id.toUpperCase());
    expect(parsed, `seed ${seed}, round ${i}`).toEqual({
      ms: stampUs / 1000,
      partition,
      implicit,
      offset,
    });
  }
});

test('ids of one append rise with their offsets', () => {
  let last = '';
  for (let offset = 250; offset < 300; offset++) {
    const id = messageId(STAMP_US, 9, true, offset);
    expect(id > last).toBe(true);
    last = id;
  }
});

test('what is not a UUIDv7 is no message id', () => {
  const id = messageId(STAMP_US, 7, true, 5);
  for (let at = 0; at < id.length; at++) {
    const dash = id[at] === '-';
    const damaged = `${id.slice(0, at)}${dash ? '0' : 'g'}${id.slice(at + 1)}`;
    expect(parseMessageId(damaged), damaged).toBeNull();
  }
  expect(parseMessageId(id.slice(1))).toBeNull();
  expect(parseMessageId(`${id}0`)).toBeNull();
  expect(parseMessageId('')).toBeNull();
  expect(parseMessageId('00000000-0000-0000-0000-000000000000')).toBeNull();
  expect(parseMessageId(`${id.slice(0, 14)}4${id.slice(15)}`)).toBeNull();
  expect(parseMessageId(`${id.slice(0, 19)}c${id.slice(20)}`)).toBeNull();
});
