/** Facts about strings that decide whether they may become names or ids. */

/**
 * Length of `text` in UTF-8, counting a lone surrogate as the three bytes it would be replaced by.
 */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) continue;
    if (code < 0x800) bytes += 1;
    else if (code >= 0xd800 && code <= 0xdbff && isLowSurrogate(text.charCodeAt(i + 1))) {
      // Two code units that together take four bytes.
      bytes += 2;
      i++;
    } else bytes += 2;
  }
  return bytes;
}

/** False when a surrogate stands alone: such a string has no UTF-8 form and cannot be a key. */
export function isWellFormed(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0xd800 || code > 0xdfff) continue;
    if (code > 0xdbff || !isLowSurrogate(text.charCodeAt(i + 1))) return false;
    i++;
  }
  return true;
}

/** NaN, from beyond the end of a string, is not one. */
function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
