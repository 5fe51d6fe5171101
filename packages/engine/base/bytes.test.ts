// Goal: what ByteWriter writes, ByteReader reads back, and a reader never runs past its end.
// Method: random values of every form, and every truncation of one buffer.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { EngineBug } from './assert.js';
import { ByteReader, ByteWriter, KeptWriter } from './bytes.js';

const text = fc.string({ unit: 'grapheme' }).filter((value) => value.isWellFormed());
const integer = fc.maxSafeNat();

test('every form comes back as it was written', () => {
  fc.assert(
    fc.property(integer, fc.nat(0xffff_ffff), text, fc.uuid(), (big, small, name, uuid) => {
      const w = new ByteWriter(1);
      w.varint(big);
      w.u32(small);
      w.u64(big);
      w.text(name);
      w.uuid(uuid);
      const r = new ByteReader(w.finish());
      expect(r.varint()).toBe(big);
      expect(r.u32()).toBe(small);
      expect(r.u64()).toBe(big);
      expect(r.text()).toBe(name);
      expect(r.uuid()).toBe(uuid);
      expect(r.position).toBe(r.end);
    }),
  );
});

test('text is UTF-8, byte for byte', () => {
  fc.assert(
    fc.property(text, (value) => {
      const w = new ByteWriter(8);
      w.text(value);
      const r = new ByteReader(w.finish());
      const start = r.skip(r.varint());
      expect(w.bytes.slice(start, w.length)).toEqual(new TextEncoder().encode(value));
    }),
  );
});

test('a cut buffer is a bug, not a wrong value', () => {
  const w = new ByteWriter(8);
  w.text('abc');
  w.u64(77);
  const whole = w.finish();
  for (let length = 0; length < whole.length; length++) {
    const r = new ByteReader(whole.subarray(0, length));
    expect(() => {
      r.text();
      r.u64();
    }).toThrow(EngineBug);
  }
});

test.each([-1, Number.MAX_SAFE_INTEGER + 1, Number.NaN])('%d is not written', (value) => {
  expect(() => new ByteWriter(16).varint(value)).toThrow(EngineBug);
});

test('a large part is copied once, whatever little follows it', () => {
  const w = new ByteWriter(64);
  w.copy(new Uint8Array(1_000_000), 0, 1_000_000);
  const { buffer } = w.bytes;
  for (let i = 0; i < 1000; i++) w.u32(i);
  expect(w.finish().buffer).toBe(buffer);
});

test('a kept writer begins empty in the same memory, and lets go of what is large', () => {
  const kept = new KeptWriter();
  const first = kept.begin();
  first.text('first');
  const copy = first.copied();
  const { buffer } = first.bytes;
  const second = kept.begin();
  expect([second.length, second.bytes.buffer === buffer]).toEqual([0, true]);
  second.copy(new Uint8Array(1_000_000), 0, 1_000_000);
  expect(new ByteReader(copy).text()).toBe('first');
  expect(kept.begin().bytes.length).toBeLessThan(1000);
});
