/**
 * The tables of the state: their numbers on disk, their keys, and the binary form of their rows.
 *
 * | Table              | Key                      | Row                                         |
 * | ------------------ | ------------------------ | ------------------------------------------- |
 * | meta               | (none)                   | MetaRow                                     |
 * | queueNumbers       | tenant, queue name       | queue number                                |
 * | queues             | queue number             | QueueRow                                    |
 * | partitionNumbers   | queue number, name       | partition number                            |
 * | partitions         | partition number         | PartitionRow                                |
 * | queuePartitions    | queue, partition number  | nothing: the partitions in creation order   |
 * | appends            | partition, base offset   | AppendRow                                   |
 * | cursors            | partition, group         | CursorRow                                   |
 * | groups             | queue number, group      | GroupRow                                    |
 * | deadLetters, ...   | see dead-letters/tables.ts |                                            |
 * | doomedQueues       | queue number             | DoomedQueueRow: a deleted queue still swept |
 * | sharedLeases       | lease id, cursor key     | SharedLeaseRow: see lease-id.ts             |
 * | memberships        | log index                | configuration entry: see memberships.ts     |
 * | requests           | session, sequence        | outcome of a request: see request-record.ts |
 * | clusterVersions    | (none)                   | catalogue version: see cluster-version.ts   |
 * | logUse             | stretch of the log       | LogUseRow: see log-use.ts                   |
 * | oldestAppends      | queue, stamp, partition  | nothing: partitions by their oldest append  |
 * | queuesByAge, ...   | see name-index.ts        |                                             |
 * | transactionRuns    | see transaction-ids/id-index.ts | ids known to the transaction index (local)  |
 *
 * Numbers are allocated upward and never reused, so a row of a deleted queue or partition can never
 * be taken for one of its successor.
 */
import { assert } from './assert.js';
import { ByteReader, ByteWriter } from './bytes.js';
import type { QueueOptions, Subscription } from './commands/commands.js';
import type {
  AppendRow,
  CursorRow,
  DoomedQueueRow,
  GroupRow,
  LogUseRow,
  MetaRow,
  PartitionRow,
  QueueRow,
  SharedLeaseRow,
} from './rows.js';
import type { Table } from './state.js';

const ROW_BYTES_FIRST = 1024;
/** Longer rows are rare, and their memory is not kept. */
const ROW_BYTES_KEPT = 64 * 1024;

/**
 * Rows are written here and copied out. A view of a small array of its own would give that array
 * memory outside the heap, which costs several times the copy.
 */
let rowWriter = new ByteWriter(ROW_BYTES_FIRST);

/** A replicated table; its rows are written and read in this binary form. */
export function table<Row>(
  id: number,
  name: string,
  write: (writer: ByteWriter, row: Row) => void,
  read: (reader: ByteReader) => Row,
  heldBytes?: (row: Row) => number,
): Table<Row> {
  return {
    id,
    name,
    local: false,
    ...(heldBytes !== undefined && { heldBytes }),
    encode: (row) => {
      rowWriter.length = 0;
      write(rowWriter, row);
      const bytes = rowWriter.bytes.slice(0, rowWriter.length);
      if (rowWriter.bytes.length > ROW_BYTES_KEPT) rowWriter = new ByteWriter(ROW_BYTES_FIRST);
      return bytes;
    },
    decode: (bytes) => read(new ByteReader(bytes)),
  };
}

export const meta = table<MetaRow>(
  1,
  'meta',
  (w, row) => {
    w.varint(row.nextQueue);
    w.varint(row.nextPartition);
    w.varint(row.stampUs);
    w.varint(row.timerUs);
  },
  (r) => ({
    nextQueue: r.varint(),
    nextPartition: r.varint(),
    stampUs: r.varint(),
    timerUs: r.varint(),
  }),
);

export const queueNumbers = table<number>(
  2,
  'queueNumbers',
  (w, row) => w.varint(row),
  (r) => r.varint(),
);

export const queues = table<QueueRow>(3, 'queues', writeQueue, readQueue);

export const partitionNumbers = table<number>(
  4,
  'partitionNumbers',
  (w, row) => w.varint(row),
  (r) => r.varint(),
);

