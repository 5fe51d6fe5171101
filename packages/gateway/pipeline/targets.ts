/**
 * The target of a request, by its method and path (gateway 5). The routes are matched by the router
 * of the front itself, on the path as it came: what is classified here is what is served there.
 */
import type { GatewayClass, Route, Router } from '@svc/http';
import type { OpClass } from '../metering/samples.js';
import { type BodyRule, handlingOf } from './classes.js';

export interface RouteTarget {
  readonly kind: 'route';
  /** Method and path of the record; "" where no route takes the path. */
  readonly at: string;
  readonly gatewayClass: GatewayClass;
  readonly body: BodyRule;
  readonly op: OpClass;
  readonly isPop: boolean;
}

export type Target =
  | RouteTarget
  /** Answered by the gateway: logins, console, operators, control plane. */
  | { readonly kind: 'own' }
  /** The page, at every path that nothing else takes. */
  | { readonly kind: 'page' };

const OWN: Target = { kind: 'own' };
const PAGE: Target = { kind: 'page' };
const BLOCKED: RouteTarget = {
  kind: 'route',
  at: '',
  gatewayClass: 'blocked',
  body: null,
  op: 'read',
  isPop: false,
};

const OWN_PATHS: ReadonlySet<string> = new Set(['/healthz', '/.well-known/jwks.json']);
const OWN_PREFIXES = ['/auth/', '/api/console/', '/api/operator/', '/api/cp/'];
/** Below these there are routes, or nothing. `/streams` itself is a page. */
const CLOSED = /^\/(streams\/|(api|internal|migration|metrics|status)(\/|$))/;

/** Paths below which an answer is JSON and a browser never navigates. */
export function isApiPath(path: string): boolean {
  return /^\/(api|streams)\//.test(path);
}

export class Targets {
  readonly #router: Pick<Router, 'match'>;
  readonly #targets = new Map<Route, RouteTarget>();

  constructor(routes: readonly Route[], router: Pick<Router, 'match'>) {
    this.#router = router;
    for (const route of routes) {
      const at = `${route.method} ${route.path}`;
      const { body, op, isPop = false } = handlingOf(at, route.gateway);
      const gatewayClass = route.gateway;
      this.#targets.set(route, { kind: 'route', at, gatewayClass, body, op, isPop });
    }
  }

  /** `path`: without the query, as it came. */
  of(method: string, path: string): Target {
    if (OWN_PATHS.has(path) || OWN_PREFIXES.some((prefix) => path.startsWith(prefix))) return OWN;
    const match = this.#router.match(method, path);
    if (match !== null) return ('route' in match && this.#targets.get(match.route)) || BLOCKED;
    const isRead = method === 'GET' || method === 'HEAD';
    return isRead && !CLOSED.test(path) ? PAGE : BLOCKED;
  }
}
