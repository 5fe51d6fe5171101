/** What a command takes from the process that it runs in, so that tests run commands in theirs. */
import type { CredentialStore } from './credential-store.js';

export interface Output {
  readonly isTerminal: boolean;
  /** Resolves when there is room for more. */
  write(text: string): Promise<void>;
}

export interface Input {
  readonly isTerminal: boolean;
  /** The parts of a stream of UTF-8. */
  parts(): AsyncIterable<string>;
}

export interface World {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly homeFolder: string;
  readonly input: Input;
  readonly output: Output;
  readonly errors: Output;
  readonly credentials: CredentialStore;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  nowMs(): number;
  /** Asks at the terminal; `hidden` answers are not shown while they are typed. */
  ask(question: string, hidden?: boolean): Promise<string>;
  /** Shows a page in the user's browser; false: there is none. */
  browse(url: string): Promise<boolean>;
}
