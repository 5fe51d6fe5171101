/**
 * A copy of a text that keeps nothing else in memory. A part that was cut out of a text refers to
 * the whole, so a name of 20 characters, remembered as it was found in a header or a body, would
 * hold all of that: up to 16 KiB for each name. What is remembered for long is remembered so.
 */
export function ownText(text: string): string {
  return decoder.decode(encoder.encode(text));
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
