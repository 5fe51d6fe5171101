/**
 * The HTTP front of the process. It outlives a node that is opened anew: its port stays open, and
 * requests are refused while there is nobody to take them.
 */
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Gateway } from '@svc/gateway';
import {
  type ConnectionBounds,
  createServer,
  type HttpServer,
  isLoopback,
  type LoopShare,
  type Service,
  visitUrl,
} from '@svc/http';
import { type HealthAnswer, type Meters, VERSION } from '@svc/wire';
import { hostAndPortText } from '../config/addresses.js';
import type { Config } from '../config/config.js';
import { openEmbeddedGateway } from '../gateway/embedded.js';
import { gatewaySettings, isFronted } from '../gateway/settings.js';
import type { Cancel, Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';
import { logRates } from '../system/logging-rates.js';
import { sizesOf, totalsOf } from '../system/logging-totals.js';
import type { RandomSource } from '../system/random.js';
import type { TokenAuthenticator } from '../tokens/authenticator.js';
import { connectionBounds, readFileLimit } from './connection-bounds.js';
import { authenticatorFor, frontOptions, threadsOf } from './front-options.js';
import { type FrontThreadHangsError, FrontThreads } from './front-threads.js';
import type { CoreService } from './thread-server.js';

/** Built beside the node; this file runs from packages/broker/dist, one folder below. */
const DASHBOARD_DIRECTORY = fileURLToPath(
  new URL('../../../../dashboard/dist/site', import.meta.url),
);

/** A line a minute tells of refused connections; their number stands in it. */
const TELL_FULL_MS = 60_000;

export interface NodeFrontOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The highest cluster version that this build reads. */
  readonly readableVersion: number;
  readonly meters: Meters;
  /** The share of this thread's loop. */
  readonly loop: LoopShare;
  /** The program that front threads run; null: there are none. */
  readonly threadProgram: URL | null;
  readonly random: RandomSource;
  /** A setting of the gateway cannot be: the process must end. */
  readonly onFatal: (error: Error) => void;
  /** As of `FrontThreads`. */
  readonly onHang: (error: FrontThreadHangsError) => void;
}

/** The broker, as far as the front asks it. */
export type FrontService = Service & CoreService;

export class NodeFront {
  readonly #options: NodeFrontOptions;
  /** Serves the port, or what front threads pass on. */
  readonly #http: HttpServer;
  /** null: the port is served here. */
  readonly #threads: FrontThreads | null;
  readonly #authenticator: TokenAuthenticator | null;
  readonly #bounds: ConnectionBounds;
  #gateway: Gateway | null = null;
  #service: FrontService | null = null;
  #listening = false;
  #stopRates: Cancel = () => {};
  #toldFullMs = Number.NEGATIVE_INFINITY;

