// Goal: the gate closes and opens at its marks, refuses exactly what grows, tells of each change
// once, and its reserve is taken, given up and taken over as it should. Method: a simulated disk of
// a set capacity with a manual clock; then, where the machine allows a private mount namespace, a
// real volume of 16 MiB in a child process.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Command, growsStorage, type PushCommand } from '@svc/engine';
import { CommitError, DiskError } from '@svc/storage';
import { SimulatedDisk } from '@svc/storage/testing';
import { beforeEach, describe, expect, test } from 'vitest';
import { createLogger } from '../system/logging.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { DiskGate, ranOutOfSpace, STORAGE_FULL } from './disk-gate.js';
import { RESERVE_BYTES } from './disk-gate-reserve.js';

const KIB = 1024;
const MIB = 1024 * KIB;
const CHECK_MS = 100;
const TENANT = '00000000-0000-0000-0000-000000000001';
const PUSH: PushCommand = {
  kind: 'push',
  tenant: TENANT,
  producerSub: null,
  body: new Uint8Array(10),
  groups: [],
  itemGroup: [],
  transactionIds: [],
  payloadStart: [],
  payloadEnd: [],
};
const ACK: Command = { kind: 'ack', tenant: TENANT, consumerGroup: 'g', items: [] };

let disk: SimulatedDisk;
let clock: MovedClock;
let lines: string[];
let changes: boolean[];
let fullElsewhere: boolean;
let pendingBytes: number;
/** The volume: its size, and what others keep on it. */
let capacity: number;
let others: number;

beforeEach(() => {
  disk = new SimulatedDisk({ seed: 1 });
  disk.makeDirectorySync('/d');
  disk.spaceSync = () => {
    const usedBytes = disk.usedBytes() + others;
    return { usedBytes, freeBytes: capacity - usedBytes };
  };
  capacity = 1000 * KIB;
  others = 0;
  clock = new MovedClock();
  lines = [];
  changes = [];
  fullElsewhere = false;
  pendingBytes = 0;
});

function newGate(marks: { highPct?: number; lowPct?: number } = {}): DiskGate {
  return new DiskGate({
    disk,
    directory: '/d',
    highPct: 85,
    lowPct: 80,
    ...marks,
    checkMs: CHECK_MS,
    clock,
    logger: createLogger({ level: 'info', json: false }, (line) => void lines.push(line)),
    reports: {
      setStorageFull: (full) => void changes.push(full),
      anyMemberFull: () => fullElsewhere,
    },
    admission: {
      get bytes() {
        return pendingBytes;
      },
    },
  });
}

/** Others fill the volume up to this much. */
function fill(kibibytes: number): void {
  others = kibibytes * KIB;
}

function look(): void {
  clock.move(CHECK_MS);
  disk.settle();
}

describe('the marks', () => {
  test('closes at the high one, opens below the low one, tells each once', () => {
    const gate = newGate();
    fill(849);
    gate.start();
    expect(gate.full).toBe(false);
    fill(850);
    look();
    expect(gate.full).toBe(true);
    fill(800);
    look();
    look();
    expect(gate.full).toBe(true);
    fill(799);
    look();
    expect(gate.full).toBe(false);
    fill(840);
    look();
    expect(changes).toEqual([true, false]);
    expect(lines.length).toBe(2);
    expect(lines[0]).toContain('raft storage pressure changed');
    expect(lines[0]).toContain('full=true');
    expect(lines[1]).toContain('full=false');
  });

  test('is right from the first look, before any time has passed', () => {
    fill(900);
    const gate = newGate();
    gate.start();
    expect(gate.full).toBe(true);
  });

  test('a low mark above the high one means the high one', () => {
    const gate = newGate({ highPct: 50, lowPct: 99 });
    fill(600);
    gate.start();
    expect(gate.full).toBe(true);
    look();
    expect(gate.full).toBe(true);
    fill(499);
    look();
    expect(gate.full).toBe(false);
  });

  test('a look that fails changes nothing and is logged once', () => {
    const gate = newGate();
    fill(900);
    gate.start();
    disk.spaceSync = () => {
      throw new DiskError('EIO', 'statfs', '/d', 'gone');
    };
    look();
    look();
    expect(gate.full).toBe(true);
    expect(lines.filter((line) => line.includes('EIO')).length).toBe(1);
  });

  test('stop ends the looks', () => {
    const gate = newGate();
    gate.start();
    gate.stop();
    fill(900);
    look();
    expect(gate.full).toBe(false);
  });
});

