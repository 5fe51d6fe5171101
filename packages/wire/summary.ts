/**
 * A distribution in power-of-two buckets: how often, how much in all, and quantiles of lately.
 *
 * The job: it stands on the path of every command, so recording is a few additions to numbers that
 * are there already; it allocates nothing and asks nobody for the time. A quantile is the upper
 * bound of its bucket, so it is never too low and at most twice too high, and it never exceeds the
 * largest value there was.
 *
 * `count` and `sum` are since the start and only rise. Quantiles are over the bucket of time that
 * is open and the one before it (`rotate` closes it): a quantile since the start would hide today's
 * trouble behind yesterday's millions.
 *
 * Invariants: the entries of both windows are those recorded since the last but one `rotate`;
 * `quantile(q)` rises with q; `quantile(1)` is the largest value of both windows.
 */

/** Bucket b > 0 holds 2^(b-1) < value <= 2^b, bucket 0 what is at most 1; the last has no end. */
const BUCKETS = 33;
const VALUE_MAX = 2 ** (BUCKETS - 1);

/** The records of a summary in a time, as numbers that another thread can be sent. */
export interface SummaryPart {
  readonly count: number;
  readonly sum: number;
  readonly max: number;
  readonly buckets: Float64Array;
}

export class Summary {
  #count = 0;
  #sum = 0;
  #open = new Float64Array(BUCKETS);
  #closed = new Float64Array(BUCKETS);
  #openMax = 0;
  #closedMax = 0;

  /** Values since the start. */
  get count(): number {
    return this.#count;
  }

  /** Sum of the values since the start, in their unit. */
  get sum(): number {
    return this.#sum;
  }

  /** All that was recorded since the last call, which leaves it empty: to be added elsewhere. */
  take(): SummaryPart {
    const part = { count: this.#count, sum: this.#sum, max: this.#openMax, buckets: this.#open };
    this.#open = new Float64Array(BUCKETS);
    [this.#count, this.#sum, this.#openMax] = [0, 0, 0];
    return part;
  }

  /** What another summary has taken counts as if it had been recorded here. */
  add({ count, sum, max, buckets }: SummaryPart): void {
    this.#count += count;
    this.#sum += sum;
    if (max > this.#openMax) this.#openMax = max;
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      this.#open[bucket] = (this.#open[bucket] ?? 0) + (buckets[bucket] ?? 0);
    }
  }

  /** Not negative; durations in microseconds, sizes in what they count. */
  record(value: number): void {
    this.#count++;
    this.#sum += value;
    if (value > this.#openMax) this.#openMax = value;
    const bucket = bucketOf(value);
    this.#open[bucket] = (this.#open[bucket] ?? 0) + 1;
  }

  /** Closes the bucket of time: what was closed before is forgotten by quantiles. */
  rotate(): void {
    const emptied = this.#closed;
    this.#closed = this.#open;
    this.#closedMax = this.#openMax;
    this.#open = emptied.fill(0);
    this.#openMax = 0;
  }

  /** The smallest bound that this share of the values does not exceed; 0 without any. */
  quantile(share: number): number {
    const max = Math.max(this.#openMax, this.#closedMax);
    let total = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket++) total += this.#in(bucket);
    const rank = Math.ceil(share * total);
    let passed = 0;
    for (let bucket = 0; bucket < BUCKETS - 1; bucket++) {
      passed += this.#in(bucket);
      if (passed >= rank) return Math.min(2 ** bucket, max);
    }
    return max;
  }

  #in(bucket: number): number {
    return (this.#open[bucket] ?? 0) + (this.#closed[bucket] ?? 0);
  }
}

function bucketOf(value: number): number {
  if (value <= 1) return 0;
  if (value > VALUE_MAX) return BUCKETS - 1;
  return Math.min(BUCKETS - 1, 32 - Math.clz32(Math.ceil(value) - 1));
}
