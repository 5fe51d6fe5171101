/** The stores of a data directory: each an LMDB file in a directory of its own. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { LOCAL_TABLES } from '@svc/engine';
import { type Backing, type Disk, openLmdb } from '@svc/storage';
import type { StatePlace } from './state-store.js';

export interface LmdbPlaceOptions {
  readonly disk: Disk;
  /** The data directory. */
  readonly directory: string;
  readonly mapBytes: number;
  /** Told of what takes long. */
  readonly report: (text: string) => void;
  /** Called before and after each change of a name; may throw to end the process there. */
  readonly onChange?: () => void;
}

export class LmdbPlace implements StatePlace {
  readonly #options: LmdbPlaceOptions;

  constructor(options: LmdbPlaceOptions) {
    this.#options = options;
  }

  names(): readonly string[] {
    return readdirSync(this.#options.directory, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && /^state(\.|$)/.test(entry.name))
      .map((entry) => entry.name);
  }

  open(name: string, identity: Uint8Array): Backing {
    const { disk, mapBytes, report } = this.#options;
    const directory = this.pathOf(name);
    return openLmdb({ disk, directory, identity, localTables: LOCAL_TABLES, mapBytes, report });
  }

  close(backing: Backing, done: () => void): void {
    void backing.close().then(done);
  }

  rename(from: string, to: string): void {
    this.#change(() => this.#options.disk.renameSync(this.pathOf(from), this.pathOf(to)));
  }

  remove(name: string): void {
    this.#change(() => rmSync(this.pathOf(name), { recursive: true, force: true }));
  }

  #change(run: () => void): void {
    const { disk, directory, onChange } = this.#options;
    onChange?.();
    run();
    disk.syncDirectorySync(directory);
    onChange?.();
  }

  pathOf(name: string): string {
    return join(this.#options.directory, name);
  }
}
