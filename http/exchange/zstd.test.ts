// Goal: what was compressed comes out as it was; what is no zstd, claims too much, or takes too
// long is told as that, costs bounded memory and time, and leaves the next payload unharmed.
// Method: frames of the reference tool (`zstd -19`, with and without a content size), frames made
// by hand, and one whose ten bytes of sequences are seconds of work.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Decompressed, JOB_MS_MAX, Zstd } from './zstd.js';
import { zstdFrames } from './zstd-frames.js';

/** 1,001 bytes of `{"items":[{"name":"item 0","n":0},...`, with its size and without it. */
const DECLARED = Buffer.from(
  'KLUv/WTpAjUEAPKGExGg7dFPsP7+hx1+szLcsyp1ApXVtGjPmi1LdvfrHZuOfm5eTr7//fFk5GPjYuL1bQ9vOvIZ' +
    'xpRCyO5vizpUiEGEAVRwsMVAlwoSuvkCDTKoEZD1fXYDsKPSAREkOOERARb2B211An9UJ5tYgfG1Xb1FVs32NerrNerr' +
    'Mrp2WKupCLBVXS/DRQ==',
  'base64',
);
const UNDECLARED = Buffer.from(
  'KLUv/QRoNQQA8oYTEaDt0U+w/v6HHX6zMtyzKnUCldW0aM+aLUt29+sdm45+bl5Ovv/98WTkY+Ni4vVtD2868hnG' +
    'lELI7m+LOlSIQYQBVHCwxUCXChK6+QINMqgRkPV9dgOwo9IBESQ44REBFvYHbXUCf1Qnm1iB8bVdvUVWzfY16us16usy' +
    'unZYq6kIsFVdL8NF',
  'base64',
);
const TEXT = JSON.stringify({
  items: Array.from({ length: 40 }, (_, n) => ({ name: `item ${n % 7}`, n })),
});
const MAGIC = [0x28, 0xb5, 0x2f, 0xfd];
const RAW = 0;
const REPEATED = 1;
const COMPRESSED = 2;

function block(isLast: boolean, kind: number, bytes: number): number[] {
  const head = (isLast ? 1 : 0) + kind * 2 + bytes * 8;
  return [head & 255, (head >>> 8) & 255, (head >>> 16) & 255];
}

function u32(value: number): number[] {
  return [value & 255, (value >>> 8) & 255, (value >>> 16) & 255, value >>> 24];
}

/** A single segment that says how long it is. */
function declaring(bytes: number, ...blocks: number[]): Uint8Array {
  return new Uint8Array([...MAGIC, 0xa0, ...u32(bytes), ...blocks]);
}

/** With a window of 128 KiB, and without a size. */
function silent(...blocks: number[]): Uint8Array {
  return new Uint8Array([...MAGIC, 0, 0x38, ...blocks]);
}

/** Seconds of work in ten bytes. */
const SEQUENCES = [0, 255, 255, 255, 0x54, 0, 2, 52, 0x80];
const BOMB = declaring(131_072, ...block(true, COMPRESSED, SEQUENCES.length), ...SEQUENCES);

let zstd: Zstd;

// A timer ends when a test says so: how long a thread takes to start, on a machine with other work,
// decides nothing.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  zstd = new Zstd(() => 0);
});

afterEach(() => {
  zstd.stop();
  vi.useRealTimers();
});

function decompress(payload: Uint8Array, bytesMax = 100_000): Promise<Decompressed> {
  return new Promise((resolve) => zstd.decompress('a', payload, bytesMax, resolve));
}

const textOf = (result: Decompressed) => Buffer.from(result as Uint8Array).toString('latin1');

describe('what the reference tool wrote', () => {
  test.each([
    ['with its size', DECLARED, { declaredBytes: 1001, windowBytes: 1001 }],
    ['without', UNDECLARED, { declaredBytes: null, windowBytes: 8_388_608 }],
  ])('%s', async (_, payload, frames) => {
    expect(zstdFrames(payload)).toEqual(frames);
    expect(textOf(await decompress(payload, 8_388_608))).toBe(TEXT);
  });

  test('frames one after the other, and one to be skipped', async () => {
    const skipped = new Uint8Array([0x5a, 0x2a, 0x4d, 0x18, ...u32(3), 1, 2, 3]);
    const frames = Buffer.concat([DECLARED, skipped, DECLARED]);
    expect(zstdFrames(frames)?.declaredBytes).toBe(2002);
    expect(textOf(await decompress(frames))).toBe(TEXT + TEXT);
  });
});

