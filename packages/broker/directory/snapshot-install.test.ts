/**
 * Goal: an install is finished whatever interrupts it, and its marker is never misread. Method: a
 * real log and real markers on the simulated disk, a power loss after every operation of the disk
 * in turn, then the steps again; and every bit of a marker flipped.
 */
import { DamageError, Log } from '@svc/storage';
import { SimulatedDisk } from '@svc/storage/testing';
import { describe, expect, test } from 'vitest';
import {
  finishInstall,
  type Install,
  readInstall,
  removeInstall,
  writeInstall,
} from './snapshot-install.js';

const INSTALL: Install = {
  phase: 'installing',
  resetsLog: true,
  logIndex: 40,
  logTerm: 3,
  appliedIndex: 55,
  offeredBy: 2 ** 32,
};
const DIRECTORY = '/node';

function openLog(disk: SimulatedDisk): Log {
  return Log.open({
    disk,
    directory: `${DIRECTORY}/log`,
    identity: new Uint8Array(16).fill(1),
    segmentBytes: 512,
    onFailure: () => {},
  });
}

/** A node with a log of its own and a marker that says what is to come. */
function prepared(seed: number): SimulatedDisk {
  const disk = new SimulatedDisk({ seed });
  disk.makeDirectorySync(DIRECTORY);
  const log = openLog(disk);
  const data = new Uint8Array(60);
  const entries = Array.from({ length: 30 }, (_, i) => ({ index: i + 1, term: 1, type: 0, data }));
  log.append(entries, () => {});
  disk.settle();
  writeInstall(disk, DIRECTORY, INSTALL);
  return disk;
}

/** One opening that loses power after `steps` operations; true when it came to its end. */
function openOnce(disk: SimulatedDisk, swaps: string[], steps: number): boolean {
  const install = readInstall(disk, DIRECTORY);
  const log = openLog(disk);
  if (install?.phase !== 'installing') return true;
  let ended = false;
  finishInstall(
    install,
    {
      disk,
      directory: DIRECTORY,
      swapState: () => swaps.push('swapped'),
      resetLog: (index, term, done) => log.reset(index, term, done),
    },
    (next) => {
      expect(next).toEqual({ ...INSTALL, phase: 'catching-up' });
      ended = true;
    },
  );
  for (let i = 0; i < steps && !ended; i++) if (!disk.step()) break;
  return ended;
}

describe('an install', () => {
  test.each(Array.from({ length: 25 }, (_, i) => i))(
    'is finished after a power loss behind operation %i',
    (steps) => {
      const disk = prepared(steps + 1);
      const swaps: string[] = [];
      for (let life = 0; life < 3 && !openOnce(disk, swaps, steps); life++) disk.crash('power');
      disk.crash('power');
      openOnce(disk, swaps, 1000);
      disk.crash('power');
      expect(readInstall(disk, DIRECTORY)).toEqual({ ...INSTALL, phase: 'catching-up' });
      const log = openLog(disk);
      expect([log.firstIndex, log.lastIndex, log.term(40)]).toEqual([41, 40, 3]);
      expect(swaps.length).toBeGreaterThan(0);
      removeInstall(disk, DIRECTORY);
      disk.crash('power');
      expect(readInstall(disk, DIRECTORY)).toBeNull();
    },
  );

  test('of a state alone leaves the log as it is', () => {
    const disk = prepared(1);
    writeInstall(disk, DIRECTORY, { ...INSTALL, resetsLog: false });
    let next: Install | null = null;
    finishInstall(
      { ...INSTALL, resetsLog: false },
      {
        disk,
        directory: DIRECTORY,
        swapState: () => {},
        resetLog: () => expect.unreachable(),
      },
      (marker) => {
        next = marker;
      },
    );
    expect(next).toEqual({ ...INSTALL, resetsLog: false, phase: 'catching-up' });
  });

  test('is not read from a marker in which a bit is another', () => {
    const disk = prepared(1);
    const path = disk.paths().find((name) => name.endsWith('snapshot-install.json')) as string;
    const bytes = disk.contents(path);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = bytes.slice();
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      disk.plant(path, flipped);
      try {
        // White space may change; what is read must be what was written.
        expect(readInstall(disk, DIRECTORY)).toEqual(INSTALL);
      } catch (error) {
        if (!(error instanceof DamageError)) throw error;
        expect(error.code).toBe('snapshot_marker_damaged');
      }
    }
  });
});
