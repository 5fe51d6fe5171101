/**
 * Dispatch of the routes that the gateway serves itself:
 *
 *     path -> surface -> guard -> route -> query, body -> handler
 *               \-> 404   \-> 401, 403, 404, 421    \-> 400, 413
 *
 * The guard of a surface comes before the question whether it has such a route: without a good
 * credential nobody learns what there is, and no body is read. Every error is a literal row
 * (`base/refusal.ts`, `faults.ts`); what is none is a fault of this process, logged, and 500.
 */
import { OverloadedError } from '../base/overloaded.js';
import { REFUSALS, type Refusal, refusalBody } from '../base/refusal.js';
import { isSameSecret } from '../credentials/api-key.js';
import { StoreUnavailableError } from '../store/kv.js';
import { BrokerUnavailableError } from '../upkeep/inventory.js';
import { actingOf, callerOf } from './acting.js';
import { type BodyForm, isFault } from './body-form.js';
import { BAD_CONTROL_TOKEN, INTERNAL, invalidBody, NOT_FOUND, type Surface } from './faults.js';
import { nextAfter, refusedLogin } from './login-page.js';
import { isNavigation, pageGate } from './page-gate.js';
import {
  type Acting,
  isRefusal,
  jsonAnswer,
  type OwnAnswer,
  type OwnRequest,
  type OwnRoute,
  type RouteParts,
} from './route.js';

const TARGET = 'gateway';
/** A query of more text is none of ours. */
const QUERY_LENGTH_MAX = 8_192;

interface Found {
  readonly route: OwnRoute;
  readonly params: { readonly [name: string]: string };
}

export class OwnRoutes {
  readonly #parts: RouteParts;
  readonly #routes: readonly (readonly [OwnRoute, readonly string[]])[];

  constructor(parts: RouteParts, routes: readonly OwnRoute[]) {
    this.#parts = parts;
    this.#routes = routes.map((route) => [route, route.at.split(/[ /]/)] as const);
  }

  /** Never rejects, but where the client's body cannot be read. */
  async answer(request: OwnRequest): Promise<OwnAnswer> {
    try {
      const result = await this.#handle(request);
      return isRefusal(result) ? this.#refused(request, result) : result;
    } catch (error) {
      return this.#refused(request, this.#refusalOf(error, request));
    }
  }

  /** A login that a person opened in a browser is refused by its page. */
  #refused(request: OwnRequest, refusal: Refusal): OwnAnswer {
    const isPage = surfaceOf(request.path) === 'auth' && isNavigation(request);
    if (!isPage) return refusalAnswer(refusal);
    return refusedLogin(this.#parts, refusal, { next: nextAfter(request, refusal), email: '' });
  }

  /** null: whoever asks may have the page. Never rejects. */
  async gatePage(request: OwnRequest): Promise<OwnAnswer | null> {
    try {
      const result = await pageGate(this.#parts, request);
      return result !== null && isRefusal(result) ? refusalAnswer(result) : result;
    } catch (error) {
      return refusalAnswer(this.#refusalOf(error, request));
    }
  }

  async #handle(request: OwnRequest): Promise<OwnAnswer | Refusal> {
    const surface = surfaceOf(request.path);
    const found = this.#find(request);
    const who = await this.#guard(request, surface, found);
    if (who !== null && 'code' in who) return who;
    if (found === null) return surface === 'operator' ? REFUSALS.routeBlocked : NOT_FOUND;
    const { route, params } = found;
    const query = new URLSearchParams(request.query.slice(0, QUERY_LENGTH_MAX));
    const body = route.body === null ? null : await readBody(request, route.body, surface);
    if (isRefusedBody(body)) return body.refusal;
    return route.handle(this.#parts, { request, who, params, query, body: body?.value ?? null });
  }

  async #guard(
    request: OwnRequest,
    surface: Surface,
    found: Found | null,
  ): Promise<Acting | Refusal | null> {
    switch (surface) {
      case 'control-plane':
        return this.#controlPlane(request);
      case 'auth':
        return null;
      case 'console':
      case 'operator':
        break;
    }
    if (found !== null) {
      const { guard } = found.route;
      if (guard === 'everybody' || guard === 'control-plane') throw new Error(`${guard} here`);
      return actingOf(this.#parts, request, guard);
    }
    if (surface === 'operator') return actingOf(this.#parts, request, 'operator');
    const caller = await callerOf(this.#parts, request);
    return 'code' in caller ? caller : null;
  }

  #controlPlane({ header }: OwnRequest): Refusal | null {
    const { controlPlaneToken } = this.#parts.config;
    if (controlPlaneToken === null) return NOT_FOUND;
    const given = header('x-svc-cp-token') ?? '';
    return isSameSecret(given, controlPlaneToken) ? null : BAD_CONTROL_TOKEN;
  }

  #find({ method, path }: OwnRequest): Found | null {
    const asked = [method === 'HEAD' ? 'GET' : method, ...path.split('/')];
    for (const [route, parts] of this.#routes) {
      const params = paramsOf(parts, asked);
      if (params !== null) return { route, params };
    }
    return null;
  }

  #refusalOf(error: unknown, { method, path }: OwnRequest): Refusal {
    if (error instanceof StoreUnavailableError) return REFUSALS.unavailable;
    if (error instanceof OverloadedError) return REFUSALS.overloaded;
    if (error instanceof BrokerUnavailableError) return REFUSALS.badGateway;
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#parts.logger.error(TARGET, 'a route failed', { method, path, why });
    return INTERNAL;
  }
}

export function surfaceOf(path: string): Surface {
  if (path.startsWith('/api/cp/')) return 'control-plane';
  if (path.startsWith('/api/console/')) return 'console';
  return path.startsWith('/api/operator/') ? 'operator' : 'auth';
}

export function refusalAnswer(refusal: Refusal): OwnAnswer {
  const { status, retryAfterS } = refusal;
  const { headers } = jsonAnswer(null, status);
  const after = retryAfterS === undefined ? [] : [['Retry-After', String(retryAfterS)] as const];
  return { status, headers: [...headers, ...after], body: refusalBody(refusal) };
}

/** null: it is another path. Empty parts, and parts that no text is, are in no path. */
function paramsOf(
  parts: readonly string[],
  asked: readonly string[],
): { readonly [name: string]: string } | null {
  // `METHOD /a` splits into the method, "", "a".
  if (parts.length !== asked.length) return null;
  const params: [string, string][] = [];
  for (const [at, part] of parts.entries()) {
    const given = asked[at] ?? '';
    if (!part.startsWith('{')) {
      if (part !== given) return null;
      continue;
    }
    const value = decoded(given);
    if (value === null || value === '') return null;
    params.push([part.slice(1, -1), value]);
  }
  return Object.fromEntries(params);
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

interface RefusedBody {
  readonly refusal: Refusal;
}

function isRefusedBody(
  read: { readonly value: unknown } | RefusedBody | null,
): read is RefusedBody {
  return read !== null && 'refusal' in read;
}

async function readBody(
  request: OwnRequest,
  form: BodyForm<unknown>,
  surface: Surface,
): Promise<{ readonly value: unknown } | RefusedBody> {
  const bytes = await request.readBody(form.bytesMax);
  if (bytes === null) return { refusal: REFUSALS.bodyTooLarge };
  const value = form.read(bytes);
  return isFault(value) ? { refusal: invalidBody(surface, value.fault) } : { value };
}
