// Goal: what is read is what was written, an append that is read in parts is decoded once, one that
// is read whole from memory is not kept, and what is kept stays within its bound. Method: appends
// written byte by byte, a log that counts how often it is asked for them.
import { crc32 } from 'node:zlib';
import { type AppendSlice, ByteWriter } from '@svc/engine';
import type { MessageBatch } from '@svc/http';
import type { Log } from '@svc/storage';
import { describe, expect, test } from 'vitest';
import { TurnedLoop } from '../testing/turned-loop.fake.js';
import { EntryGone, MessageReader } from './message-reader.js';

const PARTITION = 7;
const STAMP_US = 1_792_000_000_000_000;
const COUNT = 10;

/** In the form that `append.ts` of the engine describes. */
function appendOf(baseOffset: number): Uint8Array {
  const writer = new ByteWriter(1024);
  writer.u32(0);
  writer.u32(PARTITION);
  writer.u64(baseOffset);
  writer.u64(STAMP_US);
  writer.u32(COUNT);
  writer.u8(0);
  for (let i = 0; i < COUNT; i++) {
    writer.u8(0);
    writer.blob(Buffer.from(JSON.stringify({ offset: baseOffset + i })));
  }
  writer.patchU32(0, crc32(writer.bytes.subarray(4, writer.length)));
  return writer.bytes.slice(0, writer.length);
}

/** Append `n` stands alone in entry `n + 1`; in memory, or on a disk that answers at once. */
function logOf(appends: readonly Uint8Array[], isRecent: boolean) {
  const asked = { times: 0 };
  const bytesOf = ({ index }: AppendSlice) => {
    asked.times++;
    return appends[index - 1];
  };
  const log = {
    recent: (slice: AppendSlice) => (isRecent ? bytesOf(slice) : undefined),
    read: (slice: AppendSlice, done: (error: null, bytes: Uint8Array | undefined) => void) =>
      done(null, bytesOf(slice)),
  };
  return { log: log as unknown as Log, asked };
}

function slice(append: number, from: number, to: number): AppendSlice {
  const baseOffset = append * COUNT;
  return {
    index: append + 1,
    position: 0,
    length: 0,
    baseOffset,
    stampUs: STAMP_US,
    first: baseOffset + from,
    last: baseOffset + to,
  };
}

function offsetsOf(reader: MessageReader, slices: readonly AppendSlice[]): number[] {
  let found: readonly MessageBatch[] = [];
  reader.read(slices, (error, batches) => {
    expect(error).toBe(null);
    found = batches;
  });
  return found.flatMap(({ bytes, payloadStart, payloadEnd, first, last }) => {
    const offsets: number[] = [];
    for (let i = first; i <= last; i++) {
      const payload = Buffer.from(bytes.subarray(payloadStart[i], payloadEnd[i])).toString();
      offsets.push(JSON.parse(payload).offset);
    }
    return offsets;
  });
}

const loop = new TurnedLoop();

function fail(error: Error): void {
  throw error;
}

test('an append that is read in parts is asked for once, in memory and on disk', () => {
  for (const isRecent of [true, false]) {
    const { log, asked } = logOf([appendOf(0)], isRecent);
    const reader = new MessageReader(log, null, loop, 1 << 20, fail);
    expect(offsetsOf(reader, [slice(0, 0, 3)])).toEqual([0, 1, 2, 3]);
    expect(offsetsOf(reader, [slice(0, 4, 9)])).toEqual([4, 5, 6, 7, 8, 9]);
    expect(offsetsOf(reader, [slice(0, 0, 9)])).toHaveLength(COUNT);
    expect(asked.times).toBe(1);
  }
});

test('an append that is read whole is kept when it came from the disk, and else not', () => {
  for (const isRecent of [true, false]) {
    const { log, asked } = logOf([appendOf(0), appendOf(COUNT)], isRecent);
    const reader = new MessageReader(log, null, loop, 1 << 20, fail);
    const both = [slice(0, 0, 9), slice(1, 0, 9)];
    expect(offsetsOf(reader, both)).toEqual(Array.from({ length: 2 * COUNT }, (_, i) => i));
    expect(offsetsOf(reader, both)).toHaveLength(2 * COUNT);
    expect(asked.times).toBe(isRecent ? 4 : 2);
  }
});

test('what is kept stays within its bound, and what was used last stays longest', () => {
  const appends = Array.from({ length: 9 }, (_, i) => appendOf(i * COUNT));
  const bytes = appends[8]?.buffer.byteLength ?? 0;
  const { log, asked } = logOf(appends, true);
  const reader = new MessageReader(log, null, loop, 8 * bytes, fail);
  for (let i = 0; i < 8; i++) offsetsOf(reader, [slice(i, 0, 0)]);
  expect(asked.times).toBe(8);
  // The first is used again; then one more than there is room for lets the oldest ones go.
  offsetsOf(reader, [slice(0, 1, 1)]);
  offsetsOf(reader, [slice(8, 0, 0)]);
  expect(asked.times).toBe(9);
  offsetsOf(reader, [slice(0, 2, 2)]);
  offsetsOf(reader, [slice(8, 1, 1)]);
  expect(asked.times).toBe(9);
  offsetsOf(reader, [slice(1, 1, 1)]);
  expect(asked.times).toBe(10);
});

describe('much at a time', () => {
  function read(reader: MessageReader, slices: readonly AppendSlice[]) {
    const ends: { readonly error: Error | null; readonly count: number }[] = [];
    reader.read(slices, (error, batches) => ends.push({ error, count: batches.length }));
    return ends;
  }

  test.each([
    ['in memory', true, 64],
    ['on disk', false, 8],
  ])('a thousand small appends %s are read in parts', (_, isRecent, inPart) => {
    const { log, asked } = logOf(
      Array.from({ length: 1000 }, (_, i) => appendOf(i * COUNT)),
      isRecent,
    );
    const slices = Array.from({ length: 1000 }, (_, i) => slice(i, 0, 9));
    const ends = read(new MessageReader(log, null, loop, 1 << 20, fail), slices);
    // Nothing but the overhead of each is counted: the slices of this test have no length.
    expect([asked.times, ends.length]).toEqual([inPart, 0]);
    loop.turn();
    expect([asked.times, ends.length]).toEqual([2 * inPart, 0]);
    while (loop.waiting > 0) loop.turn();
    expect(asked.times).toBe(1000);
    expect(ends).toEqual([{ error: null, count: 1000 }]);
  });

  test('an entry that was given up between two parts ends the read, and is no damage', () => {
    const { log } = logOf(
      Array.from({ length: 100 }, (_, i) => appendOf(i * COUNT)),
      false,
    );
    const slices = Array.from({ length: 100 }, (_, i) => slice(i, 0, 9));
    const ends = read(new MessageReader(log, null, loop, 1 << 20, fail), slices);
    (log as { firstIndex: number }).firstIndex = 60;
    loop.turn();
    expect(ends).toHaveLength(1);
    expect(ends[0]?.error).toBeInstanceOf(EntryGone);
  });
});
