/**
 * A group of whole nodes in one thread: the real node, log, checkpoint and consensus of each over a
 * simulated disk, one clock that moves when a test says so, and one network that a test cuts.
 * Everything above HTTP is left out: a test speaks to a node's broker.
 */
import {
  type Key,
  type PopCommand,
  type PushCommand,
  type RefusedOutcome,
  TABLES,
} from '@svc/engine';
import type {
  DeliveredOutcome,
  FetchedOutcome,
  QueueListView,
  Reply,
  SubmittedOutcome,
} from '@svc/http';
import { SimulatedDisk } from '@svc/storage';
import { uuidV7 } from '@svc/wire';
import type { Cancel, Clock } from './clock.js';
import { readConfig } from './config.js';
import { createLogger } from './logging.js';
import { Node, type NodeOptions } from './node.js';
import { type OpenDirectory, openDirectory } from './node-directory.js';
import type { PeerChannel, PeerPort } from './peer-port.js';
import { StateStore } from './state-store.js';
import { SimulatedPlace } from './state-store-simulated.js';

export const TENANT = '00000000-0000-0000-0000-000000000001';
const START_US = 1_748_736_000_000_000;
const DISK_MS = 0.2;
const LATENCY_MS = 0.5;
export const ELECTION_MS = 100;
export const LEASE_SECONDS = 2;
const HEARTBEAT_MS = 20;

interface Event {
  readonly atMs: number;
  readonly order: number;
  work: (() => void) | null;
}

export interface GroupSetup {
  readonly founders: number;
  readonly seed?: number;
  readonly environment?: Readonly<Record<string, string>>;
  readonly digestEvery?: number;
  readonly purgeStep?: number;
}

/** The process of a machine ended itself. */
export class Ended extends Error {}

export class FakeGroup {
  readonly machines = new Map<number, FakeMachine>();
  readonly setup: GroupSetup;
  nowMs = 0;
  /** Frames that a test wants lost: by sender, receiver and channel. */
  lost: (from: number, to: number, channel: PeerChannel) => boolean = () => false;
  #events: Event[] = [];
  #orders = 0;
  #seed: number;

  constructor(setup: GroupSetup) {
    this.setup = setup;
    this.#seed = setup.seed ?? 1;
    for (let number = 1; number <= setup.founders; number++) this.#add(number, 'found');
    for (const machine of this.machines.values()) machine.start();
  }

  /** A machine with an empty directory that waits to be added. */
  join(number: number): FakeMachine {
    const machine = this.#add(number, 'join');
    machine.start();
    return machine;
  }

