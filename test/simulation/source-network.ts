/**
 * What lies between a source and a standby: connections that each carry one read at a time, as HTTP
 * over TCP does. Bytes arrive in order or not at all, in pieces cut anywhere; a connection breaks
 * in the middle of an answer, stands still, or loses a bit on its way. A path is a pair of a
 * machine of the standby and one of the source; each is cut by itself.
 */
import type { AnswerListener, SourceCall, SourcePort } from '@svc/broker';
import { parseReadRequest, type ReadRequest } from '@svc/standby';
import type { SeededRandom } from '../seeded-random.js';
import type { SimulatedLoop } from './simulated-loop.js';

/** Where a node of a source writes its answer. */
export interface Sink {
  write(parts: readonly Uint8Array[]): boolean;
  end(): void;
  cut(): void;
}

interface Answering {
  onRoom(): void;
  cancel(): void;
}

/** One side, as the network sees it. */
export interface Side {
  /** Runs `work` in the process of a machine; false when none runs there. */
  readonly enter: (machine: number, work: () => void) => boolean;
}

export interface SourceSide extends Side {
  /** The machine behind an address; null: there is none. */
  readonly machineAt: (address: string) => number | null;
  /** Why it does not answer, or what answers; null: nothing serves there. */
  readonly read: (machine: number, request: ReadRequest, sink: Sink) => Answering | string | null;
}

export interface SourceNetworkOptions {
  readonly loop: SimulatedLoop;
  readonly random: SeededRandom;
  readonly source: SourceSide;
  readonly standby: Side;
}

export interface SourceCounts {
  asked: number;
  /** Connections that broke in the middle of an answer. */
  broken: number;
  stalled: number;
  flipped: number;
  cuts: number;
}

const LATENCY_MS = [0.1, 1, 8, 40] as const;
/** What is sent and has not arrived: then the sender waits. */
const WINDOW_BYTES = 32 * 1024;
const PIECE_BYTES_MAX = 9000;
const REFUSED_MS = 1;
/** As the client over HTTP. */
const CONNECT_MS = 2000;
/** For a connection that stands still. Longer than a standby listens to silence, now and then. */
const STALL_MS = [300, 3000, 30_000] as const;

/** One process; nothing reaches it after its end, nor the next one on its machine in its place. */
interface Life {
  isOver: boolean;
}

type Odds = { readonly [kind in 'break' | 'stall' | 'flip']: number };

export class SourceNetwork {
  readonly counts: SourceCounts = { asked: 0, broken: 0, stalled: 0, flipped: 0, cuts: 0 };
  readonly #options: SourceNetworkOptions;
  readonly #latencyMs: number;
  readonly #odds: Odds;
  readonly #connections = new Set<Connection>();
  /** Paths that are cut, and by how many faults: `standby source`. */
  readonly #cuts = new Map<string, number>();
  readonly #standbyLives = new Map<number, Life>();
  readonly #sourceLives = new Map<number, Life>();
  #faultsOn = true;
  #isGone = false;

