/**
 * The body of a stream cycle (streams 4): operations on state, messages for sinks, and what becomes
 * of the leased batch. Values and payloads stay in the body as a start and an end.
 *
 * The contract is lenient with elements: an operation without a key and an item without a queue are
 * passed over, and a word that nobody knows has a meaning.
 */
import type { StateColumns, StreamAck } from '@svc/engine';
import { canonicalUuid, INT32_MAX, INT32_MIN, QUEUE_MODE_GROUP } from '@svc/wire';
import { STREAM_CYCLE_ITEMS_MAX } from '../../base/limits.js';
import { PART_BYTES, readAll } from '../../exchange/large-body.js';
import { readFlag } from '../../json/body-form.js';
import { keySet } from '../../json/json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';
import { PushColumnBuilder, type PushColumns } from '../messages/push-body.js';
import { readQueryId } from './state.js';

export interface StreamCycleBody {
  /** null: none, or no UUID. */
  readonly queryId: string | null;
  readonly partitionId: string;
  readonly consumerGroup: string;
  readonly state: StateColumns;
  readonly pushes: PushColumns;
  /** Ids of messages as the client wants them, by item; undefined: it names none. */
  readonly messageIds: readonly (string | null)[] | undefined;
  /** What the places in `state` and `pushes` lie in: the body, and what it left out behind it. */
  readonly bytes: Buffer;
  readonly ack: StreamAck | null;
  readonly releaseLease: boolean;
}

export const STREAM_CYCLE_BODY_KEYS = keySet(
  'query_id',
  'partition_id',
  'consumer_group',
  'state_ops',
  'push_items',
  'ack',
  'release_lease',
);
const QUERY_ID = 0;
const PARTITION_ID = 1;
const CONSUMER_GROUP = 2;
const STATE_OPS = 3;
const PUSH_ITEMS = 4;
const ACK = 5;

/** The payload of an item that has none. */
const EMPTY_PAYLOAD = Buffer.from('{}', 'latin1');

/** Throws `JsonError` for a body of another shape. */
export function readStreamCycleBody(body: Buffer): StreamCycleBody {
  return readAll(streamCycleParts(body));
}

/** Reads a body, and stops after each part of its elements. Throws `JsonError`. */
export function* streamCycleParts(body: Buffer): Generator<void, StreamCycleBody> {
  const reader = new JsonReader(body);
  const state = new StateColumnBuilder();
  const pushes = new PushColumnBuilder();
  const messageIds: (string | null)[] = [];
  let queryId: string | null = null;
  let partitionId = '';
  let consumerGroup = '';
  let ack: StreamAck | null = null;
  let releaseLease = true;
  let addsPayload = false;
  let seen = 0;
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(STREAM_CYCLE_BODY_KEYS, seen);
    if (key === KEYS_END) break;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    if (key === KEY_UNKNOWN || reader.isNull()) reader.skipValue();
    else if (key === QUERY_ID) queryId = readQueryId(reader);
    else if (key === PARTITION_ID) partitionId = reader.readText('partition_id');
    else if (key === CONSUMER_GROUP) consumerGroup = reader.readName('consumer_group');
    else if (key === STATE_OPS) yield* readStateOps(reader, state);
    else if (key === PUSH_ITEMS) {
      addsPayload = yield* readPushItems(reader, pushes, messageIds, body.length);
    } else if (key === ACK) ack = readAck(reader);
    else releaseLease = readFlag(reader, 'release_lease');
  }
  reader.finish();
  const bytes = addsPayload ? Buffer.concat([body, EMPTY_PAYLOAD]) : body;
  if (consumerGroup === '') consumerGroup = QUEUE_MODE_GROUP;
  const scope = { queryId, partitionId, consumerGroup };
  const named = messageIds.some((id) => id !== null) ? messageIds : undefined;
  return { ...scope, state, pushes, messageIds: named, bytes, ack, releaseLease };
}

