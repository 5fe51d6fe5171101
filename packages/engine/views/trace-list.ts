/**
 * Listing traces (state-surfaces 6.2): of a message or of a name, newest first, and the names. The
 * totals are kept beside the traces, so a list reads what it skips and what it shows, no more.
 */
import { PARTITION_NUMBER_MAX } from '@svc/wire';
import type { Tenant } from '../base/commands/commands.js';
import type { Key, State, Table } from '../base/state.js';
import { findNamedPartition, findOwnPartition } from '../state/catalog.js';
import {
  ALL_TRACES,
  messageScope,
  nameInScope,
  nameScope,
  nameScopeRange,
  namesScope,
  placeInKey,
  placesOf,
  stampOfPlace,
  type TraceRow,
  type TraceScope,
  type TraceTotals,
  traceData,
  traceIndex,
  traces,
  traceTotals,
} from '../state/traces/tables.js';

export interface TraceView extends Omit<TraceRow, 'partition' | 'tenant'> {
  /** 0: none was named. */
  readonly partitionNumber: number;
  readonly createdAtUs: number;
  /** null: none was named, or it is gone. */
  readonly queue: string | null;
  readonly partition: string | null;
  /** The JSON text; null: it found no room in the answer. */
  readonly data: Uint8Array | null;
}

export interface TraceList {
  readonly traces: readonly TraceView[];
  /** All there are. */
  readonly total: number;
}

export interface TraceName extends TraceTotals {
  readonly name: string;
}

export interface TraceNameList {
  /** Ascending by the bytes of the name. */
  readonly names: readonly TraceName[];
  readonly total: number;
}

export interface Paging {
  readonly limit: number;
  readonly offset: number;
}

/**
 * Data and names of one answer: 16 MiB, as of a pop. Data that find no room are left out, and where
 * even the names find none the page ends; the first trace is always shown whole.
 */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
const ROWS_PER_READ = 512;
const DIGITS = /^\d+$/;
const TRACES_PER_YIELD = 32;

/** `partitionId`: digits or a UUID. A number finds its traces also when the partition is gone. */
export function* messageTraces(
  state: State,
  tenant: Tenant,
  partitionId: string,
  transactionId: string,
  paging: Paging,
): Generator<void, TraceList> {
  const found = findNamedPartition(state, tenant, partitionId)?.partition.number;
  const number = found ?? (DIGITS.test(partitionId) ? Number(partitionId) : 0);
  if (number === 0 || number > PARTITION_NUMBER_MAX) return { traces: [], total: 0 };
  return yield* listScope(state, messageScope(tenant, number, transactionId), paging);
}

export function* namedTraces(
  state: State,
  tenant: Tenant,
  name: string,
  paging: Paging,
): Generator<void, TraceList> {
  return yield* listScope(state, nameScope(tenant, name), paging);
}

export function* listTraceNames(
  state: State,
  tenant: Tenant,
  { limit, offset }: Paging,
): Generator<void, TraceNameList> {
  const total = totalsOf(state, namesScope(tenant))?.traces ?? 0;
  const names: TraceName[] = [];
  const [first, end] = nameScopeRange(tenant);
  let from = first;
  let toSkip = offset;
  while (names.length < limit) {
    const rows = state.range(traceTotals, from, end, ROWS_PER_READ);
    for (const { key, row } of rows) {
      from = `${key}\0` as Key;
      if (toSkip > 0) toSkip--;
      else if (names.length < limit) names.push({ name: nameInScope(key, tenant), ...row });
    }
    if (rows.length < ROWS_PER_READ) break;
    yield;
  }
  return { names, total };
}

function* listScope(
  state: State,
  scope: TraceScope,
  { limit, offset }: Paging,
): Generator<void, TraceList> {
  const total = totalsOf(state, scope)?.traces ?? 0;
  const shown: TraceView[] = [];
  const [from, end] = placesOf(scope);
  let to = end;
  let toSkip = offset;
  let bytesLeft = ANSWER_BYTES_MAX;
  while (shown.length < limit && offset < total && bytesLeft > 0) {
    const rows = state.range(traceIndex, from, to, ROWS_PER_READ, true);
    for (const { key } of rows) {
      to = key;
      if (toSkip > 0) {
        toSkip--;
        continue;
      }
      if (shown.length === limit || bytesLeft <= 0) break;
      const view = viewOf(state, placeInKey(key), bytesLeft);
      if (view === null) continue;
      bytesLeft -= bytesOf(view);
      shown.push(view);
      if (shown.length % TRACES_PER_YIELD === 0) yield;
    }
    if (rows.length < ROWS_PER_READ) break;
    yield;
  }
  return { traces: shown, total };
}

/** null: it expired since it was found. */
function viewOf(state: State, place: Key, bytesLeft: number): TraceView | null {
  const row = at(state, traces, place);
  const data = at(state, traceData, place);
  if (row === undefined || data === undefined) return null;
  const { tenant, partition: partitionNumber, ...shown } = row;
  const home = findOwnPartition(state, tenant, partitionNumber);
  const hasRoom = bytesLeft === ANSWER_BYTES_MAX || data.length <= bytesLeft;
  return {
    ...shown,
    partitionNumber,
    createdAtUs: stampOfPlace(place),
    queue: home?.queue.name ?? null,
    partition: home?.partition.name ?? null,
    data: hasRoom ? data : null,
  };
}

function bytesOf({ data, names, transactionId }: TraceView): number {
  let bytes = (data?.length ?? 0) + transactionId.length;
  for (const name of names) bytes += name.length;
  return bytes;
}

/** By a range, for the store remembers rows that are got by their key, however large they are. */
function at<Row>(state: State, table: Table<Row>, key: Key): Row | undefined {
  return state.range(table, key, `${key}\0` as Key, 1)[0]?.row;
}

function totalsOf(state: State, scope: TraceScope): TraceTotals | undefined {
  return state.get(traceTotals, scope as unknown as Key);
}

/** How many traces the cluster keeps, of all tenants. */
export function storedTraces(state: State): number {
  return state.get(traceTotals, ALL_TRACES as unknown as Key)?.traces ?? 0;
}
