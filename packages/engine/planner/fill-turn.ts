/**
 * What a turn takes of the commands that fill the log: pushes, transactions that push, and the
 * commands whose descriptor says so. They are placed one after another, and what they push is
 * written together at the end, one append for each partition.
 *
 * Bounds of a turn: bytes of the entry (`turnBytesMax`), where what is placed counts like what is
 * written, and units of work (`work-prices.ts`). The first command of each kind of line goes
 * whatever it takes, or it would never go. Small commands have a quarter of both to themselves:
 * timers with long payloads that are due, or dead letters, may fill one turn after another.
 */

import type { Command, Ticket } from '../base/commands/commands.js';
import { PRICES, TURN_UNITS } from '../base/work-prices.js';
import type { Draft } from '../draft/draft.js';
import { encryptingBytes } from '../draft/payload-cipher.js';
import type { TurnRoom } from '../features/job.js';
import type { Placed, Site } from './feature.js';
import type { LedFeatures } from './led-features.js';
import type { RequestMemory } from './request-memory.js';
import { readAhead, type Waiting } from './turn-lines.js';

/** What small commands that fill may always spend, however much those that drain have spent. */
const SHARE_UNITS = TURN_UNITS / 4;
const SHARE_OF_BYTES = 1 / 4;

/** How many of the oldest in line fit into so many bytes, at least one, and their bytes. */
export function countFills(
  site: Site,
  line: readonly Waiting[],
  bytesMax: number,
): { readonly count: number; readonly bytes: number } {
  let bytes = 0;
  let taken = 0;
  let count = 0;
  for (const waiting of line) {
    const length = bytesOf(site, waiting);
    const share = length + encryptionBytes(site, waiting.command);
    if (count > 0 && taken + share > bytesMax) break;
    taken += share;
    bytes += length;
    count++;
  }
  return { count, bytes };
}

/** The fills of one turn. */
export class FillTurn {
  readonly #site: Site;
  readonly #draft: Draft;
  readonly #room: TurnRoom;
  readonly #requests: RequestMemory | null;
  readonly #isFull: boolean;
  readonly #smallUnitsMax: number;
  readonly #smallBytesMax: number;
  /** Bytes that the placed commands may still add to the entry. */
  #bytes = 0;
  readonly #placed: { readonly ticket: Ticket; readonly verdict: Placed }[] = [];

  constructor(features: LedFeatures, draft: Draft, room: TurnRoom, requests: RequestMemory | null) {
    this.#site = features.site;
    this.#draft = draft;
    this.#room = room;
    this.#requests = requests;
    const { turnBytesMax } = this.#site.limits;
    this.#isFull = this.#length >= turnBytesMax;
    if (!this.#isFull) for (const job of features.fills) job.turn(draft, room);
    this.#bytes = room.placedBytes;
    this.#smallUnitsMax = Math.max(TURN_UNITS, this.#work + SHARE_UNITS);
    const spent = this.#length + this.#bytes;
    this.#smallBytesMax = Math.max(turnBytesMax, spent + turnBytesMax * SHARE_OF_BYTES);
  }

  /** Units of work of the whole turn so far. */
  get #work(): number {
    return this.#draft.work + this.#room.pushes.units;
  }

  /** Bytes of the entry so far, including the outcome records made in this turn. */
  get #length(): number {
    return this.#draft.length + (this.#requests?.freshBytes ?? 0);
  }

  /** Takes from the front of the line what there is room for. */
  takeSmall(line: Waiting[]): void {
    const bytesMax = this.#smallBytesMax;
    const left = bytesMax - this.#length - this.#bytes;
    if (left <= 0 || line.length === 0) return;
    // The first goes whatever it takes, and mostly it is the only one.
    const count = line.length === 1 ? 1 : countFills(this.#site, line, left).count;
    this.#take(line, count, this.#smallUnitsMax, bytesMax);
  }

  /** As before; the first goes although the small ones have left no room. */
  takeWide(line: Waiting[], arrival: () => number): void {
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

  #take(line: Waiting[], count: number, unitsMax: number, bytesMax: number): void {
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

  #add(waiting: Waiting): void {
    const { command } = waiting;
    switch (command.kind) {
      case 'push':
        this.#place(waiting, this.#room.pushes.push(command));
        break;
      case 'transaction': {
        const { delivery, timers } = this.#site;
        const written = this.#draft.length;
        const verdict = delivery.transact(this.#draft, command, this.#room.pushes, timers);
        const unwritten = verdict.bytes - (this.#draft.length - written);
        this.#place(waiting, verdict, Math.max(0, unwritten));
        break;
      }
      default:
        this.#addFeature(waiting);
    }
    this.#site.surroundings.planned?.(command.kind);
  }

  /** `unwritten`: bytes that it may still add to the entry when the pushes are written. */
  #place(waiting: Waiting, verdict: Placed, unwritten = this.#bytesLater(waiting)): void {
    this.#draft.spend(PRICES.command);
    this.#placed.push({ ticket: waiting.ticket, verdict });
    this.#bytes += unwritten;
  }

  #bytesLater(waiting: Waiting): number {
    return bytesOf(this.#site, waiting) + encryptionBytes(this.#site, waiting.command);
  }

  #addFeature(waiting: Waiting): void {
    const { command, ticket, led, units } = waiting;
    if (led === null) return;
    const draft = this.#draft;
    const before = draft.length;
    const at = { draft, ticket, room: this.#room, site: this.#site };
    const planned = led.form.plan(at, command, led.memory);
    if (planned !== null && !('kind' in planned)) {
      this.#place(waiting, planned);
      return;
    }
    // All that it adds is written.
    draft.spend(units);
    if (planned === null) return;
    this.#placed.push({ ticket, verdict: { outcome: () => planned } });
    if (draft.length > before) this.#requests?.record(ticket, planned);
  }

  /** Writes the pushes, and answers all that was taken. */
  finish(): void {
    this.#room.pushes.finish();
    this.#draft.spend(this.#room.pushes.units);
    for (const { ticket, verdict } of this.#placed) this.#room.answer(ticket, verdict.outcome());
  }
}

/** Bytes that a command may add to its entry, as they were sent. */
function bytesOf({ state }: Site, { command, bytes, led }: Waiting): number {
  return led?.form.turnBytes?.(command, state) ?? bytes;
}

/** What encryption adds to them. */
function encryptionBytes({ surroundings, state }: Site, command: Command): number {
  if (surroundings.cipher === null) return 0;
  if (command.kind === 'push') return encryptingBytes(surroundings, state, command);
  return 'pushes' in command ? encryptingBytes(surroundings, state, command.pushes) : 0;
}
