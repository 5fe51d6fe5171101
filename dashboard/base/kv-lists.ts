/** Rows of the key/value store: how one is written, and what other surfaces keep in it. */
import { type Moment, millisOf } from './moment.js';

/** The namespace in which locks live. */
export const LOCKS = 'svc-locks';

/** A permit of a semaphore is a row `name#slot`. */
export function lockOf(key: string): { readonly name: string; readonly slot: string | null } {
  const at = key.lastIndexOf('#');
  return at < 0 ? { name: key, slot: null } : { name: key.slice(0, at), slot: key.slice(at + 1) };
}

/** `owner` of a stored lock. null: it has none, or is no object. */
export function ownerOf(stored: string): string | null {
  try {
    const { owner } = Object(JSON.parse(stored));
    return typeof owner === 'string' ? owner : null;
  } catch {
    return null;
  }
}

/** Why the text is no value that can be stored; null: it is one. */
export function valueFault(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return `This is no JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** When a row that is written now expires. */
export type Expiry =
  | { readonly kind: 'never' }
  | { readonly kind: 'after'; readonly seconds: number }
  /** At the time at which the row that is there expires. */
  | { readonly kind: 'same'; readonly at: Moment };

export interface KvWrite {
  readonly ns: string;
  readonly key: string;
  /** JSON, as it was typed: numbers in it stay as they are written. */
  readonly value: string;
  readonly expiry: Expiry;
  /** The version that was read; 0: there was no row. null: whatever is there is replaced. */
  readonly expect: number | null;
}

/** The body of POST /api/v1/kv with this one operation. */
export function putBody({ ns, key, value, expiry, expect }: KvWrite, nowMs: number): string {
  const said = { op: 'put', ns, key, ...expiryMembers(expiry, nowMs), expect: expect ?? undefined };
  return `[${JSON.stringify(said).slice(0, -1)},"value":${value}}]`;
}

/** The store counts in whole seconds from now: a row lives up to a second too long. */
function expiryMembers(expiry: Expiry, nowMs: number): object {
  if (expiry.kind === 'after') return { ttlSeconds: expiry.seconds };
  const atMs = expiry.kind === 'same' ? millisOf(expiry.at) : null;
  if (atMs === null) return { forever: true };
  return { ttlSeconds: Math.max(Math.ceil((atMs - nowMs) / 1000), 1) };
}
