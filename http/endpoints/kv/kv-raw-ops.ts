/**
 * Key/value operations as they stand in a body: where each field of each operation begins and ends.
 *
 * They are read in two steps, because the contract judges sizes before anything else about a call,
 * and the shape of operations only after the tenant's limits (state-surfaces 0.4). First comes one
 * scan of the body, which makes no object for an operation; the second is `kv-op-rules.ts`.
 */
import { type JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';
import { KV_OP_KEYS, type KvField } from './kv-request.js';

const FIELDS = KV_OP_KEYS.names.length;
const FIELD_AT = Object.fromEntries(KV_OP_KEYS.names.map((name, at) => [name, at])) as {
  readonly [field in KvField]: number;
};
/** Stands in the place of the first field of an element that is no object. */
const NO_OBJECT = -1;
/** Columns begin with room for so many; a transaction without operations has none. */
const OPS_FIRST = 8;
const NONE = new Int32Array(0);

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACES = [0x20, 0x0a, 0x0d, 0x09];

/** What the path says of the one operation of a call. */
export interface KvNamed {
  readonly op: 'get' | 'put' | 'delete';
  readonly ns: string;
  readonly key: string;
}

/**
 * The fields of all operations of one call, in columns. No field begins at 0, where a body does.
 */
export class KvRawOps {
  readonly body: Buffer;
  /** Set: there is one operation, and this is so. */
  readonly named: KvNamed | null;
  count = 0;
  #starts = NONE;
  #ends = NONE;

  constructor(body: Buffer, named: KvNamed | null = null) {
    this.body = body;
    this.named = named;
  }

  /** An operation of which nothing was sent. */
  addEmpty(): void {
    this.#begin();
  }

  /** Reads the element that the reader stands at. */
  read(reader: JsonReader): void {
    const base = this.#begin();
    if (reader.peek() !== 0x7b) {
      reader.skipValue();
      this.#starts[base] = NO_OBJECT;
      return;
    }
    let seen = 0;
    reader.enterObject('an operation');
    for (;;) {
      const field = reader.nextKey(KV_OP_KEYS, seen);
      if (field === KEYS_END) return;
      reader.skipValue();
      if (field === KEY_UNKNOWN) continue;
      seen |= 1 << field;
      this.#starts[base + field] = reader.valueStart;
      this.#ends[base + field] = reader.valueEnd;
    }
  }

  isObject(op: number): boolean {
    return this.#starts[op * FIELDS] !== NO_OBJECT;
  }

  /** The field is there, be it as null. */
  has(op: number, field: KvField): boolean {
    return this.#start(op, field) > 0;
  }

  /** The field as it was sent; "" when it is absent. */
  literal(op: number, field: KvField): string {
    return this.body.toString('utf8', this.#start(op, field), this.#end(op, field));
  }

  /** Bytes of the field as it was sent. */
  length(op: number, field: KvField): number {
    return this.#end(op, field) - this.#start(op, field);
  }

  /** The first byte of the field; 0 when it is absent. */
  firstByte(op: number, field: KvField): number {
    const start = this.#start(op, field);
    return start > 0 ? (this.body[start] ?? 0) : 0;
  }

  isNull(op: number, field: KvField): boolean {
    return this.firstByte(op, field) === 0x6e;
  }

  /**
   * A field that is read as text: a string, or the literal of a number or a boolean. null: it is
   * absent, null, a list or an object. A string may hold lone surrogates, which no name may.
   */
  text(op: number, field: KvField): string | null {
    if (this.named !== null && (field === 'op' || field === 'ns' || field === 'key')) {
      return this.named[field];
    }
    const start = this.#start(op, field);
    return start > 0 ? textAt(this.body, start, this.#end(op, field)) : null;
  }

  /** The field as compact JSON: a view of the body where it stands there so. */
  compact(op: number, field: KvField): Uint8Array {
    return compactJson(this.span(op, field));
  }

  /** Where the field begins and ends. */
  span(op: number, field: KvField): Buffer {
    return this.body.subarray(this.#start(op, field), this.#end(op, field));
  }

  #start(op: number, field: KvField): number {
    return this.#starts[op * FIELDS + FIELD_AT[field]] as number;
  }

  #end(op: number, field: KvField): number {
    return this.#ends[op * FIELDS + FIELD_AT[field]] as number;
  }

  #begin(): number {
    const base = this.count++ * FIELDS;
    if (base === this.#starts.length) {
      this.#starts = doubled(this.#starts);
      this.#ends = doubled(this.#ends);
    }
    return base;
  }
}

function doubled(column: Int32Array): Int32Array<ArrayBuffer> {
  const longer = new Int32Array(Math.max(column.length * 2, OPS_FIRST * FIELDS));
  longer.set(column);
  return longer;
}

/** As `KvRawOps.text`, of the value at `start..end`. */
export function textAt(body: Buffer, start: number, end: number): string | null {
  const first = body[start];
  if (first !== QUOTE) {
    const isScalar = first !== 0x6e && first !== 0x7b && first !== 0x5b;
    return isScalar ? body.toString('latin1', start, end) : null;
  }
  const inner = body.toString('latin1', start + 1, end - 1);
  if (isPlain(inner)) return inner;
  return JSON.parse(body.toString('utf8', start, end)) as string;
}

/** Nothing in it has an escape or is beyond ASCII. */
function isPlain(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x80 || code === 0x5c) return false;
  }
  return true;
}

/** Valid JSON without the white space between its tokens; what is within strings stays. */
export function compactJson(json: Uint8Array): Uint8Array {
  // Values without any are nearly all, and are found to be so at once.
  if (!SPACES.some((space) => json.includes(space))) return json;
  const compact = new Uint8Array(json.length);
  let length = 0;
  let isInString = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] as number;
    if (!isInString && byte <= 0x20) continue;
    compact[length++] = byte;
    if (byte === QUOTE) isInString = !isInString;
    else if (isInString && byte === BACKSLASH) compact[length++] = json[++at] as number;
  }
  return compact.subarray(0, length);
}
