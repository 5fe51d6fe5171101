/**
 * The queues whose messages are checked. In most runs it is one, for ever. Where the log shall be
 * given up all the time they follow each other: producers move on to the next, and the last one is
 * deleted when all of it was consumed, and read once more for the checkers.
 */
const NAME = 'sim.q';

export type Use = 'push' | 'take';

export class ClientQueues {
  #number = 1;
  /** The oldest first; producers write to the last. */
  #live: string[] = [`${NAME}1`];
  /** Requests under way. */
  readonly #open = new Map<string, { push: number; take: number }>();

  /** Producers write to it. */
  get newest(): string {
    return this.#live[this.#live.length - 1] as string;
  }

  /** Consumers take from these. */
  get live(): readonly string[] {
    return this.#live;
  }

  /** The oldest that producers have left, and all of whose pushes have ended; null: none is. */
  get left(): string | null {
    const older = this.#live.slice(0, -1);
    return older.find((queue) => this.isIdle(queue, 'push')) ?? null;
  }

  moveOn(): void {
    this.#number++;
    this.#live.push(`${NAME}${this.#number}`);
  }

  /** Consumers stop asking for it. */
  leave(queue: string): void {
    this.#live = this.#live.filter((each) => each !== queue);
  }

  /** They ask for it again. */
  comeBack(queue: string): void {
    this.#live.unshift(queue);
  }

  /** Something was sent to it. */
  isUsed(queue: string): boolean {
    return this.#open.has(queue);
  }

  /** No request of this use is under way. */
  isIdle(queue: string, use: Use): boolean {
    return (this.#open.get(queue)?.[use] ?? 0) === 0;
  }

  begin(queue: string, use: Use): void {
    const counts = this.#open.get(queue) ?? { push: 0, take: 0 };
    counts[use]++;
    this.#open.set(queue, counts);
  }

  end(queue: string, use: Use): void {
    const counts = this.#open.get(queue);
    if (counts !== undefined) counts[use]--;
  }
}
