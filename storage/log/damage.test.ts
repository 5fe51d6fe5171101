/**
 * Goal: damaged files are refused with a named place and left as they are, or the damage is without
 * effect; nothing wrong is ever served and nothing durable silently cut. Method: a small log of
 * several segments, then every bit position, every length and every kind of strange file, one at a
 * time; whatever opens must read back as it was.
 */
import { describe, expect, test } from 'vitest';
import { DamageError } from '../disk/faults.js';
import { SimulatedDisk } from '../testing/simulated-disk.js';
import type { LogEntry } from './entry.js';
import { Log } from './log.js';

const IDENTITY = new Uint8Array(16).fill(7);
const DIRECTORY = '/log';
type Files = ReadonlyMap<string, Uint8Array>;

function open(disk: SimulatedDisk, identity = IDENTITY): Log {
  return Log.open({
    disk,
    directory: DIRECTORY,
    identity,
    segmentBytes: 400,
    zeroFillBytes: 128,
    recentBytesMax: 0,
    onFailure: (error) => {
      throw error;
    },
  });
}

function append(disk: SimulatedDisk, log: Log, first: number, count: number, term: number): void {
  const entries: LogEntry[] = Array.from({ length: count }, (_, i) => ({
    index: first + i,
    term,
    type: 1,
    data: new Uint8Array(Buffer.from(`body ${first + i} of ${term}`.repeat((first + i) % 4))),
  }));
  log.append(entries, () => {});
  disk.settle();
}

/** Three segments, the last with a group of several records at its end. */
function smallLog(): Files {
  const disk = new SimulatedDisk({ seed: 1 });
  const log = open(disk);
  append(disk, log, 1, 3, 1);
  append(disk, log, 4, 3, 1);
  append(disk, log, 7, 4, 2);
  append(disk, log, 11, 1, 2);
  append(disk, log, 12, 3, 2);
  log.tick();
  disk.settle();
  return snapshot(disk);
}

function snapshot(disk: SimulatedDisk): Files {
  return new Map(disk.paths().map((path) => [path, disk.contents(path)]));
}

function diskWith(files: Files): SimulatedDisk {
  const disk = new SimulatedDisk({ seed: 1 });
  for (const [path, bytes] of files) disk.plant(path, bytes);
  return disk;
}

function content(log: Log): string[] {
  const found: string[] = [];
  for (let index = log.firstIndex; index <= log.lastIndex; index++) {
    const [entry] = log.entries(index, index + 1, 0);
    found.push(`${entry?.index}/${entry?.term}/${Buffer.from(entry?.data ?? []).toString()}`);
  }
  return found;
}

/** The fault's code, or what the log holds. A refused open must not have changed a file. */
function outcome(files: Files): string[] | string {
  const disk = diskWith(files);
  let log: Log;
  try {
    log = open(disk);
  } catch (error) {
    if (!(error instanceof DamageError)) throw error;
    expect(snapshot(disk)).toEqual(files);
    expect(error.file.startsWith(DIRECTORY)).toBe(true);
    expect(error.message).toContain(error.advice);
    return error.code;
  }
  try {
    return content(log);
  } catch (error) {
    if (!(error instanceof DamageError)) throw error;
    return error.code;
  }
}

function withFile(files: Files, path: string, bytes: Uint8Array | null): Files {
  const changed = new Map(files);
  if (bytes === null) changed.delete(path);
  else changed.set(path, bytes);
  return changed;
}

const files = smallLog();
const whole = outcome(files);
const logs = [...files.keys()].filter((path) => path.endsWith('.log'));
const lastLog = logs.at(-1) ?? '';

test('the small log has what the tests below need', () => {
  expect(logs.length).toBe(3);
  expect([...files.keys()].filter((path) => path.endsWith('.index')).length).toBe(2);
  expect(whole.length).toBe(14);
});

test('a flipped bit anywhere is detected or without effect', () => {
  const codes = new Set<string>();
  for (const [path, bytes] of files) {
    for (let at = 0; at < bytes.length; at++) {
      const flipped = bytes.slice();
      flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8));
      const found = outcome(withFile(files, path, flipped));
      if (typeof found === 'string') codes.add(found);
      else expect(found, `${path} at ${at}`).toEqual(whole);
    }
  }
  expect([...codes].sort()).toEqual(['log_header', 'log_record_damaged']);
});

