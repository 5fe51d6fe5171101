/**
 * Requests for each client address (gateway 3): one rate for the data plane, which is off by
 * default because its clients have plans, and one for pages, logins and the console, whose callers
 * may have no credential at all.
 */
import { Bucket, type Rate } from '../base/bucket.js';
import type { Refusal } from '../base/refusal.js';
import { BoundedTable } from './bounded-table.js';

export interface AddressRateOptions {
  /** `SVC_EDGE_RPS_PER_IP`; null: off. */
  readonly data: Rate | null;
  /** `SVC_EDGE_WEB_RPS_PER_IP`; null: off. */
  readonly web: Rate | null;
  /** `SVC_EDGE_MAX_TRACKED_IPS`: for each of the two. */
  readonly trackedMax: number;
}

export type AddressRateKind = 'data' | 'web';

export class AddressRates {
  readonly #data: RatedTable | null;
  readonly #web: RatedTable | null;

  constructor({ data, web, trackedMax }: AddressRateOptions) {
    this.#data = data === null ? null : tableOf(data, trackedMax);
    this.#web = web === null ? null : tableOf(web, trackedMax);
  }

  has(kind: AddressRateKind): boolean {
    return (kind === 'data' ? this.#data : this.#web) !== null;
  }

  /** `key`: that of the client (`client-address.ts`). Null: it may go on. */
  take(kind: AddressRateKind, key: string, nowMs: number): Refusal | null {
    const rated = kind === 'data' ? this.#data : this.#web;
    if (rated === null) return null;
    const waitS = rated.table.at(key, nowMs).take(1, rated.rate, nowMs);
    return waitS === 0 ? null : { ...TOO_MANY, retryAfterS: waitS };
  }
}

const TOO_MANY: Refusal = {
  status: 429,
  code: 'rate_limited',
  error: 'too many requests from this address',
};

interface RatedTable {
  readonly rate: Rate;
  readonly table: BoundedTable<Bucket>;
}

function tableOf(rate: Rate, entriesMax: number): RatedTable {
  const table = new BoundedTable<Bucket>({
    entriesMax,
    create: (nowMs) => new Bucket(rate, nowMs),
    isAsNew: (bucket, nowMs) => bucket.isFull(rate, nowMs),
  });
  return { rate, table };
}
