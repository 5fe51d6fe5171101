/**
 * Reads that show everything answered before they were asked, on any node:
 * the leader of the moment has a quorum confirm it, and this node then shows what it has applied.
 *
 * What must hold: a read is held while nobody can confirm it, and asked for again when a leader may
 * be there, until its deadline. It is answered once; a client that has gone costs nothing more. A
 * node that lost its rows shows nothing, whatever is confirmed.
 */
import type { Refusal, RefusedOutcome } from '@svc/engine';
import type { Cancel, Clock } from '../system/clock.js';

export interface ReadSource {
  /**
   * The rows of this node were lost, and the log does not reach back: it counts entries as applied
   * whose effects show nowhere until it has the rows of another node, and is opened anew then.
   */
  readonly stateless: boolean;
  /** No other node's word is needed: what is applied here is all there is. */
  readonly leadsAlone: boolean;
  /** Somebody is known to lead. */
  readonly isLed: boolean;
  /** False: no configuration that this node knows names it; it does not wait for a leader then. */
  readonly isMember: () => boolean;
  read(done: (confirmed: boolean) => void): void;
}

interface HeldRead {
  readonly deadlineMs: number;
  readonly reply: { readonly gone: boolean; send(refused: RefusedOutcome): boolean };
  readonly show: () => void;
  isAsking: boolean;
}

/** Reads held at a time; each is a closure and its client's connection. */
const READS_MAX = 16_384;
/** How soon an unconfirmed read is asked again, unless a leader appears before. */
const AGAIN_MS = 50;
/** A node that stops holds nothing for longer than this while no leader is known. */
export const DRAIN_NO_LEADER_MS = 4000;

export const NO_LEADER: Refusal = { reason: 'no_leader', error: 'no leader is known; retry after' };
export const TIMED_OUT: Refusal = { reason: 'timeout', error: 'the request deadline elapsed' };
export const UNCONFIRMED: Refusal = { reason: 'retry', error: 'no quorum-ack lease; retry' };

export class HeldReads {
  readonly #source: ReadSource;
  readonly #clock: Clock;
  readonly #reads = new Set<HeldRead>();
  #cancelAgain: Cancel | null = null;
  /** When the node began to stop. */
  #drainedMs = Number.POSITIVE_INFINITY;
  #stopped = false;

  constructor(source: ReadSource, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  get idle(): boolean {
    return this.#reads.size === 0;
  }

  /** False: refused, as the state here is none to be looked at. */
  mayLook(reply: HeldRead['reply']): boolean {
    if (!this.#source.stateless) return true;
    reply.send({ kind: 'refused', refusal: this.#source.isLed ? UNCONFIRMED : NO_LEADER });
    return false;
  }

  /** `show` runs once the state here is new enough, in this call when that is certain. */
  read(deadlineMs: number, reply: HeldRead['reply'], show: () => void): void {
    if (this.#source.leadsAlone) {
      show();
      return;
    }
    const held: HeldRead = { deadlineMs, reply, show, isAsking: false };
    const isFull = this.#stopped || this.#reads.size >= READS_MAX;
    if (isFull || this.#source.stateless || this.#isInVain) {
      refuse(held, this.#source.isLed ? UNCONFIRMED : NO_LEADER);
      return;
    }
    this.#reads.add(held);
    this.#ask(held);
    if (this.#reads.has(held)) this.#arm();
  }

  /** Another node may lead now. */
  follow(): void {
    if (this.#source.isLed) this.#askAll();
  }

  /** From here on nothing waits long for a leader. */
  drain(): void {
    this.#drainedMs = Math.min(this.#drainedMs, this.#clock.nowMs());
  }

  /** Everything held is refused; nothing is asked any more. */
  stop(): void {
    this.#stopped = true;
    this.#cancelAgain?.();
    for (const held of this.#reads) refuse(held, this.#source.isLed ? UNCONFIRMED : NO_LEADER);
    this.#reads.clear();
  }

  get #isInVain(): boolean {
    if (this.#source.isLed) return false;
    const isLate = this.#clock.nowMs() >= this.#drainedMs + DRAIN_NO_LEADER_MS;
    return isLate || !this.#source.isMember();
  }

  #askAll(): void {
    for (const held of [...this.#reads]) if (!held.isAsking) this.#ask(held);
  }

  #ask(held: HeldRead): void {
    held.isAsking = true;
    this.#source.read((confirmed) => {
      held.isAsking = false;
      if (!this.#reads.has(held)) return;
      if (held.reply.gone) this.#reads.delete(held);
      else if (confirmed) {
        this.#reads.delete(held);
        held.show();
      }
    });
  }

  /**
   * One timer for all, while any is held. A question that goes on does not keep a read beyond its
   * deadline: a node that lags far behind would wait for much longer to apply what was confirmed.
   */
  #arm(): void {
    if (this.#cancelAgain !== null || this.#stopped) return;
    this.#cancelAgain = this.#clock.after(AGAIN_MS, () => {
      this.#cancelAgain = null;
      const nowMs = this.#clock.nowMs();
      for (const held of this.#reads) {
        if (held.deadlineMs > nowMs && !this.#isInVain) continue;
        this.#reads.delete(held);
        refuse(held, this.#source.isLed ? TIMED_OUT : NO_LEADER);
      }
      this.#askAll();
      if (this.#reads.size > 0) this.#arm();
    });
  }
}

function refuse({ reply }: HeldRead, refusal: Refusal): void {
  reply.send({ kind: 'refused', refusal });
}
