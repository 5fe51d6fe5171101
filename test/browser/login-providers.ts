/** Google and GitHub as a login meets them, in a process of their own. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { endWithThisProcess, ROOT } from '../process/node-under-test.js';

/** The account that a provider proves. */
export interface Account {
  readonly email: string;
  readonly isVerified: boolean;
}

export interface Proven {
  readonly google: Account;
  readonly github: Account;
  /** The process ends when GitHub is next asked for a token. */
  readonly isDying?: boolean;
}

/** Where each provider is, as the gateway is told it. */
export interface Addresses {
  readonly google: string;
  readonly github: string;
}

const PROGRAM = join(ROOT, 'test', 'dist', 'browser', 'login-providers-process.js');

export class LoginProviders {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  constructor() {
    this.#child = fork(PROGRAM, { env: { PATH: process.env.PATH ?? '' } });
    this.#exited = once(this.#child, 'exit');
    endWithThisProcess(this.#child);
  }

  /** Resolves when logins that come from now on prove these accounts. */
  async prove(proven: Proven): Promise<Addresses> {
    const answered = once(this.#child, 'message');
    this.#child.send(proven);
    const ended = this.#exited.then(() => Promise.reject(new Error('the providers ended')));
    return (await Promise.race([answered, ended]))[0];
  }

  /** Resolves when the process is gone. */
  async close(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }
}
