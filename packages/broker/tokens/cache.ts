/**
 * What was found out about tokens, by token, so that a caller's second request costs one look-up
 * instead of a check of a signature.
 *
 * Two generations: what is used moves into the younger; when that is full the elder is dropped. So
 * the bounds hold without a list of uses that every hit would have to change, and a token in use
 * is never dropped before it was unused for a whole generation.
 *
 * Entries are found by the end of the token, and are only taken for a token that is the same to the
 * last letter. The end is of the signature, so two tokens that share it are one token or a forgery;
 * and to hash 32 letters instead of a thousand makes a hit three times as fast.
 *
 * Only tokens whose signature was good are ever put in: whoever has no key cannot push others out.
 */

/** Entries of both generations: a service of ten thousand callers fits. */
const ENTRIES_MAX = 16_384;
/** Letters of the tokens of both generations: sixteen thousand of ordinary length, 1 KiB. */
const LETTERS_MAX = 16 * 1024 * 1024;
/** Characters of base64url: 192 bits of a signature. */
const END_LETTERS = 32;

interface Entry<Value> {
  readonly token: string;
  readonly value: Value;
}

export class TokenCache<Value> {
  readonly #entriesMax: number;
  readonly #lettersMax: number;
  #young = new Map<string, Entry<Value>>();
  #elder = new Map<string, Entry<Value>>();
  #youngLetters = 0;
  #elderLetters = 0;

  constructor(entriesMax = ENTRIES_MAX, lettersMax = LETTERS_MAX) {
    this.#entriesMax = entriesMax;
    this.#lettersMax = lettersMax;
  }

  get size(): number {
    return this.#young.size + this.#elder.size;
  }

  get letters(): number {
    return this.#youngLetters + this.#elderLetters;
  }

  get(token: string): Value | undefined {
    const end = token.slice(-END_LETTERS);
    const young = this.#young.get(end);
    if (young !== undefined) return young.token === token ? young.value : undefined;
    const elder = this.#elder.get(end);
    if (elder === undefined || elder.token !== token) return undefined;
    this.add(token, elder.value);
    return elder.value;
  }

  add(token: string, value: Value): void {
    const end = token.slice(-END_LETTERS);
    this.#youngLetters -= forget(this.#young, end);
    this.#elderLetters -= forget(this.#elder, end);
    if (
      this.#young.size >= this.#entriesMax / 2 ||
      this.#youngLetters + token.length > this.#lettersMax / 2
    ) {
      this.#elder = this.#young;
      this.#elderLetters = this.#youngLetters;
      this.#young = new Map();
      this.#youngLetters = 0;
    }
    this.#young.set(end, { token, value });
    this.#youngLetters += token.length;
  }

  clear(): void {
    this.#young.clear();
    this.#elder.clear();
    this.#youngLetters = 0;
    this.#elderLetters = 0;
  }
}

/** The letters that are free for it. */
function forget(generation: Map<string, Entry<unknown>>, end: string): number {
  const entry = generation.get(end);
  if (entry === undefined) return 0;
  generation.delete(end);
  return entry.token.length;
}
