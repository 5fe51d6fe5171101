/**
 * The deleted queues of a leader that have rows left (sweep.ts), and the requests that wait for the
 * last of them. One chunk of the oldest in each turn.
 */
import type { DeleteQueueCommand, Outcome, Tenant } from '../base/commands/commands.js';
import { numberKey } from '../base/keys.js';
import type { DoomedQueueRow, QueueRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { doomedQueues } from '../base/tables.js';
import type { Ticket } from '../delivery/delivery.js';
import type { Draft } from '../draft/draft.js';

/** Doomed queues found at the start of a term; what is beyond is found by the next term. */
const DOOMED_QUEUES_MAX = 100_000;

export class QueueSweeps {
  readonly #state: State;
  readonly #rowsPerTurn: number;
  /** By queue number, the oldest first. */
  readonly #sweeps = new Map<number, Ticket[]>();

  constructor(state: State, rowsPerTurn: number) {
    this.#state = state;
    this.#rowsPerTurn = rowsPerTurn;
    const [from, to] = [numberKey(0), numberKey(0xffff_ffff)];
    const left = state.range<DoomedQueueRow>(doomedQueues, from, to, DOOMED_QUEUES_MAX);
    for (const { row } of left) this.#sweeps.set(row.queue.number, []);
  }

  get busy(): boolean {
    return this.#sweeps.size > 0;
  }

  /** The queue was deleted in this entry. */
  begin(queue: number, tickets: Ticket[]): void {
    this.#sweeps.set(queue, tickets);
  }

  /** Waits for the queue that the command deleted before; false when nothing of it is left. */
  waitAgain({ tenant, queue }: DeleteQueueCommand, ticket: Ticket): boolean {
    let waits: Ticket[] | null = null;
    for (const [number, tickets] of this.#sweeps) {
      const doomed = this.#doomed(number);
      if (doomed?.name === queue && doomed.tenant === tenant) waits = tickets;
    }
    waits?.push(ticket);
    return waits !== null;
  }

  /** A deleted queue of the tenant has rows left. */
  isSweeping(tenant: Tenant): boolean {
    for (const number of this.#sweeps.keys()) {
      if (this.#doomed(number)?.tenant === tenant) return true;
    }
    return false;
  }

  turn(draft: Draft, answer: (ticket: Ticket, outcome: Outcome) => void): void {
    const next = this.#sweeps.entries().next().value;
    if (next === undefined) return;
    const [queue, tickets] = next;
    draft.emit({ kind: 'sweep-queue', queue, rowsMax: this.#rowsPerTurn });
    if (this.#doomed(queue) !== undefined) return;
    this.#sweeps.delete(queue);
    for (const ticket of tickets) answer(ticket, { kind: 'deleted', existed: true });
  }

  #doomed(number: number): QueueRow | undefined {
    return this.#state.get(doomedQueues, numberKey(number))?.queue;
  }
}
