/**
 * The rows of the key/value store (state-surfaces 1).
 *
 * | Table        | Key                              | Row                                         |
 * | ------------ | -------------------------------- | ------------------------------------------- |
 * | kvRows       | tenant, namespace, NUL, key      | KvRow                                       |
 * | kvExpiries   | expiry, key of kvRows            | nothing: the rows that expire, soonest first |
 * | kvNamespaces | tenant, namespace                | stored rows, expired ones included          |
 * | kvUse        | tenant                           | KvUseRow                                    |
 * | kvCounter    | (none)                           | the version that was given last             |
 *
 * A namespace holds no NUL, so keys stand in the byte order of namespace and then of key. The
 * longest key of the store is the table, 8 bytes of expiry, 36 of tenant, 64 of namespace, the NUL
 * and 512 of key, 622 bytes; it takes 1,978, so every key that the contract allows has room.
 */
import type { Tenant } from '../../base/commands/commands.js';
import type { KvJson } from '../../base/commands/kv.js';
import { as, bytes, count, type Infer } from '../../base/fields/field.js';
import { nothing, record, single } from '../../base/fields/record.js';
import { keyText, numberKey, SINGLETON_KEY, tenantNameKey, textInKey } from '../../base/keys.js';
import type { Key, State } from '../../base/state.js';
import { table } from '../../base/tables.js';

export const kvRow = record({
  version: count,
  /** The row is live before it; 0: for ever. */
  expiresAtUs: count,
  updatedAtUs: count,
  value: as<KvJson, Uint8Array>(bytes),
});
export type KvRow = Infer<typeof kvRow>;

/** What a tenant occupies, expired rows that were not swept yet included. */
export const kvUseRow = record({
  rows: count,
  /** Bytes of values. */
  bytes: count,
});
export type KvUseRow = Infer<typeof kvUseRow>;

export const kvRows = table(40, 'kvRows', kvRow, ({ value }) => value.length);

export const kvExpiries = table(41, 'kvExpiries', nothing);

export const kvNamespaces = table(42, 'kvNamespaces', single(count));

export const kvUse = table(43, 'kvUse', kvUseRow);

export const kvCounter = table(44, 'kvCounter', single(count));

const NO_USE: KvUseRow = { rows: 0, bytes: 0 };
const TENANT_CHARS = 36;
const EXPIRY_CHARS = 8;
const END = '\0';

/** What the tenant occupies now. */
export function kvUseOf(state: State, tenant: Tenant): KvUseRow {
  return state.get(kvUse, tenant as string as Key) ?? NO_USE;
}

export function lastKvVersion(state: State): number {
  return state.get(kvCounter, SINGLETON_KEY) ?? 0;
}

export function isLiveAt(row: KvRow, nowUs: number): boolean {
  return row.expiresAtUs === 0 || row.expiresAtUs > nowUs;
}

// --- keys --------------------------------------------------------------------------------------

/** Begins the keys of a namespace. */
export function kvNamespacePrefix(tenant: Tenant, namespace: string): string {
  return tenant + namespace + END;
}

export function kvKey(tenant: Tenant, namespace: string, key: string): Key {
  return (kvNamespacePrefix(tenant, namespace) + keyText(key)) as Key;
}

/** The key as the client named it. */
export function clientKey(stored: Key): string {
  return textInKey(stored, stored.indexOf(END, TENANT_CHARS) + 1, stored.length);
}

export function namespaceInKey(stored: Key): string {
  return stored.slice(TENANT_CHARS, stored.indexOf(END, TENANT_CHARS));
}

/** What stands behind the tenant. */
export function placeOfRow(stored: Key): Key {
  return stored.slice(TENANT_CHARS) as Key;
}

export function tenantInKey(stored: Key): Tenant {
  return stored.slice(0, TENANT_CHARS);
}

export function kvNamespaceKey(tenant: Tenant, namespace: string): Key {
  return tenantNameKey(tenant, namespace);
}

/** A row of `kvNamespaces`. */
export function namespaceOfRow(stored: Key): string {
  return stored.slice(TENANT_CHARS);
}

/** Bounds of the keys that begin so; `prefix` may be empty. No byte of UTF-8 is the highest. */
export function kvPrefixRange(
  tenant: Tenant,
  namespace: string,
  prefix: string,
): readonly [Key, Key] {
  const from = kvKey(tenant, namespace, prefix);
  const last = from.charCodeAt(from.length - 1);
  return [from, (from.slice(0, -1) + String.fromCharCode(last + 1)) as Key];
}

export function kvExpiryKey(expiresAtUs: number, stored: Key): Key {
  return (kvExpiryStart(expiresAtUs) + stored) as Key;
}

/** Before all rows that expire then. */
export function kvExpiryStart(expiresAtUs: number): Key {
  const high = numberKey(Math.floor(expiresAtUs / 0x1_0000_0000));
  return (high + numberKey(expiresAtUs >>> 0)) as Key;
}

/** The key of the row that expires. */
export function keyOfExpiry(stored: Key): Key {
  return stored.slice(EXPIRY_CHARS) as Key;
}

export function stampOfExpiry(stored: Key): number {
  let stampUs = 0;
  for (let i = 0; i < EXPIRY_CHARS; i++) stampUs = stampUs * 256 + stored.charCodeAt(i);
  return stampUs;
}
