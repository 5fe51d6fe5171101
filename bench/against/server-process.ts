// A peer's server as a child process: started in a directory of its own, ready when its port takes
// connections, stopped by its pid.

import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Scratch } from '../rig/scratch.js';

export interface ServerPlan {
  readonly program: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** The user that the process runs as; null: the user of this process. */
  readonly user: { readonly uid: number; readonly gid: number } | null;
  readonly port: number;
  readonly logFile: string;
  /** The signal at which it ends without leaving anything running. */
  readonly endSignal: NodeJS.Signals;
}

const READY_MS_MAX = 120_000;
const END_MS_MAX = 20_000;
const POLL_MS = 20;
const LOG_TAIL_CHARACTERS = 2000;

export class ServerProcess {
  readonly plan: ServerPlan;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #failure: Error | null = null;

  private constructor(plan: ServerPlan, scratch: Scratch) {
    this.plan = plan;
    const log = openSync(plan.logFile, 'a');
    this.#child = spawn(plan.program, plan.arguments, {
      stdio: ['ignore', log, log],
      env: { ...process.env, ...plan.environment },
      ...(plan.user ?? {}),
    });
    closeSync(log);
    scratch.adopt(this.#child, plan.endSignal);
    this.#ended = new Promise((resolve) => {
      this.#child.once('exit', () => resolve());
      this.#child.once('error', (error) => {
        this.#failure = error;
        resolve();
      });
    });
  }

  /** Resolves when it is ready; throws with the end of its log when it is not. */
  static async start(plan: ServerPlan, scratch: Scratch): Promise<ServerProcess> {
    const server = new ServerProcess(plan, scratch);
    const untilMs = performance.now() + READY_MS_MAX;
    while (!(await takesConnections(plan.port))) {
      if (server.#failure !== null) throw server.#failure;
      if (server.#child.exitCode !== null || server.#child.signalCode !== null) {
        throw new Error(`${plan.program} ended before it was ready\n${server.log(true)}`);
      }
      if (performance.now() > untilMs) {
        await server.stop();
        throw new Error(`${plan.program} was not ready in ${READY_MS_MAX} ms\n${server.log(true)}`);
      }
      await sleep(POLL_MS);
    }
    return server;
  }

  get pid(): number {
    const { pid } = this.#child;
    if (pid === undefined) throw new Error(`${this.plan.program} did not start`);
    return pid;
  }

  log(tail = false): string {
    const text = readFileSync(this.plan.logFile, 'utf8');
    return tail ? text.slice(-LOG_TAIL_CHARACTERS) : text;
  }

  async stop(): Promise<void> {
    this.#child.kill(this.plan.endSignal);
    const late = sleep(END_MS_MAX, 'late' as const, { ref: false });
    if ((await Promise.race([this.#ended, late])) === 'late') {
      this.#child.kill('SIGKILL');
      await this.#ended;
    }
  }
}

function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}
