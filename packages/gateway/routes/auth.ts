/**
 * Sessions of people (gateway 7): how one begins, what it is told of itself, and how it ends.
 *
 * - A login says nothing of which accounts there are: whoever is unknown, has no password or types
 *   a wrong one gets the same page, after the same hash.
 * - Attempts are bounded before anything is read for them (`edge/login-guard.ts`), hashes in the
 *   queue of `credentials/passwords.ts`.
 * - A logout always succeeds for whoever asks: the cookie goes, and the deny-list is written as far
 *   as the store answers.
 */
import { emailOf } from '@svc/wire';
import { type ClusterStatus, effectiveStatus, type Role } from '../base/access.js';
import type { SessionCaller } from '../base/caller.js';
import { REFUSALS, type Refusal } from '../base/refusal.js';
import { presentedBy } from '../credentials/presented.js';
import {
  adoptedCookieName,
  type CookieOptions,
  clearedCookie,
  sessionCookie,
} from '../credentials/session-cookie.js';
import type { HeaderList } from '../edge/origins.js';
import { isRefused, read } from '../records/batch.js';
import { rolesOfUser } from '../records/roles.js';
import { CELLS, type Provider, TENANTS } from '../records/rows.js';
import { revokeSession } from '../records/sessions.js';
import { findUserByEmail, noteLogin } from '../records/users.js';
import { ACT_HEADER, clusterNamed, cookieNamesOf, isLiveOperator, roleOn } from './acting.js';
import { urlencoded } from './body-form.js';
import { allClusters } from './cluster-list.js';
import { localPath } from './local-path.js';
import { loginPage, refusedLogin } from './login-page.js';
import { isNavigation } from './page-gate.js';
import {
  jsonAnswer,
  type OwnAnswer,
  type OwnRequest,
  type OwnRoute,
  ownRoute,
  type RouteParts,
  redirect,
} from './route.js';

const guard = 'everybody';
const FORM_BYTES_MAX = 16_384;
const SHORT_S = 900;
const TARGET = 'gateway';
const WRONG = 'Invalid email or password.';
const NO_SESSION: Refusal = { status: 401, code: 'unauthorized', error: 'no session' };
const INVALID: Refusal = { status: 401, code: 'unauthorized', error: 'invalid session' };
const ENDED: Refusal = { status: 401, code: 'unauthorized', error: 'session no longer valid' };

/** The cookie of sessions that are made here, or of one that was made elsewhere and adopted. */
function cookieOf({ config }: RouteParts, { isSecure }: OwnRequest): CookieOptions {
  const { cookieName: name, cookieDomain } = config;
  return { name, isSecure, ...(cookieDomain === null ? {} : { domain: cookieDomain }) };
}

/** A new session of a user who has shown who they are. */
export async function logIn(
  parts: RouteParts,
  request: OwnRequest,
  userId: string,
  provider: Provider,
  next: string,
  headers: HeaderList = [],
): Promise<OwnAnswer | null> {
  const noted = await noteLogin(parts.records, userId, provider);
  if (isRefused(noted)) return null;
  const { sessionS } = parts.config;
  const token = await parts.tokens.sign(userId, sessionS);
  const cookie = sessionCookie(cookieOf(parts, request), token, sessionS);
  return redirect(303, localPath(next), [['Set-Cookie', cookie], ...headers]);
}

const loginShownRoute = ownRoute({
  at: 'GET /auth/login',
  guard,
  handle: async (parts, { query }) => {
    const next = localPath(query.get('next') ?? '');
    return loginPage(parts, { status: 200, next, email: '', fault: null });
  },
});

