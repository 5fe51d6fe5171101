/**
 * A call about one ring, wherever that is: done here if this node owns the ring, else by its owner.
 *
 * What must hold: a client's call ends once. It is passed on at most twice, both times by the node
 * that the client asked: again only when it was not done, because who was asked did not own the
 * ring. What a node hears from another it does itself or refuses, so nothing goes in circles.
 *
 * What waits for slow owners is bounded in calls and in bytes, so that it cannot take the way
 * between nodes from what else goes there: beyond that a call is refused at once.
 */
import type { RingPlace } from '@svc/ephemeral';
import type { EphemeralRefusalCode } from '@svc/http';
import type { OwnCall, PeerCalls } from '../peers/calls.js';
import type { Cancel, Clock } from '../system/clock.js';
import { type Answer, type Heard, readAnswer } from './frames.js';
import type { EphemeralPlacement } from './placement.js';

export interface Errand {
  readonly place: RingPlace;
  /** Bytes that are sent, roughly. */
  readonly bytes: number;
  /** How long the owner may take. */
  timeoutMs(): number;
  parts(): Uint8Array[];
  /**
   * This node owns the ring. `done` runs once, at once or later, unless the errand is given up:
   * `moved` when nothing was done because this node owns the ring no more, `done` when the client
   * has its answer. What it returns gives up what waits here.
   */
  here(done: (outcome: HereOutcome) => void): Cancel;
  /** What the owner says; false: that is no answer. */
  there(answer: Heard<Answer>, owner: number): boolean;
  refuse(code: EphemeralRefusalCode): void;
}

export type HereOutcome = 'done' | 'moved' | EphemeralRefusalCode;

export interface ErrandsOptions {
  readonly self: number;
  readonly clock: Clock;
  /** null: there are no other nodes. */
  readonly calls: Pick<PeerCalls, 'call'> | null;
  readonly placement: EphemeralPlacement;
  /** A call goes to another node. */
  readonly onForward: () => void;
}

/** Most of them pops that wait; the way between nodes has room for as many (node/peers.ts). */
const CALLS_MAX = 8192;
/** A quarter of what they may hold. */
const BYTES_MAX = 64 * 1024 * 1024;
/** Calls that came before this node knew who owns what, and how long they wait for it. */
const HELD_MAX = 10_000;
const HELD_MS = 5000;
/** Views of nodes differ for about a round trip: then the owner is looked for again. */
const MOVED_PAUSE_MS = 100;
const ATTEMPTS_MAX = 2;

interface Held {
  readonly errand: Running;
  readonly cancelDeadline: Cancel;
}

/** An errand that a client waits for. */
class Running {
  readonly errand: Errand;
  /** This node has what is asked for, whoever owns the place. */
  readonly beginsHere: boolean;
  attempts = 0;
  cancelHere: Cancel | null = null;
  call: OwnCall | null = null;
  cancelPause: Cancel | null = null;
  isOver = false;

  constructor(errand: Errand, beginsHere: boolean) {
    this.errand = errand;
    this.beginsHere = beginsHere;
  }
}

export class Errands {
  readonly #options: ErrandsOptions;
  readonly #running = new Set<Running>();
  readonly #held = new Set<Held>();
  #calls = 0;
  #bytes = 0;
  #stopped = false;

  constructor(options: ErrandsOptions) {
    this.#options = options;
  }

  /** No answer from another node is awaited. */
  get idle(): boolean {
    return this.#running.size === 0;
  }

