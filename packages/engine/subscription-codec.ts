/** A start point that a client named, read from what another node sent. */
import type { Subscription } from './commands.js';
import type { GuardedReader } from './guarded-reader.js';
import { SUBSCRIPTION_MODES } from './tables.js';

export function readGivenSubscription(r: GuardedReader): Subscription {
  const mode = r.oneOf(SUBSCRIPTION_MODES);
  return mode === 'timestamp' ? { mode, atUs: r.varint() } : { mode };
}
