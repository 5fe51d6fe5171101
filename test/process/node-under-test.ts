/**
 * A real node as a child process: its own port on 127.0.0.1, its own directory, ended by its pid
 * and never left behind.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout, from `test/process` and from `test/dist/process` alike. */
export const ROOT = findRoot(fileURLToPath(new URL('.', import.meta.url)));
/** What a node runs; `SVC_TEST_ENTRY` puts another build under the same tests. */
const MAIN = process.env.SVC_TEST_ENTRY ?? join(ROOT, 'packages', 'broker', 'dist', 'main.js');

/**
 * `SVC_TEST_HTTP_THREADS` has every node serve its port by so many front threads, but for those of
 * tests that set a number in the environment of their node because it is their subject.
 */
const HTTP_THREADS = process.env.SVC_TEST_HTTP_THREADS;

const HEALTHY_MS_MAX = 20_000;
const EXIT_MS_MAX = 70_000;
const POLL_MS = 20;
/** What a node writes before the end is of interest; more is dropped from the front. */
const OUTPUT_CHARS_MAX = 200_000;

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface NodeSettings {
  readonly directory: string;
  readonly port: number;
  /** The program of another build. */
  readonly entry?: string;
  readonly environment?: Environment;
  /** How many front threads serve the port in a run that does not say; as many as by default. */
  readonly frontThreads?: number;
  /** Gets all that the node writes, after what stands there. */
  readonly logFile?: string;
  /** Arguments of the runtime, before the program. */
  readonly runtimeArguments?: readonly string[];
  /** A command that ends by becoming the program given after it, in the same process. */
  readonly launcher?: readonly string[];
}

/** One life of a node: from its spawn to its exit. */
export class NodeUnderTest {
  readonly port: number;
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;
  #output = '';
  #exit: Exit | null = null;

  constructor(settings: NodeSettings) {
    this.port = settings.port;
    const { directory, entry = MAIN, logFile, runtimeArguments = [], launcher = [] } = settings;
    const [program = '', ...args] = [...launcher, process.execPath, ...runtimeArguments, entry];
    this.#child = spawn(program, args, {
      cwd: directory,
      env: environmentOf(settings),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    endWithThisProcess(this.#child);
    const take = (chunk: Buffer) => {
      if (logFile !== undefined) appendFileSync(logFile, chunk);
      this.#output = (this.#output + chunk.toString('utf8')).slice(-OUTPUT_CHARS_MAX);
    };
    this.#child.stdout?.on('data', take);
    this.#child.stderr?.on('data', take);
    this.exited = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('close', (code, signal) => {
        this.#exit = { code, signal };
        resolve(this.#exit);
      });
    });
  }

  /** Standard output and standard error so far. */
  get output(): string {
    return this.#output;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get exit(): Exit | null {
    return this.#exit;
  }

  /** Resolves when `/health` answers 200; false when the process ended before. */
  async healthy(msMax = HEALTHY_MS_MAX): Promise<boolean> {
    const agent = new Agent({ keepAlive: false });
    const untilMs = performance.now() + msMax;
    while (performance.now() < untilMs) {
      if (this.#exit !== null) return false;
      if ((await statusOf(this.port, agent)) === 200) return true;
      await sleep(POLL_MS);
    }
    throw new Error(`the node is not healthy after ${msMax} ms:\n${this.#output}`);
  }

  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<Exit> {
    return this.signal('SIGKILL');
  }

  /** Sends `signal` and waits for the end of the process, which it forces when that takes long. */
  async signal(signal: NodeJS.Signals, msMax = EXIT_MS_MAX): Promise<Exit> {
    if (this.#exit === null) this.#child.kill(signal);
    return this.ended(msMax);
  }

  /** Sends a signal and does not wait. */
  send(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Waits for the end of the process; after `msMax` it is killed and the wait rejects. */
  async ended(msMax = EXIT_MS_MAX): Promise<Exit> {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      this.#child.kill('SIGKILL');
    }, msMax);
    const exit = await this.exited;
    clearTimeout(timer);
    if (late) throw new Error(`the node did not end within ${msMax} ms:\n${this.#output}`);
    return exit;
  }
}

/** Starts a node and waits until it is healthy. */
export async function startNode(settings: NodeSettings): Promise<NodeUnderTest> {
  const node = new NodeUnderTest(settings);
  if (await node.healthy()) return node;
  throw new Error(`the node ended at its start: ${JSON.stringify(node.exit)}\n${node.output}`);
}

export interface TemporaryDirectory {
  readonly path: string;
  /** Deletes it with all it holds. */
  readonly remove: () => void;
}

/** Below the system's temporary directory. Made in hooks, which run only with their tests. */
export function temporaryDirectory(): TemporaryDirectory {
  const path = mkdtempSync(join(tmpdir(), 'svc-test-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

/** Nothing of this process's own settings reaches the node but what it needs to run. */
function environmentOf(settings: NodeSettings): Environment {
  const { directory, port, environment = {}, frontThreads } = settings;
  const threads = HTTP_THREADS ?? frontThreads;
  return {
    PATH: process.env.PATH ?? '',
    HOSTNAME: 'test-0',
    PORT: `${port}`,
    SVC_BIND_ADDR: '127.0.0.1',
    SVC_RAFT_DIR: join(directory, 'data'),
    // The machine's own disk may be as full as it likes.
    SVC_RAFT_DISK_HIGH_PCT: '99.9',
    SVC_RAFT_DISK_LOW_PCT: '99.8',
    ...(threads === undefined ? {} : { SVC_HTTP_THREADS: `${threads}` }),
    ...environment,
  };
}

const children = new Set<ChildProcess>();
let guarded = false;

/**
 * Kills `child` when this process ends before it. A runner that gives up on a test ends its worker
 * by SIGTERM, which runs no handler of a test.
 */
export function endWithThisProcess(child: ChildProcess): void {
  children.add(child);
  child.once('close', () => children.delete(child));
  if (guarded) return;
  guarded = true;
  const killAll = () => {
    for (const one of children) one.kill('SIGKILL');
  };
  // Before whatever removes their files at that moment.
  process.prependOnceListener('exit', killAll);
  process.once('SIGTERM', () => {
    killAll();
    process.exit(143);
  });
}

function statusOf(port: number, agent: Agent): Promise<number> {
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port, path: '/health', agent, timeout: 2000 });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(0));
    request.on('response', (response) => {
      response.resume();
      response.on('error', () => resolve(0));
      response.on('end', () => resolve(response.statusCode ?? 0));
    });
  });
}

function findRoot(from: string): string {
  for (let at = from; ; at = join(at, '..')) {
    if (existsSync(join(at, 'packages', 'broker'))) return at;
    if (at === join(at, '..')) throw new Error(`no checkout above ${from}`);
  }
}
