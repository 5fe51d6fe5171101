/** Spool files in a directory. Appends are written to the system at once, and never synced. */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SpoolError, type SpoolFile, type SpoolFiles, spoolNames } from './spool-files.js';

export class DiskSpool implements SpoolFiles {
  readonly #directory: string;

  /** The directory is made with the first file. */
  constructor(directory: string) {
    this.#directory = directory;
  }

  async list(): Promise<readonly string[]> {
    try {
      return spoolNames(await readdir(this.#directory));
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw new SpoolError(`cannot list ${this.#directory}`, error);
    }
  }

  create(name: string): SpoolFile | null {
    const path = join(this.#directory, name);
    try {
      mkdirSync(this.#directory, { recursive: true });
      return new DiskFile(path, openSync(path, 'ax', 0o600));
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return null;
      throw new SpoolError(`cannot make ${path}`, error);
    }
  }

  async read(name: string): Promise<string | null> {
    const path = join(this.#directory, name);
    try {
      return await readFile(path, 'utf8');
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null;
      throw new SpoolError(`cannot read ${path}`, error);
    }
  }

  async remove(name: string): Promise<void> {
    const path = join(this.#directory, name);
    try {
      await rm(path, { force: true });
    } catch (error) {
      throw new SpoolError(`cannot remove ${path}`, error);
    }
  }
}

class DiskFile implements SpoolFile {
  readonly #path: string;
  readonly #descriptor: number;

  constructor(path: string, descriptor: number) {
    this.#path = path;
    this.#descriptor = descriptor;
  }

  append(text: string): void {
    const bytes = Buffer.from(text);
    try {
      let written = 0;
      while (written < bytes.length) written += writeSync(this.#descriptor, bytes, written);
    } catch (error) {
      throw new SpoolError(`cannot write to ${this.#path}`, error);
    }
  }

  close(): void {
    try {
      closeSync(this.#descriptor);
    } catch (error) {
      throw new SpoolError(`cannot close ${this.#path}`, error);
    }
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : null;
}
