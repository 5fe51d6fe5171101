/**
 * Locks and semaphores. `acquire` gives a `HeldLock`, which renews itself every third of its time
 * to live until it is released or lost.
 *
 * What makes this hard is that the broker ends a permit by its own clock, while the holder may be
 * paused, cut off, or wait for an answer. So a holder counts by its own clocks, and more strictly:
 * its deadline is one time to live after the *sending* of the request that gave or renewed the
 * permit, and the broker's begins later, when the request arrives. What must hold:
 *
 * - A `HeldLock` never says that it is held at or after its deadline. Everything that says so
 *   (`isHeld`, `signal`, `token`, `guard`, `renew`) looks at the clock first, so that a process
 *   that slept through its deadline finds the lock lost before any of its timers has run.
 * - An answer that comes after the deadline gives nothing: the permit is released again.
 * - The lock is lost once, for one reason, and is not held again; `acquire` makes another one.
 * - One renewal is under way at a time, for each ends the token of the one before.
 *
 * Each `acquire` without an owner of the caller's mints one, and sends it with every call: the
 * broker gives the same owner the same permit, so a request whose answer was lost is sent again
 * without harm. A permit that it had before (`already`) is not lengthened by the broker, and how
 * much of it is left is unknown: it is renewed before it is believed.
 *
 * The clock of a paused process is right only for what it asks afterwards. Where a write must not
 * happen after the lock is lost, put `guard()` into its call: the broker compares the token.
 */
import { flag, misuse, refuseUnknown, signalOf, whole } from '../base/checks.js';
import { Deadline } from '../base/deadline.js';
import { type Duration, durationMs, durationSeconds } from '../base/durations.js';
import { ClientError, notItsResult, shown } from '../base/errors.js';
import { mintId } from '../base/mint-id.js';
import { onAbort } from '../base/on-abort.js';
import { sleep } from '../base/platform.js';
import type { Transport } from '../transport/transport.js';
import type { Guard, KvCheck } from './guard.js';

export interface LockOptions {
  /** How long it is held without a renewal, in whole seconds: 30 s. */
  readonly ttl?: Duration;
  /** How many may hold it: 1. All who name the lock have to say the same. */
  readonly limit?: number;
  /**
   * Shown to those who ask who holds it. The same owner asking again gets the permit that it has,
   * so two holders must not share one. Minted without.
   */
  readonly owner?: string;
  /** true. */
  readonly autoRenew?: boolean;
  /** A third of `ttl`. */
  readonly renewEvery?: Duration;
}

export type SemaphoreOptions = Omit<LockOptions, 'limit'>;

export interface AcquireOptions {
  /** How long to try: not at all without, `true` without an end. */
  readonly wait?: boolean | Duration;
  readonly signal?: AbortSignal;
}

/**
 * `renew`: the broker said at a renewal that the permit was another's or gone. `guard`: it said so
 * of a guarded call. `expired`: no renewal was answered in time, by the clock of this process.
 */
export type LossReason = 'renew' | 'guard' | 'expired';

export class LockLost extends Error {
  override readonly name = 'LockLost';
  readonly reason: LossReason;

  constructor(lock: string, reason: LossReason) {
    super(`the lock ${shown(lock)} was lost (${reason})`);
    this.reason = reason;
  }
}

interface Granted {
  readonly acquired?: boolean;
  readonly renewed?: boolean;
  readonly released?: boolean;
  readonly already?: boolean;
  readonly slot?: number;
  readonly token?: number;
}

interface Terms {
  readonly name: string;
  readonly ttlSeconds: number;
  readonly limit: number;
  readonly owner: string | undefined;
  readonly renewEveryMs: number;
  readonly autoRenew: boolean;
}

const NAMES = 'ttl owner autoRenew renewEvery';
const NAME_BYTES_MAX = 256;
const LIMIT_MAX = 1024;
/** Between two tries of `acquire`, doubled from the first to the last. */
const POLL_MS_MIN = 100;
const POLL_MS_MAX = 1000;
/** A renewal that failed is sent again after so long, if that is before the next one is due. */
const RETRY_MS = 1000;

/** The locks of one client. */
export class Locks {
  readonly #transport: Transport;
  readonly #held = new Set<HeldLock>();
  /** Attempts, and releases that nobody waits for any more. */
  readonly #underWay = new Set<Promise<unknown>>();
  #isEnding = false;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  lock(name: string, options: LockOptions = {}): Lock {
    refuseUnknown(options, `${NAMES} limit`, 'lock');
    return new Lock(this.#transport, termsOf(name, options), this);
  }

