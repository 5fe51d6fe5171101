/**
 * A group of whole nodes in one thread: the real node, log, checkpoint and consensus of each over a
 * simulated disk, one clock that moves when a test says so, and one network that a test cuts.
 * Everything above HTTP is left out: a test speaks to a node's broker.
 */
import {
  type AckCommand,
  CLUSTER_VERSION_READ,
  type Key,
  type RefusedOutcome,
  TABLES,
} from '@svc/engine';
import type {
  AckedPop,
  DeliveredOutcome,
  FetchedOutcome,
  MembershipChange,
  MembershipRefused,
  MembershipView,
  RaftMembersView,
  SubmittedCommand,
  SubmittedOutcome,
} from '@svc/http';
import { members, type NodeId } from '@svc/raft';
import { SimulatedDisk } from '@svc/storage/testing';
import { readConfig } from '../config/config.js';
import { incarnationOf } from '../config/member-id.js';
import { type OpenDirectory, openDirectory } from '../directory/node-directory.js';
import { StateStore } from '../directory/state-store.js';
import type { Card } from '../forming/card.js';
import { Node } from '../node/node.js';
import type { NodeOptions } from '../node/options.js';
import { PeerCalls } from '../peers/calls.js';
import type { PeerChannel, PeerPort } from '../peers/port.js';
import type { Cancel, Clock } from '../system/clock.js';
import { createLogger } from '../system/logging.js';
import { type Event, EventHeap } from './event-heap.fake.js';
import { Answers, ackOf, popOf, pushOf, TENANT } from './group-clients.fake.js';
import { askQueues, type QueueList } from './queue-list.fake.js';
import { randomSource } from './random-source.fake.js';
import { SimulatedPlace } from './state-store-simulated.js';

const START_US = 1_748_736_000_000_000;
const DISK_MS = 0.2;
const LATENCY_MS = 0.5;
export const ELECTION_MS = 100;
const HEARTBEAT_MS = 20;
/** The deadline of a pop that does not wait for messages. */
const POP_TIMEOUT_MS = 30_000;

export interface GroupSetup {
  readonly founders: number;
  readonly seed?: number;
  /** A test changes it before a restart. */
  environment?: Readonly<Record<string, string>>;
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
  readonly #events = new EventHeap();
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

  /** That of the first founder; here those who join do not take it over. */
  get clusterId(): string {
    return this.machine(1).parts?.identity.clusterId ?? '';
  }

  /** 0 <= x < 1. */
  random(): number {
    this.#seed = (Math.imul(this.#seed, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#seed / 2 ** 32;
  }

