/**
 * What a row of a contract table is given: calls to one node, or to three in turn, under a tenant
 * that no other row uses, so that rows can run side by side and lists show nothing of each other.
 */
import type { Answer, Caller, HttpClient, RequestOptions } from '../process/http-client.js';
import { BrokerApi } from './broker-api.js';

/** One request with its answer, as it went over the wire. */
export interface Exchange {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly body: Uint8Array | string | undefined;
  readonly answer: Answer;
}

/** Throws when the exchange is not what the document of the API says. */
export type Observe = (exchange: Exchange) => void;

export interface Place {
  readonly name: 'one node' | 'three nodes' | 'a node of its own';
  readonly clients: readonly HttpClient[];
  readonly observe: Observe;
  /** Ends the node by `signal` and starts it again on its directory; absent where it is shared. */
  readonly restart?: (signal: 'SIGKILL' | 'SIGTERM') => Promise<void>;
}

export class BrokerUnderTest {
  readonly place: Place;
  /** The row's number, from which its queue and its tenant follow. */
  readonly number: number;
  readonly client: Caller;
  readonly api: BrokerApi;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(place: Place, number: number, headers = tenantHeader(number), client?: Caller) {
    this.place = place;
    this.number = number;
    this.#headers = headers;
    this.client = client ?? new TurnsClient(place, number, headers);
    this.api = new BrokerApi(this.client);
  }

  /** A queue of this row alone: the labels are `row` and `q<number>`. */
  get queue(): string {
    return `row.q${this.number}`;
  }

  /**
   * The same, with every request to one node: for reads by position, which show what the node that
   * is asked has applied, after a write that the same node has answered.
   */
  get sameNode(): BrokerUnderTest {
    const { clients } = this.place;
    const client = clients[this.number % clients.length] as HttpClient;
    const place = { ...this.place, clients: [client] };
    return new BrokerUnderTest(place, this.number, this.#headers);
  }

  /** The same, with every request to this node of the place. */
  at(client: HttpClient): BrokerUnderTest {
    return new BrokerUnderTest({ ...this.place, clients: [client] }, this.number, this.#headers);
  }

  /** The same as another tenant, or with other headers; `{}` is the default tenant. */
  with(headers: Readonly<Record<string, string>>): BrokerUnderTest {
    return new BrokerUnderTest(this.place, this.number, headers);
  }
}

/** A tenant for each row. */
export function tenantHeader(number: number): Readonly<Record<string, string>> {
  return { 'x-svc-tenant': `c0ffee00-0000-4000-8000-${`${number}`.padStart(12, '0')}` };
}

/** Each request goes to the next node. */
class TurnsClient implements Caller {
  readonly #place: Place;
  readonly #headers: Readonly<Record<string, string>>;
  #turn: number;

  constructor(place: Place, turn: number, headers: Readonly<Record<string, string>>) {
    this.#place = place;
    this.#turn = turn;
    this.#headers = headers;
  }

  get(path: string, options: RequestOptions = {}): Promise<Answer> {
    return this.send('GET', path, undefined, options);
  }

  /** A string or bytes go as they are; anything else as its JSON. */
  post(path: string, body: unknown, options: RequestOptions = {}): Promise<Answer> {
    const bytes =
      body instanceof Uint8Array || typeof body === 'string' ? body : JSON.stringify(body);
    return this.send('POST', path, bytes, options);
  }

  async send(
    method: string,
    path: string,
    body: Uint8Array | string | undefined,
    options: RequestOptions = {},
  ): Promise<Answer> {
    const { clients, observe } = this.#place;
    const client = clients[this.#turn % clients.length] as HttpClient;
    this.#turn++;
    const headers = { ...this.#headers, ...options.headers };
    const answer = await client.send(method, path, body, { ...options, headers });
    observe({ method, path, body, answer });
    return answer;
  }
}
