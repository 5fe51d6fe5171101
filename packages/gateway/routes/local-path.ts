/**
 * Where a login leads to: a path of this host and nothing else (specification, Gateway credentials
 * 7). A browser takes `//host`, `/\host` and, with a tab or a line end in between, more of the kind
 * for another host; a control character would end the header.
 */
import { isWellFormed } from '@svc/wire';

const LENGTH_MAX = 2_048;
const CONTROL = /\p{Cc}/u;
const BEYOND_ASCII = /[^\x21-\x7e]/gu;

/** The path as a header can have it; "/" for what is none. */
export function localPath(text: string): string {
  const isLocal =
    text.startsWith('/') &&
    !text.startsWith('//') &&
    !text.startsWith('/\\') &&
    !text.includes('://') &&
    !CONTROL.test(text) &&
    text.length <= LENGTH_MAX &&
    isWellFormed(text);
  return isLocal ? text.replace(BEYOND_ASCII, encodeURIComponent) : '/';
}
