// The runner's end of the process of an attack.

import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Scratch } from '../rig/scratch.js';
import type { Order, Report } from './attack-messages.js';

const PROGRAM = fileURLToPath(new URL('./attack-program.js', import.meta.url));

export class AttackProcess {
  readonly #child: ChildProcess;
  readonly #say: (line: string) => void;

  constructor(scratch: Scratch, say: (line: string) => void) {
    this.#say = say;
    this.#child = fork(PROGRAM, [], { execArgv: [], stdio: ['ignore', 2, 2, 'ipc'] });
    scratch.adopt(this.#child);
  }

  /** Gives an order and waits until it is carried out; rejects after `msMax`. */
  order(order: Order, msMax: number): Promise<Report> {
    return new Promise((resolve, reject) => {
      const end = (result: Report | Error) => {
        clearTimeout(timer);
        this.#child.off('message', onMessage);
        this.#child.off('exit', onExit);
        if (result instanceof Error) reject(result);
        else resolve(result);
      };
      const timer = setTimeout(
        () => end(new Error(`the attack is not over after ${msMax} ms`)),
        msMax,
      );
      const onMessage = (message: Report) => {
        if (message.kind === 'line') this.#say(message.line);
        else if (message.kind === 'failed') end(new Error(message.error));
        else end(message);
      };
      const onExit = () => end(new Error('the process of the attack ended'));
      this.#child.on('message', onMessage);
      this.#child.once('exit', onExit);
      this.#child.send(order);
    });
  }

  /** Ends the process, and with it all its connections. */
  end(): void {
    this.#child.kill('SIGKILL');
  }
}
