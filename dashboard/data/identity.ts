/**
 * The reader of the page, and what this reader may do.
 *
 * A node alone answers a role of the token. A gateway answers a session: a person, with a role on
 * each of some clusters, of which the page acts on one.
 *
 * A document acts on one cluster for its whole life. A choice of another one loads a new document,
 * so no answer on its way, no list that is worked through and no text in a form is ever shown or
 * sent under the name of the other. Rejected: dropping by hand all that a page holds.
 */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { clusterToActOn } from '../base/acting.js';
import { type Capabilities, capabilitiesOf, type RoleHeld } from '../base/capabilities.js';
import { access } from './access.js';
import { urlOf } from './location.js';
import type { Success } from './request.js';
import { keep, readKept } from './storage.js';

export type Identity = Success<'GET /auth/me'>;
/** The person of the session, as the gateway names it. */
export type Session = Exclude<Identity, { readonly standalone: true }>;
export type Membership = Session['clusters'][number];

export const IdentityContext = createContext<Identity | null>(null);

const NOBODY: RoleHeld = { role: 'none', isOperator: false, isMember: false };

export function useIdentity(): Identity | null {
  return useContext(IdentityContext);
}

/** null: nobody is known yet, or there is no gateway. */
export function useSession(): Session | null {
  const identity = useIdentity();
  return identity === null ? null : sessionOf(identity);
}

/** The cluster that the page acts on, as it is by now; null: there is none, or no gateway. */
export function useMembership(): Membership | null {
  const session = useSession();
  return session === null ? null : membershipOf(session);
}

export function useCapabilities(): Capabilities {
  const identity = useIdentity();
  return capabilitiesOf(identity === null ? NOBODY : roleHeldBy(identity));
}

export function sessionOf(identity: Identity): Session | null {
  return 'standalone' in identity ? null : identity;
}

function roleHeldBy(identity: Identity): RoleHeld {
  const session = sessionOf(identity);
  if (session === null) {
    return { role: identity.role, isOperator: identity.is_operator, isMember: false };
  }
  const role = membershipOf(session)?.role ?? 'none';
  return { role, isOperator: session.operator_live, isMember: true };
}

function membershipOf({ clusters }: Session): Membership | null {
  const { cluster } = access.value;
  return clusters.find(({ id }) => id === cluster?.id) ?? null;
}

const chosenBy = ({ user_id: user }: Session): string => `svc.acting_cluster.${user}`;
let userId: string | null = null;

/** Before anything is asked for the reader. Another reader than before gets another document. */
export function actAs(identity: Identity): void {
  const session = sessionOf(identity);
  if (session === null) return;
  if (userId !== null && userId !== session.user_id) location.reload();
  if (access.value.cluster !== null) return;
  if (userId === null) addEventListener('pageshow', reloadWhatWasKept);
  userId = session.user_id;
  const cluster = clusterToActOn(session, readKept('localStorage', chosenBy(session)));
  if (cluster === null) return;
  access.value = {
    ...access.value,
    cluster: { id: cluster.id, header: session.act_cluster_header },
  };
}

/** A document that a browser brings back whole may be from before a logout. */
function reloadWhatWasKept({ persisted }: PageTransitionEvent): void {
  if (persisted) location.reload();
}

/** Goes to the page of this address, which acts on another cluster. */
export function actOn(session: Session, clusterId: string, path: string): void {
  keep('localStorage', chosenBy(session), clusterId);
  location.assign(urlOf(path));
}
