/**
 * The caller of a route of people, and the cluster on which they act (gateway 8; specification,
 * Gateway credentials 10): the cluster that `x-svc-act-cluster` names, else that of the host, else
 * the default one. On a shared host the header has to name it. Sessions alone: a key is for
 * programs.
 *
 * The credential is looked at first, so nobody learns here which clusters there are.
 */
import type { Role } from '../base/access.js';
import type { Caller, SessionCaller } from '../base/caller.js';
import type { ClusterView } from '../base/cluster-view.js';
import { REFUSALS, type Refusal } from '../base/refusal.js';
import { type Presented, presentedBy } from '../credentials/presented.js';
import { adoptedCookieName } from '../credentials/session-cookie.js';
import { hostOf } from '../pipeline/decide.js';
import type { Acting, OwnRequest, RouteConfig, RouteParts } from './route.js';

export const ACT_HEADER = 'x-svc-act-cluster';
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

type WhoParts = Pick<RouteParts, 'credentials' | 'config'>;

/** Cookies that may hold a session, the first that is there counts. */
export function cookieNamesOf({ cookieName }: Pick<RouteConfig, 'cookieName'>): readonly string[] {
  return [cookieName, adoptedCookieName(true), adoptedCookieName(false)];
}

/** `isApi`: a page that a browser opens there has no credential. */
export function presentedIn(
  request: OwnRequest,
  config: RouteConfig,
  isApi: boolean,
): Presented | null {
  const { header } = request;
  const head = {
    authorization: header('authorization'),
    cookie: header('cookie'),
    fetchMode: header('sec-fetch-mode'),
    isApi,
  };
  return presentedBy(head, cookieNamesOf(config));
}

/** The caller of an API path. */
export async function callerOf(
  { credentials, config }: WhoParts,
  request: OwnRequest,
): Promise<Caller | Refusal> {
  const presented = presentedIn(request, config, true);
  if (presented === null) return REFUSALS.noCredential;
  return (await credentials.caller(presented)) ?? REFUSALS.badCredential;
}

export function isLiveOperator(caller: Caller, { operatorEnabled }: RouteConfig): boolean {
  return caller.kind === 'session' && caller.isOperator && operatorEnabled;
}

/** null: the request names no cluster that there is. */
export async function clusterNamed(
  { credentials, config }: WhoParts,
  request: OwnRequest,
): Promise<ClusterView | null> {
  const named = request.header(ACT_HEADER);
  if (named !== undefined) return clusterBy({ credentials }, named);
  const host = hostOf(request.header('host'));
  if (config.sharedHosts.has(host)) return null;
  const [label = ''] = host.split('.');
  for (const slug of [label, config.defaultCluster ?? '']) {
    const cluster = slug === '' ? null : await credentials.clusterBySlug(slug);
    if (cluster !== null) return cluster;
  }
  return null;
}

/** By its id or its slug. */
export async function clusterBy(
  { credentials }: Pick<RouteParts, 'credentials'>,
  text: string,
): Promise<ClusterView | null> {
  const name = text.trim().toLowerCase();
  if (isId(name)) return credentials.clusterById(name);
  return name === '' ? null : credentials.clusterBySlug(name);
}

export function isId(text: string): boolean {
  return ID.test(text);
}

/** null: the user has none there. */
export async function roleOn(
  { credentials, config }: WhoParts,
  caller: SessionCaller,
  cluster: ClusterView,
): Promise<Role | null> {
  if (isLiveOperator(caller, config)) return 'admin';
  return credentials.role(caller.userId, cluster.id);
}

export async function actingOf(
  parts: WhoParts,
  request: OwnRequest,
  guard: 'member' | 'admin' | 'operator',
): Promise<Acting | Refusal> {
  const { config } = parts;
  if (guard === 'operator' && !config.operatorEnabled) return REFUSALS.routeBlocked;
  const caller = await callerOf(parts, request);
  if ('code' in caller) return caller;
  if (guard === 'operator' && !isLiveOperator(caller, config)) return REFUSALS.routeBlocked;
  if (caller.kind === 'key') return REFUSALS.forbidden;
  const cluster = await clusterNamed(parts, request);
  if (cluster === null) return REFUSALS.clusterUnknown;
  if (caller.clusterId !== null && caller.clusterId !== cluster.id) return REFUSALS.wrongCluster;
  const role = await roleOn(parts, caller, cluster);
  if (role === null) return REFUSALS.forbidden;
  if (guard === 'admin' && role !== 'admin') return REFUSALS.adminRequired;
  return { caller, cluster, role, actor: { actor: 'user', actorId: caller.userId } };
}
