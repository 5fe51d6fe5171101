/** Texts of others on one line of a terminal. */

/**
 * Control characters of a name or an error could move the cursor of a terminal, and marks of the
 * direction of writing change the order of what stands around them.
 */
export function onOneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}]+/gu, ' ');
}

/** A line break in JSON stands between its tokens: within a string it is escaped. */
export function jsonLine(json: string): string {
  return json.includes('\n') || json.includes('\r') ? json.replace(/[\r\n]+/g, ' ') : json;
}
