/**
 * Goal: the real and the simulated disk keep the same promises, so that what is proven above the
 * one holds above the other. Method: one table of cases, run against both; then what only the
 * simulated one does, its faults, each checked to happen.
 */
import {
  constants,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync as readFile,
  readlinkSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SimulatedDisk } from '../testing/simulated-disk.js';
import { type Disk, type DiskFile, type OpenMode, readFileSync, replaceFileSync } from './disk.js';
import { DiskError, LockedError } from './faults.js';
import { RealDisk } from './real.js';

interface Subject {
  readonly disk: Disk;
  readonly directory: string;
  readonly cleanUp: () => void;
}

function real(): Subject {
  const directory = mkdtempSync(join(tmpdir(), 'disk-'));
  const cleanUp = () => rmSync(directory, { recursive: true });
  return { disk: new RealDisk(), directory, cleanUp };
}

function simulated(): Subject {
  const disk = new SimulatedDisk({ seed: 1, defer: (run) => setImmediate(run) });
  disk.makeDirectorySync('/data');
  return { disk, directory: '/data', cleanUp: () => {} };
}

const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'));
const A_MIB = new Uint8Array(1_048_576);
const text = (content: Uint8Array) => Buffer.from(content).toString('latin1');

function finished(start: (done: (error: DiskError | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start((error) => (error === null ? resolve() : reject(error)));
  });
}

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return error instanceof DiskError ? error.code : `not a DiskError: ${String(error)}`;
  }
  return 'no error';
}

