/** All routes that the gateway serves itself; of two that take a path, the first. */
import { AUTH_ROUTES } from './auth.js';
import { CONSOLE_ROUTES } from './console.js';
import { CONTROL_PLANE_ROUTES } from './control-plane.js';
import { CONTROL_TENANT_ROUTES } from './control-tenants.js';
import { OAUTH_ROUTES } from './oauth.js';
import { OPERATOR_ROUTES } from './operator.js';
import type { OwnRoute } from './route.js';

export const OWN_ROUTES: readonly OwnRoute[] = [
  ...CONTROL_PLANE_ROUTES,
  ...CONTROL_TENANT_ROUTES,
  ...CONSOLE_ROUTES,
  ...OPERATOR_ROUTES,
  ...AUTH_ROUTES,
  ...OAUTH_ROUTES,
];
