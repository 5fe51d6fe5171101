/**
 * How many connections there are, and which of them end when there are too many.
 *
 * The job: each connection is a file of the process, and the log, the store and the other nodes
 * need files too. So connections have a bound from the moment they are accepted. When it is met,
 * the one that has been without a request longest ends, and the new one takes its place; if none is
 * known to be without a request the new one is answered 503 and closed; with TLS it is closed.
 *
 * Why it is hard: the native layer hands over a response object, never a connection. It calls back
 * when a connection opens (with an object that stays usable) and when one closes (with nothing that
 * says which one), and a request does not say on which connection it came. An object that is used
 * after its connection closed is a crash of the process. What identifies a connection while it is
 * idle is the abort handler that is set on it: it runs when the connection closes. But a request
 * that comes takes the handler's place without a word.
 *
 * So a connection is only ended while it is certain that it is there and has no request:
 * - Its handler is set and did not run: nobody closed it.
 * - No request came from its address since: none came on it.
 * A request makes every idle connection of its address uncertain until its own next answer. That
 * errs to one side only: many clients at one address (a proxy) may find nothing to end among them,
 * and then the native limit for idle connections, 8 to 12 s, makes room. Answered connections are
 * left alone for ANSWERED_IDLE_MS_MIN, since a busy client is about to use them again.
 *
 * Cost: all that is needed only where the bound is near, or where each address has one. Below three
 * quarters of the bound a connection costs two additions and a request one comparison. Above, a
 * request is routed twice by the native layer, because the first object stays usable after the
 * answer, its address is read and a handler is set: 15 us of processor of 50 for the smallest.
 *
 * Rejected: a time limit of our own for idle connections, which the native layer does not have; its
 * child applications, each a group of connections known by name: they accept up to a whole backlog
 * of files before anybody is asked.
 */
import { ANSWERED_IDLE_MS_MIN, CONNECTIONS_NEAR_SHARE } from '../base/limits.js';
import type { TransportResponse } from './transport.js';

export interface ConnectionBounds {
  readonly max: number;
  /** Number of open connections that one address may have; null: no bound. */
  readonly perAddressMax: number | null;
  /**
   * Whether `address`, in the notation of Node, is a proxy to which the bound per address does not
   * apply.
   */
  readonly isTrustedProxy: (address: string) => boolean;
}

/** A connection was refused: so many are open, and so many have been refused. */
export type OnFull = (open: number, refused: number) => void;

export const UNBOUNDED: ConnectionBounds = {
  max: Number.MAX_SAFE_INTEGER,
  perAddressMax: null,
  isTrustedProxy: () => false,
};

/** A connection that certainly has no request. */
interface Idle {
  readonly response: TransportResponse;
  readonly address: string;
  readonly sinceMs: number;
}

const FULL_TEXT = '{"error":"too many connections are open; retry","code":"overloaded"}';
const FULL_HEAD =
  '503 Service Unavailable\r\nContent-Type: application/json\r\n' +
  'X-Content-Type-Options: nosniff\r\nRetry-After: 1';

export class Connections {
  readonly #bounds: ConnectionBounds;
  readonly #nowMs: () => number;
  readonly #onFull: OnFull;
  readonly #isSecure: boolean;
  readonly #nearAt: number;
  /** Idle connections that never had a request, and those that had one; the longest idle first. */
  readonly #silent = new Set<Idle>();
  readonly #answered = new Set<Idle>();
  readonly #idleOf = new Map<string, Set<Idle>>();
  /** Number of open connections of each address; empty when there is no bound per address. */
  readonly #openOf = new Map<string, number>();
  #tracks: boolean;
  open = 0;
  /**
   * Number of connections that have closed. A caller compares it before and after a native call to
   * learn whether the call closed its own connection.
   */
  closes = 0;
  refused = 0;
  /** Number of connections ended to make room. */
  ended = 0;

