// A node as a child process: started on a port and a data directory, ready when /health says so,
// killed or stopped by its own process handle, started again on the same directory.

import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Address } from './http-connection.js';
import type { Scratch } from './scratch.js';

export interface NodePlan {
  readonly entry: string;
  readonly port: number;
  readonly dataDirectory: string;
  /** File that receives what the node prints; its end is shown when the node fails. */
  readonly logFile: string;
  /** Arguments for the runtime, before the entry file. */
  readonly runtimeArguments: readonly string[];
  /** A command that ends by becoming the program given after it, in the same process. */
  readonly launcher?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

const LOOPBACK = '127.0.0.1';
const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;
const HEALTH_POLL_MS = 5;
const LOG_TAIL_CHARACTERS = 2000;

export class NodeProcess {
  readonly plan: NodePlan;
  readonly #scratch: Scratch;
  #child: ChildProcess | null = null;
  #stopping = false;

  constructor(plan: NodePlan, scratch: Scratch) {
    this.plan = plan;
    this.#scratch = scratch;
  }

  get address(): Address {
    return { host: LOOPBACK, port: this.plan.port };
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) {
      throw new Error('the node is not running');
    }
    return pid;
  }

  /** Its process is there; it may still be on its way up. */
  get isRunning(): boolean {
    const child = this.#child;
    return child !== null && child.exitCode === null && child.signalCode === null;
  }

  /** Starts the process; resolves with the milliseconds until /health answered 200. */
  async start(): Promise<number> {
    const startedMs = performance.now();
    const log = openSync(this.plan.logFile, 'a');
    const { entry, port, dataDirectory, runtimeArguments, launcher = [], environment } = this.plan;
    const [program = '', ...args] = [...launcher, process.execPath, ...runtimeArguments, entry];
    const child = spawn(program, args, {
      stdio: ['ignore', log, log],
      env: {
        ...process.env,
        PORT: String(port),
        SVC_BIND_ADDR: LOOPBACK,
        SVC_RAFT_DIR: dataDirectory,
        LOG_LEVEL: 'warn',
        ...environment,
      },
    });
    closeSync(log);
    this.#child = child;
    this.#stopping = false;
    this.#scratch.adopt(child);
    while (!(await answersHealthy(port))) {
      if (child.exitCode !== null || child.signalCode !== null) {
        throw new Error(`the node ended before it was ready\n${this.#logTail()}`);
      }
      if (performance.now() - startedMs > READY_TIMEOUT_MS) {
        throw new Error(`the node was not ready in ${READY_TIMEOUT_MS} ms\n${this.#logTail()}`);
      }
      await sleep(HEALTH_POLL_MS);
    }
    child.once('exit', (code, signal) => {
      if (!this.#stopping) {
        process.stderr.write(`the node ended by itself: ${code ?? signal}\n${this.#logTail()}\n`);
      }
    });
    return performance.now() - startedMs;
  }

  /** SIGKILL: what was not on disk is gone. Resolves when the process has ended. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** SIGTERM: the node drains and ends by itself; throws when it does not. */
  async stop(): Promise<void> {
    const ending = this.#end('SIGTERM');
    const timeout = sleep(STOP_TIMEOUT_MS, 'late' as const, { ref: false });
    if ((await Promise.race([ending, timeout])) === 'late') {
      await this.#end('SIGKILL');
      throw new Error(`the node did not stop within ${STOP_TIMEOUT_MS} ms of SIGTERM`);
    }
  }

  /**
   * In bytes, as the kernel counts them: resident memory, the highest it has been, and the part of
   * it that no file backs (a file that is mapped need not stay).
   */
  memory(): {
    readonly residentBytes: number;
    readonly peakBytes: number;
    readonly anonymousBytes: number;
  } {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    return {
      residentBytes: kiloField(status, 'VmRSS'),
      peakBytes: kiloField(status, 'VmHWM'),
      anonymousBytes: kiloField(status, 'RssAnon'),
    };
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) {
      return;
    }
    this.#stopping = true;
    await new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
      child.kill(signal);
    });
  }

  #logTail(): string {
    // A run that failed may have removed it before the process of the node was gone.
    if (!existsSync(this.plan.logFile)) return '';
    return readFileSync(this.plan.logFile, 'utf8').slice(-LOG_TAIL_CHARACTERS);
  }
}

function kiloField(status: string, name: string): number {
  const match = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status);
  if (match === null) {
    throw new Error(`the kernel shows no ${name} for the node`);
  }
  return Number(match[1]) * 1024;
}

function answersHealthy(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const question = { host: LOOPBACK, port, path: '/health', timeout: 2000, agent: false };
    const request = get(question, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}

/** A port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, LOOPBACK, () => {
      const bound = server.address();
      const port = bound !== null && typeof bound === 'object' ? bound.port : 0;
      server.close(() => resolve(port));
    });
  });
}
