/**
 * The gateway's port: each request from its head to the pipeline, and on to the broker's front in
 * memory. It comes from a socket, or as a call in memory from whoever has the socket.
 *
 *     head -> edge -> own path? -> which route? -> pipeline -> relay
 *      \-> 4xx  \-> 403, 414, 429, 431  \-> 404    \-> refused   \-> 502, 504
 *
 * Connections, heads, bodies, budgets and paces are those of the front (`@svc/http`), with numbers
 * of this listener's own: what is bounded before authentication there is bounded so here. A body is
 * read when the pipeline asks for it, and not before the caller is known; one that nobody here has
 * to look at goes by in chunks.
 *
 * The broker's caller is known here: the caller that the front sees is the gateway itself, which
 * may do everything, for the tenant of the cluster. What the caller may do was decided by the class
 * of the route.
 */
import {
  type BodySource,
  type CallClient,
  type Caller,
  type CallRequest,
  type ConnectionBounds,
  Exchange,
  type FrontLogger,
  HeldBody,
  type Identity,
  KV_NEEDS_NO_GRANT,
  ListenerRim,
  type MemoryCall,
  MemoryCalls,
  POPS_MAKE_NO_QUEUE,
  ROLE_BITS,
  readBody,
  SEES_ITS_TENANT_ALONE,
  SocketListener,
  standingHeaders,
  type TlsFiles,
  type TrackedRequest,
  type TransportRequest,
  type TransportResponse,
} from '@svc/http';
import { DEFAULT_TENANT } from '@svc/wire';
import type { Cancel, Clock } from '../base/clock.js';
import type { ClusterView } from '../base/cluster-view.js';
import { REFUSALS, type Refusal } from '../base/refusal.js';
import type { MaybePromise } from '../credentials/known.js';
import { cookieValue } from '../credentials/presented.js';
import type { AddressRates } from '../edge/address-rates.js';
import type { ClientAddresses } from '../edge/client-address.js';
import { type EdgeTimeouts, edgeTimeoutMs, ownTimeoutMs, TIMED_OUT } from '../edge/deadlines.js';
import { HeadBounds, type HeadLimits } from '../edge/head-bounds.js';
import type { HeaderList, Origins } from '../edge/origins.js';
import { isSecure, type SecurityHeaders } from '../edge/security-headers.js';
import type { Admission, Admitted, BodyWanted, Passage } from '../passage/passage.js';
import { waitMsOf } from '../pipeline/limit-request.js';
import { isRelayed } from '../pipeline/relayed-head.js';
import type { RouteTarget, Targets } from '../pipeline/targets.js';
import { INTERNAL } from '../routes/faults.js';
import type { OwnRoutes } from '../routes/own-routes.js';
import type { OwnRequest } from '../routes/route.js';
import { answerOwn, refusalText, refuse } from './answers.js';
import { Arrival } from './arrival.js';
import { Direct, type DirectUpstream, isDirect } from './direct.js';
import { Relay, type RelayedRequest, type TimeLimit, type Upstream } from './relay.js';
import { TimeLimits } from './time-limits.js';

export interface ListenerParts {
  readonly upstream: Upstream & DirectUpstream;
  readonly passage: Pick<Passage, 'admit'>;
  readonly targets: Pick<Targets, 'of'>;
  /** Logins, console, operators, control plane. */
  readonly routes: Pick<OwnRoutes, 'answer' | 'gatePage'>;
  readonly addresses: Pick<ClientAddresses, 'of'>;
  readonly rates: Pick<AddressRates, 'has' | 'take'>;
  readonly origins: Origins;
  readonly security: Pick<SecurityHeaders, 'for'>;
  readonly clock: Clock;
  /** `x-svc-request-id` of a request that is relayed: never twice, on any node. */
  readonly newRequestId: () => string;
  readonly logger: FrontLogger;
  /** For `/healthz` and `/.well-known/jwks.json`. */
  readonly about: { readonly health: object; readonly jwks: object };
}

