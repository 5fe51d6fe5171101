/**
 * The knowledge of a gateway, and how it stays true: the records, what is cached of them, the
 * watch on invalidations of other nodes, and the uses of keys on their way to the store.
 *
 * `boot` writes what has to be there first. It goes on until the store answers, which may be long
 * after the node has begun to serve: a cluster that restarts has no leader for a while, and until
 * then requests are 503. All nodes of a cluster boot from the same environment at the same time.
 */
import { emailOf } from '@svc/wire';
import { SCOPES } from '../base/access.js';
import type { Cancel, Clock } from '../base/clock.js';
import type { Logger } from '../base/logger.js';
import type { Random } from '../base/random.js';
import { hashOfKey, newApiKey } from '../credentials/api-key.js';
import { Credentials } from '../credentials/credentials.js';
import { Epochs } from '../credentials/epochs.js';
import { Invalidation } from '../credentials/invalidation.js';
import type { Passwords } from '../credentials/passwords.js';
import type { SessionTokens } from '../credentials/session-tokens.js';
import { changeTurns, isRefused, type Records, SYSTEM } from '../records/batch.js';
import { bootstrap } from '../records/bootstrap.js';
import { registerKey } from '../records/keys.js';
import { seed } from '../records/seed.js';
import { sweepRevoked } from '../records/sessions.js';
import { setOperators } from '../records/users.js';
import { type KeyValueStore, StoreUnavailableError } from '../store/kv.js';

export interface StateOptions {
  readonly store: KeyValueStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly tokens: SessionTokens;
  readonly passwords: Passwords;
  /** `SVC_PROXY_STALE_GRACE_MS` */
  readonly graceMs: number;
  /** `SVC_PROXY_REVOCATION_STRICT` */
  readonly isStrict: boolean;
  /** `SVC_PROXY_REVOCATION_SWEEP_MS`; 0: never. */
  readonly sweepMs: number;
  /** `SVC_PROXY_INVAL_POLL_MS` */
  readonly pollMs: number;
}

export interface BootSettings {
  /** `SVC_PROXY_OPERATORS`; null: who is one stays so. */
  readonly operators: readonly string[] | null;
  readonly bootstrap: BootstrapSettings | null;
}

/** `SVC_PROXY_BOOTSTRAP_*` (gateway 9), checked and in the spelling of records. */
export interface BootstrapSettings {
  readonly tenant: string;
  readonly email: string;
  readonly password: string | null;
  readonly plan: string;
  /** A key that is known beforehand; null: only the one that is made. */
  readonly apiKey: string | null;
}

const TARGET = 'gateway';
const USES_FLUSH_MS = 300_000;
const RETRY_MS = 200;
const RETRY_MS_MAX = 5_000;
const BOOTSTRAP_KEY_NAME = 'bootstrap';
const GIVEN_KEY_NAME = 'bootstrap (env)';

export class GatewayState {
  readonly records: Records;
  readonly credentials: Credentials;
  readonly #options: StateOptions;
  readonly #invalidation: Invalidation;
  #isOpen = true;
  #cancelFlush: Cancel = () => {};
  #cancelSweep: Cancel = () => {};
  #cancelRetry: Cancel = () => {};

  constructor(options: StateOptions) {
    const { store, clock, random, logger, tokens, graceMs, isStrict, pollMs } = options;
    const epochs = new Epochs();
    const onInvalidated = (owner: string) => epochs.mark(owner);
    this.#options = options;
    this.records = { store, clock, random, turns: changeTurns(), onInvalidated };
    this.credentials = new Credentials({
      records: this.records,
      clock,
      tokens,
      epochs,
      graceMs,
      isStrict,
    });
    const onError = (error: unknown) => {
      logger.error(TARGET, 'invalidations cannot be read', { error: String(error) });
    };
    this.#invalidation = new Invalidation({ store, clock, epochs, pollMs, onError });
  }

