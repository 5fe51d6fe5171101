/**
 * A route that the gateway serves itself, as one record: method and path, who may, what its body
 * is, and the handler. Dispatch, the order of checks and the table of tests follow from the
 * records. Handlers know nothing of sockets: a request goes in, an answer comes out.
 *
 * Requests that change something by a cookie are held to the rules against other pages before they
 * come here (`edge/origins.ts`).
 */
import type { Role } from '../base/access.js';
import type { SessionCaller } from '../base/caller.js';
import type { ClusterView } from '../base/cluster-view.js';
import type { Logger } from '../base/logger.js';
import type { Refusal } from '../base/refusal.js';
import type { Credentials } from '../credentials/credentials.js';
import type { Passwords } from '../credentials/passwords.js';
import type { SessionTokens } from '../credentials/session-tokens.js';
import type { LoginGuard } from '../edge/login-guard.js';
import type { HeaderList } from '../edge/origins.js';
import type { PushBlock } from '../limits/limits.js';
import type { Actor, Records } from '../records/batch.js';
import type { Turns } from '../records/turns.js';
import type { BodyForm } from './body-form.js';
import type { LoginProvider } from './login-provider.js';
import type { StateTokens } from './state-tokens.js';

export interface OwnRequest {
  readonly method: string;
  /** Without the query, as it came. */
  readonly path: string;
  /** Behind `?`, as it came. */
  readonly query: string;
  /** By its name in lower case; undefined without one. */
  readonly header: (name: string) => string | undefined;
  /** The client's, as rates and throttles count it (`edge/client-address.ts`). */
  readonly clientKey: string;
  /**
   * TLS protects the client's connection, or `X-Forwarded-Proto` says so, whoever wrote it: cookies
   * are marked for TLS then, which hurts nobody but a client that lies.
   */
  readonly isSecure: boolean;
  /** The whole body, once; null when it has more bytes than `bytesMax`. */
  readonly readBody: (bytesMax: number) => Promise<Buffer | null>;
}

export interface OwnAnswer {
  readonly status: number;
  /** The type of the body among them. */
  readonly headers: HeaderList;
  readonly body: string | Uint8Array;
}

/** A request to the broker as one of its tenants. */
export interface BrokerRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Path and query. */
  readonly target: string;
  readonly body: Uint8Array | null;
  readonly timeoutMs: number;
}

/** The broker in the same process. */
export interface BrokerPort {
  /** Rejects with `BrokerUnavailableError`. */
  call(
    brokerTenant: string,
    request: BrokerRequest,
  ): Promise<{ readonly status: number; readonly body: Uint8Array }>;
  /** The replicated measure of what a tenant keeps. Rejects with `BrokerUnavailableError`. */
  retainedBytes(brokerTenant: string): Promise<number>;
}

/** The broker's grants of tenants (`upkeep/`). Rejects where it does not answer. */
export interface GrantsPort {
  ensure(brokerTenant: string, features: ClusterView['features']): Promise<void>;
}

export interface RouteConfig {
  /** `SVC_PROXY_CP_TOKEN`; null: there is no control plane. */
  readonly controlPlaneToken: string | null;
  /** `SVC_PROXY_TENANT_HEADER`: clusters have tenants of their own. */
  readonly hasTenants: boolean;
  /** `SVC_PROXY_OPERATOR_ENABLED`. */
  readonly operatorEnabled: boolean;
  /** `SVC_PROXY_SHARED_HOSTS`, in lower case. */
  readonly sharedHosts: ReadonlySet<string>;
  /** `SVC_PROXY_DEFAULT_CLUSTER`. */
  readonly defaultCluster: string | null;
  /** `SVC_PROXY_COOKIE_NAME`. */
  readonly cookieName: string;
  /** `SVC_PROXY_COOKIE_DOMAIN`; null: the host alone. */
  readonly cookieDomain: string | null;
  /** `SVC_PROXY_JWT_TTL_S`. */
  readonly sessionS: number;
  /** `SVC_PROXY_PUBLIC_URL`, to which providers send users back. */
  readonly publicUrl: string | null;
  /** `SVC_PROXY_AUTH_HOST`: without a public URL nobody is sent to a provider. */
  readonly isAuthHost: boolean;
  /** `SVC_PROXY_AUTOPROVISION` with `_TENANT` and `_DEFAULT_ROLE`; null: off. */
  readonly autoProvision: { readonly tenant: string | null; readonly role: Role } | null;
  /** `SVC_PROXY_AUTH_PORTAL_URL` and `_LABEL`: where people log in if not here; http or https. */
  readonly portal: { readonly url: string; readonly label: string } | null;
}

