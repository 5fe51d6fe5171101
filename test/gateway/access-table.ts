/**
 * Every route by every credential, plan, status and setting, and what each is answered: from the
 * class in the route's record and the rule of the class, which the gateway decides by, and from the
 * order of checks as the contract has it (gateway 4, 5 and 11). Bodies are literal here.
 */

import { CLASSES, type ClassRule } from '@svc/gateway';
import type { Route } from '@svc/http';

export const CREDENTIALS = [
  'none',
  'bad key',
  'bad token',
  'revoked key',
  'key of another cluster',
  'produce key',
  'consume key',
  'admin key',
  'read key',
  'admin session',
  'producer session',
  'consumer session',
  'viewer session',
  'session without a role',
  'session of an operator',
  'control-plane token',
] as const;
export type Credential = (typeof CREDENTIALS)[number];

/** A cluster's own status, then its tenant's. */
export const STATUSES = [
  'active active',
  'push_blocked active',
  'suspended active',
  'deleting active',
  'active grace',
  'active suspended',
  'active deleting',
] as const;
export type Status = (typeof STATUSES)[number];

/** With every feature, and without those of streams and traces. */
export const PLANS = ['dedicated-s', 'free'] as const;
export type PlanName = (typeof PLANS)[number];

export interface Asked {
  readonly route: Route;
  readonly credential: Credential;
  readonly status: Status;
  readonly plan: PlanName;
  /** `SVC_PROXY_OPERATOR_ENABLED` of the node. */
  readonly operators: boolean;
}

const body = (error: string, code: string) => JSON.stringify({ error, code });

/** `status body`; null: the request reaches the broker, whose answer is its own. */
export function answerTo(asked: Asked): string | null {
  const { route, credential, operators } = asked;
  const { gate } = CLASSES[route.gateway];
  if (gate === 'everybody') return null;
  if (gate === 'control-plane') return credential === 'control-plane token' ? null : NOT_THERE;
  return (
    ofStatus(asked) ??
    (gate === 'nobody' || (gate === 'operators' && !operators) ? NOT_THERE : null) ??
    ofPlan(asked) ??
    ofCredential(asked)
  );
}

const NOT_THERE = `404 ${body('not available', 'route_blocked')}`;
const FORBIDDEN = `403 ${body('operation not permitted for this credential', 'forbidden')}`;

function ofStatus({ status }: Asked): string | null {
  const isClosed = /suspended|deleting/.test(status);
  return isClosed ? `403 ${body('cluster suspended', 'cluster_suspended')}` : null;
}

const blocks = ({ status }: Asked): boolean => /push_blocked|grace/.test(status);

function ofPlan(asked: Asked): string | null {
  const { feature, grows } = CLASSES[asked.route.gateway];
  const isOff = asked.plan === 'free' && (feature === 'streams' || feature === 'traces');
  if (isOff) return `403 ${body('not in your plan', 'feature_gated')}`;
  const isBlocked = grows === 'always' && blocks(asked);
  return isBlocked ? `403 ${body('pushes are blocked for this cluster', 'push_blocked')}` : null;
}

function ofCredential(asked: Asked): string | null {
  const { credential, route } = asked;
  const rule = CLASSES[route.gateway];
  switch (credential) {
    case 'none':
    case 'control-plane token':
      return `401 ${body('missing bearer credential', 'unauthorized')}`;
    case 'bad key':
    case 'bad token':
    case 'revoked key':
      return `401 ${body('invalid credential', 'unauthorized')}`;
    default:
  }
  const blocked = ofBody(asked, rule);
  if (blocked !== null) return blocked;
  if (rule.gate === 'operators') {
    return credential === 'session of an operator' ? null : NOT_THERE;
  }
  if (credential === 'key of another cluster') {
    return `403 ${body('key/cluster mismatch', 'forbidden')}`;
  }
  return isLetIn(asked, rule) ? null : FORBIDDEN;
}

/** A batch is refused for what of it grows, before it is asked whose it is. */
function ofBody(asked: Asked, { grows }: ClassRule): string | null {
  if (grows !== 'by-body' || !blocks(asked)) return null;
  const op = asked.route.path === '/api/v1/kv' ? 'put' : 'schedule';
  const error = `pushes are blocked for this cluster: op at index 0 (${op}) makes the store grow`;
  return `403 ${body(error, 'push_blocked')}`;
}

function isLetIn({ credential, operators }: Asked, { scopes, roles }: ClassRule): boolean {
  if (credential === 'session of an operator') return operators;
  const [who = '', kind] = credential.split(' ');
  const allowed: readonly string[] = kind === 'key' ? scopes : roles;
  return allowed.includes(who);
}

/** All of them, in an order that mixes every dimension with every other. */
export function everything(routes: readonly Route[], operators: boolean): Asked[] {
  return routes.flatMap((route) =>
    CREDENTIALS.flatMap((credential) =>
      STATUSES.flatMap((status) =>
        PLANS.map((plan) => ({ route, credential, status, plan, operators })),
      ),
    ),
  );
}

/** So many of them that each two values of two dimensions stand together somewhere. */
export function pairs(all: readonly Asked[]): Asked[] {
  const seen = new Set<string>();
  const taken: Asked[] = [];
  // A stride that shares no factor with their number visits all, far from one to the next.
  for (let i = 0, at = 0; i < all.length; i++, at = (at + 7919) % all.length) {
    const one = all[at] as Asked;
    const fresh = pairsOf(one).filter((pair) => !seen.has(pair));
    if (fresh.length === 0) continue;
    for (const pair of fresh) seen.add(pair);
    taken.push(one);
  }
  return taken;
}

function pairsOf({ route, credential, status, plan }: Asked): string[] {
  const values = [`${route.method} ${route.path}`, credential, status, plan];
  return values.flatMap((one, i) => values.slice(i + 1).map((other) => `${i} ${one}|${other}`));
}
