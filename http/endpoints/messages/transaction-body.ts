/**
 * The body of a transaction (message-plane 6): acks and pushes in `operations`, key/value
 * operations in `kv`, `timers`, and `positions`.
 *
 * Pushed items become the columns of one push, whichever operations they stand in. An operation is
 * read twice, because its type may stand behind what the type decides about: first up to the type,
 * usually its first member, and then as what it is.
 */
import type { AckStatus, Position, Subscription, TransactionAck } from '@svc/engine';
import { canonicalUuid, QUEUE_MODE_GROUP } from '@svc/wire';
import {
  TIMER_CALL_DEFAULTS,
  type TimerCallLimits,
  TRANSACTION_ITEMS_MAX,
} from '../../base/limits.js';
import { PART_BYTES, readAll } from '../../exchange/large-body.js';
import { keySet } from '../../json/json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';
import { KvRawOps } from '../kv/kv-raw-ops.js';
import { type RawTimerOp, readTimerList } from '../timers/ops.js';
import { PushColumnBuilder, type PushColumns } from './push-body.js';
import { positionParts, TransactionFault } from './transaction-positions.js';

/** What an operation, or an item of one, adds to the results. */
export type Slot = 'ack' | 'push';

export interface TransactionBody {
  /** In the order of the operations; items one by one. */
  readonly slots: readonly Slot[];
  readonly acks: readonly TransactionAck[];
  readonly pushes: PushColumns;
  /** An entry for each pushed item; null: none has one. */
  readonly traceIds: readonly (string | null)[] | null;
  readonly positions: readonly Position[];
  readonly kv: KvRawOps;
  readonly timers: readonly RawTimerOp[];
}

export const TRANSACTION_BODY_KEYS = keySet(
  'operations',
  'requiredLeases',
  'kv',
  'timers',
  'positions',
);
const OPERATIONS = 0;
const REQUIRED_LEASES = 1;
const KV = 2;
const TIMERS = 3;

const TYPE_KEYS = keySet('type');

/**
 * Throws `JsonError` for a body of another shape, and `TransactionFault` or `TimerFault` for what
 * has a text of its own. `defaultSubscription` is that of positions which name none.
 */
export function readTransactionBody(
  body: Buffer,
  defaultSubscription: Subscription,
  timerLimits: TimerCallLimits = TIMER_CALL_DEFAULTS,
): TransactionBody {
  return readAll(transactionParts(body, defaultSubscription, timerLimits));
}

/** Reads a body, and stops after each part of its elements. Throws as `readTransactionBody`. */
export function* transactionParts(
  body: Buffer,
  defaultSubscription: Subscription,
  timerLimits: TimerCallLimits,
): Generator<void, TransactionBody> {
  const reader = new JsonReader(body);
  const parts = new Parts();
  let leases: readonly string[] = [];
  let positions: readonly Position[] = [];
  const kv = new KvRawOps(body);
  let timers: readonly RawTimerOp[] = [];
  let seen = 0;
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(TRANSACTION_BODY_KEYS, seen);
    if (key === KEYS_END) break;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    // A null is an absent array, and other members mean nothing.
    if (key === KEY_UNKNOWN || reader.isNull()) reader.skipValue();
    else if (key === OPERATIONS) yield* readOperations(reader, parts);
    else if (key === REQUIRED_LEASES) leases = readLeases(reader);
    else if (key === KV) yield* readKvOps(reader, kv);
    else if (key === TIMERS) timers = readTimerList(reader, timerLimits);
    else positions = yield* positionParts(reader, defaultSubscription);
  }
  reader.finish();
  if (parts.isEmpty && positions.length + kv.count + timers.length === 0) {
    const what = 'transaction requires an operations array (or a top-level kv/timers array)';
    throw new TransactionFault(what);
  }
  const { slots, traceIds, columns: pushes } = parts;
  return { slots, acks: parts.fencedAcks(leases), pushes, traceIds, positions, kv, timers };
}

/** The operations as far as they are read. */
class Parts {
  readonly slots: Slot[] = [];
  readonly acks: TransactionAck[] = [];
  readonly columns = new PushColumnBuilder();
  traceIds: (string | null)[] | null = null;
  /** An operation may push no item at all. */
  isEmpty = true;

