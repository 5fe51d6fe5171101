/** The seam to the broker for locks and semaphores (state-surfaces 2). See `service.ts`. */
import type { RefusedOutcome, Tenant } from '@svc/engine';
import type { LockResult } from '@svc/wire';
import type { Reply } from './service.js';

/** Permits are rows of this namespace (decisions 18). */
export const LOCK_NAMESPACE = 'svc-locks';
export const LOCK_SLOTS_MAX = 1024;

export interface LockAcquire {
  readonly op: 'acquire';
  readonly name: string;
  /** >= 1. */
  readonly ttlSeconds: number;
  readonly owner: string | null;
  /** 1..1024: slots below it are tried. */
  readonly limit: number;
}

export interface LockRenew {
  readonly op: 'renew';
  readonly name: string;
  /** >= 1. */
  readonly token: number;
  readonly ttlSeconds: number;
  readonly slot: number;
  readonly owner: string | null;
}

export interface LockRelease {
  readonly op: 'release';
  readonly name: string;
  readonly token: number;
  readonly slot: number;
}

export interface LockGet {
  readonly op: 'get';
  readonly name: string;
}

export type LockOp = LockAcquire | LockRenew | LockRelease | LockGet;

export interface LocksView {
  readonly kind: 'locks';
  /** In the order of the operations. */
  readonly results: readonly LockResult[];
}

export interface LockService {
  /** No two operations have the same name. */
  run(tenant: Tenant, ops: readonly LockOp[], reply: Reply<LocksView | RefusedOutcome>): void;
}

/** The text that a permit's row begins its life with, and what it is charged for. */
export function permitValue(owner: string | null, since?: string): string {
  return JSON.stringify({ owner, since });
}
