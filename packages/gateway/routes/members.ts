/** Members of the bodies of these routes: what each is checked by, and how its fault reads. */
import {
  emailOf,
  NEW_PASSWORD_RULE,
  newPasswordOf,
  PASSWORD_MAX,
  planCodeOf,
  slugOf,
} from '@svc/wire';
import { CLUSTER_STATUSES, TENANT_STATUSES } from '../base/access.js';
import {
  keyHashOf,
  nameOf,
  overridesFault,
  overridesOf,
  roleOf,
  scopesOf,
} from '../records/checks.js';
import type { Json } from '../store/kv.js';
import { isId } from './acting.js';
import { optional, required } from './body-form.js';

const SLUG = 'must have 1 to 63 lower-case letters, digits and dashes, and no dash at an end';
const NAME = 'must have 1 to 160 characters';
const PLAN = 'must be the code of a plan';

const oneOf = <const Value extends string>(values: readonly Value[]) => {
  return (value: Json): Value | null => values.find((one) => one === value) ?? null;
};

export const slug = required(slugOf, SLUG);
export const optionalSlug = optional(slugOf, SLUG);
export const displayName = required(nameOf, NAME);
export const optionalName = optional(nameOf, NAME);
export const planCode = required(planCodeOf, PLAN);
export const optionalPlan = optional(planCodeOf, PLAN);
export const email = required(emailOf, 'must be an address of mail');
export const keyHash = required(keyHashOf, 'must have 64 lower-case hexadecimal digits');
export const scopes = required(
  scopesOf,
  'must be a list of at least one of produce, consume, admin and read',
);
export const role = required(roleOf, 'must be admin, producer, consumer or viewer');
export const id = required(idOf, 'must be a UUID');
export const optionalId = optional(idOf, 'must be a UUID');
export const clusterStatus = required(
  oneOf(CLUSTER_STATUSES),
  `must be one of ${CLUSTER_STATUSES.join(', ')}`,
);
export const tenantStatus = required(
  oneOf(TENANT_STATUSES),
  `must be one of ${TENANT_STATUSES.join(', ')}`,
);
export const overrides = optional(overridesOf, (name, value) => overridesFault(value, name) ?? '');
export const optionalPassword = optional(newPasswordOf, NEW_PASSWORD_RULE);
/** The password of a bootstrap, for which the contract has no least length (gateway 9). */
export const bootstrapPassword = optional(
  (value) => (isBootstrapPassword(value) ? value : null),
  `must have 1 to ${PASSWORD_MAX} characters`,
);

function isBootstrapPassword(value: Json): value is string {
  return typeof value === 'string' && value !== '' && value.length <= PASSWORD_MAX;
}

export function idOf(value: Json): string | null {
  const text = typeof value === 'string' ? value.toLowerCase() : '';
  return isId(text) ? text : null;
}
