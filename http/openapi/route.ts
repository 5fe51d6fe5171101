/** GET /openapi.json: what the API is, for tools. The same on every node of a version. */

import { ROUTE_DEFAULTS, type Route } from '../routing/route.js';
import { openApiDocument } from './document.js';
import { OPERATIONS } from './operations.js';

/** Describes `routes` and itself; made when it is first asked for, and shared by all answers. */
export function openApiRoute(routes: readonly Route[]): Route {
  let bytes: Buffer | null = null;
  const route: Route = {
    ...ROUTE_DEFAULTS,
    method: 'GET',
    path: '/openapi.json',
    level: 'read-only',
    largeAnswer: 'read',
    scoped: false,
    handle: (_, { exchange }) => {
      bytes ??= Buffer.from(JSON.stringify(openApiDocument([...routes, route], OPERATIONS)));
      exchange.jsonBytes('200 OK', bytes);
    },
  };
  return route;
}
