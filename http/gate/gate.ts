/**
 * The gate ladder (state-surfaces 0.4): what a call of key/value, locks, timers and ephemeral
 * queues passes at the node that a client asked, before any state is touched:
 *
 *     switch -> grant -> room in the table of tenants -> tokens -> occupancy
 *
 * The outermost reason wins. Switches and grants are replicated and read from what this node has
 * applied; tokens and charges are this node's own. What other nodes relay here has passed the gate
 * there.
 *
 * The table holds a bucket pair for each tenant that was seen. It never evicts: a tenant that could
 * be pushed out by others would come back with a full bucket. Who does not fit is refused, but for
 * tenants with a grant, which are as many as an operator has named: 200 bytes each.
 */
import type { GrantRow, Switches, Tenant } from '@svc/engine';
import type { GrantKind, Meters } from '@svc/wire';
import type { Demand, GateCode, GateRefusal, Refuse } from '../base/demand.js';
import type { Exchange } from '../exchange/exchange.js';
import type { GateSource } from '../ports/surface-service.js';
import { gateRefuser } from './gate-refusal.js';
import { type Amounts, type Bands, type Charge, Occupancy } from './occupancy.js';
import { type Rate, TokenBucket } from './token-bucket.js';

export interface GateOptions {
  readonly kvReads: Rate;
  readonly kvWrites: Rate;
  readonly kvNeedsGrant: boolean;
  readonly ephemeralMessages: Rate;
  readonly ephemeralNeedsGrant: boolean;
  /** Entries of each of the two tables at most. */
  readonly tenantsMax: number;
  readonly bands: Bands;
}

/** state-surfaces 5.5. */
export const GATE_DEFAULTS: GateOptions = {
  kvReads: { perSecond: 200, burst: 400 },
  kvWrites: { perSecond: 100, burst: 200 },
  kvNeedsGrant: false,
  ephemeralMessages: { perSecond: 5000, burst: 10_000 },
  ephemeralNeedsGrant: false,
  tenantsMax: 10_000,
  bands: { releasePct: 90, hotPct: 80 },
};

/** The gate as handlers ask it: that of this thread, or one that is elsewhere. */
export interface CallGate {
  /** null: `refuse` has answered the request; without it, as calls of the surface are refused. */
  enter(exchange: Exchange, tenant: Tenant, demand: Demand, refuse?: Refuse): Pass | null;
  /** For a call that was let in and whose shape is faulty: `answer` says so to the client. */
  faulty(exchange: Exchange, pass: Pass, answer: () => void): void;
  timerHorizonSeconds(tenant: Tenant, configuredSeconds: number): number;
  quotaFigures(): QuotaFigures;
}

/** What a call that was let in carries to its end. */
export interface Pass {
  /** Its outcome is known; a refusal that leaves it in doubt says so by its reason. */
  settle(outcome: PassOutcome): void;
}

export interface PassOutcome {
  readonly kind: string;
  readonly refusal?: { readonly reason: string };
}

/** What `GET /api/v1/system/kv-timers` shows of this node. */
export interface QuotaFigures {
  /** Tenants with a cap that this node has measured. */
  readonly tenants: number;
  /** Since the latest of these measurements; null: there is none. */
  readonly ageMs: number | null;
  /** Those that were near a cap. */
  readonly hot: number;
}

/** Key/value, locks and timers share it. */
interface KvTenant {
  readonly reads: TokenBucket;
  readonly writes: TokenBucket;
  /** null: the tenant has no cap. */
  occupancy: Occupancy | null;
}

/** The pass of a call that is charged nothing. */
export const NOTHING_OWED: Pass = { settle: () => {} };
/** After these outcomes the call may have been applied or not. */
const IN_DOUBT: ReadonlySet<string> = new Set(['timeout', 'outcome_unknown']);

export class Gate implements CallGate {
  readonly #options: GateOptions;
  readonly #meters: Meters;
  readonly #nowMs: () => number;
  readonly #kvTenants = new Map<Tenant, KvTenant>();
  readonly #ephemeralTenants = new Map<Tenant, TokenBucket>();
  #source: GateSource | null = null;

  constructor(options: GateOptions, meters: Meters, nowMs: () => number) {
    this.#options = options;
    this.#meters = meters;
    this.#nowMs = nowMs;
  }

  /** Whose state counts from now on; null: nothing is served. */
  follow(source: GateSource | null): void {
    this.#source = source;
  }

  enter(exchange: Exchange, tenant: Tenant, demand: Demand, refuse?: Refuse): Pass | null {
    const verdict = this.judge(tenant, demand);
    if (!('code' in verdict)) return verdict;
    (refuse ?? gateRefuser(exchange, demand))(verdict);
    return null;
  }

  faulty(_: Exchange, pass: Pass, answer: () => void): void {
    pass.settle({ kind: 'refused' });
    answer();
  }

  /** A refusal is counted. */
  judge(tenant: Tenant, demand: Demand): Pass | GateRefusal {
    const verdict = this.ask(tenant, demand);
    if ('code' in verdict) this.#count(demand, verdict.code);
    return verdict;
  }

