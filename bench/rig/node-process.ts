// A node as a child process on a data directory, again and again: ready when /health says so,
// killed or stopped, and started once more. The process itself is that of the tests.

import { readFileSync } from 'node:fs';
import { NodeUnderTest } from '@svc/test';
import type { Address } from './http-connection.js';

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
const READY_MS_MAX = 60_000;
const STOP_MS_MAX = 30_000;
const OUTPUT_TAIL_CHARACTERS = 2000;

export class NodeProcess {
  readonly plan: NodePlan;
  #life: NodeUnderTest | null = null;
  #stopping = false;

  constructor(plan: NodePlan) {
    this.plan = plan;
  }

  get address(): Address {
    return { host: LOOPBACK, port: this.plan.port };
  }

  get pid(): number {
    const pid = this.#life?.pid;
    if (pid === undefined) {
      throw new Error('the node is not running');
    }
    return pid;
  }

  /** Its process is there; it may still be on its way up. */
  get isRunning(): boolean {
    return this.#life !== null && this.#life.exit === null;
  }

  /** Starts the process; resolves with the milliseconds until /health answered 200. */
  async start(): Promise<number> {
    const startedMs = performance.now();
    const { dataDirectory, environment, ...plan } = this.plan;
    const life = new NodeUnderTest({
      ...plan,
      directory: dataDirectory,
      environment: {
        ...process.env,
        PORT: String(plan.port),
        SVC_BIND_ADDR: LOOPBACK,
        SVC_RAFT_DIR: dataDirectory,
        LOG_LEVEL: 'warn',
        ...environment,
      },
    });
    this.#life = life;
    this.#stopping = false;
    const tail = () => life.output.slice(-OUTPUT_TAIL_CHARACTERS);
    if (!(await life.healthy(READY_MS_MAX))) {
      throw new Error(`the node ended before it was ready\n${tail()}`);
    }
    void life.exited.then(({ code, signal }) => {
      if (!this.#stopping) {
        process.stderr.write(`the node ended by itself: ${code ?? signal}\n${tail()}\n`);
      }
    });
    return performance.now() - startedMs;
  }

  /** SIGKILL: what was not on disk is gone. Resolves when the process has ended. */
  async kill(): Promise<void> {
    this.#stopping = true;
    await this.#life?.kill();
  }

  /** SIGTERM: the node drains and ends by itself; throws when it does not. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#life?.signal('SIGTERM', STOP_MS_MAX);
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
}

function kiloField(status: string, name: string): number {
  const match = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status);
  if (match === null) {
    throw new Error(`the kernel shows no ${name} for the node`);
  }
  return Number(match[1]) * 1024;
}