export interface ListenerConfig {
  readonly head: HeadLimits;
  /** `SVC_EDGE_MAX_BODY_BYTES`: of a body for the broker. */
  readonly bodyBytesMax: number;
  readonly timeouts: EdgeTimeouts;
  /** `SVC_EDGE_WEB_MAX_BODY_BYTES`: of a body for the gateway's own routes. */
  readonly webBodyBytesMax: number;
  /** `SVC_EDGE_REAL_IP_HEADER`, in small letters. */
  readonly addressHeader: string;
  /** Session cookies; a request that has one is held to the rules against other pages. */
  readonly cookieNames: readonly string[];
  /** `SVC_PROXY_TENANT_HEADER`: clusters have tenants of their own. */
  readonly hasTenants: boolean;
  readonly connections: ConnectionBounds;
  readonly onConnectionsFull: (open: number, refused: number) => void;
  readonly tls: TlsFiles | null;
}

/** Paths that a page or a person asks for have a rate of their own (gateway 3). */
const API = /^\/(api\/v1|streams)\//;

export class GatewayListener {
  readonly #parts: ListenerParts;
  readonly #config: ListenerConfig;
  readonly #rim: ListenerRim;
  readonly #sockets: SocketListener;
  readonly #calls: MemoryCalls;
  readonly #bounds: HeadBounds;
  readonly #limits: TimeLimits;
  /** Headers of every answer, without TLS and with it. */
  readonly #plain: HeaderList;
  readonly #secured: HeaderList;

