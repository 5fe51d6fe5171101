/**
 * UTF-8 without platform classes, because this folder runs wherever JavaScript runs. Strings that
 * arrive here are well formed: lone surrogates are refused at the edge of the API.
 */

/** Bytes that `text` takes in UTF-8. */
export function utf8Length(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) continue;
    if (code < 0x800) length += 1;
    else if (code >= 0xd800 && code < 0xdc00) {
      length += 2;
      i++;
    } else length += 2;
  }
  return length;
}

/** Writes `text` at `position`; the caller has made room. Returns the position after it. */
export function utf8Write(target: Uint8Array, position: number, text: string): number {
  let at = position;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) {
      target[at++] = code;
      continue;
    }
    if (code < 0x800) {
      target[at++] = 0xc0 | (code >> 6);
    } else if (code >= 0xd800 && code < 0xdc00) {
      const point = 0x10000 + ((code - 0xd800) << 10) + (text.charCodeAt(++i) - 0xdc00);
      target[at++] = 0xf0 | (point >> 18);
      target[at++] = 0x80 | ((point >> 12) & 0x3f);
      target[at++] = 0x80 | ((point >> 6) & 0x3f);
      target[at++] = 0x80 | (point & 0x3f);
      continue;
    } else {
      target[at++] = 0xe0 | (code >> 12);
      target[at++] = 0x80 | ((code >> 6) & 0x3f);
    }
    target[at++] = 0x80 | (code & 0x3f);
  }
  return at;
}

/** Reads well-formed UTF-8 from `start` to `end`. */
export function utf8Read(source: Uint8Array, start: number, end: number): string {
  let text = '';
  let at = start;
  while (at < end) {
    const first = source[at++] ?? 0;
    if (first < 0x80) text += String.fromCharCode(first);
    else if (first < 0xe0) {
      text += String.fromCharCode(((first & 0x1f) << 6) | ((source[at++] ?? 0) & 0x3f));
    } else if (first < 0xf0) {
      const second = (source[at++] ?? 0) & 0x3f;
      const third = (source[at++] ?? 0) & 0x3f;
      text += String.fromCharCode(((first & 0x0f) << 12) | (second << 6) | third);
    } else {
      const second = (source[at++] ?? 0) & 0x3f;
      const third = (source[at++] ?? 0) & 0x3f;
      const fourth = (source[at++] ?? 0) & 0x3f;
      text += String.fromCodePoint(((first & 0x07) << 18) | (second << 12) | (third << 6) | fourth);
    }
  }
  return text;
}
