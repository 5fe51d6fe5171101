/**
 * A group of a queue: where it can take messages, and which of its pops wait, in the order they
 * came.
 *
 * What must hold: `ready` are its cursors with something to take, and `available` the sum of what
 * those have; `recount` after every change of a cursor keeps both.
 */
import type { GroupCursor } from './group-cursor.js';
import type { WaitingPop } from './waiting-pop.js';

export class QueueGroup {
  readonly name: string;
  /** It reads the whole queue: it has a cursor in every ring, also in those to come. */
  isWhole = false;
  /** Longest ready first: a pop of the whole queue takes from it and puts it last. */
  readonly ready = new Set<GroupCursor>();
  available = 0;
  /** Cursors that it has. */
  cursors = 0;
  /** Pops of the whole queue that wait, and those of one partition. */
  readonly #whole = new Set<WaitingPop>();
  readonly #pinned = new Map<string, Set<WaitingPop>>();

  constructor(name: string) {
    this.name = name;
  }

  recount(cursor: GroupCursor): void {
    const { waiting } = cursor;
    this.available += waiting - cursor.counted;
    cursor.counted = waiting;
    if (waiting > 0) this.ready.add(cursor);
    else this.ready.delete(cursor);
  }

  /** The cursor goes with its ring. */
  forget(cursor: GroupCursor): void {
    this.available -= cursor.counted;
    cursor.counted = 0;
    this.ready.delete(cursor);
    this.cursors--;
  }

  /** It waits no more for its turn among the ready ones. */
  putLast(cursor: GroupCursor): void {
    if (this.ready.delete(cursor)) this.ready.add(cursor);
  }

  // --- pops that wait --------------------------------------------------------------------------

  park(pop: WaitingPop): void {
    const { partition } = pop;
    if (partition === null) {
      this.#whole.add(pop);
      return;
    }
    const pinned = this.#pinned.get(partition);
    if (pinned === undefined) this.#pinned.set(partition, new Set([pop]));
    else pinned.add(pop);
  }

  unpark(pop: WaitingPop): void {
    const { partition } = pop;
    if (partition === null) {
      this.#whole.delete(pop);
      return;
    }
    const pinned = this.#pinned.get(partition);
    pinned?.delete(pop);
    if (pinned?.size === 0) this.#pinned.delete(partition);
  }

  /** The longest waiting pop that messages of this partition can serve. */
  longestWaiting(partition: string): WaitingPop | null {
    const whole = first(this.#whole);
    const pinned = first(this.#pinned.get(partition));
    if (whole === null || pinned === null) return whole ?? pinned;
    return whole.number < pinned.number ? whole : pinned;
  }

  get waitsForWhole(): WaitingPop | null {
    return first(this.#whole);
  }

  get hasWaiting(): boolean {
    return this.#whole.size + this.#pinned.size > 0;
  }

  /** Cursors with something to take that pops wait for by name. */
  readyAndPinned(): GroupCursor[] {
    return [...this.ready].filter(({ ring }) => this.#pinned.has(ring.partition));
  }

  /** Waiting pops of one partition; null: all pops, pinned or not. */
  waiting(partition: string | null): WaitingPop[] {
    if (partition !== null) return [...(this.#pinned.get(partition) ?? [])];
    const pinned = [...this.#pinned.values()].flatMap((pops) => [...pops]);
    return [...this.#whole, ...pinned];
  }
}

function first(pops: ReadonlySet<WaitingPop> | undefined): WaitingPop | null {
  if (pops !== undefined) for (const pop of pops) return pop;
  return null;
}
