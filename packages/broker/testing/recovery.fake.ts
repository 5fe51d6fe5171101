/**
 * What the tests of repair and of snapshots share: chance under a seed, and a network that loses,
 * repeats and reorders frames on the way.
 */
import type { NodeId } from '@svc/raft';
import { SimulatedDisk } from '@svc/storage/testing';
import { nodeNumber } from '../config/member-id.js';
import { encodeFrame, type FrameContent, FrameGate } from '../peers/frames.js';

export type SeededRandom = SimulatedDisk['random'];

export function seededRandom(seed: number): SeededRandom {
  return new SimulatedDisk({ seed }).random;
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
