/**
 * What a turn takes of the commands that fill the log: pushes, transactions and cycles that push,
 * key/value calls that write, timers, replays. They are placed one after another, and written
 * together at the end, one append for each partition.
 *
 * Bounds of a turn: bytes of the entry (`turnBytesMax`), where what is placed counts like what is
 * written, and units of work (`work-prices.ts`). The first command of each kind of line goes
 * whatever it takes, or it would never go. Small commands have a quarter of both to themselves:
 * timers with long payloads that are due, or dead letters, may fill one turn after another.
 */

import type { Outcome } from '../base/commands/commands.js';
import { kvTurnBytes } from '../base/commands/growing-bytes.js';
import type { FillCommand } from '../base/commands/lines.js';
import type { State } from '../base/state.js';
import { kvPrice, PRICES, TURN_UNITS, timersPrice } from '../base/work-prices.js';
import type { Delivery, Ticket } from '../delivery/delivery.js';
import type { PlacedTransaction } from '../delivery/transaction-plan.js';
import type { Draft, Surroundings } from '../draft/draft.js';
import { type NameGuard, refusedBy } from '../draft/name-bounds.js';
import { encryptingBytes } from '../draft/payload-cipher.js';
import { type PlacedKv, planKv } from '../features/kv/plan.js';
import type { Timers } from '../features/timers/timers.js';
import { type PlacedPush, PushPlan, type RefusedPush } from '../push/push.js';
import { type PlacedReplay, planReplay, replayBytes } from '../push/replay.js';
import { type PlacedCycle, planCycle } from '../streams/cycle.js';
import type { RequestMemory } from './request-memory.js';
import { readAhead, type Waiting } from './turn-lines.js';

type PlacedFill =
  | PlacedPush
  | RefusedPush
  | PlacedTransaction
  | PlacedReplay
  | PlacedCycle
  | PlacedKv
  | { outcome(): Outcome };

export interface FillSite {
  readonly state: State;
  readonly surroundings: Surroundings;
  readonly limits: { readonly turnBytesMax: number; readonly entryBytesMax: number };
  readonly delivery: Delivery;
  readonly timers: Timers;
  readonly names: NameGuard | null;
}

/** What small commands that fill may always spend, however much those that drain have spent. */
const SHARE_UNITS = TURN_UNITS / 4;
const SHARE_OF_BYTES = 1 / 4;

/** How many of the oldest in line fit into so many bytes, at least one, and their bytes. */
export function countFills(
  site: FillSite,
  line: readonly Waiting<FillCommand>[],
  bytesMax: number,
): { readonly count: number; readonly bytes: number } {
  let bytes = 0;
  let taken = 0;
  let count = 0;
  for (const waiting of line) {
    const { command } = waiting;
    const length = shareOf(site, waiting);
    const share = length + sealedShareOf(site, command);
    if (count > 0 && taken + share > bytesMax) break;
    taken += share;
    bytes += length;
    count++;
  }
  return { count, bytes };
}

/** The fills of one turn. */
export class FillTurn {
  readonly #site: FillSite;
  readonly #draft: Draft;
  readonly #requests: RequestMemory | null;
  readonly #plan: PushPlan;
  readonly #isFull: boolean;
  readonly #smallUnitsMax: number;
  readonly #smallBytesMax: number;
  /** Bytes that the placed commands may still add to the entry. */
  #bytes = 0;
  readonly #placed: { readonly ticket: Ticket; readonly verdict: PlacedFill }[] = [];

  constructor(site: FillSite, draft: Draft, requests: RequestMemory | null) {
    const { limits, delivery, timers, names } = site;
    this.#site = site;
    this.#draft = draft;
    this.#requests = requests;
    this.#plan = new PushPlan(draft, { ...limits, names }, delivery);
    this.#isFull = this.#length >= limits.turnBytesMax;
    if (!this.#isFull) this.#bytes = timers.fire(draft, this.#plan, delivery);
    this.#smallUnitsMax = Math.max(TURN_UNITS, this.#work + SHARE_UNITS);
    const { turnBytesMax } = limits;
    const spent = this.#length + this.#bytes;
    this.#smallBytesMax = Math.max(turnBytesMax, spent + turnBytesMax * SHARE_OF_BYTES);
  }

  /** Units of work of the whole turn so far. */
  get #work(): number {
    return this.#draft.work + this.#plan.units;
  }

