/**
 * Passwords as bcrypt hashes. A hash takes some 50 ms of a processor, on purpose: two at a time run
 * in the thread pool, and what waits is bounded.
 *
 * A login of somebody unknown, or of a user without a password, costs a hash as any other: the time
 * of an answer says nothing about who has an account.
 */
import bcrypt from '@node-rs/bcrypt';
import type { GivenPassword } from '../records/bootstrap.js';
import { Turns } from '../records/turns.js';

const COST = 10;
const RUNNING_MAX = 2;
/** Some two seconds of work. */
const WAITING_MAX = 64;
/** Longer ones are no passwords of anybody, and are not worth their copy. */
const LENGTH_MAX = 1_024;

/** A hash at the usual cost, of a text that was thrown away. */
const NOBODY = '$2b$10$Y65gATe7/UMxmG4eKx0hVuzh70j8EdFWaG9GIowqe/FIEMzWs6oQ2';

export class Passwords {
  readonly #turns: Turns;

  constructor(runningMax = RUNNING_MAX, waitingMax = WAITING_MAX) {
    this.#turns = new Turns(runningMax, waitingMax);
  }

  /** Rejects with `OverloadedError` when too many wait. */
  hash(password: string): Promise<string> {
    return this.#turns.run(() => bcrypt.hash(password, { cost: COST }));
  }

  /** A password that was sent, for a change that finds out whether it is needed. */
  given(password: string): GivenPassword {
    let hashed: Promise<string> | null = null;
    return {
      // The change may run again.
      hash: () => {
        hashed ??= this.hash(password);
        return hashed;
      },
      isOf: (hash) => this.verify(password, hash),
    };
  }

  /** `hash`: of the user; undefined where there is none. Rejects as `hash` does. */
  verify(password: string, hash: string | undefined): Promise<boolean> {
    if (password.length > LENGTH_MAX) return this.verify('', undefined);
    return this.#turns.run(async () => {
      const isRight = await bcrypt.verify(password, hash ?? NOBODY);
      return isRight && hash !== undefined;
    });
  }
}
