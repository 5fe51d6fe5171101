/**
 * A group of nodes in one thread: the real class, a fake disk and clock each, one fake network.
 * Time moves only when a test says so. The judge sees everything that happens.
 */
import { assert } from '../assert.js';
import { type Configuration, configuration } from '../configuration.js';
import { decodeConfiguration } from '../configuration-codec.js';
import { type LogIndex, logIndex, type NodeId, nodeId } from '../identifiers.js';
import { REFUSED_REASONS } from '../intake.js';
import type { RaftSettings } from '../options.js';
import { Raft } from '../raft.js';
import type { Proposal, Ready, Role, Status } from '../ready.js';
import type { Snapshot } from '../storage.js';
import { Chance } from './chance.js';
import { FakeDisk } from './disk.fake.js';
import { Judge } from './judge.js';
import { FakeNetwork } from './network.fake.js';

export const ELECTION_MS = 100;
export const HEARTBEAT_MS = 10;

/** What a node's checkpoint holds; survives a crash. */
interface Checkpoint {
  readonly applied: LogIndex;
  readonly digest: number;
  readonly configuration: Configuration;
  readonly configurationIndex: LogIndex;
}

export interface GroupOptions {
  readonly nodes: number;
  readonly seed?: number;
  readonly settings?: Partial<RaftSettings>;
  /** Nodes that exist but are in no configuration yet. */
  readonly spares?: number;
  readonly diskShowsAccepted?: boolean;
  /** How many of the applied entries stay in the log; Infinity never compacts. */
  readonly keepEntries?: number;
}

/** Everything of one node that is not the class under test. */
export class FakeNode {
  readonly id: NodeId;
  readonly disk: FakeDisk;
  raft: Raft | undefined;
  state: Checkpoint;
  checkpoint: Checkpoint;
  /** The disk takes writes and reports nothing. */
  diskHangs = false;
  paused = false;
  /** It lost entries; the marker that a host keeps on disk until the core recovered. */
  recovering = false;
  readonly reads: Map<number, LogIndex> = new Map();
  readonly readAnswers: Map<number, LogIndex | undefined> = new Map();
  lastRole: Role = 'follower';
  lastCommit: LogIndex = logIndex(0);

  constructor(id: NodeId, disk: FakeDisk, founding: Checkpoint) {
    this.id = id;
    this.disk = disk;
    this.state = founding;
    this.checkpoint = founding;
  }
}

export class FakeGroup {
  readonly chance: Chance;
  readonly network: FakeNetwork;
  readonly judge = new Judge();
  readonly nodes: Map<NodeId, FakeNode> = new Map();
  readonly #options: GroupOptions;
  nowMs = 0;
  /** Somebody forges messages: what follows from them may be refused. */
  forgers = false;

  constructor(options: GroupOptions) {
    this.#options = options;
    this.chance = new Chance(options.seed ?? 1);
    this.network = new FakeNetwork(this.chance);
    const voters = Array.from({ length: options.nodes }, (_, i) => nodeId(i + 1));
    const total = options.nodes + (options.spares ?? 0);
    for (let id = 1; id <= total; id++) {
      const founding: Checkpoint = {
        applied: logIndex(0),
        digest: 0,
        configuration: configuration(voters),
        configurationIndex: logIndex(0),
      };
      const disk = new FakeDisk(options.diskShowsAccepted ?? false);
      this.nodes.set(nodeId(id), new FakeNode(nodeId(id), disk, founding));
      this.start(id);
    }
  }

  get ids(): readonly number[] {
    return [...this.nodes.keys()];
  }

  node(id: number): FakeNode {
    const node = this.nodes.get(nodeId(id));
    assert(node !== undefined, `no node ${id}`);
    return node;
  }

  raft(id: number): Raft {
    const { raft } = this.node(id);
    assert(raft !== undefined, `node ${id} is down`);
    return raft;
  }

  status(id: number): Status {
    return this.raft(id).status();
  }

  /** The leader of the highest term among running nodes that report to be leading. */
  leader(): number | undefined {
    let best: Status | undefined;
    for (const { raft } of this.nodes.values()) {
      const status = raft?.status();
      if (status?.leading !== true) continue;
      if (best === undefined || status.term > best.term) best = status;
    }
    return best?.id;
  }

