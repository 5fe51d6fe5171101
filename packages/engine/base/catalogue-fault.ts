import { bug } from './assert.js';
import type { GuardedReader } from './guarded-reader.js';

/**
 * What this build cannot read: an entry or a state that a newer one wrote. Skipping what is not
 * understood would let two nodes disagree for ever after, so the node stops and says so.
 */
export type CatalogueFaultCode = 'unknown_effect' | 'unknown_field' | 'cluster_version_unreadable';

export class CatalogueFault extends Error {
  readonly code: CatalogueFaultCode;

  constructor(code: CatalogueFaultCode, message: string) {
    super(message);
    this.name = 'CatalogueFault';
    this.code = code;
  }
}

/**
 * Bytes of this node's own log or store are not what this build would have written.
 * @throws CatalogueFault for what a newer build has written; EngineBug for everything else
 */
export function malformed(r: GuardedReader, what: string): never {
  if (r.surplus === 0) bug(`${what} is malformed: ${r.bytes.length} bytes`);
  throw new CatalogueFault(
    'unknown_field',
    `${what} holds ${r.surplus} bytes more than this build knows the fields of: a newer one has ` +
      'written it',
  );
}
