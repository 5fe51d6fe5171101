/**
 * The front as a whole: listens, takes each request through its stages, and stops.
 *
 *     head -> caller? -> route? -> tenant? -> room for the answer? -> body: budget, pace -> route
 *      \-> 401, 403  \-> 404, page \-> 400, 403 \-> 503         \-> 400, 408, 413, 501, 503
 *
 * Before all of them stands the door (`door.ts`), which refuses pages of other origins with 403.
 *
 * With tokens checked, the caller comes first, before anything is said about paths or tenants; who
 * calls is mostly known at once, and otherwise the request waits with its body unread
 * (`held-body.ts`).
 *
 * A route validates the request and hands a command to the service; the answer comes back through a
 * `Reply`, in this turn or any later one, and is rendered then. A route that throws costs its own
 * request a 500 and nothing else.
 */
import type { Subscription } from '@svc/engine';
import {
  BODY_BYTES_DEFAULT,
  type HealthAnswer,
  type Meters,
  newMeters,
  POP_TIMEOUT_MS_DEFAULT,
  RESERVED_TENANT,
  TENANT_HEADER,
} from '@svc/wire';
import {
  DRAIN_MS_DEFAULT,
  KV_LIMITS,
  type KvLimits,
  SCANNED_BODY_BYTES_MIN,
  TIMER_CALL_DEFAULTS,
  type TimerCallLimits,
} from '../base/limits.js';
import { answerHealth, healthEndpoint } from '../endpoints/node/status.js';
import type { Authenticator, Caller, CheckedCaller } from '../exchange/access-level.js';
import { type AccessLevel, satisfies, UNKNOWN_PATH_LEVEL } from '../exchange/access-level.js';
import type { BodyShare } from '../exchange/body-budget.js';
import { readBody } from '../exchange/body-reader.js';
import {
  type ConnectionBounds,
  type Connections,
  type OnFull,
  type TrackedRequest,
  UNBOUNDED,
} from '../exchange/connections.js';
import { DOOR_DEFAULTS, Door, type DoorOptions } from '../exchange/door.js';
import {
  ANSWERS_OVERLOADED_REFUSAL,
  AUTH_REQUIRED_TEXT,
  badBodyText,
  badRequest,
  INSUFFICIENT_TEXT,
  RESERVED_TENANT_REFUSAL,
  RequestFault,
  UNREADY_REFUSAL,
} from '../exchange/errors.js';
import { Exchange } from '../exchange/exchange.js';
import { HeldBody } from '../exchange/held-body.js';
import { findLongValues } from '../exchange/long-values.js';
import type { LoopShare } from '../exchange/loop-share.js';
import type { CallClient, CallRequest, Identity, MemoryCall } from '../exchange/memory-call.js';
import { MemoryCalls } from '../exchange/memory-calls.js';
import { OpenPaths } from '../exchange/open-paths.js';
import { WHOLE_LIST } from '../exchange/paging.js';
import { type DecodeFault, isFault } from '../exchange/query.js';
import { Head, INVALID_TENANT_TEXT, readHead, tenantOfHeader } from '../exchange/request-head.js';
import { type FrontLogger, ListenerRim } from '../exchange/rim.js';
import {
  formFor,
  isHeld,
  isPageRead,
  PAGE_HEADERS,
  type StaticFile,
  StaticFiles,
} from '../exchange/static-files.js';
import type { BodySource, TransportRequest, TransportResponse } from '../exchange/transport.js';
import { Zstd } from '../exchange/zstd.js';
import { GATE_DEFAULTS, Gate, type GateOptions } from '../gate/gate.js';
import { GateElsewhere } from '../gate/gate-elsewhere.js';
import { JsonError } from '../json/json-error.js';
import { Scraper } from '../metrics/scrape.js';
import type { Service } from '../ports/service.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../routing/route.js';
import { type RouteMatch, Router } from '../routing/router.js';
import { type Elsewhere, passedRequest } from './elsewhere.js';
import { ROUTES } from './routes.js';
import { SocketListener } from './socket-listener.js';

