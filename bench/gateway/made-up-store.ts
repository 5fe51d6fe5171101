// A store that makes up the rows that a request needs, of as many keys and clusters as are asked
// for: it holds none of them itself, so memory that is measured is the gateway's.

import { type KeyValueStore, type Row, SEEDED_PLANS } from '@svc/gateway';

export const CLUSTERS = 10_000;
const PLAN = numbered('a', 1);
const TENANT = numbered('b', 1);
const CELL = numbered('c', 1);

/** A UUID with a number at its end. */
function numbered(kind: string, number: number): string {
  return `${kind.repeat(8)}-0000-4000-8000-${String(number).padStart(12, '0')}`;
}

function numberOf(id: string): number {
  return Number(id.slice(-12));
}

const NOTHING = { created_at_us: 1 };

const VALUES: { readonly [namespace: string]: (name: string) => object | string } = {
  'px.keys.hash': (hash) => numbered('d', Number.parseInt(hash.slice(0, 10), 16)),
  'px.keys': (id) => ({
    ...NOTHING,
    id,
    cluster_id: numbered('e', numberOf(id) % CLUSTERS),
    name: 'key',
    key_hash: '0'.repeat(64),
    scopes: ['produce', 'consume'],
  }),
  'px.clusters.slug': (slug) => numbered('e', Number(slug.slice(1))),
  'px.clusters': (id) => ({
    ...NOTHING,
    id,
    tenant_id: TENANT,
    cell_id: CELL,
    plan_id: PLAN,
    slug: slugOf(id),
    broker_tenant_uuid: numbered('f', numberOf(id)),
    status: 'active',
    limit_overrides: {},
  }),
  'px.tenants': (id) => ({ ...NOTHING, id, slug: 't', name: 't', status: 'active' }),
  'px.plans': (id) => ({ ...NOTHING, ...SEEDED_PLANS[2], id }),
};

export function slugOf(clusterId: string): string {
  return `c${numberOf(clusterId)}`;
}

export const MADE_UP: KeyValueStore = {
  get: async (namespace, key): Promise<Row | null> => {
    const value = VALUES[namespace]?.(key.slice(1));
    if (value === undefined) return null;
    // Parsed, as a row of the broker's is.
    return { key, version: 1, value: JSON.parse(JSON.stringify(value)) };
  },
  getMany: () => Promise.reject(new Error('no request reads many rows')),
  getPrefix: () => Promise.reject(new Error('no request reads lists')),
  batch: () => Promise.reject(new Error('no request writes')),
};
