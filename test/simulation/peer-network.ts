/**
 * What lies between the machines: a `PeerPort` for each, over paths that lose, repeat, delay,
 * overtake, corrupt and cut under one seed. A path is a pair (from, to); each direction has its own
 * fate. Machines are numbered from 1, as the operator numbers nodes.
 */
import type { PeerChannel, PeerPort } from '@svc/broker';
import type { SeededRandom } from '../seeded-random.js';
import type { Fault, FaultCounts } from './faults.js';
import type { SimulatedLoop } from './simulated-loop.js';

export interface PeerNetworkOptions {
  readonly loop: SimulatedLoop;
  readonly random: SeededRandom;
  readonly machines: number;
  readonly faults: ReadonlySet<Fault>;
  readonly counts: FaultCounts;
  /** Runs `work` in the process of a machine; false when none runs there. */
  readonly enter: (machine: number, work: () => void) => boolean;
  /** A frame that was corrupted on its way was taken in: the node must have refused it. */
  readonly onCorrupt: (machine: number, deliver: () => void) => void;
  /** Called with each frame that is sent, while somebody traces. */
  readonly onSend: ((from: number, to: number, frame: Uint8Array, fate: string) => void) | null;
}

/** How one path behaves while its faults last. */
interface Path {
  /** Faults that cut it now; it is open at 0. */
  cuts: number;
  /** Each frame is delayed by up to this much more. */
  clogMs: number;
  /** Without `reorder` nothing of the channel arrives before this; channels pass each other. */
  readonly lastAtMs: Map<PeerChannel, number>;
}

/** A queue to a peer is bounded in a process too: frames beyond it are dropped when sent. */
const FRAMES_ON_PATH_MAX = 4096;
const LATENCY_MS = [0.05, 0.3, 1, 8] as const;
/** How soon a sender learns that nobody listens there. */
const REFUSED_MS = 1;

export class PeerNetwork {
  readonly #options: PeerNetworkOptions;
  readonly #paths: Path[];
  readonly #ports = new Map<number, SimulatedPort>();
  readonly #latencyMs: number;
  readonly #odds: { readonly [kind in 'loss' | 'repeat' | 'reorder' | 'corrupt']: number };
  #faultsOn = true;
  frames = 0;
  bytes = 0;