  /** `isSecure`: a connection begins with the handshake of TLS. */
  constructor(bounds: ConnectionBounds, nowMs: () => number, onFull: OnFull, isSecure = false) {
    this.#bounds = bounds;
    this.#nowMs = nowMs;
    this.#onFull = onFull;
    this.#isSecure = isSecure;
    this.#nearAt = Math.floor(bounds.max * CONNECTIONS_NEAR_SHARE);
    this.#tracks = bounds.perAddressMax !== null;
  }

  /** Whether `count` requests at once, of whatever transport, are more than connections may be. */
  isBeyond(count: number): boolean {
    return count > this.#bounds.max;
  }

  /** True while every request must be announced by `requested`. */
  get tracks(): boolean {
    return this.#tracks;
  }

  /** Called by the native layer: `by` is 1 when a connection opened and -1 when one closed. */
  changed(response: TransportResponse, by: number): void {
    if (by > 0) this.#opened(response);
    else this.#closed();
  }

  #opened(response: TransportResponse): void {
    this.open++;
    if (this.open > this.#nearAt) this.#tracks = true;
    if (!this.#tracks) return;
    const address = addressOf(response);
    if (!this.#makeRoomFor(address)) {
      this.#refuseNew(response);
      return;
    }
    if (this.#bounds.perAddressMax !== null) {
      this.#openOf.set(address, (this.#openOf.get(address) ?? 0) + 1);
    }
    this.#isIdle(response, address, this.#silent);
  }

  #closed(): void {
    this.open--;
    this.closes++;
    if (this.open > this.#nearAt / 2 || this.#bounds.perAddressMax !== null) return;
    // Requests are not announced from here on, so nothing is certain any more.
    this.#tracks = false;
    this.#forgetAll();
  }

  /**
   * Ends an idle connection where the new one would break a bound; false when none may be ended.
   * The count of `address` does not include the new connection yet; `open` does.
   */
  #makeRoomFor(address: string): boolean {
    const { max, perAddressMax, isTrustedProxy } = this.#bounds;
    if (perAddressMax !== null && (this.#openOf.get(address) ?? 0) >= perAddressMax) {
      if (!isTrustedProxy(textOf(address)) && !this.#endOneOf(address)) return false;
    }
    return this.open <= max || this.#endOldest();
  }

  /**
   * Before its handshake a connection can be told nothing. An answer would wait for it, and with
   * the answer the file of the connection, until the native limit for idle ones ends both.
   */
  #refuseNew(response: TransportResponse): void {
    if (!this.#isSecure) {
      this.refuse(response);
      return;
    }
    this.refused++;
    response.close();
    this.#onFull(this.open, this.refused);
  }

  /** Answers what came beyond the bound, a connection or a call in memory. */
  refuse(response: TransportResponse): void {
    this.refused++;
    response.cork(() => {
      response.writeStatus(FULL_HEAD).end(FULL_TEXT, true);
    });
    this.#onFull(this.open, this.refused);
  }

  /**
   * Announces a request and returns its address. From now on no connection of that address is known
   * to be idle.
   */
  requested(response: TransportResponse): string {
    const address = addressOf(response);
    // The system does not tell the address of a connection that was just reset, so any idle one
    // may be meant.
    if (address === '') this.#forgetAll();
    const idle = this.#idleOf.get(address);
    if (idle === undefined) return address;
    for (const one of idle) {
      this.#silent.delete(one);
      this.#answered.delete(one);
    }
    this.#idleOf.delete(address);
    return address;
  }

  /**
   * Announces that a request is answered and its connection is still open, so `handle` is usable.
   */
  answered(handle: TransportResponse, address: string): void {
    this.#isIdle(handle, address, this.#answered);
  }

  /** Lowers the count of `address` for one connection that closed, idle or with a request. */
  gone(address: string): void {
    const count = this.#openOf.get(address);
    if (count === undefined) return;
    if (count > 1) this.#openOf.set(address, count - 1);
    else this.#openOf.delete(address);
  }

  #isIdle(response: TransportResponse, address: string, among: Set<Idle>): void {
    const idle: Idle = { response, address, sinceMs: this.#nowMs() };
    // The next request on the connection replaces this handler, which then never runs.
    response.onAborted(() => {
      this.#forget(idle);
      this.gone(address);
    });
    if (!this.#tracks || address === '') return;
    among.add(idle);
    const others = this.#idleOf.get(address);
    if (others === undefined) this.#idleOf.set(address, new Set([idle]));
    else others.add(idle);
  }

  #endOldest(): boolean {
    const [silent] = this.#silent;
    const [answered] = this.#answered;
    const isRipe = answered !== undefined && this.#isRipe(answered);
    if (silent === undefined) return isRipe && this.#end(answered);
    return this.#end(isRipe && answered.sinceMs < silent.sinceMs ? answered : silent);
  }

  #endOneOf(address: string): boolean {
    for (const idle of this.#idleOf.get(address) ?? []) {
      if (this.#silent.has(idle) || this.#isRipe(idle)) return this.#end(idle);
    }
    return false;
  }

  #isRipe({ sinceMs }: Idle): boolean {
    return this.#nowMs() - sinceMs >= ANSWERED_IDLE_MS_MIN;
  }

