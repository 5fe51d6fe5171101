/**
 * Reads the JSON of large bodies in parts, in turns with other long work (`loop-share.ts`). A body
 * of 64 MiB in small items takes a second, in which nobody else would be answered.
 *
 * A fault in a body is answered when it is met, as for one that is read at once.
 */

import { UNCUT_BODY_BYTES_MAX } from '../base/limits.js';
import { JsonError } from '../json/json-error.js';
import { badBodyText } from './errors.js';
import type { Exchange } from './exchange.js';

export interface PartReader {
  /**
   * Reads so many bytes or more, to the end of an item. True: the whole body is read. Throws
   * `JsonError`.
   */
  read(bytes: number): boolean;
}

/** Some 1,000 of the shortest items: a millisecond, or two. */
export const PART_BYTES = 32_768;

/** So small that it is read in the call that brings it: nearly every body. */
export function isReadAtOnce(body: Buffer): boolean {
  return body.length <= UNCUT_BODY_BYTES_MAX;
}

/** What a generator that stops after each part returns at its end. */
export function readAll<Body>(parts: Generator<void, Body>): Body {
  for (;;) {
    const next = parts.next();
    if (next.done === true) return next.value;
  }
}

/**
 * As `readInParts`, for a body that a generator reads, which stops after each part. `refuse`
 * answers for an error, or throws what is no fault of the body again.
 */
export function readGenerated<Body>(
  exchange: Exchange,
  refuse: (error: unknown) => void,
  parts: Generator<void, Body>,
  done: (body: Body) => void,
): void {
  exchange.inParts(
    () => {
      let read: IteratorResult<void, Body>;
      try {
        read = parts.next();
      } catch (error) {
        refuse(error);
        return true;
      }
      if (read.done !== true) return false;
      done(read.value);
      return true;
    },
    () => {},
  );
}

/** Calls `done` when all is read, in this call or later; never if the request was answered. */
export function readInParts(
  exchange: Exchange,
  badBody: string,
  reader: PartReader,
  done: () => void,
): void {
  const part = () => {
    try {
      if (!reader.read(PART_BYTES)) return false;
    } catch (error) {
      refuseBadBody(exchange, badBody, error);
      return true;
    }
    done();
    return true;
  };
  exchange.inParts(part, () => {});
}

/** Throws again what is no fault of the body. */
export function refuseBadBody(exchange: Exchange, badBody: string, error: unknown): void {
  if (!(error instanceof JsonError)) throw error;
  exchange.json('400 Bad Request', badBodyText(badBody, error.message));
}
