/**
 * When what is known of a cluster became old. Everything that is cached says as of when it was
 * asked for (`now` at the moment at which the question left), and holds as long as nothing was
 * marked since. So an answer that was on its way while its cluster was marked is never kept,
 * whichever of the two comes first.
 */

/** More marks than this are forgotten together: everything becomes old at once. */
const MARKED_MAX = 65_536;

export class Epochs {
  #now = 0;
  #floor = 0;
  readonly #markedAt = new Map<string, number>();

  get now(): number {
    return this.#now;
  }

  /** Everything that was asked for until now about the owner is old. */
  mark(owner: string): void {
    if (this.#markedAt.size >= MARKED_MAX) this.markAll();
    this.#now++;
    this.#markedAt.set(owner, this.#now);
  }

  markAll(): void {
    this.#now++;
    this.#floor = this.#now;
    this.#markedAt.clear();
  }

  isCurrent(owner: string, asOf: number): boolean {
    return asOf >= this.#floor && asOf >= (this.#markedAt.get(owner) ?? 0);
  }
}