  constructor(options: SourceNetworkOptions) {
    const { random } = options;
    this.#options = options;
    this.#latencyMs = random.pick(LATENCY_MS);
    const odds = (choices: readonly number[]) => random.pick(choices);
    this.#odds = {
      break: odds([0, 0.01, 0.1]),
      stall: odds([0, 0, 0.01]),
      flip: odds([0, 0.005, 0.05]),
    };
  }

  /** The port for a process of the standby on this machine. */
  open(machine: number): SourcePort {
    const life = this.#begin(this.#standbyLives, machine);
    return {
      // A follower alone asks here, and it reads: a seed is taken before a node is open.
      ask: (address, _path, body, listener) => this.#ask(machine, life, address, body, listener),
      close: () => {},
    };
  }

  /** A process of the source begins to answer. */
  serve(machine: number): void {
    this.#begin(this.#sourceLives, machine);
  }

  /** A process of the standby has ended, and its connections with it. */
  standbyEnded(machine: number): void {
    this.#begin(this.#standbyLives, machine).isOver = true;
    for (const one of [...this.#connections]) if (one.from === machine) one.leave();
  }

  /** A process of the source has ended. */
  sourceEnded(machine: number): void {
    this.#begin(this.#sourceLives, machine).isOver = true;
    for (const one of [...this.#connections]) if (one.to === machine) one.reset('ECONNRESET');
  }

  #begin(lives: Map<number, Life>, machine: number): Life {
    const before = lives.get(machine);
    if (before !== undefined) before.isOver = true;
    const life = { isOver: false };
    lives.set(machine, life);
    return life;
  }

  /**
   * Cuts these paths until `durationMs` have passed. `breaks`: their connections break at once;
   * else nothing comes through them meanwhile, and nobody hears of it.
   */
  cut(
    paths: readonly (readonly [standby: number, source: number])[],
    durationMs: number,
    breaks: boolean,
  ): void {
    this.counts.cuts++;
    const add = (by: number) => {
      for (const [from, to] of paths) {
        const key = `${from} ${to}`;
        this.#cuts.set(key, Math.max(0, (this.#cuts.get(key) ?? 0) + by));
      }
    };
    add(1);
    for (const one of [...this.#connections]) {
      if (breaks && this.isCut(one.from, one.to)) one.reset('ECONNRESET');
    }
    this.#options.loop.after(durationMs, () => {
      add(-1);
      for (const one of [...this.#connections]) one.pump();
    });
  }

  /** Nothing passes any more: the source is lost to the standby. */
  sever(): void {
    this.#isGone = true;
  }

  heal(): void {
    this.#faultsOn = false;
    this.#cuts.clear();
    for (const one of [...this.#connections]) one.pump();
  }

  isCut(from: number, to: number): boolean {
    return this.#isGone || (this.#cuts.get(`${from} ${to}`) ?? 0) > 0;
  }

  /** How long something takes from one side to the other. */
  get delayMs(): number {
    return this.#latencyMs * (0.5 + this.#options.random.next());
  }

  happens(kind: keyof Odds): boolean {
    if (!this.#faultsOn || this.#odds[kind] === 0) return false;
    return this.#options.random.chance(this.#odds[kind]);
  }

  forget(connection: Connection): void {
    this.#connections.delete(connection);
  }

  #ask(
    from: number,
    life: Life,
    address: string,
    body: string,
    listener: AnswerListener,
  ): SourceCall {
    this.counts.asked++;
    const to = this.#options.source.machineAt(address) ?? 0;
    const other = this.#sourceLives.get(to) ?? { isOver: true };
    const connection = new Connection(this, this.#options, { from, to, life, other }, listener);
    this.#connections.add(connection);
    if (this.isCut(from, to)) connection.resetAfter(CONNECT_MS, 'no connection');
    else if (other.isOver) connection.resetAfter(REFUSED_MS, 'ECONNREFUSED');
    else connection.ask(body);
    return connection;
  }
}

interface Ends {
  readonly from: number;
  readonly to: number;
  /** The process of the standby, and that of the source. */
  readonly life: Life;
  readonly other: Life;
}

/** One read, from the request to the end of its answer. */
class Connection implements SourceCall, Sink {
  readonly from: number;
  readonly to: number;
  readonly #life: Life;
  readonly #other: Life;
  readonly #network: SourceNetwork;
  readonly #options: SourceNetworkOptions;
  readonly #listener: AnswerListener;
  #answering: Answering | null = null;
  /** On its way, in order; null stands for the end of the answer. */
  readonly #pieces: (Uint8Array | null)[] = [];
  #bytes = 0;
  #isBlocked = false;
  #isPaused = false;
  #isOver = false;
  #isClosed = false;
  /** Nothing arrives before: pieces keep their order. */
  #readyMs = 0;
  #isMoving = false;

  constructor(
    network: SourceNetwork,
    options: SourceNetworkOptions,
    { from, to, life, other }: Ends,
    listener: AnswerListener,
  ) {
    this.#network = network;
    this.#options = options;
    this.from = from;
    this.to = to;
    this.#life = life;
    this.#other = other;
    this.#listener = listener;
  }

  // --- the standby's end -------------------------------------------------------------------------

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.pump();
  }

  close(): void {
    this.#isClosed = true;
    this.leave();
  }

  /** The standby lets go of it: the source hears of that later. */
  leave(): void {
    if (!this.#finish()) return;
    this.#options.loop.after(this.#network.delayMs, () => this.#letGo());
  }

  // --- the request -------------------------------------------------------------------------------

  ask(body: string): void {
    this.#options.loop.after(this.#network.delayMs, () => {
      if (this.#isOver) return;
      const request = parseReadRequest(body);
      if ('error' in request) throw new Error(`a standby asked what is refused: ${request.error}`);
      const { source } = this.#options;
      this.#enterSource(() => this.#take(source.read(this.to, request, this)));
    });
  }

  #enterSource(work: () => void): void {
    if (this.#other.isOver) return;
    this.#options.source.enter(this.to, () => {
      if (!this.#other.isOver) work();
    });
  }

  #enterStandby(work: () => void): void {
    if (this.#life.isOver) return;
    this.#options.standby.enter(this.from, () => {
      if (!this.#life.isOver && !this.#isClosed) work();
    });
  }

  #take(answer: Answering | string | null): void {
    if (answer === null) this.resetAfter(REFUSED_MS, 'ECONNREFUSED');
    else if (typeof answer === 'string') this.resetAfter(REFUSED_MS, answer);
    else {
      this.#answering = answer;
      if (this.#isOver) this.#letGo();
    }
  }

  // --- the source's end --------------------------------------------------------------------------

  write(parts: readonly Uint8Array[]): boolean {
    if (this.#isOver) return true;
    let bytes = 0;
    for (const part of parts) bytes += part.length;
    const whole = new Uint8Array(bytes);
    let at = 0;
    for (const part of parts) {
      whole.set(part, at);
      at += part.length;
    }
    const { random } = this.#options;
    for (let from = 0; from < bytes; ) {
      const to = Math.min(bytes, from + random.between(1, PIECE_BYTES_MAX));
      this.#pieces.push(whole.subarray(from, to));
      from = to;
    }
    this.#bytes += bytes;
    this.#isBlocked = this.#bytes >= WINDOW_BYTES;
    this.pump();
    return !this.#isBlocked;
  }

  end(): void {
    this.#pieces.push(null);
    this.pump();
  }

  cut(): void {
    this.reset('the connection broke within the answer');
  }

  // --- between -----------------------------------------------------------------------------------

  /** Sends the next piece on its way, unless something holds it back. */
  pump(): void {
    const { loop } = this.#options;
    if (this.#isMoving || this.#isOver || this.#pieces.length === 0) return;
    const atMs = Math.max(loop.nowMs + this.#network.delayMs, this.#readyMs);
    this.#readyMs = atMs;
    this.#isMoving = true;
    loop.after(atMs - loop.nowMs, () => {
      this.#isMoving = false;
      this.#arrive();
    });
  }

  #arrive(): void {
    const network = this.#network;
    const { loop, random } = this.#options;
    if (this.#isOver || this.#isPaused || network.isCut(this.from, this.to)) return;
    if (network.happens('break')) {
      network.counts.broken++;
      this.reset('the connection broke within the answer');
      return;
    }
    if (network.happens('stall')) {
      network.counts.stalled++;
      this.#isMoving = true;
      loop.after(random.pick(STALL_MS), () => {
        this.#isMoving = false;
        this.pump();
      });
      return;
    }
    const piece = this.#pieces.shift();
    if (piece === undefined) return;
    if (piece === null) this.#deliver(() => this.#listener.onEnd(), true);
    else this.#deliver(() => this.#listener.onBytes(this.#passed(piece)), false);
    this.#makeRoom(piece?.length ?? 0);
    this.pump();
  }

  /** As it arrives. */
  #passed(piece: Uint8Array): Uint8Array {
    if (!this.#network.happens('flip')) return piece;
    const { random } = this.#options;
    this.#network.counts.flipped++;
    const flipped = piece.slice();
    const at = random.between(0, flipped.length - 1);
    flipped[at] = (flipped[at] ?? 0) ^ (1 << random.between(0, 7));
    return flipped;
  }

  #makeRoom(bytes: number): void {
    this.#bytes -= bytes;
    if (!this.#isBlocked || this.#bytes >= WINDOW_BYTES / 2) return;
    this.#isBlocked = false;
    const answering = this.#answering;
    if (answering !== null) this.#enterSource(() => answering.onRoom());
  }

  #deliver(work: () => void, isLast: boolean): void {
    if (isLast) this.#finish();
    this.#enterStandby(work);
  }

  resetAfter(delayMs: number, why: string): void {
    this.#options.loop.after(delayMs, () => this.reset(why));
  }

  /** Both ends hear that it broke. */
  reset(why: string): void {
    if (!this.#finish()) return;
    const { loop } = this.#options;
    loop.after(this.#network.delayMs, () => {
      this.#enterStandby(() => this.#listener.onFailure(`http://machine-${this.to}: ${why}`));
    });
    loop.after(this.#network.delayMs, () => this.#letGo());
  }

  #letGo(): void {
    const answering = this.#answering;
    this.#answering = null;
    if (answering !== null) this.#enterSource(() => answering.cancel());
  }

  /** False: it was over already. */
  #finish(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#pieces.length = 0;
    this.#network.forget(this);
    return true;
  }
}
