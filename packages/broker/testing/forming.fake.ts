/**
 * Machines that form clusters over a network that loses, repeats, delays and reorders frames, and
 * keeps some for so long that both sides have been started anew or emptied when they arrive. Time
 * and chance are the test's.
 */

import { DiskError } from '@svc/storage';
import { SimulatedDisk } from '@svc/storage/testing';
import { uuidV7 } from '@svc/wire';
import { readConfig } from '../config/config.js';
import { type FormingRecord, readForming } from '../consensus/forming-record.js';
import { decodeCard, encodeCard } from '../forming/card.js';
import { Forming } from '../forming/forming.js';
import { PeerCalls } from '../peers/calls.js';
import type { PeerChannel, PeerPort } from '../peers/port.js';
import type { Cancel, Clock } from '../system/clock.js';
import { createLogger } from '../system/logging.js';

const DIRECTORY = '/data';
/** Beside the time that an answer is waited for: some come when nobody waits any more. */
const LATE_MS_MAX = 1500;

interface Event {
  readonly atMs: number;
  readonly order: number;
  work: (() => void) | null;
}

export class FormingWorld {
  readonly machines: readonly FormingMachine[];
  nowMs = 0;
  /** Nothing is lost or late any more. */
  calm = false;
  /** Runs after every event. */
  onEvent: () => void = () => {};
  #seed: number;
  readonly #events: Event[] = [];
  #orders = 0;

  constructor(seed: number, count: number) {
    this.#seed = seed;
    this.machines = Array.from({ length: count }, (_, at) => new FormingMachine(this, at + 1));
  }

  /** 0 <= x < 1. */
  random(): number {
    this.#seed = (this.#seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#seed ^ (this.#seed >>> 15), 1 | this.#seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(part: number): boolean {
    return this.random() < part;
  }

  after(delayMs: number, work: () => void): Cancel {
    const event: Event = { atMs: this.nowMs + Math.max(0, delayMs), order: this.#orders++, work };
    this.#events.push(event);
    return () => {
      event.work = null;
    };
  }

  /** Ends early once `isDone`. */
  run(ms: number, isDone: () => boolean = () => false): void {
    const untilMs = this.nowMs + ms;
    while (!isDone()) {
      let next = 0;
      this.#events.forEach((event, at) => {
        const best = this.#events[next];
        if (best === undefined || event.atMs > best.atMs) return;
        if (event.atMs < best.atMs || event.order < best.order) next = at;
      });
      const event = this.#events[next];
      if (event === undefined || event.atMs > untilMs) {
        this.nowMs = untilMs;
        return;
      }
      this.#events.splice(next, 1);
      this.nowMs = event.atMs;
      event.work?.();
      if (event.work !== null) this.onEvent();
    }
  }

  deliver(from: number, to: number, channel: PeerChannel, frame: Uint8Array): void {
    if (!this.calm && this.chance(0.1)) return;
    const copies = !this.calm && this.chance(0.1) ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) {
      const isLate = !this.calm && this.chance(0.2);
      this.after(this.random() * (isLate ? LATE_MS_MAX : 20), () => {
        this.machines[to - 1]?.receive(from, channel, frame);
      });
    }
  }
}

export class FormingMachine {
  readonly number: number;
  /** Which of its directories this is. */
  directory = 1;
  disk: SimulatedDisk;
  #forming: Forming | null = null;
  #port: PeerPort | null = null;
  #life = 0;
  #read: { disk: SimulatedDisk; syncs: number; record: FormingRecord | null } | null = null;
  readonly #world: FormingWorld;

  constructor(world: FormingWorld, number: number) {
    this.#world = world;
    this.number = number;
    this.disk = this.#newDisk();
  }

  #newDisk(): SimulatedDisk {
    return new SimulatedDisk({ seed: 1 + Math.floor(this.#world.random() * 2 ** 30) });
  }

  get running(): boolean {
    return this.#forming !== null;
  }

  /** What the directory remembers, also while nobody runs on it. */
  get record(): FormingRecord | null {
    const { disk } = this;
    if (this.#read?.disk !== disk || this.#read.syncs !== disk.syncs) {
      this.#read = { disk, syncs: disk.syncs, record: readForming(disk, DIRECTORY) };
    }
    return this.#read.record;
  }

  start(environment: Readonly<Record<string, string>> = {}): void {
    const world = this.#world;
    const life = ++this.#life;
    const port: PeerPort = {
      send: (to, channel, parts) => {
        if (life === this.#life) world.deliver(this.number, to, channel, Buffer.concat(parts));
        return true;
      },
      onFrame: () => {},
      onUnreachable: () => {},
    };
    this.#port = port;
    this.#guard(() => {
      const calls = new PeerCalls({ port, clock: this.#clock(life), random: () => world.random() });
      calls.serve('ask', (call) => {
        const card = decodeCard(call.body);
        if (card !== null) this.#forming?.heard(card);
        const own = this.#forming?.card([], []);
        if (own !== undefined) call.answer([encodeCard(own)]);
      });
      this.#forming = new Forming({
        config: this.#config(environment),
        disk: this.disk,
        clock: this.#clock(life),
        random: {
          fraction: () => world.random(),
          newUuid: (nowUs) => uuidV7(nowUs, 1, 2, 3),
          fill: () => {},
        },
        logger: createLogger({ level: 'off', json: false }, () => {}),
        calls,
        readableVersion: 5,
      });
      this.#forming.start(() => {});
    });
  }

  #config(environment: Readonly<Record<string, string>>) {
    const peers = this.#world.machines.map(({ number }) => `${number}=h${number}:7400/h:1`);
    const config = readConfig({
      SVC_RAFT_DIR: DIRECTORY,
      SVC_RAFT_REPLICATOR: 'raft',
      SVC_RAFT_NODE_ID: `${this.number}`,
      SVC_RAFT_PEERS: peers.join(','),
      ...environment,
    });
    if (config.kind === 'refused') throw new Error(config.error);
    return config;
  }

  #clock(life: number): Clock {
    const world = this.#world;
    const mine = (work: () => void) => () => {
      if (life === this.#life) this.#guard(work);
    };
    const every = (periodMs: number, work: () => void): Cancel => {
      let cancel: Cancel = () => {};
      const again = () => {
        cancel = world.after(periodMs, () => {
          if (life !== this.#life) return;
          again();
          this.#guard(work);
        });
      };
      again();
      return () => cancel();
    };
    return {
      wallUs: () => Math.floor(world.nowMs * 1000),
      nowMs: () => world.nowMs,
      soon: (work) => world.after(0, mine(work)),
      after: (delayMs, work) => world.after(delayMs, mine(work)),
      every,
    };
  }

  receive(from: number, channel: PeerChannel, frame: Uint8Array): void {
    const port = this.#port;
    if (port !== null) this.#guard(() => port.onFrame(from, channel, frame));
  }

  /** A member asks this node, whose list does not name it. */
  hear(member: FormingMachine | undefined): void {
    const card = member === undefined ? undefined : member.#forming?.card([], []);
    if (card !== undefined) this.#forming?.heard(card);
  }

  /** The process ends, at once or at one of the next writes to the disk. */
  crash(): void {
    this.#read = null;
    this.#life++;
    this.#forming = null;
    this.#port = null;
    this.disk.crash('power');
  }

  crashAtWrite(): void {
    this.disk.failNext(this.#world.chance(0.5) ? 'write' : 'rename', 'EIO');
  }

  wipe(): void {
    this.crash();
    this.directory++;
    this.disk = this.#newDisk();
  }

  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.crash();
    }
  }
}
