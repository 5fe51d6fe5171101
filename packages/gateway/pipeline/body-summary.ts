/**
 * A body as the gateway has to know it: how many messages it brings, where they go, how large
 * the largest is, whether it makes what is stored grow (gateway 4 and 5; specification, Gateway
 * limits).
 *
 * Bodies are read by the reader of the front, which refuses what the front refuses, so no body
 * means one thing here and another there. Where the front takes the last of several equal names, or
 * takes something for nothing, all of them count here: what may grow is taken to grow. A body that
 * cannot be read at all has no summary; the front refuses it.
 */
import { type JsonReader, KEYS_END, type KeySet, keySet } from '@svc/http';
import type { Feature } from '../base/access.js';
import type { Destination, LargestPayload } from '../limits/limits.js';
import type { BodyRule } from './classes.js';
import { type Bytes, PartsReader, type TextParts } from './parts-reader.js';

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

const DEFAULT_PARTITION = 'Default';
const FACADE_NAMESPACE = 'svc-kafka';
const FACADE_PREFIX = 'qk:';

const BODY_KEYS = keySet('items', 'operations', 'messages', 'push_items', 'kv', 'timers');
const ITEM_KEYS = keySet('queue', 'partition', 'payload', 'data', 'items', 'type');
const TIMER_KEYS = keySet('op', 'queue', 'partition', 'payload');
const OP_KEYS = keySet('op', 'ns', 'namespace', 'key', 'keys', 'prefix');
const REPLAY_KEYS = keySet('queue', 'partition');
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

type Rule = Exclude<BodyRule, null>;

/** All parts at once; null: the body cannot be read. */
export function summaryOf(rule: Rule, body: Bytes): BodySummary | null {
  const reader = new SummaryReader(rule, body);
  while (!reader.parts.step());
  return reader.summary;
}

/** The member whose elements count; undefined: none. */
const LISTS: { readonly [rule in Rule]?: string } = {
  push: 'items',
  'ephemeral-push': 'messages',
  cycle: 'push_items',
  transaction: 'operations',
  kv: 'operations',
  timers: 'operations',
};

/** The members of bodies without a list. */
const MEMBERS: { readonly [rule in Rule]?: KeySet } = {
  configure: CONFIGURE_KEYS,
  replay: REPLAY_KEYS,
};

const NO_FEATURES: ReadonlySet<Feature> = new Set();

/** Reads a body, and is its summary when it has read all of it. */
export class SummaryReader implements BodySummary, TextParts {
  readonly parts: PartsReader;
  items = 0;
  timers = 0;
  largest: LargestPayload | null = null;
  readonly destinations: Destination[] = [];
  growing: string | null = null;
  features = NO_FEATURES;
  readonly retention: number[] = [];
  readonly #rule: Rule;
  readonly #body: Bytes;
  /** The list of a transaction that is being read is that of its timers. */
  #isInTimers = false;
  /** Of a push of a transaction that has a list of items. */
  #stands: 'beside operations' | 'in operation' | 'in its items' = 'beside operations';
  /** Partitions of each queue; null: there are no two destinations. */
  #seen: Map<string, Set<string>> | null = null;
  /** Where a replay puts its dead letter. */
  #queue = '';
  #partition = '';
  #facadeOps = 0;
  #ops = 0;

  constructor(rule: Rule, body: Bytes) {
    this.parts = new PartsReader(body, MEMBERS[rule] ?? BODY_KEYS, 'the body', this);
    this.#rule = rule;
    this.#body = body;
  }

  /** null: it cannot be read. */
  get summary(): BodySummary | null {
    return this.parts.isUnreadable ? null : this;
  }

  get isFacade(): boolean {
    return this.#rule === 'kv' && this.#ops > 0 && this.#facadeOps === this.#ops;
  }

