/**
 * JSON in lines, to be edited: white space is added between tokens and nothing else is touched, so
 * numbers and strings stay as they were written. The store drops the white space again.
 *
 * The indent has a bound: what brackets nest deeply would grow with the square of their number.
 */
import { endOfString, endOfWord, skipSpaces } from './raw-json.js';

const INDENT = '  ';
const DEPTH_MAX = 20;

/** A text that is no JSON comes out with the same characters in the same order. */
export function indented(text: string): string {
  const parts: string[] = [];
  let depth = 0;
  const newLine = () => parts.push('\n', INDENT.repeat(Math.min(depth, DEPTH_MAX)));
  for (let at = skipSpaces(text, 0); at < text.length; at = skipSpaces(text, at)) {
    const character = text[at] ?? '';
    const next = skipSpaces(text, at + 1);
    if (character === '"' || !'{}[],:'.includes(character)) {
      const end = character === '"' ? endOfString(text, at) : endOfWord(text, at);
      parts.push(text.slice(at, Math.max(end, at + 1)));
      at = Math.max(end, at + 1);
      continue;
    }
    const isEmpty = '{['.includes(character) && '}]'.includes(text[next] ?? ' ');
    if (isEmpty) {
      parts.push(character, text[next] ?? '');
      at = next + 1;
      continue;
    }
    if ('}]'.includes(character)) {
      depth = Math.max(depth - 1, 0);
      newLine();
    }
    parts.push(character === ':' ? ': ' : character);
    if ('{['.includes(character)) depth++;
    if ('{[,'.includes(character)) newLine();
    at++;
  }
  return parts.join('');
}
