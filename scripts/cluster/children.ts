/**
 * The processes of a cluster: each writes its output to a file, none outlives this program.
 *
 * Each child leads a process group of its own, so that Ctrl-C reaches this program alone, which
 * then stops them in the order it wants. The watchdog ends them when this program could not.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ChildPlan {
  /** As the operator knows it: `node 2`, `balancer`. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** Output is added to it. */
  readonly logFile: string;
  readonly onEnd: (end: ChildEnd) => void;
}

/** How much of a log is looked at for the reason of an end. */
const LOG_TAIL_BYTES = 16 * 1024;

export class Child {
  readonly name: string;
  readonly logFile: string;
  readonly ended: Promise<void>;
  readonly #process: ChildProcess;
  #isRunning = true;

  constructor(plan: ChildPlan, watchdog: Watchdog) {
    this.name = plan.name;
    this.logFile = plan.logFile;
    const log = openSync(plan.logFile, 'a');
    this.#process = spawn(plan.command, plan.args, {
      env: plan.environment,
      stdio: ['ignore', log, log],
      detached: true,
    });
    closeSync(log);
    const { pid } = this.#process;
    if (pid !== undefined) watchdog.watch(pid);
    this.ended = new Promise((resolve) => {
      const end = (what: ChildEnd) => {
        if (!this.#isRunning) return;
        this.#isRunning = false;
        if (pid !== undefined) watchdog.forget(pid);
        plan.onEnd(what);
        resolve();
      };
      this.#process.on('error', () => end({ code: null, signal: null }));
      this.#process.on('exit', (code, signal) => end({ code, signal }));
    });
  }

  /** undefined: it could not be started. */
  get pid(): number | undefined {
    return this.#process.pid;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#isRunning) this.#process.kill(signal);
  }

  /** The line of the log that says why it ended, or its last one. */
  lastWords(): string {
    const lines = tail(this.logFile)
      .split('\n')
      .filter((line) => line.trim() !== '');
    const telling = ['FATAL: ', 'Error: ', '[ALERT]'];
    const found = telling.map((mark) => lines.findLast((line) => line.includes(mark)));
    return found.find((line) => line !== undefined) ?? lines.at(-1) ?? '';
  }
}

function tail(path: string): string {
  const { size } = statSync(path);
  const bytes = Buffer.alloc(Math.min(size, LOG_TAIL_BYTES));
  const file = openSync(path, 'r');
  try {
    readSync(file, bytes, 0, bytes.length, size - bytes.length);
  } finally {
    closeSync(file);
  }
  return bytes.toString('utf8');
}

export class Watchdog {
  readonly #process: ChildProcess;

  constructor() {
    const program = fileURLToPath(new URL('watchdog.js', import.meta.url));
    this.#process = spawn(process.execPath, [program], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    // Gone, it cannot be told anything; this program then still stops its children itself.
    this.#process.stdin?.on('error', () => undefined);
  }

  watch(pid: number): void {
    this.#process.stdin?.write(`+${pid}\n`);
  }

  forget(pid: number): void {
    this.#process.stdin?.write(`-${pid}\n`);
  }

  /** Nothing is left to watch. */
  end(): void {
    this.#process.stdin?.end();
    this.#process.unref();
  }
}

/** Signals it, and kills it when that takes too long. */
export async function end(child: Child, signal: NodeJS.Signals, withinMs: number): Promise<void> {
  if (!child.isRunning) return;
  child.signal(signal);
  const timer = setTimeout(() => child.signal('SIGKILL'), withinMs);
  await child.ended;
  clearTimeout(timer);
}

export function describe({ code, signal }: ChildEnd): string {
  if (signal !== null) return signal;
  return code === null ? 'could not be started' : `code ${code}`;
}
