/**
 * The public keys that an identity provider publishes (`JWT_JWKS_URL`).
 *
 * Fetched at the start and then every refresh interval; a key id that is not among them is looked
 * for by one more fetch, at most once in five seconds over all requests. Keys that could not be
 * fetched anew stay in use: a provider that is down for an hour stops new keys and nobody else. A
 * node whose first fetch fails starts all the same, tries again every five seconds, and meanwhile
 * answers that it cannot tell; a cluster that restarts must not need its provider to be up first.
 *
 * What a set may cost is bounded: bytes and keys of an answer, and requests that wait for one.
 * Symmetric keys in a set are never used, nor private ones, nor RSA below 2,048 bits.
 */
import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { createLocalJWKSet, errors, type JWSHeaderParameters } from 'jose';
import type { Cancel, Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';
import { type FetchText, KeySetError } from './key-fetch.js';
import { KeysUnavailableError, type VerificationKey } from './keys.js';

export interface TokenKeySetOptions {
  readonly url: string;
  readonly timeoutMs: number;
  readonly refreshMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly fetchText: FetchText;
}

/** Between two fetches, whoever asks for them. */
export const FETCH_PAUSE_MS = 5000;
/** After a fetch that failed, while earlier keys are in use. */
const RETRY_MS = 60_000;
/**
 * A provider has a handful of keys; some hundred are room for one with a key for each tenant. To
 * look at one takes 50 us, at all of them 13 ms.
 */
const KEYS_MAX = 256;
/** Requests that wait for a fetch, each with at most one read of its body; others are refused. */
const WAITING_MAX = 256;

type LocalSet = ReturnType<typeof createLocalJWKSet>;

export class TokenKeySet {
  readonly #options: TokenKeySetOptions;
  readonly #onChange: () => void;
  /** null until the first fetch has succeeded. */
  #keys: LocalSet | null = null;
  #text = '';
  #fetching: Promise<void> | null = null;
  #fetchedMs = Number.NEGATIVE_INFINITY;
  #lastError = '';
  #waiting = 0;
  #cancel: Cancel = () => {};
  #closed = false;

  /** `onChange` runs when the set is another than before: a key may have been withdrawn. */
  constructor(options: TokenKeySetOptions, onChange: () => void) {
    this.#options = options;
    this.#onChange = onChange;
    this.#fetch();
  }

  close(): void {
    this.#closed = true;
    this.#cancel();
  }

  /** Rejects with an error of `jose` when there is no such key, or with `KeysUnavailableError`. */
  async keyFor(header: JWSHeaderParameters): Promise<VerificationKey> {
    if (this.#keys !== null) {
      try {
        return await this.#keys(header);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey) || !this.#mayFetch()) throw error;
      }
    }
    await this.#fetched();
    if (this.#keys === null) {
      throw new KeysUnavailableError('the keys of JWT_JWKS_URL could not be fetched yet; retry');
    }
    return await this.#keys(header);
  }

  #mayFetch(): boolean {
    const sinceMs = this.#options.clock.nowMs() - this.#fetchedMs;
    return this.#fetching !== null || sinceMs >= FETCH_PAUSE_MS;
  }

  /** Waits for the fetch that is under way, or for a new one if it is time for one. */
  async #fetched(): Promise<void> {
    if (!this.#mayFetch()) return;
    if (this.#waiting >= WAITING_MAX) {
      throw new KeysUnavailableError('too many requests wait for the keys of JWT_JWKS_URL; retry');
    }
    this.#waiting++;
    try {
      await (this.#fetching ?? this.#fetch());
    } finally {
      this.#waiting--;
    }
  }

  /** Never rejects. */
  #fetch(): Promise<void> {
    const { url, timeoutMs, clock, fetchText } = this.#options;
    this.#cancel();
    this.#fetchedMs = clock.nowMs();
    const fetching = fetchText(url, timeoutMs)
      .then((text) => this.#take(text))
      .catch((error: unknown) => this.#failed(describe(error)))
      .finally(() => {
        this.#fetching = null;
        if (this.#closed) return;
        this.#cancel = clock.after(this.#pauseMs(), () => this.#fetch());
      });
    this.#fetching = fetching;
    return fetching;
  }

  /** A failure is not waited out for a whole interval: a key may have been withdrawn since. */
  #pauseMs(): number {
    const { refreshMs } = this.#options;
    if (this.#keys === null) return FETCH_PAUSE_MS;
    return this.#lastError === '' ? refreshMs : Math.min(refreshMs, RETRY_MS);
  }

  #take(text: string): void {
    const { logger } = this.#options;
    if (this.#keys !== null && text === this.#text) {
      this.#recovered();
      return;
    }
    const { keys, left } = readKeySet(text);
    this.#keys = createLocalJWKSet({ keys: [...keys] });
    this.#text = text;
    this.#lastError = '';
    this.#onChange();
    logger.info('auth', `keys of JWT_JWKS_URL: ${keys.length} in use, ${left} left out`);
  }

  #recovered(): void {
    if (this.#lastError === '') return;
    this.#lastError = '';
    this.#options.logger.info('auth', 'keys of JWT_JWKS_URL: fetched again, as before');
  }

  /** The same failure again and again is told once. */
  #failed(error: string): void {
    if (error === this.#lastError) return;
    this.#lastError = error;
    const meanwhile =
      this.#keys === null
        ? 'no token can be checked until they are'
        : 'the keys that were fetched before stay in use';
    this.#options.logger.warn(
      'auth',
      `keys of JWT_JWKS_URL could not be fetched (${error}): ${meanwhile}`,
    );
  }
}

interface ReadKeySet {
  readonly keys: readonly UsableKey[];
  /** How many were of no use: another type, malformed, too short, not for signatures. */
  readonly left: number;
}

/** As `jose` takes it. */
type UsableKey = JsonWebKey & { readonly kty: string };

/** Throws `KeySetError` for what is not a key set at all. */
export function readKeySet(text: string): ReadKeySet {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new KeySetError(`the answer is not JSON: ${describe(error)}`);
  }
  const all = isRecord(parsed) && Array.isArray(parsed.keys) ? (parsed.keys as unknown[]) : null;
  if (all === null) throw new KeySetError('the answer is not a key set: it has no array `keys`');
  if (all.length > KEYS_MAX) throw new KeySetError(`it has more than ${KEYS_MAX} keys`);
  const keys = all.map(usableKey).filter((key) => key !== null);
  return { keys, left: all.length - keys.length };
}

const RSA_BITS_MIN = 2048;

/**
 * What a signature is checked with, and nothing else of what stands there: an import that fails
 * must fail here, and not with each token that names the key. null: of no use.
 */
function usableKey(given: unknown): UsableKey | null {
  if (!isRecord(given) || 'd' in given) return null;
  const { kty, crv, kid, alg, use, key_ops: operations, n, e, x } = given;
  if (use !== undefined && use !== 'sig') return null;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) {
    return null;
  }
  const named = {
    ...(typeof kid === 'string' ? { kid } : {}),
    ...(typeof alg === 'string' ? { alg } : {}),
  };
  if (kty === 'RSA' && typeof n === 'string' && typeof e === 'string') {
    return importable({ ...named, kty, n, e });
  }
  if (kty === 'OKP' && crv === 'Ed25519' && typeof x === 'string') {
    return importable({ ...named, kty, crv, x });
  }
  return null;
}

function importable(jwk: UsableKey): UsableKey | null {
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key: jwk, format: 'jwk' });
    const { modulusLength = RSA_BITS_MIN } = asymmetricKeyDetails ?? {};
    return modulusLength >= RSA_BITS_MIN ? jwk : null;
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
