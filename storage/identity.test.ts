/**
 * Goal: a directory knows whose it is, and a changed file is not believed. Method: round trips on
 * the simulated disk, every bit of the file flipped, crashes during a rewrite.
 */
import { expect, test } from 'vitest';
import { SimulatedDisk } from './disk-simulated.js';
import { DamageError } from './faults.js';
import { type Identity, identityBytes, readIdentity, writeIdentity } from './identity.js';

const IDENTITY: Identity = {
  nodeId: 3,
  clusterId: '',
  directoryId: '0190c0de-0000-7000-8000-0123456789ab',
};
const JOINED: Identity = { ...IDENTITY, clusterId: '0190c0de-ffff-7000-8000-0123456789ab' };

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

test('a flipped bit changes nothing or is refused, and so is another length', () => {
  const disk = new SimulatedDisk({ seed: 1 });
  writeIdentity(disk, '/d', JOINED);
  const bytes = disk.contents('/d/identity.json');
  const readBack = (content: Uint8Array) => {
    disk.plant('/d/identity.json', content);
    try {
      return readIdentity(disk, '/d');
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
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
      else expect(found).toEqual(JOINED);
    }
  }
  expect(refused).toBeGreaterThan(1000);
  for (let length = 0; length < bytes.length - 2; length++) {
    expect(readBack(bytes.subarray(0, length))).toBe('identity_damaged');
  }
});

test('a loss of power during a rewrite leaves the old one or the new one', () => {
  for (let seed = 1; seed <= 50; seed++) {
    const disk = new SimulatedDisk({ seed });
    writeIdentity(disk, '/d', IDENTITY);
    disk.failNext('rename', 'EIO');
    expect(() => writeIdentity(disk, '/d', JOINED)).toThrow();
    disk.crash('power');
    expect(readIdentity(disk, '/d')).toEqual(IDENTITY);
    disk.failNext('fsync', 'EIO');
    expect(() => writeIdentity(disk, '/d', JOINED)).toThrow();
    disk.crash('power');
    expect([IDENTITY, JOINED]).toContainEqual(readIdentity(disk, '/d'));
  }
});
