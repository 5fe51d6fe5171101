/**
 * A contract table's place behind the gateway: what rows send as a tenant of theirs goes out with
 * the key of a cluster, made when a row first uses it. All clusters of a place are one tenant's.
 */

import { CLASSES, REFUSALS, refusalBody, Targets } from '@svc/gateway';
import { ROUTES, Router } from '@svc/http';
import { type Observe, type Place, Unmet } from '../contract/broker-under-test.js';
import { type Answer, type Caller, callerOf } from '../process/http-client.js';
import { accessHeaders, type GatewayNodes, type TenantAccess } from './gateway-nodes.js';

/** The gateway refused a request, as its class says: the row cannot be shown to a tenant. */
export class Refused extends Error {
  override name = 'Refused';
}

/** The first eight digits of the tenants that rows of a place have. */
const TENANTS = 'c0ffee00';
const targets = new Targets(ROUTES, new Router(ROUTES));

export class TenantPlace {
  readonly name: string;
  readonly #nodes: GatewayNodes;
  readonly #clusters = new Map<string, Promise<TenantAccess>>();

  constructor(nodes: GatewayNodes, name: string) {
    this.#nodes = nodes;
    this.name = name;
  }

  place(observe: Observe): Place {
    const { gateways } = this.#nodes;
    const clients = gateways.map((gateway) => tenantCaller(gateway, this));
    // Rows of two places have the same names, so that anything that mixes them up mixes them up.
    return { nodes: gateways.length, clients, isPinned: true, tenants: TENANTS, observe };
  }

  /** The cluster that stands for a tenant of a row. */
  clusterOf(rowTenant: string): Promise<TenantAccess> {
    const found = this.#clusters.get(rowTenant);
    if (found !== undefined) return found;
    const number = this.#clusters.size + 1;
    const made = this.#nodes.provision({ tenant: this.name, slug: `${this.name}-${number}` });
    this.#clusters.set(rowTenant, made);
    return made;
  }
}

/** A client of a place at one gateway. */
function tenantCaller(gateway: Caller, place: TenantPlace): Caller {
  return callerOf(async (method, path, body, options = {}) => {
    const { 'x-svc-tenant': tenant = '', ...headers } = options.headers ?? {};
    if (!tenant.startsWith(`${TENANTS}-`))
      throw new Unmet('names its tenant in another way than by a key');
    const access = await place.clusterOf(tenant);
    const answer = await gateway.send(method, path, body, {
      ...options,
      headers: { ...headers, ...accessHeaders(access) },
    });
    const [plain = ''] = path.split('?');
    const target = targets.of(method, plain);
    if (target.kind !== 'route') throw new Refused(`${target.kind}: ${method} ${plain}`);
    const { gate } = CLASSES[target.gatewayClass];
    if (gate === 'tenants' || gate === 'everybody') return answer;
    expectRefused(answer, `${method} ${path}`);
    if (isGrantOfStreams(plain, body)) return GRANTED;
    throw new Refused(`class ${target.gatewayClass}`);
  });
}

/** The grant that rows about streams begin with; behind the gateway the plan gives it already. */
function isGrantOfStreams(path: string, body: Uint8Array | string | undefined): boolean {
  return path === '/api/v1/system/quotas' && body === '{"kind":"streams"}';
}

const GRANTED: Answer = {
  status: 200,
  headers: { 'content-type': 'application/json' },
  bytes: Buffer.from('{}'),
  text: '{}',
};

/** Routes of operators and of the control plane, blocked ones and none: one answer. */
function expectRefused({ status, text }: Answer, what: string): void {
  const { routeBlocked } = REFUSALS;
  if (status === routeBlocked.status && text === refusalBody(routeBlocked)) return;
  throw new Error(
    `${what}: ${status} ${text.slice(0, 200)}, instead of ${refusalBody(routeBlocked)}`,
  );
}
