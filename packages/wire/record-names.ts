/**
 * Rules for what callers name the gateway's records by, and for its secrets (gateway 2 and 8). They
 * stand here because two readers hold to them: the gateway's routes, and the environment of a node,
 * which does not load the gateway. Each `...Of` gives the stored spelling, or null.
 */

const SLUG = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const PLAN_CODE = /^[a-z][a-z0-9-]{0,62}$/;
const EMAIL = /^[^\s\p{Cc}@]+@[^\s\p{Cc}@]+$/u;
const EMAIL_LENGTH_MAX = 254;
const PASSWORD_MIN = 12;
export const PASSWORD_MAX = 128;

/** Roles of a user on one cluster, from the widest to the narrowest. */
export const USER_ROLES = ['admin', 'producer', 'consumer', 'viewer'] as const;

/** Days of usage by the minute. With fewer, minutes of a day would end before it is summed. */
export const USAGE_KEEP_DAYS_MIN = 3;

export const API_KEY_PREFIX = 'qk_';
/** The longest that is looked up. Ours have 51 characters; one that is given may have more. */
export const API_KEY_LENGTH_MAX = 256;

/** The slug of a tenant or cluster; null: it is none. */
export function slugOf(value: unknown): string | null {
  return typeof value === 'string' ? matching(value.trim().toLowerCase(), SLUG) : null;
}

export function planCodeOf(value: unknown): string | null {
  return typeof value === 'string' ? matching(value, PLAN_CODE) : null;
}

/**
 * Lower case. One `@` with something on both sides, and no blanks: mail itself is stricter. Signs
 * that only look like letters, as that of kelvin does, are refused: in lower case they are the
 * letters, and the address would be somebody else's.
 */
export function emailOf(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  if (value.normalize('NFC') !== value) return null;
  const email = value.trim().toLowerCase();
  return email.length > EMAIL_LENGTH_MAX ? null : matching(email, EMAIL);
}

/** The rule of `newPasswordOf`, behind the name of the member or variable. */
export const NEW_PASSWORD_RULE = `must have ${PASSWORD_MIN} to ${PASSWORD_MAX} characters`;

/** A password that is set, as it is given. bcrypt reads its first 72 bytes. */
export function newPasswordOf(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const { length } = value;
  return length < PASSWORD_MIN || length > PASSWORD_MAX ? null : value;
}

/** The rule of `givenApiKeyOf`, behind the name of the variable. */
export const GIVEN_API_KEY_RULE =
  `must begin with ${API_KEY_PREFIX} and have at most ` + `${API_KEY_LENGTH_MAX} characters`;

/** A key that was not made here, as it is given. */
export function givenApiKeyOf(value: string): string | null {
  return value.startsWith(API_KEY_PREFIX) && value.length <= API_KEY_LENGTH_MAX ? value : null;
}

function matching(text: string, pattern: RegExp): string | null {
  return pattern.test(text) ? text : null;
}
