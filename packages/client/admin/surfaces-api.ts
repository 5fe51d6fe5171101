/** Key/value, timers and ephemeral queues in lists: what their routes take and answer. */
import type { PageQuery } from './queries.js';

export interface KvListedRow {
  readonly key: string;
  readonly value?: unknown;
  readonly version: number;
  readonly expiresAt: string | null;
  readonly updatedAt: string;
  readonly expired: boolean;
}

export interface TimerQueueRow {
  readonly queue: string;
  readonly pending: number;
  readonly nextAt: string;
}

export interface EphemeralQueueRow {
  readonly queue: string;
  readonly tier: 'declared' | 'implicit';
  readonly depth: number;
  readonly bytes: number;
  readonly partitions: number;
  readonly groups: number;
  readonly drops: { readonly bounds: number; readonly ttl: number; readonly retry: number };
  readonly options: EphemeralOptionsShown;
}

export interface EphemeralOptionsShown {
  readonly maxBytes: number;
  readonly maxLength: number;
  readonly policy: 'reject' | 'dropOldest';
  readonly ttlSeconds: number;
  readonly leaseSeconds: number;
  readonly retryLimit: number;
  readonly windowBuffer: { readonly ms: number; readonly count: number } | null;
}

export interface SurfaceApi {
  'GET /api/v1/resources/kv/namespaces': {
    readonly answer: {
      readonly namespaces: readonly { readonly namespace: string; readonly keys: number }[];
      readonly truncated?: true;
    };
  };
  'POST /api/v1/resources/kv/list': {
    readonly body: {
      readonly namespace: string;
      readonly prefix?: string | null;
      readonly after?: string | null;
      readonly limit?: number | null;
      readonly keysOnly?: boolean | null;
      readonly includeExpired?: boolean | null;
    };
    readonly answer: {
      readonly rows: readonly KvListedRow[];
      readonly truncated: boolean;
      readonly nextAfter: string | null;
      readonly bytes: number;
    };
  };
  'GET /api/v1/resources/timers': {
    readonly query: PageQuery;
    readonly answer: {
      readonly timers: readonly TimerQueueRow[];
      readonly nextAfter?: string | null;
    };
  };
  'GET /api/v1/ephemeral/queues': {
    readonly query: { readonly after?: string; readonly limit?: number };
    readonly answer: {
      readonly queues: readonly EphemeralQueueRow[];
      readonly count: number;
      readonly nodeId: number;
      readonly cellBytes: number;
      readonly truncated: boolean;
      readonly nextAfter: string | null;
    };
  };
  'GET /api/v1/ephemeral/queues/{queue}/depth': {
    readonly query: { readonly group?: string };
    readonly answer: {
      readonly queue: string;
      readonly group: string | null;
      readonly tier: 'declared' | 'implicit';
      readonly pending: number;
      readonly partitionsPending: number;
      readonly bytes: number;
      readonly partitions: readonly {
        readonly partition: string;
        readonly pending: number;
        readonly bytes: number;
      }[];
      readonly groups: readonly {
        readonly group: string;
        readonly pending: number;
        readonly skipped: number;
      }[];
    };
  };
}