describe('what is none', () => {
  test.each([
    ['nothing', new Uint8Array(0)],
    ['text', Buffer.from('{"a":1}')],
    ['a frame that is cut', DECLARED.subarray(0, 60)],
    ['a frame with something behind it', Buffer.concat([DECLARED, Buffer.from([1])])],
    ['a reserved bit', new Uint8Array([...MAGIC, 0x28, 1, ...block(true, RAW, 1), 7])],
    ['a dictionary', new Uint8Array([...MAGIC, 0x21, 5, 1, ...block(true, RAW, 1), 7])],
    ['a reserved kind of block', declaring(1, ...block(true, 3, 1), 7)],
    ['a block longer than blocks are', silent(...block(true, REPEATED, 131_073), 7)],
    ['less than it declares', declaring(9, ...block(true, RAW, 2), 1, 2)],
    ['more than it declares', declaring(1, ...block(true, RAW, 2), 1, 2)],
  ])('%s', async (_, payload) => {
    expect(await decompress(payload)).toBe('corrupt');
  });

  test('every cut of a frame', async () => {
    for (let length = 0; length < DECLARED.length; length++) {
      expect(zstdFrames(DECLARED.subarray(0, length))).toBeNull();
    }
  });
});

describe('what is too much', () => {
  test('a size that is only claimed', async () => {
    expect(await decompress(declaring(0xffff_ffff, ...block(true, RAW, 1), 7))).toBe('too-large');
  });

  test('a window that is only claimed', async () => {
    const payload = new Uint8Array([...MAGIC, 0, 0xff, ...block(true, RAW, 1), 7]);
    expect(await decompress(payload)).toBe('too-large');
  });

  test('blocks that say one byte over and over', async () => {
    const many = Array.from({ length: 64 }, () => [...block(false, REPEATED, 131_072), 7]).flat();
    const payload = silent(...many, ...block(true, RAW, 0));
    expect(await decompress(payload, 1_000_000)).toBe('too-large');
    const result = await decompress(payload, 64 * 131_072);
    expect(result).toHaveLength(64 * 131_072);
  });
});

describe('the line', () => {
  function ask(tenant: string, payload: Uint8Array): Promise<Decompressed> {
    return new Promise((resolve) => zstd.decompress(tenant, payload, 200_000, resolve));
  }

  test('who has waited too long is sent away', async () => {
    let nowMs = 0;
    zstd = new Zstd(() => nowMs);
    const first = ask('a', DECLARED);
    const second = ask('a', DECLARED);
    const third = ask('b', DECLARED);
    nowMs = 60_000;
    expect(textOf(await first)).toBe(TEXT);
    expect(await Promise.all([second, third])).toEqual(['overloaded', 'overloaded']);
  });

  test('seconds of work in ten bytes are given up, the payload behind them is not', async () => {
    const results: Decompressed[] = [];
    zstd.decompress('a', BOMB, 200_000, (result) => results.push(result));
    const behind = ask('a', DECLARED);
    vi.advanceTimersByTime(JOB_MS_MAX - 1);
    expect(results).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(results).toEqual(['too-slow']);
    expect(textOf(await behind)).toBe(TEXT);
  });

  test('many slow payloads of a tenant hold up another for one of them', async () => {
    const results: Decompressed[] = [];
    for (let i = 0; i < 5; i++) {
      zstd.decompress('a', BOMB, 200_000, (result) => results.push(result));
    }
    const other = ask('b', DECLARED);
    vi.advanceTimersByTime(JOB_MS_MAX);
    expect(textOf(await other)).toBe(TEXT);
    for (let i = 0; i < 4; i++) vi.advanceTimersByTime(JOB_MS_MAX);
    expect(results).toEqual(new Array(5).fill('too-slow'));
  });

  test('tenants take turns, each with its oldest', async () => {
    const ended: string[] = [];
    const of = (name: string) => ask(name.charAt(0), DECLARED).then(() => ended.push(name));
    await Promise.all(['a1', 'a2', 'a3', 'b1', 'b2', 'c1', 'a4'].map(of));
    expect(ended).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  });

  test('a full line loses what the tenant with the most in it sent last', async () => {
    const refused: number[] = [];
    const all = Array.from({ length: 1025 }, (_, i) =>
      ask('a', DECLARED).then((result) => result === 'overloaded' && refused.push(i)),
    );
    const other = ask('b', DECLARED);
    expect(textOf(await other)).toBe(TEXT);
    await Promise.all(all);
    expect(refused).toEqual([1024]);
  });
});
