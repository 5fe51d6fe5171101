// Goal: what a directory decided is read as it was written, in spite of one damaged copy, and a
// crash leaves the old record or the new one. Method: a simulated disk, damaged and crashed.
import { DamageError } from '@svc/storage';
import { SimulatedDisk } from '@svc/storage/testing';
import { expect, test } from 'vitest';
import { memberId } from '../config/member-id.js';
import { type FormingRecord, readForming, restoreForming, writeForming } from './forming-record.js';

const DIRECTORY = '/data';
const FILE = '/data/forming.json';
const OPEN: FormingRecord = { node: 2, incarnation: 9, pledge: null, outcome: null };
const DECIDED: FormingRecord = {
  ...OPEN,
  pledge: memberId(1, 7),
  outcome: {
    clusterId: '11111111-1111-4111-8111-111111111111',
    founding: {
      founders: [memberId(1, 7), memberId(2, 9)],
      peers: [{ id: 1, raftAddress: 'a:1', httpAddress: 'b:2' }],
    },
  },
};

function diskWith(record: FormingRecord): SimulatedDisk {
  const disk = new SimulatedDisk({ seed: 1 });
  writeForming(disk, DIRECTORY, record);
  return disk;
}

test('there is none at first', () => {
  expect(readForming(new SimulatedDisk({ seed: 1 }), DIRECTORY)).toBeNull();
});

test.each([OPEN, DECIDED])('it is read as it was written: %j', (record) => {
  const disk = diskWith(record);
  disk.crash('power');
  expect(readForming(disk, DIRECTORY)).toEqual(record);
});

test('a flipped bit anywhere in one copy costs nothing, in both it is refused', () => {
  const length = diskWith(DECIDED).contents(FILE).length;
  for (let position = 0; position < length; position += 7) {
    const disk = diskWith(DECIDED);
    disk.flipBit(FILE, position, 1);
    expect(readForming(disk, DIRECTORY)).toEqual(DECIDED);
    disk.flipBit(`${FILE}.copy`, position, 1);
    try {
      // A flip within white space changes nothing that is read.
      expect(readForming(disk, DIRECTORY)).toEqual(DECIDED);
    } catch (error) {
      expect(error).toBeInstanceOf(DamageError);
    }
  }
});

test.each(['write', 'rename', 'fdatasync'] as const)('power fails at %s', (operation) => {
  for (const name of ['forming.json', 'forming.json.copy']) {
    const disk = diskWith(OPEN);
    disk.failNext(operation, 'EIO', name);
    expect(() => writeForming(disk, DIRECTORY, DECIDED)).toThrow();
    disk.crash('power');
    const read = restoreForming(disk, DIRECTORY);
    expect([OPEN, DECIDED]).toContainEqual(read);
    // From here on either copy says it alone.
    disk.flipBit(FILE, 20, 1);
    expect(readForming(disk, DIRECTORY)).toEqual(read);
  }
});
