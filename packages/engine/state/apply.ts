/**
 * Apply: the only code that changes the state, run for every committed entry on every node alike.
 * It is a pure function of (state, entry): no clock, no randomness, no environment, no order of a
 * hash table, no floating point beyond exact integers.
 *
 * The leader runs the same functions on its planned state while it writes an entry, so what it
 * plans against is by construction what every node will have.
 */
import type { Counts } from '@svc/wire';
import {
  type AppendHeader,
  insertTransactionIds,
  readAppendHeader,
  type TransactionSink,
} from '../base/append.js';
import { assert, bug } from '../base/assert.js';
import { ByteReader } from '../base/bytes.js';
import {
  ageKey,
  appendKey,
  numberKey,
  numberNameKey,
  numberPairKey,
  SINGLETON_KEY,
  tenantNameKey,
} from '../base/keys.js';
import type { CursorRow, DoomedQueueRow, MetaRow, PartitionRow, QueueRow } from '../base/rows.js';
import type { Key, State } from '../base/state.js';
import {
  appends,
  cursors,
  doomedQueues,
  groups,
  meta,
  oldestAppends,
  partitionNumbers,
  partitions,
  queueNumbers,
  queuePartitions,
  queues,
  requests,
  sharedLeases,
} from '../base/tables.js';
import type { AppliedFigures } from './applied-figures.js';
import { EntryTotals } from './cluster-totals.js';
import { applyClusterVersion, CLUSTER_VERSION_READ } from './cluster-version.js';
import { fileDeadLetter, removeDeadLetters } from './dead-letters/dead-letters.js';
import { type Effect, type RequestsEffect, readEffect, readEntryHeader } from './effects.js';
import type { EphemeralQueueEffect } from './ephemeral-queues.js';
import { applyFeatureEffect } from './feature-effects.js';
import { type GroupChangeRow, groupChangeKey, groupChanges } from './group-change-table.js';
import { isShared, sharedLeaseKey } from './lease-id.js';
import { AppendRun } from './log-use.js';
import {
  countPartition,
  indexCursor,
  indexCursorOf,
  indexGroup,
  indexQueue,
  unindexQueue,
} from './names/name-index.js';
import { requestKey } from './request-id.js';
import { isStandbyCode, MIRROR_CODE, speaksOfSource } from './standby/effects.js';
import type { StandbyRoleRow } from './standby/tables.js';
import { sweepQueue } from './sweep.js';
import { addTrace, expireTraces } from './traces/apply.js';
import { placeKey } from './traces/tables.js';
import { dropPartition, relocateAppend, trimPartition } from './trim.js';

/** Told of every append of an applied entry. */
export interface AppendObserver {
  /** `bytes`: of the append, which its payloads do not exceed. */
  appended(partition: number, bytes: number): void;
  /** A declaration has changed, or the queue is gone. Absent: nobody holds such queues. */
  ephemeralChanged?(effect: EphemeralQueueEffect): void;
  /** The cluster is a standby from here on, or was promoted. Absent: nobody asks. */
  roleChanged?(row: StandbyRoleRow): void;
  /** Absent: nobody counts. */
  readonly counted?: AppliedCounts | undefined;
  readonly figures?: AppliedFigures | undefined;
}

/** What entries held, since the start. */
export type AppliedCounts = Counts<
  'effects' | 'appends' | 'messages' | 'bytes_appended' | 'outcomes_recorded'
>;

const FIRST_META: MetaRow = { nextQueue: 1, nextPartition: 1, stampUs: 0, timerUs: 0 };

export function readMeta(state: State): MetaRow {
  return state.get(meta, SINGLETON_KEY) ?? FIRST_META;
}

/**
 * Applies the entry at log index `index`. An empty body, a new leader's entry, changes nothing.
 * @throws CatalogueFault when a newer build wrote it.
 */
export function applyEntry(
  state: State,
  transactions: TransactionSink,
  index: number,
  body: Uint8Array,
  observer?: AppendObserver,
  readable = CLUSTER_VERSION_READ,
): void {
  if (body.length === 0) return;
  const reader = new ByteReader(body);
  const stampUs = readEntryHeader(reader);
  const isMirrored = beginEntry(state, reader, stampUs);
  const counted = observer?.counted;
  const totals = new EntryTotals();
  const run = new AppendRun();
  while (reader.position < reader.end) {
    const effect = readEffect(reader);
    if (counted !== undefined) counted.effects++;
    if (effect.kind !== 'append') run.settle(state, index);
    if (effect.kind !== 'append' && effect.kind !== 'relocate') {
      if (isMirrored && speaksOfSource(effect)) continue;
      observer?.figures?.effect(state, effect, stampUs);
      applyEffect(state, effect, stampUs, readable, totals);
      if (effect.kind === 'dead-letter') totals.deadLettered++;
      if (effect.kind === 'ephemeral-queue') observer?.ephemeralChanged?.(effect);
      if (effect.kind === 'standby-role' || effect.kind === 'seed') {
        observer?.roleChanged?.(effect.row);
      }
      if (effect.kind === 'requests' && counted !== undefined) {
        counted.outcomes_recorded += effect.records.length;
      }
      continue;
    }
    const append = new ByteReader(body, effect.position, effect.position + effect.length);
    const header = readAppendHeader(append);
    if (effect.kind === 'relocate') {
      relocateAppend(state, header, index, effect.position, effect.length);
      continue;
    }
    applyAppend(state, header, index, effect.position, effect.length, run);
    totals.pushed += header.count;
    observer?.appended(header.partition, effect.length);
    observer?.figures?.appended(header.partition);
    if (counted !== undefined) countMessages(counted, header.count, effect.length);
    if (header.hasIds) insertTransactionIds(append, header, transactions);
  }
  run.settle(state, index);
  totals.settle(state);
}

