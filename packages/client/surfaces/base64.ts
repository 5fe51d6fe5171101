/** Base64 of UTF-8 texts, as timers carry payloads. Node, browsers and Workers all have `btoa`. */

/** `String.fromCharCode` takes its bytes as arguments, of which engines allow some 65,000. */
const PIECE_BYTES = 32_768;

export function base64Of(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    pieces.push(String.fromCharCode(...bytes.subarray(at, at + PIECE_BYTES)));
  }
  return btoa(pieces.join(''));
}

export function textOfBase64(base64: string): string {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}