  /** Throws `NativeBuildMissingError` and `StaticFilesError`. */
  constructor(options: NodeFrontOptions) {
    const { config, clock, logger, readableVersion, meters } = options;
    this.#options = options;
    const threads = threadsToServe(options);
    const { bounds, warning } = connectionBounds(config, readFileLimit(), threads);
    if (warning !== null) logger.warn('boot', warning);
    this.#bounds = bounds;
    this.#authenticator = authenticatorFor(options);
    this.#http = createServer(
      {
        ...frontOptions(options),
        dashboardDirectory: DASHBOARD_DIRECTORY,
        authenticator: this.#authenticator,
        meters,
        loop: options.loop,
        connections: bounds,
        onConnectionsFull: (open, refused) => this.#tellFull(bounds.max, open, refused),
      },
      { monotonicMs: () => clock.nowMs(), health: () => unready(readableVersion) },
    );
    const { threadProgram } = options;
    this.#threads =
      threadProgram === null || threads === 0
        ? null
        : new FrontThreads({
            ...options,
            front: this.#http,
            gateway: () => this.#gateway,
            threads,
            program: threadProgram,
            bounds,
            onConnectionsFull: (max, open, refused) => this.#tellFull(max, open, refused),
          });
  }

  /** null: requests are refused, `/health` says why not. */
  serve(service: FrontService | null): void {
    this.#service = service;
    this.#http.serve(service);
    this.#threads?.serve(service);
  }

  /** May be called again; rejects with `ListenError`. */
  async listen(): Promise<void> {
    if (this.#listening) return;
    this.#listening = true;
    const { config } = this.#options;
    const { meters } = this.#http;
    const sizes = () => (this.#service === null ? null : sizesOf(this.#service));
    this.#stopRates = logRates(this.#options, config.logRatesMs, () => totalsOf(meters), sizes);
    // First: whoever asks the plain port for the node's health asks whether it serves.
    if (config.gatewayEmbedded) this.#gateway = await this.#openGateway();
    if (this.#threads !== null) await this.#listenByThreads(this.#threads);
    else if (!isFronted(config)) {
      this.#tellPlain(await this.#http.listen(config.bindAddress, config.port), '');
    }
  }

  #openGateway(): Promise<Gateway> {
    return openEmbeddedGateway({
      ...this.#options,
      front: this.#http,
      service: () => this.#service,
      listens: this.#threads === null,
      connections: this.#bounds,
      onConnectionsFull: (open, refused) => this.#tellFull(this.#bounds.max, open, refused),
    });
  }

  async #listenByThreads(threads: FrontThreads): Promise<void> {
    const { config, logger } = this.#options;
    const { bindAddress: host, port } = config;
    const plain = isFronted(config) ? null : { host, port };
    const gateway = config.gatewayEmbedded ? gatewaySettings(config) : null;
    const by = `, by ${threads.count} front threads`;
    if (plain !== null) this.#http.attend(host);
    const ports = await threads.listen({
      plain,
      gateway: gateway && { host: gateway.host, port: gateway.port, tls: gateway.tls },
    });
    if (ports === null) return;
    if (gateway !== null) {
      const place = { host: gateway.host, port: ports.gateway ?? 0 };
      const url = visitUrl(gateway.tls === null ? 'http' : 'https', place.host, place.port);
      logger.info('gateway', `listening${by}`, { ...place, enforce: config.gatewayEnforce, url });
    }
    if (ports.plain !== null) this.#tellPlain(ports.plain, by);
  }

  #tellPlain(port: number, by: string): void {
    const { config, logger } = this.#options;
    const host = config.bindAddress;
    const address = hostAndPortText({ host, port });
    const url = visitUrl('http', host, port);
    logger.info('http', `listening on ${address}${by}: dashboard and API at ${url}`);
    if (!config.jwtEnabled && !isLoopback(host)) logger.warn('http', openNodeText(address));
  }

  #tellFull(max: number, open: number, refused: number): void {
    const { clock, logger } = this.#options;
    const nowMs = clock.nowMs();
    if (nowMs - this.#toldFullMs < TELL_FULL_MS) return;
    this.#toldFullMs = nowMs;
    const text = 'connections are refused: as many are open as may be, by all or by one address';
    logger.warn('http', text, { open, max, refused });
  }

  /** As `HttpServer.retire`. */
  retire(): void {
    this.#gateway?.retire();
    this.#threads?.retire();
    this.#http.retire();
  }

  /** Resolves when every request in flight has its answer, after `drainMs` at the latest. */
  async stop(drainMs: number): Promise<void> {
    const { gatewayDrainMs } = this.#options.config;
    const gatewayMs = Math.min(drainMs, gatewayDrainMs);
    // Requests in flight in the threads are in flight here.
    await Promise.all([this.#gateway?.close(gatewayMs), this.#threads?.stop(drainMs)]);
    await this.#http.stop(drainMs);
    this.#stopRates();
    this.#authenticator?.close();
  }
}

/** Says so where more are asked for than there can be. */
function threadsToServe({ config, logger, threadProgram }: NodeFrontOptions): number {
  if (threadProgram === null) return 0;
  const threads = threadsOf(config, availableParallelism(), process.platform);
  if (threads < (config.httpThreads ?? 0)) {
    logger.warn('boot', 'SVC_HTTP_THREADS counts on Linux alone: there are no front threads');
  }
  return threads;
}

/** Such a node is right behind a proxy or in a closed network, and nowhere else. */
function openNodeText(address: string): string {
  return (
    `no tokens are asked for, and ${address} is not loopback: whoever reaches it may push, ` +
    'consume, delete and configure. Set JWT_ENABLED=true and a key, or SVC_BIND_ADDR=127.0.0.1, ' +
    'or let only a proxy and the other nodes reach it'
  );
}

/** The health of a node that is not open: it applied nothing, and belongs to no cluster as yet. */
function unready(readableVersion: number): HealthAnswer {
  return {
    status: 'settling',
    engine: 'raft',
    version: VERSION,
    raft: {
      role: 'learner',
      leader: false,
      term: 0,
      applied: 0,
      commit: 0,
      lag: 0,
      storageReady: false,
      clusterVersion: readableVersion,
      kinds: readableVersion,
    },
  };
}
