/**
 * The figures that are kept while entries are applied: sums of queues, counts of dead letters, and
 * what the dashboard is told.
 *
 * What must hold: a figure changes nothing. Apply runs on every node alike, and an error in the
 * middle of an entry ends the node, because an entry that is applied in part would make the nodes
 * differ. Figures run in the same place, with code and memory that differ from node to node (who
 * was asked for what), so an error of theirs must neither end the node nor leave the entry half
 * applied. This is the one place where apply calls them, and whatever they throw stays here: what
 * they remember is dropped, since it may be wrong now, and is read from the rows when somebody asks
 * again. One event of the dashboard is lost.
 */

import type { State } from '../base/state.js';
import type { AppliedEvents } from './applied-events.js';
import { tellEvent } from './applied-events.js';
import type { DeadLetterGauges } from './dead-letters/gauges.js';
import type { AppendEffect, Effect, RelocateEffect } from './effects.js';
import type { FiguresObserver } from './queue-figures.js';

export type FigureEffect = Exclude<Effect, AppendEffect | RelocateEffect>;

export interface AppliedFiguresOptions {
  readonly figures?: FiguresObserver | undefined;
  readonly deadLetters?: Pick<DeadLetterGauges, 'changed' | 'forget'> | undefined;
  readonly events?: AppliedEvents | undefined;
  /** A figure threw; what is remembered is dropped. */
  readonly onFailure: (error: unknown) => void;
}

export class AppliedFigures {
  readonly #options: AppliedFiguresOptions;

  constructor(options: AppliedFiguresOptions) {
    this.#options = options;
  }

  /** The effect is about to be applied. */
  effect(state: State, effect: FigureEffect, stampUs: number): void {
    try {
      this.#tell(state, effect, stampUs);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Messages were appended. */
  appended(partition: number): void {
    try {
      this.#options.figures?.appended(partition);
    } catch (error) {
      this.#failed(error);
    }
  }

  #tell(state: State, effect: FigureEffect, stampUs: number): void {
    const { figures, deadLetters, events } = this.#options;
    figures?.effect(effect);
    if (events !== undefined) tellEvent(state, effect, stampUs, events);
    // The count is read when somebody asks, so it does not matter that it changes only now.
    if (effect.kind === 'dead-letter') deadLetters?.changed(effect.row.queue);
    else if (effect.kind === 'drop-dead-letters' || effect.kind === 'delete-queue') {
      deadLetters?.changed(effect.queue);
    }
  }

  #failed(error: unknown): void {
    this.#options.figures?.forget();
    this.#options.deadLetters?.forget();
    this.#options.onFailure(error);
  }
}
