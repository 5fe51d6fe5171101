/** The seam to the broker for key/value (state-surfaces 1). See `service.ts`. */
import type { KvCall, KvJson, KvNamespaces, KvOutcome, RefusedOutcome, Tenant } from '@svc/engine';
import type { Reply } from './service.js';

export interface KvService {
  /**
   * One that writes goes to the leader and is answered when it is applied; one that only reads is a
   * linearizable read at this node.
   */
  call(call: KvCall, reply: Reply<KvOutcome | RefusedOutcome>): void;
  namespaces(tenant: Tenant, reply: Reply<KvNamespacesView | RefusedOutcome>): void;
  list(query: KvListQuery, reply: Reply<KvListView | RefusedOutcome>): void;
}

export interface KvListQuery {
  readonly tenant: Tenant;
  readonly namespace: string;
  readonly prefix: string;
  /** "": from the first. */
  readonly after: string;
  readonly limit: number;
  readonly keysOnly: boolean;
  readonly includeExpired: boolean;
}

export interface KvNamespacesView extends KvNamespaces {
  readonly kind: 'kv-namespaces';
}

export interface KvListedRow {
  readonly key: string;
  /** null: only keys were asked for. */
  readonly value: KvJson | null;
  readonly version: number;
  readonly expiresAtUs: number | null;
  readonly updatedAtUs: number;
  readonly expired: boolean;
}

export interface KvListView {
  readonly kind: 'kv-list';
  readonly rows: readonly KvListedRow[];
  readonly truncated: boolean;
  readonly nextAfter: string | null;
  /** Value bytes of the page. */
  readonly bytes: number;
}
