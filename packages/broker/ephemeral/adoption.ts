/**
 * Rings that come from other nodes. Parts of a ring are kept until its last one is there, and then
 * all of it stands in front of what the ring here holds, at once.
 *
 * What must hold: a ring is taken once, however often its parts come: what was taken is remembered
 * for longer than its sender tries. Parts that wait for others count as memory, and go when the
 * rest does not come.
 */
import { copyMessages, type StoredMessage } from '@svc/ephemeral';
import type { Clock } from '../system/clock.js';
import type { AskedAdopt } from './frames.js';
import type { LocalRings } from './local.js';
import type { EphemeralPlacement } from './placement.js';
import type { RingPart } from './ring-parts.js';

export interface AdoptionOptions {
  readonly clock: Clock;
  readonly placement: EphemeralPlacement;
  readonly rings: LocalRings;
  /** Bytes of payloads in the memory of this node. */
  readonly bytesMax: number;
}

interface Staged {
  next: number;
  bytes: number;
  readonly messages: StoredMessage[];
  untilMs: number;
}

/** A sender tries for 30 s, and each of its attempts takes 10 s at most. */
const REMEMBERED_MS = 60_000;
/** Rings that a minute can bring: 20 MB of keys. */
const REMEMBERED_MAX = 200_000;

export class EphemeralAdoption {
  readonly #options: AdoptionOptions;
  readonly #staged = new Map<string, Staged>();
  #stagedBytes = 0;
  /** What was taken, until when that is remembered; oldest first. */
  readonly #taken = new Map<string, number>();

  constructor(options: AdoptionOptions) {
    this.#options = options;
  }

  /** The incarnations that were not taken: they have to come again from the first part on. */
  adopt(from: number, { epoch, parts }: AskedAdopt): number[] {
    this.#forget();
    const refused = new Set<number>();
    for (const part of parts) {
      const key = `${from} ${epoch} ${part.incarnation}`;
      if (refused.has(part.incarnation) || this.#taken.has(key)) continue;
      if (this.#take(key, part)) continue;
      this.#drop(key);
      refused.add(part.incarnation);
    }
    return [...refused];
  }

  #take(key: string, part: RingPart): boolean {
    const { clock, placement, rings, bytesMax } = this.#options;
    const { place, incarnation, groups } = part;
    if (!placement.owns(place)) return false;
    if (part.number === 0) this.#drop(key);
    const staged = this.#staged.get(key) ?? { next: 0, bytes: 0, messages: [], untilMs: 0 };
    if (part.number < staged.next) return true;
    if (part.number > staged.next) return false;
    const copies = copyMessages(part.messages);
    const bytes = copies.reduce((sum, { start, end }) => sum + end - start, 0);
    if (rings.bytes + this.#stagedBytes + bytes > bytesMax) return false;
    for (const copy of copies) staged.messages.push(copy);
    staged.next++;
    if (groups === null) {
      staged.bytes += bytes;
      staged.untilMs = clock.nowMs() + REMEMBERED_MS;
      this.#stagedBytes += bytes;
      this.#staged.set(key, staged);
      return true;
    }
    this.#drop(key);
    const { messages } = staged;
    if (groups.some(({ next }) => next > messages.length)) return false;
    if (!rings.adopt({ ...place, incarnation, messages, groups })) return false;
    this.#taken.set(key, clock.nowMs() + REMEMBERED_MS);
    return true;
  }

  #drop(key: string): void {
    const staged = this.#staged.get(key);
    if (staged === undefined) return;
    this.#stagedBytes -= staged.bytes;
    this.#staged.delete(key);
  }

  #forget(): void {
    const nowMs = this.#options.clock.nowMs();
    for (const [key, { untilMs }] of this.#staged) if (untilMs <= nowMs) this.#drop(key);
    for (const [key, untilMs] of this.#taken) {
      if (untilMs > nowMs && this.#taken.size <= REMEMBERED_MAX) break;
      this.#taken.delete(key);
    }
  }
}
