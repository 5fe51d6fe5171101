/**
 * The HTTP front of the process. It outlives a node that is opened anew: its port stays open, and
 * requests are refused while there is nobody to take them.
 */
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import {
  createServer,
  type GateOptions,
  type HttpServer,
  isLoopback,
  type Service,
} from '@svc/http';
import { type HealthAnswer, type Meters, VERSION } from '@svc/wire';
import { hostAndPortText } from '../config/addresses.js';
import type { Config } from '../config/config.js';
import type { Cancel, Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';
import { logRates } from '../system/logging-rates.js';
import { sizesOf, totalsOf } from '../system/logging-totals.js';
import { TokenAuthenticator } from '../tokens/authenticator.js';
import { connectionBounds, readFileLimit } from './connection-bounds.js';

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
}

export class NodeFront {
  readonly #options: NodeFrontOptions;
  readonly #http: HttpServer;
  readonly #authenticator: TokenAuthenticator | null;
  #service: Service | null = null;
  #listening = false;
  #stopRates: Cancel = () => {};
  #toldFullMs = Number.NEGATIVE_INFINITY;

  /** Throws `NativeBuildMissingError` and `StaticFilesError`. */
  constructor(options: NodeFrontOptions) {
    const { config, clock, logger, readableVersion, meters } = options;
    this.#options = options;
    const { bounds, warning } = connectionBounds(config, readFileLimit());
    if (warning !== null) logger.warn('boot', warning);
    this.#authenticator = config.jwtEnabled ? authenticatorOf(options) : null;
    this.#http = createServer(
      {
        logger: { error: (text, error) => logger.error('http', text, { error: String(error) }) },
        bodyBytesMax: config.bodyBytesMax,
        tenancyHeader: config.tenancyHeader,
        popTimeoutMs: config.popTimeoutMs,
        defaultSubscriptionMode: config.defaultSubscriptionMode,
        dashboardDirectory: DASHBOARD_DIRECTORY,
        authenticator: this.#authenticator,
        skipPaths: config.jwtSkipPaths,
        serverId: config.serverId,
        meters,
        connections: bounds,
        onConnectionsFull: () => this.#tellFull(bounds.max),
        door: {
          allowedOrigins: config.allowedOrigins,
          allowedHosts: config.allowedHosts,
          machineName: hostname(),
        },
        gate: gateOptionsOf(config),
        kvLimits: {
          opsMax: config.kvOpsMax,
          keysMax: config.kvKeysMax,
          valueBytesMax: config.kvValueBytesMax,
        },
        timerLimits: {
          opsMax: config.timerOpsMax,
          payloadBytesMax: config.timerPayloadBytesMax,
          horizonSeconds: config.timerHorizonSeconds,
        },
      },
      { monotonicMs: () => clock.nowMs(), health: () => unready(readableVersion) },
    );
  }

  /** null: requests are refused, `/health` says why not. */
  serve(service: Service | null): void {
    this.#service = service;
    this.#http.serve(service);
  }

  /** May be called again; rejects with `ListenError`. */
  async listen(): Promise<void> {
    if (this.#listening) return;
    this.#listening = true;
    const { config, logger } = this.#options;
    const { meters } = this.#http;
    const sizes = () => (this.#service === null ? null : sizesOf(this.#service));
    this.#stopRates = logRates(this.#options, config.logRatesMs, () => totalsOf(meters), sizes);
    const host = config.bindAddress;
    const port = await this.#http.listen(host, config.port);
    const address = hostAndPortText({ host, port });
    logger.info('http', `listening on ${address}`);
    if (!config.jwtEnabled && !isLoopback(host)) logger.warn('http', openNodeText(address));
  }

  #tellFull(max: number): void {
    const { clock, logger } = this.#options;
    const nowMs = clock.nowMs();
    if (nowMs - this.#toldFullMs < TELL_FULL_MS) return;
    this.#toldFullMs = nowMs;
    const { open, refused } = this.#http.connections;
    const text = 'connections are refused: as many are open as may be, by all or by one address';
    logger.warn('http', text, { open, max, refused });
  }

  /** As `HttpServer.retire`. */
  retire(): void {
    this.#http.retire();
  }

  /** Resolves when every request in flight has its answer, after `drainMs` at the latest. */
  async stop(drainMs: number): Promise<void> {
    await this.#http.stop(drainMs);
    this.#stopRates();
    this.#authenticator?.close();
  }
}

/** Such a node is right behind a proxy or in a closed network, and nowhere else. */
function openNodeText(address: string): string {
  return (
    `no tokens are asked for, and ${address} is not loopback: whoever reaches it may push, ` +
    'consume, delete and configure. Set JWT_ENABLED=true and a key, or SVC_BIND_ADDR=127.0.0.1, ' +
    'or let only a proxy and the other nodes reach it'
  );
}

function authenticatorOf({ config, clock, logger }: NodeFrontOptions): TokenAuthenticator {
  const { jwksUrl, jwksTimeoutMs, jwksRefreshSeconds } = config;
  return new TokenAuthenticator({
    keys: {
      algorithm: config.jwtAlgorithm,
      secret: config.jwtSecret,
      publicKey: config.jwtPublicKey,
    },
    keySet:
      jwksUrl === null
        ? null
        : { url: jwksUrl, timeoutMs: jwksTimeoutMs, refreshMs: jwksRefreshSeconds * 1000 },
    issuer: config.jwtIssuer,
    audience: config.jwtAudience,
    clockSkewSeconds: config.jwtClockSkewSeconds,
    roles: {
      claim: config.jwtRolesClaim,
      arrayClaim: config.jwtRolesArrayClaim,
      names: {
        admin: config.jwtRoleAdmin,
        'read-write': config.jwtRoleReadWrite,
        'read-only': config.jwtRoleReadOnly,
        'write-only': config.jwtRoleWriteOnly,
      },
    },
    clock,
    logger,
  });
}

function gateOptionsOf(config: Config): GateOptions {
  return {
    kvReads: { perSecond: config.kvReadRate, burst: config.kvReadBurst },
    kvWrites: { perSecond: config.kvWriteRate, burst: config.kvWriteBurst },
    kvNeedsGrant: config.kvRequireGrant,
    ephemeralMessages: { perSecond: config.ephemeralRate, burst: config.ephemeralBurst },
    ephemeralNeedsGrant: config.ephemeralRequireGrant,
    tenantsMax: config.kvTenantsMax,
    bands: { releasePct: config.kvQuotaReleasePct, hotPct: config.kvQuotaHotPct },
  };
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
