/**
 * Stands before the raft port of one node and makes its network bad. The peers' lists name the
 * proxies, so every connection between nodes passes one; the node itself listens behind it.
 *
 * A connection carries one direction: who dials sends, who accepts reads and gives no more than the
 * answers of the handshake. The dialer says who it is in its first bytes, in the clear, so an
 * ordered pair (from, to) is exactly the connections that `from` made through the proxy of `to`,
 * and a fault of the pair is a fault of those connections, answers included. The opposite direction
 * has connections of its own and is not touched: `from` may be mute to `to` and still hear it.
 *
 * What must hold: bytes are never changed, reordered or dropped inside a connection. TCP does not
 * do that, so a connection that lost something ends.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * `cut`: connections end, and new ones end as soon as they say who they are. `stalled`: connections
 * stay, nothing passes, not even their end, as behind a router that drops everything. `slow`: every
 * byte arrives so much later, and no more than so many in a second pass each way.
 */
export type Link =
  | { readonly kind: 'open' }
  | { readonly kind: 'cut' }
  | { readonly kind: 'stalled' }
  | { readonly kind: 'slow'; readonly delayMs: number; readonly bytesPerSecond: number | null };

export const OPEN: Link = { kind: 'open' };
export const CUT: Link = { kind: 'cut' };
export const STALLED: Link = { kind: 'stalled' };

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** The dialer's number: u32, little endian, in the first bytes of a connection. */
const FROM_AT = 8;
/** What stands there when a node of a standby cluster dials: `POST /link/v1/` comes first. */
export const STANDBY = Buffer.from('POST /link/v1/').readUInt32LE(FROM_AT);
const HELLO_BYTES_MIN = FROM_AT + 4;
/** Held back in one direction of a connection before its source is read no further. */
const HELD_BYTES_MAX = 1 << 20;

export class PeerProxy {
  readonly #target: Endpoint;
  readonly #server: Server;
  readonly #relays = new Set<Relay>();
  readonly #links = new Map<number, Link>();

  constructor(target: Endpoint) {
    this.#target = target;
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
  }

