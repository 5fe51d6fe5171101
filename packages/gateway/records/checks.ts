/** Checks of what callers name records by. Each gives the stored spelling, or null. */
import {
  LIMITS,
  type LimitOverrides,
  ROLES,
  type Role,
  SCOPES,
  type Scope,
} from '../base/access.js';
import type { Json } from '../store/kv.js';

const SLUG = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const PLAN_CODE = /^[a-z][a-z0-9-]*$/;
const KEY_HASH = /^[0-9a-f]{64}$/;
const CONTROL = /\p{Cc}/u;
const EMAIL_LENGTH_MAX = 254;
const NAME_LENGTH_MAX = 160;
const PLAN_CODE_LENGTH_MAX = 63;

/** The slug of a tenant or cluster; null: it is none. */
export function slugOf(value: unknown): string | null {
  return typeof value === 'string' ? matching(value.trim().toLowerCase(), SLUG) : null;
}

export function planCodeOf(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > PLAN_CODE_LENGTH_MAX) return null;
  return matching(value, PLAN_CODE);
}

export function keyHashOf(value: unknown): string | null {
  return typeof value === 'string' ? matching(value, KEY_HASH) : null;
}

/** Lower case. One `@` with something on both sides, and no blanks: mail itself is stricter. */
export function emailOf(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const email = value.trim().toLowerCase();
  if (email.length > EMAIL_LENGTH_MAX || CONTROL.test(email)) return null;
  return matching(email, /^[^\s@]+@[^\s@]+$/);
}

/** The name of a tenant, user or key: 1 to 160 characters, none of them a control character. */
export function nameOf(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const name = value.trim();
  return name === '' || name.length > NAME_LENGTH_MAX || CONTROL.test(name) ? null : name;
}

/** Not empty; each at most once, in the order of `SCOPES`. */
export function scopesOf(value: unknown): readonly Scope[] | null {
  if (!Array.isArray(value) || value.length === 0) return null;
  if (!value.every((one) => SCOPES.some((scope) => scope === one))) return null;
  return SCOPES.filter((scope) => value.includes(scope));
}

export function roleOf(value: unknown): Role | null {
  return ROLES.find((role) => role === value) ?? null;
}

/** Limits by their names, each a whole number from 0 on or null; an object and nothing else. */
export function overridesOf(value: Json | undefined): LimitOverrides | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  for (const [name, limit] of Object.entries(value)) {
    if (!LIMITS.some((known) => known === name)) return null;
    if (limit !== null && !(Number.isSafeInteger(limit) && Number(limit) >= 0)) return null;
  }
  return value as LimitOverrides;
}

function matching(text: string, pattern: RegExp): string | null {
  return pattern.test(text) ? text : null;
}
