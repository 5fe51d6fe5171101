/**
 * The gateway of one node, joined from its parts (gateway 1): made, opened and closed by the node
 * that runs it, which gives it the front, the store and the clocks.
 *
 * It serves from its start on. What has to be in the store is written beside that, however long the
 * store is away: until then requests are 503. A setting that cannot be ends the node's start;
 * signing material that cannot be used costs the logins alone.
 */
import {
  type CallClient,
  type CallRequest,
  type ConnectionBounds,
  type MemoryCall,
  ROUTES,
  Router,
  type TlsFiles,
  visitUrl,
} from '@svc/http';
import type { Rate } from '../base/bucket.js';
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/logger.js';
import type { Random } from '../base/random.js';
import { Passwords } from '../credentials/passwords.js';
import { type SessionTokenOptions, SessionTokens } from '../credentials/session-tokens.js';
import { AddressRates } from '../edge/address-rates.js';
import { ClientAddresses } from '../edge/client-address.js';
import type { EdgeTimeouts } from '../edge/deadlines.js';
import type { HeadLimits } from '../edge/head-bounds.js';
import { LoginGuard, type LoginGuardOptions } from '../edge/login-guard.js';
import { Networks } from '../edge/networks.js';
import { type OriginOptions, Origins } from '../edge/origins.js';
import { type HstsMode, SecurityHeaders } from '../edge/security-headers.js';
import { Admission } from '../limits/admission.js';
import { ClusterLimits } from '../limits/cluster-limits.js';
import { PushBlocks } from '../limits/push-blocks.js';
import type { DirectUpstream } from '../listener/direct.js';
import { GatewayListener } from '../listener/listener.js';
import type { Upstream } from '../listener/relay.js';
import { Passage, type PassageConfig } from '../passage/passage.js';
import { Targets } from '../pipeline/targets.js';
import { loadClusterView } from '../records/clusters.js';
import { CLUSTERS } from '../records/rows.js';
import { Turns } from '../records/turns.js';
import { cookieNamesOf } from '../routes/acting.js';
import {
  GithubLogin,
  GoogleLogin,
  type LoginProvider,
  type ProviderFetch,
  type ProviderOptions,
} from '../routes/login-provider.js';
import { OwnRoutes } from '../routes/own-routes.js';
import type { BrokerPort, RouteConfig } from '../routes/route.js';
import { StateTokens } from '../routes/state-tokens.js';
import { OWN_ROUTES } from '../routes/table.js';
import { type BootSettings, GatewayState } from '../state/gateway-state.js';
import { type KeyValueStore, pages } from '../store/kv.js';
import { Inventory } from '../upkeep/inventory.js';
import { type BrokerGrants, TenantGrants } from '../upkeep/tenant-grants.js';
import { UsageJournal, type UsageLog } from '../usage/journal.js';
import { MonthlyQuotas, type QuotaCluster } from '../usage/monthly-quotas.js';
import { DiskSpool } from '../usage/spool-disk.js';
import { UsageFlush } from '../usage/usage-flush.js';
import { UsageUpkeep } from '../usage/usage-upkeep.js';
import { FrontInventory } from './broker-inventory.js';
import { FrontBroker } from './front-broker.js';