  /** Where the gateway granted it, a grant that is closed counts no more than none; rates do. */
  ask(tenant: Tenant, demand: Demand): Pass | GateRefusal {
    const source = this.#source;
    if (source === null) return NOTHING_OWED;
    const switches = source.switches();
    const off = switchedOff(switches, demand);
    if (off !== null) return refusal(off, 1);
    if (demand.kind === 'transaction' && isPaused(switches, demand)) return NOTHING_OWED;
    const isEphemeral = demand.kind === 'ephemeral' || demand.kind === 'ephemeral-push';
    const kind: GrantKind = isEphemeral ? 'ephemeral' : 'kv';
    const held = source.grant(tenant, kind);
    const isGranted = 'isGranted' in demand && demand.isGranted === true;
    const grant = isGranted && held !== undefined && isClosed(held) ? undefined : held;
    const { kvNeedsGrant, ephemeralNeedsGrant } = this.#options;
    const needsGrant = !isGranted && (isEphemeral ? ephemeralNeedsGrant : kvNeedsGrant);
    if (grant === undefined ? needsGrant : !grant.enabled) return refusal('feature_gated');
    if (isEphemeral) return this.#askEphemeral(tenant, demand, grant);
    // Without a grant there is no cap that it could meet.
    if (demand.kind === 'transaction' && grant === undefined) return NOTHING_OWED;
    return this.#askKv(source, tenant, demand, grant);
  }

  /** The longest delay of a timer: what is configured, or less if the grant says so. */
  timerHorizonSeconds(tenant: Tenant, configuredSeconds: number): number {
    const granted = this.#source?.grant(tenant, 'kv')?.maxTimerHorizonSeconds ?? null;
    return granted === null ? configuredSeconds : Math.min(granted, configuredSeconds);
  }

  quotaFigures(): QuotaFigures {
    let [tenants, hot] = [0, 0];
    let measuredMs = Number.NEGATIVE_INFINITY;
    for (const { occupancy } of this.#kvTenants.values()) {
      if (occupancy === null) continue;
      tenants++;
      if (occupancy.isHot) hot++;
      measuredMs = Math.max(measuredMs, occupancy.measuredMs);
    }
    const ageMs = tenants === 0 ? null : Math.max(0, Math.round(this.#nowMs() - measuredMs));
    return { tenants, ageMs, hot };
  }

  #askKv(
    source: GateSource,
    tenant: Tenant,
    demand: Demand,
    grant: GrantRow | undefined,
  ): Pass | GateRefusal {
    const entry = this.#kvTenant(tenant, grant);
    if (entry === null) return refusal('kv_unavailable', 1);
    const refused = demand.kind === 'transaction' ? null : this.#takeToken(entry, demand, grant);
    return refused ?? this.#charge(source, tenant, entry, demand, grant);
  }

  /** null: it was taken. */
  #takeToken(entry: KvTenant, demand: Demand, grant: GrantRow | undefined): GateRefusal | null {
    const writes = demand.kind === 'kv-write' || demand.kind === 'timer-write';
    const granted = writes ? grant?.maxWritesPerSecond : grant?.maxReadsPerSecond;
    const rate = rateOf(writes ? this.#options.kvWrites : this.#options.kvReads, granted);
    const quota = demand.kind.startsWith('timer') ? 'timers_quota_exceeded' : 'kv_quota_exceeded';
    if (rate === null) return refusal(quota);
    const bucket = writes ? entry.writes : entry.reads;
    const waitSeconds = bucket.take(1, rate, this.#nowMs());
    return waitSeconds > 0 ? refusal('rate_limited', waitSeconds) : null;
  }

  #askEphemeral(tenant: Tenant, demand: Demand, grant: GrantRow | undefined): Pass | GateRefusal {
    const { ephemeralMessages, tenantsMax } = this.#options;
    const rate = rateOf(ephemeralMessages, grant?.maxMessagesPerSecond);
    let bucket = this.#ephemeralTenants.get(tenant);
    if (bucket === undefined) {
      if (this.#ephemeralTenants.size >= tenantsMax && grant === undefined) {
        return refusal('ephemeral_unavailable', 1);
      }
      bucket = new TokenBucket(rate ?? ephemeralMessages, this.#nowMs());
      this.#ephemeralTenants.set(tenant, bucket);
    }
    if (demand.kind !== 'ephemeral-push') return NOTHING_OWED;
    if (rate === null) return refusal('ephemeral_quota_exceeded');
    const waitSeconds = bucket.take(demand.messages, rate, this.#nowMs());
    return waitSeconds > 0 ? refusal('rate_limited', waitSeconds) : NOTHING_OWED;
  }

  /** null: the table is full. */
  #kvTenant(tenant: Tenant, grant: GrantRow | undefined): KvTenant | null {
    const known = this.#kvTenants.get(tenant);
    if (known !== undefined) return known;
    const { kvReads, kvWrites, tenantsMax } = this.#options;
    if (this.#kvTenants.size >= tenantsMax && grant === undefined) return null;
    const nowMs = this.#nowMs();
    const entry = {
      reads: new TokenBucket(rateOf(kvReads, grant?.maxReadsPerSecond) ?? kvReads, nowMs),
      writes: new TokenBucket(rateOf(kvWrites, grant?.maxWritesPerSecond) ?? kvWrites, nowMs),
      occupancy: null,
    };
    this.#kvTenants.set(tenant, entry);
    return entry;
  }

  #charge(
    source: GateSource,
    tenant: Tenant,
    entry: KvTenant,
    demand: Demand,
    grant: GrantRow | undefined,
  ): Pass | GateRefusal {
    const asked = amountsOf(demand);
    if (asked === null) return NOTHING_OWED;
    const { maxRows = null, maxBytes = null, maxTimers = null } = grant ?? {};
    if (maxRows === null && maxBytes === null && maxTimers === null) {
      entry.occupancy = null;
      return NOTHING_OWED;
    }
    const nowMs = this.#nowMs();
    entry.occupancy ??= new Occupancy(nowMs);
    const { occupancy } = entry;
    const { kvRows, kvBytes, timers } = source.use(tenant);
    const charge = occupancy.admit(
      { rows: kvRows, bytes: kvBytes, timers },
      { rows: maxRows, bytes: maxBytes, timers: maxTimers },
      asked,
      this.#options.bands,
      nowMs,
    );
    if (typeof charge !== 'string') return new ChargedPass(occupancy, charge);
    return refusal(charge === 'timers' ? 'timers_quota_exceeded' : 'kv_quota_exceeded');
  }

  #count(demand: Demand, code: GateCode): void {
    const { kv, timersRefused } = this.#meters;
    if (demand.kind === 'timer-write') timersRefused[TIMER_REASONS[code]]++;
    else if (demand.kind.startsWith('kv')) kv.refused[KV_REASONS[code]]++;
  }
}

class ChargedPass implements Pass {
  readonly #occupancy: Occupancy;
  #charge: Charge | null;

