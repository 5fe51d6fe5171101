/**
 * Which names there are: the queues of a tenant, the queues that each group reads, and how many of
 * both, kept by apply so that a page of a list and the bound of a tenant need no walk.
 *
 * | Table       | Key                            | Row                                     |
 * | ----------- | ------------------------------ | --------------------------------------- |
 * | queuesByAge | tenant, queue number           | nothing: a tenant's queues by age       |
 * | groupQueues | tenant, group NUL, queue NUL,  | GroupQueueRow: a tenant's groups, each  |
 * |             | queue number                   | at the queues that it reads             |
 * | queueLabels | tenant, N or T, label NUL,     | nothing: queues by namespace, by task   |
 * |             | queue number                   |                                         |
 * | labelCounts | tenant, N or T, label          | how many queues have the label          |
 * | nameCounts  | tenant; nothing: of all        | NameCounts                              |
 *
 * The rows follow from other rows and are the same on every node. The tables are local all the
 * same: they stay out of the digest by which nodes compare their states, so a node of a build
 * without them agrees with one that has them, and a store that was written without them gets them
 * when it is opened (`buildNameIndex`).
 *
 * A group reads a queue while it is registered there or has a cursor on one of the partitions.
 * Cursors are counted, for a pop that is pinned to a partition makes one without a registration.
 * The row of a cursor that exists already is not looked at: only the first and the last change of a
 * cursor come here.
 *
 * A deleted queue leaves `queuesByAge` and the counts of queues and partitions at once. Its groups
 * leave with the rows that the sweep deletes, so a name that is used again has another key: keys
 * end with the queue's number.
 */
import type { Tenant } from '../../base/commands/commands.js';
import { count, flag, type Infer, text, u32 } from '../../base/fields/field.js';
import { type Form, nothing, record, single } from '../../base/fields/record.js';
import {
  keyText,
  nameInKey,
  numberInKey,
  numberKey,
  SINGLETON_KEY,
  tenantRange,
  textInKey,
} from '../../base/keys.js';
import type { PartitionRow, QueueRow } from '../../base/rows.js';
import type { Key, KeyedRow, State, Table } from '../../base/state.js';
import {
  cursors,
  doomedQueues,
  type FormTable,
  groups,
  partitions,
  queues,
  table,
} from '../../base/tables.js';

/** A group at a queue. */
const groupQueueRow = record({
  queue: u32,
  group: text,
  /** Partitions of the queue on which the group has a cursor row. */
  cursors: count,
  isRegistered: flag,
});
export type GroupQueueRow = Infer<typeof groupQueueRow>;

const nameCountsRow = record({
  queues: count,
  partitions: count,
  /** Pairs of a group and a queue that it reads. */
  groups: count,
  /** Different labels that are not empty. */
  namespaces: count,
  tasks: count,
});
export type NameCounts = Infer<typeof nameCountsRow>;

export const NO_NAMES: NameCounts = {
  queues: 0,
  partitions: 0,
  groups: 0,
  namespaces: 0,
  tasks: 0,
};

export type Label = 'namespace' | 'task';

/**
 * Labels are as short as names. Stores of earlier builds may hold longer ones, which are indexed by
 * their first LABEL_BYTES_MAX bytes.
 */
export const LABEL_BYTES_MAX = 512;

function localTable<Row>(id: number, name: string, form: Form<Row>): FormTable<Row> {
  return { ...table(id, name, form), local: true };
}

export const queuesByAge = localTable(81, 'queuesByAge', nothing);

export const groupQueues = localTable(82, 'groupQueues', groupQueueRow);

export const nameCounts = localTable(83, 'nameCounts', nameCountsRow);

export const queueLabels = localTable(84, 'queueLabels', nothing);

export const labelCounts = localTable(85, 'labelCounts', single(count));

// --- keys ----------------------------------------------------------------------------------------

const TENANT_CHARS = 36;

export function ageOrderKey(tenant: Tenant, number: number): Key {
  return (tenant + numberKey(number)) as Key;
}

/** The queue in a key of `queuesByAge`. */
export function queueInKey(key: Key): number {
  return numberInKey(key.slice(TENANT_CHARS) as Key);
}

/** Bounds of the queues that the group reads. */
export function queuesOfGroup(tenant: Tenant, group: string): readonly [Key, Key] {
  const prefix = tenant + withEnd(keyText(group));
  // No queue name begins with this byte, and a longer name of a group has it there.
  return [prefix as Key, `${prefix}\xff` as Key];
}

function groupQueueKey({ tenant, name, number }: QueueRow, group: string): Key {
  return (tenant + withEnd(keyText(group)) + withEnd(keyText(name)) + numberKey(number)) as Key;
}

/** Bounds of the queues that have a label of this kind. */
export function labelRange(tenant: Tenant, label: Label): readonly [Key, Key] {
  const prefix = tenant + LABEL_KINDS[label];
  return [prefix as Key, `${prefix}\xff` as Key];
}

