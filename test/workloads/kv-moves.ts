/**
 * What clients of the key/value store do next, in the simulator and on real processes alike: on
 * single keys they read, write, compare and set, create, remove, and count within bounds; and they
 * write several keys together, now and then only if each is at the version that was read, be it
 * a while ago.
 *
 * All values differ, so that a value tells who wrote it.
 */
import type { KvAction, KvAnswer, KvRead, KvWrite } from '../checkers/kv-history.js';
import type { SeededRandom } from '../seeded-random.js';

const COUNTER = 'counter';
const SINGLE_KEYS = ['r0', 'r1', 'r2', COUNTER];
const BATCH_KEYS = ['b0', 'b1', 'b2', 'b3'];
const COUNTER_MAX = 5;

/** One operation of a call on single keys. */
export interface KvMove {
  readonly key: string;
  readonly action: KvAction;
}

export class KvMoves {
  readonly #random: SeededRandom;
  /** By key, the last version that anybody saw, as clients compare with. */
  readonly #seen = new Map<string, number>();
  #olderReads: readonly KvRead[] = [];
  #values = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** One call; no key twice. */
  singles(onlyReads: boolean): readonly KvMove[] {
    const random = this.#random;
    const keys = random.shuffled(SINGLE_KEYS).slice(0, random.chance(0.2) ? 2 : 1);
    return keys.map((key) => ({ key, action: onlyReads ? { op: 'get' } : this.#actionOn(key) }));
  }

  saw(key: string, { version }: KvAnswer): void {
    if (version > 0) this.#seen.set(key, version);
  }

  /** Keys to read together. */
  keys(): readonly string[] {
    const random = this.#random;
    return random.shuffled(BATCH_KEYS).slice(0, random.between(2, 4));
  }

  /** What to write together after reading; nothing now and then. */
  writes(reads: readonly KvRead[] | null): readonly KvWrite[] {
    const random = this.#random;
    if (random.chance(0.3)) return [];
    const older = this.#olderReads;
    if (reads !== null && random.chance(0.3)) this.#olderReads = reads;
    const compared = random.chance(0.5) ? random.pick([reads ?? [], reads ?? [], older]) : [];
    const keys = random.shuffled(BATCH_KEYS).slice(0, random.between(2, 3));
    return keys.map((key) => {
      const expect = compared.find((read) => read.key === key)?.version ?? null;
      return { key, value: this.#newValue(), expect };
    });
  }

  /** Keys that a call reads after what it has written; usually none. */
  keysAfter(): readonly string[] {
    return this.#random.chance(0.3) ? this.keys() : [];
  }

  #newValue(): string {
    return `"v${this.#values++}"`;
  }

  #actionOn(key: string): KvAction {
    const random = this.#random;
    if (key === COUNTER) {
      if (random.chance(0.2)) return { op: 'get' };
      return { op: 'incr', delta: random.pick([1, 1, 2, -1, -3]), min: 0, max: COUNTER_MAX };
    }
    const kind = random.next();
    const seen = this.#seen.get(key) ?? 0;
    if (kind < 0.3) return { op: 'get' };
    if (kind < 0.5) return { op: 'put', value: this.#newValue(), expect: null };
    if (kind < 0.65) return { op: 'put', value: this.#newValue(), expect: 0 };
    if (kind < 0.85) return { op: 'put', value: this.#newValue(), expect: seen };
    return { op: 'delete', expect: random.chance(0.5) ? seen : null };
  }
}
