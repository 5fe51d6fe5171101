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
