// Goal: a start knows how far its log is committed by the log alone, so that it never counts votes
// by a configuration that is two steps old; and consensus is told the truth about damage. Method:
// small logs on a simulated disk.
import { configuration, encodeConfiguration, entryBytes, logIndex, nodeId } from '@svc/raft';
import { DamageError, Log, type LogEntry } from '@svc/storage';
import { SimulatedDisk } from '@svc/storage/testing';
import { expect, test } from 'vitest';
import { CONFIGURATION, LogStorage, NORMAL, provenCommit } from './consensus-storage.js';

const IDENTITY = new Uint8Array(16).fill(7);
const MEMBERS = encodeConfiguration(configuration([nodeId(1)]), new Uint8Array(0));

function logOf(kinds: string, segmentBytes = 65_536, recentBytesMax = 0) {
  const disk = new SimulatedDisk({ seed: 1 });
  const log = open(disk, segmentBytes, recentBytesMax);
  const entries = [...kinds].map((kind, at): LogEntry => {
    const isMembers = kind === 'c';
    const data = isMembers ? MEMBERS : new Uint8Array(kind === 'e' ? 0 : 100).fill(at + 1);
    return { index: at + 1, term: 1, type: isMembers ? CONFIGURATION : NORMAL, data };
  });
  for (const entry of entries) log.append([entry], () => {});
  disk.settle();
  return { log, disk };
}

function open(disk: SimulatedDisk, segmentBytes: number, recentBytesMax: number): Log {
  return Log.open({
    disk,
    directory: '/log',
    identity: IDENTITY,
    segmentBytes,
    recentBytesMax,
    damage: 'keep',
    onFailure: (error) => {
      throw error;
    },
  });
}

test.each([
  // Nothing but the founding entry, which is committed by definition.
  ['c', 0, 1],
  ['cnn', 0, 1],
  // The newest may be anybody's; the one before it was applied by whoever proposed it.
  ['cnnc', 0, 1],
  ['cnncnnc', 0, 4],
  ['cnncnnc', 5, 5],
  ['cnncnncn', 3, 4],
  // A log of a time before founding entries: nothing is proven.
  ['nnnc', 0, 0],
  ['nnncc', 0, 4],
  ['nn', 1, 1],
  ['', 0, 0],
])('the log %s, applied up to %i, is committed up to %i', (kinds, applied, proven) => {
  expect(provenCommit(logOf(kinds).log, applied)).toBe(proven);
});

test.each([0, 1_000_000])(
  'entries are cut by what they cost, their heads included (%i bytes of recent ones)',
  (recentBytesMax) => {
    const { log } = logOf('e'.repeat(50), 65_536, recentBytesMax);
    const storage = new LogStorage(log, {
      applied: () => 50,
      offer: () => undefined,
      onDamage: () => {},
      memoryToSend: (bytes) => new Uint8Array(bytes),
      onSend: () => {},
    });
    for (const bytesMax of [1, 16, 17, 100, 700]) {
      const entries = storage.entries(1, 51, bytesMax, 'keep');
      expect(entries.length).toBeGreaterThan(0);
      const bytes = entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
      expect(entries.length === 1 || bytes <= bytesMax).toBe(true);
    }
    expect(storage.entries(1, 3, 1_000_000, 'keep').map(({ index }) => index)).toEqual([1, 2]);
    expect(storage.term(0)).toBe(0);
    expect(storage.term(51)).toBeUndefined();
  },
);

test('what is sent counts for the pace of laggards if it is applied here', () => {
  const { log } = logOf('e'.repeat(20));
  const sent: number[] = [];
  const storage = new LogStorage(log, {
    applied: () => 10,
    offer: () => undefined,
    onDamage: () => {},
    memoryToSend: (bytes) => new Uint8Array(bytes),
    onSend: (bytes) => sent.push(bytes),
  });
  const bytesOf = (from: number, use: 'keep' | 'send') => {
    const entries = storage.entries(from, from + 3, 1_000_000, use);
    return entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
  };
  expect(bytesOf(11, 'send')).toBeGreaterThan(0);
  expect(bytesOf(2, 'keep')).toBeGreaterThan(0);
  expect(sent).toEqual([]);
  const counted = [bytesOf(2, 'send'), bytesOf(10, 'send')];
  expect(sent).toEqual(counted);
});

test('a damaged entry is not at hand for a peer, and fatal for apply', () => {
  const { log, disk } = logOf('n'.repeat(200), 4096);
  let met = 0;
  const sent: number[] = [];
  const [first] = disk.paths().filter((path) => path.endsWith('.log'));
  const content = Buffer.from(disk.contents(first as string));
  disk.flipBit(first as string, content.indexOf(Buffer.alloc(100, 4)) + 50, 1);
  let applied = 200;
  const storage = new LogStorage(log, {
    applied: () => applied,
    offer: () => undefined,
    onDamage: () => met++,
    memoryToSend: (bytes) => new Uint8Array(bytes),
    onSend: (bytes) => sent.push(bytes),
  });
  expect(storage.entries(4, 6, 1000, 'send')).toEqual([]);
  expect(met).toBe(1);
  expect(storage.entries(5, 6, 1000, 'send').map(({ index }) => index)).toEqual([logIndex(5)]);
  expect(sent).toEqual([0, 116]);
  applied = 3;
  expect(() => storage.entries(4, 6, 1000, 'send')).toThrow(DamageError);
});
