/** Refusals of the routes that the gateway serves itself (gateway 7 to 9), literally. */
import type { Refusal } from '../base/refusal.js';
import type { Refused } from '../records/batch.js';

export type Surface = 'control-plane' | 'console' | 'operator' | 'auth';

const refusal = (status: number, code: string, error: string): Refusal => ({ status, code, error });

export const NOT_FOUND = refusal(404, 'not_found', 'not found');
export const BAD_CONTROL_TOKEN = refusal(401, 'unauthorized', 'bad control-plane token');
export const INTERNAL = refusal(500, 'internal_error', 'internal error');
export const SYSTEM_TENANT = refusal(
  409,
  'system_tenant',
  'clusters share the default tenant of the broker',
);
export const NOT_PURGED = refusal(409, 'not_purged', 'the tenant has data in the broker');
export const NOT_DELETING = refusal(409, 'not_deleting', 'the tenant is not being deleted');
export const NOT_SEEDED: Refusal = {
  ...refusal(503, 'unavailable', 'the gateway has no plans yet'),
  retryAfterS: 1,
};
export const NO_SINK = refusal(404, 's3_unavailable', 'no object-store sink runs in this node');
export const TENANT_UNKNOWN = refusal(404, 'tenant_unknown', 'unknown tenant');
/** In a path of the control plane; a request of a tenant is 421. */
export const CLUSTER_UNKNOWN = refusal(404, 'cluster_unknown', 'unknown cluster');

/** A body, or a parameter, that is not what the route takes. */
export function invalidBody(surface: Surface, error: string): Refusal {
  return refusal(400, surface === 'control-plane' ? 'invalid' : 'invalid_request', error);
}

/** Why a change of records was not made, as the surface tells it. */
export function refusedRecord(surface: Surface, { refused, error }: Refused): Refusal {
  switch (refused) {
    case 'invalid':
    case 'last_admin':
      return invalidBody(surface, error);
    case 'not_found':
      return refusal(404, 'not_found', error);
    case 'tenant_unknown':
    case 'cluster_unknown':
    case 'key_unknown':
      return refusal(404, surface === 'control-plane' ? refused : 'not_found', error);
    case 'conflict':
      return refusal(409, 'conflict', error);
    case 'deleting':
      return refusal(409, 'deleting', error);
    case 'not_deleting':
      return NOT_DELETING;
  }
}
