/**
 * Which queues a discovery pop reads: those of its tenant that carry its labels. The list is walked
 * together once, in chunks, and kept up to date by creation, deletion and relabelling; a tenant
 * with 100,000 queues must not be walked by every pop.
 */
import type { PopScope } from '../base/commands/commands.js';
import { IDLE_MS } from '../base/delivery-limits.js';
import { numberKey, tenantRange } from '../base/keys.js';
import type { QueueRow } from '../base/rows.js';
import type { Key } from '../base/state.js';
import { queueNumbers, queues } from '../base/tables.js';
import type { Draft } from '../draft/draft.js';
import type { DeliveryMemory, QueueMatches } from './memory.js';

type DiscoveryScope = Extract<PopScope, { kind: 'discovery' }>;

export class Discovery {
  readonly #memory: DeliveryMemory;
  readonly #lists = new Map<string, QueueMatches>();
  /** Queues that came to be or changed since the last turn's end. */
  #changed: number[] = [];

  constructor(memory: DeliveryMemory) {
    this.#memory = memory;
  }

  /** How many queues are known to have these labels: a pop by them looks at each. */
  known(tenant: string, scope: DiscoveryScope): number {
    return this.#lists.get(listOf(tenant, scope).key)?.queues.length ?? 0;
  }

  /** The list for these labels. */
  open(draft: Draft, tenant: string, scope: DiscoveryScope): QueueMatches {
    const { key, namespace, task } = listOf(tenant, scope);
    const known = this.#lists.get(key);
    if (known !== undefined) {
      known.usedAtMs = draft.nowMs;
      return known;
    }
    const matches: QueueMatches = {
      kind: 'matches',
      key,
      tenant,
      namespace,
      task,
      queues: [],
      scanFrom: tenantRange(tenant)[0],
      lines: new Map(),
      lastJoin: 0,
      usedAtMs: draft.nowMs,
      dueMs: 0,
      heapAt: -1,
    };
    this.#lists.set(key, matches);
    this.#memory.due.set(matches, draft.nowMs + IDLE_MS);
    return matches;
  }

  /** Lists whose walk has not ended. */
  *unfinished(): Iterable<QueueMatches> {
    for (const matches of this.#lists.values()) if (matches.scanFrom !== null) yield matches;
  }

  get busy(): boolean {
    if (this.#changed.length > 0) return this.#lists.size > 0;
    for (const _ of this.unfinished()) return true;
    return false;
  }

  /**
   * Goes on with the walk; calls `found` for each queue that matches. Returns the rows it read.
   */
  walk(
    draft: Draft,
    matches: QueueMatches,
    rowsMax: number,
    found: (queue: QueueRow) => void,
  ): number {
    if (matches.scanFrom === null || rowsMax <= 0) return 0;
    const end = tenantRange(matches.tenant)[1];
    const rows = draft.state.range(queueNumbers, matches.scanFrom as Key, end, rowsMax);
    for (const { row } of rows) {
      const queue = draft.state.get(queues, numberKey(row));
      if (queue !== undefined) this.#settle(matches, queue, found);
    }
    const last = rows[rows.length - 1];
    matches.scanFrom = rows.length < rowsMax || last === undefined ? null : `${last.key}\0`;
    return rows.length;
  }

  queueChanged(queue: number): void {
    if (this.#lists.size > 0) this.#changed.push(queue);
  }

  /** Brings the lists up to date with the queues created or relabelled since the last call. */
  settleChanges(
    draft: Draft,
    found: (matches: QueueMatches, queue: QueueRow) => void,
    lost: (matches: QueueMatches, queue: number) => void,
  ): void {
    const changed = this.#changed;
    this.#changed = [];
    for (const number of changed) {
      const queue = draft.state.get(queues, numberKey(number));
      if (queue === undefined) continue;
      for (const matches of this.#lists.values()) {
        if (matches.tenant !== queue.tenant) continue;
        if (fits(matches, queue)) this.#settle(matches, queue, (row) => found(matches, row));
        else if (removeNumber(matches.queues, number)) lost(matches, number);
      }
    }
  }

  queueDeleted(queue: number): void {
    for (const matches of this.#lists.values()) removeNumber(matches.queues, queue);
  }

  /** The queue has the labels, as far as is known. */
  has(matches: QueueMatches, queue: number): boolean {
    return matches.queues[placeOf(matches.queues, queue)] === queue;
  }

  dropIfIdle(matches: QueueMatches, nowMs: number): void {
    const idleAtMs = matches.lines.size > 0 ? nowMs + IDLE_MS : matches.usedAtMs + IDLE_MS;
    if (idleAtMs > nowMs) this.#memory.due.set(matches, idleAtMs);
    else this.#lists.delete(matches.key);
  }

  #settle(matches: QueueMatches, queue: QueueRow, found: (queue: QueueRow) => void): void {
    if (!fits(matches, queue)) return;
    const at = placeOf(matches.queues, queue.number);
    if (matches.queues[at] === queue.number) return;
    matches.queues.splice(at, 0, queue.number);
    found(queue);
  }
}

function fits(matches: QueueMatches, queue: QueueRow): boolean {
  const { namespace, task } = matches;
  return (
    (namespace === null || namespace === queue.options.namespace) &&
    (task === null || task === queue.options.task)
  );
}

function removeNumber(numbers: number[], number: number): boolean {
  const at = placeOf(numbers, number);
  if (numbers[at] !== number) return false;
  numbers.splice(at, 1);
  return true;
}

/** Where the number stands in the ascending list, or where it would. */
function placeOf(numbers: readonly number[], number: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] ?? 0) < number) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What a list is known by; the empty label counts as not given. */
function listOf(tenant: string, scope: DiscoveryScope) {
  const namespace = scope.namespace === '' ? null : scope.namespace;
  const task = scope.task === '' ? null : scope.task;
  return { key: JSON.stringify([tenant, namespace, task]), namespace, task };
}
