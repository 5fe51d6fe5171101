/**
 * The pipeline asks here who a caller is and what they may do: the answer comes from what is known
 * where that is fresh, else from the store. A credential that never was, one that ended and one
 * that was revoked get the same answer.
 */
import { API_KEY_LENGTH_MAX, slugOf } from '@svc/wire';
import type { Role } from '../base/access.js';
import type { Caller, KeyCaller, SessionCaller } from '../base/caller.js';
import type { Clock } from '../base/clock.js';
import type { ClusterView } from '../base/cluster-view.js';
import { NIL_ID } from '../base/random.js';
import type { Records } from '../records/batch.js';
import { read } from '../records/batch.js';
import { loadClusterView } from '../records/clusters.js';
import { findKeyByHash, noteKeyUses } from '../records/keys.js';
import { CLUSTER_ROLES, CLUSTERS, USERS } from '../records/rows.js';
import { isRevoked } from '../records/sessions.js';
import { StoreUnavailableError } from '../store/kv.js';
import { Alike } from './alike.js';
import { hashOfKey } from './api-key.js';
import type { Epochs } from './epochs.js';
import { Known, type KnownOptions, type MaybePromise } from './known.js';
import type { Presented } from './presented.js';
import type { SessionClaims, SessionTokens } from './session-tokens.js';

export interface CredentialOptions {
  readonly records: Pick<Records, 'store'>;
  readonly clock: Clock;
  readonly tokens: SessionTokens;
  readonly epochs: Epochs;
  /** How long what is known holds while the store does not answer. */
  readonly graceMs: number;
  /** A session is refused while nobody can say whether it was revoked. */
  readonly isStrict: boolean;
}

export interface KnownUser {
  readonly email: string;
  readonly tenantId: string;
  readonly isOperator: boolean;
}

const FRESH_MS = 30_000;
/** How long a session counts as not on the deny-list. */
const DENY_FRESH_MS = 60_000;
/** Slugs that name no cluster: hosts are made up as easily as keys, and are no secret. */
const MISSING_MS = 1_000;
const KEYS_MAX = 262_144;
const CLUSTERS_MAX = 65_536;
const ROLES_MAX = 65_536;
const SESSIONS_MAX = 65_536;

export class Credentials {
  readonly #options: CredentialOptions;
  readonly #keys: Known<KeyCaller>;
  readonly #clusters: Known<ClusterView>;
  readonly #slugs: Known<string>;
  readonly #roles: Known<Role>;
  readonly #users: Known<KnownUser>;
  readonly #revoked: Known<{ readonly isRevoked: boolean }>;
  readonly #alike = new Alike();
  #uses = new Map<string, number>();

