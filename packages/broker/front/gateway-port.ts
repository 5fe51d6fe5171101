/**
 * The gateway's port in a front thread: its sockets, their TLS and the bounds of connections are
 * the thread's, and each request goes to the core's gateway as a call in memory, its head as it
 * came. So this thread knows nothing of the gateway, and never loads it.
 *
 * The core keeps all that a node has one of: rates of addresses and of clusters, admission, places
 * of waiting pops, the guard of logins, the rows that are known and their marks, and the count that
 * is written before an answer leaves. All of it is asked in the order in which it is asked of a
 * socket of the core, by the same code, so threads change no answer.
 *
 * The body of a stranger is not read, here either. What came with a head goes with it; then the
 * connection is not read until the core asks for more, and so on, each time for what comes in one
 * turn of the loop (512 KiB, or a few times that while nothing else is to be done). So a body's
 * pace and its end are measured where they are for every body. What this thread holds of it counts
 * in a budget of its own until the core asks for more, or has answered.
 *
 * Rejected: reading bodies whole before they are handed over, as the plain port does, for whoever
 * has no key could then fill the budget of those who have one.
 */
import {
  BODIES_OVERLOADED_REFUSAL,
  bytesOfChunk,
  type ConnectionBounds,
  Exchange,
  type FrontLogger,
  ListenerRim,
  type RimOptions,
  SocketListener,
  type TlsFiles,
  type TrackedRequest,
  type TransportRequest,
  type TransportResponse,
} from '@svc/http';
import type { RemoteService } from './remote-service.js';
import type { PassedCallHead } from './thread-frames.js';

export interface GatewayPortOptions extends RimOptions {
  readonly core: Pick<RemoteService, 'beginPortCall' | 'sendBody'>;
  readonly connections: ConnectionBounds;
  readonly onConnectionsFull: (open: number, refused: number) => void;
  readonly tls: TlsFiles | null;
  readonly logger: FrontLogger;
}

const NO_BYTES = new Uint8Array(0);

export class GatewayPort {
  readonly #core: GatewayPortOptions['core'];
  readonly #rim: ListenerRim;
  readonly #sockets: SocketListener;
  /** Those that have something to send when this turn of the loop ends. */
  #unsent: PortRequest[] = [];

  /** Throws for TLS files that are none. */
  constructor(options: GatewayPortOptions) {
    const { core, connections, onConnectionsFull, tls, nowMs } = options;
    this.#core = core;
    this.#rim = new ListenerRim(options);
    this.#sockets = new SocketListener(
      { bounds: connections, nowMs, onFull: onConnectionsFull, tls, sharesPort: true },
      (response, request, tracked) => this.#handle(response, request, tracked),
    );
  }

  /** Resolves with the port; rejects with `ListenError`. */
  async listen(host: string, port: number): Promise<number> {
    const listensAt = await this.#sockets.listen(host, port);
    this.#rim.startSweeping();
    return listensAt;
  }

  /** Closes each connection with its next answer. */
  retire(): void {
    this.#rim.stopping = true;
  }

  /** Takes no new connections, and closes what is left after `drainMs`; may be called again. */
  async stop(drainMs: number): Promise<void> {
    this.#sockets.stopListening();
    await this.#rim.drained(drainMs);
    this.#rim.stopSweeping();
    this.#sockets.close();
  }

  #handle(
    response: TransportResponse,
    request: TransportRequest,
    tracked: TrackedRequest | null,
  ): void {
    const method = request.getCaseSensitiveMethod();
    const exchange = new Exchange(response, this.#rim, method === 'HEAD', tracked);
    const query = request.getQuery();
    const path = request.getUrl();
    const headers: (readonly [string, string])[] = [];
    let hasBody = false;
    request.forEach((name, value) => {
      headers.push([name, value]);
      if (name === 'content-length' || name === 'transfer-encoding') hasBody = true;
    });
    const target = query === undefined ? path : `${path}?${query}`;
    const head = { method, target, headers, owner: exchange.owner };
    if (!hasBody) {
      this.#core.beginPortCall(head, NO_BYTES, 'none', exchange);
      return;
    }
    const one = new PortRequest(this.#core, exchange, head);
    this.#sendLater(one);
    // The part of the body that is there comes behind this handler, in this turn.
    response.onData((chunk, isLast) => {
      if (one.take(chunk, isLast)) this.#sendLater(one);
    });
  }

  #sendLater(one: PortRequest): void {
    this.#unsent.push(one);
    if (this.#unsent.length === 1) setImmediate(() => this.#sendNow());
  }

  #sendNow(): void {
    const unsent = this.#unsent;
    this.#unsent = [];
    for (const one of unsent) one.send();
  }
}

/** A request with a body. */
class PortRequest {
  readonly #core: GatewayPortOptions['core'];
  readonly #exchange: Exchange;
  /** null: the core has it. */
  #head: PassedCallHead | null;
  #id = 0;
  /** Bytes that came and were not sent: what came in one turn. */
  #held = NO_BYTES;
  #length = 0;
  /** Something came that was not sent, if only the end of the body. */
  #hasNews = false;
  #isEnded = false;

  constructor(core: GatewayPortOptions['core'], exchange: Exchange, head: PassedCallHead) {
    this.#core = core;
    this.#exchange = exchange;
    this.#head = head;
  }

  /** True: `send` is to be called when this turn ends. */
  take(chunk: ArrayBuffer | Uint8Array, isLast: boolean): boolean {
    if (!this.#exchange.open) return false;
    const length = this.#length + chunk.byteLength;
    if (length > this.#held.length && !this.#grow(length)) {
      this.#refuse(isLast);
      return false;
    }
    // The chunk is only lent for this call.
    this.#held.set(bytesOfChunk(chunk), this.#length);
    this.#length = length;
    const isFirst = !this.#hasNews;
    this.#hasNews = true;
    this.#isEnded = isLast;
    if (!isLast) this.#exchange.pause();
    // Most bodies are there with their heads.
    if (isLast && isFirst) this.send();
    return isFirst && !isLast;
  }

  send(): void {
    const head = this.#head;
    if (!this.#exchange.open || (head === null && !this.#hasNews)) return;
    const bytes = this.#held.subarray(0, this.#length);
    const isLast = this.#isEnded;
    this.#held = NO_BYTES;
    this.#length = 0;
    this.#hasNews = false;
    this.#head = null;
    if (head === null) this.#core.sendBody(this.#id, bytes, isLast);
    else
      this.#id = this.#core.beginPortCall(head, bytes, isLast ? 'whole' : 'begun', this.#exchange);
    if (!isLast) this.#exchange.pause();
  }

  /** In one piece, for a read may hold a hundred thousand chunks. False: there is no room. */
  #grow(length: number): boolean {
    const capacity = Math.max(length, 2 * this.#held.length);
    if (!this.#exchange.reserveBody('growing', capacity - this.#held.length)) return false;
    const grown = new Uint8Array(capacity);
    grown.set(this.#held.subarray(0, this.#length));
    this.#held = grown;
    return true;
  }

  /** Tells the core, to which it is the same as a client that has gone. */
  #refuse(isLast: boolean): void {
    if (isLast) this.#exchange.refuse(BODIES_OVERLOADED_REFUSAL);
    else this.#exchange.refuseUnread(BODIES_OVERLOADED_REFUSAL);
  }
}
