/**
 * What of a request's head the broker gets (gateway 4, step 8). Names of tenants, nodes, subjects
 * and roles come from the gateway alone: every header of this service's own is dropped, and so are
 * credentials and what belongs to one connection.
 */
import type { ClusterView } from '../base/cluster-view.js';

const OWN_PREFIX = 'x-svc-';

const NOT_RELAYED: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'proxy-authenticate',
  'cookie',
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** `name`: lower case. `connection`: the value of that header, which may name more. */
export function isRelayed(name: string, connection: string | undefined): boolean {
  if (name.startsWith(OWN_PREFIX) || NOT_RELAYED.has(name)) return false;
  if (connection === undefined || connection === '') return true;
  return !connection
    .toLowerCase()
    .split(',')
    .some((one) => one.trim() === name);
}

/** `tenantHeader`: clusters have tenants of their own; else all share the broker's default one. */
export function injectedHeaders(
  cluster: ClusterView | null,
  requestId: string,
  tenantHeader: boolean,
): readonly (readonly [name: string, value: string])[] {
  const id = ['x-svc-request-id', requestId] as const;
  if (cluster === null || !tenantHeader) return [id];
  return [['x-svc-tenant', cluster.brokerTenant], id];
}
