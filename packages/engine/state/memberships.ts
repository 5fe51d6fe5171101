/**
 * The members of the group over the log, as replicated rows: which configuration counts after which
 * entry. The engine does not read what is in them; consensus does.
 *
 * A row per change, and not only the newest: who takes over the log from entry F on needs the
 * configuration as of the entry before F, which may be older than the state it comes with.
 */
import { numberPairKey, secondNumberInKey } from '../base/keys.js';
import type { Key, State } from '../base/state.js';
import { memberships } from '../base/tables.js';

const TWO_POW_32 = 0x1_0000_0000;
/**
 * Changes that are remembered, some 100 bytes each. A log that begins before the oldest cannot be
 * handed over.
 */
export const MEMBERSHIPS_MAX = 1024;

export interface Membership {
  /** The entry that brought it. */
  readonly index: number;
  readonly data: Uint8Array;
}

/** The effect of a configuration entry. */
export function applyMembership(state: State, index: number, data: Uint8Array): void {
  state.put(memberships, membershipKey(index), data.slice());
  const known = state.range(memberships, membershipKey(0), LAST_KEY, MEMBERSHIPS_MAX + 1);
  const oldest = known[0];
  if (known.length > MEMBERSHIPS_MAX && oldest !== undefined) {
    state.delete(memberships, oldest.key);
  }
}

/** The newest one that an entry up to `index` brought. */
export function membershipAt(state: State, index: number): Membership | undefined {
  const end = membershipKey(index + 1);
  const [found] = state.range(memberships, membershipKey(0), end, 1, true);
  if (found === undefined) return undefined;
  return { index: indexInKey(found.key), data: found.row };
}

const LAST_KEY = numberPairKey(0xffff_ffff, 0xffff_ffff);

function membershipKey(index: number): Key {
  return numberPairKey(Math.floor(index / TWO_POW_32), index % TWO_POW_32);
}

function indexInKey(key: Key): number {
  const high =
    key.charCodeAt(0) * 0x100_0000 +
    ((key.charCodeAt(1) << 16) | (key.charCodeAt(2) << 8) | key.charCodeAt(3));
  return high * TWO_POW_32 + secondNumberInKey(key);
}
