/** API keys: how one is made, and how it is known again without being stored. */
import { createHash, hash, timingSafeEqual } from 'node:crypto';
import { API_KEY_PREFIX } from '@svc/wire';
import type { Random } from '../base/random.js';

const KEY_BYTES = 32;

export interface NewApiKey {
  /** Shown once. */
  readonly plaintext: string;
  readonly hash: string;
}

export function newApiKey(random: Random): NewApiKey {
  const text = Buffer.from(random.bytes(KEY_BYTES)).toString('base64url');
  const plaintext = `${API_KEY_PREFIX}live_${text}`;
  return { plaintext, hash: hashOfKey(plaintext) };
}

/**
 * 64 hexadecimal digits. The key has 256 random bits, so a fast hash is enough. It is what the key
 * is looked up by: how long a look-up takes depends on the hash, which a guess does not steer.
 */
export function hashOfKey(plaintext: string): string {
  return hash('sha256', plaintext);
}

/** Whether two secrets are the same, in a time that depends on neither. */
export function isSameSecret(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
