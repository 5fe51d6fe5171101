/**
 * The part of a request that names its sender. To a node: a bearer token, and a tenant where the
 * node reads one. Both are kept for this tab alone and leave with it; neither ever stands in an
 * address. To a gateway the browser says it with its cookie, and the page which cluster it acts on.
 *
 * A request that is answered 401 waits here until a token is entered (`shell/access-dialog.tsx`),
 * and is sent again: the page stays, with all that was typed into it.
 */
import { withQuery } from '../base/routes.js';
import { Store } from '../base/store.js';
import { urlOf } from './location.js';
import { keep, readKept } from './storage.js';

const TOKEN = 'svc.token';
const TENANT = 'svc.tenant';

export interface Access {
  readonly token: string;
  readonly tenant: string;
  /** Behind a gateway; null: none is known. */
  readonly cluster: ActingCluster | null;
}

export interface ActingCluster {
  readonly id: string;
  /** The name of the header that says it. */
  readonly header: string;
}

export const access = new Store<Access>({
  cluster: null,
  token: readKept('sessionStorage', TOKEN) ?? '',
  tenant: readKept('sessionStorage', TENANT) ?? '',
});

/** A token is asked for. */
export const isTokenWanted = new Store(false);
/** The node's refusal of the token that it was given last; null: it did not refuse it. */
export const tokenRefusal = new Store<string | null>(null);
/** The reader closed the question: it comes again when he asks, or when the page is loaded. */
let isDeclined = false;
let waiting: ((hasToken: boolean) => void)[] = [];

/** An empty member is forgotten. `Bearer ` in front of a pasted token is not part of it. */
export function keepAccess({ token, tenant }: Pick<Access, 'token' | 'tenant'>): void {
  const { cluster } = access.value;
  const kept = { cluster, token: token.trim().replace(/^bearer\s+/i, ''), tenant: tenant.trim() };
  keep('sessionStorage', TOKEN, kept.token || null);
  keep('sessionStorage', TENANT, kept.tenant || null);
  access.value = kept;
  tokenRefusal.value = null;
  isDeclined = false;
  settle(true);
}

export function askForToken(): void {
  isDeclined = false;
  isTokenWanted.value = true;
}

export function declineToken(): void {
  isDeclined = true;
  settle(false);
}

/**
 * After a 401 to a request that was sent with this access. False: the reader gave no other.
 * `reason`: what the node said.
 */
export function tokenEntered(sentWith: Access, reason: string): Promise<boolean> {
  // Another was entered while the answer was on its way.
  if (sentWith !== access.value) return Promise.resolve(true);
  if (sentWith.token !== '') tokenRefusal.value = reason;
  if (isDeclined) return Promise.resolve(false);
  isTokenWanted.value = true;
  return new Promise((resolve) => waiting.push(resolve));
}

export function accessHeaders(
  { token, tenant, cluster }: Access,
  path: string,
): Record<string, string> {
  return {
    ...(token !== '' && { authorization: `Bearer ${token}` }),
    ...(tenant !== '' && { 'x-svc-tenant': tenant }),
    ...(cluster !== null && path.startsWith('/api/') && { [cluster.header]: cluster.id }),
  };
}

let isLeaving = false;

/**
 * After a 401 of a gateway: the reader logs in, and comes back to this page. Resolves where that
 * does not help: a token of this tab was sent, which counts instead of the session, and is dropped.
 */
export function loggedIn(sentWith: Access): Promise<void> {
  if (sentWith.token !== '') {
    if (sentWith === access.value) keepAccess({ token: '', tenant: '' });
    return Promise.resolve();
  }
  if (!isLeaving) location.replace(urlOf(loginPath()));
  isLeaving = true;
  return new Promise(() => {});
}

/** After a logout: nothing of the session may be on the screen, also by the way back. */
export function leave(): void {
  isLeaving = true;
  location.replace(urlOf('/auth/login'));
}

/** The way back is what a browser asks for: the login page takes no other. */
function loginPath(): string {
  return withQuery('/auth/login', { next: location.pathname + location.search });
}

function settle(hasToken: boolean): void {
  isTokenWanted.value = false;
  const told = waiting;
  waiting = [];
  for (const resolve of told) resolve(hasToken);
}
