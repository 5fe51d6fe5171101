/** Answers about switches, grants, purges and locks (state-surfaces 2, 5). */

/** What a tenant can be granted. */
export const GRANT_KINDS = ['kv', 'ephemeral', 'streams'] as const;
export type GrantKind = (typeof GRANT_KINDS)[number];

/** How far; in the order of the answer. */
export const GRANT_LIMITS = [
  'maxRows',
  'maxBytes',
  'maxTimers',
  'maxTimerHorizonSeconds',
  'maxReadsPerSecond',
  'maxWritesPerSecond',
  'maxQueues',
  'maxMessagesPerSecond',
  'maxQueries',
] as const;
export type GrantLimit = (typeof GRANT_LIMITS)[number];

/** state-surfaces 5.1. */
export interface KvTimersAnswer {
  readonly kvEnabled: boolean;
  readonly timersScheduleEnabled: boolean;
  readonly timersFireEnabled: boolean;
  /** Tenants with an allowance that this node has measured. */
  readonly quotaTenants: number;
  /** Milliseconds since the latest of these measurements. */
  readonly quotaAgeMs: number | null;
  /** Those near an end of their allowance. */
  readonly quotaHot: number;
}

export interface EphemeralSwitchAnswer {
  readonly ephemeralEnabled: boolean;
}

export interface EphemeralSwitchedAnswer extends EphemeralSwitchAnswer {
  readonly mirrored: true;
}

/** state-surfaces 5.2; null: not limited. */
export type QuotaAnswer = {
  readonly success: true;
  readonly tenant: string;
  readonly kind: GrantKind;
  readonly enabled: boolean;
} & { readonly [limit in GrantLimit]: number | null };

export interface TenantPurgedAnswer {
  readonly success: true;
  readonly tenant: string;
  readonly partitionsDeleted: number;
  readonly done: true;
}

export interface TenantNotPurgedAnswer {
  readonly success: false;
  readonly error: string;
}

// --- locks (state-surfaces 2.3) ------------------------------------------------------------------

export interface LockGuard {
  readonly op: 'check';
  readonly ns: string;
  readonly key: string;
  readonly expect: number;
  readonly required: true;
}

/** On refusals. */
export interface LockHolder {
  readonly slot: number;
  readonly owner: string | null;
}

export interface LockHolderDetail extends LockHolder {
  readonly token: number;
  readonly since: string;
  readonly expiresAt: string | null;
  readonly renewedAt: string;
}

export interface LockAcquired {
  readonly index: number;
  readonly op: 'acquire';
  readonly name: string;
  readonly acquired: true;
  /** The owner held it before; its lifetime is what it was. */
  readonly already?: true;
  readonly slot: number;
  readonly token: number;
  readonly owner: string | null;
  readonly guard: LockGuard;
}

export interface LockNotAcquired {
  readonly index: number;
  readonly op: 'acquire';
  readonly name: string;
  readonly acquired: false;
  readonly reason: 'held' | 'contended';
  readonly holders: readonly LockHolder[];
}

export interface LockRenewed {
  readonly index: number;
  readonly op: 'renew';
  readonly name: string;
  readonly renewed: true;
  readonly slot: number;
  readonly token: number;
  readonly guard: LockGuard;
}

export interface LockNotRenewed {
  readonly index: number;
  readonly op: 'renew';
  readonly name: string;
  readonly renewed: false;
  readonly reason: 'lost';
  readonly slot: number;
  readonly holders: readonly LockHolder[];
}

export interface LockReleased {
  readonly index: number;
  readonly op: 'release';
  readonly name: string;
  readonly released: true;
  readonly slot: number;
}

export interface LockNotReleased {
  readonly index: number;
  readonly op: 'release';
  readonly name: string;
  readonly released: false;
  readonly reason: 'lost';
  readonly slot: number;
  readonly holders: readonly LockHolder[];
}

export interface LockGot {
  readonly index: number;
  readonly op: 'get';
  readonly name: string;
  readonly held: boolean;
  readonly holders: readonly LockHolderDetail[];
}

export type LockResult =
  | LockAcquired
  | LockNotAcquired
  | LockRenewed
  | LockNotRenewed
  | LockReleased
  | LockNotReleased
  | LockGot;

export interface LocksAnswer {
  readonly results: readonly LockResult[];
}
