/**
 * The month's quota of each cluster (gateway 6 and 10): pushes stop at it, and two events say that
 * it is near and that it is reached. Each is written once for a cluster and a month, by whichever
 * node sees it first.
 *
 * A cluster that passes warning and quota between two looks gets both events, the warning first. A
 * quota that is raised later takes neither back.
 */
import type { ClusterView } from '../base/cluster-view.js';
import type { PushBlocks } from '../limits/push-blocks.js';
import { monthOf } from '../metering/calendar.js';
import type { Records } from '../records/batch.js';
import { writeEventOnce } from '../records/outbox.js';

export type QuotaCluster = Pick<ClusterView, 'id' | 'slug' | 'tenantId'> & {
  /** `monthly_msgs_quota`; null: unlimited. */
  readonly quota: number | null;
};

export interface QuotaOptions {
  readonly records: Records;
  readonly blocks: PushBlocks;
  /** `SVC_PROXY_QUOTA_WARN_PERCENT`. */
  readonly warnPercent: number;
}

type EventKind = 'cluster_monthly_quota_warning' | 'cluster_monthly_quota_blocked';

export class MonthlyQuotas {
  readonly #options: QuotaOptions;
  #month = '';
  /** Events of that month that are there, so that the store is not asked again. */
  #said = new Set<string>();

  constructor(options: QuotaOptions) {
    this.#options = options;
  }

  /** `msgs`: of the month that runs. Throws when the store does not answer; the block is set. */
  async counted(cluster: QuotaCluster, msgs: number): Promise<void> {
    const { blocks, warnPercent, records } = this.#options;
    blocks.counted(cluster.id, msgs, cluster.quota);
    if (cluster.quota === null) return;
    const month = monthOf(records.clock.wallUs());
    if (month !== this.#month) {
      this.#month = month;
      this.#said = new Set();
    }
    const count = { msgs, quota: cluster.quota, month };
    if (msgs * 100 >= cluster.quota * warnPercent) {
      await this.#say('cluster_monthly_quota_warning', cluster, count);
    }
    if (msgs >= cluster.quota) await this.#say('cluster_monthly_quota_blocked', cluster, count);
  }

  async #say(kind: EventKind, { id, slug, tenantId }: QuotaCluster, count: Count): Promise<void> {
    const once = `${kind}/${id}/${count.month}`;
    if (this.#said.has(once)) return;
    const { msgs, quota, month } = count;
    const percent = quota === 0 ? 100 : Math.floor((msgs * 100) / quota);
    const named = { cluster_id: id, cluster_slug: slug, tenant_id: tenantId };
    const payload = { ...named, month, msgs, quota, percent };
    await writeEventOnce(this.#options.records, once, kind, payload);
    this.#said.add(once);
  }
}

interface Count {
  readonly msgs: number;
  readonly quota: number;
  readonly month: string;
}
