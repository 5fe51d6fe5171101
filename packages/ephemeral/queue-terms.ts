/**
 * What a queue's rings obey: what was declared, filled up and held within what the broker allows
 * (state-surfaces 4.2). A queue that nobody declared has the broker's defaults.
 */

export type FullPolicy = 'reject' | 'dropOldest';

export interface WindowBuffer {
  readonly ms: number;
  readonly count: number;
}

/** What a client declared; absent options are the broker's. Numbers are integers >= 0. */
export interface DeclaredTerms {
  readonly maxBytes?: number;
  readonly maxLength?: number;
  readonly policy?: FullPolicy;
  readonly ttlSeconds?: number;
  readonly leaseSeconds?: number;
  readonly retryLimit?: number;
  readonly windowBuffer?: WindowBuffer | null;
}

/** In force. */
export interface QueueTerms {
  /** Bytes of payloads in one ring. >= 1. */
  readonly maxBytes: number;
  /** Messages in one ring. >= 1. */
  readonly maxLength: number;
  readonly policy: FullPolicy;
  /** 0: messages do not age. */
  readonly ttlSeconds: number;
  readonly leaseSeconds: number;
  /** Deliveries that may fail before the message is dropped for its group. */
  readonly retryLimit: number;
  readonly windowBuffer: WindowBuffer | null;
}

/** What the broker allows a queue, and what a queue has that declares nothing. */
export interface TermCeilings {
  readonly maxBytes: number;
  readonly maxLength: number;
  readonly leaseSeconds: number;
  readonly retryLimit: number;
}

export const LEASE_SECONDS_MAX = 86_400;
export const RETRY_LIMIT_MAX = 1000;
/** Ten years: more than any process lives. */
const TTL_SECONDS_MAX = 315_360_000;
/** As long as a pop may wait, and as much as it may ask for. */
const WINDOW_MS_MAX = 300_000;
const WINDOW_COUNT_MAX = 10_000;

export function termsInForce(declared: DeclaredTerms | null, ceilings: TermCeilings): QueueTerms {
  const { maxBytes, maxLength, policy, ttlSeconds, leaseSeconds, retryLimit } = declared ?? {};
  return {
    maxBytes: within(maxBytes ?? ceilings.maxBytes, 1, ceilings.maxBytes),
    maxLength: within(maxLength ?? ceilings.maxLength, 1, ceilings.maxLength),
    policy: policy ?? 'reject',
    ttlSeconds: within(ttlSeconds ?? 0, 0, TTL_SECONDS_MAX),
    leaseSeconds: within(leaseSeconds ?? ceilings.leaseSeconds, 1, LEASE_SECONDS_MAX),
    retryLimit: within(retryLimit ?? ceilings.retryLimit, 1, RETRY_LIMIT_MAX),
    windowBuffer: windowInForce(declared?.windowBuffer ?? null),
  };
}

function windowInForce(declared: WindowBuffer | null): WindowBuffer | null {
  if (declared === null || declared.ms === 0) return null;
  return {
    ms: within(declared.ms, 1, WINDOW_MS_MAX),
    count: within(declared.count, 1, WINDOW_COUNT_MAX),
  };
}

function within(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}