export const partitions = table<PartitionRow>(
  5,
  'partitions',
  (w, row) => {
    w.u32(row.number);
    w.u32(row.queue);
    w.uuid(row.id);
    w.text(row.name);
    w.varint(row.createdAtUs);
    w.varint(row.nextOffset);
    w.varint(row.logStart);
    w.varint(row.lastStampUs);
    w.varint(row.retainedBytes);
    w.varint(row.appends);
    w.varint(row.deadLetters);
  },
  (r) => ({
    number: r.u32(),
    queue: r.u32(),
    id: r.uuid(),
    name: r.text(),
    createdAtUs: r.varint(),
    nextOffset: r.varint(),
    logStart: r.varint(),
    lastStampUs: r.varint(),
    retainedBytes: r.varint(),
    appends: r.varint(),
    deadLetters: r.varint(),
  }),
);

export const queuePartitions = table<true>(
  6,
  'queuePartitions',
  () => {},
  () => true,
);

export const appends = table<AppendRow>(
  7,
  'appends',
  (w, row) => {
    w.varint(row.count * 2 + (row.hasMessageIds ? 1 : 0));
    w.varint(row.stampUs);
    w.varint(row.index);
    w.varint(row.position);
    w.varint(row.length);
  },
  (r) => {
    const counted = r.varint();
    return {
      count: Math.floor(counted / 2),
      stampUs: r.varint(),
      index: r.varint(),
      position: r.varint(),
      length: r.varint(),
      hasMessageIds: counted % 2 === 1,
    };
  },
);

export const cursors = table<CursorRow>(8, 'cursors', writeCursor, readCursor);

export const groups = table<GroupRow>(9, 'groups', writeGroup, readGroup);

const SWEEP_STAGES = ['cursors', 'appends', 'groups', 'dead-letters', 'ages'] as const;

export const doomedQueues = table<DoomedQueueRow>(
  11,
  'doomedQueues',
  (w, row) => {
    writeQueue(w, row.queue);
    w.u8(SWEEP_STAGES.indexOf(row.stage));
    w.u32(row.nextPartition);
    w.text(row.nextKey);
  },
  (r) => {
    const queue = readQueue(r);
    const code = r.u8();
    const stage = SWEEP_STAGES[code];
    assert(stage !== undefined, `unknown stage ${code} of a sweep`);
    return { queue, stage, nextPartition: r.u32(), nextKey: r.text() };
  },
);

export const sharedLeases = table<SharedLeaseRow>(
  12,
  'sharedLeases',
  (w, row) => {
    w.u32(row.partition);
    w.text(row.group);
  },
  (r) => ({ partition: r.u32(), group: r.text() }),
);

export const memberships: Table<Uint8Array> = {
  id: 13,
  name: 'memberships',
  local: false,
  encode: (row) => row,
  // The store reuses the memory of what it read.
  decode: (bytes) => bytes.slice(),
};

export const requests: Table<Uint8Array> = {
  id: 14,
  name: 'requests',
  local: false,
  encode: (row) => row,
  // The store reuses the memory of what it read.
  decode: (bytes) => bytes.slice(),
};

export const clusterVersions = table<number>(
  15,
  'clusterVersions',
  (w, row) => w.varint(row),
  (r) => r.varint(),
);

export const logUse = table<LogUseRow>(
  30,
  'logUse',
  (w, row) => {
    w.varint(row.appends);
    w.varint(row.bytes);
  },
  (r) => ({ appends: r.varint(), bytes: r.varint() }),
);

export const oldestAppends = table<true>(
  31,
  'oldestAppends',
  () => {},
  () => true,
);

// --- row forms that effects share --------------------------------------------------------------

export function writeQueue(w: ByteWriter, row: QueueRow): void {
  w.u32(row.number);
  w.uuid(row.id);
  w.text(row.tenant);
  w.text(row.name);
  w.varint(row.createdAtUs);
  w.varint(row.partitions);
  writeOptions(w, row.options);
}

export function readQueue(r: ByteReader): QueueRow {
  return {
    number: r.u32(),
    id: r.uuid(),
    tenant: r.text(),
    name: r.text(),
    createdAtUs: r.varint(),
    partitions: r.varint(),
    options: readOptions(r),
  };
}

