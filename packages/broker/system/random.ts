/**
 * Chance, one file so that nothing else asks the platform for it: a simulation draws from its seed.
 */
import { randomFillSync } from 'node:crypto';
import { uuidV7 } from '@svc/wire';

export interface RandomSource {
  /** 0 <= x < 1. */
  fraction(): number;
  /** A UUIDv7 of the given time. */
  newUuid(nowUs: number): string;
  /** Makes every byte a random one, which nobody can guess. */
  fill(bytes: Uint8Array): void;
}

const WORDS_PER_UUID = 3;
/**
 * The 26 bits after the milliseconds count within a millisecond; they start in the lower quarter.
 */
const COUNTER_START_SPAN = 2 ** 24;
const COUNTER_SHIFT = 64;
const COUNTER_SPAN = 2 ** 26;
/** 256 times 16 bytes, what an encrypted payload needs. */
const POOL_BYTES = 4096;

/**
 * Words are drawn in bulk: one call of the platform serves many ids. Ids rise in the order they are
 * minted, within one millisecond too, so that rows keyed by them stand in the order they were made.
 */
export class SystemRandom implements RandomSource {
  #lastMs = 0;
  #counter = 0;
  readonly #words = new Uint32Array(WORDS_PER_UUID * 256);
  #next = this.#words.length;
  readonly #pool = new Uint8Array(POOL_BYTES);
  #poolNext = POOL_BYTES;

  fraction(): number {
    return Math.random();
  }

  newUuid(nowUs: number): string {
    if (this.#next >= this.#words.length) {
      randomFillSync(this.#words);
      this.#next = 0;
    }
    const at = this.#next;
    this.#next += WORDS_PER_UUID;
    const a = this.#words[at] as number;
    const b = this.#words[at + 1] as number;
    const c = this.#words[at + 2] as number;
    const ms = Math.floor(nowUs / 1000);
    if (ms === this.#lastMs) this.#counter = (this.#counter + 1) % COUNTER_SPAN;
    else this.#counter = a % COUNTER_START_SPAN;
    this.#lastMs = ms;
    return uuidV7(ms, this.#counter * COUNTER_SHIFT + (a >>> 26), b, c);
  }

  fill(bytes: Uint8Array): void {
    if (bytes.length > POOL_BYTES) {
      randomFillSync(bytes);
      return;
    }
    if (this.#poolNext + bytes.length > POOL_BYTES) {
      randomFillSync(this.#pool);
      this.#poolNext = 0;
    }
    bytes.set(this.#pool.subarray(this.#poolNext, this.#poolNext + bytes.length));
    this.#poolNext += bytes.length;
  }
}