  /** Makes room for one more result. */
  take(reader: JsonReader, slot: Slot): void {
    if (this.slots.length === TRANSACTION_ITEMS_MAX) {
      reader.fail(`more than ${TRANSACTION_ITEMS_MAX} operations and items`, reader.at);
    }
    this.slots.push(slot);
  }

  addTrace(traceId: string | null): void {
    if (traceId === null && this.traceIds === null) return;
    const before = this.columns.itemGroup.length - 1;
    this.traceIds ??= new Array<string | null>(before).fill(null);
    this.traceIds.push(traceId);
  }

  /** An ack without a lease gets the call's only one, if there is just one. */
  fencedAcks(required: readonly string[]): readonly TransactionAck[] {
    const leases = new Set(required);
    for (const { leaseId } of this.acks) leases.add(leaseId);
    leases.delete('');
    const [only = ''] = leases;
    if (leases.size !== 1) return this.acks;
    return this.acks.map((ack) => (ack.leaseId === '' ? { ...ack, leaseId: only } : ack));
  }
}

function readLeases(reader: JsonReader): string[] {
  const leases: string[] = [];
  reader.enterArray('requiredLeases');
  while (reader.nextElement()) leases.push(reader.readText('a required lease'));
  return leases;
}

function* readKvOps(reader: JsonReader, kv: KvRawOps): Generator<void, void> {
  let until = reader.at + PART_BYTES;
  reader.enterArray('kv');
  while (reader.nextElement()) {
    kv.read(reader);
    if (reader.at < until) continue;
    yield;
    until = reader.at + PART_BYTES;
  }
}

// --- operations ----------------------------------------------------------------------------------

function* readOperations(reader: JsonReader, parts: Parts): Generator<void, void> {
  let until = reader.at + PART_BYTES;
  reader.enterArray('operations');
  while (reader.nextElement()) {
    parts.isEmpty = false;
    if (reader.at >= until) {
      yield;
      until = reader.at + PART_BYTES;
    }
    const type = reader.lookAhead(typeOf);
    switch (type) {
      case 'push':
        if (reader.lookAhead(findItems)) yield* readItems(reader, parts);
        else readItem(reader, parts);
        break;
      case 'ack':
        readAck(reader, parts);
        break;
      case null:
        throw new TransactionFault('every transaction operation needs a `type` of push or ack');
      case 'kv':
      case 'timer':
        throw new TransactionFault(
          'kv and timer operations are TOP-LEVEL arrays of the request ("kv":[...], ' +
            '"timers":[...]), never elements of `operations`',
        );
      default:
        throw new TransactionFault(
          `transaction supports only push and ack operations, got \`${type}\``,
        );
    }
  }
}

/** null: it has none that is a string. */
function typeOf(reader: JsonReader): string | null {
  reader.enterObject('an operation');
  for (;;) {
    const key = reader.nextKey(TYPE_KEYS, 0);
    if (key === KEYS_END) return null;
    if (key !== KEY_UNKNOWN) return reader.isString() ? reader.readText('type') : null;
    reader.skipValue();
  }
}

export const TRANSACTION_PUSH_KEYS = keySet(
  'queue',
  'partition',
  'transactionId',
  'payload',
  'traceId',
  'items',
  'type',
);
const QUEUE = 0;
const PARTITION = 1;
const TRANSACTION_ID = 2;
const PAYLOAD = 3;
const TRACE_ID = 4;
const ITEMS = 5;

/** The items of a push that has a list of them. */
function* readItems(reader: JsonReader, parts: Parts): Generator<void, void> {
  let until = reader.at + PART_BYTES;
  let seen = 0;
  reader.enterObject('an operation');
  for (;;) {
    const key = reader.nextKey(TRANSACTION_PUSH_KEYS, seen);
    if (key === KEYS_END) return;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    if (key !== ITEMS) {
      reader.skipValue();
      continue;
    }
    reader.enterArray('items');
    while (reader.nextElement()) {
      readItem(reader, parts);
      if (reader.at < until) continue;
      yield;
      until = reader.at + PART_BYTES;
    }
  }
}

