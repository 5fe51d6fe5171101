/**
 * Standard output: lines that stay, and below them, on a terminal, a block that is drawn anew each
 * time. Elsewhere the block is not shown.
 */

const ERASE_LINE_END = '\x1b[K';
const ERASE_BELOW = '\x1b[J';

export class Screen {
  readonly #output: NodeJS.WriteStream;
  #block: readonly string[] = [];

  constructor(output: NodeJS.WriteStream) {
    this.#output = output;
  }

  get isTerminal(): boolean {
    return this.#output.isTTY;
  }

  say(line: string): void {
    const block = this.#block;
    this.#output.write(`${this.#above()}${line}\n`);
    this.#block = [];
    this.draw(block);
  }

  draw(block: readonly string[]): void {
    if (!this.isTerminal) return;
    // A line that wraps would make the block higher than it counts. 0: the terminal does not say.
    const { columns } = this.#output;
    const shown = columns > 0 ? block.map((line) => line.slice(0, columns - 1)) : block;
    const text = shown.map((line) => `${line}${ERASE_LINE_END}\n`).join('');
    this.#output.write(this.#above() + text);
    this.#block = shown;
  }

  /** To where the block begins, with nothing below. */
  #above(): string {
    const { length } = this.#block;
    return length === 0 ? '' : `\x1b[${length}A\r${ERASE_BELOW}`;
  }
}
