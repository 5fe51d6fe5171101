/**
 * Goal: every frame comes back as it was sent, and no bytes whatever make the decoder throw or pass
 * for a frame that nobody sent. Method: one frame of each kind round and back; of each, every
 * truncation, every single flipped bit and some surplus; then frames of random content whose
 * checksum is right, so that the parsing behind it is met too.
 */
import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { added, choice, fields, GuardedReader, kind } from '@svc/engine';
import { describe, expect, test } from 'vitest';
import { memberId } from '../config/member-id.js';
import { seededRandom } from '../testing/recovery.fake.js';
import {
  ASK_SLOTS_MAX,
  anyLifeOf,
  decodeFrame,
  encodeFrame,
  FRAME_HEAD_BYTES,
  type FrameContent,
  FrameGate,
  frameKinds,
  SLOT_RESULTS,
} from './frames.js';

const ENTRY_BYTES_MAX = 4096;
const FROM = memberId(3, 0xfedc_ba98);
const TO = memberId(1, 0);
const BIG = Number.MAX_SAFE_INTEGER;

const NAME = {
  index: 100,
  term: 2,
  digest: '0123456789abcdef',
  localDigest: 'ffffffff00000001',
};

function bytes(...values: number[]): Uint8Array {
  return Uint8Array.from(values);
}

const CONTENTS: readonly FrameContent[] = [
  {
    kind: 'repair-ask',
    round: 0xffff_ffff,
    slots: [
      { kind: 'record', index: 7, previousTerm: 2, term: null, bodyCrc: 0xdead_beef },
      { kind: 'tail', index: BIG, previousTerm: null, term: 3, bodyCrc: null },
    ],
  },
  ...SLOT_RESULTS.map(
    (verdict): FrameContent => ({
      kind: 'repair-answer',
      round: 5,
      index: 9,
      verdict,
      term: 4,
      lastIndex: BIG,
      lastTerm: 3,
      led: verdict === 'purged',
      entry: verdict === 'have' ? { index: 9, term: 3, type: 1, data: bytes(1, 2, 3) } : null,
    }),
  ),
  { kind: 'snapshot-ask', attempt: 1, name: null, after: null },
  { kind: 'snapshot-ask', attempt: 1, name: NAME, after: '\x07\x00\xff' },
  {
    kind: 'snapshot-chunk',
    attempt: 1,
    name: NAME,
    after: '\x01',
    rows: [
      { key: '\x01\x00', value: bytes(9, 9) },
      { key: '\x02\xff', value: bytes() },
    ],
    isLast: true,
  },
  {
    kind: 'snapshot-chunk',
    attempt: 2,
    name: NAME,
    after: null,
    rows: [],
    isLast: false,
  },
  { kind: 'snapshot-refused', attempt: 1, reason: 'gone' },
  { kind: 'snapshot-done', index: 41, installed: true },
  { kind: 'log-floor', term: 6, floor: 1000, asOf: 2000 },
  { kind: 'node-report', readVersion: 5, commit: 2 ** 40, storageFull: true },
  { kind: 'digest', index: 1024, digest: '00ff00ff00ff00ff' },
];

function joined(content: FrameContent): Uint8Array {
  return new Uint8Array(Buffer.concat(encodeFrame(FROM, TO, content)));
}

/** Makes the checksum fit again, as a broken sender would. */
function sealed(frame: Uint8Array): Uint8Array {
  const crc = crc32(frame.subarray(FRAME_HEAD_BYTES), crc32(frame.subarray(0, 28)));
  new DataView(frame.buffer, frame.byteOffset).setUint32(28, crc);
  return frame;
}

describe.each(CONTENTS)('a frame of $kind', (content) => {
  test('comes back as it was sent', () => {
    expect(decodeFrame(joined(content), ENTRY_BYTES_MAX)).toEqual({ from: FROM, to: TO, content });
  });

  test('is refused when it is cut anywhere or goes on', () => {
    const whole = joined(content);
    for (let length = 0; length < whole.length; length++) {
      expect(typeof decodeFrame(whole.slice(0, length), ENTRY_BYTES_MAX)).toBe('string');
    }
    const longer = new Uint8Array(whole.length + 1);
    longer.set(whole);
    expect(typeof decodeFrame(longer, ENTRY_BYTES_MAX)).toBe('string');
    expect(decodeFrame(sealed(longer), ENTRY_BYTES_MAX)).toBe('length');
  });

  test('is refused when one bit of it is another', () => {
    const whole = joined(content);
    for (let bit = 0; bit < whole.length * 8; bit++) {
      const flipped = whole.slice();
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(typeof decodeFrame(flipped, ENTRY_BYTES_MAX)).toBe('string');
    }
  });

  test('with other bytes and a checksum that fits is a frame that can be sent, or refused', () => {
    const seed = 1;
    const random = seededRandom(seed);
    for (let i = 0; i < 3000; i++) {
      const frame = joined(content);
      for (let change = random.between(1, 4); change > 0; change--) {
        frame[random.between(5, frame.length - 1)] = random.below(256);
      }
      const read = decodeFrame(sealed(frame), ENTRY_BYTES_MAX);
      if (typeof read === 'string') continue;
      const again = Buffer.concat(encodeFrame(read.from, read.to, read.content));
      expect([seed, i, again.equals(frame)]).toEqual([seed, i, true]);
    }
  });
});

