/**
 * Hands rings over that belong to another node now.
 *
 * The job: what was pushed here and is not settled arrives where it will be read, while both nodes
 * live, and arrives once.
 *
 * Why it is hard: while a ring travels its owner may change again, an answer may be lost, and the
 * new owner may take pushes for it already.
 *
 * What must hold:
 * - A ring was taken out whole, in one step, before it comes here: every push that was acknowledged
 *   is in it or went to a ring that was made afterwards. Nothing is read from it any more.
 * - Until it has landed it counts as memory of this node; it ends landed, back here, or lost, and
 *   each is told once.
 * - Parts of a ring go to one node, in order. Once the last of them may have arrived there, the
 *   ring is for no other node while that one lives: it is asked again until it answers, and knows
 *   what it has taken before (ephemeral/adoption.ts). So a lost answer makes no second copy.
 * - To each node one batch is under way. One that refuses, or does not answer, is left alone for a
 *   while, and holds up nobody's rings but its own.
 *
 * Where the new owner took pushes meanwhile, what arrives stands before them.
 *
 * Rejected: to go on serving a ring while its messages are copied. Each pop, ack and push would
 * have to be told to both ends.
 */
import type { CarriedRing, RingPlace } from '@svc/ephemeral';
import type { PeerCalls } from '../peers/calls.js';
import type { Cancel, Clock } from '../system/clock.js';
import { adoptParts, readAnswer } from './frames.js';
import type { EphemeralPlacement } from './placement.js';
import { partBytes, partsOf, type RingPart } from './ring-parts.js';

export interface HandOverOptions {
  readonly self: number;
  readonly epoch: number;
  readonly clock: Clock;
  /** null: there are no other nodes. */
  readonly calls: Pick<PeerCalls, 'call'> | null;
  readonly placement: Pick<EphemeralPlacement, 'owner' | 'live'>;
  /** It has arrived. */
  readonly onLanded: (ring: CarriedRing) => void;
  /** This node owns it again. */
  readonly onReturned: (ring: CarriedRing) => void;
  /** No node took it in time. */
  readonly onLost: (ring: CarriedRing) => void;
}

interface Move {
  readonly ring: CarriedRing;
  readonly place: RingPlace;
  readonly parts: readonly RingPart[];
  untilMs: number;
  /** Where it goes; 0: nobody is there. */
  target: number;
  /** The first part that is not known to have arrived. */
  next: number;
  /** All of it may have arrived at the target. */
  inDoubt: boolean;
}

/** To one node. */
interface Lane {
  readonly moves: Set<Move>;
  isBusy: boolean;
  pauseMs: number;
  cancelPause: Cancel | null;
}

const BATCH_BYTES_MAX = 8 * 1024 * 1024;
/**
 * Rings, or parts of one, of a batch: a small one is 256 bytes, so bytes alone would let 32,768 of
 * them through, which the other node takes in one turn at some 20 us each: 1,000 are 20 ms.
 */
const BATCH_PARTS_MAX = 1000;
/** Owners that are looked up in a turn: one is 2 us, for as many nodes as there are. */
const AIMED_PER_TURN = 2000;
const ATTEMPT_MS = 10_000;
const RING_MS = 30_000;
const LEAVING_MS = 15_000;
const PAUSE_MS_MIN = 100;
const PAUSE_MS_MAX = 2000;
/** How often it is looked whose time is over. */
const LOOK_MS = 500;

export class EphemeralHandOver {
  readonly #options: HandOverOptions;
  readonly #moves = new Set<Move>();
  readonly #lanes = new Map<number, Lane>();
  #cancelLook: Cancel | null = null;
  #cancelAim: Cancel | null = null;
  #onIdle: (() => void)[] = [];
  #stopped = false;

  constructor(options: HandOverOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#moves.size;
  }

  /** Rings that were taken out just now. */
  take(rings: readonly CarriedRing[]): void {
    const { clock } = this.#options;
    for (const ring of rings) {
      const { tenant, queue, partition } = ring;
      const move: Move = {
        ring,
        place: { tenant, queue, partition },
        parts: partsOf(ring, BATCH_BYTES_MAX),
        untilMs: clock.nowMs() + RING_MS,
        target: 0,
        next: 0,
        inDoubt: false,
      };
      this.#moves.add(move);
      this.#aim(move);
    }
    this.#sendAll();
    this.#armLook();
  }

  /** Other nodes count than before. The first AIMED_PER_TURN rings know their owner at once. */
  ownersChanged(): void {
    this.#cancelAim?.();
    this.#aimSome(this.#moves.values());
  }

  #aimSome(moves: Iterator<Move>): void {
    this.#cancelAim = null;
    for (let count = 0; count < AIMED_PER_TURN; count++) {
      const next = moves.next();
      if (next.done === true) {
        this.#sendAll();
        return;
      }
      this.#aim(next.value);
    }
    if (!this.#stopped) this.#cancelAim = this.#options.clock.soon(() => this.#aimSome(moves));
    this.#sendAll();
  }