  after(delayMs: number, work: () => void): Cancel {
    const event: Event = { atMs: this.nowMs + Math.max(0, delayMs), order: this.#orders++, work };
    this.#events.add(event);
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
    const next = this.#events.first();
    if (next === undefined || next.atMs > untilMs) return false;
    this.#events.shift();
    const { work } = next;
    next.work = null;
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
      const all = this.#running().map(({ node }) => node?.parts.consensus.status());
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
      const status = node.parts.consensus.status();
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
  /** What its card is made to say. */
  saysInstead: Partial<Card> = {};
  /** Added to what the wall clock shows. */
  skewUs = 0;
  /** The newest effect catalogue that its build reads. */
  readVersion = CLUSTER_VERSION_READ;
  /** Periodic timers that run. */
  readonly periodic = new Set<object>();
  #port: PeerPort | null = null;
  /** The calls of its present life. */
  calls: PeerCalls | null = null;
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
        this.node = new Node(options, parts);
        this.node.join(() => {});
      });
    });
  }

  /** Changes a row behind the back of everything that applies entries. */
  spoil(): void {
    const [table] = TABLES;
    const row = { nextQueue: 1, nextPartition: 1, stampUs: 1, timerUs: 0 };
    if (table !== undefined) this.parts?.state.put(table, 'x' as Key, row);
  }

  /** Comes back with an empty directory, which waits to be added. */
  wipe(): void {
    this.empty();
    this.#founding = 'join';
    this.start();
  }

  /** Its process is gone, and so is all that it wrote. */
  empty(): void {
    this.crash();
    this.disk = this.#newDisk();
    for (const name of [...this.place.names()]) this.place.remove(name);
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
    this.periodic.clear();
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

  /** What it says of itself when it is asked; null while it is down. */
  card(): Card | null {
    if (this.node === null) return null;
    const { configuration } = this.status;
    const joining = configuration.voters.length === 0;
    return {
      node: this.number,
      incarnation: incarnationOf(this.node.member),
      state: joining ? 'joining' : 'member',
      clusterId: joining ? '' : this.#group.clusterId,
      pledge: null,
      founding: null,
      members: members(configuration),
      readableVersion: this.readVersion,
      listDigest: '',
      addresses: [],
      ...this.saysInstead,
    };
  }

  get leads(): boolean {
    return this.node !== null && this.node.parts.leadership.office !== null;
  }

  get status() {
    const status = this.node?.parts.consensus.status() ?? null;
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
      send: (to, channel, parts, sent) => {
        if (life === this.#life) group.deliver(this.number, to, channel, Buffer.concat(parts));
        sent?.();
        return true;
      },
      onFrame: () => {},
      onUnreachable: () => {},
    };
    this.#port = port;
    const calls = new PeerCalls({ port, clock, random: () => group.random() });
    this.calls = calls;
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
    return {
      config,
      disk: this.disk,
      clock,
      random: randomSource(() => group.random()),
      logger: createLogger({ level: 'off', json: false }, () => {}),
      crash: { kind: 'unarmed', reach: () => {} },
      peers: calls,
      calls,
      askCandidate: (peer, timeoutMs, done) => {
        const card = group.machines.get(peer.id)?.card() ?? null;
        clock.after(card === null ? timeoutMs : LATENCY_MS, () => done(card));
      },
      founding: this.#founding,
      readVersion: this.readVersion,
      digestEvery: group.setup.digestEvery ?? 8,
      logSpace: { purgeStep: group.setup.purgeStep ?? 1024 },
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
        const timer = {};
        this.periodic.add(timer);
        const again = () => {
          if (!this.periodic.has(timer)) return;
          after(periodMs, again);
          work();
        };
        after(periodMs, again);
        return () => void this.periodic.delete(timer);
      },
    };
  }

  // --- what clients ask ------------------------------------------------------------------------

  push(queue: string, id: string): Answers<SubmittedOutcome> {
    return this.submit(pushOf(queue, id, id));
  }

  /** A message without a transaction id: pushed twice, it is stored twice. */
  send(queue: string, text: string): Answers<SubmittedOutcome> {
    return this.submit(pushOf(queue, text, null));
  }

  submit(
    command: SubmittedCommand,
    answers = new Answers<SubmittedOutcome>(),
  ): Answers<SubmittedOutcome> {
    this.#guard(() => this.node?.broker.submit(command, answers));
    return answers;
  }

  /** Acks all that the pop delivered, up to its last message. */
  ack(delivered: DeliveredOutcome): Answers<SubmittedOutcome> {
    return this.submit(ackOf(delivered));
  }

  ackAndPop(acks: AckCommand, queue: string, waitMs = 0): Answers<AckedPop | RefusedOutcome> {
    const answers = new Answers<AckedPop | RefusedOutcome>();
    this.#guard(() => {
      const broker = this.node?.broker;
      const deadlineMs = (broker?.monotonicMs() ?? 0) + (waitMs > 0 ? waitMs : POP_TIMEOUT_MS);
      broker?.ackAndPop(acks, popOf(queue, waitMs, deadlineMs), answers);
    });
    return answers;
  }

  pop(
    queue: string,
    waitMs = 0,
    answers = new Answers<DeliveredOutcome | RefusedOutcome>(),
    batch = 1,
  ): Answers<DeliveredOutcome | RefusedOutcome> {
    this.#guard(() => {
      const broker = this.node?.broker;
      const deadlineMs = (broker?.monotonicMs() ?? 0) + (waitMs > 0 ? waitMs : POP_TIMEOUT_MS);
      broker?.pop({ ...popOf(queue, waitMs, deadlineMs), batch }, answers);
    });
    return answers;
  }

  queues(): Answers<QueueList | RefusedOutcome> {
    const answers = new Answers<QueueList | RefusedOutcome>();
    this.#guard(() => this.node && askQueues(this.node.broker, answers));
    return answers;
  }

  /** What this node itself has, from the start of the partition. */
  fetch(queue: string, partition = 'p', offset = 0): Answers<FetchedOutcome | RefusedOutcome> {
    const answers = new Answers<FetchedOutcome | RefusedOutcome>();
    const entry = { queue, partition, offset, maxBytes: 1000 };
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

  membership(): Answers<MembershipView | MembershipRefused> {
    const answers = new Answers<MembershipView | MembershipRefused>();
    this.#guard(() => this.node?.broker.membership(answers));
    return answers;
  }

  changeMembership(
    change: MembershipChange,
    timeoutMs = 30_000,
  ): Answers<MembershipView | MembershipRefused> {
    const answers = new Answers<MembershipView | MembershipRefused>();
    this.#guard(() => this.node?.broker.changeMembership(change, timeoutMs, answers));
    return answers;
  }

  raftMembers(): Answers<RaftMembersView | RefusedOutcome> {
    const answers = new Answers<RaftMembersView | RefusedOutcome>();
    this.#guard(() => this.node?.broker.raftMembers(answers));
    return answers;
  }

  /** Hands leadership to the member. */
  transfer(to: NodeId): void {
    this.inProcess((node) => void node.parts.consensus.transfer(to));
  }

  inProcess(work: (node: Node) => void): void {
    const { node } = this;
    if (node !== null) this.#guard(() => work(node));
  }
}
