/**
 * A source file split into what the rules look at: code, comments and strings.
 *
 * A rule about code must not be misled by a comment or a string that looks like code, and one about
 * comments not by code. So the text is scanned once, and each view has everything else replaced by
 * spaces: positions and lines are the same in all of them.
 *
 * This is not a parser. It knows comments, the three kinds of strings with `${}` inside templates,
 * and regular expressions, which it tells from a division by what stands before the slash. It
 * expects code that compiles.
 */

export interface Source {
  /** Relative to the root of the tree, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly lines: readonly string[];
  /** Comments and the insides of strings and regular expressions are spaces. */
  readonly code: string;
  /** All but comments is spaces. */
  readonly comments: string;
}

export function sourceOf(path: string, text: string): Source {
  const { code, comments } = new Scanner(text).scan();
  return { path, text, lines: text.split('\n'), code, comments };
}

/** From 1. */
export function lineAt(source: Source, position: number): number {
  let line = 1;
  for (let at = source.text.indexOf('\n'); at !== -1 && at < position; line++) {
    at = source.text.indexOf('\n', at + 1);
  }
  return line;
}

type Place = 'code' | 'comment' | 'string';

/** After these words a slash begins a regular expression; after other words it divides. */
const WORDS_BEFORE_EXPRESSION = new Set(
  'return typeof case in of do else void delete throw new await yield instanceof'.split(' '),
);

class Scanner {
  readonly #text: string;
  readonly #places: Place[] = [];
  /** Depth of braces inside each open `${`, outermost first. */
  readonly #templates: number[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  scan(): { readonly code: string; readonly comments: string } {
    while (this.#places.length < this.#text.length) this.#step();
    return { code: this.#view('code'), comments: this.#view('comment') };
  }

  #step(): void {
    const rest = this.#text.slice(this.#places.length, this.#places.length + 2);
    const first = rest[0] ?? '';
    if (rest === '//') this.#until('\n', 'comment');
    else if (rest === '/*') this.#until('*/', 'comment', 2);
    else if (first === "'" || first === '"') this.#quoted(first);
    else if (first === '`') this.#template();
    else if (first === '/' && this.#expressionMayBegin()) this.#regularExpression();
    else if (first === '}' && this.#templates.at(-1) === 0) this.#resumeTemplate();
    else this.#codeCharacter(first);
  }

  #codeCharacter(character: string): void {
    const depth = this.#templates.at(-1);
    if (depth !== undefined && character === '{') this.#templates.splice(-1, 1, depth + 1);
    if (depth !== undefined && character === '}') this.#templates.splice(-1, 1, depth - 1);
    this.#take(1, 'code');
  }

  /** Takes up to and with `end`; a line feed that ends a comment is left as code. */
  #until(end: string, place: Place, skip = 0): void {
    const from = this.#places.length;
    const at = this.#text.indexOf(end, from + skip);
    const stop = at === -1 ? this.#text.length : at + (end === '\n' ? 0 : end.length);
    this.#take(stop - from, place);
  }

  #quoted(quote: string): void {
    this.#take(1, 'code');
    this.#insideUntil((character) => character === quote || character === '\n');
    this.#take(1, 'code');
  }

  #template(): void {
    this.#take(1, 'code');
    this.#templateText();
  }

  #resumeTemplate(): void {
    this.#templates.pop();
    this.#take(1, 'code');
    this.#templateText();
  }

  #templateText(): void {
    this.#insideUntil((character, next) => character === '`' || character + next === '${');
    if (this.#text[this.#places.length] === '`') {
      this.#take(1, 'code');
      return;
    }
    this.#templates.push(0);
    this.#take(2, 'code');
  }

  #regularExpression(): void {
    let inClass = false;
    this.#take(1, 'code');
    this.#insideUntil((character) => {
      if (character === '[') inClass = true;
      if (character === ']') inClass = false;
      return character === '\n' || (character === '/' && !inClass);
    });
    this.#take(1, 'code');
  }

  #insideUntil(ends: (character: string, next: string) => boolean): void {
    for (;;) {
      const at = this.#places.length;
      const character = this.#text[at];
      if (character === undefined) return;
      if (character === '\\') this.#take(2, 'string');
      else if (ends(character, this.#text[at + 1] ?? '')) return;
      else this.#take(1, 'string');
    }
  }

  #expressionMayBegin(): boolean {
    let at = this.#places.length - 1;
    while (at >= 0 && (this.#places[at] === 'comment' || /\s/.test(this.#text[at] ?? ''))) at--;
    const before = this.#text[at] ?? '';
    // Behind `<` a slash ends an element of JSX.
    if (before === '' || '(,=:[!&|?{;+-*%~^>'.includes(before)) return true;
    if (!/\w/.test(before)) return false;
    const word = /\w+$/.exec(this.#text.slice(Math.max(0, at - 20), at + 1))?.[0] ?? '';
    return WORDS_BEFORE_EXPRESSION.has(word);
  }

  #take(count: number, place: Place): void {
    for (let i = 0; i < count; i++) this.#places.push(place);
  }

  #view(shown: Place): string {
    const places = this.#places;
    return Array.from({ length: this.#text.length }, (_, at) => {
      const character = this.#text[at] ?? '';
      return places[at] === shown || character === '\n' ? character : ' ';
    }).join('');
  }
}
