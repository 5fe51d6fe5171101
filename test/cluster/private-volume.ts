/**
 * A volume of a few MiB for the data of one node, so that its disk can be filled without filling
 * the machine's: memory, mounted in a mount namespace of its own, which one sleeping process keeps.
 * It is gone with that process, and nothing outside ever saw it. Programs enter it by the launcher
 * below.
 *
 * Needs the right to mount (Linux, root). Where that is missing, `volumesWork` says why.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { endWithThisProcess, sleep, temporaryDirectory } from '../process/node-under-test.js';

const READY_MS_MAX = 5000;
/** Longer than any test; a forgotten volume ends by itself. */
const HOLD_SECONDS = 24 * 3600;

export class PrivateVolume {
  readonly path: string;
  readonly #holder: ChildProcess;

  constructor(path: string, holder: ChildProcess) {
    this.path = path;
    this.#holder = holder;
  }

  /** Runs a program inside, as the same process. */
  get launcher(): readonly string[] {
    return ['nsenter', '-t', `${this.#holder.pid}`, '-m'];
  }

  /** Where programs outside reach it, through the process that keeps it. */
  get outsidePath(): string {
    return `/proc/${this.#holder.pid}/root${this.path}`;
  }

  freeBytes(): number {
    const [, line = ''] = this.#inside(`df -B1 --output=avail ${this.path}`).trim().split('\n');
    return Number(line);
  }

  /** Takes all the space that is left but `leaveBytes`. */
  fill(leaveBytes: number): void {
    const count = Math.max(0, this.freeBytes() - leaveBytes);
    this.#inside(`head -c ${count} /dev/zero >> ${this.#filler} || true`);
  }

  exists(name: string): boolean {
    return this.#inside(`ls ${this.path}/${name} 2>&1 || true`).trim() === `${this.path}/${name}`;
  }

  /** Gives it back. */
  free(): void {
    this.#inside(`rm -f ${this.#filler}`);
  }

  /** Removes what the node stored. */
  wipe(): void {
    this.#inside(`rm -rf ${this.path}/*`);
  }

  async close(): Promise<void> {
    const gone = new Promise((resolve) => {
      this.#holder.once('close', resolve);
    });
    this.#holder.kill('SIGKILL');
    await gone;
  }

  get #filler(): string {
    return `${this.path}/filler`;
  }

  #inside(command: string): string {
    const [program = '', ...args] = this.launcher;
    return execFileSync(program, [...args, 'sh', '-c', command], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }
}

/** Throws an Error that says why this machine has none. */
export async function openPrivateVolume(path: string, mib: number): Promise<PrivateVolume> {
  mkdirSync(path, { recursive: true });
  const mount = `mount -t tmpfs -o size=${mib}m none ${path}`;
  const script = `${mount} && echo ready && exec sleep ${HOLD_SECONDS}`;
  const holder = spawn('unshare', ['-m', 'sh', '-c', script], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  endWithThisProcess(holder);
  let output = '';
  let ended = false;
  const take = (chunk: Buffer) => {
    output += chunk.toString();
  };
  holder.stdout.on('data', take);
  holder.stderr.on('data', take);
  holder.once('error', (error) => {
    output += error.message;
    ended = true;
  });
  holder.once('close', () => {
    ended = true;
  });
  const untilMs = performance.now() + READY_MS_MAX;
  while (!ended && performance.now() < untilMs) {
    if (output.includes('ready')) return new PrivateVolume(path, holder);
    await sleep(10);
  }
  holder.kill('SIGKILL');
  throw new Error(`no volume of its own can be mounted here: ${output.trim()}`);
}

/** null: they work here; else why they do not. */
export async function volumesWork(): Promise<string | null> {
  const directory = temporaryDirectory();
  try {
    const volume = await openPrivateVolume(directory.path, 1);
    await volume.close();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    directory.remove();
  }
}
