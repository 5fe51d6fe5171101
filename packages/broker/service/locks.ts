/**
 * Locks and semaphores over key/value: a permit is a row, and the node that a
 * client asked translates its operations to calls of key/value, for itself, whoever leads.
 *
 * What must hold:
 * - Every step that gives, prolongs or takes a permit is one guarded write, so that two nodes, two
 *   clients or a repeated call can never both succeed; what was read before only decides which
 *   write is tried.
 * - The token of a permit is the version of its row: it rises with each holder and each renewal,
 *   and a transaction that checks it commits only under that very permit.
 * - Operations are independent. All that go on read in one call and write in one call; who lost to
 *   somebody else goes another round, of which there are few. So a call costs two turns of the log
 *   as a rule, and ends.
 * - One deadline for all rounds: each step has what the ones before it left of the time.
 *
 * Free slots of a semaphore are tried at random: callers that all took the first one would meet
 * there each time.
 */
import {
  type KvCall,
  type KvJson,
  type KvOp,
  type KvOutcome,
  type KvResult,
  type KvView,
  kvJson,
  ownPut,
  type RefusedOutcome,
  type Tenant,
} from '@svc/engine';
import {
  LOCK_NAMESPACE,
  LOCK_SLOTS_MAX,
  type LockAcquire,
  type LockGet,
  type LockOp,
  type LockRelease,
  type LockRenew,
  type LockService,
  type LocksView,
  permitValue,
  type Reply,
} from '@svc/http';
import {
  formatStampUs,
  type LockGuard,
  type LockHolder,
  type LockHolderDetail,
  type LockResult,
} from '@svc/wire';
import { STANDBY_REFUSAL } from '../leader/standby-leader.js';
import { TIMED_OUT } from '../reads/held-reads.js';
import type { Clock } from '../system/clock.js';
import type { KvRequests } from './kv-requests.js';

const ACQUIRE_TRIES = 4;
const RENEW_TRIES = 2;
const PAGE_ROWS = 1000;
/** A permit's row is a page's thousandth; more pages are rows that are no permits. */
const PAGES_MAX = 16;
const SLOT = /^(?:0|[1-9]\d{0,3})$/;

/** A live permit. */
interface Permit {
  readonly slot: number;
  readonly owner: string | null;
  readonly version: number;
  /** The row's value, if it is an object. */
  readonly value: Readonly<Record<string, unknown>>;
  readonly updatedAtUs: number;
  readonly expiresAtUs: number | null;
}

interface Task<Op extends LockOp = LockOp> {
  readonly index: number;
  readonly op: Op;
  result: LockResult | null;
  triesLeft: number;
  /** What the last reading found, by slot. */
  permits: Permit[];
  /** Behind this key the next page begins; null: all was read. */
  after: string | null;
  pagesLeft: number;
  /** The slot of the write under way. */
  slot: number;
}

export interface LocksOptions {
  readonly isStandby: () => boolean;
  readonly kv: Pick<KvRequests, 'call'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** For one call of a client, whatever it comes to. */
  readonly allowedMs: number;
  /** 0 <= fraction < 1. */
  readonly fraction: () => number;
}

export class Locks implements LockService {
  readonly #options: LocksOptions;

  constructor(options: LocksOptions) {
    this.#options = options;
  }

  /**
   * A standby says nothing about who holds a lock of its source but to those who only look: whoever
   * renews there would be told that it is lost.
   */
  run(tenant: Tenant, ops: readonly LockOp[], reply: Reply<LocksView | RefusedOutcome>): void {
    if (this.#options.isStandby() && ops.some(({ op }) => op !== 'get')) {
      reply.send({ kind: 'refused', refusal: STANDBY_REFUSAL });
      return;
    }
    new LockRun(this.#options, tenant, ops, reply).next();
  }
}

/** One call of a client. */
class LockRun {
  readonly #options: LocksOptions;
  readonly #deadlineMs: number;
  readonly #tenant: Tenant;
  readonly #tasks: readonly Task[];
  readonly #reply: Reply<LocksView | RefusedOutcome>;