/** True: the push has a list of items. False: it is one item itself. */
function findItems(reader: JsonReader): boolean {
  reader.enterObject('an operation');
  for (;;) {
    const key = reader.nextKey(TRANSACTION_PUSH_KEYS, 0);
    if (key === KEYS_END) return false;
    if (key === ITEMS) return !reader.isNull();
    reader.skipValue();
  }
}

function readItem(reader: JsonReader, parts: Parts): void {
  const { columns } = parts;
  parts.take(reader, 'push');
  let seen = 0;
  let queue: string | null = null;
  let partition = '';
  let transactionId: string | null = null;
  let traceId: string | null = null;
  let payloadStart = -1;
  let payloadEnd = -1;
  reader.enterObject('an item');
  for (;;) {
    const key = reader.nextKey(TRANSACTION_PUSH_KEYS, seen);
    if (key === KEYS_END) break;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    switch (key) {
      case QUEUE:
        queue = reader.readRepeatedName('queue', columns.lastQueue);
        break;
      case PARTITION:
        if (reader.isNull()) reader.skipValue();
        else partition = reader.readRepeatedName('partition', columns.lastPartition);
        break;
      case TRANSACTION_ID:
        transactionId = reader.readTextOrNull('transactionId');
        break;
      case PAYLOAD:
        reader.skipValue();
        payloadStart = reader.valueStart;
        payloadEnd = reader.valueEnd;
        break;
      case TRACE_ID:
        // One that is no UUID is as good as none.
        traceId = reader.isString() ? canonicalUuid(reader.readText('traceId')) : skipped(reader);
        break;
      default:
        reader.skipValue();
    }
  }
  if (queue === null || payloadStart < 0) {
    throw new TransactionFault('a push operation needs queue and payload');
  }
  columns.add(queue, partition, transactionId, payloadStart, payloadEnd);
  parts.addTrace(traceId);
}

function skipped(reader: JsonReader): null {
  reader.skipValue();
  return null;
}

export const TRANSACTION_ACK_KEYS = keySet(
  'transactionId',
  'partitionId',
  'consumerGroup',
  'leaseId',
  'status',
  'error',
  'type',
);
const ACK_TRANSACTION_ID = 0;
const PARTITION_ID = 1;
const CONSUMER_GROUP = 2;
const LEASE_ID = 3;
const STATUS = 4;
const ERROR = 5;

const DIGITS = /^[0-9]+$/;

function readAck(reader: JsonReader, parts: Parts): void {
  parts.take(reader, 'ack');
  let seen = 0;
  let transactionId: string | null = null;
  let partitionId = '';
  let consumerGroup = '';
  let leaseId = '';
  let status: AckStatus = 'completed';
  let error: string | null = null;
  reader.enterObject('an operation');
  for (;;) {
    const key = reader.nextKey(TRANSACTION_ACK_KEYS, seen);
    if (key === KEYS_END) break;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    switch (key) {
      case ACK_TRANSACTION_ID:
        transactionId = reader.readTextOrNull('transactionId');
        break;
      case PARTITION_ID:
        partitionId = reader.readTextOrNull('partitionId') ?? '';
        break;
      case CONSUMER_GROUP:
        consumerGroup = reader.readNameOrNull('consumerGroup') ?? '';
        break;
      case LEASE_ID:
        leaseId = reader.readTextOrNull('leaseId') ?? '';
        break;
      case STATUS:
        status = ackStatus(reader.readTextOrNull('status'));
        break;
      case ERROR:
        error = reader.readTextOrNull('error');
        break;
      default:
        reader.skipValue();
    }
  }
  if (transactionId === null) throw new TransactionFault('an ack operation needs transactionId');
  if (!DIGITS.test(partitionId)) throw new TransactionFault('partitionId is not a partition id');
  const group = consumerGroup === '' ? QUEUE_MODE_GROUP : consumerGroup;
  parts.acks.push({ transactionId, partitionId, leaseId, status, error, consumerGroup: group });
}

/** Inside a transaction, what is not known is a completion (decisions 3). */
function ackStatus(text: string | null): AckStatus {
  switch (text?.toLowerCase()) {
    case 'failed':
      return 'failed';
    case 'retry':
      return 'retry';
    case 'dlq':
      return 'dlq';
    default:
      return 'completed';
  }
}
