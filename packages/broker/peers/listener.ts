/**
 * Where other nodes' connections arrive. Whoever proves that it knows the token is heard, whether
 * this node has its address or not: a node that wants to join is in nobody's list.
 *
 * What must hold: a stranger costs little. Before its handshake is done a connection holds less
 * than a hundred bytes, has HANDSHAKE_MS_MAX, and is one of HANDSHAKES_MAX; when there are more the
 * oldest goes, because an honest handshake is over long before as many strangers have come. Of one
 * node and channel there is one connection, the newest: an older one is a ghost of a path that
 * broke without a word.
 *
 * Standbys read this cluster by HTTP on the same port. The first four bytes tell: a hello begins
 * with its magic, a request with the name of a method. What begins like one is handed over with its
 * bytes and is no handshake any more, so strangers of one kind never take the places of the other.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import type { Clock } from '../system/clock.js';
import { type ConnectionLimits, type LossReason, PeerConnection } from './connection.js';
import {
  AcceptorHandshake,
  beginsHello,
  DIALED_CHANNELS,
  type DialedChannel,
  fitsCluster,
  type HandshakeRefusal,
  type Hello,
  NONCE_BYTES,
} from './handshake.js';

export type ListenerRefusal = HandshakeRefusal | 'handshake_timeout' | 'handshake_broken';

export interface ListenerOptions {
  readonly self: number;
  readonly token: string;
  readonly cluster: () => Uint8Array;
  readonly limits: { readonly [channel in DialedChannel]: ConnectionLimits };
  readonly clock: Clock;
  readonly onFrame: (from: number, channel: DialedChannel, frame: Uint8Array) => void;
  /** A node is there. */
  readonly onOpen: (from: number, channel: DialedChannel) => void;
  readonly onLost: (from: number, channel: DialedChannel, why: LossReason) => void;
  readonly onRefused: (reason: ListenerRefusal, address: string) => void;
  /** The port itself failed while it was open, for instance for want of file descriptors. */
  readonly onError: (error: Error) => void;
  /** Takes a connection that begins like HTTP, paused; without it there is no such thing here. */
  readonly onHttp?: (socket: Socket) => void;
}

const HANDSHAKE_MS_MAX = 2000;
const HANDSHAKES_MAX = 64;
/** Nodes are few: four channels each, and room for those that are being replaced. */
const CONNECTIONS_MAX = 256;
const BACKLOG = 128;
/** They tell a hello from HTTP. */
const START_BYTES = 4;
const METHOD_STARTS = /^(GET |HEAD|POST|PUT |DELE|CONN|OPTI|TRAC|PATC)/;

interface Open {
  readonly hello: Hello;
  readonly connection: PeerConnection;
}

