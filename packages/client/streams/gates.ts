/**
 * Gates for `gate`: limits of a rate for each key. Their clock is that of the broker, as far as the
 * worker knows it, and not when messages were stored: what was denied is judged by a later time.
 */
import { misuse, refuseUnknown } from '../base/checks.js';
import { type Duration, durationMs } from '../base/durations.js';
import type { StreamContext } from './windows.js';

export interface GateContext extends StreamContext {
  /** What the gate remembers of the key, as JSON; changes count if it allows the message. */
  readonly state: Record<string, unknown>;
  /** Since the epoch. */
  readonly now: number;
  /** When the state may be forgotten, since the epoch; never without. */
  forgetAt?: number;
}

export type Gate<Value> = (value: Value, context: GateContext) => boolean | Promise<boolean>;

export interface TokenBucketOptions<Value> {
  /** Tokens of a full bucket, which is what may come at once. */
  readonly capacity: number;
  readonly refillPerSec: number;
  /** Tokens that a message takes: 1. */
  readonly costFn?: (value: Value) => number;
}

export interface SlidingWindowOptions<Value> {
  /** What may come within the window. */
  readonly limit: number;
  readonly window: Duration;
  readonly costFn?: (value: Value) => number;
}

/** So many at once, and so many a second. */
export function tokenBucketGate<Value = unknown>(options: TokenBucketOptions<Value>): Gate<Value> {
  refuseUnknown(options, 'capacity refillPerSec costFn', 'tokenBucketGate');
  const capacity = positive(options.capacity, 'capacity of tokenBucketGate');
  const perMs = positive(options.refillPerSec, 'refillPerSec of tokenBucketGate') / 1000;
  return (value, context) => {
    const { now, state } = context as GateContext & { state: { tokens?: number; at?: number } };
    const { tokens = capacity, at = now } = state;
    const there = Math.min(capacity, tokens + Math.max(0, now - at) * perMs);
    const cost = costOf(options.costFn, value, capacity);
    if (cost > there) return false;
    state.tokens = there - cost;
    state.at = Math.max(now, at);
    // A full bucket is what a key without state has.
    context.forgetAt = state.at + Math.ceil((capacity - state.tokens) / perMs);
    return true;
  };
}

/**
 * So much within any window: what came in the one before counts by the part of it that is still
 * inside, as if it had come evenly. Two numbers for each key, whatever the limit is.
 */
export function slidingWindowGate<Value = unknown>(
  options: SlidingWindowOptions<Value>,
): Gate<Value> {
  refuseUnknown(options, 'limit window costFn', 'slidingWindowGate');
  const limit = positive(options.limit, 'limit of slidingWindowGate');
  const windowMs = durationMs(options.window, 'window of slidingWindowGate', 1);
  return (value, context) => {
    const { now, state } = context as GateContext & {
      state: { start?: number; count?: number; before?: number };
    };
    const { start: known = 0, count: counted = 0, before: earlier = 0 } = state;
    // A clock that went back does not begin an earlier window.
    const start = Math.max(known, Math.floor(now / windowMs) * windowMs);
    const count = start === known ? counted : 0;
    const before = start === known ? earlier : start - known === windowMs ? counted : 0;
    const inside = Math.min(1, 1 - (now - start) / windowMs);
    const cost = costOf(options.costFn, value, limit);
    if (before * inside + count + cost > limit) return false;
    Object.assign(state, { start, count: count + cost, before });
    context.forgetAt = start + 2 * windowMs;
    return true;
  };
}

/** More than there will ever be room for would stop its partition for good. */
function costOf<Value>(
  costFn: ((value: Value) => number) | undefined,
  value: Value,
  most: number,
): number {
  const cost = costFn === undefined ? 1 : costFn(value);
  if (typeof cost === 'number' && cost >= 0) return Math.min(cost, most);
  throw misuse('what costFn gave', cost, 'a function that gives a number from 0');
}

function positive(value: number, what: string): number {
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
  throw misuse(what, value, 'a number above 0');
}
