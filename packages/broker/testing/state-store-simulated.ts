/** Stores in memory, for tests and the simulator. They outlive the processes that open them. */
import { LOCAL_TABLES } from '@svc/engine';
import { type Backing, DiskError } from '@svc/storage';
import { SimulatedBacking } from '@svc/storage/testing';
import type { StatePlace } from '../directory/state-store.js';

export interface SimulatedPlaceOptions {
  readonly seed: number;
  /** Runs each part of a commit at a time of its choice; without it, `step` of the backing does. */
  readonly defer?: (run: () => void) => void;
  /** Called before and after each change of a name; may throw to end the process there. */
  readonly onChange?: () => void;
}

export class SimulatedPlace implements StatePlace {
  readonly #options: SimulatedPlaceOptions;
  readonly #stores = new Map<string, SimulatedBacking>();
  #opened = 0;

  constructor(options: SimulatedPlaceOptions) {
    this.#options = options;
  }

  /** What stands under the name now, open or not. */
  store(name: string): SimulatedBacking | undefined {
    return this.#stores.get(name);
  }

  names(): readonly string[] {
    return [...this.#stores.keys()];
  }

  open(name: string, _identity: Uint8Array): Backing {
    let store = this.#stores.get(name);
    if (store === undefined) {
      const { seed, defer } = this.#options;
      this.#opened++;
      store = new SimulatedBacking({
        seed: seed + this.#opened,
        localTables: LOCAL_TABLES,
        ...(defer !== undefined && { defer }),
      });
      this.#stores.set(name, store);
    }
    store.verify();
    return store;
  }

  close(_backing: Backing, done: () => void): void {
    done();
  }

  rename(from: string, to: string): void {
    this.#options.onChange?.();
    const store = this.#stores.get(from);
    if (store === undefined) throw new DiskError('ENOENT', 'rename', from, 'no such directory');
    // A directory takes the place of an empty one only, and a store is never empty.
    if (this.#stores.has(to))
      throw new DiskError('ENOTEMPTY', 'rename', from, `${to} is not empty`);
    this.#stores.delete(from);
    this.#stores.set(to, store);
    this.#options.onChange?.();
  }

  remove(name: string): void {
    this.#options.onChange?.();
    this.#stores.delete(name);
    this.#options.onChange?.();
  }

  pathOf(name: string): string {
    return name;
  }

  /** Every store goes back to what was durable. */
  crash(): void {
    for (const store of this.#stores.values()) store.crash();
  }
}
