/**
 * Tells callers why they are refused: the texts of the refusals, the one table from
 * what is wrong with a token to its text, and the claims of a good one.
 *
 * A claim of the standard that has another type than the standard gives it spoils the token. A
 * claim with roles does not: it may be there for others and mean something else, and what cannot be
 * read grants nothing.
 */
import { type Caller, ROLE_BITS, type Role, type RoleSet, type Unauthenticated } from '@svc/http';
import { utf8Length } from '@svc/wire';
import { errors, type JWTPayload } from 'jose';
import { KeysUnavailableError, UnusableKeyError } from './keys.js';

/**
 * A subject is stored with each message that its owner pushes. OpenID Connect allows 255 bytes;
 * names of workloads are up to four times as long.
 */
const SUBJECT_BYTES_MAX = 1024;

export const NO_TOKEN = refusal('Authentication required');
export const BAD_HEADER = refusal('Bad token header');
const BAD_SIGNATURE = refusal('Invalid token signature');
const BAD_CLAIMS = refusal('Invalid token claims');
export const EXPIRED = refusal('Token has expired');
const NOT_YET_VALID = refusal('Token not yet valid');
export const ISSUED_IN_THE_FUTURE = refusal('Token issued in the future');
const BAD_ISSUER = refusal('Invalid token issuer');
const BAD_AUDIENCE = refusal('Invalid token audience');
const BAD_ALGORITHM = refusal('Unsupported token algorithm');
const UNKNOWN_KEY = refusal('Unknown key ID');
export const OVERLOADED: Unauthenticated = {
  kind: 'unauthenticated',
  status: '503 Service Unavailable',
  error: 'too many tokens wait to be checked; retry',
};

function refusal(error: string): Unauthenticated {
  return { kind: 'unauthenticated', status: '401 Unauthorized', error };
}

/**
 * `keyFound`: the header had been read when it failed. null for an error that no token can cause.
 */
export function unauthenticatedBy(error: unknown, keyFound: boolean): Unauthenticated | null {
  if (error instanceof UnusableKeyError) {
    const { message } = error;
    return { kind: 'unauthenticated', status: '500 Internal Server Error', error: message };
  }
  if (error instanceof KeysUnavailableError) {
    const { message } = error;
    return { kind: 'unauthenticated', status: '503 Service Unavailable', error: message };
  }
  if (error instanceof errors.JWTExpired) return EXPIRED;
  if (error instanceof errors.JWTClaimValidationFailed) return verdictOfClaim(error);
  if (error instanceof errors.JOSEError) return verdictOfCode(error.code, keyFound);
  return null;
}

function verdictOfClaim(error: errors.JWTClaimValidationFailed): Unauthenticated {
  if (error.claim === 'iss') return BAD_ISSUER;
  if (error.claim === 'aud') return BAD_AUDIENCE;
  return error.claim === 'nbf' && error.reason === 'check_failed' ? NOT_YET_VALID : BAD_CLAIMS;
}

function verdictOfCode(code: string, keyFound: boolean): Unauthenticated | null {
  switch (code) {
    case 'ERR_JOSE_ALG_NOT_ALLOWED':
      return BAD_ALGORITHM;
    case 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED':
      return BAD_SIGNATURE;
    // Not three parts, not base64url, not JSON, an extension nobody knows; or a signature that is
    // not base64url.
    case 'ERR_JWS_INVALID':
    case 'ERR_JOSE_NOT_SUPPORTED':
      return keyFound ? BAD_SIGNATURE : BAD_HEADER;
    case 'ERR_JWT_INVALID':
      return BAD_CLAIMS;
    case 'ERR_JWKS_NO_MATCHING_KEY':
    case 'ERR_JWKS_MULTIPLE_MATCHING_KEYS':
      return UNKNOWN_KEY;
    default:
      return null;
  }
}

export interface RoleNames {
  /** The claim that holds one role, and the one that holds several. */
  readonly claim: string;
  readonly arrayClaim: string;
  readonly names: { readonly [role in Role]: string };
}

export class ClaimReader {
  readonly #claim: string;
  readonly #arrayClaim: string;
  readonly #bits = new Map<string, RoleSet>();

  constructor({ claim, arrayClaim, names }: RoleNames) {
    this.#claim = claim;
    this.#arrayClaim = arrayClaim;
    for (const [role, name] of Object.entries(names) as [Role, string][]) {
      // A role without a name is nobody's; one name may stand for several roles.
      if (name !== '') this.#bits.set(name, (this.#bits.get(name) ?? 0) | ROLE_BITS[role]);
    }
  }

  read(payload: JWTPayload): Caller | Unauthenticated {
    const { sub } = payload;
    const subject: unknown = sub ?? null;
    if (subject !== null && typeof subject !== 'string') return BAD_CLAIMS;
    if (subject !== null && utf8Length(subject) > SUBJECT_BYTES_MAX) return BAD_CLAIMS;
    return { kind: 'caller', subject, roles: this.#rolesOf(payload) };
  }

  #rolesOf(payload: JWTPayload): RoleSet {
    const one = own(payload, this.#claim);
    const several = own(payload, this.#arrayClaim);
    const named: unknown[] = [one, ...(Array.isArray(several) ? several : [])];
    return named.reduce<RoleSet>((roles, name) => roles | this.#bitsOf(name), 0);
  }

  #bitsOf(name: unknown): RoleSet {
    return typeof name === 'string' ? (this.#bits.get(name) ?? 0) : 0;
  }
}

function own(payload: JWTPayload, claim: string): unknown {
  return Object.hasOwn(payload, claim) ? payload[claim] : undefined;
}