  /** Bytes of the entry so far, including the outcome records made in this turn. */
  get #length(): number {
    return this.#draft.length + (this.#requests?.freshBytes ?? 0);
  }

  /** Takes from the front of the line what there is room for. */
  takeSmall(line: Waiting<FillCommand>[]): void {
    const bytesMax = this.#smallBytesMax;
    const left = bytesMax - this.#length - this.#bytes;
    if (left <= 0 || line.length === 0) return;
    // The first goes whatever it takes, and mostly it is the only one.
    const count = line.length === 1 ? 1 : countFills(this.#site, line, left).count;
    this.#take(line, count, this.#smallUnitsMax, bytesMax);
  }

  /** As before; the first goes although the small ones have left no room. */
  takeWide(line: Waiting<FillCommand>[], arrival: () => number): void {
    const [first] = line;
    if (this.#isFull || first === undefined) return;
    const later = readAhead(first, this.#draft, arrival);
    if (later !== null) {
      line[0] = later;
      return;
    }
    const { turnBytesMax } = this.#site.limits;
    const left = turnBytesMax - this.#length - this.#bytes;
    this.#take(line, countFills(this.#site, line, left).count, TURN_UNITS, turnBytesMax);
  }

  #take(line: Waiting<FillCommand>[], count: number, unitsMax: number, bytesMax: number): void {
    let taken = 0;
    for (const waiting of line) {
      const { ticket, units } = waiting;
      if (taken === count || (taken > 0 && this.#isOver(units, unitsMax, bytesMax))) break;
      taken++;
      if (this.#requests === null || this.#requests.isWanted(ticket)) this.#add(waiting);
    }
    line.splice(0, taken);
  }

  /** What a record holds, and what names are new, is only known once it is planned. */
  #isOver(units: number, unitsMax: number, bytesMax: number): boolean {
    if (this.#length + this.#bytes >= bytesMax) return true;
    return this.#work + units > unitsMax;
  }

  #add(waiting: Waiting<FillCommand>): void {
    const { command, ticket } = waiting;
    const draft = this.#draft;
    const before = draft.length;
    const verdict = this.#place(command);
    draft.spend(PRICES.command);
    this.#site.surroundings.planned?.(command.kind);
    this.#placed.push({ ticket, verdict });
    const written = draft.length - before;
    this.#bytes += this.#unwrittenBytes(waiting, verdict, written);
    // The outcomes of the other commands show what they changed: they need no record here.
    if (command.kind !== 'kv' && command.kind !== 'timers') return;
    if (written > 0) this.#requests?.record(ticket, verdict.outcome());
  }

  #place(command: FillCommand): PlacedFill {
    const { delivery, timers, limits, names } = this.#site;
    const draft = this.#draft;
    switch (command.kind) {
      case 'push':
        return this.#plan.push(command);
      case 'transaction':
        return delivery.transact(draft, command, this.#plan, timers);
      case 'replay':
        return planReplay(draft, command, this.#plan);
      case 'stream-cycle': {
        const { memory } = delivery;
        return planCycle(draft, { memory, ...limits }, command, this.#plan);
      }
      case 'kv':
        draft.spend(kvPrice(command));
        return planKv(draft, command, limits.entryBytesMax);
      case 'timers': {
        draft.spend(timersPrice(command));
        const closed = refusedBy(names?.judgeTimers(draft.state, command) ?? null);
        if (closed !== null) return { outcome: () => closed };
        const outcome = timers.plan(draft, command);
        return { outcome: () => outcome };
      }
    }
  }

  /** Bytes that a placed command may still add to the entry when the pushes are written. */
  #unwrittenBytes(waiting: Waiting<FillCommand>, verdict: PlacedFill, written: number): number {
    const { command } = waiting;
    if (command.kind === 'kv' || command.kind === 'timers') return 0;
    if (command.kind === 'transaction') {
      return Math.max(0, (verdict as PlacedTransaction).bytes - written);
    }
    return shareOf(this.#site, waiting) + sealedShareOf(this.#site, command);
  }

  /** Writes the pushes, and answers all that was taken. */
  finish(answer: (ticket: Ticket, outcome: Outcome) => void): void {
    this.#plan.finish();
    this.#draft.spend(this.#plan.units);
    for (const { ticket, verdict } of this.#placed) answer(ticket, verdict.outcome());
  }
}

/** Bytes that a command may add to its entry, as they were sent. */
function shareOf({ state }: FillSite, { command, bytes }: Waiting<FillCommand>): number {
  if (command.kind === 'replay') return replayBytes(state, command);
  return command.kind === 'kv' ? kvTurnBytes(command) : bytes;
}

/** What encryption adds. */
function sealedShareOf({ surroundings, state }: FillSite, command: FillCommand): number {
  if (surroundings.cipher === null) return 0;
  if (command.kind === 'replay' || command.kind === 'kv' || command.kind === 'timers') return 0;
  const push = command.kind === 'push' ? command : command.pushes;
  return encryptingBytes(surroundings, state, push);
}
