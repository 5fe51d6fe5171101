/**
 * JSON whose numbers stay as they were written. `JSON.parse` rounds numbers beyond 2^53 and makes
 * `Infinity` of 1e400, and a payload would be printed with another value than it has. Such numbers
 * become texts between marks when they are read, and lose the marks when they are printed.
 */

const MARK = '\ue000';
/** Fewer digits than 16 without an exponent are exact. Looked for first, since it is quick. */
const MAY_BE_INEXACT = /\d{16}|\d[eE]|\.\d{16}/;
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const MARKED = new RegExp(`"?${MARK}([-+.\\deE]+)${MARK}"?`, 'g');

export function parseExact(text: string): unknown {
  const hasMarks = text.includes(MARK) || /\\ue000/i.test(text);
  if (hasMarks || !MAY_BE_INEXACT.test(text)) return JSON.parse(text);
  JSON.parse(text);
  return JSON.parse(
    text.replace(TOKEN, (token) =>
      token.startsWith('"') || isExact(token) ? token : `"${MARK}${token}${MARK}"`,
    ),
  );
}

function isExact(token: string): boolean {
  const value = Number(token);
  if (!Number.isFinite(value)) return false;
  if (!/[.eE]/.test(token)) return Number.isSafeInteger(value) || String(value) === token;
  return token.replace(/[eE].*|\D/g, '').length <= 15;
}

/** `text` was printed from what `parseExact` gave, as JSON, YAML or cells. */
export function withExactNumbers(text: string): string {
  return text.includes(MARK) ? text.replace(MARKED, '$1') : text;
}

export function exactJson(value: unknown, indent?: number): string {
  return withExactNumbers(JSON.stringify(value, null, indent) ?? 'null');
}