export interface RouteParts {
  readonly records: Records;
  readonly credentials: Credentials;
  readonly tokens: SessionTokens;
  readonly passwords: Passwords;
  readonly logins: LoginGuard;
  /** Those that are configured. */
  readonly providers: readonly LoginProvider[];
  /** Users whom providers are asked for at the same time. */
  readonly providerTurns: Turns;
  /** Answers of whole lists that are made at the same time. */
  readonly listTurns: Turns;
  /** Resolves in a later turn of the event loop. */
  readonly pause: () => Promise<void>;
  readonly states: StateTokens;
  /** What stopped the pushes of a cluster, as this node knows it. */
  readonly pushBlock: (clusterId: string) => PushBlock | null;
  readonly broker: BrokerPort;
  readonly grants: GrantsPort;
  readonly logger: Logger;
  readonly config: RouteConfig;
}

/** A human session where it acts. */
export interface Acting {
  readonly caller: SessionCaller;
  readonly cluster: ClusterView;
  /** A live operator is an administrator everywhere. */
  readonly role: Role;
  /** For the audit. */
  readonly actor: Actor;
}

/**
 * - `everybody`: the handler itself asks for a session, where it needs one.
 * - `control-plane`: the token alone.
 * - `member`, `admin`: a human session with a role, or that role, on the cluster it acts on.
 * - `operator`: a live operator; for everybody else there is no such route.
 */
export type Guard = 'everybody' | 'control-plane' | 'member' | 'admin' | 'operator';

interface WhoOf {
  readonly everybody: null;
  readonly 'control-plane': null;
  readonly member: Acting;
  readonly admin: Acting;
  readonly operator: Acting;
}

export interface Call<Who, Body> {
  readonly request: OwnRequest;
  readonly who: Who;
  /** What stands in the braces of the path, decoded. */
  readonly params: { readonly [name: string]: string };
  readonly query: URLSearchParams;
  readonly body: Body;
}

export type Handled = Promise<OwnAnswer | Refusal>;

export interface OwnRouteRecord<G extends Guard, Body> {
  /** `METHOD /path/{name}`. */
  readonly at: string;
  readonly guard: G;
  /** Absent: a body is not looked at. */
  readonly body?: BodyForm<Body>;
  readonly handle: (parts: RouteParts, call: Call<WhoOf[G], Body>) => Handled;
}

/** A record whose types are closed over. */
export interface OwnRoute {
  readonly at: string;
  readonly guard: Guard;
  readonly body: BodyForm<unknown> | null;
  readonly handle: (parts: RouteParts, call: Call<Acting | null, unknown>) => Handled;
}

/** Dispatch gives a handler what its record names, which is why the types may be closed over. */
export function ownRoute<G extends Guard, Body = null>(route: OwnRouteRecord<G, Body>): OwnRoute {
  const { at, guard, body = null, handle } = route;
  return { at, guard, body, handle: handle as OwnRoute['handle'] };
}

const NO_STORE = ['Cache-Control', 'no-store'] as const;
export const JSON_HEADERS: HeaderList = [['Content-Type', 'application/json'], NO_STORE];
const HTML_HEADERS: HeaderList = [['Content-Type', 'text/html; charset=utf-8'], NO_STORE];

export function jsonAnswer(value: unknown, status = 200, headers: HeaderList = []): OwnAnswer {
  return { status, headers: [...JSON_HEADERS, ...headers], body: JSON.stringify(value) };
}

export function htmlAnswer(status: number, body: string, headers: HeaderList = []): OwnAnswer {
  return { status, headers: [...HTML_HEADERS, ...headers], body };
}

/** `location` is a header as it is: whoever calls has checked it. */
export function redirect(status: 302 | 303, location: string, headers: HeaderList = []): OwnAnswer {
  return { status, headers: [['Location', location], NO_STORE, ...headers], body: '' };
}

export function isRefusal(result: OwnAnswer | Refusal): result is Refusal {
  return 'code' in result;
}