  /** A batch of operations may be the body itself. */
  isList(): boolean {
    return (this.#rule === 'kv' || this.#rule === 'timers') && this.parts.isAtList();
  }

  element(until: number): boolean {
    if (this.#stands !== 'beside operations') return this.#operationOn(until);
    if (!this.parts.isAtObject()) {
      this.parts.reader.skipValue();
      return true;
    }
    switch (this.#rule) {
      case 'transaction':
        if (!this.#isInTimers) return this.#operation(until);
        this.#timer();
        break;
      case 'ephemeral-push':
        this.#message();
        break;
      case 'kv':
        this.#op();
        break;
      case 'timers':
        this.#timer();
        break;
      default:
        this.#item();
    }
    return true;
  }

  member(name: string | undefined): boolean {
    const { reader } = this.parts;
    if (this.#rule === 'configure') {
      this.#setting(name);
      return false;
    }
    if (this.#rule === 'replay') {
      this.#override(name);
      return false;
    }
    if (name !== undefined && name === LISTS[this.#rule] && this.parts.isAtList()) {
      this.#isInTimers = false;
      return true;
    }
    if (this.#rule === 'transaction' && name === 'timers') {
      reader.lookAhead(() => this.#uses(name));
      this.#isInTimers = this.parts.isAtList();
      if (!this.#isInTimers) reader.skipValue();
      return this.#isInTimers;
    }
    if (this.#rule === 'transaction' && name === 'kv') this.#uses(name);
    else reader.skipValue();
    return false;
  }

  /** An empty list uses nothing; what is no list is refused by the front. */
  #uses(feature: Feature): void {
    const { reader } = this.parts;
    reader.skipValue();
    if (/^\[\s*\]$/.test(reader.valueText().slice(0, EMPTY_LIST_LENGTH_MAX))) return;
    this.features = new Set([...this.features, feature]);
  }

  /** A message with its queue; a transaction's operation may hold several in `items`. */
  #item(): void {
    const { reader } = this.parts;
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

  #operation(until: number): boolean {
    const { reader } = this.parts;
    const isPush = reader.lookAhead((at) => textAt(at, ITEM_KEYS, 'type')) === 'push';
    if (!isPush) {
      reader.skipValue();
      return true;
    }
    if (!reader.lookAhead((at) => hasArray(at, ITEM_KEYS, 'items'))) {
      this.#item();
      return true;
    }
    reader.enterObject('an operation');
    this.#stands = 'in operation';
    return this.#operationOn(until);
  }

  /** A push with a list may be the whole body, so it is left between its items. */
  #operationOn(until: number): boolean {
    const { reader } = this.parts;
    for (;;) {
      if (this.#stands === 'in its items') {
        while (reader.nextElement()) {
          if (this.parts.isAtObject()) this.#item();
          else reader.skipValue();
          if (reader.at >= until) return false;
        }
        this.#stands = 'in operation';
      }
      if (reader.at >= until) return false;
      const key = reader.nextKey(ITEM_KEYS, 0);
      if (key === KEYS_END) {
        this.#stands = 'beside operations';
        return true;
      }
      if (ITEM_KEYS.names[key] === 'items' && this.parts.isAtList()) {
        reader.enterArray('items');
        this.#stands = 'in its items';
      } else reader.skipValue();
    }
  }

  /** A message for an in-memory queue, which the body names. */
  #message(): void {
    const { reader } = this.parts;
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
    const { reader } = this.parts;
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
      } else if (name === 'keys' && this.parts.isAtList()) {
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
    const { reader } = this.parts;
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
    let end = this.parts.reader.valueEnd - 1;
    while (this.#body[end - 1] === PADDING) end--;
    return Math.floor(((end - this.parts.reader.valueStart - 1) * BASE64_BYTES) / BASE64_CHARS);
  }

  #grows(growing: string | null, at: number): void {
    if (growing === null || this.growing !== null) return;
    this.growing = `op at index ${at} (${growing.slice(0, SHOWN_CHARS_MAX)}) makes the store grow`;
  }

  #isText(holds: (text: string) => boolean): boolean {
    if (this.parts.reader.isString()) return holds(this.parts.reader.readText('an operation'));
    this.parts.reader.skipValue();
    return false;
  }

  /** The broker refuses a body that names two queues, so one at most is let in. */
  #setting(name: string | undefined): void {
    const { reader } = this.parts;
    if (name === 'queue' && reader.isString()) {
      this.destinations[0] = { queue: reader.readText(name), partition: DEFAULT_PARTITION };
    } else if (name === 'options' && this.parts.isAtObject()) this.#options();
    else if (name !== undefined && name !== 'queue' && name !== 'options') this.#seconds();
    else reader.skipValue();
  }

  /**
   * The broker trims both, and keeps a queue or a partition that is not named. Without a queue the
   * dead letter stays in its own, of which nothing is known here.
   */
  #override(name: string | undefined): void {
    const { reader } = this.parts;
    if (name === 'queue' && reader.isString()) this.#queue = reader.readText(name).trim();
    else if (name === 'partition' && reader.isString()) {
      this.#partition = reader.readText(name).trim();
    } else reader.skipValue();
    const [queue, partition] = [this.#queue, this.#partition || DEFAULT_PARTITION];
    if (queue !== '') this.destinations[0] = { queue, partition };
  }

  #options(): void {
    const { reader } = this.parts;
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
    const { reader } = this.parts;
    reader.skipValue();
    const seconds = Number(reader.valueText());
    if (Number.isFinite(seconds)) this.retention.push(seconds);
  }

  /** Passes a value; its bytes, where they are a payload. */
  #skipped(isPayload: boolean): number {
    const { reader } = this.parts;
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
    if (!this.#isNew(queue, partition)) return;
    this.destinations.push({ queue, partition });
  }

  /** Most bodies have one destination, for which no tables are made. */
  #isNew(queue: string, partition: string): boolean {
    const first = this.destinations[0];
    if (first === undefined) return true;
    if (first.queue === queue && first.partition === partition) return false;
    this.#seen ??= new Map([[first.queue, new Set([first.partition])]]);
    let partitions = this.#seen.get(queue);
    if (partitions === undefined) {
      partitions = new Set();
      this.#seen.set(queue, partitions);
    }
    if (partitions.has(partition)) return false;
    partitions.add(partition);
    return true;
  }
}

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
