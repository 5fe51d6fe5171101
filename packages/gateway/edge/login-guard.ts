/**
 * What slows down guessing of passwords (gateway 3 and 7): first a throttle for each address, then
 * a back-off for each address and each account.
 *
 * - The throttle counts attempts, right ones too: 10 in any 60 s. What it refuses is no attempt.
 * - The back-off counts failures. An account has 5 free ones, an address 10; each one more doubles
 *   the wait from 1 s on, to 900 s at most. A login that succeeds clears its account, but not its
 *   address, from which an attacker may log in to an account of his own in between. Failures are
 *   forgotten 900 s after the last one, or after the wait that it brought.
 *
 * An attempt is a failure from its beginning, and `succeeded` takes that back: passwords take a
 * while to check, and a hundred attempts at once would all pass a count that comes afterwards.
 *
 * An account is whatever name was typed. Names of no account are counted alike, so that the answers
 * do not tell which exist; both tables are bounded (`bounded-table.ts`), and of a name no more is
 * kept than an address of mail can have.
 *
 * The price is that a stranger can keep an account out for as long as he goes on failing, from as
 * many addresses as the throttle makes him use. Sessions that exist go on.
 */
import type { Refusal } from '../base/refusal.js';
import { BoundedTable } from './bounded-table.js';

export interface LoginGuardOptions {
  /** `SVC_LOGIN_FREE_FAILURES_IP`. */
  readonly addressFailuresFree: number;
  /** `SVC_LOGIN_FREE_FAILURES_ACCOUNT`. */
  readonly accountFailuresFree: number;
  /** `SVC_LOGIN_BACKOFF_BASE_MS`. */
  readonly backoffBaseMs: number;
  /** `SVC_LOGIN_LOCKOUT_S`: the longest back-off. */
  readonly lockoutS: number;
  /** `SVC_LOGIN_WINDOW_S`. */
  readonly windowS: number;
  /** `SVC_LOGIN_MAX_TRACKED`: addresses, and accounts as many. */
  readonly trackedMax: number;
}

export const LOGIN_GUARD_DEFAULTS: LoginGuardOptions = {
  addressFailuresFree: 10,
  accountFailuresFree: 5,
  backoffBaseMs: 1_000,
  lockoutS: 900,
  windowS: 900,
  trackedMax: 100_000,
};

export const ATTEMPTS_MAX = 10;
export const ATTEMPTS_WINDOW_MS = 60_000;
/** Characters of a mail address; longer names share what is remembered of their beginning. */
const ACCOUNT_LENGTH_MAX = 254;

interface Failures {
  count: number;
  lastMs: number;
  /** No attempt before it. */
  openMs: number;
}

interface AddressRecord {
  /** When the last attempts began, the oldest first; at most `ATTEMPTS_MAX`. */
  readonly attemptsMs: number[];
  readonly failures: Failures;
}

/** One attempt that was let in. */
export interface Attempt {
  /** The password was right. Never called otherwise. */
  succeeded(): void;
}

export class LoginGuard {
  readonly #options: LoginGuardOptions;
  readonly #addresses: BoundedTable<AddressRecord>;
  readonly #accounts: BoundedTable<Failures>;

  constructor(options: LoginGuardOptions) {
    this.#options = options;
    this.#addresses = new BoundedTable({
      entriesMax: options.trackedMax,
      create: (): AddressRecord => ({ attemptsMs: [], failures: none() }),
      isAsNew: ({ attemptsMs, failures }, nowMs) =>
        nowMs - (attemptsMs.at(-1) ?? Number.NEGATIVE_INFINITY) >= ATTEMPTS_WINDOW_MS &&
        this.#isForgotten(failures, nowMs),
    });
    this.#accounts = new BoundedTable({
      entriesMax: options.trackedMax,
      create: none,
      isAsNew: (failures, nowMs) => this.#isForgotten(failures, nowMs),
    });
  }

  /**
   * `addressKey`: that of the client (`client-address.ts`). `account`: the name as it was typed. A
   * refusal has changed nothing. `nowMs` is of a clock that only rises.
   */
  begin(addressKey: string, account: string, nowMs: number): Attempt | Refusal {
    const { addressFailuresFree, accountFailuresFree } = this.#options;
    const address = this.#addresses.at(addressKey, nowMs);
    const { attemptsMs } = address;
    const first = attemptsMs[0] ?? Number.NEGATIVE_INFINITY;
    const throttledMs = attemptsMs.length < ATTEMPTS_MAX ? 0 : first + ATTEMPTS_WINDOW_MS - nowMs;
    if (throttledMs > 0) return refused(throttledMs);
    const failures = this.#accounts.at(nameOf(account), nowMs);
    this.#forget(address.failures, nowMs);
    this.#forget(failures, nowMs);
    const heldMs = Math.max(address.failures.openMs, failures.openMs) - nowMs;
    if (heldMs > 0) return refused(heldMs);
    if (attemptsMs.length >= ATTEMPTS_MAX) attemptsMs.shift();
    attemptsMs.push(nowMs);
    const before = { ...address.failures };
    this.#fail(address.failures, addressFailuresFree, nowMs);
    this.#fail(failures, accountFailuresFree, nowMs);
    return { succeeded: () => forgive(address.failures, before, failures) };
  }

  /** The window begins when the last wait is over: a long wait is not its own end. */
  #isForgotten({ lastMs, openMs }: Failures, nowMs: number): boolean {
    return nowMs - Math.max(lastMs, openMs) >= this.#options.windowS * 1000;
  }

  #forget(failures: Failures, nowMs: number): void {
    if (this.#isForgotten(failures, nowMs)) Object.assign(failures, none());
  }

  #fail(failures: Failures, free: number, nowMs: number): void {
    failures.count++;
    failures.lastMs = nowMs;
    const beyond = failures.count - free;
    if (beyond <= 0) return;
    const { backoffBaseMs, lockoutS } = this.#options;
    // 2^40 times the base is beyond every lockout, and the power stays a number.
    const waitMs = Math.min(backoffBaseMs * 2 ** Math.min(beyond - 1, 40), lockoutS * 1000);
    failures.openMs = nowMs + waitMs;
  }
}

function none(): Failures {
  return { count: 0, lastMs: Number.NEGATIVE_INFINITY, openMs: Number.NEGATIVE_INFINITY };
}

/**
 * The account is clean; of the address this one failure is taken back, and the wait that came with
 * it unless another attempt began since.
 */
function forgive(address: Failures, before: Failures, account: Failures): void {
  Object.assign(account, none());
  address.count = Math.max(0, address.count - 1);
  if (address.count === before.count) Object.assign(address, before);
}

function nameOf(account: string): string {
  return account.trim().toLowerCase().slice(0, ACCOUNT_LENGTH_MAX);
}

function refused(waitMs: number): Refusal {
  return {
    status: 429,
    code: 'rate_limited',
    error: 'too many login attempts',
    retryAfterS: Math.max(1, Math.ceil(waitMs / 1000)),
  };
}
