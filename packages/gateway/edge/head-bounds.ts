/** How long the head of a request may be (gateway 3): refused before anything of it is believed. */
import type { Refusal } from '../base/refusal.js';

export interface HeadLimits {
  /** `SVC_EDGE_MAX_HEADERS`. */
  readonly headersMax: number;
  /** `SVC_EDGE_MAX_HEADER_BYTES`: names and values of all of them. */
  readonly bytesMax: number;
  /** `SVC_EDGE_MAX_HEADER_VALUE_BYTES`. */
  readonly valueBytesMax: number;
  /** `SVC_EDGE_MAX_URI_BYTES`: path and query as they came. */
  readonly uriBytesMax: number;
}

const CODE = 'request_headers_too_large';
const URI_TOO_LONG: Refusal = { status: 414, code: CODE, error: 'request URI too long' };
const TOO_MANY: Refusal = { status: 431, code: CODE, error: 'too many request headers' };
const TOO_LARGE: Refusal = { status: 431, code: CODE, error: 'request headers too large' };
const VALUE_TOO_LARGE: Refusal = { status: 431, code: CODE, error: 'request header too large' };

/**
 * Sums up one head at a time: `begin`, `take` for each header, then `fault`. Lengths are those of
 * strings with a character for each byte, as HTTP libraries hand heads out.
 */
export class HeadBounds {
  readonly #limits: HeadLimits;
  #uriBytes = 0;
  #headers = 0;
  #bytes = 0;
  #valueBytes = 0;

  constructor(limits: HeadLimits) {
    this.#limits = limits;
  }

  begin(uriBytes: number): void {
    this.#uriBytes = uriBytes;
    this.#headers = 0;
    this.#bytes = 0;
    this.#valueBytes = 0;
  }

  take(name: string, value: string): void {
    this.#headers++;
    this.#bytes += name.length + value.length;
    if (value.length > this.#valueBytes) this.#valueBytes = value.length;
  }

  /** Null: the head may pass. */
  fault(): Refusal | null {
    const { headersMax, bytesMax, valueBytesMax, uriBytesMax } = this.#limits;
    if (this.#uriBytes > uriBytesMax) return URI_TOO_LONG;
    if (this.#headers > headersMax) return TOO_MANY;
    if (this.#valueBytes > valueBytesMax) return VALUE_TOO_LARGE;
    return this.#bytes > bytesMax ? TOO_LARGE : null;
  }
}