  start(id: number): void {
    const node = this.node(id);
    assert(node.raft === undefined, `node ${id} runs already`);
    const { installed } = node.disk;
    if (installed !== undefined && installed.index > node.checkpoint.applied) {
      node.checkpoint = stateOf(installed);
    }
    node.state = node.checkpoint;
    node.lastRole = 'follower';
    node.lastCommit = logIndex(0);
    node.raft = new Raft({
      id: node.id,
      nowMs: this.nowMs,
      random: this.chance.next,
      storage: node.disk,
      hardState: node.disk.hardState,
      configuration: node.state.configuration,
      configurationIndex: node.state.configurationIndex,
      applied: node.state.applied,
      recovering: node.recovering,
      settings: {
        electionTimeoutMs: ELECTION_MS,
        heartbeatMs: HEARTBEAT_MS,
        leaseMarginMs: HEARTBEAT_MS,
        appendStuckMs: ELECTION_MS,
        ...this.#options.settings,
      },
    });
  }

  crash(id: number, survivingWrites = 0): void {
    const node = this.node(id);
    node.raft = undefined;
    node.diskHangs = false;
    node.paused = false;
    node.disk.crash(survivingWrites);
    node.reads.clear();
  }

  /** A node that is down loses the end of its log, as far as its checkpoint can do without. */
  lose(id: number, keep: number): void {
    const node = this.node(id);
    assert(node.raft === undefined, `node ${id} runs`);
    node.disk.lose(logIndex(Math.max(keep, node.checkpoint.applied)));
    node.recovering = true;
  }

  propose(id: number, text: string): Proposal {
    const data = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    return this.raft(id).propose(data);
  }

  /** Begins a read; the judge compares its answer with what is visible now. */
  read(id: number): number | undefined {
    const ticket = this.raft(id).readIndex(this.nowMs);
    if (!ticket.accepted) return undefined;
    this.node(id).reads.set(ticket.id, this.judge.settledIndex);
    return ticket.id;
  }

  cutOff(id: number): void {
    for (const other of this.ids) {
      if (other !== id) this.network.cutBoth(nodeId(id), nodeId(other));
    }
  }

  /** Lets time pass in steps; after each, everything that has arrived and synced is handled. */
  pass(ms: number, stepMs = 5): void {
    const endMs = this.nowMs + ms;
    while (this.nowMs < endMs) {
      this.nowMs += Math.min(stepMs, endMs - this.nowMs);
      for (const node of this.nodes.values()) {
        if (!node.paused) node.raft?.tick(this.nowMs);
      }
      this.settle();
    }
  }

  passUntil(condition: () => boolean, msMax = 50 * ELECTION_MS): void {
    const endMs = this.nowMs + msMax;
    while (!condition()) {
      if (this.nowMs >= endMs) assert(false, `nothing within ${msMax} ms:\n${this.picture()}`);
      this.pass(HEARTBEAT_MS / 2);
    }
  }

  /** One line a node, for the message of a failure. */
  picture(): string {
    const lines = [...this.nodes.values()].map((node) => {
      if (node.raft === undefined) return `${node.id}: down`;
      const { peers, configuration: config, ...rest } = node.raft.status();
      return [rest, config, ...peers].map((part) => JSON.stringify(part)).join('\n    ');
    });
    return lines.join('\n');
  }

  /** Without time passing: hands on messages and syncs until nothing is left to do. */
  settle(): void {
    for (;;) {
      for (const node of this.nodes.values()) this.handleReady(node);
      for (const node of this.nodes.values()) this.syncAll(node);
      const arrived = this.network.receive(this.nowMs);
      if (arrived.length === 0 && !this.#anyReady()) return;
      for (const message of arrived) this.deliver(message);
    }
  }

  deliver(message: Parameters<Raft['step']>[0]): void {
    const node = this.node(message.to);
    if (node.raft === undefined || node.paused) return;
    const before = node.raft.counters();
    node.raft.step(message);
    const after = node.raft.counters();
    this.#observe(node);
    const refused = REFUSED_REASONS.find((reason) => after[reason] !== before[reason]);
    if (this.forgers) return;
    assert(refused === undefined, `node ${node.id} refused a peer's ${message.type}: ${refused}`);
  }

  handleReady(node: FakeNode): void {
    const { raft } = node;
    if (raft === undefined || node.paused) return;
    while (raft.hasReady()) this.#carryOut(node, raft.ready());
  }

  syncAll(node: FakeNode): void {
    while (node.disk.writesUnderWay > 0 && !node.diskHangs) this.syncOne(node);
  }

  syncOne(node: FakeNode): void {
    const messages = node.disk.sync();
    for (const message of messages) {
      if (message.to === node.id) node.raft?.step(message);
      else this.network.send(message, this.nowMs);
    }
    this.#observe(node);
  }

  #anyReady(): boolean {
    for (const node of this.nodes.values()) {
      if (!node.paused && node.raft?.hasReady() === true) return true;
      if (node.disk.writesUnderWay > 0 && !node.diskHangs) return true;
    }
    return false;
  }

