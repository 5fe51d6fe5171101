/**
 * Logins by a provider (gateway 7): the way there, and back. A proven account is a user by the
 * identity that is linked to it, else by its verified address, which links it; else it becomes one
 * where that is switched on, and is nobody otherwise.
 */
import { emailOf } from '@svc/wire';
import type { Role } from '../base/access.js';
import { REFUSALS, type Refusal } from '../base/refusal.js';
import { cookieValue } from '../credentials/presented.js';
import type { HeaderList } from '../edge/origins.js';
import { isRefused, type Records, readBy, SYSTEM } from '../records/batch.js';
import { grantRole } from '../records/roles.js';
import { TENANTS, type UserRow } from '../records/rows.js';
import { clustersOf } from '../records/tenants.js';
import { createUser, findUserByEmail, findUserByIdentity, linkIdentity } from '../records/users.js';
import { logIn } from './auth.js';
import { localPath } from './local-path.js';
import type { LoginProvider, Proof, ProviderName } from './login-provider.js';
import {
  type Call,
  type Handled,
  type OwnRequest,
  type OwnRoute,
  ownRoute,
  type RouteParts,
  redirect,
} from './route.js';
import { isSame, STATE_LIFE_S } from './state-tokens.js';

const TARGET = 'gateway';
const COOKIE = 'svc_login_state';
/** Roles that go into the batch of a new user; of further clusters they follow. */
const FIRST_ROLES_MAX = 24;
const ROLE_ACTIONS = { granted: 'cluster_role_granted', revoked: 'cluster_role_revoked' };
const HOST = /^([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i;

const refusal = (status: number, code: string, error: string): Refusal => ({ status, code, error });
const NOT_OFFERED = refusal(404, 'not_configured', 'this login is not configured');
const NO_ADDRESS = refusal(500, 'internal_error', 'no public address is configured');
const NO_TENANT = refusal(500, 'internal_error', 'the tenant of new users is not there');
const BAD_STATE = refusal(400, 'invalid_state', 'the login took too long or began elsewhere');
const UNVERIFIED = refusal(403, 'email_unverified', 'the address of mail is not verified');
const BAD_DOMAIN = refusal(403, 'domain_not_allowed', 'accounts of this domain may not log in');
const NOBODY = refusal(403, 'not_provisioned', 'there is no user for this account');
const NO_ANSWER = refusal(502, 'bad_gateway', 'the provider did not answer');

type OauthCall = Call<null, null>;

function startRoute(name: ProviderName): OwnRoute {
  return ownRoute({
    at: `GET /auth/${name}`,
    guard: 'everybody',
    handle: (parts, call) => start(parts, call, name),
  });
}

function callbackRoute(name: ProviderName): OwnRoute {
  return ownRoute({
    at: `GET /auth/${name}/callback`,
    guard: 'everybody',
    handle: (parts, call) => back(parts, call, name),
  });
}

async function start(
  parts: RouteParts,
  { request, query }: OauthCall,
  name: ProviderName,
): Handled {
  const provider = providerOf(parts, name);
  if (provider === null) return NOT_OFFERED;
  if (!parts.tokens.canSign) return REFUSALS.notConfigured;
  const redirectUri = redirectUriOf(parts, request, name);
  if (redirectUri === null) return NO_ADDRESS;
  const { states } = parts;
  const begun = states.begin(name, localPath(query.get('next') ?? ''));
  const flow = {
    redirectUri,
    state: states.token(begun),
    nonce: begun.nonce,
    verifier: states.verifier(begun.nonce),
  };
  const url = await asked(parts, () => provider.authorizationUrl(flow));
  if (typeof url !== 'string') return url;
  return redirect(302, url, [['Set-Cookie', stateCookie(request, begun.nonce, STATE_LIFE_S)]]);
}

async function back(parts: RouteParts, { request, query }: OauthCall, name: ProviderName): Handled {
  const provider = providerOf(parts, name);
  if (provider === null) return NOT_OFFERED;
  if (!parts.tokens.canSign) return REFUSALS.notConfigured;
  const redirectUri = redirectUriOf(parts, request, name);
  if (redirectUri === null) return NO_ADDRESS;
  const { states } = parts;
  const state = query.get('state') ?? '';
  const begun = states.read(state);
  const nonce = cookieValue(request.header('cookie') ?? '', COOKIE) ?? '';
  if (begun === null || begun.provider !== name || !isSame(begun.nonce, nonce)) return BAD_STATE;
  const flow = { redirectUri, state, nonce, verifier: states.verifier(nonce) };
  const proof = await asked(parts, () => provider.prove(query, flow));
  if ('code' in proof) return proof;
  const user = await userOf(parts, provider, proof);
  if ('code' in user) return user;
  const cleared: HeaderList = [['Set-Cookie', stateCookie(request, '', 0)]];
  return (await logIn(parts, request, user.id, name, begun.next, cleared)) ?? NOBODY;
}

function providerOf({ providers }: RouteParts, name: ProviderName): LoginProvider | null {
  return providers.find((one) => one.name === name) ?? null;
}

/** Providers are asked for a bounded number of users at a time. */
async function asked<Answer>(
  { providerTurns, logger }: RouteParts,
  ask: () => Promise<Answer>,
): Promise<Answer | Refusal> {
  return providerTurns.run(async () => {
    try {
      return await ask();
    } catch (error) {
      logger.warn(TARGET, 'a login provider did not answer', { why: String(error) });
      return NO_ANSWER;
    }
  });
}

/** null: there is no address that a provider could send users back to. */
function redirectUriOf(
  { config: { publicUrl, isAuthHost } }: RouteParts,
  { header, isSecure }: OwnRequest,
  name: ProviderName,
): string | null {
  const path = `/auth/${name}/callback`;
  if (publicUrl !== null) return publicUrl.replace(/\/+$/, '') + path;
  const host = header('host') ?? '';
  if (isAuthHost || !HOST.test(host)) return null;
  return `${isSecure ? 'https' : 'http'}://${host}${path}`;
}

function stateCookie({ isSecure }: OwnRequest, nonce: string, maxAgeS: number): string {
  const secure = isSecure ? '; Secure' : '';
  return `${COOKIE}=${nonce}; Path=/auth/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeS}${secure}`;
}

async function userOf(
  parts: RouteParts,
  { name, domains }: LoginProvider,
  proof: Proof,
): Promise<UserRow | Refusal> {
  const email = emailOf(proof.email);
  if (!proof.isVerified || email === null) return UNVERIFIED;
  const domain = (proof.domain ?? email.slice(email.indexOf('@') + 1)).toLowerCase();
  if (domains.length > 0 && !domains.includes(domain)) return BAD_DOMAIN;
  const { records } = parts;
  const linked = await findUserByIdentity(records, name, proof.providerId);
  if (linked !== null) return linked.value;
  const held = await findUserByEmail(records, email);
  if (held === null) return signedUp(parts, name, { ...proof, email });
  const user = await linkIdentity(records, held.value.id, name, proof.providerId);
  return isRefused(user) ? NOBODY : user;
}

async function signedUp(
  { records, config: { autoProvision } }: RouteParts,
  provider: ProviderName,
  { email, providerId }: Proof,
): Promise<UserRow | Refusal> {
  if (autoProvision === null) return NOBODY;
  const { tenant: slug, role } = autoProvision;
  const tenant = slug === null ? null : await readBy(records, TENANTS, slug);
  if (tenant === null) return NO_TENANT;
  const clusters = await clustersOf(records, tenant.value.id);
  const roles = clusters.map(({ value }) => ({ clusterId: value.id, role }));
  const user = await createUser(records, SYSTEM, {
    tenantId: tenant.value.id,
    email,
    roles: roles.slice(0, FIRST_ROLES_MAX),
    action: 'signup',
    identity: { provider, providerId },
  });
  if (isRefused(user)) return NOBODY;
  await grantRest(records, user.id, roles.slice(FIRST_ROLES_MAX));
  return user;
}

async function grantRest(
  records: Records,
  userId: string,
  roles: readonly { readonly clusterId: string; readonly role: Role }[],
): Promise<void> {
  for (const wanted of roles) await grantRole(records, SYSTEM, { userId, ...wanted }, ROLE_ACTIONS);
}

export const OAUTH_ROUTES: readonly OwnRoute[] = [
  startRoute('google'),
  callbackRoute('google'),
  startRoute('github'),
  callbackRoute('github'),
];