export interface HttpServerOptions {
  readonly logger: FrontLogger;
  /** `SVC_MAX_BODY_BYTES`; 64 MiB when absent. */
  readonly bodyBytesMax?: number;
  /** Bodies in memory over all connections, from admission to answer; pushes and the like. */
  readonly bodyBytesInFlightMax?: number;
  /** The same for acks and lease renewals. */
  readonly drainBodyBytesInFlightMax?: number;
  /**
   * Bytes of large answers that slow readers may leave waiting before others are refused; for pops
   * and for all else each.
   */
  readonly answerBytesInFlightMax?: number;
  /** `SVC_TENANCY_HEADER`; off when absent. */
  readonly tenancyHeader?: boolean;
  /** The `timeout` of a pop that names none; 30,000 when absent. */
  readonly popTimeoutMs?: number;
  /** `DEFAULT_SUBSCRIPTION_MODE`; `all` when absent. */
  readonly defaultSubscriptionMode?: 'all' | 'new';
  /** The built dashboard; without it, paths outside the API are 404. */
  readonly dashboardDirectory?: string;
  /** Knows the callers; without it every route is open to everybody. */
  readonly authenticator?: Authenticator | null;
  /** `JWT_SKIP_PATHS`: paths that need no token, besides those that are public anyhow. */
  readonly skipPaths?: readonly string[];
  /** `SVC_SERVER_ID`, for `/auth/me`. */
  readonly serverId?: string;
  /** Bounds of connections; unbounded when left out. */
  readonly connections?: ConnectionBounds;
  readonly onConnectionsFull?: OnFull;
  /**
   * Rules for `Host` and `Origin`. When left out, every name is served and no other origin is
   * allowed.
   */
  readonly door?: DoorOptions;
  /** Rates and grants of the state surfaces; the contract's standard when absent. */
  readonly gate?: GateOptions;
  /** Limits of key/value calls; the contract's when absent. */
  readonly kvLimits?: KvLimits;
  /** Limits of calls on timers; the contract's when absent. */
  readonly timerLimits?: TimerCallLimits;
  /** Share of this thread's loop, where others take part in it; one of its own without it. */
  readonly loop?: LoopShare;
  /** What the process counts; an object of its own without it. */
  readonly meters?: Meters;
  /** null or absent: every route is served here. */
  readonly elsewhere?: Elsewhere | null;
  /** Others listen on the same port, and each gets a part of the connections. */
  readonly sharesPort?: boolean;
}

/** A request whose caller is known and whose body is there. */
export interface ReadRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Behind `?`. */
  readonly query: string;
  readonly body: Buffer;
  readonly identity: Identity;
}

/** What there is to say while nothing can be served: the node is being opened. */
export interface Unready {
  monotonicMs(): number;
  health(): HealthAnswer;
}

export interface HttpServer {
  /**
   * Requests go to `service` from now on. Until this is called for the first time, and while it is
   * null, every route of the API is answered 503 `no_leader`, but for `/health`.
   */
  serve(service: Service | null): void;
  readonly meters: Meters;
  /** Requests that have not been answered; parked pops are among them. */
  inFlight(): number;
  /** Connections of clients. */
  readonly connections: Connections;
  /** Its exchanges share it. */
  readonly rim: ListenerRim;
  /** Asked by its handlers, unless it has `elsewhere`, and for the requests of front threads. */
  readonly gate: Gate;
  /**
   * A request that was parsed elsewhere; its answer goes to `client`. Of calls at once there may be
   * as many as of connections; one more is answered 503.
   */
  call(request: CallRequest, client: CallClient): MemoryCall;
  /** A request that somebody else has read and admitted, on the exchange of its client. */
  carryOut(request: ReadRequest, exchange: Exchange): void;
  /** Resolves with the port, which the system chooses for 0; rejects with `ListenError`. */
  listen(host: string, port: number): Promise<number>;
  /** In place of `listen`, where others listen at this host and hand their requests over. */
  attend(host: string): void;
  /**
   * From here on each connection is closed with its next answer, so that whoever keeps connections
   * finds another node for the request after it. New ones are still taken.
   */
  retire(): void;
  /**
   * Takes no new connections, lets requests in flight be answered for at most `drainMs`, closing
   * each connection with its answer, then closes what is left. May be called more than once; the
   * shortest time counts.
   */
  stop(drainMs?: number): Promise<void>;
}

/** `first` serves until `serve`. Throws `NativeBuildMissingError` and `StaticFilesError`. */
export function createServer(options: HttpServerOptions, first: Service | Unready): HttpServer {
  return new FrontServer(options, first);
}

const NO_BODY = Buffer.alloc(0);

/** A request whose head is there. */
interface Arrival {
  readonly exchange: Exchange;
  readonly method: string;
  readonly path: string;
  readonly match: RouteMatch | DecodeFault | null;
  readonly head: Head;
  /** A Buffer: the whole body, which was read. */
  readonly source: BodySource | Buffer;
  /** null: the head tells who calls. */
  readonly identity: Identity | null;
}

