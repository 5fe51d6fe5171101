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
import { keyText, numberKey, SINGLETON_KEY, tenantNameKey, textInKey } from '../../base/keys.js';
import type { Key, State } from '../../base/state.js';
import { table } from '../../base/tables.js';

export interface KvRow {
  readonly value: KvJson;
  readonly version: number;
  /** The row is live before it; 0: for ever. */
  readonly expiresAtUs: number;
  readonly updatedAtUs: number;
}

/** What a tenant occupies, expired rows that were not swept yet included. */
export interface KvUseRow {
  readonly rows: number;
  /** Of values. */
  readonly bytes: number;
}

export const kvRows = table<KvRow>(
  40,
  'kvRows',
  (w, row) => {
    w.varint(row.version);
    w.varint(row.expiresAtUs);
    w.varint(row.updatedAtUs);
    w.blob(row.value);
  },
  (r) => ({
    version: r.varint(),
    expiresAtUs: r.varint(),
    updatedAtUs: r.varint(),
    value: r.blob() as KvJson,
  }),
  ({ value }) => value.length,
);

export const kvExpiries = table<true>(
  41,
  'kvExpiries',
  () => {},
  () => true,
);

export const kvNamespaces = table<number>(
  42,
  'kvNamespaces',
  (w, row) => w.varint(row),
  (r) => r.varint(),
);

export const kvUse = table<KvUseRow>(
  43,
  'kvUse',
  (w, row) => {
    w.varint(row.rows);
    w.varint(row.bytes);
  },
  (r) => ({ rows: r.varint(), bytes: r.varint() }),
);

export const kvCounter = table<number>(
  44,
  'kvCounter',
  (w, row) => w.varint(row),
  (r) => r.varint(),
);

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