export interface GatewaySettings {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsFiles | null;
  readonly passage: Omit<PassageConfig, 'cookieNames'>;
  /** Cookies that make a request one of a session, besides those of the gateway. */
  readonly sessionCookies: readonly string[];
  readonly routes: Omit<RouteConfig, 'hasTenants' | keyof PassageConfig>;
  readonly logins: LoginGuardOptions;
  readonly providers: ProviderSettings;
  /** What logins on their way are signed with; null: a key of this process. */
  readonly stateSecret: string | null;
  readonly webBodyBytesMax: number;
  readonly bodyBytesMax: number;
  readonly timeouts: EdgeTimeouts;
  readonly hasTenants: boolean;
  readonly boot: BootSettings;
  readonly tokens: Omit<SessionTokenOptions, 'clock' | 'random'>;
  readonly graceMs: number;
  readonly isStrict: boolean;
  readonly pollMs: number;
  readonly sweepMs: number;
  readonly batchItemsMax: number;
  readonly parkedMax: number;
  readonly reconcileMs: number;
  readonly storageRefreshMs: number;
  readonly meterFlushMs: number;
  readonly usageKeepDays: number;
  readonly rollUpMs: number;
  readonly quotaWarnPercent: number;
  readonly spoolDirectory: string;
  readonly trustedProxies: readonly string[];
  readonly ipv6Prefix: number;
  readonly addressHeader: string;
  readonly head: HeadLimits;
  readonly dataRate: Rate | null;
  readonly webRate: Rate | null;
  readonly trackedAddressesMax: number;
  readonly origins: OriginOptions;
  readonly hsts: HstsMode;
  readonly hstsMaxAgeS: number;
}

/** null: it is not configured. */
export interface ProviderSettings {
  readonly google:
    | (Omit<ProviderOptions, 'fetch'> & { readonly domains: readonly string[] })
    | null;
  readonly github: Omit<ProviderOptions, 'fetch'> | null;
}

export interface GatewayOptions {
  readonly settings: GatewaySettings;
  readonly upstream: Upstream & DirectUpstream;
  readonly store: KeyValueStore;
  readonly grants: BrokerGrants;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The node's name among those of the cluster: usage is counted under it. */
  readonly node: string;
  /** False: others listen at the port, and hand its requests to `call`. */
  readonly listens: boolean;
  readonly connections: ConnectionBounds;
  readonly onConnectionsFull: (open: number, refused: number) => void;
}

const TARGET = 'gateway';
/** Users whom providers are asked for at the same time, and those who wait for that. */
const PROVIDER_TURNS_MAX = 8;
const PROVIDER_WAITING_MAX = 64;
const LISTS_WAITING_MAX = 16;

export class Gateway {
  readonly #options: GatewayOptions;
  readonly #listener: GatewayListener;
  readonly #state: GatewayState;
  readonly #inventory: Inventory;
  readonly #grants: TenantGrants;
  readonly #usage: UsageUpkeep;