  constructor(options: CredentialOptions) {
    this.#options = options;
    const { records } = options;
    this.#keys = this.#known({
      entriesMax: KEYS_MAX,
      ownerOf: ({ clusterId }) => clusterId,
      load: async (hash) => {
        const held = await findKeyByHash(records, hash);
        if (held === null || held.value.revoked_at_us !== undefined) return null;
        const { id, cluster_id, scopes } = held.value;
        const clusterId = this.#alike.text(cluster_id);
        return { kind: 'key', keyId: id, clusterId, scopes: this.#alike.object(scopes) };
      },
    });
    this.#clusters = this.#known({
      entriesMax: CLUSTERS_MAX,
      ownerOf: ({ id }) => id,
      load: async (id) => {
        const view = await loadClusterView(records, { id });
        return view === null ? null : this.#shared(view);
      },
    });
    this.#slugs = this.#known({
      entriesMax: CLUSTERS_MAX,
      missingMs: MISSING_MS,
      ownerOf: (id) => id,
      load: async (slug) => {
        const [index] = CLUSTERS.unique;
        const row = await records.store.get(index?.namespace ?? '', `#${slug}`);
        return row === null ? null : this.#alike.text(String(row.value));
      },
    });
    this.#roles = this.#known({
      entriesMax: ROLES_MAX,
      ownerOf: (_role, key) => key.slice(key.indexOf('/') + 1),
      load: async (key) => (await read(records, CLUSTER_ROLES, key))?.value.role ?? null,
    });
    this.#users = this.#known({
      entriesMax: ROLES_MAX,
      ownerOf: (_user, id) => id,
      load: async (id) => {
        const held = await read(records, USERS, id);
        if (held === null) return null;
        const { email, tenant_id, is_operator } = held.value;
        return { email, tenantId: tenant_id, isOperator: is_operator };
      },
    });
    this.#revoked = this.#known({
      entriesMax: SESSIONS_MAX,
      freshMs: DENY_FRESH_MS,
      ownerOf: () => NIL_ID,
      load: async (jti) => ({ isRevoked: await isRevoked(records, jti) }),
    });
  }

  /**
   * null: no cluster has this slug. Rejects as `caller` does. What is no slug is not asked for: it
   * comes from hosts and headers of anybody, and may have any length.
   */
  clusterBySlug(slug: string): MaybePromise<ClusterView | null> {
    if (slugOf(slug) !== slug) return null;
    return then(this.#slugs.get(slug), (id) => (id === null ? null : this.#clusters.get(id)));
  }

  clusterById(id: string): MaybePromise<ClusterView | null> {
    return this.#clusters.get(id);
  }

  /**
   * null: the credential is not good. Rejects with `StoreUnavailableError` when the store does not
   * answer and nothing is known, and with `OverloadedError` when too many ask.
   */
  caller(presented: Presented): MaybePromise<Caller | null> {
    if (presented.kind === 'session') {
      return then(this.#options.tokens.verify(presented.token), (claims) =>
        claims === null ? null : this.#session(claims),
      );
    }
    if (presented.text.length > API_KEY_LENGTH_MAX) return null;
    return this.#keys.get(hashOfKey(presented.text));
  }

  /** null: the user has none there. */
  role(userId: string, clusterId: string): MaybePromise<Role | null> {
    return this.#roles.get(`${userId}/${clusterId}`);
  }

  user(userId: string): MaybePromise<KnownUser | null> {
    return this.#users.get(userId);
  }

  /**
   * Remembers that the key was used now; `flushUses` writes it. Of more keys in between than are
   * known, uses are left out: they are for people to look at.
   */
  noteUse(keyId: string): void {
    if (this.#uses.size >= KEYS_MAX && !this.#uses.has(keyId)) return;
    this.#uses.set(keyId, this.#options.clock.wallUs());
  }

  /** What cannot be written is dropped: the next use of the key is noted again. */
  async flushUses(): Promise<void> {
    const uses = this.#uses;
    this.#uses = new Map();
    await noteKeyUses(this.#options.records, uses);
  }

  /** Both are asked for at once: where the store does not answer, they are waited for once. */
  #session(claims: SessionClaims): MaybePromise<SessionCaller | null> {
    const asked = [this.#isRevoked(claims.jti), this.#users.get(claims.userId)] as const;
    return then(both(...asked), ([revoked, user]) => {
      if (revoked || user === null) return null;
      const { userId, jti, clusterId, expiresS } = claims;
      const { isOperator } = user;
      return { kind: 'session', userId, jti, clusterId, isOperator, expiresS };
    });
  }

  /** Its tenant, plan and cell are shared with other clusters. */
  #shared(view: ClusterView): ClusterView {
    const alike = this.#alike;
    return {
      ...view,
      id: alike.text(view.id),
      tenantId: alike.text(view.tenantId),
      tenantSlug: alike.text(view.tenantSlug),
      cellId: alike.text(view.cellId),
      planCode: alike.text(view.planCode),
      features: alike.object(view.features),
      limits: alike.object(view.limits),
    };
  }

  #isRevoked(jti: string): MaybePromise<boolean> {
    const known = this.#revoked.get(jti);
    if (!(known instanceof Promise)) return known?.isRevoked ?? false;
    return known.then(
      (loaded) => loaded?.isRevoked ?? false,
      (error: unknown) => {
        if (!this.#options.isStrict && error instanceof StoreUnavailableError) return false;
        throw error;
      },
    );
  }

  #known<Value>(
    options: Omit<KnownOptions<Value>, 'clock' | 'epochs' | 'graceMs' | 'freshMs'> & {
      readonly freshMs?: number;
    },
  ): Known<Value> {
    const { clock, epochs, graceMs } = this.#options;
    return new Known({ freshMs: FRESH_MS, ...options, clock, epochs, graceMs });
  }
}

function both<One, Other>(
  one: MaybePromise<One>,
  other: MaybePromise<Other>,
): MaybePromise<readonly [One, Other]> {
  if (one instanceof Promise || other instanceof Promise) return Promise.all([one, other]);
  return [one, other];
}

/** Goes on in the same turn where the value is there. */
function then<Value, Result>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Result>,
): MaybePromise<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}
