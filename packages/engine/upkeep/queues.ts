/**
 * Configuring and deleting queues (message-plane 7, 8).
 *
 * A deleted queue is gone for clients at once, and is swept in chunks, one of the oldest queue in
 * each turn (sweep.ts). Requests wait for the last row of theirs.
 */
import { DEFAULT_PARTITION } from '@svc/wire';
import type {
  ConfigureCommand,
  ConfiguredOutcome,
  DeletedOutcome,
  DeleteQueueCommand,
  Outcome,
  RefusedOutcome,
  Tenant,
  Ticket,
} from '../base/commands/commands.js';
import { numberKey, tenantRange } from '../base/keys.js';
import { changeOptions } from '../base/queue-options.js';
import type { DoomedQueueRow, QueueRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { doomedQueues, queueNumbers, queues } from '../base/tables.js';
import type { Delivery } from '../delivery/delivery.js';
import { createPartition, createQueue } from '../draft/creation.js';
import type { Draft } from '../draft/draft.js';
import { type NameGuard, refusedBy } from '../draft/name-bounds.js';
import { type Job, type PurgeStep, purgeRange, type TurnRoom } from '../features/job.js';
import { findQueue } from '../state/catalog.js';

/** Doomed queues found at the start of a term; what is beyond is found by the next term. */
const DOOMED_QUEUES_MAX = 100_000;
/**
 * Queues that one step of a purge deletes: 64 * 5 row changes of about 1 us, and 64 groups of
 * waiters.
 */
const PURGED_QUEUES = 64;
/**
 * A partition counts as so many rows of a sweep: its cursors, appends and stream state are looked
 * for in ranges of their own, some 60 us, where one row of a long range costs 3 to 4.
 */
const PARTITION_ROWS = 16;
const DELETED: DeletedOutcome = { kind: 'deleted', existed: true };

export class QueueSweeps implements Job {
  readonly #state: State;
  readonly #delivery: Delivery;
  readonly #rowsPerTurn: number;
  /** By queue number, the oldest first. */
  readonly #sweeps = new Map<number, Ticket[]>();

  constructor(state: State, delivery: Delivery, rowsPerTurn: number) {
    this.#state = state;
    this.#delivery = delivery;
    this.#rowsPerTurn = rowsPerTurn;
    const [from, to] = [numberKey(0), numberKey(0xffff_ffff)];
    const left = state.range<DoomedQueueRow>(doomedQueues, from, to, DOOMED_QUEUES_MAX);
    for (const { row } of left) this.#sweeps.set(row.queue.number, []);
  }

  get busy(): boolean {
    return this.#sweeps.size > 0;
  }

  /** null: the turn that sweeps the last row answers the ticket; the record of its request. */
  plan(
    draft: Draft,
    command: DeleteQueueCommand,
    ticket: Ticket,
    room: TurnRoom,
  ): DeletedOutcome | null {
    const queue = findQueue(draft.state, command.tenant, command.queue);
    if (queue === undefined) return { kind: 'deleted', existed: false };
    this.#doom(draft, queue.number, [ticket]);
    room.progress(ticket, DELETED);
    return null;
  }

  /** A repetition waits for the last row, as the first request did; false: no row is left. */
  waitAgain({ tenant, queue }: DeleteQueueCommand, outcome: Outcome, ticket: Ticket): boolean {
    if (outcome.kind !== 'deleted' || !outcome.existed) return false;
    let waits: Ticket[] | null = null;
    for (const [number, tickets] of this.#sweeps) {
      const doomed = this.#doomed(number);
      if (doomed?.name === queue && doomed.tenant === tenant) waits = tickets;
    }
    waits?.push(ticket);
    return waits !== null;
  }

  /** Queues are gone for clients at once, and are swept like any deleted queue. */
  purge(step: PurgeStep): string | null {
    const { draft } = step;
    return purgeRange(step, queueNumbers, tenantRange(step.tenant), PURGED_QUEUES, (found) => {
      for (const { row: number } of found) {
        const queue = draft.state.get(queues, numberKey(number));
        if (queue === undefined) continue;
        step.partitionsDeleted += queue.partitions;
        this.#doom(draft, number, []);
      }
    });
  }

  /** A deleted queue of the tenant has rows left. */
  isSweeping(tenant: Tenant): boolean {
    for (const number of this.#sweeps.keys()) {
      if (this.#doomed(number)?.tenant === tenant) return true;
    }
    return false;
  }

  turn(draft: Draft, room: TurnRoom): void {
    const next = this.#sweeps.entries().next().value;
    if (next === undefined) return;
    const [queue, tickets] = next;
    const rowsMax = this.#rowsPerTurn;
    draft.emit({ kind: 'sweep-queue', queue, rowsMax, partitionRows: PARTITION_ROWS });
    if (this.#doomed(queue) !== undefined) return;
    this.#sweeps.delete(queue);
    for (const ticket of tickets) room.answer(ticket, DELETED);
  }

  #doom(draft: Draft, queue: number, tickets: Ticket[]): void {
    draft.emit({ kind: 'delete-queue', queue });
    this.#delivery.queueDeleted(queue);
    this.#sweeps.set(queue, tickets);
  }

  #doomed(number: number): QueueRow | undefined {
    return this.#state.get(doomedQueues, numberKey(number))?.queue;
  }
}

/** Creates the queue with partition `Default`, or changes its options. */
export function planConfigure(
  draft: Draft,
  command: ConfigureCommand,
  delivery: Delivery,
  names: NameGuard | null,
): ConfiguredOutcome | RefusedOutcome {
  const before = findQueue(draft.state, command.tenant, command.queue);
  const options = changeOptions(before?.options ?? null, command.changes, command.replace);
  if (before === undefined) {
    const made = { queues: 1, partitions: 1, groups: 0 };
    const closed = refusedBy(names?.judge(draft.state, command.tenant, made) ?? null);
    if (closed !== null) return closed;
    const queue = createQueue(draft, command.tenant, command.queue, options);
    delivery.queueCreated(draft, queue);
    const partition = createPartition(draft, queue.number, DEFAULT_PARTITION);
    delivery.partitionCreated(draft, queue, partition);
    return { kind: 'configured', queueId: queue.id, queue: queue.name, options };
  }
  const queue: QueueRow = { ...before, options };
  draft.emit({ kind: 'queue', row: queue });
  delivery.queueChanged(queue);
  return { kind: 'configured', queueId: queue.id, queue: queue.name, options };
}