const loginRoute = ownRoute({
  at: 'POST /auth/login',
  guard,
  body: urlencoded(['email', 'password', 'next'], FORM_BYTES_MAX),
  handle: async (parts, { request, body: { email, password, next } }) => {
    const { records, passwords, logins, tokens } = parts;
    if (!tokens.canSign) return REFUSALS.notConfigured;
    const attempt = logins.begin(request.clientKey, email, records.clock.nowMs());
    if ('code' in attempt) {
      if (!isNavigation(request)) return attempt;
      return refusedLogin(parts, attempt, { next: localPath(next), email });
    }
    // A name that is no address is looked up like one that is, and found as little.
    const user = await findUserByEmail(records, emailOf(email) ?? '@');
    const isRight = await passwords.verify(password, user?.value.password_hash);
    if (isRight && user !== null) {
      const answer = await logIn(parts, request, user.value.id, 'local', next);
      if (answer !== null) {
        attempt.succeeded();
        return answer;
      }
    }
    const typed = { next: localPath(next), email, isTyped: true };
    return loginPage(parts, { status: 401, fault: WRONG, ...typed });
  },
});

const logoutRoute = ownRoute({
  at: 'POST /auth/logout',
  guard,
  handle: async (parts, { request }) => {
    await endSession(parts, request);
    const { isSecure } = request;
    const adopted = [false, true].map((isHost) => {
      return clearedCookie({ name: adoptedCookieName(isHost), isSecure: isSecure || isHost });
    });
    const cleared = [clearedCookie(cookieOf(parts, request)), ...adopted];
    return jsonAnswer(
      { ok: true },
      200,
      cleared.map((cookie) => ['Set-Cookie', cookie] as const),
    );
  },
});

/** Best effort: a logout does not fail. */
async function endSession(parts: RouteParts, request: OwnRequest): Promise<void> {
  try {
    const session = await sessionOf(parts, request);
    if ('code' in session) return;
    const user = await parts.credentials.user(session.userId);
    if (user === null) return;
    await revokeSession(
      parts.records,
      { actor: 'user', actorId: session.userId },
      {
        jti: session.jti,
        expiresAtUs: session.expiresS * 1_000_000,
        tenantId: user.tenantId,
      },
    );
  } catch (error) {
    const why = String(error);
    parts.logger.warn(TARGET, 'a session that logged out is not on the deny-list', { why });
  }
}

/** That of the cookie, alone. */
async function sessionOf(
  parts: RouteParts,
  { header }: OwnRequest,
): Promise<SessionCaller | Refusal> {
  const { credentials, tokens, config } = parts;
  const cookie = header('cookie');
  const head = { authorization: undefined, cookie, fetchMode: undefined, isApi: false };
  const presented = presentedBy(head, cookieNamesOf(config));
  if (presented === null || presented.kind === 'key') return NO_SESSION;
  if ((await tokens.verify(presented.token)) === null) return INVALID;
  const caller = await credentials.caller(presented);
  return caller === null || caller.kind === 'key' ? ENDED : caller;
}

const meRoute = ownRoute({
  at: 'GET /auth/me',
  guard,
  handle: async (parts, { request }) => {
    const key = await keyIdentity(parts, request);
    if (key !== null) return key;
    const session = await sessionOf(parts, request);
    if ('code' in session) return session;
    const { credentials, config, records } = parts;
    const user = await credentials.user(session.userId);
    if (user === null) return ENDED;
    const acting = await clusterNamed(parts, request);
    const isActing =
      acting !== null &&
      (session.clusterId === null || session.clusterId === acting.id) &&
      (await roleOn(parts, session, acting)) !== null;
    const clusters = await clustersShown(parts, session);
    const tenant = await read(records, TENANTS, user.tenantId);
    return jsonAnswer({
      user_id: session.userId,
      email: user.email,
      tenant_slug: tenant?.value.slug ?? '',
      is_operator: session.isOperator,
      operator_enabled: config.operatorEnabled,
      operator_live: isLiveOperator(session, config),
      acting_cluster: isActing ? { id: acting.id, slug: acting.slug } : null,
      act_cluster_header: ACT_HEADER,
      role: 'viewer',
      cluster: session.clusterId,
      clusters,
    });
  },
});