  semaphore(name: string, permits: number, options: SemaphoreOptions = {}): Lock {
    refuseUnknown(options, NAMES, 'semaphore');
    const limit = whole(permits, 'the number of permits', 1, LIMIT_MAX);
    return new Lock(this.#transport, termsOf(name, { ...options, limit }), this);
  }

  /** Releases what is held, before the transport is closed. `limit`: nobody waits any longer. */
  async releaseAll(limit?: AbortSignal): Promise<void> {
    this.#isEnding = true;
    for (const lock of [...this.#held]) this.underWay(lock[Symbol.asyncDispose]());
    const isOver = new Promise<void>((resolve) => onAbort(limit, resolve));
    // What an attempt gets meanwhile is released too.
    while (this.#underWay.size > 0 && limit?.aborted !== true) {
      await Promise.race([Promise.all(this.#underWay), isOver]);
    }
  }

  /** Throws when nothing is acquired any more. */
  refuseEnding(): void {
    if (this.#isEnding) {
      throw new ClientError('acquire after close(): make a new Client', { code: 'closed' });
    }
  }

  /** `work` is waited for by `releaseAll`. */
  underWay<Value>(work: Promise<Value>): Promise<Value> {
    const forget = () => this.#underWay.delete(over);
    const over: Promise<unknown> = work.then(forget, forget);
    this.#underWay.add(over);
    return work;
  }

  keep(lock: HeldLock): void {
    this.#held.add(lock);
  }

  drop(lock: HeldLock): void {
    this.#held.delete(lock);
  }

  /** Goes on while the caller does something else. */
  inBackground(release: Promise<unknown>): void {
    const logged = release.catch((error) => {
      const facts = { error: String(error) };
      this.#transport.settings.logger.warn('a lock was not released and ends by itself', facts);
    });
    void this.underWay(logged);
  }
}

export class Lock {
  readonly name: string;
  readonly #transport: Transport;
  readonly #terms: Terms;
  readonly #locks: Locks;

  constructor(transport: Transport, terms: Terms, locks: Locks) {
    this.name = terms.name;
    this.#transport = transport;
    this.#terms = terms;
    this.#locks = locks;
  }

  /**
   * null: others hold it, and the time to wait is over. Rejects with the reason of `signal` when
   * that is aborted; a permit that is granted afterwards is given back.
   */
  async acquire(options: AcquireOptions = {}): Promise<HeldLock | null> {
    refuseUnknown(options, 'wait signal', 'acquire');
    const { wait = false } = options;
    const signal = signalOf(options.signal);
    const { platform } = this.#transport;
    const waitMs = wait === true ? Infinity : wait === false ? 0 : durationMs(wait, 'wait');
    const end = new Deadline(platform, waitMs);
    const owner = this.#terms.owner ?? mintId(platform.nowMs());
    for (let pollMs = POLL_MS_MIN; ; pollMs = Math.min(POLL_MS_MAX, pollMs * 2)) {
      signal?.throwIfAborted();
      const attempt = this.#locks.underWay(this.#try(owner));
      const held = await this.#unlessAborted(attempt, signal);
      if (held !== null) return held;
      const { leftMs } = end;
      if (leftMs <= 0) return null;
      await sleep(platform, Math.min(leftMs, pollMs * (0.8 + 0.4 * platform.random())), signal);
    }
  }

  async #try(owner: string): Promise<HeldLock | null> {
    const { name, ttlSeconds, limit } = this.#terms;
    this.#locks.refuseEnding();
    const deadline = new Deadline(this.#transport.platform, ttlSeconds * 1000);
    const op = { op: 'acquire', name, ttlSeconds, limit, owner };
    const { acquired, already, slot, token } = await lockCall(this.#transport, op);
    if (!acquired || slot === undefined || token === undefined) return null;
    const held = new HeldLock(this.#transport, this.#terms, this.#locks, {
      owner,
      slot,
      token,
      deadline,
    });
    try {
      const isHeld = already === true ? await held.renew() : held.isHeld;
      this.#locks.refuseEnding();
      return isHeld ? held : null;
    } catch (error) {
      this.#locks.inBackground(held.release());
      throw error;
    }
  }

  #unlessAborted(
    attempt: Promise<HeldLock | null>,
    signal: AbortSignal | undefined,
  ): Promise<HeldLock | null> {
    if (signal === undefined) return attempt;
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.#locks.inBackground(attempt.then((held) => held?.release()));
        reject(signal.reason);
      };
      if (signal.aborted) return abort();
      attempt.then(resolve, reject).finally(onAbort(signal, abort));
    });
  }
}

interface Permit {
  readonly owner: string;
  readonly slot: number;
  readonly token: number;
  readonly deadline: Deadline;
}

export class HeldLock implements Guard {
  readonly name: string;
  readonly owner: string;
  /** Which permit of a semaphore; 0 of a lock. */
  readonly slot: number;
  readonly #transport: Transport;
  readonly #terms: Terms;
  readonly #locks: Locks;
  readonly #lost = new AbortController();
  readonly #listeners: ((reason: LossReason) => void)[] = [];
  #state: 'held' | 'lost' | 'released' = 'held';
  #token: number;
  #deadline: Deadline;
  #renewing: Promise<boolean> | undefined;
  #cancelRenewal: () => void = () => undefined;
  #cancelExpiry: () => void = () => undefined;

  /** Locks come from `acquire`; nobody makes one. */
  constructor(transport: Transport, terms: Terms, locks: Locks, permit: Permit) {
    this.name = terms.name;
    this.owner = permit.owner;
    this.slot = permit.slot;
    this.#transport = transport;
    this.#terms = terms;
    this.#locks = locks;
    this.#token = permit.token;
    this.#deadline = permit.deadline;
    locks.keep(this);
    this.#extend(permit.token, permit.deadline);
  }

  /** false from the deadline on, also before any timer has run. */
  get isHeld(): boolean {
    if (this.#state === 'held' && this.#deadline.leftMs <= 0) this.#lose('expired');
    return this.#state === 'held';
  }

  /** Rises with every renewal, and from one holder to the next. Throws when it is not held. */
  get token(): number {
    this.#refuseUnheld();
    return this.#token;
  }

  /** Aborted when the lock is lost, with a `LockLost`; not when it is released. */
  get signal(): AbortSignal {
    void this.isHeld;
    return this.#lost.signal;
  }

  /** Called once, when the lock is lost; at once if it is already. */
  onLost(listener: (reason: LossReason) => void): this {
    if (typeof listener !== 'function') {
      throw misuse('the listener of onLost', listener, 'a function of the reason');
    }
    if (!this.isHeld && this.#state === 'lost') listener(this.#lost.signal.reason.reason);
    else this.#listeners.push(listener);
    return this;
  }

  /** For `kv` and transactions: their call applies only while this lock is held. */
  guard(): KvCheck {
    const key = `${this.name}#${this.slot}`;
    return { op: 'check', ns: 'svc-locks', key, expect: this.token, required: true };
  }

  /** See `Guard`. */
  async guardRefused(check: KvCheck): Promise<boolean> {
    await this.#renewing?.catch(() => false);
    if (!this.isHeld) return false;
    if (this.#token !== check.expect) return true;
    this.#lose('guard');
    return false;
  }

  /** false: it is lost. Rejects when the broker could not be asked; it may still be held then. */
  async renew(): Promise<boolean> {
    if (!this.isHeld) return false;
    this.#renewing ??= this.#renewOnce().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  /** false: it had been lost before. */
  async release(): Promise<boolean> {
    if (!this.isHeld) return false;
    this.#end('released');
    await this.#renewing?.catch(() => false);
    return this.#giveBack();
  }

  /** Releases it. An error is logged: the lock ends by itself. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.release();
    } catch (error) {
      const facts = { lock: this.name, error: String(error) };
      this.#transport.settings.logger.warn('a lock was not released and ends by itself', facts);
    }
  }

  async #renewOnce(): Promise<boolean> {
    const { name, slot, owner } = this;
    const { ttlSeconds, renewEveryMs } = this.#terms;
    const deadline = new Deadline(this.#transport.platform, ttlSeconds * 1000);
    const op = { op: 'renew', name, slot, token: this.#token, ttlSeconds, owner };
    const { renewed, token } = await lockCall(this.#transport, op, renewEveryMs);
    const isGranted = renewed === true && token !== undefined;
    if (isGranted) this.#token = token;
    if (this.#state === 'released') return isGranted;
    if (isGranted && this.#state === 'lost') this.#locks.inBackground(this.#giveBack());
    if (!this.isHeld) return false;
    if (!isGranted) {
      this.#lose('renew');
      return false;
    }
    this.#extend(token, deadline);
    return this.isHeld;
  }

  #extend(token: number, deadline: Deadline): void {
    this.#token = token;
    this.#deadline = deadline;
    this.#watchExpiry();
    if (this.#terms.autoRenew) this.#renewIn(this.#terms.renewEveryMs);
  }

  /** A timer may run a little before its time. */
  #watchExpiry(): void {
    this.#cancelExpiry();
    this.#cancelExpiry = this.#after(this.#deadline.leftMs, () => {
      if (this.isHeld) this.#watchExpiry();
    });
  }

  #renewIn(ms: number): void {
    this.#cancelRenewal();
    this.#cancelRenewal = this.#after(ms, () => {
      this.renew().catch((error) => {
        const facts = { lock: this.name, error: String(error) };
        this.#transport.settings.logger.warn('a lock was not renewed and is tried again', facts);
        if (this.isHeld) this.#renewIn(Math.min(RETRY_MS, this.#terms.renewEveryMs));
      });
    });
  }

