/**
 * The payloads in an answer, as the texts that are stored: `JSON.parse` would round numbers above
 * 2^53 and lose the spelling of the others.
 *
 * An answer is `{..., "messages": [{..., "data": <payload>, ...}, ...], ...}`. One pass over its
 * text finds where each payload begins and ends; what is left without the payloads is small and
 * goes through `JSON.parse`, which checks it. Payloads are parsed when somebody asks for them.
 *
 * The pass is linear: strings are left by searching for their closing quote, and of the rest each
 * character is looked at once. A member of a payload that is named like one of the answer does not
 * mislead it, since payloads are passed over as a whole. Rejected: a regular expression, which
 * cannot count brackets; a second JSON parser, which would be slower than the first.
 */

export interface WithTexts {
  /** The answer with `null` for each payload. */
  readonly answer: unknown;
  /** By message; undefined where it has no payload. */
  readonly texts: readonly (string | undefined)[];
}

const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const COLON = 58;
const OPEN_ARRAY = 91;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/** Throws a `SyntaxError` for what is no JSON object. `payload` is the member that holds it. */
export function payloadTexts(text: string, payload: string): WithTexts {
  const scan = new Scan(text);
  const texts: (string | undefined)[] = [];
  const parts: string[] = [];
  let keptTo = 0;
  scan.eachMember((name) => {
    if (name !== 'messages' || !scan.isAt(OPEN_ARRAY)) return scan.skipValue();
    scan.eachElement(() => {
      const at = texts.push(undefined) - 1;
      if (!scan.isAt(OPEN_OBJECT)) return scan.skipValue();
      scan.eachMember((member) => {
        const from = scan.at;
        scan.skipValue();
        if (member !== payload) return;
        texts[at] = text.slice(from, scan.at);
        parts.push(text.slice(keptTo, from));
        keptTo = scan.at;
      });
    });
  });
  parts.push(text.slice(keptTo));
  return { answer: JSON.parse(parts.join('null')) as unknown, texts };
}

class Scan {
  readonly #text: string;
  at = 0;

  constructor(text: string) {
    this.#text = text;
    this.#skipSpace();
  }

  isAt(character: number): boolean {
    return this.#text.charCodeAt(this.at) === character;
  }

  /** Calls `visit` at the value of each member; it has to pass over the value. */
  eachMember(visit: (name: string) => void): void {
    this.#expect(OPEN_OBJECT);
    if (this.#leaves(CLOSE_OBJECT)) return;
    do {
      const from = this.at;
      this.#skipString();
      const name = this.#text.slice(from + 1, this.at - 1);
      this.#skipSpace();
      this.#expect(COLON);
      visit(name);
      this.#skipSpace();
    } while (this.#goesOn(CLOSE_OBJECT));
  }

  eachElement(visit: () => void): void {
    this.#expect(OPEN_ARRAY);
    if (this.#leaves(CLOSE_ARRAY)) return;
    do {
      visit();
      this.#skipSpace();
    } while (this.#goesOn(CLOSE_ARRAY));
  }

  skipValue(): void {
    if (this.isAt(QUOTE)) this.#skipString();
    else if (this.isAt(OPEN_OBJECT) || this.isAt(OPEN_ARRAY)) this.#skipContainer();
    else this.#skipWord();
  }

  #skipContainer(): void {
    for (let depth = 0; ; ) {
      const character = this.#text.charCodeAt(this.at);
      if (character === QUOTE) {
        this.#skipString();
        continue;
      }
      if (Number.isNaN(character)) throw this.#wrong();
      this.at++;
      if (character === OPEN_OBJECT || character === OPEN_ARRAY) depth++;
      else if ((character === CLOSE_OBJECT || character === CLOSE_ARRAY) && --depth === 0) return;
    }
  }

  /** A number, true, false or null. */
  #skipWord(): void {
    const from = this.at;
    while (isWordPart(this.#text.charCodeAt(this.at))) this.at++;
    if (this.at === from) throw this.#wrong();
  }

  #skipString(): void {
    if (!this.isAt(QUOTE)) throw this.#wrong();
    for (let end = this.at; ; ) {
      end = this.#text.indexOf('"', end + 1);
      if (end === -1) throw this.#wrong();
      let before = end - 1;
      while (this.#text.charCodeAt(before) === BACKSLASH) before--;
      if ((end - before) % 2 === 0) continue;
      this.at = end + 1;
      return;
    }
  }

  #leaves(close: number): boolean {
    if (!this.isAt(close)) return false;
    this.at++;
    return true;
  }

  #goesOn(close: number): boolean {
    if (this.#leaves(close)) return false;
    this.#expect(COMMA);
    return true;
  }

  #expect(character: number): void {
    if (!this.isAt(character)) throw this.#wrong();
    this.at++;
    this.#skipSpace();
  }

  #skipSpace(): void {
    for (;;) {
      const character = this.#text.charCodeAt(this.at);
      if (character !== 32 && character !== 10 && character !== 13 && character !== 9) return;
      this.at++;
    }
  }

  #wrong(): SyntaxError {
    return new SyntaxError(`no JSON object at position ${this.at} of ${this.#text.length}`);
  }
}

/** A digit, a letter, `+`, `-` or `.`. */
function isWordPart(character: number): boolean {
  if (character >= 48 && character <= 57) return true;
  const letter = character | 32;
  return (
    (letter >= 97 && letter <= 122) || character === 43 || character === 45 || character === 46
  );
}