/** null: the request does not bring a key that is good. */
async function keyIdentity(
  { credentials }: RouteParts,
  { header }: OwnRequest,
): Promise<OwnAnswer | null> {
  const authorization = header('authorization');
  const head = { authorization, cookie: undefined, fetchMode: undefined, isApi: false };
  const presented = presentedBy(head, []);
  if (presented?.kind !== 'key') return null;
  const caller = await credentials.caller(presented);
  if (caller?.kind !== 'key') return null;
  const cluster = await credentials.clusterById(caller.clusterId);
  if (cluster === null) return null;
  return jsonAnswer({
    kind: 'api_key',
    key_id: caller.keyId,
    scopes: caller.scopes,
    tenant_slug: cluster.tenantSlug,
    cluster: { id: cluster.id, slug: cluster.slug },
  });
}

interface ShownMembership {
  readonly id: string;
  readonly slug: string;
  readonly role: Role;
  readonly tenant_slug: string;
  readonly tenant_id: string;
  readonly status: ClusterStatus;
  readonly cell_slug: string;
}

/** Those of the user; all of them for a live operator, who is an administrator everywhere. */
async function clustersShown(
  { records, credentials, config }: RouteParts,
  session: SessionCaller,
): Promise<ShownMembership[]> {
  if (isLiveOperator(session, config)) {
    return (await allClusters(records.store)).flatMap(({ cluster, tenant, cell }) => {
      if (tenant === undefined) return [];
      const { id, slug, tenant_id } = cluster;
      const status = effectiveStatus(cluster.status, tenant.status);
      const cell_slug = cell?.slug ?? '';
      return [{ id, slug, role: 'admin', tenant_slug: tenant.slug, tenant_id, status, cell_slug }];
    });
  }
  const shown: ShownMembership[] = [];
  for (const { role, cluster: row } of await rolesOfUser(records, session.userId)) {
    const cluster = await credentials.clusterById(row.id);
    if (cluster === null) continue;
    const { id, slug, tenantSlug: tenant_slug, tenantId: tenant_id, status } = cluster;
    const cell_slug = (await read(records, CELLS, cluster.cellId))?.value.slug ?? '';
    shown.push({ id, slug, role, tenant_slug, tenant_id, status, cell_slug });
  }
  return shown;
}

const tokenRoute = ownRoute({
  at: 'GET /auth/session-token',
  guard,
  handle: async (parts, { request, query }) => {
    const { tokens, records } = parts;
    const given = query.get('token');
    if (!tokens.canSign) {
      if (given === null || !tokens.canVerify) return REFUSALS.notConfigured;
      return adopted(parts, request, given, query.get('next') ?? '');
    }
    // A host that signs takes no session from an address: it would be that of whoever wrote it.
    const session = await sessionOf(parts, request);
    if ('code' in session) return session;
    // It ends with its session: a short bearer, sent as a cookie, would else be renewed for ever,
    // and no logout would end it.
    const lifeS = Math.min(SHORT_S, remainingS(records, session));
    const token = await tokens.sign(session.userId, lifeS, session.clusterId ?? undefined);
    return jsonAnswer({ token, expires_in: lifeS });
  },
});

/** Whole seconds until the session ends; at least one while it is good. */
function remainingS({ clock }: RouteParts['records'], { expiresS }: SessionCaller): number {
  return expiresS - Math.floor(clock.wallUs() / 1_000_000);
}

/** A host that only verifies takes over a session that was made elsewhere, for itself alone. */
async function adopted(
  { credentials, records }: RouteParts,
  { isSecure }: OwnRequest,
  token: string,
  next: string,
): Promise<OwnAnswer | Refusal> {
  const caller = await credentials.caller({ kind: 'session', token, isCookie: true });
  if (caller === null || caller.kind === 'key') return INVALID;
  const lifeS = remainingS(records, caller);
  const cookie = sessionCookie({ name: adoptedCookieName(isSecure), isSecure }, token, lifeS);
  return redirect(303, localPath(next), [
    ['Set-Cookie', cookie],
    ['Referrer-Policy', 'no-referrer'],
  ]);
}

export const AUTH_ROUTES: readonly OwnRoute[] = [
  loginShownRoute,
  loginRoute,
  logoutRoute,
  meRoute,
  tokenRoute,
];
