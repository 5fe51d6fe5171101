/**
 * A port of the native layer: its connections within their bounds, and each request of theirs to
 * one handler. The front has one, and the gateway has another with a handler of its own.
 */
import {
  type ConnectionBounds,
  Connections,
  type OnFull,
  TrackedRequest,
} from '../exchange/connections.js';
import type { TransportRequest, TransportResponse } from '../exchange/transport.js';
import { loadUws, type Uws, type UwsApp, type UwsListenSocket } from '../exchange/uws.js';
import { listenErrorOf } from './listen-error.js';

export interface ListenerOptions {
  readonly bounds: ConnectionBounds;
  readonly nowMs: () => number;
  readonly onFull: OnFull;
  /** Files in PEM; null: plain HTTP. */
  readonly tls: TlsFiles | null;
  /** Others listen on the same port, and each gets a part of the connections. */
  readonly sharesPort?: boolean;
}

export interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
}

/**
 * Reads all it needs of `request` before it returns: the object is only lent. `tracked` goes into
 * the exchange of the request; null: connections are not followed. `method` is that of the request:
 * where a route of the native layer names it, nobody need ask for it.
 */
export type OnRequest = (
  response: TransportResponse,
  request: TransportRequest,
  tracked: TrackedRequest | null,
  method: string,
) => void;

/** What the native layer calls the routes of a method, and the method, whose case counts. */
const ROUTED_METHODS = [
  ['get', 'GET'],
  ['post', 'POST'],
  ['put', 'PUT'],
  ['del', 'DELETE'],
  ['head', 'HEAD'],
  ['options', 'OPTIONS'],
  ['patch', 'PATCH'],
] as const;

export class SocketListener {
  readonly connections: Connections;
  readonly #uws: Uws = loadUws();
  readonly #app: UwsApp;
  readonly #onRequest: OnRequest;
  readonly #sharesPort: boolean;
  #socket: UwsListenSocket | null = null;
  /**
   * Request that the first route has announced and that the native layer gives to the second next.
   */
  #tracked: TrackedRequest | null = null;

  /** Throws `NativeBuildMissingError`, and for files that are no certificate or no key. */
  constructor(options: ListenerOptions, onRequest: OnRequest) {
    const { bounds, nowMs, onFull, tls, sharesPort = false } = options;
    this.#onRequest = onRequest;
    this.#sharesPort = sharesPort;
    this.connections = new Connections(bounds, nowMs, onFull, tls !== null);
    this.#app =
      tls === null
        ? this.#uws.App()
        : this.#uws.SSLApp({ key_file_name: tls.key, cert_file_name: tls.certificate });
    this.#routeTo(this.#app);
  }

  /** Two routes for every request, of which the second is only needed by tracked connections. */
  #routeTo(app: UwsApp): void {
    const { connections } = this;
    const onRequest = this.#onRequest;
    app.filter((response, by) => connections.changed(response, by));
    for (const [route, method] of ROUTED_METHODS) {
      app[route]('/*', (response, request) => {
        if (!connections.tracks) {
          onRequest(response, request, null, method);
          return;
        }
        this.#tracked = new TrackedRequest(connections, response);
        request.setYield(true);
      });
    }
    app.any('/*', (response, request) => {
      const tracked = this.#tracked;
      this.#tracked = null;
      if (tracked !== null || !connections.tracks) {
        onRequest(response, request, tracked, request.getCaseSensitiveMethod());
      } else {
        // A method that nobody uses, and whose connection could not be followed.
        connections.requested(response);
        response.close();
      }
    });
  }

  /** Resolves with the port, which the system chooses for 0; rejects with `ListenError`. */
  async listen(host: string, port: number): Promise<number> {
    const exclusive = this.#sharesPort ? 0 : this.#uws.LIBUS_LISTEN_EXCLUSIVE_PORT;
    const socket = await new Promise<UwsListenSocket | false>((resolve) => {
      this.#app.listen(host, port, exclusive, resolve);
    });
    if (socket === false) throw await listenErrorOf(host, port);
    this.#socket = socket;
    return this.#uws.us_socket_local_port(socket);
  }

  /** Takes no new connections. */
  stopListening(): void {
    if (this.#socket !== null) this.#uws.us_listen_socket_close(this.#socket);
    this.#socket = null;
  }

  /** Closes every connection, running abort handlers. */
  close(): void {
    this.#app.close();
  }
}