  /** Begins to watch and to write; `boot` beside it. */
  start(): void {
    this.#invalidation.start();
    this.#flushLater();
    if (this.#options.sweepMs > 0) this.#sweepLater();
  }

  /** Writes the uses of keys that were not written yet, and rests. */
  async close(): Promise<void> {
    this.#isOpen = false;
    this.#invalidation.stop();
    this.#cancelFlush();
    this.#cancelSweep();
    this.#cancelRetry();
    await this.#flush();
  }

  /**
   * Seeds, and makes the tenant that the environment names. Where the environment gives no key, the
   * one that is made is logged, once, by the node that made it. Resolves when all is there, or the
   * gateway closes. Rejects with what no waiting helps.
   */
  async boot(settings: BootSettings): Promise<void> {
    const { bootstrap: wanted, operators } = settings;
    await this.#untilAnswered(() => seed(this.records));
    if (wanted !== null) await this.#bootstrap(wanted);
    if (operators !== null) {
      const emails = operators.flatMap((one) => emailOf(one) ?? []);
      await this.#untilAnswered(() => setOperators(this.records, emails));
    }
  }

  async #bootstrap(wanted: BootstrapSettings): Promise<void> {
    const { logger, passwords, random } = this.#options;
    const { tenant, email, password, plan } = wanted;
    const { plaintext, hash } = newApiKey(random);
    const made = await this.#untilAnswered(() =>
      bootstrap(this.records, SYSTEM, {
        tenantSlug: tenant,
        clusterSlug: tenant,
        planCode: plan,
        adminEmail: email,
        ...(password === null ? {} : { password: passwords.given(password) }),
        keyName: BOOTSTRAP_KEY_NAME,
        keyHash: hash,
      }),
    );
    if (made === null) return;
    if (isRefused(made)) {
      logger.error(TARGET, 'the bootstrap was refused', { tenant, why: made.error });
      return;
    }
    if (made.keyIssued) {
      const shown = wanted.apiKey === null ? { apiKey: plaintext } : {};
      logger.info(TARGET, 'the bootstrap tenant was made', { tenant, ...shown });
    }
    await this.#registerGiven(wanted.apiKey, made.clusterId);
  }

  async #registerGiven(apiKey: string | null, clusterId: string): Promise<void> {
    if (apiKey === null) return;
    const key = { clusterId, name: GIVEN_KEY_NAME, keyHash: hashOfKey(apiKey), scopes: SCOPES };
    const made = await this.#untilAnswered(() => registerKey(this.records, SYSTEM, key));
    if (made === null || !isRefused(made)) return;
    this.#options.logger.error(TARGET, 'the bootstrap key was not registered', { why: made.error });
  }

  /** null: the gateway was closed before the store answered. */
  async #untilAnswered<Result>(work: () => Promise<Result>): Promise<Result | null> {
    const { clock, logger } = this.#options;
    for (let delayMs = RETRY_MS; this.#isOpen; delayMs = Math.min(RETRY_MS_MAX, delayMs * 2)) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
        logger.warn(TARGET, 'the store does not answer yet', { retryMs: delayMs });
      }
      await new Promise<void>((resolve) => {
        const cancel = clock.after(delayMs, resolve);
        this.#cancelRetry = () => {
          cancel();
          resolve();
        };
      });
    }
    return null;
  }

  #flushLater(): void {
    this.#cancelFlush = this.#options.clock.after(USES_FLUSH_MS, () => {
      void this.#flush().finally(() => {
        if (this.#isOpen) this.#flushLater();
      });
    });
  }

  #sweepLater(): void {
    const { clock, logger, sweepMs } = this.#options;
    this.#cancelSweep = clock.after(sweepMs, () => {
      sweepRevoked(this.records)
        .catch((error: unknown) => {
          logger.warn(TARGET, 'the deny-list was not swept', { why: String(error) });
        })
        .finally(() => {
          if (this.#isOpen) this.#sweepLater();
        });
    });
  }

  /** Uses that cannot be written are lost: they are for people to look at. */
  async #flush(): Promise<void> {
    try {
      await this.credentials.flushUses();
    } catch (error) {
      const why = String(error);
      this.#options.logger.warn(TARGET, 'uses of keys were not written', { why });
    }
  }
}
