/**
 * JSON string literals for answers that are put together by concatenation. Names and ids seldom
 * need escaping, which one test of a pattern tells.
 */

const NEEDS_CARE = /[^\x20\x21\x23-\x5b\x5d-\x7e]/;

/** `"text"`, escaped where it must be. */
export function quoted(text: string): string {
  return NEEDS_CARE.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/**
 * As `quoted`, as a byte string: every char code is one byte of the UTF-8 text. Answers that hold
 * payloads are byte strings, because payload bytes must come through as they are.
 */
export function quotedBytes(text: string): string {
  if (!NEEDS_CARE.test(text)) return `"${text}"`;
  return Buffer.from(JSON.stringify(text), 'utf8').toString('latin1');
}

export function quotedBytesOrNull(text: string | null): string {
  return text === null ? 'null' : quotedBytes(text);
}
