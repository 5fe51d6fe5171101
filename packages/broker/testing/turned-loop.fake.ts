/** A share of a loop that is had when a test says so: each call of `turn` makes a step of each. */
import type { Step } from '@svc/http';

export class TurnedLoop {
  #steps: Step[] = [];

  get waiting(): number {
    return this.#steps.length;
  }

  run(step: Step): void {
    this.#steps.push(step);
  }

  turn(): void {
    for (const step of this.#steps.splice(0)) if (!step(0)) this.#steps.push(step);
  }
}