  /** `done` when nothing is on its way any more, after LEAVING_MS at the latest. */
  leave(done: () => void): void {
    const untilMs = this.#options.clock.nowMs() + LEAVING_MS;
    for (const move of this.#moves) move.untilMs = Math.min(move.untilMs, untilMs);
    this.#onIdle.push(done);
    this.#look();
  }

  /** These rings are gone: their queue was deleted or reset. */
  forget(isMeant: (place: RingPlace) => boolean): void {
    for (const move of [...this.#moves]) {
      if (isMeant(move.place)) this.#end(move, this.#options.onLanded);
    }
  }

  /** Whatever is on its way is lost. */
  stop(): void {
    for (const move of [...this.#moves]) this.#end(move, this.#options.onLost);
    this.#stopped = true;
    this.#cancelLook?.();
    this.#cancelAim?.();
    for (const { cancelPause } of this.#lanes.values()) cancelPause?.();
  }

  /** Puts it into the lane of its owner. */
  #aim(move: Move): void {
    const { placement, self, onReturned } = this.#options;
    if (move.inDoubt && placement.live.includes(move.target)) return;
    const target = placement.owner(move.place);
    if (target === self) {
      this.#end(move, onReturned);
      return;
    }
    if (target === move.target && !move.inDoubt) return;
    this.#lanes.get(move.target)?.moves.delete(move);
    move.target = target;
    move.next = 0;
    move.inDoubt = false;
    if (target !== 0) this.#lane(target).moves.add(move);
  }

  #lane(node: number): Lane {
    let lane = this.#lanes.get(node);
    if (lane === undefined) {
      lane = { moves: new Set(), isBusy: false, pauseMs: PAUSE_MS_MIN, cancelPause: null };
      this.#lanes.set(node, lane);
    }
    return lane;
  }

  #sendAll(): void {
    for (const [node, lane] of this.#lanes) this.#send(node, lane);
  }

  #send(node: number, lane: Lane): void {
    const { calls, epoch, clock } = this.#options;
    if (this.#stopped || calls === null || lane.isBusy || lane.cancelPause !== null) return;
    const sent = new Map<Move, number>();
    const parts: RingPart[] = [];
    let bytes = 0;
    for (const move of lane.moves) {
      let to = move.next;
      for (; to < move.parts.length && bytes < BATCH_BYTES_MAX; to++) {
        const part = move.parts[to] as RingPart;
        const isFull = parts.length > 0 && bytes + partBytes(part) > BATCH_BYTES_MAX;
        if (isFull || parts.length === BATCH_PARTS_MAX) {
          bytes = BATCH_BYTES_MAX;
          break;
        }
        parts.push(part);
        bytes += partBytes(part);
      }
      if (to > move.next) sent.set(move, to);
      if (to === move.parts.length) move.inDoubt = true;
      if (bytes >= BATCH_BYTES_MAX) break;
    }
    if (parts.length === 0) return;
    lane.isBusy = true;
    const frame = adoptParts(epoch, parts, clock.nowMs());
    calls.call(node, 'ephemeral', frame, ATTEMPT_MS, (answer) => {
      lane.isBusy = false;
      if (this.#stopped) return;
      const refused = typeof answer === 'string' ? null : refusedIn(answer);
      this.#heard(node, lane, sent, refused);
    });
  }

  /** null: nobody knows what of it has arrived. */
  #heard(
    node: number,
    lane: Lane,
    sent: ReadonlyMap<Move, number>,
    refused: ReadonlySet<number> | null,
  ): void {
    for (const [move, to] of sent) {
      // Its target may have died since, and then it goes elsewhere.
      if (!this.#moves.has(move) || move.target !== node || refused === null) continue;
      if (refused.has(move.ring.incarnation)) {
        move.next = 0;
        move.inDoubt = false;
        continue;
      }
      move.next = to;
      if (to === move.parts.length) this.#end(move, this.#options.onLanded);
    }
    if (refused !== null && refused.size === 0) lane.pauseMs = PAUSE_MS_MIN;
    else this.#pause(lane);
    // The answer tells nothing new about the other moves, so they are not aimed again: aiming all
    // of them after each batch would be 250 looks at 250,000 rings.
    for (const move of sent.keys()) if (this.#moves.has(move)) this.#aim(move);
    this.#sendAll();
  }

  #pause(lane: Lane): void {
    lane.cancelPause = this.#options.clock.after(lane.pauseMs, () => {
      lane.cancelPause = null;
      this.ownersChanged();
    });
    lane.pauseMs = Math.min(2 * lane.pauseMs, PAUSE_MS_MAX);
  }

  #armLook(): void {
    if (this.#stopped || this.#moves.size === 0 || this.#cancelLook !== null) return;
    this.#cancelLook = this.#options.clock.after(LOOK_MS, () => {
      this.#cancelLook = null;
      this.#look();
    });
  }

  #look(): void {
    const nowMs = this.#options.clock.nowMs();
    for (const move of [...this.#moves]) {
      if (move.untilMs <= nowMs) this.#end(move, this.#options.onLost);
    }
    if (this.#moves.size === 0) for (const done of this.#onIdle.splice(0)) done();
    this.#armLook();
  }

  #end(move: Move, told: (ring: CarriedRing) => void): void {
    if (!this.#moves.delete(move)) return;
    this.#lanes.get(move.target)?.moves.delete(move);
    told(move.ring);
    if (this.#moves.size === 0) for (const done of this.#onIdle.splice(0)) done();
  }
}

/** null: it is no answer. */
function refusedIn(answer: Uint8Array): ReadonlySet<number> | null {
  const said = readAnswer(answer)?.said;
  return said?.kind === 'adopted' ? new Set(said.refused) : null;
}
