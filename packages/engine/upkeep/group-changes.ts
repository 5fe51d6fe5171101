/**
 * Changes of what a consumer group has on many partitions at once: a seek over a queue, the
 * deletion of a group, another start point for it (message-plane 9, inspection 3.4 to 3.6).
 *
 * The job: one command of a client names a queue of a million partitions, or all queues of a
 * tenant, and is answered once, when every cursor is where it was asked to be.
 *
 * Why it is hard: a million cursor rows are 100 MB of entry and seconds of a loop that nothing
 * else gets through; so the change is made in pieces by many entries, and in between the leader
 * may die, the client's node may ask again, consumers pop and acknowledge, and the queue may be
 * deleted.
 *
 * What must hold:
 * - **Once.** A change that one turn cannot finish is a row, and its position moves in the very
 *   entry that holds the piece. Whoever leads next goes on at the position: no cursor is moved
 *   twice, or a consumer that had gone on since would be thrown back by a request it knows nothing
 *   of.
 * - **One answer.** The command carries an id that is drawn where the client asked. However often
 *   it is sent and to whichever leader, it finds its row by it: it waits for the rest, or gets the
 *   outcome, which the row keeps for as long as a request may be repeated. A change that its first
 *   turn finishes leaves no row; for it (index, term) or the request record say all.
 * - **Bounded.** What a turn begins and what the next one goes on with look at
 *   `groupChangeRowsMax` rows together; an entry may hold twice as many, but not two in a row. At
 *   most CHANGES_MAX go on at a time; more are refused as overload before anything is done. Of
 *   those that are done the last DONE_MAX are kept.
 * - **Fair.** Turns go round among the changes, so one giant does not keep the others waiting.
 *   Those of one group of a tenant go one after the other in the order they came, else two seeks
 *   could leave a mixture that neither asked for.
 * - **An end.** Partitions that came after the change began are not touched, so new ones cannot
 *   keep it going.
 * - Each partition is changed at one moment between the question and its answer, but not all of
 *   them at the same one. A seek to the end means the end of that moment.
 * - A deletion forgets what was there when it came to the queue, and nothing that came into being
 *   later, in the same entry or under whichever leader. A pop in between registers anew, and the
 *   cursors it makes stay. What a pop claims at a cursor that was there is forgotten with it: the
 *   pop was before the moment of that partition.
 * - A change has its place in the order of commands if that turn can finish it. Of those that go on
 *   the deletion has it too, at the queue where it begins, unless another change of the group is
 *   before it.
 *
 * How a deletion tells the ages apart: by the stamp of a cursor, which is that of its entry. Stamps
 * rise from entry to entry, also over a change of leaders; within one entry they say nothing. So a
 * queue is begun before anything else of its entry could make a cursor of the group, and whatever
 * bears that stamp or a later one is younger. Changes that were begun go on at the start of a turn,
 * before its commands, and one change of a group in a turn. A deletion that begins when it is
 * planned must lead its turn: behind other commands it waits for the next one, and what stands
 * behind it waits with it, which costs one more turn for each deletion that goes on. Only one that
 * is finished on the spot need not wait: nothing young is there yet, so it forgets all there is.
 * Seeks and start points ask for no age. A seek comes to every partition that was there when it was
 * asked for, and what was made in between was before its moment; a start point is another one for
 * the registration that is there in that moment, and writes cursors only where there are none.
 *
 * Rejected: an effect that names the change and has every node walk its own rows (a smaller log,
 * but then the meaning of a seek stands in apply, and two builds that differ in it differ in their
 * state for ever); a marker on the group that makes older cursors void, which takes no walk at all
 * (but every reader of a cursor, retention and views among them, would have to know it, and the
 * end of a partition at a moment that has passed cannot be told to the message when two appends
 * share its entry); going on with deletions at the end of a turn (what its commands have made
 * bears the stamp of the beginning, and a pop of many queues, which waits, may join the queue after
 * that).
 */

