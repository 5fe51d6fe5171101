/**
 * Goal: a directory knows whose it is, a changed file is not believed, and one copy is enough.
 * Method: round trips on the simulated disk, every bit of one and of both copies flipped, crashes
 * during a rewrite.
 */
import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { DamageError } from '../disk/faults.js';
import { SimulatedDisk } from '../testing/simulated-disk.js';
import { type Identity, identityBytes, readIdentity, writeIdentity } from './identity.js';

const IDENTITY: Identity = {
  nodeId: 3,
  clusterId: '',
  directoryId: '0190c0de-0000-7000-8000-0123456789ab',
  incarnation: 0,
};
const JOINED: Identity = {
  ...IDENTITY,
  clusterId: '0190c0de-ffff-7000-8000-0123456789ab',
  incarnation: 4_000_000_000,
};
const FILES = ['/d/identity.json', '/d/identity.json.copy'] as const;

test('round trip, replacement and bytes', () => {
  const disk = new SimulatedDisk({ seed: 1 });
  expect(readIdentity(disk, '/d')).toBeNull();
  writeIdentity(disk, '/d', IDENTITY);
  expect(readIdentity(disk, '/d')).toEqual(IDENTITY);
  writeIdentity(disk, '/d', JOINED);
  expect(readIdentity(disk, '/d')).toEqual(JOINED);
  expect(Buffer.from(identityBytes(JOINED)).toString('hex')).toBe(
    '0190c0de0000700080000123456789ab',
  );
  expect(() => writeIdentity(disk, '/d', { ...JOINED, directoryId: 'x' })).toThrow(/UUID/);
});

test.each([IDENTITY, JOINED])('both copies flipped or shortened are refused: %j', (identity) => {
  const disk = new SimulatedDisk({ seed: 1 });
  writeIdentity(disk, '/d', identity);
  const bytes = disk.contents(FILES[0]);
  const readBack = (content: Uint8Array) => {
    for (const path of FILES) disk.plant(path, content);
    try {
      return readIdentity(disk, '/d');
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
      expect(error.file).toBe(FILES[0]);
      return error.code;
    }
  };
  let refused = 0;
  for (let at = 0; at < bytes.length; at++) {
    for (let bit = 0; bit < 8; bit++) {
      const flipped = bytes.slice();
      flipped[at] = (flipped[at] ?? 0) ^ (1 << bit);
      const found = readBack(flipped);
      if (found === 'identity_damaged') refused++;
      else expect(found).toEqual(identity);
    }
  }
  expect(refused).toBeGreaterThan(1000);
  for (let length = 0; length < bytes.length - 2; length++) {
    expect(readBack(bytes.subarray(0, length))).toBe('identity_damaged');
  }
});

test.each(FILES)('any damage of %s, or its loss, costs nothing and is mended', (path) => {
  const disk = new SimulatedDisk({ seed: 1 });
  writeIdentity(disk, '/d', JOINED);
  const bytes = disk.contents(path);
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    disk.flipBit(path, bit >>> 3, bit & 7);
    expect(readIdentity(disk, '/d'), `bit ${bit}`).toEqual(JOINED);
  }
  for (const other of FILES) expect(disk.contents(other)).toEqual(bytes);
  disk.removeSync(path);
  expect(readIdentity(disk, '/d')).toEqual(JOINED);
  expect(disk.contents(path)).toEqual(bytes);
});

test.each(FILES)('a directory that lacks %s gets it', (path) => {
  const disk = new SimulatedDisk({ seed: 1 });
  writeIdentity(disk, '/d', IDENTITY);
  const bytes = disk.contents(path);
  disk.removeSync(path);
  expect(readIdentity(disk, '/d')).toEqual(IDENTITY);
  expect(disk.contents(path)).toEqual(bytes);
});

/** The bytes of an identity in a directory of that format, as its build wrote them. */
function identityOf(format: number): Uint8Array {
  const crc = crc32(`${format} ${IDENTITY.nodeId} ${IDENTITY.clusterId} ${IDENTITY.directoryId}`);
  return new Uint8Array(Buffer.from(`${JSON.stringify({ format, ...IDENTITY, crc }, null, 2)}\n`));
}

test.each([
  [1, 'An older build wrote it'],
  [3, 'A newer build wrote it'],
])('a directory of format %i is refused with what to do, and left alone', (format, age) => {
  for (const damaged of [null, ...FILES]) {
    const disk = new SimulatedDisk({ seed: 1 });
    for (const path of FILES) disk.plant(path, identityOf(format));
    if (damaged !== null) disk.flipBit(damaged, 40, 1);
    const before = FILES.map((path) => disk.contents(path));
    let error: unknown;
    try {
      readIdentity(disk, '/d');
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(DamageError);
    expect(error).toMatchObject({ code: 'directory_format' });
    const { message } = error as DamageError;
    expect(message).toContain(`the data directory has format ${format}, and this build reads 2`);
    expect(message).toContain(age);
    expect(FILES.map((path) => disk.contents(path))).toEqual(before);
  }
});

test('a loss of power at any point of a rewrite leaves the old one or the new one', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const disk = new SimulatedDisk({ seed });
    writeIdentity(disk, '/d', IDENTITY);
    const path = FILES[seed % 2] ?? '';
    const isEarly = seed % 3 === 0;
    if (isEarly) disk.failNext('rename', 'EIO', `${path}.new`);
    else disk.failNext('fdatasync', 'EIO', `${path}.new`);
    expect(() => writeIdentity(disk, '/d', JOINED)).toThrow();
    disk.crash('power');
    const found = readIdentity(disk, '/d');
    expect(found).toEqual(path === FILES[0] ? IDENTITY : JOINED);
    disk.failNext('fsync', 'EIO');
    expect(() => writeIdentity(disk, '/d', JOINED)).toThrow();
    disk.crash('power');
    expect([IDENTITY, JOINED]).toContainEqual(readIdentity(disk, '/d'));
    disk.crash('power');
    expect([IDENTITY, JOINED]).toContainEqual(readIdentity(disk, '/d'));
  }
});
