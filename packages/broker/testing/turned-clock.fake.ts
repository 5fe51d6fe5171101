/** A clock that stands still. Work that is to run soon waits for a test; timers never end. */
import type { Cancel, Clock } from '../system/clock.js';

export class TurnedClock implements Clock {
  works: (() => void)[] = [];
  readonly wallUs = () => 1_000_000;
  readonly nowMs = () => 1000;
  readonly after = () => () => {};
  readonly every = () => () => {};

  soon(work: () => void): Cancel {
    this.works.push(work);
    return () => {
      this.works = this.works.filter((other) => other !== work);
    };
  }

  /** Runs what waits now, and not what this asks for. */
  turn(): void {
    for (const work of this.works.splice(0)) work();
  }
}
