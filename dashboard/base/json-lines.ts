/**
 * A stored value laid out in lines: one for each scalar and each bracket. Numbers and strings stand
 * in their lines as they were written.
 *
 * What must hold: a MiB of any nesting takes one pass and no recursion; no more than `linesMax`
 * lines are made, and the last says so; the name and the text of a line have a bound too.
 */
import { endOfString, endOfWord, skipSpaces } from './raw-json.js';

export type JsonKind = 'string' | 'number' | 'word' | 'bracket' | 'note';

export interface JsonLine {
  readonly depth: number;
  /** The name of the member, with its quotes; "" for none. */
  readonly name: string;
  readonly kind: JsonKind;
  readonly text: string;
  /** Where its value begins in the text; a folded value is known by it. */
  readonly at: number;
  /** Members or items of a bracket that opens; -1 for all else. */
  readonly size: number;
}

const LINES_MAX = 50_000;
const TEXT_MAX = 2_000;

const OPENING = '{[';
const CLOSING = '}]';

interface Open {
  readonly line: number;
  readonly isFolded: boolean;
  items: number;
}

/** `folded`: brackets by where they begin, of which one line is shown. */
export function jsonLines(
  text: string,
  folded: ReadonlySet<number> = new Set(),
  linesMax = LINES_MAX,
): JsonLine[] {
  const lines: JsonLine[] = [];
  const stack: Open[] = [];
  let hidden = 0;
  let name = '';
  let at = skipSpaces(text, 0);
  const add = (kind: JsonKind, shown: string, from: number, size = -1) => {
    if (hidden === 0) {
      lines.push({ depth: stack.length, name, kind, text: shortened(shown), at: from, size });
    }
    name = '';
  };
  while (at < text.length && lines.length < linesMax) {
    const character = text[at] ?? '';
    const parent = stack.at(-1);
    if (OPENING.includes(character)) {
      if (parent !== undefined) parent.items++;
      add('bracket', character, at, 0);
      const isFolded = folded.has(at);
      stack.push({ line: hidden === 0 ? lines.length - 1 : -1, isFolded, items: 0 });
      if (isFolded) hidden++;
      at++;
    } else if (CLOSING.includes(character)) {
      const open = stack.pop();
      if (open?.isFolded === true) hidden--;
      const isOneLine = open !== undefined && close(lines, open, character);
      if (!isOneLine) add('bracket', character, at);
      at++;
    } else if (character === '"') {
      const end = endOfString(text, at);
      const next = skipSpaces(text, end);
      if (text[next] === ':' && parent !== undefined && name === '') {
        name = shortened(text.slice(at, end));
        at = next + 1;
      } else {
        if (parent !== undefined) parent.items++;
        add('string', text.slice(at, end), at);
        at = end;
      }
    } else if (character === ',') at++;
    else {
      const end = Math.max(endOfWord(text, at), at + 1);
      const word = text.slice(at, end);
      if (parent !== undefined) parent.items++;
      add(/^[-\d]/.test(word) ? 'number' : 'word', word, at);
      at = end;
    }
    at = skipSpaces(text, at);
  }
  if (at < text.length) {
    const rest = `${text.length - at} characters more, which are not laid out`;
    lines.push({ depth: 0, name: '', kind: 'note', text: rest, at, size: -1 });
  }
  return lines;
}

/** The opening bracket gets its size. True: its line holds the end too, being folded or empty. */
function close(lines: JsonLine[], { line, isFolded, items }: Open, closing: string): boolean {
  const isOneLine = isFolded || items === 0;
  const opening = lines[line];
  if (opening === undefined) return isOneLine;
  const whole = items === 0 ? opening.text + closing : `${opening.text} … ${closing}`;
  lines[line] = { ...opening, text: isOneLine ? whole : opening.text, size: items };
  return isOneLine;
}

function shortened(text: string): string {
  if (text.length <= TEXT_MAX) return text;
  return `${text.slice(0, TEXT_MAX)}… (${text.length} characters)`;
}
