/**
 * A call that is cut into commands, which are submitted one after another.
 *
 * What must hold:
 * - One of its commands is under way at a time, so that calls share the leader's turns however
 *   large each of them is (`turn-lines.ts`).
 * - Each command is a request of its own: it has its own id, deadline, admission and outcome, is
 *   held and sent again like any other, and meets a change of leader by itself.
 * - A command that is refused ends the call with that refusal, although commands before it have
 *   taken effect: a push or a batch of acknowledgements promises nothing across its parts.
 * - A client that has gone gets nothing more done: what would come next is not submitted. It cannot
 *   tell how far its call came, as it could not before. A node that stops goes on until it refuses.
 * - Commands may be answered at once, in the call that submits them: nothing recurses.
 * - What a call needs before its first command is done in parts, in turns of the loop.
 */
import type { Outcome } from '@svc/engine';

/** The commands of one call, and the outcome of the whole call. */
export interface CallSlices<C, O> {
  /** Does a part of what has to be done before `next`. True: all of it is done. */
  prepare(): boolean;
  /** The next command; null at the end. Called once the last command has its outcome. */
  next(): C | null;
  /** The outcome of the last command. */
  add(outcome: O): void;
  /** The outcome of the whole call, from all outcomes that were added. */
  outcome(): O;
}

export interface SlicedCallOptions<C, O extends Outcome> {
  readonly slices: CallSlices<C, O>;
  readonly kind: O['kind'];
  readonly submit: (command: C, onOutcome: (outcome: Outcome) => void) => void;
  /** Runs what it is given in a later turn of the loop. */
  readonly soon: (work: () => void) => unknown;
  /** True once the caller no longer waits for the answer. */
  readonly isGone: () => boolean;
  /**
   * `outcome` is what was done, null: nothing. `refusal` is null when that is everything, or when
   * nobody waits.
   */
  readonly done: (outcome: O | null, refusal: Outcome | null) => void;
}

export function runSlices<C, O extends Outcome>(options: SlicedCallOptions<C, O>): void {
  const { slices, kind, submit, soon, isGone, done } = options;
  let isLooping = false;
  let isAnswered = false;
  let hasBegun = false;
  const onOutcome = (outcome: Outcome) => {
    if (outcome.kind !== kind) {
      done(hasBegun ? slices.outcome() : null, outcome);
      return;
    }
    hasBegun = true;
    slices.add(outcome as O);
    isAnswered = true;
    if (!isLooping) goOn();
  };
  const goOn = () => {
    isLooping = true;
    isAnswered = true;
    while (isAnswered) {
      isAnswered = false;
      const command = isGone() ? null : slices.next();
      if (command === null) done(slices.outcome(), null);
      else submit(command, onOutcome);
    }
    isLooping = false;
  };
  const prepare = () => {
    if (isGone() || slices.prepare()) goOn();
    else soon(prepare);
  };
  prepare();
}
