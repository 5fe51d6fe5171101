/**
 * Reads a JSON text from its start to its end, in parts of some 64 KiB each, between which the
 * caller may do something else. A text is an object, or a list. It can be left behind each of its
 * members, behind each element of a list, the text itself or a member of it, and wherever whoever
 * passes an element stops within it. A value that is skipped is read in one.
 *
 * A step takes up what the one before it left, and allocates nothing: nearly all bodies and answers
 * are a few hundred bytes, and are read in their first step. Rejected: generators. They cost such a
 * request an object and two results for each function on the way to the list.
 */
import { JsonError, JsonReader, KEYS_END, type KeySet } from '@svc/http';

export type Bytes = ConstructorParameters<typeof JsonReader>[0];

const PART_BYTES = 65_536;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/** The visitor of the parts of a text, before each of which the reader stands. */
export interface TextParts {
  /** Whether the text is a list. */
  isList(): boolean;
  /**
   * Passes the value of a member; undefined: its name is none of the known ones. True: it was not
   * passed, for it is a list whose elements are wanted.
   */
  member(name: string | undefined): boolean;
  /** Passes an element of a list, or a part of it up to `until`. False: there is more of it. */
  element(until: number): boolean;
}

export class PartsReader {
  /** It is no JSON, or not of the shape that it should have. */
  isUnreadable = false;
  /** Made in the first step, for it refuses some texts at once. */
  #reader: JsonReader | null = null;
  readonly #bytes: Bytes;
  /** Names of members that are told. */
  readonly #keys: KeySet;
  /** The name of the text in errors. */
  readonly #what: string;
  readonly #text: TextParts;
  #stands: 'before' | 'in members' | 'in list of text' | 'in list of member' = 'before';
  /** There is more of the element that was begun last. */
  #isInElement = false;

  constructor(bytes: Bytes, keys: KeySet, what: string, text: TextParts) {
    this.#bytes = bytes;
    this.#keys = keys;
    this.#what = what;
    this.#text = text;
  }

  /** From the first step on. */
  get reader(): JsonReader {
    if (this.#reader === null) throw new Error('a text is read by its steps');
    return this.#reader;
  }

  /** Reads one part; false: there is another one. Not to be called again after true. */
  step(): boolean {
    try {
      return this.#part();
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      this.isUnreadable = true;
      return true;
    }
  }

  isAtList(): boolean {
    return this.reader.peek() === OPEN_BRACKET;
  }

  isAtObject(): boolean {
    return this.reader.peek() === OPEN_BRACE;
  }

  #part(): boolean {
    if (this.#stands === 'before') this.#enter();
    const { reader } = this;
    const until = reader.at + PART_BYTES;
    for (;;) {
      if (this.#stands !== 'in members') {
        while (this.#isInElement || reader.nextElement()) {
          this.#isInElement = !this.#text.element(until);
          if (reader.at >= until) return false;
        }
        if (this.#stands === 'in list of text') break;
        this.#stands = 'in members';
      }
      if (reader.at >= until) return false;
      const key = reader.nextKey(this.#keys, 0);
      if (key === KEYS_END) break;
      if (!this.#text.member(this.#keys.names[key])) continue;
      reader.enterArray(this.#what);
      this.#stands = 'in list of member';
    }
    reader.finish();
    return true;
  }

  #enter(): void {
    this.#reader = new JsonReader(this.#bytes);
    if (this.#text.isList()) {
      this.reader.enterArray(this.#what);
      this.#stands = 'in list of text';
    } else {
      this.reader.enterObject(this.#what);
      this.#stands = 'in members';
    }
  }
}
