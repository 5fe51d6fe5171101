// Goal: effects survive the entry format, and what is not understood stops the node.
// Method: one effect of each kind written, read back and compared; then damaged kinds and formats.
import { expect, test } from 'vitest';
import { ByteReader, ByteWriter } from '../base/bytes.js';
import { CatalogueFault } from '../base/catalogue-fault.js';
import { CONFIGURE_DEFAULTS } from '../base/queue-options.js';
import type { Key } from '../base/state.js';
import {
  type Effect,
  readEffect,
  readEntryHeader,
  writeEffect,
  writeEntryHeader,
} from './effects.js';
import { newRequestSession } from './request-id.js';

const ID = '01a2b3c4-0000-7000-8000-000000000001';
const OTHER = '01a2b3c4-1111-7000-8000-00000000000a';

const EFFECTS: Effect[] = [
  {
    kind: 'queue',
    row: {
      number: 7,
      id: ID,
      tenant: OTHER,
      name: 'grüße.✓',
      createdAtUs: 1_800_000_000_000_001,
      partitions: 3,
      options: { ...CONFIGURE_DEFAULTS, retryLimit: -1, namespace: 'a', retentionSinkHold: 's' },
    },
  },
  { kind: 'partition', number: 4_000_000_000, queue: 7, id: ID, name: '' },
  {
    kind: 'stream-query',
    row: {
      id: ID,
      tenant: OTHER,
      name: 'grüße.✓',
      sourceQueue: 'q',
      sinkQueue: null,
      configHash: 'h',
      createdAtUs: 1_800_000_000_000_001,
      updatedAtUs: 1_800_000_000_000_002,
      store: 4_000_000_000,
    },
  },
  { kind: 'drop-stream-query', id: ID },
  {
    kind: 'stream-state',
    store: 1,
    partition: 4_000_000_000,
    changes: [
      {
        key: 'a\u001fé',
        value: new Uint8Array([49]),
        windowEnd: -1_787_133_660_000,
        replacedBytes: null,
      },
      {
        key: '',
        value: new Uint8Array(0),
        windowEnd: 1_787_133_660_000,
        replacedBytes: 0,
      },
      { key: 'gone', value: null, windowEnd: null, replacedBytes: 70_000_000 },
    ],
  },
  { kind: 'sweep-streams', from: 'p\0\0\0\xff' as Key, rowsMax: 1000 },
  { kind: 'cursor', partition: 1, group: 'g', row: null },
  {
    kind: 'cursor',
    partition: 1,
    group: 'g',
    row: {
      committed: -1,
      lease: {
        id: ID,
        batchEnd: 41,
        expiresAtUs: 1_800_000_000_000_002,
        grantedBy: 2,
        conflation: true,
      },
      settled: { leaseId: OTHER, first: 0, last: 2 ** 41 - 1 },
      attemptOffset: -1,
      attempt: 0,
      retries: 3,
      totalConsumed: 9,
      createdAtUs: 5,
      signalled: { first: 0, last: 2 ** 41 - 1 },
      metadata: 'note',
    },
  },
  {
    kind: 'group',
    queue: 7,
    group: 'g',
    row: {
      subscription: { mode: 'timestamp', atUs: 12 },
      registeredAtUs: 13,
      conflation: true,
      isSeeded: false,
    },
  },
  {
    kind: 'group',
    queue: 7,
    group: 'n',
    row: { subscription: { mode: 'new' }, registeredAtUs: 1, conflation: false, isSeeded: true },
  },
  { kind: 'group', queue: 7, group: 'n', row: null },
  {
    kind: 'dead-letter',
    row: {
      id: ID,
      queue: 7,
      partition: 1,
      group: 'g',
      offset: 41,
      messageId: OTHER,
      transactionId: 'lbl-1',
      producerSub: null,
      retries: 3,
      error: 'jam',
      failedAtUs: 5,
      payload: new TextEncoder().encode('{"n":1.50}'),
    },
  },
  { kind: 'delete-queue', queue: 7 },
  { kind: 'sweep-queue', queue: 7, rowsMax: 1000 },
  {
    kind: 'requests',
    session: newRequestSession(2 ** 52 - 1, 0xffff_ffff, 0x80),
    settled: [1, 2, 900, 2 ** 48 - 2],
    records: [
      { sequence: 901, outcome: Uint8Array.from([1, 2, 255]) },
      { sequence: 2 ** 48 - 1, outcome: new Uint8Array(0) },
    ],
  },
  { kind: 'requests', session: newRequestSession(0, 0, 0), settled: [], records: [] },
  { kind: 'cluster-version', version: 6 },
  { kind: 'group-change', id: ID, row: null },
  ...(
    [
      { kind: 'seek', targetUs: null },
      { kind: 'seek', targetUs: 2 ** 53 - 1 },
      { kind: 'delete', deleteMetadata: true },
      { kind: 'subscribe', atUs: 5 },
    ] as const
  ).map(
    (what, i): Effect => ({
      kind: 'group-change',
      id: OTHER,
      row: {
        id: OTHER,
        order: 9,
        tenant: OTHER,
        group: 'grüße',
        what,
        queue: i === 0 ? 7 : null,
        partitionsEnd: 4_000_000_000,
        nextQueue: `${OTHER}\u00ff`,
        nextPartition: 3,
        youngUs: 1_800_000_000_000_002,
        wasSeeded: i === 1,
        queues: 2,
        changed: 300,
        isDone: i === 2,
      },
    }),
  ),
];

test('every kind comes back as it was written', () => {
  const writer = new ByteWriter(16);
  writeEntryHeader(writer, 1_800_000_000_000_000);
  for (const effect of EFFECTS) writeEffect(writer, effect);
  const reader = new ByteReader(writer.finish());
  expect(readEntryHeader(reader)).toBe(1_800_000_000_000_000);
  const read: unknown[] = [];
  while (reader.position < reader.end) read.push(readEffect(reader));
  expect(read).toEqual(EFFECTS);
});

test('an unknown effect kind or entry format stops the node', () => {
  const unknown = new ByteWriter(16);
  unknown.u8(200);
  unknown.u32(0);
  expect(() => readEffect(new ByteReader(unknown.finish()))).toThrow(CatalogueFault);
  expect(() => readEntryHeader(new ByteReader(new Uint8Array([9, 0, 0])))).toThrow(CatalogueFault);
});
