/** Rows of the key/value store, and what other surfaces keep in it. */

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
