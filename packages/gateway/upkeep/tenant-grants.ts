/**
 * The broker's grants to the tenants of clusters (state-surfaces 5.2), as their plans have it: a
 * surface that the plan does not have is closed in the broker too, also where a transaction or a
 * cycle would come by it without a route of its own.
 *
 * Grants are rows of the broker and no records of the gateway, so they cannot be in the batch that
 * makes a cluster or gives it another plan. They are set right behind it (`ensure`), and looked
 * through again and again (`reconcile`) for what a node that ended in between left undone.
 *
 * Limits that an operator granted stay as they are. Key/value and timers share a grant: of a plan
 * that has one of them alone, the other may store nothing.
 */
import type { Clock } from '../base/clock.js';
import type { ClusterView } from '../base/cluster-view.js';
import { heldOf, type Records } from '../records/batch.js';
import { CLUSTERS, featuresOf, PLANS } from '../records/rows.js';
import { allRows, pages, StoreUnavailableError } from '../store/kv.js';
import type { UsageLog } from '../usage/journal.js';
import { Repeating } from '../usage/repeating.js';
import { BrokerUnavailableError } from './inventory.js';

export type GrantKind = 'kv' | 'ephemeral' | 'streams';

export interface Grant {
  readonly enabled: boolean;
  /** null: as many as there are. */
  readonly maxRows: number | null;
  readonly maxTimers: number | null;
}

export interface BrokerGrants {
  /** As this node has applied it; null: none. */
  held(brokerTenant: string, kind: GrantKind): Grant | null;
  /** Other limits of the grant stay as they are. Throws `BrokerUnavailableError`. */
  set(brokerTenant: string, kind: GrantKind, grant: Grant): Promise<void>;
}

type Features = ClusterView['features'];

const KINDS: readonly GrantKind[] = ['kv', 'ephemeral', 'streams'];

/** The grant as it has to become; null: it is as the plan has it. */
export function grantFor(features: Features, kind: GrantKind, held: Grant | null): Grant | null {
  const { kv, timers } = features;
  const isOpen = kind === 'kv' ? kv || timers : features[kind];
  if (!isOpen) {
    if (held?.enabled === false) return null;
    return { maxRows: null, maxTimers: null, ...held, enabled: false };
  }
  const wanted: Grant = {
    enabled: true,
    maxRows: kind === 'kv' ? limitFor(kv, held?.maxRows) : (held?.maxRows ?? null),
    maxTimers: kind === 'kv' ? limitFor(timers, held?.maxTimers) : (held?.maxTimers ?? null),
  };
  const isSame =
    held?.enabled === true &&
    held.maxRows === wanted.maxRows &&
    held.maxTimers === wanted.maxTimers;
  return isSame ? null : wanted;
}

/** 0 closes a part of a grant; any other limit is an operator's. */
function limitFor(isOpen: boolean, held: number | null = null): number | null {
  if (!isOpen) return 0;
  return held === 0 ? null : held;
}

export interface TenantGrantsOptions {
  readonly records: Pick<Records, 'store'>;
  readonly broker: BrokerGrants;
  readonly clock: Clock;
  readonly log: UsageLog;
  readonly reconcileMs: number;
}

export class TenantGrants {
  readonly #options: TenantGrantsOptions;
  readonly #repeating: Repeating;

  constructor(options: TenantGrantsOptions) {
    this.#options = options;
    this.#repeating = new Repeating(options.clock, (error) => {
      const isAway =
        error instanceof StoreUnavailableError || error instanceof BrokerUnavailableError;
      if (!isAway) options.log.error(`grants: ${String(error)}`);
    });
  }

  /** Looks through all clusters, and does so again after each `reconcileMs`. */
  start(): void {
    if (this.#repeating.isClosed) return;
    const { reconcileMs } = this.#options;
    void this.#repeating.guarded(() => this.reconcile());
    this.#repeating.every(reconcileMs, () => this.reconcile());
  }

  close(): void {
    this.#repeating.close();
  }

  /** Throws `BrokerUnavailableError`; what was not set then, `reconcile` sets. */
  async ensure(brokerTenant: string, features: Features): Promise<void> {
    const { broker } = this.#options;
    for (const kind of KINDS) {
      const grant = grantFor(features, kind, broker.held(brokerTenant, kind));
      if (grant !== null) await broker.set(brokerTenant, kind, grant);
    }
  }

  async reconcile(): Promise<void> {
    const { store } = this.#options.records;
    const plans = new Map<string, Features>();
    for (const row of await allRows(store, PLANS.namespace, '#')) {
      const { value } = heldOf(PLANS, row);
      plans.set(value.id, featuresOf(value));
    }
    for await (const rows of pages(store, CLUSTERS.namespace, '#')) {
      for (const row of rows) {
        if (this.#repeating.isClosed) return;
        const { plan_id, broker_tenant_uuid } = heldOf(CLUSTERS, row).value;
        const features = plans.get(plan_id);
        if (features !== undefined) await this.ensure(broker_tenant_uuid, features);
      }
    }
  }
}
