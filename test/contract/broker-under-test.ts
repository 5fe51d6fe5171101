/**
 * What a row of a contract table is given: calls to one node, or to three in turn, under a tenant
 * that no other row uses, so that rows can run side by side and lists show nothing of each other.
 */
import { type Answer, type Caller, callerOf } from '../process/http-client.js';
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
  /** Nodes of the cluster, of which `clients` may be fewer. */
  readonly nodes: number;
  readonly clients: readonly Caller[];
  /** Each client's requests all go to one node; false: a balancer chooses. */
  readonly isPinned: boolean;
  /** The first eight digits of the UUIDs of all tenants that rows use. */
  readonly tenants: string;
  readonly observe: Observe;
  /** The cluster that this one follows; absent where it follows none. */
  readonly source?: Caller;
  /** Ends the node by `signal` and starts it again on its directory; absent where it is shared. */
  readonly restart?: (signal: 'SIGKILL' | 'SIGTERM') => Promise<void>;
}

/** What a row presupposes and its place has not: the row says nothing of the broker. */
export class Unmet extends Error {
  override name = 'Unmet';
}

export class BrokerUnderTest {
  readonly place: Place;
  /** The row's number, from which its queue and its tenant follow. */
  readonly number: number;
  readonly client: Caller;
  readonly api: BrokerApi;
  readonly #headers: Readonly<Record<string, string>>;

  /** Without `headers`: as the row's own tenant. */
  constructor(place: Place, number: number, headers?: Readonly<Record<string, string>>) {
    this.place = place;
    this.number = number;
    this.#headers = headers ?? { 'x-svc-tenant': tenantOf(place, number, 0) };
    this.client = inTurns(place, number, this.#headers);
    this.api = new BrokerApi(this.client);
  }

  /** A queue of this row alone: the labels are `row` and `q<number>`. */
  get queue(): string {
    return `row.q${this.number}`;
  }

  /** The tenant that its requests are of; "": none is named. */
  get tenant(): string {
    return this.#headers['x-svc-tenant'] ?? '';
  }

  /**
   * The same, with every request to one node: for reads by position, which show what the node that
   * is asked has applied, after a write that the same node has answered.
   */
  get sameNode(): BrokerUnderTest {
    const { clients } = this.place;
    return this.#at(clients[this.number % clients.length] as Caller);
  }

  /** The same at each node of the cluster, one after the other. */
  get eachNode(): BrokerUnderTest[] {
    const { clients, nodes } = this.place;
    if (clients.length < nodes) throw new Unmet('needs the address of each node');
    return clients.map((client) => this.#at(client));
  }

  /** Another tenant, of this row alone as well. */
  get stranger(): BrokerUnderTest {
    return this.with({ 'x-svc-tenant': tenantOf(this.place, this.number, 1) });
  }

  /** The same as another tenant, or with other headers; `{}` is the default tenant. */
  with(headers: Readonly<Record<string, string>>): BrokerUnderTest {
    return new BrokerUnderTest(this.place, this.number, headers);
  }

  #at(client: Caller): BrokerUnderTest {
    if (!this.place.isPinned) throw new Unmet('needs the address of each node');
    return new BrokerUnderTest({ ...this.place, clients: [client] }, this.number, this.#headers);
  }
}

/** A tenant of a row, by the first block of its UUID: `which` tells those of one row apart. */
function tenantOf({ tenants }: Place, number: number, which: number): string {
  return `${tenants}-000${which}-4000-8000-${`${number}`.padStart(12, '0')}`;
}

/** Each request goes to the next node. */
function inTurns(
  { clients, observe }: Place,
  first: number,
  own: Readonly<Record<string, string>>,
): Caller {
  let turn = first;
  return callerOf(async (method, path, body, options = {}) => {
    const client = clients[turn % clients.length] as Caller;
    turn++;
    const headers = { ...own, ...options.headers };
    const answer = await client.send(method, path, body, { ...options, headers });
    observe({ method, path, body, answer });
    return answer;
  });
}
