/**
 * How records are changed. A change is a function that reads, and puts what it wants into a batch;
 * the batch is written at once, or not at all. What it read is guarded by the versions that it saw:
 * when somebody else was faster the function runs anew, five times at most.
 *
 * What must hold, and is held here rather than in each change:
 * - A row, its unique indexes and its lists are written together.
 * - The audit row of a change is in its batch, and so is the mark that tells other nodes to forget
 *   what they know of a cluster, with the counter that makes them look.
 * - A batch stays within what the store takes.
 *
 * After a batch that was not answered nobody knows whether it was applied. So a change reads before
 * it writes, and finds its own work done when it is repeated.
 *
 * Side by side, changes that move the same row beat each other: of sixteen, most lose five times.
 * So no change moves a row that others move as often, but for the place of the last event
 * (`outbox.ts`). Those have a turn of their own (`changeInTurn`): one of a node at a time, and more
 * attempts, as only as many others as there are nodes can be faster.
 */
import type { Clock } from '../base/clock.js';
import { newId, type Random } from '../base/random.js';
import {
  BATCH_OPS_MAX,
  type Json,
  type KeyValueStore,
  type Row,
  StoreUnavailableError,
  type WriteOp,
} from '../store/kv.js';
import {
  CLUSTER_OPERATIONS,
  type Index,
  META,
  OPERATIONS,
  type OperationRow,
  type Table,
} from './rows.js';
import { readAs } from './shape.js';
import { Turns } from './turns.js';

/** What changes of records work with. */
export interface Records {
  readonly store: KeyValueStore;
  readonly clock: Clock;
  readonly random: Random;
  /** Turns of this node's changes to a row that all of them move (`changeInTurn`). */
  readonly turns: Turns;
  /** Called once a change of this node is applied: what it knows of its owner is old. */
  readonly onInvalidated: (owner: string) => void;
}

/** A row as it was read. */
export interface Held<Value> {
  readonly value: Value;
  readonly version: number;
}

/** The actor of a change, for the audit. */
export interface Actor {
  readonly actor: OperationRow['actor'];
  readonly actorId?: string;
}

export const SYSTEM: Actor = { actor: 'system' };
export const CONTROL_PLANE: Actor = { actor: 'control_plane' };

export interface Audit {
  readonly tenantId: string;
  readonly clusterId?: string;
  readonly action: string;
  readonly target?: string;
  readonly meta?: Json;
}

/** Why a change was not made. Codes are those of the API (gateway 9 and 11). */
export interface Refused {
  readonly refused:
    | 'conflict'
    | 'invalid'
    | 'not_found'
    | 'tenant_unknown'
    | 'cluster_unknown'
    | 'key_unknown'
    | 'deleting'
    | 'not_deleting'
    | 'last_admin';
  readonly error: string;
}

export function refused(code: Refused['refused'], error: string): Refused {
  return { refused: code, error };
}

export function isRefused<Result>(result: Result | Refused): result is Refused {
  return typeof result === 'object' && result !== null && 'refused' in result;
}

/** Cascades write batches of this size, which leaves room for what belongs to each of them. */
export const CASCADE_OPS = 240;
const ATTEMPTS = 5;
const ATTEMPTS_IN_TURN = 20;
/** Changes that wait for their turn. */
const IN_TURN_MAX = 256;
/** A change whose turn comes later is not begun: its client has gone, or is about to. */
const TURN_WAIT_MS = 10_000;
const MARK_TTL_MS = 3_600_000;

/** A mark of a cluster, of a user, or of `NIL_ID`. */
export const MARK_PREFIX = '#inval/';
export const COUNTER = '#inval';

export class RecordBatch {
  readonly #ops: WriteOp[] = [];
  readonly #invalidated = new Set<string>();
  readonly #actor: Actor;
  readonly #random: Random;
  /** The time of everything that the batch writes. */
  readonly nowUs: number;

  constructor({ clock, random }: Pick<Records, 'clock' | 'random'>, actor: Actor) {
    this.#actor = actor;
    this.#random = random;
    this.nowUs = clock.wallUs();
  }

  get ops(): readonly WriteOp[] {
    return this.#ops;
  }

  get invalidated(): ReadonlySet<string> {
    return this.#invalidated;
  }

