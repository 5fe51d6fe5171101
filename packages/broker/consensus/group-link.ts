/**
 * The link to the other members: consensus speaks in members, the port in the operator's numbers.
 *
 * What must hold: nothing that is not meant for this member reaches consensus. A node whose
 * directory was replaced has the same number and another member id; what was sent to its former
 * life is dropped here, and so is what claims to come from another node than the one it came from.
 */
import {
  DEFAULT_FRAME_LIMITS,
  DEFAULT_SETTINGS,
  decodeMessage,
  encodeMessage,
  type FrameLimits,
  type Message,
  type NodeId,
} from '@svc/raft';
import { lastingCrc } from '@svc/storage';
import { nodeNumber } from '../config/member-id.js';
import { encodeFrame, type FrameContent, FrameGate } from '../peers/frames.js';
import type { PeerChannel, PeerPort } from '../peers/port.js';

/** Beside its entries: the head of an append, with the fields of as many as fit one append. */
const APPEND_SLACK_BYTES = 4 * 1024 * 1024;

export interface GroupReceiver {
  onMessage(message: Message): void;
  onContent(from: NodeId, content: FrameContent): void;
  onUnreachable(node: number): void;
}

export class GroupLink {
  readonly #port: PeerPort;
  readonly #self: NodeId;
  readonly #gate: FrameGate;
  readonly #limits: FrameLimits;
  readonly #refused = new Map<string, number>();
  #unsent = 0;

  /** `entryBytesMax`: no entry of the log is larger. */
  constructor(port: PeerPort, self: NodeId, entryBytesMax: number) {
    this.#port = port;
    this.#self = self;
    // An append holds what fits, and one entry in any case.
    const frameBytesMax = entryBytesMax + DEFAULT_SETTINGS.appendBytesMax + APPEND_SLACK_BYTES;
    this.#limits = { ...DEFAULT_FRAME_LIMITS, frameBytesMax };
    this.#gate = new FrameGate(self, entryBytesMax);
  }

  /** From here on `receiver` gets what arrives. */
  open(receiver: GroupReceiver): void {
    this.#port.onFrame = (from, channel, bytes) => {
      if (channel === 'bulk') {
        const frame = this.#gate.read(from, bytes);
        if (frame !== null) receiver.onContent(frame.from, frame.content);
      } else if (channel === 'control' || channel === 'consensus') {
        this.#receive(receiver, from, bytes);
      } else {
        this.#refuse('other_channel');
      }
    };
    this.#port.onUnreachable = (node, channel) => {
      // Only a lost append makes the leader look again for where the logs meet.
      if (channel === 'consensus') receiver.onUnreachable(node);
    };
  }

  close(): void {
    this.#port.onFrame = () => {};
    this.#port.onUnreachable = () => {};
  }

  /**
   * Sends a message of consensus; it may be lost, as everything that is sent. `sent` runs once the
   * bytes of the message are not read any more; never, if it is lost here.
   */
  send(message: Message, sent?: () => void): void {
    const frame = encodeMessage(message, lastingCrc);
    if (!this.#port.send(nodeNumber(message.to), channelOf(message), frame, sent)) this.#unsent++;
  }

  /** False when it was dropped at once. */
  sendContent(to: NodeId, content: FrameContent): boolean {
    const frame = encodeFrame(this.#self, to, content);
    const sent = this.#port.send(nodeNumber(to), 'bulk', frame);
    if (!sent) this.#unsent++;
    return sent;
  }

  /** Frames that were not taken. */
  get refused(): number {
    const own = [...this.#refused.values()];
    const others = Object.values(this.#gate.counters());
    return [...own, ...others].reduce((sum, count) => sum + count, 0);
  }

  /** Frames that were not taken, by reason, and those that the port dropped at once (`unsent`). */
  counters(): Readonly<Record<string, number>> {
    const own = Object.fromEntries(this.#refused);
    return { ...own, ...this.#gate.counters(), unsent: this.#unsent };
  }

  #receive(receiver: GroupReceiver, from: number, bytes: Uint8Array): void {
    const message = decodeMessage(bytes, this.#limits, lastingCrc);
    if (message.type === 'refused') this.#refuse(message.reason);
    else if (message.to !== this.#self) this.#refuse('other_member');
    else if (nodeNumber(message.from) !== from) this.#refuse('foreign_sender');
    else receiver.onMessage(message);
  }

  #refuse(reason: string): void {
    this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + 1);
  }
}

/**
 * Heartbeats and votes never wait behind entries. An append without entries does: it would overtake
 * those sent before it, be rejected, and make the leader send them all again.
 */
function channelOf(message: Message): PeerChannel {
  return message.type === 'append' || message.type === 'snapshot' ? 'consensus' : 'control';
}