  #add(number: number, founding: 'found' | 'join'): FakeMachine {
    const machine = new FakeMachine(this, number, founding);
    this.machines.set(number, machine);
    return machine;
  }

  machine(number: number): FakeMachine {
    const machine = this.machines.get(number);
    if (machine === undefined) throw new Error(`no machine ${number}`);
    return machine;
  }

  /** 0 <= x < 1. */
  random(): number {
    this.#seed = (Math.imul(this.#seed, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#seed / 2 ** 32;
  }

  after(delayMs: number, work: () => void): Cancel {
    const event: Event = { atMs: this.nowMs + Math.max(0, delayMs), order: this.#orders++, work };
    this.#events.push(event);
    return () => {
      event.work = null;
    };
  }

  run(ms: number): void {
    const untilMs = this.nowMs + ms;
    while (this.#step(untilMs));
    this.nowMs = untilMs;
  }

  /** Runs until `reached`; a test that waits in vain fails here. */
  until(what: string, reached: () => boolean, msMax = 20_000): void {
    const untilMs = this.nowMs + msMax;
    while (!reached()) {
      if (!this.#step(untilMs))
        throw new Error(`${what}: not within ${msMax} ms\n${this.picture()}`);
    }
  }

  /** Runs until the promise is settled; promises go on between two steps. */
  async finish(what: string, promise: Promise<void>, msMax = 20_000): Promise<void> {
    let done = false;
    const settled = promise.finally(() => {
      done = true;
    });
    const untilMs = this.nowMs + msMax;
    for (;;) {
      await new Promise((resolve) => void setImmediate(resolve));
      if (done) break;
      if (!this.#step(untilMs)) throw new Error(`${what}: not within ${msMax} ms`);
    }
    return settled;
  }

  #step(untilMs: number): boolean {
    let next: Event | undefined;
    for (const event of this.#events) {
      if (event.work === null) continue;
      const sooner =
        next === undefined ||
        event.atMs < next.atMs ||
        (event.atMs === next.atMs && event.order < next.order);
      if (sooner) next = event;
    }
    if (next === undefined || next.atMs > untilMs) return false;
    const { work } = next;
    next.work = null;
    this.#events = this.#events.filter((event) => event.work !== null);
    this.nowMs = Math.max(this.nowMs + 0.001, next.atMs);
    work?.();
    return true;
  }

  get leaders(): FakeMachine[] {
    return [...this.machines.values()].filter((machine) => machine.leads);
  }

  /** The one machine that leads in the newest term; waits for it. */
  leader(): FakeMachine {
    this.until('a leader', () => this.leaders.length > 0);
    const [newest] = this.leaders.sort((a, b) => b.status.term - a.status.term);
    return newest as FakeMachine;
  }

  /** All running machines have applied the same entries and hold the same rows. */
  converge(): void {
    this.until('the same applied index everywhere', () => {
      const all = this.#running().map(({ node }) => node?.consensusStatus());
      return new Set(all.flatMap((each) => [each?.applied, each?.lastIndex])).size === 1;
    });
    const digests = this.#running().map((machine) => machine.parts?.state.stateDigest());
    if (new Set(digests).size !== 1) throw new Error(`states differ\n${this.picture()}`);
  }

  #running(): FakeMachine[] {
    return [...this.machines.values()].filter((machine) => machine.node !== null);
  }

  picture(): string {
    const lines = [...this.machines.values()].map(({ number, node, ended }) => {
      if (node === null) return `${number}: down ${ended ?? ''}`;
      const status = node.consensusStatus();
      if (status === null) return `${number}: starting`;
      const { role, leading, term, commit, applied, lastIndex, configuration } = status;
      const voters = configuration.voters.map((id) => Math.floor(id / 2 ** 32));
      const place = `commit ${commit} applied ${applied} last ${lastIndex}`;
      return `${number}: ${role} ${leading} term ${term} ${place} voters ${voters}`;
    });
    return `${this.nowMs.toFixed(1)} ms\n${lines.join('\n')}`;
  }

  deliver(from: number, to: number, channel: PeerChannel, frame: Uint8Array): void {
    if (this.lost(from, to, channel)) return;
    this.after(LATENCY_MS * (1 + this.random()), () => {
      this.machines.get(to)?.receive(from, channel, frame);
    });
  }

  /** Cuts `inside` off from everybody else, in both directions. */
  isolate(...inside: readonly number[]): void {
    this.lost = (from, to) => inside.includes(from) !== inside.includes(to);
  }

  heal(): void {
    this.lost = () => false;
  }
}

export class FakeMachine {
  readonly number: number;
  disk: SimulatedDisk;
  readonly place: SimulatedPlace;
  readonly store: StateStore;
  readonly #group: FakeGroup;
  #founding: 'found' | 'join';
  node: Node | null = null;
  parts: OpenDirectory | null = null;
  ended: string | null = null;
  /** How often it was opened anew because of a snapshot. */
  reopened = 0;
  /** Added to what the wall clock shows. */
  skewUs = 0;
  #port: PeerPort | null = null;
  #life = 0;

  constructor(group: FakeGroup, number: number, founding: 'found' | 'join') {
    this.#group = group;
    this.number = number;
    this.#founding = founding;
    this.disk = this.#newDisk();
    this.place = new SimulatedPlace({ seed: number, defer: (run) => this.#later(run) });
    this.store = new StateStore(this.place);
  }

  #newDisk(): SimulatedDisk {
    const defer = (run: () => void) => this.#whenMoving(run);
    return new SimulatedDisk({ seed: this.number, defer });
  }

  /** A stalled disk keeps what it was asked for. */
  #whenMoving(run: () => void): void {
    this.#later(() => {
      if (this.disk.stalled) this.#whenMoving(run);
      else run();
    });
  }

  #later(run: () => void): void {
    const life = this.#life;
    this.#group.after(DISK_MS * (0.5 + this.#group.random()), () => {
      if (life === this.#life) this.#guard(run);
    });
  }

  start(): void {
    const life = this.#life;
    const options = this.#options(life);
    this.#guard(() => {
      openDirectory(options, this.store, (parts) => {
        this.parts = parts;
        this.node = new Node(options, { release: () => Promise.resolve() }, parts);
        this.node.join(() => {});
      });
    });
  }

  /** Changes a row behind the back of everything that applies entries. */
  spoil(): void {
    const [table] = TABLES;
    const row = { nextQueue: 1, nextPartition: 1, stampUs: 1 };
    if (table !== undefined) this.parts?.state.put(table, 'x' as Key, row);
  }

  /** Comes back with an empty directory, which waits to be added. */
  wipe(): void {
    this.crash();
    this.disk = this.#newDisk();
    for (const name of [...this.place.names()]) this.place.remove(name);
    this.#founding = 'join';
    this.start();
  }

  /** Ends the process: what was not synced may be lost with the power. */
  crash(kind: 'process' | 'power' = 'power'): void {
    this.#down();
    this.disk.crash(kind);
    this.place.crash();
  }

  #down(): void {
    this.#life++;
    this.node = null;
    this.parts = null;
    this.#port = null;
  }

  /** Stops it as SIGTERM does; the directory stays. */
  async stop(): Promise<void> {
    const { node } = this;
    if (node === null) return;
    await this.#group.finish(`stop of ${this.number}`, node.stop(), 120_000);
    this.#down();
  }

  restart(kind: 'process' | 'power' = 'power'): void {
    this.crash(kind);
    this.start();
  }

  receive(from: number, channel: PeerChannel, frame: Uint8Array): void {
    const port = this.#port;
    if (port !== null) this.#guard(() => port.onFrame(from, channel, frame));
  }

  get leads(): boolean {
    return this.node !== null && this.node.broker.leader !== null;
  }

  get status() {
    const status = this.node?.consensusStatus() ?? null;
    if (status === null) throw new Error(`machine ${this.number} is down`);
    return status;
  }

  /** Runs inside the process: an ending unwinds to here. */
  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!(error instanceof Ended)) throw error;
      this.ended = error.message;
      this.#down();
      this.disk.crash('process');
      this.place.crash();
    }
  }

  #options(life: number): NodeOptions {
    const group = this.#group;
    const clock = this.#clock(life);
    const port: PeerPort = {
      send: (to, channel, parts) => {
        if (life === this.#life) group.deliver(this.number, to, channel, Buffer.concat(parts));
        return true;
      },
      onFrame: () => {},
      onUnreachable: () => {},
    };
    this.#port = port;
    const peers = Array.from(
      { length: group.setup.founders },
      (_, i) => `${i + 1}=node-${i + 1}:7400/node-${i + 1}:6632`,
    );
    if (this.number > group.setup.founders) {
      peers.push(`${this.number}=node-${this.number}:7400/node-${this.number}:6632`);
    }
    const config = readConfig({
      SVC_RAFT_DIR: '/data',
      SVC_RAFT_REPLICATOR: 'raft',
      SVC_RAFT_NODE_ID: `${this.number}`,
      SVC_RAFT_PEERS: peers.join(','),
      SVC_RAFT_ELECTION_MS: `${ELECTION_MS}`,
      SVC_RAFT_HEARTBEAT_MS: `${HEARTBEAT_MS}`,
      ...group.setup.environment,
    });
    if (config.kind === 'refused') throw new Error(config.error);
    const word = () => Math.floor(group.random() * 2 ** 32);
    return {
      config,
      disk: this.disk,
      clock,
      random: {
        fraction: () => group.random(),
        newUuid: (nowUs) => uuidV7(Math.floor(nowUs / 1000), word(), word(), word()),
      },
      logger: createLogger({ level: 'off', json: false }, () => {}),
      crash: { kind: 'unarmed', reach: () => {} },
      peers: port,
      founding: this.#founding,
      digestEvery: group.setup.digestEvery ?? 8,
      purgeStep: group.setup.purgeStep ?? 1024,
      onReopen: () => {
        group.after(1, () => {
          this.restart('process');
          this.reopened++;
        });
      },
      onFatal: (error) => {
        throw new Ended(error.message);
      },
    };
  }

  #clock(life: number): Clock {
    const group = this.#group;
    const originMs = group.nowMs;
    const after = (delayMs: number, work: () => void) =>
      group.after(delayMs, () => {
        if (life === this.#life) this.#guard(work);
      });
    return {
      wallUs: () => START_US + Math.floor(group.nowMs * 1000) + this.skewUs,
      nowMs: () => group.nowMs - originMs,
      soon: (work) => after(0, work),
      after,
      every: (periodMs, work) => {
        let cancelled = false;
        const again = () => {
          if (cancelled) return;
          after(periodMs, again);
          work();
        };
        after(periodMs, again);
        return () => {
          cancelled = true;
        };
      },
    };
  }

  // --- what clients ask ------------------------------------------------------------------------

  push(queue: string, id: string): Answers<SubmittedOutcome> {
    const answers = new Answers<SubmittedOutcome>();
    this.#guard(() => this.node?.broker.submit(pushOf(queue, id), answers));
    return answers;
  }

  pop(queue: string, waitMs = 0): Answers<DeliveredOutcome | RefusedOutcome> {
    const answers = new Answers<DeliveredOutcome | RefusedOutcome>();
    this.#guard(() => {
      const broker = this.node?.broker;
      broker?.pop(popOf(queue, waitMs, broker.monotonicMs() + waitMs), answers);
    });
    return answers;
  }

  queues(): Answers<QueueListView | RefusedOutcome> {
    const answers = new Answers<QueueListView | RefusedOutcome>();
    this.#guard(() => this.node?.broker.listQueues(TENANT, answers));
    return answers;
  }

  /** What this node itself has, from the start of the partition. */
  fetch(queue: string): Answers<FetchedOutcome | RefusedOutcome> {
    const answers = new Answers<FetchedOutcome | RefusedOutcome>();
    const entry = { queue, partition: 'p', offset: 0, maxBytes: 1000 };
    this.#guard(() => {
      const broker = this.node?.broker;
      const deadlineMs = broker?.monotonicMs() ?? 0;
      const limits = { minBytes: 0, maxWaitMs: 0, deadlineMs };
      broker?.fetch({ tenant: TENANT, entries: [entry], ...limits }, answers);
    });
    return answers;
  }

  deleteQueue(queue: string): Answers<SubmittedOutcome> {
    const answers = new Answers<SubmittedOutcome>();
    const command = { kind: 'delete-queue', tenant: TENANT, queue } as const;
    this.#guard(() => this.node?.broker.submit(command, answers));
    return answers;
  }

  inProcess(work: (node: Node) => void): void {
    const { node } = this;
    if (node !== null) this.#guard(() => work(node));
  }
}