export class PeerListener {
  readonly #options: ListenerOptions;
  readonly #server: Server;
  /** Oldest first, with what gives each up. */
  readonly #handshakes = new Map<Socket, (reason: ListenerRefusal) => void>();
  readonly #open = new Map<number, Open>();

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
  }

  /** Resolves with the port; rejects when it cannot be listened at. */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port, backlog: BACKLOG }, () => {
        this.#server.off('error', reject);
        this.#server.on('error', this.#options.onError);
        const address = this.#server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : port);
      });
    });
  }

  /** Answers to calls go back by the connection that they came by. */
  send(to: number, channel: DialedChannel, parts: readonly Uint8Array[]): boolean {
    const connection = this.#open.get(keyOf(to, channel))?.connection;
    if (connection === undefined) return false;
    if (connection.send(parts)) return true;
    // A caller that waits for it would wait for its whole time; so it learns of the loss.
    connection.lose('overrun');
    return false;
  }

  tick(): void {
    for (const { connection } of [...this.#open.values()]) connection.tick();
  }

  /** Nodes that were let in before this node belonged to its cluster must fit it now. */
  checkCluster(): void {
    const cluster = this.#options.cluster();
    for (const { hello, connection } of [...this.#open.values()]) {
      if (!fitsCluster(hello.cluster, cluster)) connection.lose('cluster_changed');
    }
  }

  /** What was sent still goes out, for `graceMs` at most. */
  close(graceMs: number): Promise<void> {
    for (const giveUp of [...this.#handshakes.values()]) giveUp('handshake_broken');
    for (const { connection } of this.#open.values()) connection.end(this.#options.clock, graceMs);
    this.#open.clear();
    return new Promise((resolve) => void this.#server.close(() => resolve()));
  }

  #accept(socket: Socket): void {
    const { self, token, cluster, clock, onRefused } = this.#options;
    const address = socket.remoteAddress ?? 'unknown';
    const handshake = new AcceptorHandshake(self, token, cluster, randomBytes(NONCE_BYTES));
    const cancel = clock.after(HANDSHAKE_MS_MAX, () => giveUp('handshake_timeout'));
    const leave = () => {
      cancel();
      return this.#handshakes.delete(socket);
    };
    const giveUp = (reason: ListenerRefusal) => {
      if (!leave()) return;
      socket.destroy();
      onRefused(reason, address);
    };
    this.#makeRoom();
    this.#handshakes.set(socket, giveUp);
    socket.on('error', () => giveUp('handshake_broken'));
    socket.on('close', () => giveUp('handshake_broken'));
    let start: Buffer | null = Buffer.alloc(0);
    socket.on('data', (arrived: Buffer) => {
      if (!this.#handshakes.has(socket)) return;
      let piece = arrived;
      if (start !== null) {
        start = Buffer.concat([start, arrived]);
        if (start.length < START_BYTES) return;
        piece = start;
        start = null;
        if (this.#isHttp(piece)) {
          leave();
          this.#handOver(socket, piece);
          return;
        }
      }
      const progress = handshake.push(piece);
      const { hello } = handshake;
      if (progress.state === 'open' && hello !== null) {
        leave();
        socket.removeAllListeners('data');
        this.#enter(socket, hello, progress.send);
      } else if (progress.state === 'refused') {
        leave();
        socket.removeAllListeners('data').resume();
        socket.end(progress.send, () => socket.destroy());
        onRefused(progress.reason, address);
      } else if (progress.send.length > 0) {
        socket.write(progress.send);
      }
    });
  }

  #isHttp(start: Buffer): boolean {
    if (this.#options.onHttp === undefined || beginsHello(start)) return false;
    return METHOD_STARTS.test(start.toString('latin1', 0, START_BYTES));
  }

  #handOver(socket: Socket, start: Buffer): void {
    for (const event of ['data', 'error', 'close']) socket.removeAllListeners(event);
    socket.pause();
    socket.unshift(start);
    this.#options.onHttp?.(socket);
  }

  #makeRoom(): void {
    if (this.#handshakes.size < HANDSHAKES_MAX) return;
    const [oldest] = this.#handshakes.values();
    oldest?.('too_many_connections');
  }

  #enter(socket: Socket, hello: Hello, verdict: Buffer): void {
    const { limits, onFrame, onOpen, onLost, onRefused } = this.#options;
    const { from, channel } = hello;
    const key = keyOf(from, channel);
    this.#open.get(key)?.connection.lose('replaced');
    if (this.#open.size >= CONNECTIONS_MAX) {
      socket.destroy();
      onRefused('too_many_connections', socket.remoteAddress ?? 'unknown');
      return;
    }
    socket.write(verdict);
    const connection = new PeerConnection(
      socket,
      limits[channel],
      (frame) => onFrame(from, channel, frame),
      (why) => {
        if (this.#open.get(key)?.connection === connection) this.#open.delete(key);
        onLost(from, channel, why);
      },
    );
    this.#open.set(key, { hello, connection });
    onOpen(from, channel);
  }
}

function keyOf(node: number, channel: DialedChannel): number {
  return node * DIALED_CHANNELS.length + DIALED_CHANNELS.indexOf(channel);
}
