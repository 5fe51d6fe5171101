/** Bytes of this node's own log or store that are not what this build would have written. */
import { bug } from './assert.js';
import { CatalogueFault } from './catalogue-fault.js';
import type { GuardedReader } from './guarded-reader.js';

/** @throws CatalogueFault for what a newer build has written; EngineBug for everything else */
export function malformed(r: GuardedReader, what: string): never {
  if (r.surplus === 0) bug(`${what} is malformed: ${r.bytes.length} bytes`);
  throw new CatalogueFault(
    'unknown_field',
    `${what} holds ${r.surplus} bytes more than this build knows the fields of: a newer one has ` +
      'written it',
  );
}