  /** Gives it up; what of it is done by then stays done. */
  run(errand: Errand, beginsHere = false): Cancel {
    const running = new Running(errand, beginsHere);
    this.#running.add(running);
    if (this.#stopped) this.#refuse(running, 'owner_moved');
    else if (this.#options.placement.settled) this.#go(running);
    else this.#hold(running);
    return () => this.#cancel(running);
  }

  /** It may be known now who owns what. */
  ownersChanged(): void {
    if (!this.#options.placement.settled) return;
    for (const held of [...this.#held]) {
      this.#held.delete(held);
      held.cancelDeadline();
      this.#go(held.errand);
    }
  }

  /** Every errand that is left is refused. */
  stop(): void {
    this.#stopped = true;
    for (const { cancelDeadline } of this.#held) cancelDeadline();
    this.#held.clear();
    for (const running of [...this.#running]) {
      // What another node has in hand may have been done.
      const code = running.call === null ? 'owner_moved' : 'ephemeral_forward_failed';
      this.#cancel(running);
      running.errand.refuse(code);
    }
  }

  #cancel(running: Running): void {
    const { call, cancelPause, cancelHere } = running;
    this.#over(running);
    call?.cancel();
    cancelPause?.();
    cancelHere?.();
  }

  #hold(running: Running): void {
    if (this.#held.size >= HELD_MAX) {
      this.#refuse(running, 'owner_moved');
      return;
    }
    const held: Held = {
      errand: running,
      cancelDeadline: this.#options.clock.after(HELD_MS, () => {
        this.#held.delete(held);
        this.#refuse(running, 'owner_moved');
      }),
    };
    this.#held.add(held);
  }

  #go(running: Running): void {
    if (running.isOver) return;
    const { self, placement } = this.#options;
    const { errand } = running;
    const owner = placement.owner(errand.place);
    if (owner === self || (running.beginsHere && running.attempts === 0)) {
      this.#here(running);
      return;
    }
    if (owner === 0) this.#refuse(running, 'owner_moved');
    else this.#pass(running, owner);
  }

  #here(running: Running): void {
    running.attempts++;
    running.cancelHere = running.errand.here((outcome) => {
      if (running.isOver) return;
      if (outcome === 'done') this.#over(running);
      else if (outcome === 'moved') this.#again(running);
      else this.#refuse(running, outcome);
    });
  }

  #pass(running: Running, owner: number): void {
    const { calls, onForward } = this.#options;
    const { errand } = running;
    const { bytes } = errand;
    const isFull = this.#calls >= CALLS_MAX || (this.#bytes > 0 && this.#bytes + bytes > BYTES_MAX);
    if (calls === null || isFull) {
      this.#refuse(running, 'ephemeral_forward_failed');
      return;
    }
    running.attempts++;
    this.#calls++;
    this.#bytes += bytes;
    onForward();
    const own = calls.call(owner, 'ephemeral', errand.parts(), errand.timeoutMs(), (answer) => {
      if (running.call !== own) return;
      this.#returned(running);
      if (running.isOver) return;
      if (answer === 'unserved') this.#again(running);
      else if (typeof answer === 'string') this.#refuse(running, 'ephemeral_forward_failed');
      else this.#heard(running, answer, owner);
    });
    running.call = own;
  }

  #heard(running: Running, answer: Uint8Array, owner: number): void {
    const heard = readAnswer(answer);
    if (heard?.said.kind === 'refused') {
      const { code } = heard.said;
      if (code === 'owner_moved') this.#again(running);
      else this.#refuse(running, code === 'content' ? 'ephemeral_forward_failed' : code);
      return;
    }
    this.#over(running);
    if (heard === null || !running.errand.there(heard, owner)) {
      running.errand.refuse('ephemeral_forward_failed');
    }
  }

  /** It was not done: who owns the ring now? */
  #again(running: Running): void {
    if (running.attempts >= ATTEMPTS_MAX) {
      this.#refuse(running, 'owner_moved');
      return;
    }
    running.cancelPause = this.#options.clock.after(MOVED_PAUSE_MS, () => {
      running.cancelPause = null;
      this.#go(running);
    });
  }

  #refuse(running: Running, code: EphemeralRefusalCode): void {
    if (running.isOver) return;
    this.#over(running);
    running.errand.refuse(code);
  }

  #over(running: Running): void {
    running.isOver = true;
    this.#running.delete(running);
    this.#returned(running);
  }

  /** Its call takes no room any more. */
  #returned(running: Running): void {
    if (running.call === null) return;
    running.call = null;
    this.#calls--;
    this.#bytes -= running.errand.bytes;
  }
}