describe.each([
  ['real', real],
  ['simulated', simulated],
])('%s disk', (_name, create) => {
  let subject: Subject;
  let disk: Disk;
  let path: string;
  let file: DiskFile;

  beforeEach(() => {
    subject = create();
    disk = subject.disk;
    path = `${subject.directory}/file`;
    file = disk.openSync(path, 'create');
  });

  afterEach(() => {
    file.closeSync();
    subject.cleanUp();
  });

  test('a write of several buffers is one piece of content', async () => {
    await finished((done) => file.write([bytes('abc'), bytes(''), bytes('defg')], 2, done));
    await finished((done) => file.sync(done));
    expect(text(readFileSync(disk, path))).toBe('\0\0abcdefg');
  });

  test('more buffers than the kernel takes in one call', async () => {
    const buffers = Array.from({ length: 2500 }, (_, i) => bytes(`${i},`));
    await finished((done) => file.write(buffers, 0, done));
    expect(text(readFileSync(disk, path))).toBe(buffers.map(text).join(''));
  });

  test('synced writes and others go to one content, however many buffers', async () => {
    const buffers = Array.from({ length: 2500 }, (_, i) => bytes(`${i},`));
    const content = buffers.map(text).join('');
    await finished((done) => file.write([bytes('head,')], 0, done));
    await finished((done) => file.writeSynced(buffers, 5, done));
    await finished((done) => file.writeSynced([bytes('end')], 5 + content.length, done));
    expect(text(readFileSync(disk, path))).toBe(`head,${content}end`);
  });

  test('a read past the end is short and reports no error', async () => {
    file.writeSync(bytes('hello'), 0);
    const into = new Uint8Array(10);
    expect(file.readSync(into, 2)).toBe(3);
    const count = await new Promise((resolve) => file.read(into, 1, (_, read) => resolve(read)));
    expect(count).toBe(4);
    expect(text(into.subarray(0, 4))).toBe('ello');
    expect(file.readSync(into, 99)).toBe(0);
  });

  test('callbacks never run inside the call', async () => {
    let inside = true;
    const calls = finished((done) =>
      file.write([bytes('x')], 0, (error) => {
        expect(inside).toBe(false);
        done(error);
      }),
    );
    inside = false;
    await calls;
  });

  test('a close waits for what is under way, and nothing more is taken', async () => {
    const other = disk.openSync(`${subject.directory}/other`, 'create');
    const running = Promise.all([
      ...Array.from({ length: 8 }, (_, i) => finished((done) => other.write([A_MIB], i, done))),
      ...Array.from({ length: 8 }, (_, i) =>
        finished((done) => other.writeSynced([bytes('late')], i * 4, done)),
      ),
      finished((done) => other.sync(done)),
    ]);
    other.closeSync();
    expect(codeOf(() => other.sync(() => {}))).toBe('EBADF');
    expect(codeOf(() => other.writeSynced([bytes('x')], 0, () => {}))).toBe('EBADF');
    expect(codeOf(() => other.readSync(new Uint8Array(1), 0))).toBe('EBADF');
    // These get the numbers that a close gives back.
    const names = ['a', 'b', 'c', 'd'].map((name) => `${subject.directory}/${name}`);
    const opened = names.map((name) => disk.openSync(name, 'create'));
    await running;
    for (const [i, one] of opened.entries()) {
      expect(one.sizeSync(), names[i]).toBe(0);
      one.closeSync();
    }
    expect(readFileSync(disk, `${subject.directory}/other`)).toHaveLength(A_MIB.length + 7);
  });

  test('truncation cuts and extends with zeros', async () => {
    file.writeSync(bytes('abcdef'), 0);
    await finished((done) => file.truncate(3, done));
    file.truncateSync(5);
    expect(file.sizeSync()).toBe(5);
    expect(text(readFileSync(disk, path))).toBe('abc\0\0');
  });

  test('a file whose name is gone stays as it is, and can be cut', async () => {
    file.writeSync(bytes('abcdef'), 0);
    await finished((done) => disk.remove(path, done));
    expect(file.sizeSync()).toBe(6);
    await finished((done) => file.truncate(3, done));
    await finished((done) => file.sync(done));
    const into = new Uint8Array(6);
    expect([file.readSync(into, 0), text(into.subarray(0, 3))]).toEqual([3, 'abc']);
    expect(disk.existsSync(path)).toBe(false);
  });

  test('open modes and missing files are named by code', async () => {
    expect(codeOf(() => disk.openSync(path, 'create'))).toBe('EEXIST');
    expect(codeOf(() => disk.openSync(`${path}x`, 'read'))).toBe('ENOENT');
    expect(codeOf(() => disk.openSync(`${path}x`, 'write'))).toBe('ENOENT');
    expect(codeOf(() => disk.removeSync(`${path}x`))).toBe('ENOENT');
    expect(codeOf(() => disk.listSync(`${subject.directory}/none`))).toBe('ENOENT');
    const reader = disk.openSync(path, 'read');
    expect(codeOf(() => reader.writeSync(bytes('x'), 0))).toBe('EBADF');
    reader.closeSync();
    await expect(finished((done) => disk.remove(`${path}x`, done))).rejects.toThrow(DiskError);
  });

  /** Every row: what is done, and what both answer. Errors are named by their code. */
  describe('names, modes and kinds', () => {
    const touch = (name: string) => {
      const created = disk.openSync(`${subject.directory}/${name}`, 'create');
      created.writeSync(bytes(name), 0);
      created.closeSync();
    };
    const at = (name: string) => `${subject.directory}/${name}`;
    const rename = (from: string, to: string) => codeOf(() => disk.renameSync(at(from), at(to)));
    const open = (name: string, mode: OpenMode) =>
      codeOf(() => disk.openSync(at(name), mode).closeSync());

    beforeEach(() => {
      touch('other');
      disk.makeDirectorySync(at('empty'));
      disk.makeDirectorySync(at('full/inner'));
      touch('full/inside');
    });

    test.each<readonly [string, OpenMode, string]>([
      ['empty', 'create', 'EEXIST'],
      ['empty', 'write', 'EISDIR'],
      ['empty', 'read', 'EISDIR'],
      ['none/name', 'create', 'ENOENT'],
      ['none/name', 'read', 'ENOENT'],
      ['file/name', 'create', 'ENOTDIR'],
      ['file/name', 'read', 'ENOTDIR'],
      ['x'.repeat(256), 'create', 'ENAMETOOLONG'],
      ['x'.repeat(255), 'create', 'no error'],
      ['full/inside', 'write', 'no error'],
    ])('open %s, %s: %s', (name, mode, code) => {
      expect(open(name, mode)).toBe(code);
    });

    test.each([
      ['none', 'file', 'ENOENT'],
      ['none', 'none', 'ENOENT'],
      ['file', 'none/name', 'ENOENT'],
      ['file', 'other/name', 'ENOTDIR'],
      ['file', 'empty', 'EISDIR'],
      ['empty', 'file', 'ENOTDIR'],
      ['empty', 'full', 'ENOTEMPTY'],
      ['full', 'full/inner/deeper', 'EINVAL'],
      ['file', 'other', 'no error'],
      ['full', 'moved', 'no error'],
      ['full', 'empty', 'no error'],
      ['full/inside', 'file', 'no error'],
    ])('rename %s to %s: %s', (from, to, code) => {
      expect(rename(from, to)).toBe(code);
      if (code === 'no error') expect(disk.existsSync(at(from))).toBe(false);
    });

    test('a name that is renamed to itself stays', () => {
      expect(rename('file', 'file')).toBe('no error');
      expect(rename('full', 'full')).toBe('no error');
      expect(['file', 'full/inside'].map((name) => disk.existsSync(at(name)))).toEqual([
        true,
        true,
      ]);
    });

    test('a directory takes along what stands in it', () => {
      disk.renameSync(at('full'), at('empty'));
      expect(disk.existsSync(at('full/inside'))).toBe(false);
      expect(text(readFileSync(disk, at('empty/inside')))).toBe('full/inside');
      expect(disk.existsSync(at('empty/inner'))).toBe(true);
      expect(disk.listSync(at('empty'))).toEqual(['inside']);
    });

    test.each([
      ['remove a directory', 'empty', 'EISDIR'],
      ['remove a missing file', 'none', 'ENOENT'],
      ['remove what would be below a file', 'file/name', 'ENOTDIR'],
    ])('%s', async (_does, name, code) => {
      expect(codeOf(() => disk.removeSync(at(name)))).toBe(code);
      await expect(finished((done) => disk.remove(at(name), done))).rejects.toMatchObject({ code });
    });

    test.each([
      ['none', 'ENOENT'],
      ['file', 'ENOTDIR'],
      ['file/name', 'ENOTDIR'],
      ['empty', 'no error'],
    ])('list and sync the directory %s: %s', async (name, code) => {
      expect(codeOf(() => disk.listSync(at(name)))).toBe(code);
      expect(codeOf(() => disk.syncDirectorySync(at(name)))).toBe(code);
      const syncing = finished((done) => disk.syncDirectory(at(name), done));
      if (code === 'no error') await syncing;
      else await expect(syncing).rejects.toMatchObject({ code });
    });

    test('a directory cannot be made where a file stands, nor below one', () => {
      expect(codeOf(() => disk.makeDirectorySync(at('file')))).toBe('EEXIST');
      expect(codeOf(() => disk.makeDirectorySync(at('file/a/b')))).toBe('EEXIST');
      expect(codeOf(() => disk.makeDirectorySync(at('empty/a/b')))).toBe('no error');
    });

    test('space and lock want a directory that is there', async () => {
      expect(codeOf(() => disk.spaceSync(at('none')))).toBe('ENOENT');
      await expect(disk.lockDirectory(at('none'))).rejects.toMatchObject({ code: 'ENOENT' });
    });

    test('exists: files and directories, and nothing below a file', () => {
      const names = ['file', 'empty', 'empty/', 'full/inside', 'none', 'file/name'];
      expect(names.map((name) => disk.existsSync(at(name)))).toEqual([
        true,
        true,
        true,
        true,
        false,
        false,
      ]);
    });

    test('a file that is opened to read takes no change, by no call', async () => {
      const reader = disk.openSync(at('other'), 'read');
      const refused = async (start: (done: (error: DiskError | null) => void) => void) => {
        const error = await finished(start).catch((reason: unknown) => reason);
        return error instanceof DiskError ? error.code : error;
      };
      expect(codeOf(() => reader.writeSync(bytes('x'), 0))).toBe('EBADF');
      expect(codeOf(() => reader.truncateSync(1))).toBe('EINVAL');
      expect(await refused((done) => reader.write([bytes('x')], 0, done))).toBe('EBADF');
      expect(await refused((done) => reader.writeSynced([bytes('x')], 0, done))).toBe('EBADF');
      expect(await refused((done) => reader.truncate(1, done))).toBe('EINVAL');
      reader.syncSync();
      reader.closeSync();
      reader.closeSync();
      expect(codeOf(() => reader.sizeSync())).toBe('EBADF');
      expect(text(readFileSync(disk, at('other')))).toBe('other');
    });

    test('a write of no bytes changes nothing, not even the size', async () => {
      file.writeSync(new Uint8Array(0), 100);
      await finished((done) => file.write([], 100, done));
      await finished((done) => file.write([new Uint8Array(0)], 100, done));
      await finished((done) => file.writeSynced([], 100, done));
      expect([file.sizeSync(), file.readSync(new Uint8Array(0), 0)]).toEqual([0, 0]);
    });

    test('the first synced write goes by the name, the next ones by the file', async () => {
      const synced = () => finished((done) => file.writeSynced([bytes('x')], 0, done));
      disk.renameSync(at('file'), at('moved'));
      await expect(synced()).rejects.toMatchObject({ code: 'ENOENT' });
      touch('file');
      await expect(synced()).rejects.toMatchObject({ code: 'ESTALE' });
      disk.renameSync(at('moved'), at('file'));
      await synced();
      disk.removeSync(at('file'));
      await synced();
      expect(file.sizeSync()).toBe(1);
      // Operations under way when it rests come to their end; the next one opens by the name again.
      const last = synced();
      file.restSynced();
      await last;
      await expect(synced()).rejects.toMatchObject({ code: 'ENOENT' });
    });
  });

  test('names: list, rename over, remove, nested directories', async () => {
    file.writeSync(bytes('new'), 0);
    disk.openSync(`${subject.directory}/other`, 'create').closeSync();
    expect(disk.listSync(subject.directory).sort()).toEqual(['file', 'other']);
    disk.renameSync(path, `${subject.directory}/other`);
    expect(disk.listSync(subject.directory)).toEqual(['other']);
    expect(text(readFileSync(disk, `${subject.directory}/other`))).toBe('new');
    await finished((done) => disk.remove(`${subject.directory}/other`, done));
    await finished((done) => disk.syncDirectory(subject.directory, done));
    expect(disk.existsSync(path)).toBe(false);
    const nested = `${subject.directory}/a/b/c`;
    disk.makeDirectorySync(nested);
    disk.makeDirectorySync(nested);
    expect(disk.listSync(nested)).toEqual([]);
    expect(disk.listSync(subject.directory)).toEqual([]);
    const { usedBytes, freeBytes } = disk.spaceSync(subject.directory);
    expect(usedBytes).toBeGreaterThanOrEqual(0);
    expect(freeBytes).toBeGreaterThan(0);
  });

  test('replaceFileSync replaces, and sweeps a draft that a crash left', () => {
    disk.openSync(`${path}.new`, 'create').closeSync();
    replaceFileSync(disk, subject.directory, 'file', bytes('one'));
    replaceFileSync(disk, subject.directory, 'file', bytes('two'));
    expect(text(readFileSync(disk, path))).toBe('two');
    expect(disk.listSync(subject.directory)).toEqual(['file']);
  });

  test('a directory is locked once', async () => {
    const lock = await disk.lockDirectory(subject.directory);
    await expect(disk.lockDirectory(subject.directory)).rejects.toThrow(LockedError);
    await lock.release();
    const again = await disk.lockDirectory(subject.directory);
    await again.release();
  });
});

