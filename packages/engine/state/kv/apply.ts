/**
 * Writing key/value rows: apply runs this, and it keeps expiries, counts and versions in step.
 *
 * An effect is what one call writes. It says what each write replaces, so that applying reads no
 * row: a row that nobody has in memory costs a look into the store, and planning has had that look.
 */
import { assert } from '../../base/assert.js';
import type { ByteReader, ByteWriter } from '../../base/bytes.js';
import type { Tenant } from '../../base/commands/commands.js';
import type { KvJson } from '../../base/commands/kv.js';
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
export interface KvReplaced {
  readonly bytes: number;
  readonly expiresAtUs: number;
}

export interface KvWrite {
  /** Of `kvRows`. */
  readonly key: Key;
  /** null: the row goes. */
  readonly value: KvJson | null;
  /** 0: never. */
  readonly expiresAtUs: number;
  /** null: there is no row. */
  readonly replaced: KvReplaced | null;
}

/** What one call writes; those that put a row get the next versions, in this order. */
export interface KvEffect {
  readonly kind: 'kv';
  readonly tenant: Tenant;
  readonly writes: readonly KvWrite[];
}

/** Rows whose time has come, from that place of `kvExpiries` on: what stands before it is gone. */
export interface ExpireKvEffect {
  readonly kind: 'expire-kv';
  readonly from: Key;
  readonly beforeUs: number;
  readonly rowsMax: number;
}

export function writeKvEffect(w: ByteWriter, { tenant, writes }: KvEffect): void {
  w.uuid(tenant);
  w.varint(writes.length);
  for (const { key, value, expiresAtUs, replaced } of writes) {
    w.latin1(key.slice(tenant.length));
    w.flag(value !== null);
    if (value !== null) {
      w.blob(value);
      w.varint(expiresAtUs);
    }
    w.flag(replaced !== null);
    if (replaced !== null) {
      w.varint(replaced.bytes);
      w.varint(replaced.expiresAtUs);
    }
  }
}

export function readKvEffect(r: ByteReader): KvEffect {
  const tenant = r.uuid();
  const writes: KvWrite[] = [];
  for (let left = r.varint(); left > 0; left--) {
    const key = (tenant + r.latin1()) as Key;
    const value = r.flag() ? (r.blob() as KvJson) : null;
    const expiresAtUs = value === null ? 0 : r.varint();
    const replaced = r.flag() ? { bytes: r.varint(), expiresAtUs: r.varint() } : null;
    writes.push({ key, value, expiresAtUs, replaced });
  }
  return { kind: 'kv', tenant, writes };
}

export function applyKv(state: State, { tenant, writes }: KvEffect, stampUs: number): void {
  const use = new UseChange();
  const first = lastKvVersion(state);
  let version = first;
  for (const { key, value, expiresAtUs, replaced } of writes) {
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

export function expireKv(state: State, { from, beforeUs, rowsMax }: ExpireKvEffect): void {
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
