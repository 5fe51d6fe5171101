/**
 * Long values of large bodies, found beforehand and in parts.
 *
 * The job: a body of 64 MiB may be one message, an array of ten million numbers. Its route passes
 * over it in a single call of `skipValue`, a quarter of a second, in which nobody else is answered.
 *
 * So a large body is walked first, token by token and in turns with other long work
 * (`loop-share.ts`), by the same reader that its route uses. Where each long value ends is kept for
 * the reader of the route, which then goes there at once. What is wrong with a body is kept too,
 * for each container that holds the fault: passing over one of them meets it again. So the route
 * answers what it would have answered, with the same words.
 */

import { LONG_VALUE_BYTES_MIN } from '../base/limits.js';
import { JsonError } from '../json/json-error.js';
import { keySet } from '../json/json-keys.js';
import { JsonReader, KEYS_END } from '../json/json-reader.js';
import { type KnownValues, keepKnownValues } from '../json/known-values.js';
import type { Exchange } from './exchange.js';

/** Bytes walked at a stretch: a millisecond of numbers. */
const PART_BYTES = 131_072;
/** Deeper values are parts of values that no route looks into. */
const DEPTH_KEPT_MAX = 8;
const NO_KEYS = keySet();
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/** A container that was entered. */
interface Level {
  readonly start: number;
  readonly isObject: boolean;
}

/** Walks the body in parts, then calls `done`, unless the client has gone. */
export function findLongValues(exchange: Exchange, body: Buffer, done: () => void): void {
  let walk: Walk | null = null;
  exchange.inParts(
    () => {
      walk ??= new Walk(body);
      if (!walk.go(PART_BYTES)) return false;
      keepKnownValues(body, walk.found);
      done();
      return true;
    },
    () => {},
  );
}

class Walk {
  readonly found: KnownValues = new Map();
  readonly #body: Buffer;
  /** null before the beginning. */
  #reader: JsonReader | null = null;
  readonly #levels: Level[] = [];

  constructor(body: Buffer) {
    this.#body = body;
  }

  /** True: it is over, at the end of the body's value or at a fault. */
  go(bytes: number): boolean {
    try {
      if (this.#reader === null) {
        this.#reader = new JsonReader(this.#body);
        this.#value(this.#reader);
      }
      const until = this.#reader.at + bytes;
      while (this.#levels.length > 0 && this.#reader.at < until) this.#step(this.#reader);
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      for (const { start } of this.#levels) this.found.set(start, error);
      return true;
    }
    return this.#levels.length === 0;
  }

  #step(reader: JsonReader): void {
    const level = this.#levels[this.#levels.length - 1] as Level;
    const goesOn = level.isObject ? reader.nextKey(NO_KEYS, 0) !== KEYS_END : reader.nextElement();
    if (goesOn) this.#value(reader);
    else {
      this.#levels.pop();
      this.#keep(level.start, reader.at);
    }
  }

  #value(reader: JsonReader): void {
    const first = reader.peek();
    const isObject = first === OPEN_BRACE;
    if (!isObject && first !== OPEN_BRACKET) {
      reader.skipValue();
      this.#keep(reader.valueStart, reader.valueEnd);
      return;
    }
    const start = reader.at;
    if (isObject) reader.enterObject('');
    else reader.enterArray('');
    this.#levels.push({ start, isObject });
  }

  #keep(start: number, end: number): void {
    if (end - start < LONG_VALUE_BYTES_MIN || this.#levels.length > DEPTH_KEPT_MAX) return;
    this.found.set(start, end);
  }
}
