/**
 * Payloads and values in an answer, as the texts that are stored: `JSON.parse` would round numbers
 * above 2^53 and lose the spelling of the others.
 *
 * One pass over the text of the answer finds the members of a name, and where the value of each
 * begins and ends. What is left without the values is small and goes through `JSON.parse`, which
 * checks it. Payloads are parsed when somebody asks for them.
 *
 * The pass is linear: it goes from string to string by searching for quotes, and looks at each
 * character only within the values that it takes out. A member of a value that is named like one of
 * the answer does not mislead it, since values are passed over as a whole. Rejected: a regular
 * expression, which cannot count brackets; a second JSON parser, which would be slower than the
 * first.
 */

export interface WithTexts {
  /** The answer with a number for each payload. */
  readonly answer: unknown;
  /** By message; undefined where it has no payload. */
  readonly texts: readonly (string | undefined)[];
}

const QUOTE = 34;
const BACKSLASH = 92;
const COLON = 58;
const OPEN_ARRAY = 91;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/**
 * Reads an answer `{..., "messages": [{..., "data": <payload>, ...}, ...], ...}`. Throws a
 * `SyntaxError` for what is no JSON object. `payload` is the member that holds it.
 */
export function payloadTexts(text: string, payload: string): WithTexts {
  const found: string[] = [];
  const answer = parsePutting(text, payload, (value) => String(found.push(value) - 1));
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) {
    throw new SyntaxError('the answer is no JSON object');
  }
  const { messages } = answer as { readonly messages?: unknown };
  const rows = Array.isArray(messages) ? (messages as (Record<string, number> | null)[]) : [];
  return { answer, texts: rows.map((row) => found[row?.[payload] ?? -1]) };
}

/** Parses `text`, except that the members called `name` are the texts of their values. */
export function parseButTexts(text: string, name: string): unknown {
  return parsePutting(text, name, (value) => {
    JSON.parse(value);
    return JSON.stringify(value);
  });
}

/** Parses `text` with what `put` makes of the text of each value called `name` in its place. */
function parsePutting(text: string, name: string, put: (value: string) => string): unknown {
  const wanted = JSON.stringify(name);
  const parts: string[] = [];
  let keptTo = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at)) {
    const end = stringEnd(text, at);
    const isWanted = end - at === wanted.length && text.startsWith(wanted, at);
    at = end;
    if (!isWanted) continue;
    const colon = spaceEnd(text, end);
    if (text.charCodeAt(colon) !== COLON) continue;
    const from = spaceEnd(text, colon + 1);
    at = valueEnd(text, from);
    parts.push(text.slice(keptTo, from), put(text.slice(from, at)));
    keptTo = at;
  }
  parts.push(text.slice(keptTo));
  return JSON.parse(parts.join(''));
}

function valueEnd(text: string, from: number): number {
  const first = text.charCodeAt(from);
  if (first === QUOTE) return stringEnd(text, from);
  if (first === OPEN_OBJECT || first === OPEN_ARRAY) return containerEnd(text, from);
  let at = from;
  while (isWordPart(text.charCodeAt(at))) at++;
  if (at === from) throw cut(text, at);
  return at;
}

function containerEnd(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) at = stringEnd(text, at) - 1;
    else if (character === OPEN_OBJECT || character === OPEN_ARRAY) depth++;
    else if (character === CLOSE_OBJECT || character === CLOSE_ARRAY) {
      if (--depth === 0) return at + 1;
    }
  }
  throw cut(text, from);
}

/** Behind the closing quote. */
function stringEnd(text: string, from: number): number {
  for (let end = from; ; ) {
    end = text.indexOf('"', end + 1);
    if (end === -1) throw cut(text, from);
    let before = end - 1;
    while (text.charCodeAt(before) === BACKSLASH) before--;
    if ((end - before) % 2 === 1) return end + 1;
  }
}

function spaceEnd(text: string, from: number): number {
  for (let at = from; ; at++) {
    const character = text.charCodeAt(at);
    if (character !== 32 && character !== 10 && character !== 13 && character !== 9) return at;
  }
}

/** A digit, a letter, `+`, `-` or `.`: of a number, true, false or null. */
function isWordPart(character: number): boolean {
  const letter = character | 32;
  if ((letter >= 97 && letter <= 122) || (character >= 48 && character <= 57)) return true;
  return character === 43 || character === 45 || character === 46;
}

function cut(text: string, at: number): SyntaxError {
  return new SyntaxError(`the JSON ends within what begins at ${at} of ${text.length}`);
}