class FrontServer implements HttpServer {
  readonly meters: Meters;
  readonly connections: Connections;
  readonly rim: ListenerRim;
  readonly #listener: SocketListener;
  readonly #frontParts: Omit<Front, 'service'>;
  readonly #door: Door;
  readonly gate: Gate;
  readonly #unready: Unready;
  /** null while nothing can be served. */
  #front: Front | null;
  readonly #router = new Router(ROUTES);
  readonly #files: StaticFiles;
  readonly #authenticator: Authenticator | null;
  readonly #openPaths: OpenPaths;
  readonly #tenancyHeader: boolean;
  readonly #bodyBytesMax: number;
  readonly #elsewhere: Elsewhere | null;
  readonly #calls: MemoryCalls;
  #stopped: Promise<void> | null = null;

  constructor(options: HttpServerOptions, first: Service | Unready) {
    const nowMs = () => first.monotonicMs();
    this.meters = options.meters ?? newMeters();
    this.rim = new ListenerRim({ ...options, nowMs });
    this.#authenticator = options.authenticator ?? null;
    this.#openPaths = new OpenPaths(options.skipPaths ?? []);
    this.#tenancyHeader = options.tenancyHeader ?? false;
    this.#door = new Door(options.door ?? DOOR_DEFAULTS);
    this.#bodyBytesMax = options.bodyBytesMax ?? BODY_BYTES_DEFAULT;
    this.#elsewhere = options.elsewhere ?? null;
    this.#files = new StaticFiles(options.dashboardDirectory ?? null);
    const defaultSubscription: Subscription = { mode: options.defaultSubscriptionMode ?? 'all' };
    this.gate = new Gate(options.gate ?? GATE_DEFAULTS, this.meters, nowMs);
    this.#frontParts = {
      meters: this.meters,
      scraper: new Scraper((error) => options.logger.error('a scrape failed', error)),
      gate: this.#elsewhere === null ? this.gate : new GateElsewhere(this.#elsewhere.askGate),
      kvLimits: options.kvLimits ?? KV_LIMITS,
      timers: { limits: options.timerLimits ?? TIMER_CALL_DEFAULTS, zstd: new Zstd(nowMs) },
      popTimeoutMs: options.popTimeoutMs ?? POP_TIMEOUT_MS_DEFAULT,
      defaultSubscription,
      checksTokens: this.#authenticator !== null,
      serverId: options.serverId ?? '',
    };
    this.#unready = first;
    this.#front = null;
    this.serve(isService(first) ? first : null);
    this.#listener = new SocketListener(
      {
        bounds: options.connections ?? UNBOUNDED,
        nowMs,
        onFull: options.onConnectionsFull ?? (() => {}),
        tls: null,
        sharesPort: options.sharesPort ?? false,
      },
      (response, request, tracked, method) =>
        this.#handle(response, request, tracked, null, method),
    );
    this.connections = this.#listener.connections;
    this.#calls = new MemoryCalls(this.connections, (response, request, identity) => {
      // It may be that nobody ever listens.
      this.rim.startSweeping();
      this.#handle(response, request, null, identity, request.getCaseSensitiveMethod());
    });
  }

  serve(service: Service | null): void {
    this.gate.follow(service?.surfaces ?? null);
    this.#front = service === null ? null : { ...this.#frontParts, service };
  }

  inFlight(): number {
    return this.rim.open;
  }

  call(request: CallRequest, client: CallClient): MemoryCall {
    return this.#calls.begin(request, client);
  }

  carryOut({ method, path, query, body, identity }: ReadRequest, exchange: Exchange): void {
    try {
      const match = this.#router.match(method, path);
      const head = new Head(query);
      const arrival = { exchange, method, path, match, head, source: body, identity };
      this.#judged(arrival, levelOf(match), identity.caller);
    } catch (error) {
      this.#failed(exchange, error, ROUTE_DEFAULTS.badBody);
    }
  }

  async listen(host: string, port: number): Promise<number> {
    const listensAt = await this.#listener.listen(host, port);
    this.attend(host);
    return listensAt;
  }

  attend(host: string): void {
    this.#door.listensAt(host);
    this.rim.startSweeping();
  }

  retire(): void {
    this.rim.stopping = true;
  }

  stop(drainMs = DRAIN_MS_DEFAULT): Promise<void> {
    this.#listener.stopListening();
    const drained = this.rim.drained(drainMs);
    this.#stopped ??= this.#closeAfter(drained);
    return this.#stopped;
  }

  async #closeAfter(drained: Promise<void>): Promise<void> {
    await drained;
    this.rim.stopSweeping();
    this.#frontParts.timers.zstd.stop();
    this.#listener.close();
    this.#calls.close();
  }

  /** Reads all it needs of `request` before it returns: the object is only lent. */
  #handle(
    response: TransportResponse,
    request: TransportRequest,
    tracked: TrackedRequest | null,
    identity: Identity | null,
    method: string,
  ): void {
    const path = request.getUrl();
    const exchange = new Exchange(response, this.rim, method === 'HEAD', tracked);
    try {
      const match = this.#router.match(method, path);
      const head = readHead(request, !ignoresQuery(match));
      if (!head.passes(exchange)) return;
      const isVouchedFor = identity !== null;
      if (!isVouchedFor && !this.#door.admits(exchange, head, method, path, match === null)) return;
      this.#arrived({ exchange, method, path, match, head, source: response, identity }, response);
    } catch (error) {
      this.#failed(exchange, error, ROUTE_DEFAULTS.badBody);
    }
  }

  #arrived(arrival: Arrival, response: TransportResponse): void {
    const { exchange, head, match, identity } = arrival;
    const authenticator = this.#authenticator;
    const level = levelOf(match);
    if (identity !== null) {
      this.#judged(arrival, level, identity.caller);
      return;
    }
    if (authenticator === null || level === 'public' || this.#isOpen(arrival)) {
      this.#admitted(arrival, null);
      return;
    }
    const verdict = authenticator.check(head.getHeader('authorization'));
    if (!(verdict instanceof Promise)) {
      this.#judged(arrival, level, verdict);
      return;
    }
    const share = match === null || isFault(match) ? null : match.route.body;
    const held = share === null ? null : new HeldBody(response, exchange, share);
    const kept = { ...arrival, source: held ?? response };
    verdict.then((later) => {
      if (!exchange.open) return;
      this.#judged(kept, level, later);
    });
  }

  /** The dashboard holds no data: its files are public, and so is its page under every path. */
  #isOpen({ method, path, match }: Arrival): boolean {
    return this.#openPaths.has(path) || (match === null && isPageRead(method, path));
  }

  #judged(arrival: Arrival, level: AccessLevel, verdict: CheckedCaller): void {
    const { exchange } = arrival;
    if (verdict.kind === 'unauthenticated') {
      const { status, error } = verdict;
      if (level === 'known' && status === '401 Unauthorized') {
        exchange.json(status, AUTH_REQUIRED_TEXT);
        return;
      }
      const retryAfter = status === '503 Service Unavailable';
      exchange.json(status, JSON.stringify({ error }), retryAfter);
    } else if (satisfies(verdict.roles, level)) this.#admitted(arrival, verdict);
    else exchange.json('403 Forbidden', INSUFFICIENT_TEXT);
  }

  #admitted(arrival: Arrival, caller: Caller | null): void {
    const { exchange, match } = arrival;
    try {
      if (match === null) this.#unmatched(arrival);
      else if (isFault(match)) exchange.refuse(badRequest(match.fault));
      else this.#matched(arrival, match, caller);
    } catch (error) {
      this.#failed(exchange, error, ROUTE_DEFAULTS.badBody);
    }
  }

  #matched(arrival: Arrival, match: RouteMatch, caller: Caller | null): void {
    const { exchange, head } = arrival;
    const subject = caller?.subject ?? null;
    const roles = caller?.roles ?? null;
    const payloadBytesMax = arrival.identity?.payloadBytesMax ?? null;
    const { route, params } = match;
    if (this.#elsewhere?.serves(route)) {
      this.#passOn(arrival, this.#elsewhere, route.body);
      return;
    }
    const front = this.#front;
    if (front === null) {
      this.#refuseUnready(exchange, route);
      return;
    }
    const tenant = this.#tenantOf(arrival, route);
    if (tenant === null) return;
    if (route.largeAnswer !== null) {
      if (!route.reserves && !this.rim.answers.admits(route.largeAnswer)) {
        exchange.refuse(ANSWERS_OVERLOADED_REFUSAL);
        return;
      }
      // What has changed something is told in any case.
      exchange.answerInto(route.largeAnswer, !route.reserves && route.method !== 'DELETE');
    }
    const query = head.getQuery();
    const page = WHOLE_LIST;
    if (route.body === null) {
      const body = NO_BODY;
      route.handle(front, {
        exchange,
        tenant,
        subject,
        roles,
        payloadBytesMax,
        params,
        query,
        page,
        body,
      });
      return;
    }
    this.#readBody(arrival, route.body, (body) =>
      this.#handleWithBody(match, {
        exchange,
        tenant,
        subject,
        roles,
        payloadBytesMax,
        params,
        query,
        page,
        body,
      }),
    );
  }

  /** `share`: of its body; null: it is not read. */
  #passOn(arrival: Arrival, elsewhere: Elsewhere, share: BodyShare | null): void {
    const { exchange, method, path, head } = arrival;
    const pass = (body: Uint8Array | null) =>
      elsewhere.pass(passedRequest(method, path, head, body), exchange);
    if (share === null) pass(null);
    else this.#readBody(arrival, share, pass);
  }

  #readBody(
    { source, exchange, head }: Arrival,
    share: BodyShare,
    done: (body: Buffer) => void,
  ): void {
    if (Buffer.isBuffer(source)) done(source);
    else readBody(source, exchange, this.rim, head.bodyLength, share, this.#bodyBytesMax, done);
  }

  /** null: the request has been refused. */
  #tenantOf({ exchange, head, identity }: Arrival, route: Route): string | null {
    if (identity !== null) return identity.tenant;
    const tenantHeader = this.#tenancyHeader && route.scoped ? head.getHeader(TENANT_HEADER) : '';
    const tenant = tenantOfHeader(tenantHeader);
    if (tenant === null) exchange.json('400 Bad Request', INVALID_TENANT_TEXT);
    else if (tenant === RESERVED_TENANT) exchange.refuse(RESERVED_TENANT_REFUSAL);
    else return tenant;
    return null;
  }

  #handleWithBody(match: RouteMatch, request: RouteRequest): void {
    const front = this.#front;
    if (front === null) {
      this.#refuseUnready(request.exchange, match.route);
      return;
    }
    const { exchange, body } = request;
    const { route } = match;
    if (body.length < SCANNED_BODY_BYTES_MIN) this.#route(front, route, request);
    else findLongValues(exchange, body, () => this.#route(front, route, request));
  }

  #route(front: Front, route: Route, request: RouteRequest): void {
    try {
      route.handle(front, request);
    } catch (error) {
      this.#failed(request.exchange, error, route.badBody);
    }
  }

  #refuseUnready(exchange: Exchange, route: Route): void {
    if (route === healthEndpoint) answerHealth(exchange, this.#unready.health());
    else exchange.refuse(UNREADY_REFUSAL);
  }

  /**
   * Outside the API, GET and HEAD are served from the dashboard; all else is 404, also a known path
   * with another method (decisions 6).
   */
  #unmatched(arrival: Arrival): void {
    if (this.#elsewhere !== null) {
      this.#passOn(arrival, this.#elsewhere, null);
      return;
    }
    const { exchange, head, method, path } = arrival;
    const file = isPageRead(method, path) ? this.#files.find(path) : null;
    if (file !== null) {
      sendFile(exchange, head, file);
      return;
    }
    const text = `{"error":"no_such_route","code":"no_such_route","path":${JSON.stringify(path)}}`;
    exchange.json('404 Not Found', text);
  }

  #failed(exchange: Exchange, error: unknown, badBody: string): void {
    if (error instanceof JsonError) {
      exchange.json('400 Bad Request', badBodyText(badBody, error.message));
    } else if (error instanceof RequestFault) {
      exchange.json(error.refused.status, error.refused.text);
    } else exchange.failed('a request failed', error);
  }
}

function sendFile(exchange: Exchange, head: Head, file: StaticFile): void {
  const { contentType, cacheControl, forms } = file;
  const form = formFor(file, head.getHeader('accept-encoding'));
  exchange.addHeaders([...PAGE_HEADERS, ['ETag', form.entityTag]]);
  if (forms.length > 1) exchange.addHeaders([['Vary', 'Accept-Encoding']]);
  if (isHeld(form, head.getHeader('if-none-match'))) {
    exchange.addHeaders([['Cache-Control', cacheControl]]);
    exchange.notModified();
    return;
  }
  if (form.encoding !== '') exchange.addHeaders([['Content-Encoding', form.encoding]]);
  exchange.bytes('200 OK', contentType, form.bytes, cacheControl);
}

function isService(first: Service | Unready): first is Service {
  return 'submit' in first;
}

function ignoresQuery(match: RouteMatch | DecodeFault | null): boolean {
  return match !== null && !isFault(match) && match.route.ignoresQuery;
}

function levelOf(match: RouteMatch | DecodeFault | null): AccessLevel {
  return match === null || isFault(match) ? UNKNOWN_PATH_LEVEL : match.route.level;
}