  #carryOut(node: FakeNode, ready: Ready): void {
    for (const message of ready.messages) this.network.send(message, this.nowMs);
    if (node.recovering && ready.softState?.recovering === false) {
      node.recovering = false;
      node.disk.recovered();
    }
    if (ready.snapshot !== undefined) this.#install(node, ready.snapshot);
    const writes = ready.hardState !== undefined || ready.entries.length > 0;
    if (writes || ready.snapshot !== undefined || ready.afterDurable.length > 0) {
      node.disk.accept(ready);
      this.judge.writes(node.id, ready.entries, node.disk);
    }
    this.#apply(node, ready);
    for (const { id, index } of ready.readStates) {
      const begunAt = node.reads.get(id);
      assert(begunAt !== undefined, `node ${node.id} ends a read ${id} that never began`);
      node.reads.delete(id);
      node.readAnswers.set(id, index);
      if (index !== undefined) this.judge.reads(node.id, begunAt, index);
    }
    this.#observe(node);
  }

  #apply(node: FakeNode, ready: Ready): void {
    const disks = [...this.nodes.values()].map((one) => one.disk);
    const status = this.status(node.id);
    for (const entry of ready.committed) {
      assert(
        node.disk.durableTerm(entry.index) === entry.term,
        `node ${node.id} applies ${entry.index} before its own disk holds it`,
      );
      this.judge.applies(status, entry, node.state.applied, disks);
      const changes = entry.type === 'configuration';
      node.state = {
        applied: entry.index,
        digest: this.judge.digestAt(entry.index),
        configuration: changes
          ? decodeConfiguration(entry.data).configuration
          : node.state.configuration,
        configurationIndex: changes ? entry.index : node.state.configurationIndex,
      };
    }
    if (ready.committed.length === 0) return;
    node.raft?.applied(node.state.applied);
    this.#compact(node);
  }

  #compact(node: FakeNode): void {
    const keep = this.#options.keepEntries ?? Infinity;
    if (node.state.applied - node.disk.durableBase() < 2 * keep) return;
    this.takeCheckpoint(node);
    node.disk.compact(logIndex(node.state.applied - keep));
  }

  /** The state reaches the disk, and is offered to peers. */
  takeCheckpoint(node: FakeNode): void {
    const { applied } = node.state;
    const appliedTerm = node.disk.durableTerm(applied);
    if (appliedTerm === undefined) return;
    node.checkpoint = node.state;
    const manifest = new Uint8Array(4);
    new DataView(manifest.buffer).setUint32(0, node.state.digest);
    node.disk.newestSnapshot = {
      index: applied,
      term: appliedTerm,
      configuration: node.state.configuration,
      configurationIndex: node.state.configurationIndex,
      manifest,
    };
  }

  #install(node: FakeNode, snapshot: Snapshot): void {
    const { index } = snapshot;
    const { digest } = stateOf(snapshot);
    assert(digest === this.judge.digestAt(index), `snapshot at ${index} has another digest`);
    node.state = stateOf(snapshot);
  }

  #observe(node: FakeNode): void {
    const status = node.raft?.status();
    if (status === undefined) return;
    if (status.role === 'leader') {
      this.judge.leads(node.id, status.term);
      if (node.lastRole !== 'leader') this.judge.completes(node.id, status.term, node.disk);
      if (status.commit > node.lastCommit) {
        this.judge.commits(status, new Map([...this.nodes].map(([id, one]) => [id, one.disk])));
      }
    }
    node.lastRole = status.role;
    node.lastCommit = status.commit;
  }
}

function stateOf(snapshot: Snapshot): Checkpoint {
  const { manifest, index, configuration: config, configurationIndex } = snapshot;
  const digest = new DataView(manifest.buffer, manifest.byteOffset).getUint32(0);
  return { applied: index, digest, configuration: config, configurationIndex };
}