  constructor(
    options: LocksOptions,
    tenant: Tenant,
    ops: readonly LockOp[],
    reply: Reply<LocksView | RefusedOutcome>,
  ) {
    this.#options = options;
    this.#deadlineMs = options.clock.nowMs() + options.allowedMs;
    this.#tenant = tenant;
    this.#tasks = ops.map((op, index) => taskOf(op, index));
    this.#reply = reply;
  }

  /** A round: reads, then writes, of all that have no result. */
  next(): void {
    const going = this.#tasks.filter(({ result }) => result === null);
    if (going.length > 0) {
      for (const task of going) beginRound(task);
      this.#read(going);
      return;
    }
    const results = this.#tasks.map(({ result }) => result as LockResult);
    this.#reply.send({ kind: 'locks', results });
  }

  #read(going: readonly Task[]): void {
    const reading = going.filter(({ op, after }) => after !== null && readsFirst(op));
    if (reading.length === 0) {
      this.#write(going);
      return;
    }
    this.#call(reading.map(readOf), (results) => {
      for (const [i, task] of reading.entries()) take(task, results[i] as KvResult);
      // Pages that were cut short go on.
      this.#read(going);
    });
  }

  #write(going: readonly Task[]): void {
    const writing: Task[] = [];
    const ops: KvOp[] = [];
    for (const task of going) {
      const op = this.#writeOf(task);
      if (op === null) continue;
      writing.push(task);
      ops.push(op);
    }
    if (ops.length === 0) {
      this.next();
      return;
    }
    this.#call(ops, (results) => {
      for (const [i, task] of writing.entries()) settle(task, results[i] as KvResult);
      this.next();
    });
  }

  /** null: the task has its result without a write. */
  #writeOf(task: Task): KvOp | null {
    const { op } = task;
    switch (op.op) {
      case 'acquire':
        return this.#acquire(task as Task<LockAcquire>);
      case 'renew':
        return renewal(task as Task<LockRenew>);
      case 'release': {
        const key = keyOf(op.name, op.slot);
        const place = { namespace: LOCK_NAMESPACE, key };
        return { op: 'delete', ...place, expect: op.token, required: false };
      }
      case 'get':
        task.result = shown(task as Task<LockGet>);
        return null;
    }
  }

  #acquire(task: Task<LockAcquire>): KvOp | null {
    const { op, permits } = task;
    if (op.limit > 1) {
      const own = op.owner === null ? undefined : permits.find(({ owner }) => owner === op.owner);
      const taken = new Set(permits.map(({ slot }) => slot));
      if (own !== undefined) task.result = acquired(task, own.slot, own.version, true);
      else if (taken.size >= op.limit) task.result = notAcquired(task, 'held');
      if (task.result !== null) return null;
      task.slot = this.#freeSlot(op.limit, taken);
    }
    return ownPut({
      op: 'putIfAbsent',
      namespace: LOCK_NAMESPACE,
      key: keyOf(op.name, task.slot),
      value: kvJson(permitValue(op.owner)),
      ttlSeconds: op.ttlSeconds,
      expect: 0,
    });
  }

  #freeSlot(limit: number, taken: ReadonlySet<number>): number {
    let skip = Math.floor(this.#options.fraction() * (limit - taken.size));
    for (let slot = 0; ; slot++) {
      if (taken.has(slot)) continue;
      if (skip === 0) return slot;
      skip--;
    }
  }

  #call(ops: readonly KvOp[], done: (results: readonly KvResult[]) => void): void {
    const { kv, clock } = this.#options;
    if (clock.nowMs() >= this.#deadlineMs) {
      this.#reply.send({ kind: 'refused', refusal: TIMED_OUT });
      return;
    }
    const call: KvCall = { kind: 'kv', tenant: this.#tenant, ops };
    const step: Reply<KvOutcome | RefusedOutcome> = {
      gone: false,
      onGone: null,
      send: (outcome) => {
        // Some operations may have applied: the client sends all again, with the same owners.
        if (outcome.kind === 'refused') this.#reply.send(outcome);
        else done(outcome.results);
        return true;
      },
    };
    kv.call(call, step, this.#deadlineMs);
  }
}

