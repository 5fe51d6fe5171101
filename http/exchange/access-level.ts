/**
 * Access levels (specification, Authentication 4 and 5). A route has a level, a caller has
 * roles; which roles satisfy which level is a table and not a ladder: who may only write may not
 * read, and the other way round.
 */

/** What a route asks of its caller. `known`: a valid token, with whatever roles. */
export type AccessLevel = 'public' | 'known' | 'read-only' | 'write-only' | 'read-write' | 'admin';

/** What a caller is. */
export type Role = Exclude<AccessLevel, 'public' | 'known'>;

/** Roles of one caller, as bits. */
export type RoleSet = number;

export const ROLE_BITS: { readonly [role in Role]: RoleSet } = {
  'read-only': 1,
  'write-only': 2,
  'read-write': 4,
  admin: 8,
};

/**
 * No role, but what a caller may not do beside them: a pop of it makes no queue (gateway, Settled).
 */
export const POPS_MAKE_NO_QUEUE: RoleSet = 16;

/**
 * No role: key/value of this request is not asked for the tenant's grant. The gateway lets a log
 * facade keep its books where the plan has no key/value (gateway 4, step 4).
 */
export const KV_NEEDS_NO_GRANT: RoleSet = 32;

/**
 * No role: figures that sum over all tenants of a node show this one's alone. Tenants behind a
 * gateway must not see how busy others are.
 */
export const SEES_ITS_TENANT_ALONE: RoleSet = 64;

const READ_WRITE = ROLE_BITS['read-write'] | ROLE_BITS.admin;

/** Any one of these roles is enough. */
const ENOUGH: { readonly [level in Role]: RoleSet } = {
  'read-only': ROLE_BITS['read-only'] | READ_WRITE,
  'write-only': ROLE_BITS['write-only'] | READ_WRITE,
  'read-write': READ_WRITE,
  admin: ROLE_BITS.admin,
};

/** A path that no route takes is asked for as if it could do anything but administer. */
export const UNKNOWN_PATH_LEVEL = 'read-write';

export function satisfies(roles: RoleSet, level: AccessLevel): boolean {
  return level === 'public' || level === 'known' || (roles & ENOUGH[level]) !== 0;
}

/** The role of the set that allows most; null: it has none. */
export function widestRole(roles: RoleSet): Role | null {
  const ranked: readonly Role[] = ['admin', 'read-write', 'read-only', 'write-only'];
  return ranked.find((role) => (roles & ROLE_BITS[role]) !== 0) ?? null;
}

/**
 * The seam between the front and whoever knows which callers there are. The front hands over what
 * stands in `Authorization`, before it reads a body, and compares the roles that come back with the
 * level of the route; it knows nothing of tokens.
 */
export interface Authenticator {
  /**
   * `authorization` is the header as it came, "" when there is none. At once for a caller whose
   * token is remembered, and for one who needs no look at a key to be refused; a promise, which
   * never rejects, for all others.
   */
  check(authorization: string): CheckedCaller | Promise<CheckedCaller>;
}

export type CheckedCaller = Caller | Unauthenticated;

export interface Caller {
  readonly kind: 'caller';
  /** `sub`; null when the token names nobody. */
  readonly subject: string | null;
  readonly roles: RoleSet;
}

export interface Unauthenticated {
  readonly kind: 'unauthenticated';
  readonly status:
    | '401 Unauthorized'
    /** The configured key cannot be used: no token can be checked. */
    | '500 Internal Server Error'
    /** Nothing is wrong with the token as far as is known; another try may succeed. */
    | '503 Service Unavailable';
  readonly error: string;
}
