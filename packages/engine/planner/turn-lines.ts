/**
 * The lines in which commands wait for a turn, and when wide commands are let in.
 *
 * The job: many clients share the leader's loop. One that sends costly calls, or ten of them, must
 * not slow the others beyond a bound, and must not wait for ever either.
 *
 * What must hold:
 * - A line is two: small commands, and wide ones, by their price and by the bytes that they add to
 *   the log (`work-prices.ts`). A turn takes
 *   the small ones first, in their order, until its units are spent; then wide ones, in their
 *   order, one at least. So a small command waits for one wide command at most in each turn, and
 *   wide commands go on however many small ones come.
 * - What drains and what fills take turns with their wide commands, by order of arrival. The next
 *   slice of a call arrives when the one before it is answered, so calls go round.
 * - Entries with wide commands that are in flight have WIDE_BYTES_IN_FLIGHT and one turn more: what
 *   is planned behind them waits until the disk and the followers have taken all of that.
 * - A heavy turn, which one wide command alone has made longer than two turns (a transaction cannot
 *   be cut), is followed by a rest: no wide command is planned until its entry is applied, and
 *   until the small commands that arrived meanwhile are planned and applied. So two heavy turns
 *   never follow each other before those who waited for the first have their answers.
 *
 * Rejected: a budget of time. It would make what a turn plans depend on the machine, and a
 * simulation could not be repeated.
 */
import type { Command, Ticket } from '../base/commands/commands.js';
import {
  SLICE_UNITS,
  SMALL_BYTES,
  SMALL_UNITS,
  TURN_UNITS,
  WIDE_BYTES_IN_FLIGHT,
} from '../base/work-prices.js';
import { TransactionAhead } from '../delivery/transaction-ahead.js';
import type { Draft } from '../draft/draft.js';
import { growingBytes, priceOf } from './command-facts.js';
import type { Led } from './led-features.js';

export interface Waiting {
  readonly command: Command;
  readonly ticket: Ticket;
  /** null: a command of the hot path. */
  readonly led: Led | null;
  /** What it costs, as far as could be seen when it came. */
  readonly units: number;
  /** What it adds to the log, as `growingBytes` counts it. */
  readonly bytes: number;
  readonly arrival: number;
  /** Reads the rows of a transaction that is wider than a slice; absent until it has begun. */
  readonly ahead?: TransactionAhead;
}

export class TurnLine {
  small: Waiting[] = [];
  wide: Waiting[] = [];

  /** `beside`: what the command costs beside its price. */
  add(command: Command, ticket: Ticket, led: Led | null, arrival: number, beside = 0): void {
    const form = led?.form ?? null;
    const units = priceOf(command, form) + beside;
    const bytes = growingBytes(command, form);
    const isSmall = units <= SMALL_UNITS && bytes <= SMALL_BYTES;
    const line = isSmall ? this.small : this.wide;
    line.push({ command, ticket, led, units, bytes, arrival });
  }

  get length(): number {
    return this.small.length + this.wide.length;
  }
}

/**
 * What waits in the place of a transaction until all of its rows are read; null: it can be planned.
 * What fills and what drains take turns meanwhile.
 */
export function readAhead(waiting: Waiting, draft: Draft, arrival: () => number): Waiting | null {
  const { command, units, ahead } = waiting;
  if (units <= SLICE_UNITS || command.kind !== 'transaction') return null;
  if (command.positions.length === 0) return null;
  const reading = ahead ?? new TransactionAhead(command);
  return reading.step(draft) ? null : { ...waiting, arrival: arrival(), ahead: reading };
}

/** Its turn came before that of `other`; false when there is none. */
export function isOlder(line: readonly Waiting[], other: readonly Waiting[]): boolean {
  const [first] = line;
  const [second] = other;
  return first !== undefined && (second === undefined || first.arrival < second.arrival);
}

/** A turn of more units than this is heavy: as many as small and wide commands have at most. */
const HEAVY_UNITS = 2 * TURN_UNITS;

/** Lets wide commands rest after a heavy turn, and while much of them is in flight. */
export class WidePace {
  /** Entries with wide commands that are in flight, oldest first, and their bytes. */
  readonly #inFlight: { readonly index: number; readonly bytes: number }[] = [];
  #bytes = 0;
  #planned = 0;
  #applied = 0;
  /** Wide commands wait until the entry at this index is applied. */
  #until = 0;
  /** The entry of a heavy turn, until it is applied; 0: there is none. */
  #heavy = 0;
  /** Small commands that wait now go before the next wide one. */
  #yields = false;

  /** A turn has something to do for wide commands, or will after the small ones. */
  get open(): boolean {
    return this.#applied >= this.#until && this.#bytes < WIDE_BYTES_IN_FLIGHT;
  }

  /** At the beginning of a turn: whether it may take wide commands. */
  begin(hasSmall: boolean): boolean {
    if (!this.open) return false;
    if (this.#yields && hasSmall) {
      this.#yields = false;
      this.#until = Number.POSITIVE_INFINITY;
      return false;
    }
    this.#yields = false;
    return true;
  }

  /** At its end. `index` is 0 when it changes nothing; `bytes` of the entry if it may be wide. */
  end(index: number, units: number, bytes: number): void {
    if (index > 0) this.#planned = index;
    if (bytes > 0) this.#inFlight.push({ index, bytes });
    this.#bytes += bytes;
    if (units > HEAVY_UNITS) {
      this.#yields = true;
      this.#heavy = index;
      this.#until = index;
    } else if (this.#until === Number.POSITIVE_INFINITY) this.#until = index;
  }

  applied(index: number): void {
    this.#applied = index;
    for (let first = this.#inFlight[0]; first !== undefined && first.index <= index; ) {
      this.#bytes -= first.bytes;
      this.#inFlight.shift();
      first = this.#inFlight[0];
    }
    if (this.#heavy === 0 || index < this.#heavy) return;
    this.#heavy = 0;
    // Those that were planned while it was under way get their answers first.
    this.#until = this.#planned;
  }
}