  async #giveBack(): Promise<boolean> {
    const { name, slot } = this;
    const op = { op: 'release', name, slot, token: this.#token };
    const { released, isRepeat } = await lockCall(this.#transport, op);
    // Before the deadline nothing but the first try has taken the row away.
    return released === true || (isRepeat && this.#deadline.leftMs > 0);
  }

  #lose(reason: LossReason): void {
    this.#end('lost');
    // What expired by this clock the broker may still keep for a while: nobody has to wait for it.
    if (reason === 'expired') this.#locks.inBackground(this.#giveBack());
    this.#lost.abort(new LockLost(this.name, reason));
    for (const listener of this.#listeners.splice(0)) this.#tell(listener, reason);
  }

  /** What a listener throws is not for who looks at the lock, and not for the other listeners. */
  #tell(listener: (reason: LossReason) => void, reason: LossReason): void {
    try {
      listener(reason);
    } catch (error) {
      const facts = { lock: this.name, error: String(error) };
      this.#transport.settings.logger.error('onLost of a lock threw', facts);
    }
  }

  #end(state: 'lost' | 'released'): void {
    this.#state = state;
    this.#cancelRenewal();
    this.#cancelExpiry();
    this.#locks.drop(this);
  }

  #refuseUnheld(): void {
    if (this.isHeld) return;
    if (this.#state === 'lost') throw this.#lost.signal.reason;
    throw new ClientError(`the lock ${shown(this.name)} was released`, { code: 'released' });
  }

