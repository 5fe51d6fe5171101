/** Why retention removed messages (message-plane 11.2): for those who count it, nothing else. */
import { assert } from '../base/assert.js';
import type { ByteReader } from '../base/bytes.js';

/** Older than `retentionSeconds`; read by all and older than its own time; waited too long. */
export const TRIM_CAUSES = ['age', 'read', 'wait'] as const;
export type TrimCause = (typeof TRIM_CAUSES)[number];

export function readTrimCause(r: ByteReader): TrimCause {
  const code = r.u8();
  const cause = TRIM_CAUSES[code];
  assert(cause !== undefined, `a trim for the reason ${code}, which is none`);
  return cause;
}
