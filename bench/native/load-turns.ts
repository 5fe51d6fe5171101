// One load that has its turns when it is told to, and leaves the server alone in between, so that
// several systems can have theirs beside each other. All of them meet the same connections and the
// same queue.

import type { Writable } from 'node:stream';
import { type LoadResult, readResult } from './load-result.js';

export interface LoadWindow {
  readonly seconds: number;
  readonly warmUpSeconds: number;
}

export interface RunningLoad {
  readonly input: Writable;
  /** Rejects as soon as the program has ended badly. */
  readonly ended: Promise<void>;
}

export class LoadTurns {
  readonly #program: RunningLoad;
  #took: (line: string) => void = () => undefined;

  constructor(begin: (took: (line: string) => void) => RunningLoad) {
    this.#program = begin((line) => this.#took(line));
    // Told by whatever is awaited next.
    this.#program.ended.catch(() => undefined);
  }

  /** All connections stand. */
  async ready(): Promise<void> {
    await this.#lineWith('ready');
  }

  /** A window; without a warm-up all that these seconds send, until the last of it is done. */
  async turn({ warmUpSeconds, seconds }: LoadWindow): Promise<LoadResult> {
    this.#program.input.write(`${warmUpSeconds} ${seconds}\n`);
    return readResult(await this.#lineWith('{'));
  }

  async close(): Promise<void> {
    this.#program.input.end();
    await this.#program.ended;
  }

  #lineWith(beginning: string): Promise<string> {
    const line = new Promise<string>((resolve) => {
      this.#took = (one) => {
        if (one.startsWith(beginning)) resolve(one);
      };
    });
    const ended = this.#program.ended.then((): never => {
      throw new Error(`the load program ended before its line ${beginning}`);
    });
    return Promise.race([line, ended]);
  }
}
