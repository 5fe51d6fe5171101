/** Future events of a simulated world, earliest first. */
export interface Event {
  readonly atMs: number;
  readonly order: number;
  work: (() => void) | null;
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

/** Events by time, and in the order they were asked for; cancelled ones are passed over. */
export class EventHeap<Kind extends Event = Event> {
  readonly #events: Kind[] = [];

  add(event: Kind): void {
    const events = this.#events;
    let at = events.length;
    events.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = events[parent] as Kind;
      if (isBefore(above, event)) break;
      events[at] = above;
      at = parent;
    }
    events[at] = event;
  }

  first(): Kind | undefined {
    while (this.#events[0]?.work === null) this.shift();
    return this.#events[0];
  }

  shift(): void {
    const events = this.#events;
    const last = events.pop();
    if (last === undefined || events.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= events.length) break;
      const other = events[child + 1];
      if (other !== undefined && isBefore(other, events[child] as Kind)) child++;
      const below = events[child] as Kind;
      if (isBefore(last, below)) break;
      events[at] = below;
      at = child;
    }
    events[at] = last;
  }
}