/** Passes what is no object: the contract skips such elements. False: there was none. */
function entersObject(reader: JsonReader, name: string): boolean {
  if (reader.peek() !== OPEN_BRACE) {
    reader.skipValue();
    return false;
  }
  reader.enterObject(name);
  return true;
}

const OPEN_BRACE = 0x7b;

/** A string, or null for anything else. */
function textOrNull(reader: JsonReader, name: string): string | null {
  if (reader.isString()) return reader.readText(name);
  reader.skipValue();
  return null;
}

// --- state ---------------------------------------------------------------------------------------

export const STREAM_STATE_OP_KEYS = keySet('type', 'key', 'value');
const OP_TYPE = 0;
const OP_KEY = 1;
const OP_VALUE = 2;

class StateColumnBuilder implements StateColumns {
  readonly keys: string[] = [];
  readonly valueStart: number[] = [];
  readonly valueEnd: number[] = [];
  readonly isDelete: boolean[] = [];
  readonly windowEnds: (number | null)[] = [];
}

function* readStateOps(reader: JsonReader, columns: StateColumnBuilder): Generator<void, void> {
  let elements = 0;
  let until = reader.at + PART_BYTES;
  reader.enterArray('state_ops');
  while (reader.nextElement()) {
    if (++elements > STREAM_CYCLE_ITEMS_MAX) {
      reader.fail(`state_ops has more than ${STREAM_CYCLE_ITEMS_MAX} elements`, reader.at);
    }
    if (entersObject(reader, 'a state operation')) readStateOp(reader, columns);
    if (reader.at < until) continue;
    yield;
    until = reader.at + PART_BYTES;
  }
}

function readStateOp(reader: JsonReader, columns: StateColumnBuilder): void {
  let type: string | null = null;
  let text: string | null = null;
  let [start, end] = [0, 0];
  let windowEnd: number | null = null;
  let seen = 0;
  for (;;) {
    const key = reader.nextKey(STREAM_STATE_OP_KEYS, seen);
    if (key === KEYS_END) break;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    if (key === OP_TYPE) type = textOrNull(reader, 'type');
    else if (key === OP_KEY) text = textOrNull(reader, 'key');
    else {
      if (key === OP_VALUE) windowEnd = reader.lookAhead(windowEndOf);
      reader.skipValue();
      if (key === OP_VALUE) [start, end] = [reader.valueStart, reader.valueEnd];
    }
  }
  if (text === null) return;
  const isDelete = type === 'delete';
  columns.keys.push(text);
  columns.isDelete.push(isDelete);
  columns.valueStart.push(isDelete ? 0 : start);
  columns.valueEnd.push(isDelete ? 0 : end);
  columns.windowEnds.push(isDelete ? null : windowEnd);
}

const WINDOW_KEYS = keySet('windowEnd');
const INTEGER = /^-?\d+$/;

/** The last `windowEnd` of a value that is an object, as readers of JSON take it. */
function windowEndOf(reader: JsonReader): number | null {
  if (!entersObject(reader, 'a value')) return null;
  let windowEnd: number | null = null;
  for (;;) {
    const key = reader.nextKey(WINDOW_KEYS, 0);
    if (key === KEYS_END) return windowEnd;
    reader.skipValue();
    if (key === KEY_UNKNOWN) continue;
    const text = reader.valueText();
    const value = INTEGER.test(text) ? Number(text) : Number.NaN;
    windowEnd = Number.isSafeInteger(value) ? value : null;
  }
}

// --- messages ------------------------------------------------------------------------------------

export const STREAM_PUSH_ITEM_KEYS = keySet(
  'queue',
  'partition',
  'payload',
  'data',
  'messageId',
  'transactionId',
);
const QUEUE = 0;
const PARTITION = 1;
const PAYLOAD = 2;
const DATA = 3;
const MESSAGE_ID = 4;
const TRANSACTION_ID = 5;
const HAS_PAYLOAD = 1 << PAYLOAD;

