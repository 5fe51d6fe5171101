/**
 * Reads of many key/value rows: walks in the byte order of keys that yield between portions.
 *
 * A page ends at its limit, at the budget of value bytes (the row that straddles it is still
 * shown), or when it has passed more expired rows than it may: they are there until the sweep comes
 * to them, and a page must not look at all of them in one turn of the leader. Then it is
 * `truncated`, and `nextAfter` is how far it has come.
 */
import type { Tenant } from '../../base/commands/commands.js';
import type { KvGetMany, KvGetPrefix, KvResult, KvView } from '../../base/commands/kv.js';
import { tenantRange } from '../../base/keys.js';
import type { Key, State } from '../../base/state.js';
import {
  clientKey,
  isLiveAt,
  type KvRow,
  kvKey,
  kvNamespaces,
  kvPrefixRange,
  kvRows,
  namespaceOfRow,
} from '../../state/kv/tables.js';

/** Rows looked at together, and what they hold if that is known: 1 MiB takes some 3 ms. */
const ROWS_PER_READ = 64;
const BYTES_PER_READ = 1024 * 1024;
/** 16 * 64 KiB = 1 MiB. */
const ROWS_PER_READ_FIRST = 16;
/** Expired rows that one page passes: 4,096 * some 5 us = 20 ms in the turn of a leader. */
const EXPIRED_ROWS_MAX = 4096;
const NAMESPACES_PER_READ = 512;
/** Some 100 bytes each in the answer, which is written in one go: 1 MB, some 5 ms. */
const NAMESPACES_SHOWN_MAX = 10_000;

export interface KvBudget {
  bytesLeft: number;
}

export function viewOf(key: string, row: KvRow): KvView {
  const { value, version, expiresAtUs, updatedAtUs } = row;
  return { key, value, version, expiresAtUs: expiresAtUs === 0 ? null : expiresAtUs, updatedAtUs };
}

/** A row that finds no room is neither shown nor missing. */
export function* readMany(
  state: State,
  nowUs: number,
  tenant: Tenant,
  { namespace, keys }: KvGetMany,
  budget: KvBudget,
): Generator<void, KvResult> {
  const ordered = keys.map((key) => ({ key, stored: kvKey(tenant, namespace, key) }));
  ordered.sort((a, b) => (a.stored < b.stored ? -1 : a.stored > b.stored ? 1 : 0));
  const rows: KvView[] = [];
  const missing: string[] = [];
  let truncated = false;
  for (const [i, { key, stored }] of ordered.entries()) {
    if (i > 0 && i % ROWS_PER_READ_FIRST === 0) yield;
    const row = state.get(kvRows, stored);
    if (row === undefined || !isLiveAt(row, nowUs)) missing.push(key);
    else if (budget.bytesLeft <= 0) truncated = true;
    else {
      budget.bytesLeft -= row.value.length;
      rows.push(viewOf(key, row));
    }
  }
  return { kind: 'many', rows, missing, truncated };
}

export function* readPage(
  state: State,
  nowUs: number,
  tenant: Tenant,
  { namespace, prefix, after, limit, keysOnly }: KvGetPrefix,
  budget: KvBudget,
): Generator<void, KvResult> {
  const place = { tenant, namespace, prefix, after };
  const wish = { limit, keysOnly, includeExpired: false };
  const { rows, truncated, nextAfter } = yield* walkPage(state, nowUs, place, wish, budget);
  return { kind: 'page', rows, truncated, nextAfter };
}

export interface KvPlaceInOrder {
  readonly tenant: Tenant;
  readonly namespace: string;
  /** May be "". */
  readonly prefix: string;
  readonly after: string;
}

export interface KvPageWish {
  readonly limit: number;
  readonly keysOnly: boolean;
  readonly includeExpired: boolean;
}

export interface KvPage {
  readonly rows: readonly KvView[];
  readonly truncated: boolean;
  /** null: there is no more, or the page could not begin. */
  readonly nextAfter: string | null;
}

export function* walkPage(
  state: State,
  nowUs: number,
  { tenant, namespace, prefix, after }: KvPlaceInOrder,
  { limit, keysOnly, includeExpired }: KvPageWish,
  budget: KvBudget,
): Generator<void, KvPage> {
  const [first, end] = kvPrefixRange(tenant, namespace, prefix);
  let from = first;
  if (after !== '') {
    const behind = `${kvKey(tenant, namespace, after)}\0` as Key;
    if (behind > from) from = behind;
  }
  const rows: KvView[] = [];
  const startBytes = budget.bytesLeft;
  let passed = 0;
  // One more than the limit says whether there is more.
  while (from < end) {
    const rowsMax = rowsToRead(startBytes, budget.bytesLeft, rows.length);
    const portion = Math.min(rowsMax, limit - rows.length + 1);
    const found = state.range(kvRows, from, end, portion);
    for (const { key: stored, row } of found) {
      from = `${stored}\0` as Key;
      if (!includeExpired && !isLiveAt(row, nowUs)) {
        if (++passed < EXPIRED_ROWS_MAX) continue;
        return { rows, truncated: true, nextAfter: clientKey(stored) };
      }
      const last = rows[rows.length - 1]?.key ?? null;
      const isSpent = !keysOnly && budget.bytesLeft <= 0;
      if (rows.length === limit || isSpent) return { rows, truncated: true, nextAfter: last };
      const view = viewOf(clientKey(stored), row);
      if (!keysOnly) budget.bytesLeft -= row.value.length;
      rows.push(keysOnly ? { ...view, value: null } : view);
    }
    if (found.length < portion) break;
    yield;
  }
  return { rows, truncated: false, nextAfter: null };
}

/**
 * Rows of the next portion, if they are as long as those before: no more than fit the budget, and
 * one that says whether there is more.
 */
function rowsToRead(startBytes: number, bytesLeft: number, rows: number): number {
  const bytes = startBytes - bytesLeft;
  // Nothing is known of their length.
  if (bytes <= 0 || rows === 0) return ROWS_PER_READ_FIRST;
  const meanBytes = bytes / rows;
  const rowsLeft = Math.max(0, Math.ceil(bytesLeft / meanBytes)) + 1;
  return Math.min(ROWS_PER_READ, Math.ceil(BYTES_PER_READ / meanBytes), rowsLeft);
}

export interface KvNamespaces {
  readonly namespaces: readonly { readonly namespace: string; readonly keys: number }[];
  /** There are more, behind the last that is shown. */
  readonly truncated: boolean;
}

/**
 * The first in byte order, with the rows that each holds, expired ones included. Without a grant
 * nothing bounds how many a tenant has, and the answer has no pages.
 */
export function* listKvNamespaces(
  state: State,
  tenant: Tenant,
  shownMax = NAMESPACES_SHOWN_MAX,
): Generator<void, KvNamespaces> {
  const namespaces: { namespace: string; keys: number }[] = [];
  const [first, end] = tenantRange(tenant);
  let from = first;
  for (;;) {
    const portion = Math.min(NAMESPACES_PER_READ, shownMax - namespaces.length + 1);
    const rows = state.range(kvNamespaces, from, end, portion);
    for (const { key, row } of rows) {
      if (namespaces.length === shownMax) return { namespaces, truncated: true };
      namespaces.push({ namespace: namespaceOfRow(key), keys: row });
      from = `${key}\0` as Key;
    }
    if (rows.length < portion) return { namespaces, truncated: false };
    yield;
  }
}
