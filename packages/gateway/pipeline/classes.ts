/**
 * What each class of routes asks (specification, Gateway credentials 8; gateway 5): the one
 * description from which the pipeline decides, and which its table test goes through.
 */
import type { GatedHalf, GatedSurface, GatewayClass } from '@svc/http';
import { FEATURES, type Feature, ROLES, type Role, SCOPES, type Scope } from '../base/access.js';
import type { OpClass } from '../metering/samples.js';

export interface ClassRule {
  /** One of these lets a key in. */
  readonly scopes: readonly Scope[];
  /** One of these lets a user in. */
  readonly roles: readonly Role[];
  /** The feature that the plan must have. */
  readonly feature: Feature | null;
  /** Whether it is refused while the cluster may not grow; by its body: `BodySummary.growing`. */
  readonly grows: 'never' | 'always' | 'by-body';
  /** The callers that get past at all. */
  readonly gate: 'tenants' | 'operators' | 'control-plane' | 'everybody' | 'nobody';
}

const tenants = (
  scopes: readonly Scope[],
  roles: readonly Role[],
  grows: ClassRule['grows'],
  feature: Feature | null = null,
): ClassRule => ({ scopes, roles, feature, grows, gate: 'tenants' });

const closed = (gate: ClassRule['gate']): ClassRule => {
  return { scopes: [], roles: [], feature: null, grows: 'never', gate };
};

const GROWS: { readonly [Half in GatedHalf]: ClassRule['grows'] } = {
  read: 'never',
  open: 'never',
  grow: 'always',
  mixed: 'by-body',
};

function gated(feature: GatedSurface, half: GatedHalf): ClassRule {
  return half === 'read'
    ? tenants(SCOPES, ROLES, GROWS[half], feature)
    : tenants(['produce', 'consume'], ['admin', 'producer', 'consumer'], GROWS[half], feature);
}

type GatedClass = `${GatedSurface}-${GatedHalf}`;

const GATED = Object.fromEntries(
  FEATURES.flatMap((feature) =>
    (['read', 'grow', 'open', 'mixed'] as const).map((half): [GatedClass, ClassRule] => [
      `${feature}-${half}`,
      gated(feature, half),
    ]),
  ),
) as { readonly [Name in GatedClass]: ClassRule };

export const CLASSES: { readonly [Name in GatewayClass]: ClassRule } = {
  ...GATED,
  public: closed('everybody'),
  metrics: closed('control-plane'),
  produce: tenants(['produce'], ['admin', 'producer'], 'always'),
  consume: tenants(['consume'], ['admin', 'consumer'], 'never'),
  'queue-admin': tenants(['admin'], ['admin'], 'never'),
  read: tenants(['read', 'admin'], ROLES, 'never'),
  operator: closed('operators'),
  blocked: closed('nobody'),
};

/** The use of a body before its request goes on, and the way its answer is counted. */
export type BodyRule =
  | 'push'
  | 'transaction'
  | 'configure'
  | 'replay'
  | 'ephemeral-push'
  | 'cycle'
  | 'kv'
  | 'timers'
  | null;

interface Handling {
  readonly body: BodyRule;
  readonly op: OpClass;
  /** A pop: with `wait=true` it takes a place of those that wait. */
  readonly isPop?: true;
}

const POP: Handling = { body: null, op: 'delivery', isPop: true };

/** Routes that are more than let through; by method and path, as their records have them. */
const HANDLING: { readonly [at: string]: Handling } = {
  'POST /api/v1/push': { body: 'push', op: 'push' },
  'POST /api/v1/transaction': { body: 'transaction', op: 'txn' },
  'POST /api/v1/configure': { body: 'configure', op: 'configure' },
  'POST /api/v1/dlq/{id}/replay': { body: 'replay', op: 'configure' },
  'POST /api/v1/messages/{partitionId}/{transactionId}/retry': { body: 'replay', op: 'configure' },
  'POST /api/v1/ephemeral/push': { body: 'ephemeral-push', op: 'push' },
  'POST /streams/v1/cycle': { body: 'cycle', op: 'read' },
  'POST /api/v1/kv': { body: 'kv', op: 'read' },
  'POST /api/v1/timers': { body: 'timers', op: 'read' },
  'GET /api/v1/pop/queue/{queue}': POP,
  'GET /api/v1/pop/queue/{queue}/partition/{partition}': POP,
  'POST /api/v1/pop/queue/{queue}': POP,
  'POST /api/v1/pop/queue/{queue}/partition/{partition}': POP,
  'GET /api/v1/ephemeral/pop': POP,
};

export function handlingOf(at: string, gatewayClass: GatewayClass): Handling {
  const handling = HANDLING[at];
  if (handling !== undefined) return handling;
  return { body: null, op: gatewayClass === 'queue-admin' ? 'configure' : 'read' };
}

/** For the test that holds these to the routes. */
export const HANDLED_ROUTES: readonly string[] = Object.keys(HANDLING);