describe('refusals', () => {
  test('what grows is refused while it is full here or elsewhere, what drains never', () => {
    const gate = newGate();
    gate.start();
    expect(gate.refusal(PUSH)).toBe(null);
    fullElsewhere = true;
    expect(gate.refusal(PUSH)).toBe(STORAGE_FULL);
    expect(gate.refusal(ACK)).toBe(null);
    fullElsewhere = false;
    fill(900);
    look();
    expect(gate.refusal(PUSH)).toBe(STORAGE_FULL);
    expect(gate.refusal(ACK)).toBe(null);
    expect(STORAGE_FULL).toEqual({
      reason: 'storage_full',
      error: 'storage is full on at least one node',
    });
  });

  test('what was let in and is not written yet counts as used', () => {
    const gate = newGate();
    gate.start();
    fill(849);
    pendingBytes = KIB;
    look();
    expect(gate.full).toBe(true);
  });

  test('much that is let in is followed by a look, whatever the time', () => {
    const gate = newGate();
    gate.start();
    fill(900);
    const large: Command = { ...PUSH, body: new Uint8Array(MIB) };
    const refusals = Array.from({ length: 5 }, () => gate.refusal(large));
    expect(refusals).toEqual([null, null, null, null, STORAGE_FULL]);
    expect(gate.refusal(ACK)).toBe(null);
  });

  test('a transaction grows what is stored if it pushes', () => {
    const plain = { kind: 'transaction', tenant: '', acks: [], positions: [] } as const;
    const rest = { pushes: null, traceIds: null, kv: null, timers: null, flaw: null };
    const acking: Command = { ...plain, ...rest };
    const pushing: Command = { ...acking, pushes: { ...PUSH, body: new Uint8Array(MIB) } };
    const gate = newGate();
    gate.start();
    fill(900);
    const refusals = Array.from({ length: 5 }, () => gate.refusal(pushing));
    expect(refusals).toEqual([null, null, null, null, STORAGE_FULL]);
    expect(gate.refusal(acking)).toBe(null);
  });

  test('a stream cycle grows what is stored if it pushes or sets state', () => {
    const none = { keys: ['k'], valueStart: [0], valueEnd: [0], windowEnds: [null] };
    const scope = { tenant: '', queryId: '', partitionId: '1', consumerGroup: '' };
    const cycle = (isDelete: boolean, pushes: PushCommand | null): Command => ({
      kind: 'stream-cycle',
      ...scope,
      body: new Uint8Array(10),
      state: { ...none, isDelete: [isDelete] },
      pushes,
      ack: { leaseId: '', completed: true, count: 1 },
      releaseLease: true,
    });
    expect(growsStorage(cycle(true, null))).toBe(false);
    expect(growsStorage(cycle(false, null))).toBe(true);
    expect(growsStorage(cycle(true, { ...PUSH, body: new Uint8Array(10) }))).toBe(true);
  });

  test('pushes, replays and traces grow what is stored; what drains or looks does not', () => {
    const kinds = ['push', 'replay', 'trace', 'pop', 'give-back', 'ack', 'extend', 'configure'];
    kinds.push('delete-queue', 'drop-dead-letters', 'redrive');
    const bytes = { body: new Uint8Array(1), data: new Uint8Array(1) };
    const growing = kinds.filter((kind) => growsStorage({ kind, ...bytes } as unknown as Command));
    expect(growing).toEqual(['push', 'replay', 'trace', 'redrive']);
  });
});

