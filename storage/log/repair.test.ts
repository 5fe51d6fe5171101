/**
 * Goal: whatever byte of whatever file of a log is damaged, the log says so and can be made whole
 * from another node's copy, byte for byte, or it refuses; it never serves wrong or missing entries
 * as if nothing were. Method: a table over every region of every file, each bit of it flipped in
 * turn, with the outcome for a node that refuses damage and for one that keeps it and asks a peer;
 * then directed cases of runs, lost files and false entries; then random damage under seeds.
 */
import { describe, expect, test } from 'vitest';
import {
  build,
  content,
  diskWith,
  entry,
  expectHonest,
  type Files,
  flipped,
  heal,
  keeping,
  LAST,
  open,
  PEER,
  refusing,
  SUBJECT,
  WHOLE,
  WITNESS,
  withFile,
} from '../testing/damaged-log.fake.js';

const peer = open(diskWith(build(PEER, 'close')), PEER, 'refuse');

// --- the map of the files ------------------------------------------------------------------------

interface Region {
  readonly path: string;
  readonly from: number;
  readonly to: number;
}

const killed = build(SUBJECT, 'kill');
const closed = build(SUBJECT, 'close');
const logs = [...killed.keys()].filter((path) => path.endsWith('.log'));
const indexes = [...killed.keys()].filter((path) => path.endsWith('.index'));
const active = logs.at(-1) ?? '';

interface Place {
  readonly path: string;
  readonly at: number;
  readonly length: number;
}

/** Where each record stands, read from the intact files. */
const places = new Map<number, Place>();
for (const path of logs) {
  const bytes = killed.get(path) ?? new Uint8Array(0);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 64; at + 40 <= bytes.length && view.getUint32(at + 36, true) !== 0; ) {
    const length = view.getUint32(at + 12, true);
    places.set(view.getUint32(at + 16, true), { path, at, length });
    at += 40 + Math.ceil(length / 8) * 8;
  }
}

function place(index: number): Place {
  const found = places.get(index);
  if (found === undefined) throw new Error(`no record ${index}`);
  return found;
}

const SEGMENT_FIELDS = {
  magic: [0, 4],
  version: [4, 6],
  flags: [6, 8],
  identity: [8, 24],
  sequence: [24, 32],
  firstIndex: [32, 40],
  previousTerm: [40, 48],
  previousCrc: [48, 52],
  reserved: [52, 60],
  crc: [60, 64],
} as const;
const RECORD_FIELDS = {
  headerCrc: [0, 4],
  bodyCrc: [4, 8],
  previousCrc: [8, 12],
  length: [12, 16],
  index: [16, 24],
  term: [24, 32],
  groupDistance: [32, 36],
  type: [36, 37],
  mark: [37, 40],
} as const;
const INDEX_FIELDS = {
  magic: [0, 4],
  version: [4, 8],
  identity: [8, 24],
  sequence: [24, 32],
  firstIndex: [32, 40],
  count: [40, 44],
  endPosition: [44, 48],
  lastCrc: [48, 52],
  runCount: [52, 56],
  positionsCrc: [56, 60],
  runs: [60, 76],
} as const;

function inRecord(index: number, [from, to]: readonly [number, number]): Region {
  const { path, at } = place(index);
  return { path, from: at + from, to: at + to };
}

function bodyOf(index: number): Region {
  const { path, at, length } = place(index);
  return { path, from: at + 40, to: at + 40 + length };
}

function paddingOf(index: number): Region {
  const { path, at, length } = place(index);
  return { path, from: at + 40 + length, to: at + 40 + Math.ceil(length / 8) * 8 };
}

/** In a longer region every fifth bit is flipped, which meets all places in a byte. */
const EACH_BIT_BYTES_MAX = 32;