describe('the first build of this version', () => {
  /** Lines are added to it, and none is ever changed. */
  const golden: readonly (readonly [string, string])[] = JSON.parse(
    readFileSync(new URL('./first-frames.json', import.meta.url), 'utf8'),
  );

  test('wrote frames of all kinds as this one does', () => {
    const written = CONTENTS.map((one) => [one.kind, Buffer.from(joined(one)).toString('hex')]);
    expect(written).toEqual(golden);
    const kinds = new Set(golden.map(([name]) => name));
    expect(Object.keys(frameKinds).filter((name) => !kinds.has(name))).toEqual([]);
  });

  test.each(golden)('wrote %s, which is read when it has gained a field', (name, hex) => {
    const { number, fields: list } = frameKinds[name as keyof typeof frameKinds];
    const gained = added(fields.count, 7);
    const grown = choice('kind', { [name]: kind(number, { ...list, gained }) });
    const frame = Uint8Array.from(Buffer.from(hex, 'hex'));
    const r = new GuardedReader(frame, FRAME_HEAD_BYTES);
    const read = grown.readKind(r, number);
    expect([r.refused, read]).toMatchObject([false, { kind: name, gained: 7 }]);
  });
});

describe('frames', () => {
  test('without a mark, of another version, of an unknown kind and too large are named', () => {
    const frame = () => joined(CONTENTS.at(-1) as FrameContent);
    const changed = (at: number, value: number) => {
      const other = frame();
      other[at] = value;
      return decodeFrame(sealed(other), ENTRY_BYTES_MAX);
    };
    expect(decodeFrame(new Uint8Array(0), ENTRY_BYTES_MAX)).toBe('short');
    expect(changed(0, 0)).toBe('mark');
    expect(changed(4, 9)).toBe('version');
    expect(changed(5, 99)).toBe('kind');
    expect(changed(7, 1)).toBe('content');
    const large = new Uint8Array(8 << 20);
    large.set(frame());
    expect(decodeFrame(large, ENTRY_BYTES_MAX)).toBe('oversized');
  });

  test('of random bytes never throw', () => {
    const random = seededRandom(2);
    for (let i = 0; i < 20_000; i++) {
      const frame = random.bytes(random.between(FRAME_HEAD_BYTES, 120));
      const view = new DataView(frame.buffer);
      view.setUint32(0, 0x53_56_43_42);
      view.setUint8(4, 2);
      view.setUint8(5, random.between(1, 10));
      view.setUint16(6, 0);
      view.setUint32(24, frame.length - FRAME_HEAD_BYTES);
      decodeFrame(sealed(frame), ENTRY_BYTES_MAX);
    }
  });

  test('that ask for more slots than fit a question are refused', () => {
    const slot = { kind: 'record', index: 1, previousTerm: 0, term: 0, bodyCrc: 0 } as const;
    const slots = new Array(ASK_SLOTS_MAX + 1).fill(slot);
    const frame = joined({ kind: 'repair-ask', round: 1, slots });
    expect(decodeFrame(frame, ENTRY_BYTES_MAX)).toBe('content');
  });

  test('whose rows do not ascend are refused', () => {
    const chunk = CONTENTS.find(({ kind }) => kind === 'snapshot-chunk');
    if (chunk?.kind !== 'snapshot-chunk') throw new Error('no chunk');
    const rows = [...chunk.rows].reverse();
    expect(decodeFrame(joined({ ...chunk, rows }), ENTRY_BYTES_MAX)).toBe('content');
    expect(decodeFrame(joined({ ...chunk, after: '\x01\x00' }), ENTRY_BYTES_MAX)).toBe('content');
  });

  test('with heads of every length come back as they were sent', () => {
    for (let count = 0; count < 250; count++) {
      const rows = Array.from({ length: count }, (_, i) => {
        return { key: `\x01${String.fromCharCode(i)}${'k'.repeat(i % 9)}`, value: bytes(i) };
      });
      const content: FrameContent = {
        kind: 'snapshot-chunk',
        attempt: 1,
        name: NAME,
        after: '\x01',
        rows,
        isLast: false,
      };
      expect(decodeFrame(joined(content), ENTRY_BYTES_MAX)).toMatchObject({ content });
      const slots = Array.from({ length: count % 65 }, (_, index) => {
        return { kind: 'record', index, previousTerm: null, term: 1, bodyCrc: index } as const;
      });
      const ask: FrameContent = { kind: 'repair-ask', round: count, slots };
      expect(decodeFrame(joined(ask), ENTRY_BYTES_MAX)).toMatchObject({ content: ask });
    }
  });

  test('for another member, or not from the node they came from, are refused and counted', () => {
    const content = CONTENTS.at(-1) as FrameContent;
    const gate = new FrameGate(TO, ENTRY_BYTES_MAX);
    expect(gate.read(3, joined(content))?.content).toEqual(content);
    expect(gate.read(2, joined(content))).toBeNull();
    const former = new FrameGate(memberId(1, 5), ENTRY_BYTES_MAX);
    expect(former.read(3, joined(content))).toBeNull();
    expect(gate.counters()).toEqual({ 'foreign-sender': 1 });
    const ask: FrameContent = { kind: 'snapshot-ask', attempt: 1, name: null, after: null };
    const toAny = (one: FrameContent) =>
      new Uint8Array(Buffer.concat(encodeFrame(FROM, anyLifeOf(1), one)));
    expect(gate.read(3, toAny(ask))?.content).toEqual(ask);
    expect(former.read(3, toAny(ask))?.content).toEqual(ask);
    expect(gate.read(3, toAny(content))).toBeNull();
    expect(new FrameGate(memberId(2, 0), ENTRY_BYTES_MAX).read(3, toAny(ask))).toBeNull();
    expect(gate.counters()).toEqual({ 'foreign-sender': 1, 'other-member': 1 });
    expect(former.counters()).toEqual({ 'other-member': 1 });
  });
});
