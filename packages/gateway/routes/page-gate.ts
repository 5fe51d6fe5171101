/**
 * The readers of the dashboard's pages (specification, Gateway routes): a person with a session, or
 * a key that may read. Anybody else who opens one in a browser is sent to the login page, which
 * leads back; a program is told that it has no credential. What a page loads (`/assets/`) is the
 * same for everybody and is not asked about.
 *
 * The page holds nothing of a tenant, and whatever it asks for is decided by itself. The gate
 * spares people a page that can only say that they have to log in.
 */
import { REFUSALS, type Refusal } from '../base/refusal.js';
import { presentedIn } from './acting.js';
import { localPath } from './local-path.js';
import { type OwnAnswer, type OwnRequest, type RouteParts, redirect } from './route.js';

/** null: whoever asks may have it. */
export async function pageGate(
  { credentials, config }: Pick<RouteParts, 'credentials' | 'config'>,
  request: OwnRequest,
): Promise<OwnAnswer | Refusal | null> {
  const presented = presentedIn(request, config, false);
  const caller = presented === null ? null : await credentials.caller(presented);
  if (caller?.kind === 'session') return null;
  if (caller?.kind === 'key') {
    const mayRead = caller.scopes.some((scope) => scope === 'read' || scope === 'admin');
    return mayRead ? null : REFUSALS.forbidden;
  }
  if (isNavigation(request)) return redirect(303, loginPath(request));
  return presented === null ? REFUSALS.noCredential : REFUSALS.badCredential;
}

/** A browser opens a page, and shows its reader what it gets. */
export function isNavigation({ header }: Pick<OwnRequest, 'header'>): boolean {
  const mode = header('sec-fetch-mode');
  if (mode !== undefined) return mode.toLowerCase() === 'navigate';
  return (header('accept') ?? '').toLowerCase().includes('text/html');
}

function loginPath({ path, query }: OwnRequest): string {
  const next = localPath(query === '' ? path : `${path}?${query}`);
  return next === '/' ? '/auth/login' : `/auth/login?next=${encodeURIComponent(next)}`;
}
