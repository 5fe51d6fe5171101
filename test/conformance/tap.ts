/**
 * Results as TAP version 14 (https://testanything.org). Written by hand, since it is these lines:
 * the library `tap` brings a runner and 266 packages, of which a list of results needs none.
 */

export type Outcome =
  | { readonly kind: 'met' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'skipped'; readonly reason: string };

export class TapWriter {
  readonly #write: (text: string) => void;
  #number = 0;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  plan(count: number): void {
    this.#write(`TAP version 14\n1..${count}\n`);
  }

  result(name: string, outcome: Outcome): void {
    this.#number++;
    const point = `${this.#number} - ${escaped(name)}`;
    if (outcome.kind === 'met') this.#write(`ok ${point}\n`);
    else if (outcome.kind === 'skipped')
      this.#write(`ok ${point} # SKIP ${escaped(outcome.reason)}\n`);
    else this.#write(`not ok ${point}\n${diagnostic(outcome.message)}`);
  }

  comment(text: string): void {
    this.#write(`# ${line(text)}\n`);
  }

  bailOut(reason: string): void {
    this.#write(`Bail out! ${line(reason)}\n`);
  }
}

/** A block of YAML. */
function diagnostic(message: string): string {
  const lines = message.split('\n').map((one) => `    ${line(one)}\n`);
  return `  ---\n  message: |2-\n${lines.join('')}  ...\n`;
}

/** `#` would begin a directive. */
function escaped(text: string): string {
  return line(text).replace(/[\\#]/g, '\\$&');
}

/** One line, of characters that a terminal shows and YAML allows. */
function line(text: string): string {
  return text.replace(/\p{Cc}|\p{Cs}|\u2028|\u2029|\ufeff/gu, '\ufffd');
}