/** A key of `queueLabels`: what its label, or the beginning of it, is in keys; and its queue. */
export function splitLabelKey(key: Key): { readonly label: string; readonly queue: number } {
  const end = key.length - NUMBER_CHARS;
  return {
    label: key.slice(TENANT_CHARS + 1, end),
    queue: numberInKey(key.slice(end) as Key),
  };
}

/** The label at a place that holds all of it: a place of at most LABEL_BYTES_MAX bytes. */
export function labelAt(place: string): string {
  const bytes = place.slice(0, -1).replaceAll('\0\xff', '\0');
  return textInKey(bytes as Key, 0, bytes.length);
}

/** Where the queues of a tenant's label begin, behind those of all labels before it. */
export function labelKey(tenant: Tenant, label: Label, text: string): Key {
  return (tenant + LABEL_KINDS[label] + withEnd(labelText(text))) as Key;
}

function labelText(text: string): string {
  return keyText(text).slice(0, LABEL_BYTES_MAX);
}

const LABEL_KINDS = { namespace: 'N', task: 'T' } as const;
const LABELS = ['namespace', 'task'] as const;
const NUMBER_CHARS = 4;

/** A NUL ends the text, and one in it is told apart by the byte behind it. */
function withEnd(bytes: string): string {
  return `${bytes.includes('\0') ? bytes.replaceAll('\0', '\0\xff') : bytes}\0`;
}

// --- reads ---------------------------------------------------------------------------------------

/** null: of all tenants. */
export function nameCountsOf(state: State, tenant: Tenant | null): NameCounts {
  return state.get(nameCounts, countsKey(tenant)) ?? NO_NAMES;
}

/** The group reads the queue. */
export function readsQueue(state: State, queue: QueueRow, group: string): boolean {
  return state.get(groupQueues, groupQueueKey(queue, group)) !== undefined;
}

/** The groups of each queue that has any. */
export function* groupsByQueue(
  state: State,
  tenant: Tenant,
): Generator<void, Map<number, Set<string>>> {
  const found = new Map<number, Set<string>>();
  const [first, end] = tenantRange(tenant);
  let from = first;
  for (;;) {
    const rows = state.range(groupQueues, from, end, ROWS_PER_READ);
    for (const { row } of rows) {
      const known = found.get(row.queue);
      if (known === undefined) found.set(row.queue, new Set([row.group]));
      else known.add(row.group);
    }
    const last = rows[rows.length - 1];
    if (last === undefined || rows.length < ROWS_PER_READ) return found;
    from = `${last.key}\0` as Key;
    yield;
  }
}

function countsKey(tenant: Tenant | null): Key {
  return tenant === null ? SINGLETON_KEY : (tenant as Key);
}

// --- changes -------------------------------------------------------------------------------------

/** `before` undefined: it is new. */
export function indexQueue(state: State, queue: QueueRow, before: QueueRow | undefined): void {
  if (before === undefined) {
    state.put(queuesByAge, ageOrderKey(queue.tenant, queue.number), true);
    addCounts(state, queue.tenant, { queues: 1 });
  }
  for (const label of LABELS) {
    const [was, is] = [before?.options[label] ?? '', queue.options[label]];
    if (was === is) continue;
    if (was !== '') unlabel(state, queue, label, was);
    if (is !== '') putLabel(state, queue, label, is);
  }
}

export function unindexQueue(state: State, queue: QueueRow): void {
  state.delete(queuesByAge, ageOrderKey(queue.tenant, queue.number));
  addCounts(state, queue.tenant, { queues: -1, partitions: -queue.partitions });
  for (const label of LABELS) {
    const text = queue.options[label];
    if (text !== '') unlabel(state, queue, label, text);
  }
}

function putLabel(state: State, queue: QueueRow, label: Label, text: string): void {
  state.put(queueLabels, queueLabelKey(queue, label, text), true);
  changeLabelCount(state, queue.tenant, label, text, 1);
}

function unlabel(state: State, queue: QueueRow, label: Label, text: string): void {
  state.delete(queueLabels, queueLabelKey(queue, label, text));
  changeLabelCount(state, queue.tenant, label, text, -1);
}

function queueLabelKey({ tenant, number }: QueueRow, label: Label, text: string): Key {
  return (labelKey(tenant, label, text) + numberKey(number)) as Key;
}

function changeLabelCount(
  state: State,
  tenant: Tenant,
  label: Label,
  text: string,
  change: 1 | -1,
): void {
  const key = (tenant + LABEL_KINDS[label] + labelText(text)) as Key;
  const before = state.get(labelCounts, key) ?? 0;
  const queuesNow = before + change;
  if (queuesNow > 0) state.put(labelCounts, key, queuesNow);
  else state.delete(labelCounts, key);
  if (before > 0 && queuesNow > 0) return;
  addCounts(state, tenant, label === 'namespace' ? { namespaces: change } : { tasks: change });
}

