/** Two lower-case hexadecimal digits for each byte, so that ids are built by concatenation. */
const DIGITS = '0123456789abcdef';

export const HEX_OF_BYTE: readonly string[] = Array.from(
  { length: 256 },
  (_, byte) => DIGITS.charAt(byte >> 4) + DIGITS.charAt(byte & 15),
);

/** The value of one hexadecimal digit given by its char code, or -1. Both cases are accepted. */
export function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  if (code >= 97 && code <= 102) return code - 87;
  if (code >= 65 && code <= 70) return code - 55;
  return -1;
}

/** The number that the `length` digits at `at` spell, or -1. `length` is at most 12. */
export function parseHex(text: string, at: number, length: number): number {
  let value = 0;
  for (let i = at; i < at + length; i++) {
    const digit = hexDigit(text.charCodeAt(i));
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}