test('a flipped bit in the last group is damage, with or without a witness', () => {
  const end = 64 + 40;
  const bytes = files.get(lastLog)?.slice() ?? new Uint8Array(0);
  bytes[end - 8] = (bytes[end - 8] ?? 0) ^ 1;
  expect(outcome(withFile(files, lastLog, bytes))).toBe('log_record_damaged');
  const at = Buffer.from(files.get(lastLog) ?? []).indexOf('body 14');
  for (const offset of [at, at - 40, at - 1]) {
    const flipped = files.get(lastLog)?.slice() ?? new Uint8Array(0);
    flipped[offset] = (flipped[offset] ?? 0) ^ 1;
    const damaged = withFile(files, lastLog, flipped);
    expect(outcome(damaged)).toBe('log_record_damaged');
    expect(outcome(withFile(damaged, `${DIRECTORY}/witness`, null))).toBe('log_record_damaged');
  }
});

test('zeros in the place of the last record are a torn write unless the witness knows it', () => {
  const zeroed = files.get(lastLog)?.slice() ?? new Uint8Array(0);
  zeroed.fill(0, Buffer.from(zeroed).indexOf('body 14') - 20);
  const damaged = withFile(files, lastLog, zeroed);
  expect(outcome(damaged)).toBe('log_tail_damaged');
  const unwitnessed = withFile(damaged, `${DIRECTORY}/witness`, null);
  expect(outcome(unwitnessed)).toEqual(whole.slice(0, -1));
});

test('every shorter length of every file is detected or without effect', () => {
  const codes = new Set<string>();
  for (const [path, bytes] of files) {
    for (let length = 0; length < bytes.length; length++) {
      const found = outcome(withFile(files, path, bytes.subarray(0, length)));
      if (typeof found === 'string') codes.add(found);
      else expect(found, `${path} cut to ${length}`).toEqual(whole);
    }
  }
  expect(codes).toContain('log_truncated');
  expect(codes).toContain('log_tail_damaged');
});

test('a missing file is detected or without effect', () => {
  const missing = [...files.keys()].map((path) => outcome(withFile(files, path, null)));
  const codes = missing.filter((found) => typeof found === 'string');
  // The first segment may have been given up on purpose; the caller compares firstIndex.
  expect(codes).toEqual(['log_gap', 'log_segment_missing']);
  const first = missing[[...files.keys()].indexOf(logs[0] ?? '')];
  expect(whole.slice(-(first?.length ?? 0))).toEqual(first);
});

describe('strange files', () => {
  test.each([
    ['text', new Uint8Array(Buffer.from('#!/bin/sh\n'.repeat(100)))],
    ['a short text', new Uint8Array(Buffer.from('x'))],
    ['zeros longer than a header', new Uint8Array(500)],
  ])('%s under the name of the next segment', (_name, bytes) => {
    const path = `${DIRECTORY}/segment-0000000009.log`;
    expect(outcome(withFile(files, path, bytes))).toBe('log_header');
  });

  test.each([
    ['nothing', new Uint8Array(0)],
    ['zeros', new Uint8Array(64)],
  ])('%s as the next segment: its creation was cut short', (_name, bytes) => {
    const path = `${DIRECTORY}/segment-0000000009.log`;
    expect(outcome(withFile(files, path, bytes))).toEqual(whole);
  });

  test('a segment under another name', () => {
    const path = `${DIRECTORY}/segment-0000000009.log`;
    const bytes = files.get(lastLog) ?? null;
    expect(outcome(withFile(files, path, bytes))).toBe('log_file_renamed');
  });

  test('the log of another directory', () => {
    expect(() => open(diskWith(files), new Uint8Array(16).fill(8))).toThrow(
      /another data directory/,
    );
  });

  test('a segment of a later format version', () => {
    const bytes = files.get(lastLog)?.slice() ?? new Uint8Array(0);
    bytes[4] = 2;
    expect(outcome(withFile(files, lastLog, bytes))).toBe('log_header');
  });

  test('a segment from before a truncation put back', () => {
    const disk = diskWith(files);
    const log = open(disk);
    append(disk, log, 11, 2, 3);
    log.tick();
    disk.settle();
    const stale = withFile(snapshot(disk), lastLog, files.get(lastLog) ?? null);
    expect(outcome(stale)).toBe('log_chain_break');
  });

  test('other names are none of our business', () => {
    expect(outcome(withFile(files, `${DIRECTORY}/notes.txt`, new Uint8Array(3)))).toEqual(whole);
  });
});

test('a payload that looks like a record is not taken for one', () => {
  const image = files.get(lastLog)?.subarray(64) ?? new Uint8Array(0);
  const disk = new SimulatedDisk({ seed: 1 });
  const log = open(disk);
  log.append([{ index: 1, term: 1, type: 1, data: image }], () => {});
  disk.settle();
  const path = `${DIRECTORY}/segment-0000000001.log`;
  const torn = disk.contents(path);
  // Its first sector was not stored: what is left of the body is all images of records.
  torn.fill(0, 64, 512);
  expect(outcome(withFile(new Map(), path, torn))).toEqual([]);
});
