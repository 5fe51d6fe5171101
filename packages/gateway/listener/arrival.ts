/**
 * A request whose head is there: one object for it, which is made for each request and lives as
 * long. What only some requests need is made when it is asked for.
 */
import {
  type Exchange,
  Head,
  peerOf,
  type TransportRequest,
  type TransportResponse,
} from '@svc/http';
import type { Client, ClientAddresses } from '../edge/client-address.js';
import type { HeaderList } from '../edge/origins.js';
import type { IncomingRequest } from '../passage/passage.js';

const NO_HEADERS: HeaderList = [];

export class Arrival implements IncomingRequest {
  readonly exchange: Exchange;
  readonly response: TransportResponse;
  readonly method: string;
  readonly path: string;
  readonly query: string | undefined;
  readonly head: Head;
  /** When the head was there, by the monotonic clock. */
  readonly atMs: number;
  /** TLS protects the client's connection. */
  isSecure = false;
  /** Stand in every answer. */
  answerHeaders = NO_HEADERS;
  /** A name and its value in turn, as they came. */
  readonly #headers: string[] = [];
  /** The addresses that proxies name, joined by commas. */
  #forwarded = '';
  readonly #addresses: Pick<ClientAddresses, 'of'>;
  #client: Client | null = null;

  constructor(
    exchange: Exchange,
    response: TransportResponse,
    method: string,
    request: TransportRequest,
    addresses: Pick<ClientAddresses, 'of'>,
    atMs: number,
  ) {
    this.exchange = exchange;
    this.response = response;
    this.method = method;
    this.path = request.getUrl();
    this.query = request.getQuery();
    this.head = new Head(this.query ?? '');
    this.#addresses = addresses;
    this.atMs = atMs;
  }

  get isOver(): boolean {
    return !this.exchange.open;
  }

  /** Bytes of path and query. */
  get targetBytes(): number {
    return this.path.length + (this.query === undefined ? 0 : this.query.length + 1);
  }

  take(name: string, value: string): void {
    this.head.take(name, value);
    this.#headers.push(name, value);
  }

  forwardedBy(value: string): void {
    this.#forwarded = this.#forwarded === '' ? value : `${this.#forwarded},${value}`;
  }

  /** The system is asked for the address, once. */
  get client(): Client {
    this.#client ??= this.#addresses.of(peerOf(this.response), this.#forwarded);
    return this.#client;
  }

  /** The first of the name. */
  header(wanted: string): string | undefined {
    const headers = this.#headers;
    for (let at = 0; at < headers.length; at += 2)
      if (headers[at] === wanted) return headers[at + 1];
    return undefined;
  }

  headersThat(passes: (name: string) => boolean): (readonly [string, string])[] {
    const passed: (readonly [string, string])[] = [];
    const headers = this.#headers;
    for (let at = 0; at < headers.length; at += 2) {
      const [name, value] = [headers[at] ?? '', headers[at + 1] ?? ''];
      if (passes(name)) passed.push([name, value]);
    }
    return passed;
  }
}
