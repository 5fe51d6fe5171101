/**
 * JSON whose numbers stay as they were written. `JSON.parse` rounds numbers beyond 2^53, makes
 * `Infinity` of 1e400 and 12.5 of 12.50, and a payload would be printed otherwise than it is
 * stored. Such numbers become texts between marks when they are read, and lose the marks when
 * they are printed.
 */

const MARK = '\ue000';
/**
 * What a number has that is printed otherwise than it was written: 16 digits, an exponent, a zero
 * at the end of a fraction, seven behind its point, or -0. Looked for first, since it is quick.
 */
const MAY_CHANGE = /\d{16}|\d{8}\.|\.\d{8}|\d[eE]|\.\d*0(?!\d)|0\.0{6}|-0/;
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const MARKED = new RegExp(`"?${MARK}([-+.\\deE]+)${MARK}"?`, 'g');

export function parseExact(text: string): unknown {
  const hasMarks = text.includes(MARK) || /\\ue000/i.test(text);
  if (hasMarks || !MAY_CHANGE.test(text)) return JSON.parse(text);
  JSON.parse(text);
  return JSON.parse(
    text.replace(TOKEN, (token) =>
      token.startsWith('"') || String(Number(token)) === token ? token : `"${MARK}${token}${MARK}"`,
    ),
  );
}

/** `text` was printed from what `parseExact` gave, as JSON, YAML or cells. */
export function withExactNumbers(text: string): string {
  return text.includes(MARK) ? text.replace(MARKED, '$1') : text;
}

export function exactJson(value: unknown, indent?: number): string {
  return withExactNumbers(JSON.stringify(value, null, indent) ?? 'null');
}
