/**
 * The connection to one peer for one channel: made when it is missing, after a pause with jitter,
 * so that nodes that lost each other at one moment do not come back at one moment. The pause grows
 * while connections fail or do not last, and ends early when the peer itself is heard of.
 *
 * Frames for which there is no connection are dropped and not kept: consensus repeats what
 * matters, a caller is told, and a queue of old frames would only stand before newer ones.
 */
import { randomBytes } from 'node:crypto';
import { connect, type LookupFunction, type Socket } from 'node:net';
import type { Cancel, Clock } from '../system/clock.js';
import { type ConnectionLimits, type LossReason, PeerConnection } from './connection.js';
import {
  type DialedChannel,
  DialerHandshake,
  type HandshakeRefusal,
  NONCE_BYTES,
} from './handshake.js';

export type DownReason = LossReason | HandshakeRefusal | 'unreachable';

export interface DialerOptions {
  readonly channel: DialedChannel;
  readonly self: number;
  readonly peer: number;
  readonly host: string;
  readonly port: number;
  readonly token: string;
  readonly cluster: () => Uint8Array;
  readonly limits: ConnectionLimits;
  readonly lookup: LookupFunction;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly onFrame: (frame: Uint8Array) => void;
  /** It broke, or could not be made: `detail` says what the system said. */
  readonly onDown: (why: DownReason, detail: string) => void;
}

/** For the name, the connection and the handshake together. */
const DIAL_MS_MAX = 2000;
/** The network answers within this; if it did not, it will be asked again only after a second. */
const SILENCE_MS = 250;
const PAUSE_MS_MIN = 50;
const PAUSE_MS_MAX = 2000;
/** One that lasted so many ticks was a good one: the next pause is the shortest again. */
const GOOD_TICKS = 5;

export class PeerDialer {
  readonly #options: DialerOptions;
  /** While it is being made. */
  #socket: Socket | null = null;
  #connection: PeerConnection | null = null;
  /** What the hello of the connection said. */
  #cluster: Uint8Array = new Uint8Array(0);
  #pauseMs = PAUSE_MS_MIN;
  #isPaused = false;
  #dialedAtMs = 0;
  #closed = false;
  #cancelTimer: Cancel | null = null;

  constructor(options: DialerOptions) {
    this.#options = options;
    this.#dial();
  }

  get isUp(): boolean {
    return this.#connection !== null;
  }

  /** False: dropped. */
  send(parts: readonly Uint8Array[], sent?: () => void): boolean {
    return this.#connection?.send(parts, sent) ?? false;
  }

  /** The peer is there: not worth waiting any longer, nor for an answer from before it was. */
  hurry(): void {
    const socket = this.#socket;
    const ageMs = this.#options.clock.nowMs() - this.#dialedAtMs;
    const meetsSilence = socket?.connecting === true && ageMs >= SILENCE_MS;
    if (!this.#isPaused && !meetsSilence) return;
    this.#cancelTimer?.();
    this.#socket = null;
    socket?.destroy();
    this.#dial();
  }

  tick(): void {
    this.#connection?.tick();
  }

  /** What this node said when it dialed must still be so. */
  checkCluster(): void {
    const said = Buffer.compare(this.#cluster, this.#options.cluster()) === 0;
    if (!said) this.#connection?.lose('cluster_changed');
  }

  /** Nothing is told any more. What was sent still goes out, for `graceMs` at most. */
  close(graceMs: number): void {
    this.#closed = true;
    this.#cancelTimer?.();
    this.#socket?.destroy();
    this.#connection?.end(this.#options.clock, graceMs);
    this.#connection = null;
  }

  #dial(): void {
    this.#isPaused = false;
    this.#dialedAtMs = this.#options.clock.nowMs();
    const { channel, self, peer, host, port, token, lookup, clock } = this.#options;
    this.#cluster = Uint8Array.from(this.#options.cluster());
    const nonce = randomBytes(NONCE_BYTES);
    const hello = { channel, from: self, to: peer, cluster: this.#cluster, nonce };
    const handshake = new DialerHandshake(token, hello);
    const socket = connect({ host, port, lookup, noDelay: true });
    this.#socket = socket;
    this.#cancelTimer = clock.after(DIAL_MS_MAX, () =>
      this.#failed(socket, 'unreachable', 'no answer in time'),
    );
    socket.on('connect', () => socket.write(handshake.hello));
    socket.on('data', (piece: Buffer) => {
      if (this.#socket !== socket) return;
      const progress = handshake.push(piece);
      if (progress.send.length > 0) socket.write(progress.send);
      if (progress.state === 'open') this.#open(socket, progress.rest);
      else if (progress.state === 'refused') this.#failed(socket, progress.reason, '');
    });
    socket.on('error', (error) => this.#failed(socket, 'unreachable', told(error)));
    socket.on('close', () => this.#failed(socket, 'unreachable', 'closed during the handshake'));
  }

  #open(socket: Socket, rest: Buffer): void {
    const { limits, onFrame } = this.#options;
    this.#cancelTimer?.();
    this.#socket = null;
    socket.removeAllListeners('data');
    const connection = new PeerConnection(socket, limits, onFrame, (why) => {
      if (this.#connection !== connection) return;
      this.#connection = null;
      const wasGood = connection.ticks >= GOOD_TICKS || why === 'cluster_changed';
      if (wasGood) this.#pauseMs = PAUSE_MS_MIN;
      this.#down(why, '');
    });
    this.#connection = connection;
    if (rest.length > 0) connection.push(rest);
  }

  #failed(socket: Socket, why: DownReason, detail: string): void {
    if (this.#socket !== socket) return;
    this.#socket = null;
    this.#cancelTimer?.();
    socket.destroy();
    this.#down(why, detail);
  }

  #down(why: DownReason, detail: string): void {
    if (this.#closed) return;
    const { clock, random, onDown } = this.#options;
    const pauseMs = this.#pauseMs * (0.5 + random());
    this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSE_MS_MAX);
    this.#isPaused = true;
    this.#cancelTimer = clock.after(Math.min(pauseMs, PAUSE_MS_MAX), () => this.#dial());
    onDown(why, detail);
  }
}

/** The cause, without the address, which whoever tells it knows. */
function told(error: NodeJS.ErrnoException): string {
  return error.code ?? error.message;
}