  newId(): string {
    return newId(this.#random);
  }

  /** Is lost when the row or a unique value of it is there. */
  insert<Value>(table: Table<Value>, value: Value): void {
    const { namespace } = table;
    const key = keyOf(table, value);
    this.add({ op: 'putIfAbsent', namespace, key, value: value as Json, required: true });
    for (const index of table.unique) {
      this.add({
        op: 'putIfAbsent',
        namespace: index.namespace,
        key: keyOf(index, value),
        value: table.key(value),
        required: true,
      });
    }
    for (const list of table.lists) {
      this.add({ op: 'put', namespace: list.namespace, key: keyOf(list, value), value: '' });
    }
  }

  /** Is lost when the row changed since. Key and indexed members stay what they are. */
  update<Value>(table: Table<Value>, held: Held<Value>, value: Value): void {
    for (const index of [table, ...table.unique, ...table.lists]) {
      const [before, after] = [index.key(held.value), index.key(value)];
      if (before !== after) throw new Error(`${table.namespace}: ${before} became ${after}`);
    }
    this.add({
      op: 'put',
      namespace: table.namespace,
      key: keyOf(table, value),
      value: value as Json,
      expect: held.version,
      required: true,
    });
  }

  /** Is lost when the row changed since. */
  remove<Value>(table: Table<Value>, held: Held<Value>): void {
    this.add({
      op: 'delete',
      namespace: table.namespace,
      key: keyOf(table, held.value),
      expect: held.version,
      required: true,
    });
    for (const index of [...table.unique, ...table.lists]) this.unlink(index, held.value);
  }

  /** Takes a row out of one index. */
  unlink<Value>(index: Index<Value>, value: Value): void {
    this.add({ op: 'delete', namespace: index.namespace, key: keyOf(index, value) });
  }

  /** The batch is lost when the row changed since. */
  check<Value>(table: Table<Value>, { value, version }: Held<Value>): void {
    const { namespace } = table;
    this.add({ op: 'check', namespace, key: keyOf(table, value), expect: version, required: true });
  }

  audit({ tenantId, clusterId, action, target, meta = {} }: Audit): void {
    const { actor, actorId } = this.#actor;
    const operation: OperationRow = {
      id: this.newId(),
      tenant_id: tenantId,
      ...(clusterId === undefined ? {} : { cluster_id: clusterId }),
      actor,
      ...(actorId === undefined ? {} : { actor_id: actorId }),
      action,
      ...(target === undefined ? {} : { target }),
      meta,
      at_us: this.nowUs,
    };
    this.insert(OPERATIONS, operation);
    if (clusterId === undefined) return;
    const { namespace } = CLUSTER_OPERATIONS;
    this.add({ op: 'put', namespace, key: keyOf(CLUSTER_OPERATIONS, operation), value: '' });
  }

  /** Every node forgets what it knows of the cluster, of the user, or with `NIL_ID` of sessions. */
  invalidate(owner: string): void {
    if (this.#invalidated.has(owner)) return;
    if (this.#invalidated.size === 0) {
      this.add({ op: 'incr', namespace: META, key: COUNTER, delta: 1 });
    }
    this.#invalidated.add(owner);
    const key = MARK_PREFIX + owner;
    this.add({ op: 'put', namespace: META, key, value: '', ttlMs: MARK_TTL_MS });
  }

  add(op: WriteOp): void {
    if (this.#ops.length === BATCH_OPS_MAX) {
      throw new Error(`a batch of more than ${BATCH_OPS_MAX} operations`);
    }
    this.#ops.push(op);
  }
}

/**
 * Makes a change. `attempt` may run several times, and refuses by what it returns; nothing that it
 * put into the batch is written then.
 */
export async function change<Result>(
  records: Records,
  actor: Actor,
  attempt: (batch: RecordBatch) => Promise<Result>,
  attemptsMax = ATTEMPTS,
): Promise<Result> {
  for (let tries = 0; tries < attemptsMax; tries++) {
    const batch = new RecordBatch(records, actor);
    const result = await attempt(batch);
    if (isRefused(result) || batch.ops.length === 0) return result;
    const outcome = await records.store.batch(batch.ops);
    if (outcome.kind === 'conflict') continue;
    for (const owner of batch.invalidated) records.onInvalidated(owner);
    return result;
  }
  throw new StoreUnavailableError(`somebody else was faster ${attemptsMax} times`);
}

export function changeTurns(): Turns {
  return new Turns(1, IN_TURN_MAX);
}

/**
 * As `change`, after those of this node that came before it. Rejects with `OverloadedError` when
 * too many wait, and with `StoreUnavailableError` when its turn comes too late: where the store
 * answers nobody, those who wait are not made to wait for it one after the other.
 */
export function changeInTurn<Result>(
  records: Records,
  actor: Actor,
  attempt: (batch: RecordBatch) => Promise<Result>,
): Promise<Result> {
  const { clock, turns } = records;
  const latestMs = clock.nowMs() + TURN_WAIT_MS;
  return turns.run(() => {
    if (clock.nowMs() < latestMs) return change(records, actor, attempt, ATTEMPTS_IN_TURN);
    throw new StoreUnavailableError(`no turn within ${TURN_WAIT_MS} ms`);
  });
}

export async function read<Value>(
  { store }: Pick<Records, 'store'>,
  table: Table<Value>,
  key: string,
): Promise<Held<Value> | null> {
  const row = await store.get(table.namespace, `#${key}`);
  return row === null ? null : heldOf(table, row);
}

/** In no order; keys without a row are left out. */
export async function readMany<Value>(
  { store }: Pick<Records, 'store'>,
  table: Table<Value>,
  keys: readonly string[],
): Promise<Held<Value>[]> {
  const held: Held<Value>[] = [];
  for (let from = 0; from < keys.length; from += BATCH_OPS_MAX) {
    const part = keys.slice(from, from + BATCH_OPS_MAX).map((key) => `#${key}`);
    for (const row of await store.getMany(table.namespace, part)) held.push(heldOf(table, row));
  }
  return held;
}

/** The row that has this value in a unique index. */
export async function readBy<Value>(
  records: Pick<Records, 'store'>,
  table: Table<Value>,
  value: string,
  index: Index<Value> | undefined = table.unique[0],
): Promise<Held<Value> | null> {
  if (index === undefined) throw new Error(`${table.namespace} has no unique index`);
  const row = await records.store.get(index.namespace, `#${value}`);
  if (row === null) return null;
  return read(records, table, String(row.value));
}

/** Deletes rows that nothing else points to, whatever their versions. */
export async function deleteRows(
  { store }: Pick<Records, 'store'>,
  namespace: string,
  keys: readonly string[],
): Promise<void> {
  for (let from = 0; from < keys.length; from += CASCADE_OPS) {
    const part = keys.slice(from, from + CASCADE_OPS);
    await store.batch(part.map((key) => ({ op: 'delete', namespace, key })));
  }
}

export function heldOf<Value>(table: Table<Value>, row: Row): Held<Value> {
  return { value: readAs(table.shape, table.namespace, row), version: row.version };
}

export function keyOf<Value>(index: Index<Value>, value: Value): string {
  return `#${index.key(value)}`;
}