function countMessages(counted: AppliedCounts, messages: number, bytes: number): void {
  counted.appends++;
  counted.messages += messages;
  counted.bytes_appended += bytes;
}

export function applyStamp(state: State, stampUs: number): void {
  const row = readMeta(state);
  if (!(stampUs > row.stampUs)) bug(`entry stamp ${stampUs} is not above ${row.stampUs}`);
  state.put(meta, SINGLETON_KEY, { ...row, stampUs });
}

/**
 * The stamp, and where the entry comes from: true for one of the source of this standby, whose
 * `mirror` has moved the position when this returns (standby/effects.ts). What a standby writes
 * itself takes no time.
 */
function beginEntry(state: State, reader: ByteReader, stampUs: number): boolean {
  const code = (reader.position < reader.end && reader.bytes[reader.position]) || 0;
  if (!isStandbyCode(code)) {
    applyStamp(state, stampUs);
    return false;
  }
  const row = readMeta(state);
  const isMirrored = code === MIRROR_CODE;
  // An entry of the source may be a role entry: that source follows another one.
  if (isMirrored ? stampUs < row.stampUs : stampUs !== row.stampUs) {
    bug(`entry of a standby with stamp ${stampUs}, the last one is ${row.stampUs}`);
  }
  if (stampUs !== row.stampUs) state.put(meta, SINGLETON_KEY, { ...row, stampUs });
  if (isMirrored) applyEffect(state, readEffect(reader) as Effect, stampUs);
  return isMirrored;
}

/** `run`: what the append is counted with; the caller settles it. */
export function applyAppend(
  state: State,
  header: AppendHeader,
  index: number,
  position: number,
  length: number,
  run: AppendRun,
): void {
  const key = numberKey(header.partition);
  const row = state.get(partitions, key);
  if (row === undefined) bug(`append to partition ${header.partition}, which does not exist`);
  if (!(header.baseOffset === row.nextOffset && header.stampUs > row.lastStampUs)) {
    bug(
      `append at ${header.baseOffset} (stamp ${header.stampUs}) to partition ${row.number}, ` +
        `whose next offset is ${row.nextOffset} (stamp ${row.lastStampUs})`,
    );
  }
  state.put(partitions, key, {
    number: row.number,
    queue: row.queue,
    id: row.id,
    name: row.name,
    createdAtUs: row.createdAtUs,
    nextOffset: row.nextOffset + header.count,
    logStart: row.logStart,
    lastStampUs: header.stampUs,
    retainedBytes: row.retainedBytes + length,
    appends: row.appends + 1,
    deadLetters: row.deadLetters,
  });
  state.put(appends, appendKey(header.partition, header.baseOffset), {
    count: header.count,
    stampUs: header.stampUs,
    index,
    position,
    length,
    hasMessageIds: header.hasMessageIds === true,
  });
  run.add(length);
  if (row.appends > 0) return;
  state.put(oldestAppends, ageKey(row.queue, header.stampUs, row.number), true);
}

/**
 * `readable`: the newest version of the catalogue that may come; who plans knows what it may.
 * `totals`: what the entry comes to, where that is counted.
 */
export function applyEffect(
  state: State,
  effect: Effect,
  stampUs: number,
  readable = Number.MAX_SAFE_INTEGER,
  totals: EntryTotals | null = null,
): void {
  switch (effect.kind) {
    case 'queue':
      putQueue(state, effect.row);
      break;
    case 'partition':
      createPartition(state, effect, stampUs);
      break;
    case 'cursor':
      putCursor(state, effect, totals);
      break;
    case 'group':
      putGroup(state, effect);
      break;
    case 'group-change':
      putGroupChange(state, effect.id, effect.row);
      break;
    case 'dead-letter':
      fileDeadLetter(state, effect.row);
      break;
    case 'drop-dead-letters':
      removeDeadLetters(state, effect.queue, effect.ids);
      break;
    case 'trace':
      addTrace(state, placeKey(stampUs, effect.number), effect.row, effect.data);
      break;
    case 'expire-traces':
      expireTraces(state, effect.from, effect.beforeUs, effect.rowsMax);
      break;
    case 'delete-queue':
      doomQueue(state, effect.queue);
      break;
    case 'sweep-queue':
      sweepQueue(state, effect);
      break;
    case 'trim':
      trimPartition(state, effect.partition, effect.upTo);
      break;
    case 'drop-partition':
      dropPartition(state, effect.partition);
      break;
    case 'requests':
      applyRequests(state, effect);
      break;
    case 'cluster-version':
      applyClusterVersion(state, effect.version, readable);
      break;
    default:
      applyFeatureEffect(state, effect, stampUs);
  }
}