  listen({ host, port }: Endpoint): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => resolve());
    });
  }

  /** Bytes that passed from `from` so far, on connections that are still there. */
  bytesFrom(from: number): number {
    let bytes = 0;
    for (const relay of this.#relays) if (relay.from === from) bytes += relay.bytes;
    return bytes;
  }

  setLink(from: number, link: Link): void {
    this.#links.set(from, link);
    for (const relay of this.#relays) if (relay.from === from) relay.set(link);
  }

  close(): Promise<void> {
    for (const relay of this.#relays) relay.end();
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  #accept(socket: Socket): void {
    const relay: Relay = new Relay(
      socket,
      this.#target,
      (from) => this.#links.get(from) ?? OPEN,
      () => this.#relays.delete(relay),
    );
    this.#relays.add(relay);
  }
}

/** One connection from a dialer, and the one that is made for it. */
class Relay {
  from: number | null = null;
  readonly #dialer: Socket;
  readonly #target: Endpoint;
  readonly #linkOf: (from: number) => Link;
  readonly #onEnd: () => void;
  readonly #onHello = (chunk: Buffer): void => this.#readHello(chunk);
  #hello: Buffer = Buffer.alloc(0);
  #acceptor: Socket | null = null;
  #there: Pipe | null = null;
  #back: Pipe | null = null;

  constructor(dialer: Socket, target: Endpoint, linkOf: (from: number) => Link, onEnd: () => void) {
    this.#dialer = dialer;
    this.#target = target;
    this.#linkOf = linkOf;
    this.#onEnd = onEnd;
    dialer.on('data', this.#onHello);
    dialer.on('error', () => dialer.destroy());
    dialer.on('close', () => {
      if (this.#acceptor === null) this.end();
    });
  }

  get bytes(): number {
    return this.#there?.bytes ?? 0;
  }

  set(link: Link): void {
    if (link.kind === 'cut') this.end();
    this.#there?.set(link);
    this.#back?.set(link);
  }

  end(): void {
    this.#there?.stop();
    this.#back?.stop();
    this.#dialer.destroy();
    this.#acceptor?.destroy();
    this.#onEnd();
  }

  #readHello(chunk: Buffer): void {
    this.#hello = Buffer.concat([this.#hello, chunk]);
    if (this.#hello.length < HELLO_BYTES_MIN) return;
    this.#dialer.off('data', this.#onHello);
    this.from = this.#hello.readUInt32LE(FROM_AT);
    const link = this.#linkOf(this.from);
    if (link.kind === 'cut') {
      this.end();
      return;
    }
    const acceptor = connect({ ...this.#target, noDelay: true });
    this.#acceptor = acceptor;
    acceptor.on('error', () => acceptor.destroy());
    const end = () => this.end();
    this.#there = new Pipe(this.#dialer, acceptor, link, end);
    this.#back = new Pipe(acceptor, this.#dialer, link, end);
    this.#there.take(this.#hello);
  }
}

interface Held {
  readonly bytes: Buffer;
  /** When it may pass a slow link. */
  readonly dueMs: number;
}

/** One direction of one connection. */
class Pipe {
  bytes = 0;
  readonly #source: Socket;
  readonly #sink: Socket;
  readonly #onEnd: () => void;
  #link: Link;
  #held: Held[] = [];
  #heldBytes = 0;
  #ended = false;
  #stopped = false;
  #dueMs = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(source: Socket, sink: Socket, link: Link, onEnd: () => void) {
    this.#source = source;
    this.#sink = sink;
    this.#link = link;
    this.#onEnd = onEnd;
    source.on('data', (chunk) => this.take(chunk));
    source.on('close', () => {
      this.#ended = true;
      this.#flush();
    });
    sink.on('drain', () => this.#pace());
    this.#pace();
  }

  take(chunk: Buffer): void {
    this.#held.push({ bytes: chunk, dueMs: this.#dueOf(chunk.length) });
    this.#heldBytes += chunk.length;
    this.#flush();
  }

  set(link: Link): void {
    this.#link = link;
    // Bytes that are held already keep their place, and not the pace of the link that held them.
    this.#dueMs = 0;
    this.#held = this.#held.map(({ bytes }) => ({ bytes, dueMs: this.#dueOf(bytes.length) }));
    this.#flush();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #dueOf(bytes: number): number {
    if (this.#link.kind !== 'slow') return 0;
    const { delayMs, bytesPerSecond } = this.#link;
    const wireMs = bytesPerSecond === null ? 0 : (bytes / bytesPerSecond) * 1000;
    this.#dueMs = Math.max(this.#dueMs, performance.now()) + wireMs;
    return this.#dueMs + delayMs;
  }

  #flush(): void {
    if (this.#stopped) return;
    if (this.#link.kind === 'stalled') {
      this.#pace();
      return;
    }
    const nowMs = performance.now();
    let sent = 0;
    for (const { bytes, dueMs } of this.#held) {
      if (dueMs > nowMs) break;
      this.#sink.write(bytes);
      this.bytes += bytes.length;
      this.#heldBytes -= bytes.length;
      sent++;
    }
    this.#held.splice(0, sent);
    const [next] = this.#held;
    if (next !== undefined) this.#flushLater(next.dueMs - nowMs);
    else if (this.#ended) this.#onEnd();
    this.#pace();
  }

  #flushLater(ms: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#flush(), Math.max(1, ms));
  }

  #pace(): void {
    if (this.#ended) return;
    const full =
      this.#link.kind === 'stalled' ||
      this.#heldBytes > HELD_BYTES_MAX ||
      this.#sink.writableNeedDrain;
    if (full) this.#source.pause();
    else this.#source.resume();
  }
}