  /** Throws for TLS files that are none. */
  constructor(parts: ListenerParts, config: ListenerConfig) {
    this.#parts = parts;
    this.#config = config;
    const nowMs = () => parts.clock.nowMs();
    this.#rim = new ListenerRim({ logger: parts.logger, nowMs });
    this.#bounds = new HeadBounds(config.head);
    this.#limits = new TimeLimits(parts.clock);
    const standing = (isSecure: boolean): HeaderList => [
      ...parts.security.for(isSecure).filter(isNotWritten),
      ...parts.origins.standing,
    ];
    this.#plain = standingHeaders(standing(false));
    this.#secured = standingHeaders(standing(true));
    const { connections, onConnectionsFull, tls } = config;
    this.#sockets = new SocketListener(
      { bounds: connections, nowMs, onFull: onConnectionsFull, tls },
      (response, request, tracked) => this.#handle(response, request, tracked),
    );
    this.#calls = new MemoryCalls(this.#sockets.connections, (response, request) =>
      this.#handle(response, request, null),
    );
  }

  /** Resolves with the port; rejects with `ListenError`. */
  async listen(host: string, port: number): Promise<number> {
    const listensAt = await this.#sockets.listen(host, port);
    this.attend();
    return listensAt;
  }

  /** In place of `listen`, where others listen and hand their requests over. */
  attend(): void {
    this.#rim.startSweeping();
  }

  /** A request that came to a port of others; `peer` is the address of its socket. */
  call(request: CallRequest, client: CallClient): MemoryCall {
    return this.#calls.begin(request, client);
  }

  inFlight(): number {
    return this.#rim.open;
  }

  /** Closes each connection with its next answer. */
  retire(): void {
    this.#rim.stopping = true;
  }

  /** Takes no new connections, and closes what is left after `drainMs`. */
  async stop(drainMs: number): Promise<void> {
    this.#sockets.stopListening();
    await this.#rim.drained(drainMs);
    this.#rim.stopSweeping();
    this.#sockets.close();
    this.#calls.close();
    this.#limits.close();
  }

  #handle(
    response: TransportResponse,
    request: TransportRequest,
    tracked: TrackedRequest | null,
  ): void {
    const method = request.getCaseSensitiveMethod();
    const exchange = new Exchange(response, this.#rim, method === 'HEAD', tracked);
    try {
      const arrival = this.#arrival(exchange, response, method, request);
      exchange.addHeaders(arrival.answerHeaders);
      if (!arrival.head.passes(exchange)) return;
      const refusal = this.#bounds.fault() ?? this.#edge(arrival);
      if (refusal !== null) refuse(exchange, refusal);
      else if (!this.#isPreflight(arrival)) this.#route(arrival);
    } catch (error) {
      exchange.failed('a request failed', error);
    }
  }

  #arrival(
    exchange: Exchange,
    response: TransportResponse,
    method: string,
    request: TransportRequest,
  ): Arrival {
    const { addresses, origins, clock } = this.#parts;
    const { addressHeader, tls } = this.#config;
    const arrival = new Arrival(exchange, response, method, request, addresses, clock.nowMs());
    let proto = '';
    this.#bounds.begin(arrival.targetBytes);
    request.forEach((name, value) => {
      this.#bounds.take(name, value);
      arrival.take(name, value);
      if (name === addressHeader) arrival.forwardedBy(value);
      else if (name === 'x-forwarded-proto') proto = value;
    });
    arrival.isSecure =
      tls !== null || (proto !== '' && isSecure(false, arrival.client.isPeerTrusted, proto));
    const origin = arrival.head.getHeader('origin');
    const standing = arrival.isSecure ? this.#secured : this.#plain;
    arrival.answerHeaders = origin === '' ? standing : [...standing, ...origins.headersFor(origin)];
    return arrival;
  }

  #edge(arrival: Arrival): Refusal | null {
    const { method, path, head, atMs } = arrival;
    const { rates, origins } = this.#parts;
    const isApi = API.test(path);
    const kind = isApi ? 'data' : 'web';
    const crowded = rates.has(kind) ? rates.take(kind, arrival.client.key, atMs) : null;
    if (crowded !== null) return crowded;
    if (head.bodyLength > this.#config.bodyBytesMax) return REFUSALS.bodyTooLarge;
    const claims = {
      method,
      host: head.getHeader('host'),
      origin: head.getHeader('origin'),
      referer: arrival.header('referer') ?? '',
      site: head.getHeader('sec-fetch-site'),
    };
    const cookie = arrival.header('cookie') ?? '';
    const hasCookie = cookie !== '' && (!isApi || this.#hasSession(cookie));
    return origins.fault(claims, hasCookie, isApi);
  }

  #hasSession(cookie: string): boolean {
    return this.#config.cookieNames.some((name) => cookieValue(cookie, name) !== null);
  }

  /** True: it was one, and is answered. */
  #isPreflight({ exchange, method, head }: Arrival): boolean {
    const origin = head.getHeader('origin');
    const asked = head.getHeader('access-control-request-method');
    if (method !== 'OPTIONS' || origin === '' || asked === '') return false;
    const answer = this.#parts.origins.preflight(origin);
    if (answer.status === 403) refuse(exchange, answer.refusal);
    else {
      exchange.addHeaders(answer.headers.filter(([name]) => PREFLIGHT_ONLY.has(name)));
      exchange.noContent();
    }
    return true;
  }

  #route(arrival: Arrival): void {
    const { exchange, method, path } = arrival;
    const target = this.#parts.targets.of(method, path);
    switch (target.kind) {
      case 'own':
        this.#own(arrival);
        break;
      case 'page':
        this.#page(arrival);
        break;
      case 'route':
        this.#admit(arrival, target);
        break;
      default:
        exchange.failed('a target of no kind', new Error(path));
    }
  }

  #own(arrival: Arrival): void {
    const { exchange, method, path } = arrival;
    const { health, jwks } = this.#parts.about;
    const isRead = method === 'GET' || method === 'HEAD';
    if (isRead && path === '/healthz') exchange.json('200 OK', JSON.stringify(health));
    else if (isRead && path === '/.well-known/jwks.json') {
      exchange.json('200 OK', JSON.stringify(jwks));
    } else this.#answerOwn(arrival);
  }

  /** A body that is too long is refused before anybody asks who sends it. */
  #answerOwn(arrival: Arrival): void {
    const { exchange, response, head } = arrival;
    if (head.bodyLength > this.#config.webBodyBytesMax) {
      refuse(exchange, REFUSALS.bodyTooLarge);
      return;
    }
    const body = new HeldBody(response, exchange, 'growing');
    const { routes, logger } = this.#parts;
    const cancel = this.#endLate(arrival);
    routes
      .answer(this.#ownRequest(arrival, body))
      .then((answer) => {
        if (exchange.open) answerOwn(exchange, answer, arrival.method === 'GET');
      })
      .catch((error: unknown) => {
        logger.error('an own route failed', error);
        if (exchange.open) refuse(exchange, INTERNAL);
      })
      .finally(cancel);
  }

  /** The edge's time of a request that is answered here. */
  #endLate({ exchange, path }: Arrival): Cancel {
    const ms = ownTimeoutMs(this.#config.timeouts, path);
    if (ms === null) return () => {};
    return this.#parts.clock.after(ms, () => {
      if (exchange.open) refuse(exchange, TIMED_OUT);
    });
  }

  #ownRequest(arrival: Arrival, body: BodySource): OwnRequest {
    const { method, path, query = '', client } = arrival;
    const { webBodyBytesMax } = this.#config;
    const saysSecure = isSecure(false, true, arrival.header('x-forwarded-proto') ?? '');
    return {
      method,
      path,
      query,
      header: (name) => arrival.header(name),
      clientKey: client.key,
      isSecure: arrival.isSecure || saysSecure,
      readBody: (bytesMax) =>
        new Promise((resolve) => {
          this.#readBody(arrival, body, Math.min(bytesMax, webBodyBytesMax), resolve);
        }),
    };
  }

  /** Files of the page are for everybody, the page itself for those who may see it. */
  #page(arrival: Arrival): void {
    const { exchange, response, path } = arrival;
    if (path.startsWith(ASSETS)) {
      this.#relay(arrival, PAGE, null, null, response);
      return;
    }
    const body = new HeldBody(response, exchange, 'growing');
    const cancel = this.#endLate(arrival);
    this.#parts.routes
      .gatePage(this.#ownRequest(arrival, body))
      .then((answer) => {
        if (!exchange.open) return;
        if (answer === null) this.#relay(arrival, PAGE, null, null, body);
        else answerOwn(exchange, answer, true);
      })
      .catch((error: unknown) => exchange.failed('a page failed', error))
      .finally(cancel);
  }

  /** `done` runs once, or never where the request is answered instead: too long, broken off. */
  #readBody(
    { exchange, head }: Arrival,
    source: BodySource,
    bytesMax: number,
    done: (body: Buffer) => void,
  ): void {
    const { bodyLength } = head;
    readBody(source, exchange, this.#rim, bodyLength, 'growing', bytesMax, done, TOO_LARGE_TEXT);
  }

  #admit(arrival: Arrival, target: RouteTarget): void {
    this.#admitted(arrival, this.#parts.passage.admit(arrival, target), arrival.response);
  }

  /** `source`: of the body; null: it was read. */
  #admitted(arrival: Arrival, admission: MaybePromise<Admission>, source: BodySource | null): void {
    const { exchange, response } = arrival;
    if (!(admission instanceof Promise)) {
      this.#decided(arrival, admission, source);
      return;
    }
    // Nothing of the body is read until the caller is known, and nothing of it is lost.
    const held = source === response ? new HeldBody(response, exchange, 'growing') : source;
    admission.then(
      (decided) => {
        if (exchange.open) this.#decided(arrival, decided, held);
        else if (decided.kind === 'admitted') decided.finish(null);
      },
      (error: unknown) => exchange.failed('a request failed', error),
    );
  }

  #decided(arrival: Arrival, decided: Admission, source: BodySource | null): void {
    if (decided.kind === 'refused') refuse(arrival.exchange, decided.refusal);
    else if (decided.kind === 'body') this.#readWanted(arrival, decided, source);
    else this.#goOn(arrival, decided, source);
  }

  #readWanted(arrival: Arrival, wanted: BodyWanted, source: BodySource | null): void {
    if (source === null) throw new Error('a body is read once');
    if (wanted.owner !== null) arrival.exchange.countFor(wanted.owner);
    const bytesMax = Math.min(wanted.bytesMax, this.#config.bodyBytesMax);
    this.#readBody(arrival, source, bytesMax, (body) => {
      try {
        this.#admitted(arrival, wanted.goOn(body), null);
      } catch (error) {
        arrival.exchange.failed('a request failed', error);
      }
    });
  }

  #goOn(arrival: Arrival, admitted: Admitted, source: BodySource | null): void {
    const { cluster, target } = admitted.passed;
    if (cluster !== null) arrival.exchange.countFor(cluster.id);
    const { body } = admitted;
    if (body !== null && isDirect(admitted, body)) this.#carryOut(arrival, admitted, cluster, body);
    else {
      const waitMs = waitMsOf(target, arrival.query ?? '');
      this.#relay(arrival, admitted, waitMs, cluster, source);
    }
  }

  #carryOut(
    arrival: Arrival,
    admitted: RelayedRequest,
    cluster: ClusterView | null,
    body: Buffer,
  ): void {
    const { exchange, method, path, query = '' } = arrival;
    const limit = this.#limitOf(arrival, admitted, null);
    const identity = this.#identity(cluster, admitted);
    const request = { method, path, query, body, identity };
    new Direct(exchange, admitted, this.#limits, limit).begin(this.#parts.upstream, request);
  }

  #relay(
    arrival: Arrival,
    admitted: RelayedRequest,
    waitMs: number | null,
    cluster: ClusterView | null,
    source: BodySource | null,
  ): void {
    const { exchange, response, method, path, query, head, answerHeaders } = arrival;
    const { upstream, clock } = this.#parts;
    const connection = arrival.header('connection');
    const chunked = arrival.header('transfer-encoding') !== undefined;
    const goesBy = admitted.body === null && (head.bodyLength > 0 || chunked);
    const limit = this.#limitOf(arrival, admitted, waitMs);
    const relay = new Relay(
      { upstream, clock, exchange, response, admitted, limit, headers: answerHeaders },
      {
        method,
        target: query === undefined ? path : `${path}?${query}`,
        headers: [
          ...arrival.headersThat((name) => isRelayed(name, connection)),
          [REQUEST_ID, this.#parts.newRequestId()],
        ],
        body: goesBy ? 'chunks' : admitted.body,
        // Budgets of the front are shared between clusters, and without one between addresses.
        peer: Buffer.from(cluster?.id ?? arrival.client.key),
        identity: this.#identity(cluster, admitted),
      },
    );
    // An answer that asked for no body may have been given already.
    if (!goesBy || source === null || !exchange.open) return;
    let bytes = 0;
    source.onData((chunk, isLast) => {
      bytes += chunk.byteLength;
      if (bytes > this.#config.bodyBytesMax) relay.refuse(REFUSALS.bodyTooLarge);
      else relay.bodyChunk(chunk, isLast);
    });
  }

  #limitOf({ path, atMs }: Arrival, admitted: RelayedRequest, waitMs: number | null): TimeLimit {
    const { timeoutMs } = admitted;
    const edgeMs = edgeTimeoutMs(this.#config.timeouts, path, waitMs);
    const leftMs = edgeMs === null ? timeoutMs : atMs + edgeMs - this.#parts.clock.nowMs();
    if (leftMs >= timeoutMs) return { ms: timeoutMs, refusal: REFUSALS.upstreamTimeout };
    // Whole: with a fraction hardly two requests would share an alarm (`time-limits.ts`).
    return { ms: Math.max(0, Math.floor(leftMs)), refusal: TIMED_OUT };
  }

  #identity(cluster: ClusterView | null, { isFacade }: RelayedRequest): Identity {
    const hasTenant = cluster !== null && this.#config.hasTenants;
    const tenant = hasTenant ? cluster.brokerTenant : DEFAULT_TENANT;
    const payloadBytesMax = cluster?.limits.max_payload_bytes ?? null;
    return { caller: isFacade ? FACADE : GATEWAY, tenant, payloadBytesMax };
  }
}

const GATEWAY: Caller = {
  kind: 'caller',
  subject: null,
  roles: ROLE_BITS.admin | POPS_MAKE_NO_QUEUE | SEES_ITS_TENANT_ALONE,
};
const FACADE: Caller = { ...GATEWAY, roles: GATEWAY.roles | KV_NEEDS_NO_GRANT };
const REQUEST_ID = 'x-svc-request-id';
const TOO_LARGE_TEXT = refusalText(REFUSALS.bodyTooLarge);
const ASSETS = '/assets/';
const PAGE_TIMEOUT_MS = 35_000;
const PAGE: RelayedRequest = {
  isFacade: false,
  countsAnswer: false,
  timeoutMs: PAGE_TIMEOUT_MS,
  finish: () => {},
  whenCounted: (send) => send(),
  body: null,
};

/** The others are among the headers of every answer. */
const PREFLIGHT_ONLY: ReadonlySet<string> = new Set([
  'Access-Control-Allow-Methods',
  'Access-Control-Allow-Headers',
  'Access-Control-Max-Age',
]);

/** Every exchange writes it. */
function isNotWritten([name]: readonly [string, string]): boolean {
  return name !== 'X-Content-Type-Options';
}