function taskOf(op: LockOp, index: number): Task {
  const triesLeft = op.op === 'acquire' ? ACQUIRE_TRIES : op.op === 'renew' ? RENEW_TRIES : 1;
  const [result, permits, after, pagesLeft, slot] = [null, [], null, 0, 0];
  return { index, op, result, triesLeft, permits, after, pagesLeft, slot };
}

function beginRound(task: Task): void {
  task.triesLeft--;
  task.permits = [];
  task.after = '';
  task.pagesLeft = PAGES_MAX;
}

/** A permit of a lock is tried without looking: the row itself says no. */
function readsFirst(op: LockOp): boolean {
  return op.op === 'renew' || op.op === 'get' || (op.op === 'acquire' && op.limit > 1);
}

function readOf({ op, after }: Task): KvOp {
  const namespace = LOCK_NAMESPACE;
  if (op.op === 'acquire') {
    const keys = Array.from({ length: op.limit }, (_, slot) => keyOf(op.name, slot));
    return { op: 'getMany', namespace, keys };
  }
  if (op.op === 'renew') return { op: 'get', namespace, key: keyOf(op.name, op.slot) };
  const prefix = `${op.name}#`;
  const page = { prefix, after: after ?? '', limit: PAGE_ROWS, keysOnly: false };
  return { op: 'getPrefix', namespace, ...page };
}

function take(task: Task, result: KvResult): void {
  const before = task.after;
  task.after = null;
  let rows: readonly KvView[] = [];
  if (result.kind === 'got') rows = result.row === null ? [] : [result.row];
  else if (result.kind === 'many') rows = result.rows;
  else if (result.kind === 'page') {
    rows = result.rows;
    // A page that the others of the call left no room for is asked for once more.
    if (result.truncated && --task.pagesLeft > 0) task.after = result.nextAfter ?? before;
  }
  const prefixLength = task.op.name.length + 1;
  for (const row of rows) {
    const slot = row.key.slice(prefixLength);
    if (!SLOT.test(slot) || Number(slot) >= LOCK_SLOTS_MAX) continue;
    task.permits.push(permitOf(row, Number(slot)));
  }
}

function permitOf(row: KvView, slot: number): Permit {
  const value = objectIn(row.value);
  const { version, updatedAtUs, expiresAtUs } = row;
  return { slot, owner: ownerIn(value), version, value, updatedAtUs, expiresAtUs };
}

/** The value may have been stored by another client of key/value, so it may be anything. */
function objectIn(json: KvJson | null): Readonly<Record<string, unknown>> {
  if (json === null) return {};
  const value: unknown = JSON.parse(
    Buffer.from(json.buffer, json.byteOffset, json.length).toString('utf8'),
  );
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : {};
}

function ownerIn(value: Readonly<Record<string, unknown>>): string | null {
  return typeof value.owner === 'string' ? value.owner : null;
}

function keyOf(name: string, slot: number): string {
  return `${name}#${slot}`;
}

// --- verdicts ------------------------------------------------------------------------------------

/** The write that prolongs the permit; null: it is lost, and the task says so. */
function renewal(task: Task<LockRenew>): KvOp | null {
  const { op, permits } = task;
  const [permit] = permits;
  const isOwn = op.owner !== null && permit?.owner === op.owner;
  if (permit === undefined || (permit.version !== op.token && !isOwn)) {
    task.result = lost(task, permit === undefined ? null : permit.owner, permit !== undefined);
    return null;
  }
  const since = sinceOf(permit);
  const value = { ...permit.value, owner: permit.owner, since };
  return ownPut({
    op: 'put',
    namespace: LOCK_NAMESPACE,
    key: keyOf(op.name, op.slot),
    value: kvJson(JSON.stringify(value)),
    ttlSeconds: op.ttlSeconds,
    expect: permit.version,
  });
}

