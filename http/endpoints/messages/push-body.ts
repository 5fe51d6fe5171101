/**
 * The body of a push (message-plane 2), read into columns: `{"items":[{...}]}`. Payloads stay in
 * the body as a start and an end.
 *
 * The queue and the partition of an item are usually those of the item before it. So their bytes
 * are compared with that item's first, and strings are made and looked up only where they differ.
 */
import type { PushGroup } from '@svc/engine';
import { DEFAULT_PARTITION } from '@svc/wire';
import { PUSH_ITEMS_MAX } from '../../base/limits.js';
import type { PartReader } from '../../exchange/large-body.js';
import { keySet } from '../../json/json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';

/**
 * The columns of a `PushCommand`; `groups` holds each (queue, partition) once, in first-seen order.
 */
export interface PushColumns {
  readonly groups: readonly PushGroup[];
  readonly itemGroup: readonly number[];
  readonly transactionIds: readonly (string | null)[];
  readonly payloadStart: readonly number[];
  readonly payloadEnd: readonly number[];
}

export const PUSH_BODY_KEYS = keySet('items');
export const PUSH_ITEM_KEYS = keySet('queue', 'partition', 'transactionId', 'payload');
const QUEUE = 0;
const PARTITION = 1;
const TRANSACTION_ID = 2;
const PAYLOAD = 3;
const HAS_QUEUE = 1 << QUEUE;
const HAS_PAYLOAD = 1 << PAYLOAD;

/** Throws `JsonError` for a body of another shape. */
export function readPushBody(body: Buffer): PushColumns {
  const reader = new PushBodyReader(body);
  reader.read(Number.POSITIVE_INFINITY);
  return reader.columns;
}

/** Reads a body in parts, which end between two items. */
export class PushBodyReader implements PartReader {
  readonly columns = new PushColumnBuilder();
  readonly #reader: JsonReader;
  #head: ItemHead | null = null;
  #seen = 0;
  #state: 'begin' | 'members' | 'items' = 'begin';

  constructor(body: Buffer) {
    this.#reader = new JsonReader(body);
  }

  read(bytes: number): boolean {
    const reader = this.#reader;
    const until = reader.at + bytes;
    if (this.#state === 'begin') reader.enterObject('the body');
    else if (this.#state === 'items' && !this.#readItems(until)) return false;
    this.#state = 'members';
    for (;;) {
      const key = reader.nextKey(PUSH_BODY_KEYS, this.#seen);
      if (key === KEYS_END) break;
      if (key === KEY_UNKNOWN) {
        reader.skipValue();
        continue;
      }
      this.#seen = 1;
      reader.enterArray('items');
      if (!this.#readItems(until)) {
        this.#state = 'items';
        return false;
      }
    }
    reader.finish();
    if (this.#seen === 0) reader.fail('missing field `items`', reader.at);
    return true;
  }

  /** False: there may be more of them. */
  #readItems(until: number): boolean {
    const reader = this.#reader;
    const { columns } = this;
    let head = this.#head;
    while (reader.nextElement()) {
      if (columns.itemGroup.length === PUSH_ITEMS_MAX) {
        reader.fail(`more than ${PUSH_ITEMS_MAX} items`, reader.at);
      }
      head = readItem(reader, columns, head);
      if (reader.at < until) continue;
      this.#head = head;
      return false;
    }
    return true;
  }
}

/**
 * How an item began, from its brace to its payload, where nothing but names stands before that:
 * items of one batch mostly begin alike.
 */
interface ItemHead {
  readonly start: number;
  readonly end: number;
  /** What it had named, payload included. */
  readonly seen: number;
  readonly queue: string;
  readonly partition: string;
}

/** `head`: of an item before; the result is for the item after this one. */
function readItem(
  reader: JsonReader,
  columns: PushColumnBuilder,
  head: ItemHead | null,
): ItemHead | null {
  const start = reader.at;
  let known = head;
  let seen = 0;
  let queue = '';
  let partition = DEFAULT_PARTITION;
  let transactionId: string | null = null;
  let payloadStart = 0;
  let payloadEnd = 0;
  let key = PAYLOAD;
  const repeats = head !== null && reader.enterRepeated(head.start, head.end);
  if (repeats) ({ seen, queue, partition } = head);
  else {
    reader.enterObject('an item');
    key = reader.nextKey(PUSH_ITEM_KEYS, seen);
  }
  for (; key !== KEYS_END; key = reader.nextKey(PUSH_ITEM_KEYS, seen)) {
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
        if (!repeats && transactionId === null) {
          known = { start, end: reader.at, seen, queue, partition };
        }
        reader.skipValue();
        payloadStart = reader.valueStart;
        payloadEnd = reader.valueEnd;
        break;
      default:
        reader.skipValue();
    }
  }
  if ((seen & HAS_QUEUE) === 0) reader.fail('missing field `queue`', reader.at);
  if ((seen & HAS_PAYLOAD) === 0) reader.fail('missing field `payload`', reader.at);
  columns.add(queue, partition, transactionId, payloadStart, payloadEnd);
  return known;
}

/** Columns while they are filled, item by item. */
export class PushColumnBuilder implements PushColumns {
  groups: PushGroup[] = [];
  itemGroup: number[] = [];
  transactionIds: (string | null)[] = [];
  payloadStart: number[] = [];
  payloadEnd: number[] = [];
  /** Names of the item before: most items repeat them. */
  lastQueue = '';
  lastPartition = '';
  #lastGroup = -1;
  /** Queue, then partition, to the index in `groups`; made when a second group comes. */
  #index: Map<string, Map<string, number>> | null = null;

  /** An empty partition is the default one. */
  add(
    queue: string,
    partition: string,
    transactionId: string | null,
    payloadStart: number,
    payloadEnd: number,
  ): void {
    const group = this.#group(queue, partition === '' ? DEFAULT_PARTITION : partition);
    if (this.itemGroup.length === 0) {
      // Most calls push one item, and a list that grows makes room for sixteen more.
      this.itemGroup = [group];
      this.transactionIds = [transactionId];
      this.payloadStart = [payloadStart];
      this.payloadEnd = [payloadEnd];
      return;
    }
    this.itemGroup.push(group);
    this.transactionIds.push(transactionId);
    this.payloadStart.push(payloadStart);
    this.payloadEnd.push(payloadEnd);
  }

  #group(queue: string, partition: string): number {
    if (this.#lastGroup >= 0 && queue === this.lastQueue && partition === this.lastPartition) {
      return this.#lastGroup;
    }
    this.lastQueue = queue;
    this.lastPartition = partition;
    this.#lastGroup = this.#find(queue, partition);
    return this.#lastGroup;
  }

  #find(queue: string, partition: string): number {
    const next = this.groups.length;
    if (next > 0) {
      this.#index ??= this.#newIndex();
      let partitions = this.#index.get(queue);
      if (partitions === undefined) {
        partitions = new Map();
        this.#index.set(queue, partitions);
      }
      const found = partitions.get(partition);
      if (found !== undefined) return found;
      partitions.set(partition, next);
    }
    if (next === 0) this.groups = [{ queue, partition }];
    else this.groups.push({ queue, partition });
    return next;
  }

  #newIndex(): Map<string, Map<string, number>> {
    const first = this.groups[0];
    return first === undefined
      ? new Map()
      : new Map([[first.queue, new Map([[first.partition, 0]])]]);
  }
}
