/**
 * A cell is one node together with its inbox: every message to it that was ever sent. Nothing is
 * taken out of an inbox by delivery, so a message may come late, twice, after others, or never:
 * that one rule stands for delay, repetition, reordering and loss.
 *
 * What a node can do next depends on its cell alone, so the moves of a cell are found once.
 */
import { addTo, type Halves, stirred } from './hashing.js';
import type { KnownMessage, LocalState, LocalStates, LocalStep } from './local-states.js';
import type { Input } from './machine.js';
import type { Variant } from './variants.js';

export interface Move {
  readonly step: LocalStep;
  readonly to: Cell;
  /** What it takes from the budgets, see `priceOf`. */
  readonly price: number;
}

export interface Cell {
  readonly number: number;
  readonly local: LocalState;
  /** Ascending numbers. */
  readonly inbox: readonly KnownMessage[];
  readonly halves: Halves;
}

/** Each kind of fault or use that is bounded for a whole run has three bits of one number. */
const BUDGET_BITS = 3;
const BUDGETS: readonly Input['type'][] = ['crash', 'heartbeat', 'propose', 'change', 'lose'];

export class Cells {
  readonly #locals: LocalStates;
  readonly #variant: Variant;
  readonly #byKey: Map<string, Cell> = new Map();
  readonly #moves: Map<Cell, readonly Move[]> = new Map();
  readonly #with: Map<number, Cell>[] = [];
  readonly all: Cell[] = [];

  constructor(locals: LocalStates, variant: Variant) {
    this.#locals = locals;
    this.#variant = variant;
  }

  /** A node without messages. */
  initial(id: number): Cell {
    return this.#cell(this.#locals.initial(id), []);
  }

  /** The same node with one more message in its inbox. */
  receiving(cell: Cell, message: KnownMessage): Cell {
    let others = this.#with[cell.number];
    if (others === undefined) {
      others = new Map();
      this.#with[cell.number] = others;
    }
    const known = others.get(message.number);
    if (known !== undefined) return known;
    const inbox = cell.inbox.includes(message) ? cell.inbox : [...cell.inbox, message];
    const found = this.#cell(cell.local, inbox);
    others.set(message.number, found);
    return found;
  }

  moves(cell: Cell): readonly Move[] {
    const known = this.#moves.get(cell);
    if (known !== undefined) return known;
    const moves = this.#findMoves(cell);
    this.#moves.set(cell, moves);
    return moves;
  }

  /** Whether a run that has spent `spent` can pay for a move. */
  affords(spent: number, price: number): boolean {
    if (price === 0) return true;
    const { bounds } = this.#variant;
    const { crashesMax, heartbeatsMax, proposalsMax, changesMax, lossesMax } = bounds;
    const most = [crashesMax, heartbeatsMax, proposalsMax, changesMax, lossesMax];
    const after = spent + price;
    return most.every((max, place) => (after >> (place * BUDGET_BITS)) % 8 <= max);
  }

  #findMoves({ local, inbox }: Cell): readonly Move[] {
    const deliveries = inbox.map((message) => this.#locals.delivered(local, message));
    return [...deliveries, ...this.#locals.others(local)]
      .filter((step) => !changesNothing(local, step))
      .map((step) => ({ step, to: this.#cell(step.to, inbox), price: priceOf(step.input) }));
  }

  #cell(local: LocalState, inbox: readonly KnownMessage[]): Cell {
    const left = inbox.filter((message) => !this.#isDead(local, message));
    left.sort((one, other) => one.number - other.number);
    const key = `${local.number}:${left.map(({ number }) => number).join()}`;
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const sum = local.halves.slice();
    for (const { halves } of left) addTo(sum, halves);
    const cell: Cell = { number: this.all.length, local, inbox: left, halves: stirred(sum) };
    this.all.push(cell);
    this.#byKey.set(key, cell);
    return cell;
  }

  /**
   * A message of a term that the receiver's plate has left behind, and that moves nothing now, can
   * never do anything again: not even a crash brings that term back.
   */
  #isDead(local: LocalState, known: KnownMessage): boolean {
    if (known.message.term >= local.view.plateTerm) return false;
    return changesNothing(local, this.#locals.delivered(local, known));
  }
}

function changesNothing(local: LocalState, { to, said }: LocalStep): boolean {
  return to === local && said.length === 0;
}

function priceOf(input: Input): number {
  const place = BUDGETS.indexOf(input.type);
  return place < 0 ? 0 : 1 << (place * BUDGET_BITS);
}