/** Options are int32 on the wire and may be negative: they are written as their 32 bits. */
function writeOptions(w: ByteWriter, o: QueueOptions): void {
  w.text(o.namespace);
  w.text(o.task);
  w.u32(o.priority);
  w.u32(o.leaseTime);
  w.u32(o.retryLimit);
  w.u32(o.retryDelay);
  w.u32(o.maxSize);
  w.u32(o.ttl);
  w.flag(o.deadLetterQueue);
  w.flag(o.dlqAfterMaxRetries);
  w.u32(o.delayedProcessing);
  w.u32(o.windowBuffer);
  w.flag(o.retentionEnabled);
  w.u32(o.retentionSeconds);
  w.u32(o.completedRetentionSeconds);
  w.u32(o.maxWaitTimeSeconds);
  w.u32(o.minPopWaitTime);
  w.flag(o.encryptionEnabled);
  w.u32(o.dedupWindowSeconds);
  w.text(o.retentionSinkHold);
  w.u32(o.retentionSinkHoldMaxSeconds);
}

function readOptions(r: ByteReader): QueueOptions {
  return {
    namespace: r.text(),
    task: r.text(),
    priority: r.u32() | 0,
    leaseTime: r.u32() | 0,
    retryLimit: r.u32() | 0,
    retryDelay: r.u32() | 0,
    maxSize: r.u32() | 0,
    ttl: r.u32() | 0,
    deadLetterQueue: r.flag(),
    dlqAfterMaxRetries: r.flag(),
    delayedProcessing: r.u32() | 0,
    windowBuffer: r.u32() | 0,
    retentionEnabled: r.flag(),
    retentionSeconds: r.u32() | 0,
    completedRetentionSeconds: r.u32() | 0,
    maxWaitTimeSeconds: r.u32() | 0,
    minPopWaitTime: r.u32() | 0,
    encryptionEnabled: r.flag(),
    dedupWindowSeconds: r.u32() | 0,
    retentionSinkHold: r.text(),
    retentionSinkHoldMaxSeconds: r.u32() | 0,
  };
}

export function writeCursor(w: ByteWriter, row: CursorRow): void {
  w.offset(row.committed);
  w.flag(row.lease !== null);
  if (row.lease !== null) {
    w.uuid(row.lease.id);
    w.offset(row.lease.batchEnd);
    w.varint(row.lease.expiresAtUs);
    w.varint(row.lease.grantedBy);
    w.flag(row.lease.conflation);
  }
  w.flag(row.settled !== null);
  if (row.settled !== null) {
    w.uuid(row.settled.leaseId);
    w.offset(row.settled.first);
    w.offset(row.settled.last);
  }
  w.offset(row.attemptOffset);
  w.varint(row.attempt);
  w.varint(row.retries);
  w.varint(row.totalConsumed);
  w.varint(row.createdAtUs);
  w.flag(row.signalled !== null);
  if (row.signalled !== null) {
    w.offset(row.signalled.first);
    w.offset(row.signalled.last);
  }
  w.optionalText(row.metadata);
}

export function readCursor(r: ByteReader): CursorRow {
  const committed = r.offset();
  const lease = r.flag()
    ? {
        id: r.uuid(),
        batchEnd: r.offset(),
        expiresAtUs: r.varint(),
        grantedBy: r.varint(),
        conflation: r.flag(),
      }
    : null;
  const settled = r.flag() ? { leaseId: r.uuid(), first: r.offset(), last: r.offset() } : null;
  return {
    committed,
    lease,
    settled,
    attemptOffset: r.offset(),
    attempt: r.varint(),
    retries: r.varint(),
    totalConsumed: r.varint(),
    createdAtUs: r.varint(),
    signalled: r.flag() ? { first: r.offset(), last: r.offset() } : null,
    metadata: r.optionalText(),
  };
}

export function writeGroup(w: ByteWriter, row: GroupRow): void {
  writeSubscription(w, row.subscription);
  w.varint(row.registeredAtUs);
  w.flag(row.conflation);
  w.flag(row.isSeeded);
}

export function readGroup(r: ByteReader): GroupRow {
  return {
    subscription: readSubscription(r),
    registeredAtUs: r.varint(),
    conflation: r.flag(),
    isSeeded: r.flag(),
  };
}

export const SUBSCRIPTION_MODES = ['all', 'new', 'timestamp'] as const;

export function writeSubscription(w: ByteWriter, subscription: Subscription): void {
  w.u8(SUBSCRIPTION_MODES.indexOf(subscription.mode));
  if (subscription.mode === 'timestamp') w.varint(subscription.atUs);
}

export function readSubscription(r: ByteReader): Subscription {
  const code = r.u8();
  const mode = SUBSCRIPTION_MODES[code];
  assert(mode !== undefined, `unknown subscription mode ${code}`);
  return mode === 'timestamp' ? { mode, atUs: r.varint() } : { mode };
}
