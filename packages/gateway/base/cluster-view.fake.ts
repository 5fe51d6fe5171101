/** A cluster as requests see it, with every feature and no limit. For tests. */
import { LIMITS, type LimitName } from './access.js';
import type { ClusterView } from './cluster-view.js';

export function fakeCluster(more: Partial<ClusterView> = {}): ClusterView {
  const unlimited = Object.fromEntries(LIMITS.map((name): [LimitName, null] => [name, null]));
  return {
    id: '11111111-1111-4111-8111-111111111111',
    slug: 'acme',
    tenantId: '22222222-2222-4222-8222-222222222222',
    tenantSlug: 'acme',
    brokerTenant: '33333333-3333-4333-8333-333333333333',
    cellId: '44444444-4444-4444-8444-444444444444',
    status: 'active',
    planCode: 'pro',
    features: { streams: true, traces: true, kv: true, timers: true, ephemeral: true },
    limits: unlimited as ClusterView['limits'],
    ...more,
  };
}
