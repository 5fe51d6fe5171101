/**
 * Checks bearer tokens.
 *
 * The job: every request of every caller carries a token, and a check of a signature costs more
 * than all the rest of a small request. It runs in the platform's thread pool, which is the pool
 * that also syncs the log. So what must hold:
 *
 * - A caller is checked once, not once a request: `tokens/cache.ts`. A hit is a look-up by the
 *   token's text and a comparison of the time; the request goes on in the same turn.
 * - Requests with the same new token wait for one check.
 * - No more than CHECKS_MAX checks occupy the pool at a time, whoever floods the node with tokens;
 *   a turn is only taken when the key is there, so that who waits for a key set holds up nobody.
 * - What waits is bounded: PENDING_MAX tokens of TOKEN_BYTES_MAX. Above it requests are refused
 *   with 503, before anything is done for them.
 * - What cannot be a token is refused in its turn, without a promise.
 * - A verdict is remembered until the token expires or the key set changes, never one that
 *   refuses: such a token may be good later, and an attacker has any number of them.
 *
 * Rejected: the synchronous check of `node:crypto`, which needs no bounds, but holds up the loop
 * for 0.1 ms with each bad token, and would put our own parser in a well-kept library's place.
 */
import type { Authenticator, CheckedCaller } from '@svc/http';
import { type JWTVerifyOptions, jwtVerify } from 'jose';
import type { Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';
import { Turns } from '../system/turns.js';
import { TokenCache } from './cache.js';
import { type FetchText, fetchText } from './key-fetch.js';
import { TokenKeySet } from './key-set.js';
import { type KeyMaterial, TokenKeys } from './keys.js';
import {
  BAD_HEADER,
  ClaimReader,
  EXPIRED,
  ISSUED_IN_THE_FUTURE,
  NO_TOKEN,
  OVERLOADED,
  type RoleNames,
  unauthenticatedBy,
} from './unauthenticated.js';

export interface TokenAuthenticatorOptions {
  readonly keys: Omit<KeyMaterial, 'keyFromSet'>;
  /** null: no key set. */
  readonly keySet: {
    readonly url: string;
    readonly timeoutMs: number;
    readonly refreshMs: number;
    /** Instead of the network; for tests. */
    readonly fetchText?: FetchText;
  } | null;
  /** null: not compared. */
  readonly issuer: string | null;
  readonly audience: string | null;
  readonly clockSkewSeconds: number;
  readonly roles: RoleNames;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The native layer takes heads of 4 KiB, and longer ones when they come in one piece. */
export const TOKEN_BYTES_MAX = 8192;
/** Half of the four threads that the platform's pool has by default. */
const CHECKS_MAX = 2;
/** Tokens that wait for their check: 8 MiB of the longest. */
const PENDING_MAX = 1024;

interface Remembered {
  readonly verdict: CheckedCaller;
  /** Seconds since the epoch; Infinity for a token without an end. */
  readonly expiresS: number;
}

export class TokenAuthenticator implements Authenticator {
  readonly #options: TokenAuthenticatorOptions;
  readonly #keySet: TokenKeySet | null;
  readonly #keys: TokenKeys;
  readonly #claims: ClaimReader;
  readonly #verifyOptions: JWTVerifyOptions;
  readonly #cache = new TokenCache<Remembered>();
  readonly #pending = new Map<string, Promise<CheckedCaller>>();
  readonly #turns = new Turns(CHECKS_MAX);
  /** Rises when keys change: what was found out before counts no more. */
  #generation = 0;

  constructor(options: TokenAuthenticatorOptions) {
    const { keySet, clock, logger, issuer, audience, clockSkewSeconds } = options;
    this.#options = options;
    this.#keySet =
      keySet === null || options.keys.publicKey !== null
        ? null
        : new TokenKeySet({ fetchText, ...keySet, clock, logger }, () => this.#forget());
    const keyFromSet = this.#keySet?.keyFor.bind(this.#keySet) ?? null;
    this.#keys = new TokenKeys({ ...options.keys, keyFromSet });
    this.#claims = new ClaimReader(options.roles);
    this.#verifyOptions = {
      algorithms: [...this.#keys.algorithms],
      clockTolerance: clockSkewSeconds,
      ...(issuer === null ? {} : { issuer }),
      ...(audience === null ? {} : { audience }),
    };
    for (const warning of this.#keys.warnings) logger.warn('auth', warning);
  }

  close(): void {
    this.#keySet?.close();
  }

  check(authorization: string): CheckedCaller | Promise<CheckedCaller> {
    const token = tokenOf(authorization);
    const known = this.#cache.get(token);
    if (known !== undefined) return this.#isOver(known.expiresS) ? EXPIRED : known.verdict;
    if (token === '') return NO_TOKEN;
    if (token.length > TOKEN_BYTES_MAX || !TOKEN.test(token)) return BAD_HEADER;
    const pending = this.#pending.get(token);
    if (pending !== undefined) return pending;
    if (this.#pending.size >= PENDING_MAX) return OVERLOADED;
    const verdict = this.#verify(token).finally(() => this.#pending.delete(token));
    this.#pending.set(token, verdict);
    return verdict;
  }

  async #verify(token: string): Promise<CheckedCaller> {
    const generation = this.#generation;
    let keyFound = false;
    let endTurn = (): void => {};
    try {
      const { payload } = await jwtVerify(
        token,
        async (header) => {
          const key = await this.#keys.keyFor(header);
          keyFound = true;
          endTurn = await this.#turns.take();
          return key;
        },
        { ...this.#verifyOptions, currentDate: new Date(this.#nowS() * 1000) },
      );
      const { iat, exp } = payload;
      if (iat !== undefined && iat > this.#nowS() + this.#options.clockSkewSeconds) {
        return ISSUED_IN_THE_FUTURE;
      }
      const verdict = this.#claims.read(payload);
      if (verdict.kind === 'caller' && generation === this.#generation) {
        const remembered = { verdict, expiresS: exp ?? Number.POSITIVE_INFINITY };
        this.#cache.add(token, remembered);
      }
      return verdict;
    } catch (error) {
      return unauthenticatedBy(error, keyFound) ?? this.#bug(error);
    } finally {
      endTurn();
    }
  }

  /** No token is known that brings this about; it lets nobody in. */
  #bug(error: unknown): CheckedCaller {
    this.#options.logger.error('auth', 'a token could not be checked', { error: String(error) });
    return {
      kind: 'unauthenticated',
      status: '500 Internal Server Error',
      error: 'internal error',
    };
  }

  /** The comparison that the first check made, so that a token ends in the same second. */
  #isOver(expiresS: number): boolean {
    return expiresS <= this.#nowS() - this.#options.clockSkewSeconds;
  }

  #nowS(): number {
    return Math.floor(this.#options.clock.wallUs() / 1_000_000);
  }

  #forget(): void {
    this.#generation++;
    this.#cache.clear();
  }
}

/** A token may stand there without the word before it; "" when there is none. */
function tokenOf(authorization: string): string {
  if (authorization.startsWith('Bearer ')) return authorization.slice(7).trim();
  return authorization.replace(/^bearer(?:\s+|$)/i, '').trim();
}

/** The last part is empty where nothing was signed. What is spelled otherwise is no token. */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]*$/;