/** Flags of this process's descriptors of the file, as the kernel has them. */
function descriptorFlags(path: string): number[] {
  const leadsThere = (name: string) =>
    existsSync(`/proc/self/fd/${name}`) && readlinkSync(`/proc/self/fd/${name}`) === path;
  return readdirSync('/proc/self/fd')
    .filter(leadsThere)
    .map((name) => /flags:\s*([0-7]+)/.exec(readFile(`/proc/self/fdinfo/${name}`, 'utf8'))?.[1])
    .map((flags) => Number.parseInt(flags ?? '', 8));
}

describe('what only the real disk does', () => {
  const { O_DSYNC } = constants;
  let subject: Subject;
  let path: string;

  beforeEach(() => {
    subject = real();
    path = `${subject.directory}/file`;
  });

  afterEach(() => subject.cleanUp());

  test('synced writes, and no others, go through a descriptor that the kernel syncs', async () => {
    const file = subject.disk.openSync(path, 'create');
    await finished((done) => file.write([bytes('x')], 0, done));
    expect(descriptorFlags(path).map((flags) => flags & O_DSYNC)).toEqual([0]);
    await finished((done) => file.writeSynced([bytes('y')], 1, done));
    await finished((done) => file.writeSynced([bytes('z')], 2, done));
    expect(descriptorFlags(path).map((flags) => flags & O_DSYNC)).toEqual([0, O_DSYNC]);
    file.closeSync();
    expect(descriptorFlags(path)).toEqual([]);
  });

  test('a file that was moved away is not mistaken for the one in its place', async () => {
    const file = subject.disk.openSync(path, 'create');
    subject.disk.renameSync(path, `${path}.old`);
    subject.disk.openSync(path, 'create').closeSync();
    const writing = finished((done) => file.writeSynced([bytes('x')], 0, done));
    await expect(writing).rejects.toThrow('another file by now');
    expect(descriptorFlags(path)).toEqual([]);
    file.closeSync();
  });
});

