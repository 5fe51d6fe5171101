/** Whoever makes a request, once the credential is known to be good. */
import type { Scope } from './access.js';

export interface KeyCaller {
  readonly kind: 'key';
  readonly keyId: string;
  /** The one cluster that the key is for. */
  readonly clusterId: string;
  readonly scopes: readonly Scope[];
}

export interface SessionCaller {
  readonly kind: 'session';
  readonly userId: string;
  readonly jti: string;
  /** The one cluster that the token is for; null: whatever the user has a role on. */
  readonly clusterId: string | null;
  /** The user may act as an operator, if this cell has any. */
  readonly isOperator: boolean;
  /** When the token ends, seconds since the epoch. */
  readonly expiresS: number;
}

export type Caller = KeyCaller | SessionCaller;