export function countPartition(state: State, tenant: Tenant, change: 1 | -1): void {
  addCounts(state, tenant, { partitions: change });
}

/** A cursor row of the group came to the partition, or goes. */
export function indexCursor(state: State, partition: number, group: string, change: 1 | -1): void {
  const row = state.get(partitions, numberKey(partition));
  if (row !== undefined) indexCursorOf(state, row, group, change);
}

export function indexCursorOf(
  state: State,
  partition: PartitionRow,
  group: string,
  change: 1 | -1,
): void {
  const queue = homeOf(state, partition.queue);
  if (queue === undefined) return;
  const at = groupRow(state, queue, group);
  const { cursors: before = 0, isRegistered = false } = at.row ?? {};
  const row = { queue: queue.number, group, cursors: before + change, isRegistered };
  putGroupRow(state, queue, at, row);
}

/** Notes that the group was registered at the queue, or is registered there no longer. */
export function indexGroup(
  state: State,
  number: number,
  group: string,
  isRegistered: boolean,
): void {
  const queue = homeOf(state, number);
  if (queue === undefined) return;
  const at = groupRow(state, queue, group);
  const { cursors: known = 0, isRegistered: before = false } = at.row ?? {};
  if (before === isRegistered) return;
  putGroupRow(state, queue, at, { queue: queue.number, group, cursors: known, isRegistered });
}

/** A deleted queue has its rows until it is swept. */
function homeOf(state: State, number: number): QueueRow | undefined {
  const key = numberKey(number);
  return state.get(queues, key) ?? state.get(doomedQueues, key)?.queue;
}

interface GroupRowAt {
  readonly key: Key;
  /** undefined: the group does not read the queue yet. */
  readonly row: GroupQueueRow | undefined;
}

/** The last key that was made: many cursors of one group come one after another. */
let lastKey: { readonly queue: QueueRow; readonly group: string; readonly key: Key } | null = null;

function groupRow(state: State, queue: QueueRow, group: string): GroupRowAt {
  if (lastKey?.queue !== queue || lastKey.group !== group) {
    lastKey = { queue, group, key: groupQueueKey(queue, group) };
  }
  const { key } = lastKey;
  return { key, row: state.get(groupQueues, key) };
}

function putGroupRow(
  state: State,
  { tenant }: QueueRow,
  { key, row: before }: GroupRowAt,
  row: GroupQueueRow,
): void {
  const isLeft = row.cursors > 0 || row.isRegistered;
  if (isLeft) state.put(groupQueues, key, row);
  else state.delete(groupQueues, key);
  if (isLeft !== (before !== undefined)) addCounts(state, tenant, { groups: isLeft ? 1 : -1 });
}

function addCounts(state: State, tenant: Tenant, changes: Partial<NameCounts>): void {
  for (const of of [tenant, null]) {
    const before = nameCountsOf(state, of);
    const counts: NameCounts = {
      queues: before.queues + (changes.queues ?? 0),
      partitions: before.partitions + (changes.partitions ?? 0),
      groups: before.groups + (changes.groups ?? 0),
      namespaces: before.namespaces + (changes.namespaces ?? 0),
      tasks: before.tasks + (changes.tasks ?? 0),
    };
    // The groups of a deleted queue are left until it is swept.
    const isLeft = of === null || counts.queues > 0 || counts.groups > 0;
    if (isLeft) state.put(nameCounts, countsKey(of), counts);
    else state.delete(nameCounts, countsKey(of));
  }
}

// --- a store without the rows --------------------------------------------------------------------

const ROWS_PER_READ = 1024;
const FIRST = '' as Key;
/** Above every key: their first byte is that of a number below 2^32 - 1. */
const LAST = '\xff\xff\xff\xff' as Key;

/**
 * Makes the rows for a state that was stored without them; called before anything is applied. The
 * counts of all tenants are a row in every store that has the index, an empty one too. Costs about
 * 5 us for each queue, group and cursor, once.
 */
export function buildNameIndex(state: State): void {
  if (state.get(nameCounts, SINGLETON_KEY) !== undefined) return;
  state.put(nameCounts, SINGLETON_KEY, NO_NAMES);
  for (const { row } of eachRow(state, queues)) {
    indexQueue(state, row, undefined);
    addCounts(state, row.tenant, { partitions: row.partitions });
  }
  for (const { key } of eachRow(state, groups)) {
    indexGroup(state, numberInKey(key), nameInKey(key), true);
  }
  for (const { key } of eachRow(state, cursors)) {
    indexCursor(state, numberInKey(key), nameInKey(key), 1);
  }
}

function* eachRow<Row>(state: State, of: Table<Row>): Generator<KeyedRow<Row>> {
  let from = FIRST;
  for (;;) {
    const rows = state.range(of, from, LAST, ROWS_PER_READ);
    yield* rows;
    const last = rows[rows.length - 1];
    if (last === undefined || rows.length < ROWS_PER_READ) return;
    from = `${last.key}\0` as Key;
  }
}
