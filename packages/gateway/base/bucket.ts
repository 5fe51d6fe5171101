/**
 * A token bucket that a debt may drive below nothing (gateway 7, "Limits" 2 and 4): starts full,
 * refills continuously, and a denial takes nothing. Time and rate are the caller's: a plan may
 * change both rate and burst at any moment.
 *
 * It is not the bucket of the broker's gate (`http/gate/token-bucket.ts`), which lets a call
 * through that asks for more than a full bucket holds. Here such a call is denied, as the contract
 * has it: tokens are messages, and the client can send fewer of them at once.
 */
export interface Rate {
  /** From 0 on. With 0 nothing comes back. */
  readonly perSecond: number;
  /** Tokens of a full bucket; from 0 on. */
  readonly burst: number;
}

/** Bounds of `Retry-After`, in seconds: a client shall neither spin nor be sent away for long. */
export const RETRY_AFTER_S_MIN = 1;
export const RETRY_AFTER_S_MAX = 60;

export class Bucket {
  #tokens: number;
  #atMs: number;

  constructor({ burst }: Rate, nowMs: number) {
    this.#tokens = burst;
    this.#atMs = nowMs;
  }

  /** 0: they were taken. Otherwise the seconds of `Retry-After`, and nothing was taken. */
  take(tokens: number, rate: Rate, nowMs: number): number {
    this.#refill(rate, nowMs);
    const missing = tokens - this.#tokens;
    if (missing <= 0) {
      this.#tokens -= tokens;
      return 0;
    }
    return retryAfterS(missing / rate.perSecond);
  }

  /** Takes them whatever there is, for what has happened already. */
  debit(tokens: number, rate: Rate, nowMs: number): void {
    this.#refill(rate, nowMs);
    this.#tokens -= tokens;
  }

  /** Whether it is as a new one would be, so that nothing is lost by forgetting it. */
  isFull(rate: Rate, nowMs: number): boolean {
    this.#refill(rate, nowMs);
    return this.#tokens >= rate.burst;
  }

  /** A clock that goes back gives nothing and takes nothing. */
  #refill({ perSecond, burst }: Rate, nowMs: number): void {
    const elapsedMs = Math.max(0, nowMs - this.#atMs);
    this.#atMs = nowMs;
    this.#tokens = Math.min(burst, this.#tokens + (elapsedMs * perSecond) / 1000);
  }
}

/** `seconds` may be infinite. */
export function retryAfterS(seconds: number): number {
  return Math.min(RETRY_AFTER_S_MAX, Math.max(RETRY_AFTER_S_MIN, Math.ceil(seconds)));
}
