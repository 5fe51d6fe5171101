/**
 * Writing key/value rows: apply runs this, and it keeps expiries, counts and versions in step.
 *
 * An effect is what one call writes. It says what each write replaces, so that applying reads no
 * row: a row that nobody has in memory costs a look into the store, and planning has had that look.
 */
import { assert, bug } from '../../base/assert.js';
import type { Tenant } from '../../base/commands/commands.js';
import type { KvJson } from '../../base/commands/kv.js';
import { effect } from '../../base/fields/choice.js';
import {
  as,
  bytes,
  count,
  type Infer,
  key,
  list,
  nullable,
  ROWS_MAX,
  uuid,
} from '../../base/fields/field.js';
import { added, maybe, record } from '../../base/fields/record.js';
import { SINGLETON_KEY } from '../../base/keys.js';
import type { Key, State } from '../../base/state.js';
import {
  type KvRow,
  keyOfExpiry,
  kvCounter,
  kvExpiries,
  kvExpiryKey,
  kvExpiryStart,
  kvNamespaceKey,
  kvNamespaces,
  kvRows,
  kvUse,
  kvUseOf,
  lastKvVersion,
  namespaceInKey,
  tenantInKey,
} from './tables.js';

/** The row that a write replaces or deletes. */
const kvReplaced = record({ bytes: count, expiresAtUs: count });

const kvWrite = record({
  /** The key in `kvRows`, behind the tenant. */
  place: key,
  /** null: the row goes. */
  value: nullable(as<KvJson, Uint8Array>(bytes)),
  /** 0: never. */
  expiresAtUs: count,
  /** null: there is no row. */
  replaced: maybe(kvReplaced),
});
export type KvWrite = Infer<typeof kvWrite>;

interface KvWrites {
  readonly tenant: Tenant;
  readonly writes: readonly KvWrite[];
  readonly versionBefore: number;
}

export const kvEffects = {
  /** What one call writes; those that put a row get the next versions, in this order. */
  kv: effect(
    18,
    {
      tenant: uuid,
      writes: list(kvWrite, ROWS_MAX),
      /** The version before the first of them; 0: not told. */
      versionBefore: added(count, 0),
    },
    (state, it, stampUs) => writeRows(state, it, stampUs),
  ),
  /** Rows whose time has come, from that place of `kvExpiries` on: those before it are gone. */
  'expire-kv': effect(19, { from: key, beforeUs: count, rowsMax: count }, (state, it) => {
    expireRows(state, it.from, it.beforeUs, it.rowsMax);
  }),
};

function writeRows(
  state: State,
  { tenant, writes, versionBefore }: KvWrites,
  stampUs: number,
): void {
  const use = new UseChange();
  const first = lastKvVersion(state);
  if (versionBefore !== 0 && versionBefore !== first) {
    bug(`key/value rows written after version ${versionBefore}, the last one is ${first}`);
  }
  let version = first;
  for (const { place, value, expiresAtUs, replaced } of writes) {
    const key = (tenant + place) as Key;
    const before = replaced?.expiresAtUs ?? 0;
    if (before !== 0 && before !== expiresAtUs) state.delete(kvExpiries, kvExpiryKey(before, key));
    if (expiresAtUs !== 0 && before !== expiresAtUs) {
      state.put(kvExpiries, kvExpiryKey(expiresAtUs, key), true);
    }
    if (value === null) state.delete(kvRows, key);
    else {
      version++;
      state.put(kvRows, key, { version, expiresAtUs, updatedAtUs: stampUs, value });
    }
    const rows = (value === null ? 0 : 1) - (replaced === null ? 0 : 1);
    use.add(key, rows, (value?.length ?? 0) - (replaced?.bytes ?? 0));
  }
  if (version !== first) state.put(kvCounter, SINGLETON_KEY, version);
  use.store(state, tenant);
}

function expireRows(state: State, from: Key, beforeUs: number, rowsMax: number): void {
  const uses = new Map<Tenant, UseChange>();
  for (const { key: place } of state.range(kvExpiries, from, kvExpiryStart(beforeUs), rowsMax)) {
    const key = keyOfExpiry(place);
    const row: KvRow | undefined = state.get(kvRows, key);
    assert(row !== undefined, `a row expires that is not there, at ${beforeUs}`);
    state.delete(kvExpiries, place);
    state.delete(kvRows, key);
    const tenant = tenantInKey(key);
    const use = uses.get(tenant) ?? new UseChange();
    uses.set(tenant, use);
    use.add(key, -1, -row.value.length);
  }
  for (const [tenant, use] of uses) use.store(state, tenant);
}

/** How the rows of a tenant become more or fewer, put down once for all of them. */
class UseChange {
  #rows = 0;
  #bytes = 0;
  readonly #namespaces = new Map<string, number>();

  add(key: Key, rows: number, bytes: number): void {
    this.#bytes += bytes;
    if (rows === 0) return;
    this.#rows += rows;
    const namespace = namespaceInKey(key);
    this.#namespaces.set(namespace, (this.#namespaces.get(namespace) ?? 0) + rows);
  }

  store(state: State, tenant: Tenant): void {
    for (const [namespace, rows] of this.#namespaces) {
      if (rows === 0) continue;
      const key = kvNamespaceKey(tenant, namespace);
      const count = (state.get(kvNamespaces, key) ?? 0) + rows;
      assert(count >= 0, `${count} rows in a namespace`);
      if (count === 0) state.delete(kvNamespaces, key);
      else state.put(kvNamespaces, key, count);
    }
    if (this.#rows === 0 && this.#bytes === 0) return;
    const before = kvUseOf(state, tenant);
    const use = { rows: before.rows + this.#rows, bytes: before.bytes + this.#bytes };
    assert(use.rows >= 0 && use.bytes >= 0, `${use.rows} rows of ${use.bytes} bytes in a tenant`);
    if (use.rows === 0) state.delete(kvUse, tenant as string as Key);
    else state.put(kvUse, tenant as string as Key, use);
  }
}
