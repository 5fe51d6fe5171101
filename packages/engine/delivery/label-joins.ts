/**
 * Queues that come to have labels, and the pops that wait by them (`LabelLine`).
 *
 * The job: a queue that is made, or gets other labels, is waited at from then on by all groups that
 * wait by its labels, and each of them registers there as its own pop would.
 *
 * Why it is hard: a slice of a push makes a hundred queues, and clients name as many groups as they
 * have connections. Each group at each queue is a row and 15 us; 20,000 groups at 130 queues in one
 * turn are half a minute.
 *
 * What must hold:
 * - What a new queue costs does not depend on how many wait in a line.
 * - A turn lets lines join while it has room (`waiters-room.ts`), and the next one goes on: a queue
 *   after the other in the order in which they were found, and each at all lines. A queue that is
 *   gone meanwhile, or has other labels, is joined by no more of them.
 * - Nothing is kept for each pair of line and queue that is still to come.
 * - A group whose pops are all answered before their line has joined registers all the same: one
 *   that reads only what is new would miss what lies in the queue by the time it pops again.
 *
 * Until a line has joined a queue, a pop of that queue alone does not see who waits in it.
 */

import type { QueueRow } from '../base/rows.js';
import { PRICES } from '../base/work-prices.js';
import type { Draft } from '../draft/draft.js';
import type { NameGuard } from '../draft/name-bounds.js';
import { queueByNumber } from '../state/catalog.js';
import type { Discovery } from './discovery.js';
import { register } from './first-contact.js';
import type { DeliveryMemory, LabelLine, QueueMatches } from './memory.js';
import type { Waiters } from './waiters.js';
import { WaitersRoom } from './waiters-room.js';

/** The lines that are left are those of `matches`, also those that begin while it waits. */
interface Join {
  /** Rises. */
  readonly number: number;
  readonly matches: QueueMatches;
  readonly queue: number;
  readonly lines: Iterator<LabelLine>;
}

export class LabelJoins {
  readonly #memory: DeliveryMemory;
  readonly #waiters: Waiters;
  readonly #discovery: Discovery;
  readonly #names: NameGuard | null;
  readonly #joins = new Set<Join>();
  #lastJoin = 0;

  constructor(
    memory: DeliveryMemory,
    waiters: Waiters,
    discovery: Discovery,
    names: NameGuard | null,
  ) {
    this.#memory = memory;
    this.#waiters = waiters;
    this.#discovery = discovery;
    this.#names = names;
  }

  get busy(): boolean {
    return this.#joins.size > 0;
  }

  /** Goes on with the walk of the list. Returns the rows it read. */
  walk(draft: Draft, matches: QueueMatches, rowsMax: number): number {
    return this.#discovery.walk(draft, matches, rowsMax, (queue) => this.#found(matches, queue));
  }

  /** Brings the lists up to date with what changed since the last call. */
  settleChanges(draft: Draft): void {
    this.#discovery.settleChanges(
      draft,
      (matches, queue) => this.#found(matches, queue),
      (matches, queue) => this.#lost(matches, queue),
    );
  }

  /** Lines join the queues that were found, while the turn has room. */
  join(draft: Draft): void {
    if (this.#joins.size === 0) return;
    const room = new WaitersRoom(draft);
    for (const join of this.#joins) {
      const queue = queueByNumber(draft.state, join.queue);
      if (queue !== undefined && this.#discovery.has(join.matches, join.queue)) {
        for (;;) {
          if (room.isFull) return;
          const one = join.lines.next();
          if (one.done === true) break;
          this.#joinLine(draft, one.value, queue, join.number);
        }
      }
      this.#joins.delete(join);
      if (join.matches.lastJoin === join.number) this.#ended(join.matches);
    }
  }

  #ended(matches: QueueMatches): void {
    matches.lastJoin = 0;
    for (const { consumerGroup, waiters } of matches.lines.values()) {
      if (waiters.size === 0) matches.lines.delete(consumerGroup);
    }
  }

  #found(matches: QueueMatches, { number }: QueueRow): void {
    if (matches.lines.size === 0) return;
    matches.lastJoin = ++this.#lastJoin;
    const join = {
      number: matches.lastJoin,
      matches,
      queue: number,
      lines: matches.lines.values(),
    };
    this.#joins.add(join);
  }

  #lost(matches: QueueMatches, queue: number): void {
    for (const group of this.#memory.groupsOf(queue)?.values() ?? []) {
      const line = group.lines.find((one) => one.matches === matches);
      if (line !== undefined) this.#waiters.exit(line, group);
    }
  }

  /** Unless its group may not begin to read the queue: its next pop is told why. */
  #joinLine(draft: Draft, line: LabelLine, queue: QueueRow, join: number): void {
    const { matches, consumerGroup, command, waiters, lastJoin } = line;
    draft.spend(PRICES.matchedQueue);
    const isWaited = waiters.size > 0;
    if (!isWaited && join >= lastJoin) matches.lines.delete(consumerGroup);
    if (!isWaited && join > lastJoin) return;
    const closed = this.#names?.judgeGroup(draft.state, queue, consumerGroup) ?? null;
    if (closed !== null) return;
    const group = register(draft, this.#memory, queue, command);
    if (isWaited) this.#waiters.enter(line, group);
  }
}