  /**
   * Closes a connection. The close runs its abort handler, and the native layer calls `changed`.
   */
  #end(idle: Idle): boolean {
    this.ended++;
    this.#forget(idle);
    idle.response.close();
    return true;
  }

  #forget(idle: Idle): void {
    this.#silent.delete(idle);
    this.#answered.delete(idle);
    const others = this.#idleOf.get(idle.address);
    if (others === undefined) return;
    others.delete(idle);
    if (others.size === 0) this.#idleOf.delete(idle.address);
  }

  #forgetAll(): void {
    this.#silent.clear();
    this.#answered.clear();
    this.#idleOf.clear();
  }
}

/** One request that arrived while connections are tracked. */
export class TrackedRequest {
  readonly #connections: Connections;
  readonly #handle: TransportResponse;
  readonly #address: string;
  #closesBefore = 0;

  /** `handle` stays usable after the answer, because the answer is given through another object. */
  constructor(connections: Connections, handle: TransportResponse) {
    this.#connections = connections;
    this.#handle = handle;
    this.#address = connections.requested(handle);
  }

  /** Must be called before each call that may complete the answer. */
  answering(): void {
    this.#closesBefore = this.#connections.closes;
  }

  /**
   * Must be called when the answer is complete. A connection that closed since `answering` was this
   * one, and its handle is not usable any more.
   */
  answered(): void {
    if (this.#connections.closes !== this.#closesBefore) this.gone();
    else this.#connections.answered(this.#handle, this.#address);
  }

  gone(): void {
    this.#connections.gone(this.#address);
  }
}

const IPV4_MAPPED = '00000000000000000000ffff';
const IPV4_BYTES = 4;

/** The address as hexadecimal digits; "" when the system does not tell it. */
function addressOf(response: TransportResponse): string {
  const digits = Buffer.from(response.getRemoteAddress()).toString('hex');
  return digits.startsWith(IPV4_MAPPED) ? digits.slice(IPV4_MAPPED.length) : digits;
}

/** The other end's address in the notation of Node; "" when the system does not tell it. */
export function peerOf(response: TransportResponse): string {
  const bytes = Buffer.from(response.getRemoteAddress()).toString('latin1');
  let text = peers.get(bytes);
  if (text === undefined) {
    text = textOf(addressOf(response));
    if (peers.size >= PEERS_KEPT_MAX) peers.clear();
    peers.set(bytes, text);
  }
  return text;
}

/** Most requests come on connections that had one before. */
const peers = new Map<string, string>();
const PEERS_KEPT_MAX = 4096;

/** The address in the notation of Node. */
function textOf(digits: string): string {
  const bytes = Buffer.from(digits, 'hex');
  if (bytes.length === IPV4_BYTES) return bytes.join('.');
  return (digits.match(/.{4}/g) ?? []).join(':');
}
