/** API keys of clusters. Only the hash of a key is stored (gateway 2). */
import type { Scope } from '../base/access.js';
import { allRows, BATCH_OPS_MAX, type WriteOp } from '../store/kv.js';
import {
  type Actor,
  change,
  type Held,
  isRefused,
  keyOf,
  type RecordBatch,
  type Records,
  type Refused,
  read,
  readBy,
  readMany,
  refused,
} from './batch.js';
import { guardCluster } from './living.js';
import { CLUSTERS, type ClusterRow, KEYS, type KeyRow } from './rows.js';

export interface NewKey {
  readonly clusterId: string;
  readonly name: string;
  readonly keyHash: string;
  readonly scopes: readonly Scope[];
  /** The user who made it. */
  readonly createdBy?: string;
}

export interface MadeKey {
  readonly key: KeyRow;
  readonly existed: boolean;
}

/** The same hash for the same cluster, name and scopes again answers the key that is there. */
export function registerKey(
  records: Records,
  actor: Actor,
  wanted: NewKey,
  action = 'api_key_issued',
): Promise<MadeKey | Refused> {
  return change(records, actor, async (batch): Promise<MadeKey | Refused> => {
    if ((await read(records, CLUSTERS, wanted.clusterId)) === null) {
      return refused('cluster_unknown', 'unknown cluster');
    }
    const held = await readBy(records, KEYS, wanted.keyHash);
    if (held !== null) {
      const { cluster_id, name, scopes } = held.value;
      const isSame =
        cluster_id === wanted.clusterId &&
        name === wanted.name &&
        scopes.join() === wanted.scopes.join();
      if (!isSame) return refused('conflict', 'the key is registered otherwise');
      return { key: held.value, existed: true };
    }
    const cluster = await guardCluster(records, batch, wanted.clusterId);
    if (isRefused(cluster)) return cluster;
    return { key: insertKey(batch, cluster, wanted, action), existed: false };
  });
}

/** Puts a new key into a batch whose caller guards the cluster. */
export function insertKey(
  batch: RecordBatch,
  cluster: ClusterRow,
  { name, keyHash, scopes, createdBy }: Omit<NewKey, 'clusterId'>,
  action: string,
): KeyRow {
  const key: KeyRow = {
    id: batch.newId(),
    cluster_id: cluster.id,
    name,
    key_hash: keyHash,
    scopes,
    ...(createdBy === undefined ? {} : { created_by: createdBy }),
    created_at_us: batch.nowUs,
  };
  batch.insert(KEYS, key);
  batch.audit({
    tenantId: cluster.tenant_id,
    clusterId: cluster.id,
    action,
    target: key.id,
    meta: { name, scopes },
  });
  return key;
}

export interface RevokedKey {
  readonly key: KeyRow;
  readonly alreadyRevoked: boolean;
}

/** Every node refuses the key once it has looked at the marks. `clusterId`: only one of its own. */
export function revokeKey(
  records: Records,
  actor: Actor,
  keyId: string,
  clusterId?: string,
): Promise<RevokedKey | Refused> {
  return change(records, actor, async (batch): Promise<RevokedKey | Refused> => {
    const held = await read(records, KEYS, keyId);
    if (held === null || (clusterId !== undefined && held.value.cluster_id !== clusterId)) {
      return refused('key_unknown', 'unknown key');
    }
    const { value } = held;
    if (value.revoked_at_us !== undefined) return { key: value, alreadyRevoked: true };
    const key = { ...value, revoked_at_us: batch.nowUs };
    batch.update(KEYS, held, key);
    batch.invalidate(value.cluster_id);
    const cluster = await read(records, CLUSTERS, value.cluster_id);
    if (cluster !== null) {
      batch.audit({
        tenantId: cluster.value.tenant_id,
        clusterId: value.cluster_id,
        action: 'api_key_revoked',
        target: keyId,
        meta: { name: value.name },
      });
    }
    return { key, alreadyRevoked: false };
  });
}

/** Also a revoked one. */
export function findKeyByHash(
  records: Pick<Records, 'store'>,
  keyHash: string,
): Promise<Held<KeyRow> | null> {
  return readBy(records, KEYS, keyHash);
}

/** Newest first. */
export async function keysOf(records: Records, clusterId: string): Promise<KeyRow[]> {
  const prefix = `#${clusterId}/`;
  const rows = await allRows(records.store, 'px.keys.cluster', prefix);
  const ids = rows.map(({ key }) => key.slice(prefix.length));
  const keys = (await readMany(records, KEYS, ids)).map(({ value }) => value);
  return keys.sort((one, other) => other.created_at_us - one.created_at_us);
}

/** A use is written when the one that is stored is older than this: a busy key costs no writes. */
const USE_STEP_US = 600_000_000;

/** Notes when keys were last used; a key that changes at the same moment is left out. */
export async function noteKeyUses(
  records: Pick<Records, 'store'>,
  uses: ReadonlyMap<string, number>,
): Promise<void> {
  const ids = [...uses.keys()];
  for (let from = 0; from < ids.length; from += BATCH_OPS_MAX) {
    const held = await readMany(records, KEYS, ids.slice(from, from + BATCH_OPS_MAX));
    const ops = held.flatMap(({ value, version }): WriteOp[] => {
      const usedUs = uses.get(value.id) ?? 0;
      const storedUs = value.last_used_at_us;
      if (storedUs !== undefined && usedUs < storedUs + USE_STEP_US) return [];
      const used: KeyRow = { ...value, last_used_at_us: usedUs };
      const at = { namespace: KEYS.namespace, key: keyOf(KEYS, value) };
      return [{ op: 'put', ...at, value: used, expect: version }];
    });
    if (ops.length > 0) await records.store.batch(ops);
  }
}