describe('what only the simulated disk does', () => {
  function diskWithFile(seed: number) {
    const disk = new SimulatedDisk({ seed });
    disk.makeDirectorySync('/d');
    const file = disk.openSync('/d/f', 'create');
    file.writeSync(bytes('old'.padEnd(2048, 'o')), 0);
    file.syncSync();
    disk.syncDirectorySync('/d');
    return { disk, file };
  }

  test('a power loss keeps what was synced and may lose, keep or tear the rest', () => {
    const outcomes = new Set<string>();
    for (let seed = 1; seed <= 200; seed++) {
      const { disk, file } = diskWithFile(seed);
      file.writeSync(bytes('n'.repeat(2048)), 0);
      disk.crash('power');
      const sectors = [0, 512, 1024, 1536].map((at) => disk.contents('/d/f')[at + 8]);
      outcomes.add(sectors.map((byte) => String.fromCharCode(byte ?? 0)).join(''));
    }
    expect(outcomes).toContain('oooo');
    expect(outcomes).toContain('nnnn');
    expect(outcomes, 'a later sector without an earlier one').toContain('oonn');
    expect(outcomes.size).toBe(16);
  });

  test('a power loss keeps a synced write that was reported, and may tear one that was not', () => {
    const kept = new Set<string>();
    for (let seed = 1; seed <= 200; seed++) {
      const { disk, file } = diskWithFile(seed);
      let isReported = false;
      file.writeSynced([bytes('n'.repeat(2048))], 0, () => {
        isReported = true;
      });
      for (let steps = seed % 3; steps > 0; steps--) disk.step();
      const wasReported = isReported;
      disk.crash('power');
      const found = [0, 2047].map((at) => String.fromCharCode(disk.contents('/d/f')[at] ?? 0));
      kept.add(`${wasReported} ${found.join('')}`);
    }
    expect(kept).toEqual(new Set(['true nn', 'false oo', 'false on', 'false no', 'false nn']));
  });

  test('a synced write stores its own bytes and cuts, and nothing else that was written', () => {
    const kept = new Set<string>();
    for (let seed = 1; seed <= 50; seed++) {
      const { disk, file } = diskWithFile(seed);
      file.writeSync(bytes('o'.repeat(1536)), 0);
      file.syncSync();
      file.writeSync(bytes('n'.repeat(3072)), 0);
      file.truncateSync(2048);
      file.writeSynced([bytes('s'.repeat(512))], 512, () => {});
      disk.settle();
      disk.crash('power');
      const found = disk.contents('/d/f');
      const sectors = [0, 1, 2, 3, 4].map((at) => String.fromCharCode(found[at * 512] ?? 0));
      expect(sectors[1]).toBe('s');
      expect([found.length > 2048, found.length < 1536]).toEqual([false, false]);
      kept.add(sectors[0] ?? '');
    }
    expect(kept).toEqual(new Set(['o', 'n']));
  });

  test('a killed process loses nothing that was written', () => {
    const { disk, file } = diskWithFile(7);
    file.writeSync(bytes('n'), 0);
    disk.openSync('/d/unsynced-name', 'create');
    disk.crash('process');
    expect(text(disk.contents('/d/f').subarray(0, 2))).toBe('nl');
    expect(disk.existsSync('/d/unsynced-name')).toBe(true);
    expect(codeOf(() => file.sizeSync())).toBe('EBADF');
  });

  test('a directory that is moved needs a sync of the directory above it', () => {
    const kept = new Set<string>();
    for (let seed = 1; seed <= 50; seed++) {
      const { disk } = diskWithFile(seed);
      disk.makeDirectorySync('/d/one');
      disk.openSync('/d/one/g', 'create').syncSync();
      disk.syncDirectorySync('/d/one');
      disk.renameSync('/d/one', '/d/two');
      if (seed % 2 === 0) disk.syncDirectorySync('/d');
      disk.crash('power');
      const names = disk.paths().filter((path) => path.endsWith('/g'));
      kept.add(`${seed % 2 === 0 ? 'synced' : 'not synced'}: ${names.join()}`);
    }
    expect([...kept].sort()).toEqual([
      'not synced: /d/one/g',
      'not synced: /d/two/g',
      'synced: /d/two/g',
    ]);
  });

  test('lists come in another order each time', () => {
    const { disk } = diskWithFile(1);
    for (const name of ['a', 'b', 'c', 'e']) disk.openSync(`/d/${name}`, 'create');
    const orders = Array.from({ length: 20 }, () => disk.listSync('/d').join(''));
    expect(new Set(orders).size).toBeGreaterThan(3);
    expect(new Set(orders.map((order) => [...order].sort().join('')))).toEqual(new Set(['abcef']));
  });

  test('names need a sync of their directory', () => {
    const kept = new Set<boolean>();
    for (let seed = 1; seed <= 50; seed++) {
      const { disk } = diskWithFile(seed);
      disk.openSync('/d/g', 'create').syncSync();
      disk.crash('power');
      kept.add(disk.existsSync('/d/g'));
    }
    expect(kept).toEqual(new Set([true, false]));
  });

  test('after a failed sync, a later one does not make up for it', () => {
    const kept = new Set<string>();
    for (let seed = 1; seed <= 50; seed++) {
      const { disk, file } = diskWithFile(seed);
      file.writeSync(bytes('n'), 0);
      disk.failNext('fdatasync', 'EIO');
      expect(codeOf(() => file.syncSync())).toBe('EIO');
      file.syncSync();
      disk.crash('power');
      kept.add(text(disk.contents('/d/f').subarray(0, 1)));
    }
    expect(kept).toEqual(new Set(['o', 'n']));
  });

  test('no space, a flipped bit, corrupt reads, a stall', () => {
    const { disk, file } = diskWithFile(3);
    disk.capacityBytes = 2050;
    expect(codeOf(() => file.writeSync(bytes('xxxxx'), 2048))).toBe('ENOSPC');
    expect(file.sizeSync()).toBe(2050);
    expect(disk.spaceSync('/d')).toEqual({ usedBytes: 2050, freeBytes: 0 });
    file.writeSync(bytes('overwriting needs no space'), 0);
    disk.flipBit('/d/f', 1, 0);
    expect(text(disk.contents('/d/f').subarray(0, 3))).toBe('owe');
    disk.readCorruption = 1;
    const into = new Uint8Array(16);
    file.readSync(into, 100);
    expect(into).not.toEqual(bytes('o'.repeat(16)));
    disk.stalled = true;
    let done = false;
    file.sync(() => {
      done = true;
    });
    disk.settle();
    expect(done).toBe(false);
    disk.stalled = false;
    disk.settle();
    expect(done).toBe(true);
  });

  test('the same seed gives the same run', () => {
    const run = () => {
      const { disk, file } = diskWithFile(11);
      file.writeSync(bytes('n'.repeat(4096)), 512);
      disk.crash('power');
      return text(disk.contents('/d/f'));
    };
    expect(run()).toBe(run());
  });
});
