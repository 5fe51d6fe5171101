/**
 * JSON with parts kept as they were written.
 *
 * A payload is bytes of somebody else. `JSON.parse` turns `12345678901234567890` into
 * `12345678901234567000`, `1.0` into `1`, drops the first of two equal members and moves members
 * whose names are numbers to the front. So the members of an answer that hold stored values are not
 * parsed: each becomes a `RawJson` with its text, which `json-lines.ts` lays out.
 *
 * What must hold: a value nested ten thousand deep is skipped by a loop, not by a recursion; the
 * envelope around it is the node's own and shallow. Rejected: the `source` that a reviver gets; it
 * calls itself for each level, and does not see members that were dropped or moved.
 */

export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Members of answers that hold what a user stored. */
export const STORED_MEMBERS: ReadonlySet<string> = new Set(['data', 'payload', 'value']);

const ENVELOPE_DEPTH_MAX = 64;

/** Throws `SyntaxError`. */
export function parseKeeping(text: string, members = STORED_MEMBERS): unknown {
  const reader = new Reader(text, members);
  const value = reader.value(0);
  reader.end();
  return value;
}

class Reader {
  readonly #text: string;
  readonly #members: ReadonlySet<string>;
  #at = 0;

  constructor(text: string, members: ReadonlySet<string>) {
    this.#text = text;
    this.#members = members;
  }

  value(depth: number): unknown {
    if (depth > ENVELOPE_DEPTH_MAX) this.#fail('the answer is nested too deeply');
    const first = this.#peek();
    if (first === '{') return this.#object(depth);
    if (first === '[') return this.#array(depth);
    return JSON.parse(this.#skip());
  }

  end(): void {
    if (this.#peek() !== '') this.#fail('more follows the value');
  }

  #object(depth: number): Record<string, unknown> {
    const entries: [string, unknown][] = [];
    this.#list('}', () => {
      if (this.#peek() !== '"') this.#fail('a name was expected');
      const name = JSON.parse(this.#skip()) as string;
      this.#take(':');
      const isKept = this.#members.has(name);
      entries.push([name, isKept ? new RawJson(this.#skip()) : this.value(depth + 1)]);
    });
    return Object.fromEntries(entries);
  }

  #array(depth: number): unknown[] {
    const items: unknown[] = [];
    this.#list(']', () => items.push(this.value(depth + 1)));
    return items;
  }

  #list(close: string, item: () => void): void {
    this.#at++;
    if (this.#peek() === close) {
      this.#at++;
      return;
    }
    for (;;) {
      item();
      if (this.#peek() === close) break;
      this.#take(',');
    }
    this.#at++;
  }

  #take(expected: string): void {
    if (this.#peek() !== expected) this.#fail(`${expected} was expected`);
    this.#at++;
  }

  /** The next character that is no space; "" at the end. */
  #peek(): string {
    this.#at = skipSpaces(this.#text, this.#at);
    return this.#text[this.#at] ?? '';
  }

  /** The text of the value that begins here. */
  #skip(): string {
    this.#peek();
    const from = this.#at;
    this.#at = endOfValue(this.#text, from);
    if (this.#at === from) this.#fail('a value was expected');
    return this.#text.slice(from, this.#at);
  }

  #fail(what: string): never {
    throw new SyntaxError(`${what} at character ${this.#at}`);
  }
}

export function skipSpaces(text: string, from: number): number {
  let at = from;
  while (at < text.length && ' \t\n\r'.includes(text[at] ?? '')) at++;
  return at;
}

/** Where the string that begins at `from` ends, behind its quote. */
export function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}

/** Where a number or a word ends. */
export function endOfWord(text: string, from: number): number {
  let at = from;
  while (at < text.length && !' \t\n\r,:]}[{"'.includes(text[at] ?? '')) at++;
  return at;
}

/** Where the value that begins at `from` ends; by a loop, however deep it is. */
export function endOfValue(text: string, from: number): number {
  let depth = 0;
  let at = from;
  do {
    const character = text[at] ?? '';
    if (character === '') return text.length;
    if (character === '"') at = endOfString(text, at);
    else if (character === '{' || character === '[') {
      depth++;
      at++;
    } else if (character === '}' || character === ']') {
      depth--;
      at++;
    } else if (depth === 0) return endOfWord(text, at);
    else at++;
  } while (depth > 0);
  return at;
}