describe('the reserve', () => {
  const held = () => (disk.existsSync('/d/reserve') ? disk.contents('/d/reserve').length : null);

  test('is taken when the gate closes and given up when it opens', () => {
    const gate = newGate();
    gate.start();
    expect(held()).toBe(null);
    fill(860);
    look();
    expect(held()).toBe(35 * KIB);
    fill(700);
    look();
    expect(held()).toBe(null);
    expect(disk.openFiles).toBe(0);
  });

  test('is given up once when the volume runs out, and does not open the gate by that', () => {
    const gate = newGate();
    gate.start();
    fill(860);
    look();
    fill(950);
    look();
    expect(held()).toBe(null);
    expect(disk.spaceSync('/d').freeBytes).toBe(50 * KIB);
    look();
    expect(held()).toBe(null);
    expect(gate.full).toBe(true);
    fill(100);
    look();
    expect(gate.full).toBe(false);
  });

  test('does not count as used: it does not keep the gate closed', () => {
    const gate = newGate();
    gate.start();
    fill(860);
    look();
    // 790 without the reserve is below the low mark, 825 with it is not.
    fill(790);
    look();
    expect(gate.full).toBe(false);
  });

  test('has an upper bound, and is nothing at all where nothing is free', () => {
    capacity = 1000 * MIB;
    fill(850 * KIB);
    newGate().start();
    disk.settle();
    expect(held()).toBe(RESERVE_BYTES);
    disk.removeSync('/d/reserve');
    fill(1000 * KIB);
    newGate().start();
    disk.settle();
    expect(held()).toBe(null);
  });

  test('is found again by the next life, and given up when that life needs it', () => {
    fill(860);
    const first = newGate();
    first.start();
    disk.settle();
    first.stop();
    expect(held()).toBe(35 * KIB);
    fill(940);
    newGate().start();
    expect(held()).toBe(null);
  });

  test('given up while it is still written: the file goes, and its handle after the write', () => {
    const gate = newGate();
    gate.start();
    fill(860);
    clock.move(CHECK_MS);
    fill(100);
    clock.move(CHECK_MS);
    expect(held()).toBe(null);
    expect(disk.openFiles).toBe(1);
    disk.settle();
    expect(disk.openFiles).toBe(0);
    expect(held()).toBe(null);
    fill(860);
    look();
    expect(held()).toBe(35 * KIB);
  });

  test('what ended early by an error is held as it is', () => {
    capacity = 100 * MIB;
    const gate = newGate();
    gate.start();
    fill(88 * KIB);
    clock.move(CHECK_MS);
    disk.step();
    disk.failNext('write', 'ENOSPC');
    disk.settle();
    expect(held()).toBe(MIB);
    fill(10);
    look();
    expect(held()).toBe(null);
  });
});

test.each<[string, Error, number, boolean]>([
  ['the log', new DiskError('ENOSPC', 'write', '/d/log', 'no space'), 100, true],
  ['a quota', new DiskError('EDQUOT', 'write', '/d/log', 'quota'), 100, true],
  ['a broken disk', new DiskError('EIO', 'write', '/d/log', 'broken'), 0, false],
  ['the store', new CommitError('28', 'no space'), 100, true],
  ['a short write of the store', new CommitError('5', 'short'), 63, true],
  ['a broken disk below the store', new CommitError('5', 'broken'), 65, false],
  ['a bug', new Error('ENOSPC'), 0, false],
])('out of space or not: %s', (_, error, freeMebibytes, expected) => {
  capacity = freeMebibytes * MIB;
  expect(ranOutOfSpace(error, disk, '/d')).toBe(expected);
});

/** Runs in the namespace: fills a real volume, and prints what the gate says. */
const CHILD = `
  import { rmSync, writeFileSync } from 'node:fs';
  const { DiskGate } = await import(process.argv[1] + '/packages/broker/dist/log/disk-gate.js');
  const { SystemClock } = await import(process.argv[1] + '/packages/broker/dist/system/clock.js');
  const { RealDisk } = await import(process.argv[1] + '/storage/dist/index.js');
  const directory = process.argv[2];
  const seen = [];
  const gate = new DiskGate({
    disk: new RealDisk(), directory, highPct: 85, lowPct: 80, checkMs: 10,
    clock: new SystemClock(), logger: { warn() {} },
    admission: { bytes: 0 },
    reports: { anyMemberFull: () => false, setStorageFull: (full) => seen.push(full) },
  });
  const pass = () => new Promise((resolve) => setTimeout(resolve, 100));
  gate.start();
  writeFileSync(directory + '/a', Buffer.alloc(8 << 20)); await pass();
  seen.push(gate.full);
  writeFileSync(directory + '/b', Buffer.alloc(6 << 20)); await pass();
  rmSync(directory + '/a'); await pass();
  gate.stop();
  console.log(JSON.stringify(seen));
`;

test('a real volume of 16 MiB', (context) => {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const script =
    'd=$(mktemp -d) && mount -t tmpfs -o size=16m none "$d" && ' +
    '"$0" --input-type=module -e "$1" "$2" "$d"; s=$?; umount "$d"; rmdir "$d"; exit $s';
  const args = ['-rm', 'sh', '-c', script, process.execPath, CHILD, root];
  const probe = spawnSync('unshare', ['-rm', 'true'], { encoding: 'utf8' });
  if (probe.status !== 0) {
    const why = probe.error?.message ?? probe.stderr.trim();
    console.log(`skipped: no private mount namespace on this machine (${why})`);
    context.skip();
  }
  const { stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8' });
  expect({ stdout: stdout.trim(), stderr }).toEqual({ stdout: '[false,true,false]', stderr: '' });
});
