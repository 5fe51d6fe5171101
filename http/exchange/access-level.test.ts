// Goal: the table of levels and roles. Method: the specification's own table, cell by cell, and
// sets of roles by their parts.
import { describe, expect, test } from 'vitest';
import { type AccessLevel, ROLE_BITS, type Role, satisfies } from './access-level.js';

const ROLES: readonly Role[] = ['read-only', 'write-only', 'read-write', 'admin'];

const SATISFIED_BY: { readonly [level in AccessLevel]: readonly Role[] } = {
  public: ROLES,
  known: ROLES,
  'read-only': ['read-only', 'read-write', 'admin'],
  'write-only': ['write-only', 'read-write', 'admin'],
  'read-write': ['read-write', 'admin'],
  admin: ['admin'],
};

const asksNoRole = (level: AccessLevel) => level === 'public' || level === 'known';

describe.each(Object.entries(SATISFIED_BY) as [AccessLevel, readonly Role[]][])(
  '%s',
  (level, roles) => {
    test.each(ROLES)('%s', (role) => {
      expect(satisfies(ROLE_BITS[role], level)).toBe(roles.includes(role));
    });

    test('nobody', () => {
      expect(satisfies(0, level)).toBe(asksNoRole(level));
    });

    test('several roles satisfy what one of them does', () => {
      for (let set = 0; set < 16; set++) {
        const parts = ROLES.filter((role) => (set & ROLE_BITS[role]) !== 0);
        const one = asksNoRole(level) || parts.some((role) => roles.includes(role));
        expect(satisfies(set, level), parts.join(' ')).toBe(one);
      }
    });
  },
);
