/**
 * A body as the gateway has to know it: how many messages it brings, where they go, how large
 * the largest is, whether it makes what is stored grow (gateway 4 and 5; specification, Gateway
 * limits).
 *
 * Bodies are read by the reader of the front, which refuses what the front refuses, so no body
 * means one thing here and another there. Where the front takes the last of several equal names, or
 * takes something for nothing, all of them count here: what may grow is taken to grow. A body that
 * cannot be read at all has no summary; the front refuses it.
 *
 * A large body is read in parts, each some 64 KiB, between which the caller may do something else.
 */
import { JsonError, JsonReader, KEY_UNKNOWN, KEYS_END, type KeySet, keySet } from '@svc/http';
import type { Feature } from '../base/access.js';
import type { Destination, LargestPayload } from '../limits/limits.js';
import type { BodyRule } from './classes.js';

type Bytes = ConstructorParameters<typeof JsonReader>[0];

export interface BodySummary {
  /** Messages that the body pushes. */
  readonly items: number;
  /** Timers that the body schedules: each is a message to be. */
  readonly timers: number;
  /** null: none has a payload. */
  readonly largest: LargestPayload | null;
  /** Each once. */
  readonly destinations: readonly Destination[];
  /** The first operation that makes what is stored grow, as an error names it; null: none does. */
  readonly growing: string | null;
  /** Key/value operations of the log facade on its own rows, and nothing else. */
  readonly isFacade: boolean;
  /** Features that a transaction uses beside messages: the plan must have them. */
  readonly features: ReadonlySet<Feature>;
  /** Seconds that a configure asks messages to be kept for. */
  readonly retention: readonly number[];
}

const PART_BYTES = 65_536;
const DEFAULT_PARTITION = 'Default';
const FACADE_NAMESPACE = 'svc-kafka';
const FACADE_PREFIX = 'qk:';

const BODY_KEYS = keySet(
  'items',
  'operations',
  'messages',
  'push_items',
  'queue',
  'partition',
  'kv',
  'timers',
);
const ITEM_KEYS = keySet('queue', 'partition', 'payload', 'data', 'items', 'type');
const TIMER_KEYS = keySet('op', 'queue', 'partition', 'payload');
const OP_KEYS = keySet('op', 'ns', 'namespace', 'key', 'keys', 'prefix');
const CONFIGURE_KEYS = keySet('queue', 'options', 'retentionSeconds', 'completedRetentionSeconds');

/** Operations that write nothing or take away; all others are taken to grow. */
const NOT_GROWING: ReadonlySet<string> = new Set([
  'get',
  'getMany',
  'getPrefix',
  'check',
  'delete',
  'cancel',
]);

/** Reads the body; each step of it is one part. The result is null for one that cannot be read. */
export function* summaryParts(
  rule: Exclude<BodyRule, null>,
  body: Bytes,
): Generator<void, BodySummary | null> {
  try {
    const summary = new Summarizing(body);
    yield* summary.read(rule);
    return summary;
  } catch (error) {
    if (error instanceof JsonError) return null;
    throw error;
  }
}

/** All parts at once. */
export function summaryOf(rule: Exclude<BodyRule, null>, body: Bytes): BodySummary | null {
  const parts = summaryParts(rule, body);
  for (;;) {
    const step = parts.next();
    if (step.done === true) return step.value;
  }
}

class Summarizing implements BodySummary {
  items = 0;
  timers = 0;
  largest: LargestPayload | null = null;
  readonly destinations: Destination[] = [];
  growing: string | null = null;
  isFacade = false;
  readonly features = new Set<Feature>();
  readonly retention: number[] = [];
  readonly #body: Bytes;
  readonly #reader: JsonReader;
  readonly #seen = new Map<string, Set<string>>();
  #until = PART_BYTES;
  #facadeOps = 0;
  #ops = 0;

  constructor(body: Bytes) {
    this.#body = body;
    this.#reader = new JsonReader(body);
  }

