/**
 * The positions of a transaction (message-plane 6). What is wrong with their shape refuses the call
 * at once; a name or metadata that is too long rolls it back, after whatever else does.
 */
import type { Position, Rollback, Subscription } from '@svc/engine';
import {
  DEFAULT_PARTITION,
  POSITION_METADATA_BYTES_MAX,
  POSITIONS_MAX,
  utf8Length,
} from '@svc/wire';
import { PART_BYTES } from '../../exchange/large-body.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import { keySet } from '../../json/json-keys.js';
import { type JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';
import { subscriptionOfMode, UNKNOWN_SUBSCRIPTION_MODE } from './pop-query.js';

const OPEN_BRACE = 0x7b;
const UNSIGNED = /^\d+$/;

export const POSITION_KEYS = keySet(
  'queue',
  'consumerGroup',
  'partition',
  'offset',
  'metadata',
  'subscriptionMode',
);
const QUEUE = 0;
const CONSUMER_GROUP = 1;
const PARTITION = 2;
const OFFSET = 3;
const METADATA = 4;
const SUBSCRIPTION_MODE = 5;
const HAS_OFFSET = 1 << OFFSET;

/**
 * As many positions of a call as there are, in parts; more than the ceiling are only counted.
 */
export function* positionParts(
  reader: JsonReader,
  otherwise: Subscription,
): Generator<void, Position[]> {
  const positions: Position[] = [];
  let before: Position | null = null;
  let count = 0;
  let until = reader.at + PART_BYTES;
  reader.enterArray('positions');
  while (reader.nextElement()) {
    count++;
    if (count > POSITIONS_MAX) reader.skipValue();
    else {
      before = new PositionReader(reader, count - 1, otherwise, before).read();
      positions.push(before);
    }
    if (reader.at < until) continue;
    yield;
    until = reader.at + PART_BYTES;
  }
  if (count <= POSITIONS_MAX) return positions;
  throw new TransactionFault(`${count} positions in one call, the ceiling is ${POSITIONS_MAX}`);
}

class PositionReader {
  readonly #reader: JsonReader;
  readonly #index: number;
  readonly #otherwise: Subscription;
  /** Most positions of a call repeat the names of the one before: they share its strings. */
  readonly #before: Position | null;

  constructor(reader: JsonReader, index: number, otherwise: Subscription, before: Position | null) {
    this.#reader = reader;
    this.#index = index;
    this.#otherwise = otherwise;
    this.#before = before;
  }

  read(): Position {
    const reader = this.#reader;
    if (reader.peek() !== OPEN_BRACE) this.#fail('a position is an object');
    let seen = 0;
    let queue: string | null = null;
    let consumerGroup = '';
    let partition = '';
    let offset: number | null = null;
    let metadata: string | null = null;
    let subscription = this.#otherwise;
    reader.enterObject('a position');
    for (;;) {
      const key = reader.nextKey(POSITION_KEYS, seen);
      if (key === KEYS_END) break;
      if (key !== KEY_UNKNOWN) seen |= 1 << key;
      switch (key) {
        case QUEUE:
          queue = this.#mustBeName('queue');
          break;
        case CONSUMER_GROUP:
          consumerGroup = this.#mustBeName('consumerGroup');
          break;
        case PARTITION:
          partition = reader.readNameOrNull('partition') ?? '';
          break;
        case OFFSET:
          offset = this.#offset();
          break;
        case METADATA:
          metadata = this.#metadata();
          break;
        case SUBSCRIPTION_MODE:
          subscription = this.#subscription();
          break;
        default:
          reader.skipValue();
      }
    }
    if (queue === null) this.#fail('queue is required');
    if (consumerGroup === '') this.#fail('consumerGroup is required');
    if ((seen & HAS_OFFSET) === 0) this.#fail('offset is required (null forgets the position)');
    const name = partition === '' ? DEFAULT_PARTITION : partition;
    return { queue, consumerGroup, partition: name, offset, metadata, subscription };
  }

  #fail(what: string): never {
    throw new TransactionFault(`positions[${this.#index}]: ${what}`);
  }

  #mustBeName(field: 'queue' | 'consumerGroup'): string {
    if (!this.#reader.isString()) this.#fail(`${field} is required`);
    return this.#reader.readRepeatedName(field, this.#before?.[field] ?? '');
  }

  #offset(): number | null {
    const reader = this.#reader;
    const isNull = reader.isNull();
    reader.skipValue();
    if (isNull) return null;
    const text = reader.valueText();
    const value = UNSIGNED.test(text) ? Number(text) : Number.NaN;
    if (!Number.isSafeInteger(value)) this.#fail('offset is a non-negative integer or null');
    return value;
  }

  #metadata(): string | null {
    const reader = this.#reader;
    if (!reader.isNull() && !reader.isString()) this.#fail('metadata is a string');
    return reader.readTextOrNull('metadata');
  }

  #subscription(): Subscription {
    const mode = this.#reader.readTextOrNull('subscriptionMode') ?? '';
    return subscriptionOfMode(mode, this.#otherwise) ?? this.#fail(UNKNOWN_SUBSCRIPTION_MODE);
  }
}

/** The positions up to the first that cannot be planned, and what is wrong with that one. */
export function plannable(
  tenant: string,
  positions: readonly Position[],
): { readonly positions: readonly Position[]; readonly flaw: Rollback | null } {
  for (const [i, position] of positions.entries()) {
    const flaw = flawOf(tenant, position, i);
    if (flaw !== null) return { positions: positions.slice(0, i), flaw };
  }
  return { positions, flaw: null };
}

/** Names are judged here because a position whose names are too long rolls back the call. */
function flawOf(tenant: string, position: Position, i: number): Rollback | null {
  const { queue, consumerGroup, partition, metadata } = position;
  const names = nameBudgetRefusal(tenant, queue, consumerGroup, partition);
  if (names !== null) return { reason: 'name_too_long', error: `positions[${i}]: ${names.error}` };
  const bytes = metadata === null ? 0 : utf8Length(metadata);
  if (bytes <= POSITION_METADATA_BYTES_MAX) return null;
  const what = `metadata of ${bytes} B exceeds ${POSITION_METADATA_BYTES_MAX} B`;
  return { reason: 'too_large', error: `positions[${i}]: ${what}` };
}

/** A transaction that is refused before it is planned, in a text of its own (message-plane 6). */
export class TransactionFault extends Error {
  readonly code = 'bad_transaction';
}
