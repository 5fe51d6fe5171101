/** Long values of large bodies, found before the routes read them. */

import { SCANNED_BODY_BYTES_MIN } from '../base/limits.js';
import type { JsonError } from './json-error.js';

/** By where a value begins: where it ends, or what is wrong within it. */
export type KnownValues = Map<number, number | JsonError>;

const known = new WeakMap<Buffer, KnownValues>();

/** For all who read the body from here on. */
export function keepKnownValues(body: Buffer, values: KnownValues): void {
  known.set(body, values);
}

/** null for nearly every body. */
export function knownValuesOf(body: Buffer): KnownValues | null {
  return body.length < SCANNED_BODY_BYTES_MIN ? null : (known.get(body) ?? null);
}
