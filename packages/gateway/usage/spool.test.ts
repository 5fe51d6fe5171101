// Goal: spool files on a disk and in memory are alike. Method: one table for both, and apart what
// a disk alone does.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { MemorySpool } from './memory-spool.fake.js';
import { DiskSpool } from './spool-disk.js';
import { SpoolError, type SpoolFiles, spoolName } from './spool-files.js';

const root = mkdtempSync(join(tmpdir(), 'svc-spool-'));
afterAll(() => rmSync(root, { recursive: true }));
let directories = 0;
const freshDirectory = () => join(root, String(directories++), 'spool');

interface Case {
  readonly name: string;
  readonly run: (files: SpoolFiles) => Promise<void>;
}

const CASES: readonly Case[] = [
  {
    name: 'there is nothing at first',
    run: async (files) => {
      expect(await files.list()).toEqual([]);
      expect(await files.read('meter-1-0.buf')).toBeNull();
    },
  },
  {
    name: 'what was appended is read, while the file is open and later',
    run: async (files) => {
      const file = files.create('meter-1-0.buf');
      file?.append('one\n');
      file?.append('zwei ü\n');
      expect(await files.read('meter-1-0.buf')).toBe('one\nzwei ü\n');
      file?.close();
      expect(await files.read('meter-1-0.buf')).toBe('one\nzwei ü\n');
    },
  },
  {
    name: 'a name is given once',
    run: async (files) => {
      files.create('meter-1-0.buf')?.close();
      expect(files.create('meter-1-0.buf')).toBeNull();
      await files.remove('meter-1-0.buf');
      files.create('meter-1-0.buf')?.close();
      expect(await files.read('meter-1-0.buf')).toBe('');
    },
  },
  {
    name: 'the list is by time and number',
    run: async (files) => {
      for (const [wallMs, number] of [
        [100, 0],
        [20, 11],
        [20, 2],
      ] as const) {
        files.create(spoolName(wallMs, number))?.close();
      }
      expect(await files.list()).toEqual(['meter-20-2.buf', 'meter-20-11.buf', 'meter-100-0.buf']);
    },
  },
  {
    name: 'what is gone can be removed again, also while it is open',
    run: async (files) => {
      const file = files.create('meter-1-0.buf');
      await files.remove('meter-1-0.buf');
      await files.remove('meter-1-0.buf');
      file?.append('lost\n');
      file?.close();
      expect(await files.list()).toEqual([]);
      expect(await files.read('meter-1-0.buf')).toBeNull();
    },
  },
];

describe.each([
  ['in memory', () => new MemorySpool()],
  ['on disk', () => new DiskSpool(freshDirectory())],
] as const)('%s', (_where, make) => {
  test.each(CASES)('$name', ({ run }) => run(make()));
});

test('a file on disk is whole when append returns, and others are not listed', async () => {
  const directory = freshDirectory();
  const files = new DiskSpool(directory);
  const file = files.create('meter-1-0.buf');
  file?.append('x'.repeat(100_000));
  expect(readFileSync(join(directory, 'meter-1-0.buf'), 'utf8')).toHaveLength(100_000);
  file?.close();
  writeFileSync(join(directory, 'meter-1-0.buf.tmp'), '');
  writeFileSync(join(directory, 'notes.txt'), '');
  expect(await files.list()).toEqual(['meter-1-0.buf']);
});

test('a directory that cannot be one is a spool error in every call', async () => {
  const path = join(root, 'file');
  writeFileSync(path, '');
  const files = new DiskSpool(join(path, 'below'));
  expect(() => files.create('meter-1-0.buf')).toThrow(SpoolError);
  await expect(files.list()).rejects.toThrow(SpoolError);
  await expect(files.read('meter-1-0.buf')).rejects.toThrow(SpoolError);
});