/** The outcomes of each bit of a region, once each. */
function outcomes(region: Region, original: Files): { refuse: string; keep: string } {
  const refuse = new Set<string>();
  const keep = new Set<string>();
  expect(region.to, `${region.path} ${region.from}..`).toBeGreaterThan(region.from);
  const step = region.to - region.from > EACH_BIT_BYTES_MAX ? 5 : 1;
  for (let bit = region.from * 8; bit < region.to * 8; bit += step) {
    const files = flipped(original, region.path, bit);
    refuse.add(refusing(files));
    keep.add(keeping(files, original, peer));
  }
  return { refuse: [...refuse].sort().join(' | '), keep: [...keep].sort().join(' | ') };
}

const path = (at: number) => logs[at] ?? '';
const middle = path(1);
/** The last record of the first segment, and one in the middle of the second. */
const sealedLast = [...places].filter(([, each]) => each.path === path(0)).at(-1)?.[0] ?? 0;
const sealedMiddle = [...places].filter(([, each]) => each.path === middle)[2]?.[0] ?? 0;
const activeFirst = [...places].find(([, each]) => each.path === active)?.[0] ?? 0;

test('the log has what the table needs', () => {
  expect(logs.length).toBe(3);
  expect(indexes.length).toBe(2);
  expect(places.size).toBe(LAST);
  expect(activeFirst).toBeLessThan(20);
  for (const index of [sealedLast, sealedMiddle, activeFirst, LAST]) {
    expect(bodyOf(index).to, `body of ${index}`).toBeGreaterThan(bodyOf(index).from);
  }
  expect(keeping(killed, killed, peer)).toBe('repaired');
  expect(refusing(killed)).toBe('whole');
});

describe('every bit of a segment header', () => {
  const rows = Object.entries(SEGMENT_FIELDS).flatMap(([field, [from, to]]) =>
    [path(0), middle, active].map((file) => [field, file, from, to] as const),
  );
  test.each(rows)('%s of %s', (_field, file, from, to) => {
    expect(outcomes({ path: file, from, to }, killed)).toEqual({
      refuse: 'log_header',
      keep: 'repaired',
    });
  });
});

describe('every bit of a record header', () => {
  const indexesOf = { sealedMiddle, sealedLast, activeFirst, second: 20, last: LAST };
  const rows = Object.entries(RECORD_FIELDS).flatMap(([field, range]) =>
    Object.entries(indexesOf).map(([name, index]) => [field, name, index, range] as const),
  );
  test.each(rows)('%s of %s', (_field, _name, index, range) => {
    expect(outcomes(inRecord(index, range), killed)).toEqual({
      refuse: 'log_record_damaged',
      keep: 'repaired',
    });
  });

  test('the last one, after an orderly stop', () => {
    for (const range of Object.values(RECORD_FIELDS)) {
      expect(outcomes(inRecord(LAST, range), closed).keep).toBe('repaired');
    }
  });

  test('the last one, and no witness: nothing pins it', () => {
    const unwitnessed = withFile(killed, WITNESS, null);
    for (const range of Object.values(RECORD_FIELDS)) {
      expect(outcomes(inRecord(LAST, range), unwitnessed)).toEqual({
        refuse: 'log_record_damaged',
        keep: `cut at ${LAST}`,
      });
    }
  });
});

describe('every bit of a body', () => {
  test.each([sealedMiddle, sealedLast, activeFirst, 21, LAST])('of record %d', (index) => {
    expect(outcomes(bodyOf(index), killed)).toEqual({
      refuse: 'log_record_damaged',
      keep: 'repaired',
    });
    const unwitnessed = withFile(killed, WITNESS, null);
    expect(outcomes(bodyOf(index), unwitnessed)).toEqual({
      refuse: 'log_record_damaged',
      keep: 'repaired',
    });
  });
});

test('every bit of padding is nobody’s', () => {
  const padded = [...places.keys()].filter((index) => paddingOf(index).to > paddingOf(index).from);
  expect(padded.length).toBeGreaterThan(5);
  for (const index of padded) {
    expect(outcomes(paddingOf(index), killed)).toEqual({ refuse: 'whole', keep: 'equal' });
  }
});

