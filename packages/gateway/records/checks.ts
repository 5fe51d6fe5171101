/**
 * Checks of members of records, besides names that the environment may give too (`@svc/wire`). Each
 * gives the stored spelling, or null.
 */
import {
  LIMITS,
  type LimitOverrides,
  ROLES,
  type Role,
  SCOPES,
  type Scope,
} from '../base/access.js';
import type { Json } from '../store/kv.js';

const KEY_HASH = /^[0-9a-f]{64}$/;
const CONTROL = /\p{Cc}/u;
const NAME_LENGTH_MAX = 160;
/** The part of a name that a fault repeats. */
const SHOWN_LENGTH_MAX = 64;

export function keyHashOf(value: unknown): string | null {
  return typeof value === 'string' && KEY_HASH.test(value) ? value : null;
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
export function overridesOf(value: Json): LimitOverrides | null {
  return overridesFault(value) === null ? (value as LimitOverrides) : null;
}

/**
 * The first thing that is wrong with overrides: which limit, and its bounds. null: nothing.
 * `member`: of the body; absent: they are the body itself.
 */
export function overridesFault(value: Json, member?: string): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return `${member ?? 'the overrides'} must be an object of limits, or null`;
  }
  for (const [name, limit] of Object.entries(value)) {
    const shown = name.length > SHOWN_LENGTH_MAX ? `${name.slice(0, SHOWN_LENGTH_MAX)}...` : name;
    const at = member === undefined ? shown : `${member}.${shown}`;
    if (!LIMITS.some((known) => known === name)) {
      return `${at} is no limit; the limits are ${LIMITS.join(', ')}`;
    }
    if (limit !== null && !(Number.isSafeInteger(limit) && Number(limit) >= 0)) {
      return `${at} must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}, or null`;
    }
  }
  return null;
}
