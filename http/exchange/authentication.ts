/**
 * The seam between the front and whoever knows which callers there are (specification,
 * Authentication). The front hands over what stands in `Authorization`, before it reads a body, and
 * compares the roles that come back with the level of the route; it knows nothing of tokens.
 */
import type { RoleSet } from './access-level.js';

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
