/**
 * Nodes that speak over real sockets on this machine, on a clock that runs ten times as fast, and
 * strangers who do as they like. Whatever a test opened is closed by `close()`.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { AcceptorHandshake, DialerHandshake, type Hello } from '../peers/handshake.js';
import type { PeerLookup } from '../peers/lookup.js';
import type { PeerChannel } from '../peers/port.js';
import { type PeerAddress, PeerSockets } from '../peers/sockets.js';
import { type Clock, SystemClock } from '../system/clock.js';
import { createLogger } from '../system/logging.js';

const FASTER = 10;
export const TOKEN = 'a token';
export const CLUSTER = new Uint8Array(16).fill(7);
export const NO_CLUSTER = new Uint8Array(16);

export class FastClock implements Clock {
  readonly #clock = new SystemClock();
  wallUs = () => this.#clock.wallUs();
  nowMs = () => this.#clock.nowMs() * FASTER;
  soon = (work: () => void) => this.#clock.soon(work);
  after = (delayMs: number, work: () => void) => this.#clock.after(delayMs / FASTER, work);
  every = (periodMs: number, work: () => void) => this.#clock.every(periodMs / FASTER, work);
}

export interface FakePeerOptions {
  readonly token?: string;
  readonly cluster?: () => Uint8Array;
  readonly entryBytesMax?: number;
  readonly lookup?: PeerLookup;
  readonly clock?: Clock;
  readonly host?: string;
  readonly port?: number;
  readonly onHttp?: (socket: Socket) => void;
}

export interface TakenFrame {
  readonly from: number;
  readonly channel: PeerChannel;
  readonly frame: Uint8Array;
}

export class FakePeer {
  readonly node: number;
  readonly clock: Clock;
  readonly sockets: PeerSockets;
  readonly taken: TakenFrame[] = [];
  readonly unreachable: string[] = [];
  readonly lines: string[] = [];
  port = 0;
  readonly #host: string;
  readonly #port: number;

  constructor(node: number, options: FakePeerOptions) {
    const { token = TOKEN, cluster = () => CLUSTER, entryBytesMax = 1000 } = options;
    const { lookup, onHttp } = options;
    this.node = node;
    this.clock = options.clock ?? new FastClock();
    this.#host = options.host ?? '127.0.0.1';
    this.#port = options.port ?? 0;
    this.sockets = new PeerSockets({
      self: node,
      token,
      cluster,
      entryBytesMax,
      clock: this.clock,
      random: Math.random,
      logger: createLogger({ level: 'info', json: false }, (line) => this.lines.push(line)),
      ...(lookup === undefined ? {} : { lookup }),
      ...(onHttp === undefined ? {} : { onHttp }),
    });
    this.sockets.onFrame = (from, channel, frame) => this.taken.push({ from, channel, frame });
    this.sockets.onUnreachable = (to, channel) => this.unreachable.push(`${to} ${channel}`);
  }

  async listen(): Promise<void> {
    this.port = await this.sockets.listen(this.#host, this.#port);
  }

  get address(): PeerAddress {
    return { node: this.node, host: this.#host, port: this.port };
  }

  texts(channel: PeerChannel): string[] {
    const frames = this.taken.filter((each) => each.channel === channel);
    return frames.map(({ frame }) => Buffer.from(frame).toString());
  }

  count(reason: string): number {
    return this.sockets.counters()[reason] ?? 0;
  }
}

export class PeerWorld {
  readonly #peers: FakePeer[] = [];
  readonly #servers: Server[] = [];
  readonly #sockets: Socket[] = [];

  async peer(node: number, options: FakePeerOptions = {}): Promise<FakePeer> {
    const peer = new FakePeer(node, options);
    this.#peers.push(peer);
    await peer.listen();
    return peer;
  }

  /** Two that have each other's address and are connected. */
  async pair(
    one: FakePeerOptions = {},
    other: FakePeerOptions = {},
  ): Promise<[FakePeer, FakePeer]> {
    const [a, b] = [await this.peer(1, one), await this.peer(2, other)];
    a.sockets.setPeers([b.address]);
    b.sockets.setPeers([a.address]);
    await connected(a, b);
    await connected(b, a);
    return [a, b];
  }

  /** A connection that nothing was said on yet. */
  async dial(port: number): Promise<Socket> {
    const socket = connect({ host: '127.0.0.1', port });
    this.#sockets.push(socket);
    socket.on('error', () => socket.destroy());
    await new Promise((resolve) => void socket.once('connect', resolve));
    return socket;
  }

  /** A connection that has proved that it may speak. */
  async enter(port: number, hello: Partial<Hello> = {}, token = TOKEN): Promise<Socket> {
    const socket = await this.dial(port);
    const nonce = new Uint8Array(16).fill(Math.random() * 256);
    const whole: Hello = { channel: 'control', from: 9, to: 1, cluster: CLUSTER, nonce, ...hello };
    const handshake = new DialerHandshake(token, whole);
    socket.write(handshake.hello);
    await new Promise<void>((resolve, reject) => {
      const read = (piece: Buffer) => {
        const progress = handshake.push(piece);
        if (progress.send.length > 0) socket.write(progress.send);
        if (progress.state === 'waiting') return;
        socket.off('data', read);
        if (progress.state === 'open') resolve();
        else reject(new Error(progress.reason));
      };
      socket.on('data', read);
      socket.once('close', () => reject(new Error('closed')));
    });
    return socket;
  }

  /** Listens and does with each connection what the test says. */
  async server(onConnection: (socket: Socket) => void, port = 0): Promise<number> {
    const server = createServer((socket) => {
      this.#sockets.push(socket);
      socket.on('error', () => socket.destroy());
      onConnection(socket);
    });
    this.#servers.push(server);
    await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve));
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  /** As a node does: lets in whoever knows the token, then `onOpen`. */
  acceptor(self: number, onOpen: (socket: Socket, hello: Hello) => void, token = TOKEN) {
    return this.server((socket) => {
      const nonce = new Uint8Array(16).fill(3);
      const handshake = new AcceptorHandshake(self, token, () => CLUSTER, nonce);
      const read = (piece: Buffer) => {
        const progress = handshake.push(piece);
        const { hello } = handshake;
        if (progress.send.length > 0) socket.write(progress.send);
        if (progress.state !== 'open' || hello === null) return;
        socket.off('data', read);
        onOpen(socket, hello);
      };
      socket.on('data', read);
    });
  }

  /** A way to `port` whose connections are in `passing`, for a test to break. */
  relay(port: number, passing: Set<Socket>): Promise<number> {
    return this.server((near) => {
      passing.add(near);
      near.on('close', () => passing.delete(near));
      const far = connect({ host: '127.0.0.1', port });
      this.#sockets.push(far);
      far.on('error', () => far.destroy());
      far.on('close', () => near.destroy());
      near.on('close', () => far.destroy());
      near.pipe(far).pipe(near);
    });
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(this.#peers.map(({ sockets }) => sockets.close()));
    await Promise.all(
      this.#servers.map((server) => new Promise((resolve) => void server.close(resolve))),
    );
  }
}

/** Until frames of all channels can go from the one to the other. */
export async function connected(from: FakePeer, to: FakePeer): Promise<void> {
  const channels = ['control', 'consensus', 'bulk', 'calls'] as const;
  await until(`${from.node} -> ${to.node}`, () =>
    channels.every((channel) => from.sockets.isUp(to.node, channel)),
  );
}

export async function until(what: string, reached: () => boolean, msMax = 10_000): Promise<void> {
  const startMs = performance.now();
  while (!reached()) {
    if (performance.now() - startMs > msMax) throw new Error(`${what}: not within ${msMax} ms`);
    await pause(2);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}

export function framed(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length, 0);
  return Buffer.concat([length, bytes]);
}
