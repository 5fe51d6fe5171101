/** The credential that a request brings, as it is (specification, Gateway credentials 2 and 6). */
import { API_KEY_LENGTH_MAX, API_KEY_PREFIX } from '@svc/wire';

export type Presented =
  | { readonly kind: 'key'; readonly text: string }
  | { readonly kind: 'session'; readonly token: string; readonly isCookie: boolean };

/** The parts of a request's head that a credential can be in. */
export interface CredentialHead {
  readonly authorization: string | undefined;
  readonly cookie: string | undefined;
  /** `Sec-Fetch-Mode`. */
  readonly fetchMode: string | undefined;
  readonly isApi: boolean;
}

/** The longest session token that is looked at. */
export const TOKEN_LENGTH_MAX = 4_096;
const BEARER = /^bearer +/i;

/**
 * null: there is none. A header that is usable always wins over a cookie, also when what is in it
 * is not valid. A page that a browser opens below an API path has none: a link from elsewhere must
 * not act with somebody's cookie.
 */
export function presentedBy(
  { authorization, cookie, fetchMode, isApi }: CredentialHead,
  cookieNames: readonly string[],
): Presented | null {
  if (isApi && fetchMode?.toLowerCase() === 'navigate') return null;
  const text = (authorization ?? '').trim().replace(BEARER, '').trim();
  if (text !== '' && text.toLowerCase() !== 'bearer') {
    if (text.startsWith(API_KEY_PREFIX))
      return { kind: 'key', text: text.slice(0, API_KEY_LENGTH_MAX + 1) };
    return { kind: 'session', token: text.slice(0, TOKEN_LENGTH_MAX + 1), isCookie: false };
  }
  if (cookie === undefined) return null;
  for (const name of cookieNames) {
    const token = cookieValue(cookie, name);
    if (token === null || token === '' || token.startsWith(API_KEY_PREFIX)) continue;
    return { kind: 'session', token: token.slice(0, TOKEN_LENGTH_MAX + 1), isCookie: true };
  }
  return null;
}

/** The first of the name. */
export function cookieValue(header: string, name: string): string | null {
  for (const part of header.split(';')) {
    const at = part.indexOf('=');
    if (at !== -1 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return null;
}