test('a bit in the zeros behind the last record costs nothing, and no entry at worst', () => {
  const { at, length } = place(LAST);
  const from = at + 40 + Math.ceil(length / 8) * 8;
  const to = killed.get(active)?.length ?? 0;
  // A bit in the last byte of a header's place looks like the rest of a header.
  const last = from + 39;
  for (const region of [
    { path: active, from, to: last },
    { path: active, from: last + 1, to },
  ]) {
    expect(outcomes(region, killed).refuse).toBe('whole');
    expect(outcomes(region, killed).keep).toBe('repaired');
    expect(outcomes(region, closed)).toEqual({ refuse: 'whole', keep: 'repaired' });
  }
  const odd = outcomes({ path: active, from: last, to: last + 1 }, killed);
  expect(odd).toEqual({ refuse: 'log_record_damaged', keep: 'repaired' });
});

describe('every bit of an index file', () => {
  const rows = Object.entries(INDEX_FIELDS).flatMap(([field, [from, to]]) =>
    indexes.map((file) => [field, file, from, to] as const),
  );
  test.each(rows)('%s of %s', (_field, file, from, to) => {
    expect(outcomes({ path: file, from, to }, killed)).toEqual({
      refuse: 'whole',
      keep: expect.stringMatching(/^(repaired|equal)$/),
    });
  });

  test.each(indexes)('the rest of %s', (file) => {
    const to = killed.get(file)?.length ?? 0;
    const found = outcomes({ path: file, from: 76, to }, killed);
    expect(found.refuse).toBe('whole');
    expect(found.keep).not.toContain('refused');
    expect(found.keep).not.toContain('cut');
  });
});

test('every bit of the witness', () => {
  expect(outcomes({ path: WITNESS, from: 0, to: 64 }, killed)).toEqual({
    refuse: 'whole',
    keep: 'repaired',
  });
});

describe('files that are shorter or gone', () => {
  test.each([...killed.keys()])('every length of %s', (file) => {
    const bytes = killed.get(file) ?? new Uint8Array(0);
    for (let length = 0; length < bytes.length; length++) {
      const files = withFile(killed, file, bytes.subarray(0, length));
      const found = keeping(files, killed, peer);
      expect(found, `cut to ${length}`).not.toContain('refused');
      if (file !== active) expect(found, `cut to ${length}`).not.toContain('cut');
    }
  });

  test.each([0, 1])('index file %d and any length of its segment', (at) => {
    const file = path(at);
    const bytes = killed.get(file) ?? new Uint8Array(0);
    const unindexed = withFile(killed, indexes[at] ?? '', null);
    for (let length = 64; length < bytes.length; length++) {
      const found = keeping(withFile(unindexed, file, bytes.subarray(0, length)), killed, peer);
      expect(found, `cut to ${length}`).not.toContain('refused');
    }
  });

  test('a segment in the middle, with and without its index file', () => {
    const lost = withFile(killed, middle, null);
    expect(keeping(lost, killed, peer)).toMatch(/^(repaired|equal)$/);
    const disk = diskWith(withFile(lost, indexes[1] ?? '', null));
    const log = open(disk, SUBJECT, 'keep');
    expect(log.recovery.segmentsRecreated).toBe(1);
    expectHonest(log);
    heal(disk, log, peer);
    expect(content(log)).toEqual(WHOLE);
  });

  test('the last segment', () => {
    const disk = diskWith(withFile(killed, active, null));
    const log = open(disk, SUBJECT, 'keep');
    const index = log.lastIndex + 1;
    const slots = log.damage();
    expect(slots).toMatchObject([{ kind: 'tail', index, lastIndex: LAST, file: active }]);
    expect(() => log.append([entry(index, 9)], () => {})).toThrow(/not settled/);
    // Nothing that runs by itself may make the log forget it.
    log.tick();
    disk.settle();
    disk.crash('process');
    const again = open(disk, SUBJECT, 'keep');
    expect(again.damage()).toEqual(slots);
    again.close(() => {});
    disk.settle();
    expect(open(disk, SUBJECT, 'keep').damage()).toEqual(slots);
    expect(keeping(withFile(killed, active, null), killed, peer)).toBe(`cut at ${index}`);
  });
});