/** Collects what a request was answered. */
export class Answers<Answer> implements Reply<Answer> {
  readonly all: Answer[] = [];
  onGone: (() => void) | null = null;
  gone = false;

  send(answer: Answer): boolean {
    this.all.push(answer);
    return !this.gone;
  }

  get one(): Answer {
    const [answer] = this.all;
    if (answer === undefined || this.all.length > 1) {
      throw new Error(`${this.all.length} answers instead of one`);
    }
    return answer;
  }
}

function pushOf(queue: string, id: string): PushCommand {
  const body = new TextEncoder().encode(JSON.stringify(id));
  return {
    kind: 'push',
    tenant: TENANT,
    producerSub: null,
    body,
    groups: [{ queue, partition: 'p' }],
    itemGroup: [0],
    transactionIds: [id],
    payloadStart: [0],
    payloadEnd: [body.length],
  };
}

function popOf(queue: string, waitMs: number, deadlineMs: number): PopCommand {
  return {
    kind: 'pop',
    tenant: TENANT,
    scope: { kind: 'queue', queue },
    consumerGroup: 'g',
    batch: 1,
    partitions: 1,
    autoAck: false,
    wait: waitMs > 0,
    deadlineMs,
    leaseSeconds: LEASE_SECONDS,
    subscription: { mode: 'all' },
  };
}
