// Owns what a run leaves on the machine: directories and child processes. Both are gone after
// `close`, and also when the process ends in any other way that lets it run code: an uncaught
// error, process.exit, Ctrl-C, SIGTERM, SIGHUP.
//
// Directories lie below `data/` of the checkout and not in the system's temporary folder, which
// may be memory: a log that is synced to memory measures nothing.

import type { ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { checkoutRoot } from './checkout.js';

const ENDING_SIGNALS = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const;

export class Scratch {
  readonly #parent: string;
  readonly #directories = new Set<string>();
  readonly #children = new Map<ChildProcess, NodeJS.Signals>();
  readonly #onExit = (): void => this.#removeAll();

  constructor(parent = join(checkoutRoot(), 'data')) {
    this.#parent = parent;
    process.on('exit', this.#onExit);
  }

  /** Makes the ending signals run the removal; for programs, not for tests. */
  endOnSignals(): void {
    for (const [signal, exitCode] of ENDING_SIGNALS) {
      process.once(signal, () => process.exit(exitCode));
    }
  }

  /** A new empty directory that is removed at the end. */
  directory(label: string): string {
    mkdirSync(this.#parent, { recursive: true });
    const path = mkdtempSync(join(this.#parent, `${label}-`));
    this.#directories.add(path);
    return path;
  }

  /** Removes a directory before the end, to give its space back. */
  remove(path: string): void {
    this.#directories.delete(path);
    rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  }

  /**
   * A child that is ended at the end if it is still there: by SIGKILL, or by the signal at which it
   * takes along what the kernel would keep (its own children, shared memory).
   */
  adopt(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): void {
    this.#children.set(child, signal);
    child.once('exit', () => this.#children.delete(child));
  }

  close(): void {
    process.off('exit', this.#onExit);
    this.#removeAll();
  }

  #removeAll(): void {
    for (const [child, signal] of this.#children) {
      child.kill(signal);
    }
    for (const path of this.#directories) {
      this.remove(path);
    }
    try {
      if (readdirSync(this.#parent).length === 0) {
        rmdirSync(this.#parent);
      }
    } catch (error) {
      // Another run may have added or removed something in between; its folder is its own affair.
      if (!isFileSystemError(error)) {
        throw error;
      }
    }
  }
}

function isFileSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