  #after(ms: number, act: () => void): () => void {
    return this.#transport.platform.after(Math.max(0, ms), act);
  }
}

async function lockCall(
  transport: Transport,
  op: object,
  timeoutMs?: number,
): Promise<Granted & { readonly isRepeat: boolean }> {
  const { body, isRepeat } = await transport.call<{ readonly results: readonly Granted[] }>({
    method: 'POST',
    path: '/api/v1/locks',
    body: JSON.stringify({ operations: [op] }),
    repeat: 'any',
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  const result = body?.results[0];
  if (result === undefined) throw notItsResult('a call of a lock');
  return { ...result, isRepeat };
}

function termsOf(name: string, options: LockOptions): Terms {
  const { ttl = 30_000, limit = 1, owner, autoRenew = true } = options;
  const ttlSeconds = durationSeconds(ttl, 'ttl');
  const renewEveryMs = durationMs(options.renewEvery ?? (ttlSeconds * 1000) / 3, 'renewEvery', 1);
  if (renewEveryMs >= ttlSeconds * 1000) {
    const text = `renewEvery is ${renewEveryMs} ms, and ttl ${ttlSeconds} s`;
    throw new TypeError(`${text}: write one that is shorter, a third of ttl or so`);
  }
  return {
    name: textOf(name, 'the name of a lock'),
    ttlSeconds,
    limit: whole(limit, 'limit', 1, LIMIT_MAX),
    owner: owner === undefined ? undefined : textOf(owner, 'owner'),
    renewEveryMs,
    autoRenew: flag(autoRenew, 'autoRenew'),
  };
}

/** 1 to 256 bytes without control characters; a name has no `#` either. */
function textOf(value: unknown, what: string): string {
  const isText = typeof value === 'string' && value !== '' && !/\p{Cc}/u.test(value);
  const fits = isText && new TextEncoder().encode(value).length <= NAME_BYTES_MAX;
  if (fits && (what === 'owner' || !value.includes('#'))) return value;
  const without = what === 'owner' ? 'control characters' : 'control characters and #';
  throw misuse(what, value, `a text of 1 to ${NAME_BYTES_MAX} bytes without ${without}`);
}
