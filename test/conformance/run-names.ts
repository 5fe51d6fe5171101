/**
 * What a run calls its own: a random number in the names of its queues and in the ids of its
 * tenants, by which whatever it made is known, and nothing else is.
 */
import { randomInt } from 'node:crypto';

/** Rows of a run that can be told apart. */
const ROWS_MAX = 10_000;

export class RunNames {
  /** The first eight digits of its tenants' UUIDs. */
  readonly tenants = `c0ffe${randomInt(0x1000).toString(16).padStart(3, '0')}`;
  /** Eight digits, with which the twelve of each row's number begin. */
  readonly #run = randomInt(10_000_000, 100_000_000);

  numberOf(row: number): number {
    return this.#run * ROWS_MAX + row;
  }
}
