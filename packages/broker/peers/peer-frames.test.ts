// Goal: frames come out as they went in, however the stream was cut on its way, and neither a lie
// about a length nor a large frame costs more than its own bytes. Method: streams cut at every
// place and at random ones (the seed is printed), and counting what is copied.
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { FrameCutter } from './peer-frames.js';

function framed(...frames: readonly Uint8Array[]): Buffer {
  return Buffer.concat(
    frames.flatMap((frame) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(frame.length, 0);
      return [length, frame];
    }),
  );
}

function cut(stream: Buffer, sizes: readonly number[], frameBytesMax = 1000): Buffer[] {
  const frames: Buffer[] = [];
  const cutter = new FrameCutter(frameBytesMax, (frame) => frames.push(Buffer.from(frame)));
  let at = 0;
  for (let i = 0; at < stream.length; i++) {
    const size = sizes[i % sizes.length] ?? stream.length;
    expect(cutter.push(stream.subarray(at, at + size))).toBe(true);
    at += size;
  }
  return frames;
}

const SOME = [Buffer.from('one'), Buffer.from([0]), Buffer.alloc(300, 7), Buffer.from('last')];

test('frames come out as they went in, wherever the stream is cut in two', () => {
  const stream = framed(...SOME);
  for (let at = 1; at < stream.length; at++) {
    expect(cut(stream, [at, stream.length])).toEqual(SOME);
  }
});

test('any stream, in any pieces', () => {
  const frame = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
  const pieces = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 10 });
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 30 }), pieces, (frames, sizes) => {
      // A frame of no bytes is a sign of life, and nobody is told of it.
      expect(cut(framed(...frames), sizes)).toEqual(frames.filter(({ length }) => length > 0));
    }),
    { numRuns: 300 },
  );
});

test('a length above the limit is refused, and one at the limit is not', () => {
  const limit = Buffer.alloc(1000, 1);
  expect(cut(framed(limit), [100])).toEqual([limit]);
  const taken: Uint8Array[] = [];
  const cutter = new FrameCutter(1000, (frame) => taken.push(frame));
  expect(cutter.push(framed(Buffer.from('ok'), Buffer.alloc(1001)))).toBe(false);
  expect(taken).toHaveLength(1);
});

test('a frame within one piece is a view of it, and one of several pieces is copied once', () => {
  const piece = framed(Buffer.from('whole'));
  let frame: Uint8Array = Buffer.alloc(0);
  const cutter = new FrameCutter(1e9, (each) => {
    frame = each;
  });
  cutter.push(piece);
  expect(frame.buffer).toBe(piece.buffer);

  // As often as it has pieces, and never what was there before: 100 MiB in a moment.
  const stream = Buffer.alloc(64 * 1024, 5);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(1600 * stream.length, 0);
  cutter.push(length);
  const copying = vi.spyOn(Buffer.prototype, 'copy');
  for (let i = 0; i < 1600; i++) cutter.push(stream);
  const copied = copying.mock.results.map(({ value }) => Number(value));
  copying.mockRestore();
  expect(frame.length).toBe(1600 * stream.length);
  expect(copied.reduce((sum, bytes) => sum + bytes, 0)).toBe(frame.length);
  expect(Buffer.compare(frame, Buffer.alloc(frame.length, 5))).toBe(0);
});

test('an announcement costs nothing until its bytes come', () => {
  const before = process.memoryUsage().rss;
  const cutters = Array.from({ length: 40 }, () => new FrameCutter(2 ** 30, () => {}));
  const length = Buffer.alloc(5);
  length.writeUInt32LE(100 * 2 ** 20, 0);
  for (const cutter of cutters) cutter.push(length);
  // 4 GiB were announced.
  expect(process.memoryUsage().rss - before).toBeLessThan(200 * 2 ** 20);
});

test('a stopped cutter passes nothing on, not even the rest of its piece', () => {
  const taken: string[] = [];
  const cutter = new FrameCutter(100, (frame) => {
    taken.push(Buffer.from(frame).toString());
    cutter.stop();
  });
  expect(cutter.push(framed(Buffer.from('a'), Buffer.from('b')))).toBe(true);
  cutter.push(framed(Buffer.from('c')));
  expect(taken).toEqual(['a']);
});
