/** Reading one command of a scenario, word by word. */

/** The script itself is wrong: a misspelt command, a node that does not exist. */
export class ScriptError extends Error {
  readonly code = 'scenario_script';
}

export class Words {
  readonly #words: readonly string[];
  #place = 0;

  constructor(command: string) {
    this.#words = command.split(/\s+/).filter((word) => word !== '');
  }

  get ended(): boolean {
    return this.#place >= this.#words.length;
  }

  /** The next word, which stays. */
  get upcoming(): string {
    return this.#words[this.#place] ?? '';
  }

  take(): string {
    if (this.ended) throw new ScriptError('a word is missing at the end');
    const word = this.upcoming;
    this.#place++;
    return word;
  }

  /** Takes the next word if it is this one. */
  taken(word: string): boolean {
    if (this.upcoming !== word) return false;
    this.#place++;
    return true;
  }

  number(): number {
    const word = this.take();
    if (!isNumber(word)) throw new ScriptError(`"${word}" is not a number`);
    return Number(word);
  }

  /** As many numbers as follow each other here. */
  numbers(): readonly number[] {
    const found: number[] = [];
    while (isNumber(this.upcoming)) found.push(this.number());
    return found;
  }

  /** Everything that is left. */
  rest(): readonly string[] {
    const words = this.#words.slice(this.#place);
    this.#place = this.#words.length;
    return words;
  }

  end(): void {
    if (!this.ended) throw new ScriptError(`"${this.upcoming}" is not understood here`);
  }
}

function isNumber(word: string): boolean {
  return /^-?\d+(\.\d+)?$/.test(word);
}