  *read(rule: Exclude<BodyRule, null>): Generator<void, void> {
    switch (rule) {
      case 'push':
        yield* this.#list('items', () => this.#item(), rule);
        break;
      case 'ephemeral-push':
        yield* this.#list('messages', () => this.#message(), rule);
        break;
      case 'cycle':
        yield* this.#list('push_items', () => this.#item(), rule);
        break;
      case 'transaction':
        yield* this.#list('operations', () => this.#operation(), rule);
        break;
      case 'configure':
        this.#configure();
        break;
      case 'kv':
        yield* this.#list('operations', () => this.#op(), rule);
        this.isFacade = this.#ops > 0 && this.#facadeOps === this.#ops;
        break;
      case 'timers':
        yield* this.#list('operations', () => this.#timer(), rule);
        break;
    }
    this.#reader.finish();
  }

  /** The elements of one member of the body; a batch of operations may be the body itself. */
  *#list(
    name: 'items' | 'messages' | 'push_items' | 'operations',
    element: () => void,
    rule: BodyRule,
  ): Generator<void, void> {
    const reader = this.#reader;
    if ((rule === 'kv' || rule === 'timers') && reader.peek() === OPEN_BRACKET) {
      yield* this.#elements(name, element);
      return;
    }
    reader.enterObject('the body');
    let queue = '';
    let partition = '';
    for (;;) {
      const key = reader.nextKey(BODY_KEYS, 0);
      if (key === KEYS_END) break;
      const found = BODY_KEYS.names[key];
      if (found === name && reader.peek() === OPEN_BRACKET) yield* this.#elements(name, element);
      else if (found === 'queue' && reader.isString()) queue = reader.readText(found);
      else if (found === 'partition' && reader.isString()) partition = reader.readText(found);
      else if (rule === 'transaction' && found === 'kv') this.#uses(found);
      else if (rule === 'transaction' && found === 'timers') yield* this.#timers();
      else reader.skipValue();
    }
    if (rule === 'ephemeral-push' && queue !== '') this.#goesTo(queue, partition);
  }

  /** An empty list uses nothing; what is no list is refused by the front. */
  #uses(feature: Feature): void {
    const reader = this.#reader;
    reader.skipValue();
    if (!/^\[\s*\]$/.test(reader.valueText().slice(0, EMPTY_LIST_LENGTH_MAX))) {
      this.features.add(feature);
    }
  }

  /** Those of a transaction. */
  *#timers(): Generator<void, void> {
    this.#reader.lookAhead(() => this.#uses('timers'));
    if (this.#reader.peek() === OPEN_BRACKET) yield* this.#elements('timers', () => this.#timer());
    else this.#reader.skipValue();
  }

  *#elements(name: string, element: () => void): Generator<void, void> {
    const reader = this.#reader;
    reader.enterArray(name);
    while (reader.nextElement()) {
      if (reader.at >= this.#until) {
        yield;
        this.#until = reader.at + PART_BYTES;
      }
      if (reader.peek() === OPEN_BRACE) element();
      else reader.skipValue();
    }
  }

  /** A message with its queue; a transaction's operation may hold several in `items`. */
  #item(): void {
    const reader = this.#reader;
    let queue = '';
    let partition = '';
    let bytes = 0;
    reader.enterObject('an item');
    for (;;) {
      const key = reader.nextKey(ITEM_KEYS, 0);
      if (key === KEYS_END) break;
      const name = ITEM_KEYS.names[key];
      if (name === 'queue' && reader.isString()) queue = reader.readText(name);
      else if (name === 'partition' && reader.isString()) partition = reader.readText(name);
      else bytes = Math.max(bytes, this.#skipped(name === 'payload' || name === 'data'));
    }
    this.#counts(bytes);
    if (queue !== '') this.#goesTo(queue, partition);
  }

  #operation(): void {
    const reader = this.#reader;
    const isPush = reader.lookAhead((at) => textAt(at, ITEM_KEYS, 'type')) === 'push';
    if (!isPush) {
      reader.skipValue();
      return;
    }
    if (!reader.lookAhead((at) => hasArray(at, ITEM_KEYS, 'items'))) {
      this.#item();
      return;
    }
    reader.enterObject('an operation');
    for (;;) {
      const key = reader.nextKey(ITEM_KEYS, 0);
      if (key === KEYS_END) return;
      if (ITEM_KEYS.names[key] !== 'items' || reader.peek() !== OPEN_BRACKET) {
        reader.skipValue();
        continue;
      }
      reader.enterArray('items');
      while (reader.nextElement()) {
        if (reader.peek() === OPEN_BRACE) this.#item();
        else reader.skipValue();
      }
    }
  }

  /** A message for an in-memory queue, which the body names. */
  #message(): void {
    const reader = this.#reader;
    let bytes = 0;
    reader.enterObject('a message');
    for (;;) {
      const key = reader.nextKey(ITEM_KEYS, 0);
      if (key === KEYS_END) break;
      bytes = Math.max(bytes, this.#skipped(ITEM_KEYS.names[key] === 'payload'));
    }
    this.#counts(bytes);
  }

  #op(): void {
    const reader = this.#reader;
    const at = this.#ops++;
    let isFacade = false;
    let isForeign = false;
    let growing: string | null = NO_OP;
    reader.enterObject('an operation');
    for (;;) {
      const key = reader.nextKey(OP_KEYS, 0);
      if (key === KEYS_END) break;
      const name = OP_KEYS.names[key];
      if (name === 'op' && reader.isString()) {
        growing = growingBy(reader.readText(name), growing);
      } else if (name === 'ns' || name === 'namespace') {
        const isOwn = this.#isText((text) => text === FACADE_NAMESPACE);
        if (isOwn) isFacade = true;
        else isForeign = true;
      } else if (name === 'key' || name === 'prefix') {
        if (!this.#isText((text) => text.startsWith(FACADE_PREFIX))) isForeign = true;
      } else if (name === 'keys' && reader.peek() === OPEN_BRACKET) {
        reader.enterArray(name);
        while (reader.nextElement()) {
          if (!this.#isText((text) => text.startsWith(FACADE_PREFIX))) isForeign = true;
        }
      } else {
        reader.skipValue();
      }
    }
    if (isFacade && !isForeign) this.#facadeOps++;
    this.#grows(growing, at);
  }

  /** A timer that is scheduled becomes a message of its queue, and makes that as a push does. */
  #timer(): void {
    const reader = this.#reader;
    const at = this.#ops++;
    let growing: string | null = NO_OP;
    let queue = '';
    let partition = '';
    let bytes = 0;
    reader.enterObject('an operation');
    for (;;) {
      const key = reader.nextKey(TIMER_KEYS, 0);
      if (key === KEYS_END) break;
      const name = TIMER_KEYS.names[key];
      if (name === 'op' && reader.isString()) growing = growingBy(reader.readText(name), growing);
      else if (name === 'queue' && reader.isString()) queue = reader.readText(name);
      else if (name === 'partition' && reader.isString()) partition = reader.readText(name);
      else if (this.#skipped(name === 'payload') > 0) bytes = Math.max(bytes, this.#decodedBytes());
    }
    this.#grows(growing, at);
    if (growing === null) return;
    this.#isAsLarge(bytes, this.timers++);
    if (queue !== '') this.#goesTo(queue, partition);
  }

  /** Bytes of the text in base64 that was just passed. */
  #decodedBytes(): number {
    let end = this.#reader.valueEnd - 1;
    while (this.#body[end - 1] === PADDING) end--;
    return Math.floor(((end - this.#reader.valueStart - 1) * BASE64_BYTES) / BASE64_CHARS);
  }

  #grows(growing: string | null, at: number): void {
    if (growing === null || this.growing !== null) return;
    this.growing = `op at index ${at} (${growing.slice(0, SHOWN_CHARS_MAX)}) makes the store grow`;
  }

  #isText(holds: (text: string) => boolean): boolean {
    if (this.#reader.isString()) return holds(this.#reader.readText('an operation'));
    this.#reader.skipValue();
    return false;
  }

  #configure(): void {
    const reader = this.#reader;
    reader.enterObject('the body');
    for (;;) {
      const key = reader.nextKey(CONFIGURE_KEYS, 0);
      if (key === KEYS_END) break;
      const name = CONFIGURE_KEYS.names[key];
      if (name === 'queue' && reader.isString()) this.#goesTo(reader.readText(name), '');
      else if (name === 'options' && reader.peek() === OPEN_BRACE) this.#options();
      else if (key !== KEY_UNKNOWN && name !== 'queue' && name !== 'options') this.#seconds();
      else reader.skipValue();
    }
  }

  #options(): void {
    const reader = this.#reader;
    reader.enterObject('options');
    for (;;) {
      const key = reader.nextKey(CONFIGURE_KEYS, 0);
      if (key === KEYS_END) return;
      const name = CONFIGURE_KEYS.names[key];
      if (name === 'retentionSeconds' || name === 'completedRetentionSeconds') this.#seconds();
      else reader.skipValue();
    }
  }

  #seconds(): void {
    const reader = this.#reader;
    reader.skipValue();
    const seconds = Number(reader.valueText());
    if (Number.isFinite(seconds)) this.retention.push(seconds);
  }

  /** Passes a value; its bytes, where they are a payload. */
  #skipped(isPayload: boolean): number {
    const reader = this.#reader;
    reader.skipValue();
    return isPayload ? reader.valueEnd - reader.valueStart : 0;
  }

  #counts(bytes: number): void {
    this.#isAsLarge(bytes, this.items++);
    this.growing ??= 'it pushes messages';
  }

  #isAsLarge(bytes: number, index: number): void {
    if (bytes > (this.largest?.bytes ?? -1)) this.largest = { bytes, index };
  }

  #goesTo(queue: string, named: string): void {
    const partition = named === '' ? DEFAULT_PARTITION : named;
    let partitions = this.#seen.get(queue);
    if (partitions === undefined) {
      partitions = new Set();
      this.#seen.set(queue, partitions);
    }
    if (partitions.has(partition)) return;
    partitions.add(partition);
    this.destinations.push({ queue, partition });
  }
}

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const SHOWN_CHARS_MAX = 32;
/** An operation that does not say what it is. */
const NO_OP = 'NULL';
/** Payloads of timers are base64, in which so many characters are so many bytes. */
const BASE64_CHARS = 4;
const BASE64_BYTES = 3;
const PADDING = 0x3d;
/** A longer one of blanks counts as a use. */
const EMPTY_LIST_LENGTH_MAX = 256;

/** The operation that grows, of those that one names; null: none of them. */
function growingBy(op: string, before: string | null): string | null {
  if (!NOT_GROWING.has(op)) return op;
  return before === NO_OP ? null : before;
}

/** The text of a member; null: it has none that is a string. */
function textAt(reader: JsonReader, keys: KeySet, name: string): string | null {
  reader.enterObject('an operation');
  for (;;) {
    const key = reader.nextKey(keys, 0);
    if (key === KEYS_END) return null;
    if (keys.names[key] === name && reader.isString()) return reader.readText(name);
    reader.skipValue();
  }
}

function hasArray(reader: JsonReader, keys: KeySet, name: string): boolean {
  reader.enterObject('an operation');
  for (;;) {
    const key = reader.nextKey(keys, 0);
    if (key === KEYS_END) return false;
    if (keys.names[key] === name) return reader.peek() === OPEN_BRACKET;
    reader.skipValue();
  }
}
