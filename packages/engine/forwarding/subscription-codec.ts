/** A start point that a client named, read from what another node sent. */
import type { Subscription } from '../base/commands/commands.js';
import type { GuardedReader } from '../base/guarded-reader.js';
import { SUBSCRIPTION_MODES } from '../base/tables.js';

export function readGivenSubscription(r: GuardedReader): Subscription {
  const mode = r.oneOf(SUBSCRIPTION_MODES);
  return mode === 'timestamp' ? { mode, atUs: r.varint() } : { mode };
}