import type { RefusedOutcome, Ticket } from '../base/commands/commands.js';
import type {
  DeleteGroupCommand,
  GroupChangedOutcome,
  GroupCommand,
  SeekCommand,
} from '../base/commands/groups.js';
import { tenantNameKey, tenantRange } from '../base/keys.js';
import type { QueueRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { moveCursor } from '../delivery/cursor-move.js';
import type { Draft } from '../draft/draft.js';
import { type NameGuard, refusedBy } from '../draft/name-bounds.js';
import type { Job, TurnRoom } from '../features/job.js';
import { readMeta } from '../state/apply.js';
import { findPartition, findQueue } from '../state/catalog.js';
import {
  GROUP_CHANGE_RANGE,
  type GroupChangeKind,
  type GroupChangeRow,
  groupChanges,
} from '../state/group-change-table.js';
import {
  type GroupDelivery,
  isOneStep,
  seekCommitted,
  stepGroupChange,
} from './group-change-walk.js';

export interface GroupChangesLimits {
  readonly rowsPerTurn: number;
  /** How long an outcome is kept. */
  readonly windowMs: number;
  readonly names: NameGuard | null;
}

interface Change {
  row: GroupChangeRow;
  tickets: Ticket[];
  /** Once done: monotonic, when this leader first knew; null until its next turn. */
  doneMs: number | null;
}

/** Unfinished ones, and what waits for them: 1,024 * 2 KiB = 2 MiB. */
const CHANGES_MAX = 1024;
/** Rows of 200 bytes: 1 MiB. A request is hardly ever repeated, and then within a second or two. */
const DONE_MAX = 4096;

const NOTHING: GroupChangedOutcome = { kind: 'group-changed', queues: 0, changed: 0 };
const TOO_MANY: RefusedOutcome = {
  kind: 'refused',
  refusal: { reason: 'overloaded', error: 'too many changes of consumer groups are under way' },
};

export class GroupChanges implements Job {
  readonly #state: State;
  readonly #delivery: GroupDelivery;
  readonly #limits: GroupChangesLimits;
  /** By id, the one that waits longest for its turn first. */
  readonly #running = new Map<string, Change>();
  /** The oldest first. */
  readonly #done = new Map<string, Change>();
  /** False: some of them were done under another leader, and are not dated yet. */
  #hasAges = false;
  #nextOrder = 1;
  #rowsLeft: number;
  /** Groups of which the start of this turn may have made cursors. */
  readonly #wentOn = new Set<string>();
  /** Bytes of the entry as long as nothing but changes has written to it. */
  #ledLength = 0;

  constructor(state: State, delivery: GroupDelivery, limits: GroupChangesLimits) {
    this.#state = state;
    this.#delivery = delivery;
    this.#limits = limits;
    this.#rowsLeft = limits.rowsPerTurn;
    const [from, to] = GROUP_CHANGE_RANGE;
    const rows = state.range(groupChanges, from, to, CHANGES_MAX + DONE_MAX);
    for (const row of rows.map((one) => one.row).sort((a, b) => a.order - b.order)) {
      const known = row.isDone ? this.#done : this.#running;
      known.set(row.id, { row, tickets: [], doneMs: null });
      this.#nextOrder = row.order + 1;
    }
  }

  /** The next turn has something to do. */
  get busy(): boolean {
    return this.#running.size > 0;
  }

  /** Monotonic milliseconds at which an outcome need not be kept any more; null: none is kept. */
  nextDueMs(): number | null {
    const first = this.#done.values().next().value;
    if (first === undefined) return null;
    return first.doneMs === null ? 0 : first.doneMs + this.#limits.windowMs;
  }

  /** null: `turn` answers the ticket, in this turn or a later one. */
  plan(
    draft: Draft,
    command: GroupCommand,
    ticket: Ticket,
  ): GroupChangedOutcome | RefusedOutcome | null {
    const known = this.#running.get(command.changeId) ?? this.#done.get(command.changeId);
    if (known?.row.isDone === true) return outcomeOf(known.row);
    if (known !== undefined) {
      known.tickets.push(ticket);
      return null;
    }
    const closed = this.#judge(draft, command);
    if (closed !== null) return closed;
    if (command.kind === 'seek' && command.partition !== null) {
      return this.#seekPartition(draft, command, command.partition);
    }
    if (this.#running.size >= CHANGES_MAX) return TOO_MANY;
    const row = this.#begin(command);
    if (row === null) return NOTHING;
    return this.#start(draft, row, ticket);
  }

  /** The deletion cannot begin behind what this turn has planned: it goes first in the next one. */
  mustLead(draft: Draft, command: DeleteGroupCommand): boolean {
    const { changeId: id } = command;
    if (this.#running.has(id) || this.#done.has(id) || this.#running.size >= CHANGES_MAX) {
      return false;
    }
    const row = this.#begin(command);
    if (row === null || this.#isGroupBusy(row)) return false;
    return !this.#leads(draft, row) && !isOneStep(draft.state, row, this.#rowsLeft);
  }

  /**
   * The start of a turn: goes on with what is unfinished, and forgets outcomes that no request will
   * ask for.
   */
  turn(draft: Draft, room: TurnRoom): void {
    this.#wentOn.clear();
    if (this.#done.size > 0) this.#expire(draft);
    for (const change of this.#firstOfEachGroup()) {
      if (this.#rowsLeft <= 0) break;
      this.#step(draft, change, room);
    }
    this.#rowsLeft = this.#limits.rowsPerTurn;
    this.#ledLength = draft.length;
  }

  /** A seek gives the group cursors at a queue that it may not have read before. */
  #judge(draft: Draft, command: GroupCommand): RefusedOutcome | null {
    const { names } = this.#limits;
    if (names === null || command.kind !== 'seek') return null;
    const queue = findQueue(draft.state, command.tenant, command.queue);
    if (queue === undefined) return null;
    return refusedBy(names.judgeGroup(draft.state, queue, command.consumerGroup));
  }

  #seekPartition(draft: Draft, command: SeekCommand, name: string): GroupChangedOutcome {
    const queue = findQueue(draft.state, command.tenant, command.queue);
    const partition = queue && findPartition(draft.state, queue.number, name);
    if (partition === undefined) return NOTHING;
    const committed = seekCommitted(draft.state, partition, command.targetUs);
    moveCursor(draft, this.#delivery.memory, partition, command.consumerGroup, committed);
    return { kind: 'group-changed', queues: 1, changed: 1 };
  }

  /** null: the queue that it names does not exist. */
  #begin(command: GroupCommand): GroupChangeRow | null {
    const { tenant, changeId: id, consumerGroup: group } = command;
    const name = command.kind === 'subscribe-group' ? null : command.queue;
    const queue = name === null ? null : findQueue(this.#state, tenant, name);
    if (queue === undefined) return null;
    return {
      id,
      order: this.#nextOrder,
      tenant,
      group,
      what: kindOf(command),
      queue: queue?.number ?? null,
      partitionsEnd: readMeta(this.#state).nextPartition,
      nextQueue: firstQueueKey(tenant, queue),
      nextPartition: 0,
      youngUs: 0,
      wasSeeded: false,
      queues: 0,
      changed: 0,
      isDone: false,
    };
  }

  #start(draft: Draft, begun: GroupChangeRow, ticket: Ticket): GroupChangedOutcome | null {
    const leads = begun.what.kind === 'delete' && this.#leads(draft, begun);
    const row = this.#isGroupBusy(begun) ? begun : this.#firstStep(draft, begun, leads);
    if (!row.isDone) {
      this.#nextOrder++;
      this.#running.set(row.id, { row, tickets: [ticket], doneMs: null });
      draft.emit({ kind: 'group-change', id: row.id, row });
    }
    if (leads) this.#ledLength = draft.length;
    return row.isDone ? outcomeOf(row) : null;
  }

  /** Does as much of it as it may now, in its place among the commands. */
  #firstStep(draft: Draft, row: GroupChangeRow, leads: boolean): GroupChangeRow {
    // A deletion that leads begins here whatever was left to others: what follows is younger.
    const rowsMax = leads ? Math.max(1, this.#rowsLeft) : this.#rowsLeft;
    const isWhole = leads || row.what.kind !== 'delete' || isOneStep(draft.state, row, rowsMax);
    if (rowsMax <= 0 || !isWhole) return row;
    const youngUs = leads ? draft.nowUs : draft.nowUs + 1;
    const step = stepGroupChange(draft, this.#delivery, row, rowsMax, youngUs);
    this.#rowsLeft -= step.rowsUsed;
    return step.row;
  }

  /** Nothing in the entry so far can have made a cursor of this group. */
  #leads(draft: Draft, row: GroupChangeRow): boolean {
    return draft.length === this.#ledLength && !this.#wentOn.has(groupKey(row));
  }

  #isGroupBusy({ tenant, group }: GroupChangeRow): boolean {
    for (const { row } of this.#running.values()) {
      if (row.group === group && row.tenant === tenant) return true;
    }
    return false;
  }

  #step(draft: Draft, change: Change, room: TurnRoom): void {
    const step = stepGroupChange(draft, this.#delivery, change.row, this.#rowsLeft, draft.nowUs);
    this.#rowsLeft -= step.rowsUsed;
    const { row } = step;
    this.#wentOn.add(groupKey(row));
    change.row = row;
    this.#running.delete(row.id);
    draft.emit({ kind: 'group-change', id: row.id, row });
    if (!row.isDone) {
      // To the end of the line.
      this.#running.set(row.id, change);
      return;
    }
    change.doneMs = draft.nowMs;
    this.#done.set(row.id, change);
    for (const ticket of change.tickets) room.answer(ticket, outcomeOf(row));
    change.tickets = [];
  }

  /** In the order of the line, of each group the one that came first. */
  #firstOfEachGroup(): Change[] {
    const first = new Map<string, Change>();
    for (const change of this.#running.values()) {
      const key = groupKey(change.row);
      const other = first.get(key);
      if (other === undefined || change.row.order < other.row.order) first.set(key, change);
    }
    // By its own place in the line: one that waits for it may stand before it.
    const isFirst = (change: Change) => first.get(groupKey(change.row)) === change;
    return [...this.#running.values()].filter(isFirst);
  }

  #expire(draft: Draft): void {
    if (!this.#hasAges) for (const change of this.#done.values()) change.doneMs ??= draft.nowMs;
    this.#hasAges = true;
    for (const [id, { doneMs }] of this.#done) {
      const isKept = (doneMs ?? 0) + this.#limits.windowMs > draft.nowMs;
      if (isKept && this.#done.size <= DONE_MAX) return;
      this.#done.delete(id);
      draft.emit({ kind: 'group-change', id, row: null });
    }
  }
}

function outcomeOf({ queues, changed }: GroupChangeRow): GroupChangedOutcome {
  return { kind: 'group-changed', queues, changed };
}

function groupKey({ tenant, group }: GroupChangeRow): string {
  return tenant + group;
}

function kindOf(command: GroupCommand): GroupChangeKind {
  switch (command.kind) {
    case 'seek':
      return { kind: 'seek', targetUs: command.targetUs };
    case 'delete-group':
      return { kind: 'delete', deleteMetadata: command.deleteMetadata };
    case 'subscribe-group':
      return { kind: 'subscribe', atUs: command.atUs };
  }
}

function firstQueueKey(tenant: string, queue: QueueRow | null): string {
  return queue === null ? tenantRange(tenant)[0] : tenantNameKey(tenant, queue.name);
}
