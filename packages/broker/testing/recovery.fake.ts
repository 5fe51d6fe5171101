/**
 * What the tests of repair and of snapshots share: chance under a seed, a clock that stands still
 * until it is moved, and a network that loses, repeats and reorders frames on the way.
 */
import type { NodeId } from '@svc/raft';
import { SimulatedDisk } from '@svc/storage/testing';
import { nodeNumber } from '../config/member-id.js';
import { encodeFrame, type FrameContent, FrameGate } from '../peers/frames.js';
import type { Cancel, Clock } from '../system/clock.js';

export type SeededRandom = SimulatedDisk['random'];

export function seededRandom(seed: number): SeededRandom {
  return new SimulatedDisk({ seed }).random;
}

interface Timer {
  readonly atMs: number;
  readonly order: number;
  readonly work: () => void;
}

export class ManualClock implements Clock {
  #nowMs = 0;
  #orders = 0;
  #timers: Timer[] = [];

  wallUs(): number {
    return Math.floor(this.#nowMs * 1000);
  }

  nowMs(): number {
    return this.#nowMs;
  }

  soon(work: () => void): Cancel {
    return this.after(0, work);
  }

  after(delayMs: number, work: () => void): Cancel {
    const timer: Timer = { atMs: this.#nowMs + delayMs, order: this.#orders++, work };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer);
    };
  }

  every(periodMs: number, work: () => void): Cancel {
    let cancel: Cancel = () => {};
    const again = () => {
      cancel = this.after(periodMs, () => {
        again();
        work();
      });
    };
    again();
    return () => cancel();
  }

  /** Runs everything that is due within the next `ms`. */
  pass(ms: number): void {
    const untilMs = this.#nowMs + ms;
    for (;;) {
      const due = this.#timers
        .filter(({ atMs }) => atMs <= untilMs)
        .sort((a, b) => a.atMs - b.atMs || a.order - b.order);
      const next = due[0];
      if (next === undefined) break;
      this.#timers = this.#timers.filter((each) => each !== next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.work();
    }
    this.#nowMs = untilMs;
  }
}

interface Packet {
  readonly from: NodeId;
  readonly to: NodeId;
  readonly bytes: Uint8Array;
}

type Receive = (from: NodeId, content: FrameContent) => void;

const ENTRY_BYTES_MAX = 1 << 20;

/** Frames on the way between members, through their real codec. */
export class FakeNetwork {
  /** Shares of frames that are lost and that are repeated. */
  loss = 0;
  repetition = 0;
  /** Numbers of nodes that nothing reaches and that reach nothing. */
  readonly cutOff = new Set<number>();
  sent = 0;
  readonly #random: SeededRandom;
  readonly #members = new Map<NodeId, { readonly gate: FrameGate; readonly receive: Receive }>();
  #packets: Packet[] = [];

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** `member` is up; the way to send for it. */
  attach(member: NodeId, receive: Receive): (to: NodeId, content: FrameContent) => boolean {
    this.#members.set(member, { gate: new FrameGate(member, ENTRY_BYTES_MAX), receive });
    return (to, content) => {
      const bytes = new Uint8Array(Buffer.concat(encodeFrame(member, to, content)));
      this.sent++;
      if (!this.#random.chance(this.loss)) this.#packets.push({ from: member, to, bytes });
      return true;
    };
  }

  /** `member` is down: what is on the way to it finds nobody. */
  detach(member: NodeId): void {
    this.#members.delete(member);
  }

  /** Delivers one of the frames on the way, whichever; false when there is none. */
  step(): boolean {
    if (this.#packets.length === 0) return false;
    const at = this.#random.below(this.#packets.length);
    const packet = this.#packets[at];
    if (packet === undefined) return false;
    if (!this.#random.chance(this.repetition)) this.#packets.splice(at, 1);
    const { from, to, bytes } = packet;
    const cut = this.cutOff.has(nodeNumber(from)) || this.cutOff.has(nodeNumber(to));
    const member = this.#members.get(to);
    const frame = cut ? null : member?.gate.read(nodeNumber(from), bytes);
    if (frame != null) member?.receive(frame.from, frame.content);
    return true;
  }
}