  constructor(occupancy: Occupancy, charge: Charge) {
    this.#occupancy = occupancy;
    this.#charge = charge;
  }

  settle({ refusal: refused }: PassOutcome): void {
    const charge = this.#charge;
    this.#charge = null;
    if (charge === null || (refused !== undefined && IN_DOUBT.has(refused.reason))) return;
    this.#occupancy.settle(charge);
  }
}

/** It lets no key/value in. */
function isClosed({ enabled, maxRows }: GrantRow): boolean {
  return !enabled || maxRows === 0;
}

function refusal(code: GateCode, retryAfterSeconds = 0): GateRefusal {
  return { code, retryAfterSeconds };
}

function switchedOff(switches: Switches, demand: Demand): GateCode | null {
  switch (demand.kind) {
    case 'kv-read':
    case 'kv-write':
      return switches.kv ? null : 'kv_disabled';
    case 'timer-write':
      return switches.timersSchedule ? null : 'timers_disabled';
    case 'timer-read':
    case 'transaction':
      return null;
    case 'ephemeral':
    case 'ephemeral-push':
      return switches.ephemeral ? null : 'ephemeral_disabled';
  }
}

/** The leader will say so, which counts for more than what is asked here. */
function isPaused(
  { kv, timersSchedule }: Switches,
  { hasKv, timers }: Extract<Demand, { readonly kind: 'transaction' }>,
): boolean {
  return (hasKv && !kv) || (timers > 0 && !timersSchedule);
}

/**
 * A granted rate replaces the standard one, with two seconds of it in a burst. null: none is
 * granted, and no waiting helps.
 */
function rateOf(standard: Rate, granted: number | null | undefined): Rate | null {
  if (granted === null || granted === undefined) return standard;
  return granted === 0 ? null : { perSecond: granted, burst: 2 * granted };
}

/** null: it adds nothing, and is never refused for what there is already. */
function amountsOf(demand: Demand): Amounts | null {
  const { rows = 0, bytes = 0, timers = 0 } = demand as Partial<Amounts>;
  return rows + bytes + timers === 0 ? null : { rows, bytes, timers };
}

type KvReason = keyof Meters['kv']['refused'];
type TimerReason = keyof Meters['timersRefused'];

/** The reasons of the metric are fewer than those of the ladder. */
const KV_REASONS: { readonly [code in GateCode]: KvReason } = {
  kv_disabled: 'disabled',
  timers_disabled: 'disabled',
  ephemeral_disabled: 'disabled',
  feature_gated: 'quota',
  kv_unavailable: 'quota',
  ephemeral_unavailable: 'quota',
  rate_limited: 'rate_limited',
  kv_quota_exceeded: 'quota',
  timers_quota_exceeded: 'quota',
  ephemeral_quota_exceeded: 'quota',
};

const TIMER_REASONS: { readonly [code in GateCode]: TimerReason } = {
  kv_disabled: 'disabled',
  timers_disabled: 'disabled',
  ephemeral_disabled: 'disabled',
  feature_gated: 'gated',
  kv_unavailable: 'unavailable',
  ephemeral_unavailable: 'unavailable',
  rate_limited: 'rate_limited',
  kv_quota_exceeded: 'quota',
  timers_quota_exceeded: 'quota',
  ephemeral_quota_exceeded: 'quota',
};
