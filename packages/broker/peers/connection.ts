/**
 * A connection between two nodes after its handshake: frames both ways, and a sign of life whenever
 * nothing else was sent for a while.
 *
 * What must hold: it ends once, and then nothing more comes from it, not even the rest of what was
 * being read. A path that is dead without a word (a machine without power, a network that drops
 * everything) would be noticed by TCP after many minutes, and one that was cut for long comes back
 * only when TCP tries again; so a side that hears nothing for SILENT_TICKS_MAX ticks gives the
 * connection up. Ticks are counted, not time: a process that was stopped for a while finds
 * everything that came meanwhile still unread, and must not take that for silence.
 */
import type { Socket } from 'node:net';
import type { Clock } from '../system/clock.js';
import { type Gathering, PeerOutbox } from './outbox.js';
import { FrameCutter } from './peer-frames.js';

/** Between two calls of `tick()`. */
export const PEER_TICK_MS = 1000;
const SILENT_TICKS_MAX = 4;
const NOTHING: readonly Uint8Array[] = [];

export type LossReason =
  | 'closed'
  | 'stalled'
  | 'oversized_frame'
  /** The same node made another one for the same channel. */
  | 'replaced'
  /** More answers waited than may. */
  | 'overrun'
  /** This node has come to belong to a cluster since: both sides are to look again. */
  | 'cluster_changed';

export interface ConnectionLimits {
  /** Bytes of a frame that arrives. */
  readonly frameBytesMax: number;
  /** Bytes that wait to leave. */
  readonly queueBytesMax: number;
  readonly gathering: Gathering;
}

export class PeerConnection {
  readonly #socket: Socket;
  readonly #outbox: PeerOutbox;
  readonly #cutter: FrameCutter;
  readonly #onLost: (why: LossReason) => void;
  #ended = false;
  #heard = true;
  #silentTicks = 0;
  #sent = false;
  #ticks = 0;

  /** `onLost` runs once, unless `end()` was called. */
  constructor(
    socket: Socket,
    limits: ConnectionLimits,
    onFrame: (frame: Uint8Array) => void,
    onLost: (why: LossReason) => void,
  ) {
    this.#socket = socket;
    this.#onLost = onLost;
    this.#outbox = new PeerOutbox(socket, limits.queueBytesMax, limits.gathering);
    this.#cutter = new FrameCutter(limits.frameBytesMax, onFrame);
    socket.on('data', (piece: Buffer) => this.push(piece));
    socket.on('error', () => this.lose('closed'));
    socket.on('close', () => this.lose('closed'));
  }

  /** How long it has lived. */
  get ticks(): number {
    return this.#ticks;
  }

  /** What the socket read. */
  push(piece: Buffer): void {
    this.#heard = true;
    if (!this.#cutter.push(piece)) this.lose('oversized_frame');
  }

  /** False: dropped. `sent` runs once the parts are not read any more, unless the way breaks. */
  send(parts: readonly Uint8Array[], sent?: () => void): boolean {
    if (this.#ended) return false;
    this.#sent = true;
    return this.#outbox.send(parts, sent);
  }

  /** Called every PEER_TICK_MS. */
  tick(): void {
    this.#ticks++;
    this.#silentTicks = this.#heard ? 0 : this.#silentTicks + 1;
    this.#heard = false;
    if (this.#silentTicks >= SILENT_TICKS_MAX) {
      this.lose('stalled');
      return;
    }
    if (!this.#sent) this.#outbox.send(NOTHING);
    this.#sent = false;
  }

  lose(why: LossReason): void {
    if (this.#ended) return;
    this.#finish();
    this.#socket.destroy();
    this.#onLost(why);
  }

  /** Sends what waits, for `graceMs` at most, and closes; nothing is told any more. */
  end(clock: Clock, graceMs: number): void {
    if (this.#ended) return;
    this.#outbox.flush();
    this.#finish();
    const cancel = clock.after(graceMs, () => this.#socket.destroy());
    this.#socket.once('close', cancel);
    this.#socket.destroySoon();
  }

  #finish(): void {
    this.#ended = true;
    this.#cutter.stop();
  }
}