  constructor(options: PeerNetworkOptions) {
    const { random, machines, faults } = options;
    this.#options = options;
    this.#paths = Array.from({ length: (machines + 1) ** 2 }, () => {
      return { cuts: 0, clogMs: 0, lastAtMs: new Map() };
    });
    this.#latencyMs = random.pick(LATENCY_MS);
    const odds = (fault: Fault, choices: readonly number[]) => {
      const drawn = random.pick(choices);
      return faults.has(fault) ? drawn : 0;
    };
    this.#odds = {
      loss: odds('loss', [0.001, 0.01, 0.1]),
      repeat: odds('repeat', [0.001, 0.01, 0.1]),
      reorder: odds('reorder', [0.01, 0.1, 0.5]),
      corrupt: odds('corrupt', [0.001, 0.01, 0.05]),
    };
  }

  /** The port for a new process on this machine; that of the last one is closed. */
  open(machine: number): PeerPort {
    this.close(machine);
    const port = new SimulatedPort((to, channel, parts) => this.#send(machine, to, channel, parts));
    this.#ports.set(machine, port);
    return port;
  }

  close(machine: number): void {
    const port = this.#ports.get(machine);
    if (port !== undefined) port.closed = true;
    this.#ports.delete(machine);
  }

  // --- faults of paths -------------------------------------------------------------------------

  /** Cuts the paths until `durationMs` have passed. */
  cut(paths: readonly (readonly [number, number])[], durationMs: number): void {
    for (const [from, to] of paths) this.#path(from, to).cuts++;
    this.#options.loop.after(durationMs, () => {
      for (const [from, to] of paths) {
        const path = this.#path(from, to);
        // Healing has opened all paths.
        if (path.cuts > 0) path.cuts--;
      }
    });
  }

  clog(from: number, to: number, delayMs: number, durationMs: number): void {
    const path = this.#path(from, to);
    path.clogMs = delayMs;
    this.#options.loop.after(durationMs, () => {
      path.clogMs = 0;
    });
  }

  heal(): void {
    this.#faultsOn = false;
    for (const path of this.#paths) {
      path.cuts = 0;
      path.clogMs = 0;
    }
  }

  // --- frames ----------------------------------------------------------------------------------

  #path(from: number, to: number): Path {
    return this.#paths[from * (this.#options.machines + 1) + to] as Path;
  }

  #send(from: number, to: number, channel: PeerChannel, parts: readonly Uint8Array[]): boolean {
    const { random, machines, onSend } = this.#options;
    if (to < 1 || to > machines || to === from) return false;
    if (this.#inFlight >= FRAMES_ON_PATH_MAX) return false;
    const path = this.#path(from, to);
    let frame = joined(parts);
    this.frames++;
    this.bytes += frame.length;
    if (path.cuts > 0 || this.#happens('loss')) {
      onSend?.(from, to, frame, path.cuts > 0 ? 'cut' : 'lost');
      return true;
    }
    const corrupted = this.#happens('corrupt');
    onSend?.(from, to, frame, corrupted ? 'corrupted' : '');
    if (corrupted) frame = corrupt(frame, random);
    this.#carry(from, to, channel, frame, corrupted);
    if (this.#happens('repeat')) this.#carry(from, to, channel, frame.slice(), corrupted);
    return true;
  }

  #inFlight = 0;

  #carry(
    from: number,
    to: number,
    channel: PeerChannel,
    frame: Uint8Array,
    corrupted: boolean,
  ): void {
    const { loop, random } = this.#options;
    const path = this.#path(from, to);
    let atMs = loop.nowMs + this.#latencyMs * (0.5 + random.next()) + path.clogMs * random.next();
    if (this.#happens('reorder')) atMs += this.#latencyMs * 10 * random.next();
    else atMs = Math.max(atMs, path.lastAtMs.get(channel) ?? 0);
    path.lastAtMs.set(channel, Math.max(path.lastAtMs.get(channel) ?? 0, atMs));
    this.#inFlight++;
    loop.schedule(atMs - loop.nowMs, null, () => {
      this.#inFlight--;
      this.#arrive(from, to, channel, frame, corrupted);
    });
  }

  #arrive(
    from: number,
    to: number,
    channel: PeerChannel,
    frame: Uint8Array,
    corrupted: boolean,
  ): void {
    const { enter, onCorrupt, loop } = this.#options;
    const port = this.#ports.get(to);
    if (port === undefined) {
      loop.schedule(REFUSED_MS, null, () => this.#refuse(from, to, channel));
      return;
    }
    enter(to, () => {
      if (port.closed) return;
      if (corrupted) onCorrupt(to, () => port.onFrame(from, channel, frame));
      else port.onFrame(from, channel, frame);
    });
  }

  #refuse(from: number, to: number, channel: PeerChannel): void {
    const port = this.#ports.get(from);
    if (port === undefined) return;
    this.#options.enter(from, () => {
      if (!port.closed) port.onUnreachable(to, channel);
    });
  }

  #happens(fault: 'loss' | 'repeat' | 'reorder' | 'corrupt'): boolean {
    const odds = this.#odds[fault];
    if (odds === 0 || !this.#faultsOn || !this.#options.random.chance(odds)) return false;
    this.#options.counts[fault]++;
    return true;
  }
}

type Send = (to: number, channel: PeerChannel, parts: readonly Uint8Array[]) => boolean;

class SimulatedPort implements PeerPort {
  onFrame: PeerPort['onFrame'] = () => {};
  onUnreachable: PeerPort['onUnreachable'] = () => {};
  closed = false;
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /** The frame is copied, so the memory of its parts is free at once. */
  send(to: number, channel: PeerChannel, parts: readonly Uint8Array[], sent?: () => void): boolean {
    const taken = !this.closed && this.#send(to, channel, parts);
    if (taken) sent?.();
    return taken;
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const frame = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    frame.set(part, at);
    at += part.length;
  }
  return frame;
}

/** One to three flipped bits of a byte, which a CRC-32 always shows, or a missing end. */
function corrupt(frame: Uint8Array, random: SeededRandom): Uint8Array {
  if (frame.length === 0) return frame;
  if (random.chance(0.3)) return frame.slice(0, random.between(0, frame.length - 1));
  const broken = frame.slice();
  const at = random.between(0, broken.length - 1);
  for (const bit of random.shuffled([0, 1, 2, 3, 4, 5, 6, 7]).slice(0, random.between(1, 3))) {
    broken[at] = (broken[at] ?? 0) ^ (1 << bit);
  }
  return broken;
}
