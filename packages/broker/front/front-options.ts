/** The options of a node's HTTP front, and of each of its threads. */
import { hostname } from 'node:os';
import {
  ANSWER_BYTES_IN_FLIGHT_DEFAULT,
  BODY_BYTES_IN_FLIGHT_DEFAULT,
  DRAIN_BODY_BYTES_IN_FLIGHT_DEFAULT,
  type GateOptions,
  type HttpServerOptions,
} from '@svc/http';
import type { Config } from '../config/config.js';
import type { Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';
import { TokenAuthenticator } from '../tokens/authenticator.js';

export interface FrontParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** All that follows from the configuration alone. */
export function frontOptions({ config, logger }: Omit<FrontParts, 'clock'>) {
  return {
    logger: {
      error: (text: string, error: unknown) => logger.error('http', text, { error: String(error) }),
    },
    bodyBytesMax: config.bodyBytesMax,
    tenancyHeader: config.tenancyHeader,
    popTimeoutMs: config.popTimeoutMs,
    defaultSubscriptionMode: config.defaultSubscriptionMode,
    skipPaths: config.jwtSkipPaths,
    serverId: config.serverId,
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
  } satisfies HttpServerOptions;
}

const THREADS_MAX = 8;

/**
 * Front threads of a node: as many as are set, or as processors are left beside the broker's thread
 * and what serves its disk. A port is shared by threads on Linux alone; elsewhere there are none.
 */
export function threadsOf(
  { httpThreads }: Pick<Config, 'httpThreads'>,
  processors: number,
  platform: NodeJS.Platform,
): number {
  if (platform !== 'linux') return 0;
  return httpThreads ?? Math.min(Math.max(0, processors - 2), THREADS_MAX);
}

/**
 * The part of one thread in what a node may hold of bodies and answers. Whatever the part, one
 * large body or answer is let in while no other is there.
 */
export function dividedLimits(threads: number): Partial<HttpServerOptions> {
  const part = (bytes: number) => Math.ceil(bytes / threads);
  return {
    bodyBytesInFlightMax: part(BODY_BYTES_IN_FLIGHT_DEFAULT),
    drainBodyBytesInFlightMax: part(DRAIN_BODY_BYTES_IN_FLIGHT_DEFAULT),
    answerBytesInFlightMax: part(ANSWER_BYTES_IN_FLIGHT_DEFAULT),
  };
}

/** null: tokens are not checked. */
export function authenticatorFor(parts: FrontParts): TokenAuthenticator | null {
  return parts.config.jwtEnabled ? authenticatorOf(parts) : null;
}

function authenticatorOf({ config, clock, logger }: FrontParts): TokenAuthenticator {
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