  private constructor(options: GatewayOptions, tokens: SessionTokens) {
    const { settings, upstream, store, clock, random, logger } = options;
    this.#options = options;
    const passwords = new Passwords();
    const { graceMs, isStrict, pollMs, sweepMs } = settings;
    this.#state = new GatewayState({
      store,
      clock,
      random,
      logger,
      tokens,
      passwords,
      graceMs,
      isStrict,
      pollMs,
      sweepMs,
    });
    const blocks = new PushBlocks();
    const admission = new Admission();
    const { batchItemsMax, parkedMax } = settings;
    const limits = new ClusterLimits({ blocks, admission, batchItemsMax, parkedMax });
    const log = {
      warn: (text: string) => logger.warn(TARGET, text),
      error: (text: string) => logger.error(TARGET, text),
    };
    const broker = new FrontBroker(upstream, clock, settings.hasTenants);
    const brokerInventory = new FrontInventory(broker);
    this.#inventory = new Inventory({
      broker: brokerInventory,
      records: this.#state.records,
      limits,
      admission,
      blocks,
      clock,
      log,
      reconcileMs: settings.reconcileMs,
      storageRefreshMs: settings.storageRefreshMs,
    });
    this.#grants = new TenantGrants({
      records: this.#state.records,
      broker: options.grants,
      clock,
      log,
      reconcileMs: settings.reconcileMs,
    });
    const { journal, upkeep } = this.#newUsage(log, blocks);
    this.#usage = upkeep;
    const passage = new Passage({
      credentials: this.#state.credentials,
      limits,
      meter: journal,
      clock,
      config: { ...settings.passage, cookieNames: this.#cookieNames },
      learn: (cluster, destinations) => this.#inventory.learn(cluster, destinations),
      onShadow: ({ slug }, { refusal }) => {
        const { code, error } = refusal;
        logger.info('limits', error, { cluster: slug, code, would_block: true });
      },
      onUnreadable: ({ target }) => log.warn(`an answer to ${target.at} could not be counted`),
    });
    const routes = this.#newRoutes(tokens, passwords, blocks, {
      call: (tenant, request) => broker.call(tenant, request),
      retainedBytes: (tenant) => brokerInventory.retainedBytes(tenant),
    });
    this.#listener = this.#newListener(passage, routes, tokens);
  }

  get #cookieNames(): readonly string[] {
    const { routes, sessionCookies } = this.#options.settings;
    return [...cookieNamesOf(routes), ...sessionCookies];
  }

  #newRoutes(
    tokens: SessionTokens,
    passwords: Passwords,
    blocks: PushBlocks,
    broker: BrokerPort,
  ): OwnRoutes {
    const { settings, clock, random, logger } = this.#options;
    const { passage, hasTenants } = settings;
    const parts = {
      records: this.#state.records,
      credentials: this.#state.credentials,
      tokens,
      passwords,
      logins: new LoginGuard(settings.logins),
      providers: loginProviders(settings.providers, clock),
      providerTurns: new Turns(PROVIDER_TURNS_MAX, PROVIDER_WAITING_MAX),
      listTurns: new Turns(1, LISTS_WAITING_MAX),
      pause: () => new Promise<void>((resolve) => void clock.after(0, resolve)),
      states: new StateTokens(settings.stateSecret, clock, random),
      pushBlock: (clusterId: string) => blocks.of(clusterId),
      broker,
      grants: this.#grants,
      logger,
      config: { ...passage, hasTenants, ...settings.routes },
    };
    return new OwnRoutes(parts, OWN_ROUTES);
  }

  #newListener(passage: Passage, routes: OwnRoutes, tokens: SessionTokens): GatewayListener {
    const { settings, upstream, clock, random, logger } = this.#options;
    const { connections, onConnectionsFull } = this.#options;
    const { passage: config, hasTenants, head, addressHeader, tls } = settings;
    const health = {
      status: 'ok',
      enforce: config.isEnforced,
      tenant_header: hasTenants,
      shared_hosts: config.sharedHosts.size,
    };
    const trackedMax = settings.trackedAddressesMax;
    return new GatewayListener(
      {
        upstream,
        passage,
        targets: new Targets(ROUTES, new Router(ROUTES)),
        routes,
        addresses: new ClientAddresses(new Networks(settings.trustedProxies), settings.ipv6Prefix),
        rates: new AddressRates({ data: settings.dataRate, web: settings.webRate, trackedMax }),
        origins: new Origins(settings.origins),
        security: new SecurityHeaders(settings.hsts, settings.hstsMaxAgeS),
        clock,
        newRequestId: requestIds(random),
        logger: {
          error: (text, error) => logger.error(TARGET, text, { error: String(error) }),
        },
        about: { health, jwks: tokens.jwks },
      },
      {
        head,
        addressHeader,
        webBodyBytesMax: settings.webBodyBytesMax,
        bodyBytesMax: settings.bodyBytesMax,
        timeouts: settings.timeouts,
        cookieNames: this.#cookieNames,
        hasTenants,
        connections,
        onConnectionsFull,
        tls,
      },
    );
  }

  #newUsage(log: UsageLog, blocks: PushBlocks) {
    const { settings, store, clock, random, node } = this.#options;
    const { records } = this.#state;
    const files = new DiskSpool(settings.spoolDirectory);
    const boot = Buffer.from(random.bytes(8)).toString('hex');
    const own = { node, boot, files, clock, log };
    const defer = (work: () => void) => queueMicrotask(work);
    const journal = new UsageJournal({ ...own, writer: `${node}-${boot}`, defer });
    const keepDays = settings.usageKeepDays;
    const flush = new UsageFlush({
      ...own,
      journal,
      store,
      keepDays,
      onLate: (clusterId) => upkeep.noteLate(clusterId),
      pause: () => new Promise((resolve) => void clock.after(0, resolve)),
    });
    const upkeep = new UsageUpkeep({
      flush,
      quotas: new MonthlyQuotas({ records, blocks, warnPercent: settings.quotaWarnPercent }),
      blocks,
      store,
      clock,
      log,
      clusters: () => quotaClusters(store),
      flushMs: settings.meterFlushMs,
      rollUpMs: settings.rollUpMs,
      keepDays,
    });
    return { journal, upkeep };
  }

  /** Rejects with `ListenError` and for settings that cannot be. */
  static async open(options: GatewayOptions): Promise<Gateway> {
    const { settings, clock, random, logger } = options;
    const given = { ...settings.tokens, clock, random };
    const tokens = await SessionTokens.create(given).catch((error: unknown) => {
      logger.error(TARGET, 'nobody can log in', { error: String(error) });
      const { issuer } = settings.tokens;
      return SessionTokens.create({ issuer, clock, random });
    });
    const gateway = new Gateway(options, tokens);
    await gateway.#open();
    return gateway;
  }

  async #open(): Promise<void> {
    const { settings, logger, listens } = this.#options;
    const { host } = settings;
    const { isEnforced } = settings.passage;
    if (listens) {
      const port = await this.#listener.listen(host, settings.port);
      const url = visitUrl(settings.tls === null ? 'http' : 'https', host, port);
      logger.info(TARGET, 'listening', { host, port, enforce: isEnforced, url });
    } else this.#listener.attend();
    this.#state.start();
    this.#inventory.start();
    this.#state.boot(settings.boot).then(
      () => {
        logger.info(TARGET, 'the records are ready');
        if (settings.hasTenants) this.#grants.start();
      },
      (error: unknown) => logger.error(TARGET, 'the boot failed', { error: String(error) }),
    );
    this.#usage.start().catch((error: unknown) => {
      logger.error(TARGET, 'usage is not counted', { error: String(error) });
    });
  }

  /** A request that came to the port of whoever listens in its place. */
  call(request: CallRequest, client: CallClient): MemoryCall {
    return this.#listener.call(request, client);
  }

  retire(): void {
    this.#listener.retire();
  }

  /** Answers what is in flight for at most `drainMs`, and writes what it has counted. */
  async close(drainMs: number): Promise<void> {
    await this.#listener.stop(drainMs);
    this.#inventory.close();
    this.#grants.close();
    await this.#usage.close();
    await this.#state.close();
  }
}

/** Random for each process, and counted in it: one costs no more than its text. */
function requestIds(random: Random): () => string {
  const boot = Buffer.from(random.bytes(8)).toString('hex');
  let count = 0;
  return () => `${boot}-${++count}`;
}

function loginProviders({ google, github }: ProviderSettings, clock: Clock): LoginProvider[] {
  const ask: ProviderFetch = (url, options) => fetch(url, options);
  const nowMs = () => clock.nowMs();
  return [
    ...(google === null ? [] : [new GoogleLogin({ ...google, fetch: ask, nowMs })]),
    ...(github === null ? [] : [new GithubLogin({ ...github, fetch: ask })]),
  ];
}

/** All clusters with their quotas, page by page. */
async function* quotaClusters(store: KeyValueStore): AsyncGenerator<readonly QuotaCluster[]> {
  for await (const rows of pages(store, CLUSTERS.namespace, '#')) {
    const found: QuotaCluster[] = [];
    for (const { key } of rows) {
      const view = await loadClusterView({ store }, { id: key.slice(1) });
      if (view === null) continue;
      const { id, slug, tenantId, limits } = view;
      found.push({ id, slug, tenantId, quota: limits.monthly_msgs_quota });
    }
    yield found;
  }
}
