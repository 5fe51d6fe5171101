// Goal: instants are written with six digits and read strictly.
// Method: agreement with the platform's own calendar over three and a half centuries, and a table
// of texts.
import { expect, test } from 'vitest';
import { formatStampUs, parseIsoUs } from './index.js';

test('agrees with the platform at many instants', () => {
  const seed = 77;
  let state = seed;
  for (let i = 0; i < 5_000; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    // 1900 to 2250.
    const ms = Math.floor((state / 2 ** 32) * 350 * 365.25 * 86_400_000) - 2_208_988_800_000;
    const micros = i % 1000;
    const milliseconds = new Date(ms).toISOString().slice(0, -1);
    const expected = `${milliseconds}${String(micros).padStart(3, '0')}Z`;
    const stampUs = ms * 1000 + micros;
    expect(formatStampUs(stampUs), `seed ${seed}, round ${i}`).toBe(expected);
    expect(parseIsoUs(expected)).toBe(stampUs);
  }
});

test('leap days, year ends and the remembered second', () => {
  for (const text of [
    '1970-01-01T00:00:00.000000Z',
    '2000-02-29T23:59:59.999999Z',
    '1999-12-31T23:59:59.999999Z',
    '2000-01-01T00:00:00.000000Z',
    '2100-02-28T12:00:00.000001Z',
    '2100-03-01T00:00:00.000000Z',
    '2254-12-31T23:59:59.999999Z',
    '0001-01-01T00:00:00.000000Z',
  ]) {
    expect(formatStampUs(parseIsoUs(text) ?? Number.NaN)).toBe(text);
  }
  expect(formatStampUs(1_000_000)).toBe('1970-01-01T00:00:01.000000Z');
  expect(formatStampUs(1_999_999)).toBe('1970-01-01T00:00:01.999999Z');
  expect(formatStampUs(2_000_000)).toBe('1970-01-01T00:00:02.000000Z');
});

test('spellings that mean the same instant', () => {
  const stampUs = Date.UTC(2026, 9, 9, 8, 0, 0) * 1000;
  for (const text of [
    '2026-10-09T08:00:00Z',
    '2026-10-09T08:00:00',
    '2026-10-09 08:00:00z',
    '2026-10-09T08:00:00.0Z',
    '2026-10-09T10:30:00+02:30',
    '2026-10-09T10:30:00+0230',
    '2026-10-08T20:00:00-12:00',
  ]) {
    expect(parseIsoUs(text), text).toBe(stampUs);
  }
  expect(parseIsoUs('2026-10-09T08:00:00.1Z')).toBe(stampUs + 100_000);
  expect(parseIsoUs('2026-10-09T08:00:00.123456789Z')).toBe(stampUs + 123_456);
});

test('an instant beyond the exact ones is still later than they are', () => {
  expect(parseIsoUs('9999-12-31T23:59:59Z')).toBeGreaterThan(Number.MAX_SAFE_INTEGER);
});

test('what is not an instant is null', () => {
  for (const text of [
    '',
    'now',
    '2026-10-09',
    '2026-13-09T08:00:00Z',
    '2026-00-09T08:00:00Z',
    '2026-02-29T08:00:00Z',
    '2100-02-29T08:00:00Z',
    '2026-04-31T08:00:00Z',
    '2026-10-00T08:00:00Z',
    '2026-10-09T24:00:00Z',
    '2026-10-09T08:60:00Z',
    '2026-10-09T08:00:60Z',
    '2026-10-09T08:00:00+24:00',
    '2026-10-09T08:00:00.Z',
    '2026-10-09T08:00Z',
    '26-10-09T08:00:00Z',
    ' 2026-10-09T08:00:00Z',
    '2026-10-09T08:00:00Zx',
    '1792000000',
  ]) {
    expect(parseIsoUs(text), text).toBeNull();
  }
});
