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
import { ByteWriter } from './bytes.js';
import { malformed } from './catalogue-fault.js';
import { count } from './fields/field.js';
import { type Form, nothing, single } from './fields/record.js';
import { GuardedReader } from './guarded-reader.js';
import {
  appendRow,
  cursorRow,
  doomedQueueRow,
  groupRow,
  logUseRow,
  metaRow,
  partitionRow,
  queueRow,
  sharedLeaseRow,
} from './rows.js';
import type { Table } from './state.js';

const ROW_BYTES_FIRST = 1024;
/** Longer rows are rare, and their memory is let go of by the next row. */
const ROW_BYTES_KEPT = 64 * 1024;
const SLAB_BYTES = 64 * 1024;
/** Shorter rows lie in the heap, where memory of their own costs nothing beside them. */
const HEAP_ROW_BYTES_MAX = 64;
/** Longer rows get memory of their own, so little of a slab is left unused. */
const SHARED_ROW_BYTES_MAX = 4096;

/** Rows are written here and copied out. */
let rowWriter = new ByteWriter(ROW_BYTES_FIRST);

/**
 * Rows stand side by side in memory of this size: what the platform charges for memory of a row's
 * own, a quarter of a microsecond above 64 bytes, is more than its fields take to write. A row
 * keeps the rows beside it alive, so it is for those that go to the store or into a digest at once.
 */
let slab = new Uint8Array(0);
let slabUsed = 0;

function copied(writer: ByteWriter): Uint8Array {
  const { bytes, length } = writer;
  if (length <= HEAP_ROW_BYTES_MAX || length > SHARED_ROW_BYTES_MAX) return bytes.slice(0, length);
  if (slabUsed + length > slab.length) {
    slab = new Uint8Array(SLAB_BYTES);
    slabUsed = 0;
  }
  const row = slab.subarray(slabUsed, slabUsed + length);
  row.set(bytes.subarray(0, length));
  slabUsed += length;
  return row;
}

export interface FormTable<Row> extends Table<Row> {
  readonly form: Form<Row>;
}

/** A replicated table; its rows are written and read in this form. */
export function table<Row>(
  id: number,
  name: string,
  form: Form<Row>,
  heldBytes?: (row: Row) => number,
): FormTable<Row> {
  const { writeFields, readFields } = form;
  const written = (row: Row): ByteWriter => {
    if (rowWriter.bytes.length > ROW_BYTES_KEPT) rowWriter = new ByteWriter(ROW_BYTES_FIRST);
    rowWriter.length = 0;
    writeFields(rowWriter, row);
    return rowWriter;
  };
  return {
    id,
    name,
    form,
    local: false,
    ...(heldBytes !== undefined && { heldBytes }),
    encode: (row) => copied(written(row)),
    encodeShared: written,
    decode: (bytes) => {
      const r = new GuardedReader(bytes);
      const row = readFields(r);
      if (!r.whole) malformed(r, `a row of table ${name}`);
      return row;
    },
  };
}

export const meta = table(1, 'meta', metaRow);

export const queueNumbers = table(2, 'queueNumbers', single(count));

export const queues = table(3, 'queues', queueRow);

export const partitionNumbers = table(4, 'partitionNumbers', single(count));

export const partitions = table(5, 'partitions', partitionRow);

export const queuePartitions = table(6, 'queuePartitions', nothing);

export const appends = table(7, 'appends', appendRow);

export const cursors = table(8, 'cursors', cursorRow);

export const groups = table(9, 'groups', groupRow);

export const doomedQueues = table(11, 'doomedQueues', doomedQueueRow);

export const sharedLeases = table(12, 'sharedLeases', sharedLeaseRow);

/** The configuration as the log has it: a form of consensus (raft), which is not read here. */
export const memberships: Table<Uint8Array> = {
  id: 13,
  name: 'memberships',
  local: false,
  encode: (row) => row,
  // The store reuses the memory of what it read.
  decode: (bytes) => bytes.slice(),
};

/** See request-record.ts: what it holds has a form of its own, and grows in it. */
export const requests: Table<Uint8Array> = {
  id: 14,
  name: 'requests',
  local: false,
  encode: (row) => row,
  // The store reuses the memory of what it read.
  decode: (bytes) => bytes.slice(),
};

export const clusterVersions = table(15, 'clusterVersions', single(count));

export const logUse = table(30, 'logUse', logUseRow);

export const oldestAppends = table(31, 'oldestAppends', nothing);