/** When it was acquired: before the first renewal the row was written then. */
function sinceOf({ value, updatedAtUs }: Permit): string {
  return typeof value.since === 'string' ? value.since : formatStampUs(updatedAtUs);
}

/** What came of the task's write. Without a result it goes another round. */
function settle(task: Task, result: KvResult): void {
  const { op } = task;
  if (result.kind === 'put') {
    task.result =
      op.op === 'acquire'
        ? acquired(task as Task<LockAcquire>, task.slot, result.version, false)
        : renewed(task as Task<LockRenew>, result.version);
    return;
  }
  if (result.kind !== 'judged') return;
  const isLive = result.loss !== 'absent' && result.version > 0;
  const owner = isLive ? ownerIn(objectIn(result.value)) : null;
  if (op.op === 'release') {
    task.result = result.loss === null ? released(op, task.index) : lost(task, owner, isLive);
  } else if (op.op === 'renew') {
    if (task.triesLeft === 0) task.result = lost(task, owner, isLive);
  } else if (op.op === 'acquire') {
    acquisitionLost(task as Task<LockAcquire>, owner, result.version);
  }
}

function acquisitionLost(task: Task<LockAcquire>, owner: string | null, version: number): void {
  const { op } = task;
  if (op.owner !== null && owner === op.owner) {
    task.result = acquired(task, task.slot, version, true);
  } else if (op.limit === 1) {
    task.result = { ...notAcquired(task, 'held'), holders: [{ slot: 0, owner }] };
  } else if (task.triesLeft === 0) task.result = notAcquired(task, 'contended');
}

function guardOf(name: string, slot: number, token: number): LockGuard {
  const place = { ns: LOCK_NAMESPACE, key: keyOf(name, slot) };
  return { op: 'check', ...place, expect: token, required: true };
}

function acquired(
  { index, op }: Task<LockAcquire>,
  slot: number,
  token: number,
  already: boolean,
): LockResult {
  const { name, owner } = op;
  const guard = guardOf(name, slot, token);
  const head = { index, op: 'acquire', name, acquired: true } as const;
  const tail = { slot, token, owner, guard };
  return already ? { ...head, already, ...tail } : { ...head, ...tail };
}

function notAcquired({ index, op, permits }: Task<LockAcquire>, reason: 'held' | 'contended') {
  const { name, limit } = op;
  const holders: readonly LockHolder[] = permits
    .filter(({ slot }) => slot < limit)
    .sort((a, b) => a.slot - b.slot)
    .map(({ slot, owner }) => ({ slot, owner }));
  return { index, op: 'acquire', name, acquired: false, reason, holders } as const;
}

function renewed({ index, op }: Task<LockRenew>, token: number): LockResult {
  const { name, slot } = op;
  return {
    index,
    op: 'renew',
    name,
    renewed: true,
    slot,
    token,
    guard: guardOf(name, slot, token),
  };
}

function released({ name, slot }: LockRelease, index: number): LockResult {
  return { index, op: 'release', name, released: true, slot };
}

function lost({ index, op }: Task, owner: string | null, isHeld: boolean): LockResult {
  const { op: kind, name, slot } = op as LockRenew | LockRelease;
  const holders = isHeld ? [{ slot, owner }] : [];
  const tail = { reason: 'lost', slot, holders } as const;
  return kind === 'renew'
    ? { index, op: kind, name, renewed: false, ...tail }
    : { index, op: kind, name, released: false, ...tail };
}

function shown({ index, op, permits }: Task<LockGet>): LockResult {
  const holders = permits.sort((a, b) => a.slot - b.slot).map(detailOf);
  return { index, op: 'get', name: op.name, held: holders.length > 0, holders };
}

function detailOf(permit: Permit): LockHolderDetail {
  const { slot, owner, version: token, expiresAtUs, updatedAtUs } = permit;
  const expiresAt = expiresAtUs === null ? null : formatStampUs(expiresAtUs);
  const renewedAt = formatStampUs(updatedAtUs);
  return { slot, owner, token, since: sinceOf(permit), expiresAt, renewedAt };
}