function applyRequests(state: State, effect: RequestsEffect): void {
  const { session, settled, records } = effect;
  for (const sequence of settled) state.delete(requests, requestKey(session, sequence));
  for (const { sequence, outcome } of records) {
    state.put(requests, requestKey(session, sequence), outcome);
  }
}

function putCursor(
  state: State,
  effect: Extract<Effect, { kind: 'cursor' }>,
  totals: EntryTotals | null,
): void {
  const { partition, group, row } = effect;
  const key = numberNameKey(partition, group);
  const known = state.get(cursors, key);
  if (row !== null) totals?.consumed(known, row);
  replaceCursor(state, effect, key, known, null);
}

/** `known`: the row at `key`; `home`: its partition, null when it is to be looked up. */
export function replaceCursor(
  state: State,
  effect: Extract<Effect, { kind: 'cursor' }>,
  key: Key,
  known: CursorRow | undefined,
  home: PartitionRow | null,
): void {
  const { partition, group, row } = effect;
  const before = known?.lease?.id ?? null;
  const after = row?.lease?.id ?? null;
  if (before !== after) {
    if (before !== null && isShared(before)) {
      state.delete(sharedLeases, sharedLeaseKey(before, key));
    }
    if (after !== null && isShared(after)) {
      state.put(sharedLeases, sharedLeaseKey(after, key), { partition, group });
    }
  }
  if ((known === undefined) !== (row === null)) {
    const change = row === null ? -1 : 1;
    if (home === null) indexCursor(state, partition, group, change);
    else indexCursorOf(state, home, group, change);
  }
  if (row === null) state.delete(cursors, key);
  else state.put(cursors, key, row);
}

function putGroupChange(state: State, id: string, row: GroupChangeRow | null): void {
  if (row === null) state.delete(groupChanges, groupChangeKey(id));
  else state.put(groupChanges, groupChangeKey(id), row);
}

function putGroup(state: State, effect: Extract<Effect, { kind: 'group' }>): void {
  const key = numberNameKey(effect.queue, effect.group);
  if (effect.row === null) state.delete(groups, key);
  else state.put(groups, key, effect.row);
  indexGroup(state, effect.queue, effect.group, effect.row !== null);
}

function putQueue(state: State, row: QueueRow): void {
  const key = numberKey(row.number);
  const before = state.get(queues, key);
  if (before === undefined) {
    const counters = readMeta(state);
    assert(
      row.number === counters.nextQueue,
      `queue ${row.number} created, the next number is ${counters.nextQueue}`,
    );
    state.put(meta, SINGLETON_KEY, { ...counters, nextQueue: row.number + 1 });
    state.put(queueNumbers, tenantNameKey(row.tenant, row.name), row.number);
  }
  indexQueue(state, row, before);
  state.put(queues, key, row);
}

function createPartition(
  state: State,
  effect: Extract<Effect, { kind: 'partition' }>,
  stampUs: number,
): void {
  const counters = readMeta(state);
  assert(
    effect.number === counters.nextPartition,
    `partition ${effect.number} created, the next number is ${counters.nextPartition}`,
  );
  const queueKey = numberKey(effect.queue);
  const queue = state.get(queues, queueKey);
  assert(queue !== undefined, `partition ${effect.number} of queue ${effect.queue}: no such queue`);
  state.put(meta, SINGLETON_KEY, { ...counters, nextPartition: effect.number + 1 });
  state.put(queues, queueKey, { ...queue, partitions: queue.partitions + 1 });
  countPartition(state, queue.tenant, 1);
  const row: PartitionRow = {
    number: effect.number,
    queue: effect.queue,
    id: effect.id,
    name: effect.name,
    createdAtUs: stampUs,
    nextOffset: 0,
    logStart: 0,
    lastStampUs: 0,
    retainedBytes: 0,
    appends: 0,
    deadLetters: 0,
  };
  state.put(partitions, numberKey(effect.number), row);
  state.put(partitionNumbers, numberNameKey(effect.queue, effect.name), effect.number);
  state.put(queuePartitions, numberPairKey(effect.queue, effect.number), true);
}

function doomQueue(state: State, number: number): void {
  const key = numberKey(number);
  const row = state.get(queues, key);
  assert(row !== undefined, `queue ${number} deleted, but it does not exist`);
  state.delete(queues, key);
  state.delete(queueNumbers, tenantNameKey(row.tenant, row.name));
  unindexQueue(state, row);
  const doomed: DoomedQueueRow = { queue: row, stage: 'cursors', nextPartition: 0, nextKey: '' };
  state.put(doomedQueues, key, doomed);
}