/** True when an item needs the payload that stands behind the body, at `emptyAt`. */
function* readPushItems(
  reader: JsonReader,
  columns: PushColumnBuilder,
  messageIds: (string | null)[],
  emptyAt: number,
): Generator<void, boolean> {
  let elements = 0;
  let until = reader.at;
  let isNeeded = false;
  reader.enterArray('push_items');
  while (reader.nextElement()) {
    if (++elements > STREAM_CYCLE_ITEMS_MAX) {
      reader.fail(`push_items has more than ${STREAM_CYCLE_ITEMS_MAX} elements`, reader.at);
    }
    if (reader.at >= until) {
      yield;
      until = reader.at + PART_BYTES;
    }
    if (!entersObject(reader, 'an item')) continue;
    const item = readPushItem(reader);
    if (item.queue === '') continue;
    const { start, end } = item.place ?? { start: emptyAt, end: emptyAt + EMPTY_PAYLOAD.length };
    if (item.place === null) isNeeded = true;
    columns.add(item.queue, item.partition, item.transactionId, start, end);
    messageIds.push(item.messageId);
  }
  return isNeeded;
}

interface PushItem {
  readonly queue: string;
  readonly partition: string;
  readonly transactionId: string | null;
  /** null: none, or no UUID. */
  readonly messageId: string | null;
  /** null: neither payload nor data. */
  readonly place: { readonly start: number; readonly end: number } | null;
}

function readPushItem(reader: JsonReader): PushItem {
  let queue = '';
  let partition = '';
  let messageId: string | null = null;
  let transactionId = '';
  let place: PushItem['place'] = null;
  let seen = 0;
  for (;;) {
    const key = reader.nextKey(STREAM_PUSH_ITEM_KEYS, seen);
    if (key === KEYS_END) break;
    const hadPayload = (seen & HAS_PAYLOAD) !== 0;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    if (key === QUEUE && reader.isString()) queue = reader.readName('queue');
    else if (key === PARTITION) partition = reader.readNameOrNull('partition') ?? '';
    else if (key === MESSAGE_ID) messageId = textOrNull(reader, 'messageId');
    else if (key === TRANSACTION_ID) {
      transactionId = reader.readTextOrNull('transactionId') ?? '';
    } else {
      reader.skipValue();
      const isShown = key === PAYLOAD || (key === DATA && !hadPayload);
      if (isShown) place = { start: reader.valueStart, end: reader.valueEnd };
    }
  }
  // An id of the message itself is its key of deduplication, unless it has another one.
  const id = messageId === null ? null : canonicalUuid(messageId);
  const ids = { messageId: id, transactionId: transactionId === '' ? id : transactionId };
  return { queue, partition, ...ids, place };
}

// --- the acknowledgement -------------------------------------------------------------------------

export const STREAM_ACK_KEYS = keySet('leaseId', 'status', 'count', 'transactionId');
const LEASE_ID = 0;
const STATUS = 1;
const COUNT = 2;
const COMPLETED = new Set(['completed', 'success', 'acked', 'ok', '']);

function readAck(reader: JsonReader): StreamAck {
  let leaseId = '';
  let completed = true;
  let count = 0;
  let seen = 0;
  reader.enterObject('ack');
  for (;;) {
    const key = reader.nextKey(STREAM_ACK_KEYS, seen);
    if (key === KEYS_END) return { leaseId, completed, count: Math.max(0, count) };
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    if (key === LEASE_ID) leaseId = reader.readTextOrNull('leaseId') ?? '';
    else if (reader.isNull()) reader.skipValue();
    else if (key === STATUS) {
      const status = textOrNull(reader, 'status');
      completed = status !== null && COMPLETED.has(status.toLowerCase());
    } else if (key === COUNT) count = reader.readInteger('count', INT32_MIN, INT32_MAX);
    else reader.skipValue();
  }
}
