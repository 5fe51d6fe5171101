/**
 * One node: opens its directory, recovers, leads or follows, serves, and stops in order.
 *
 * Opening goes from the bottom up and stops at the first thing that cannot be trusted: directory
 * lock, identity, log, term and vote, checkpoint. What the checkpoint does not hold yet is replayed
 * from the log before the node calls itself ready and before the port is opened.
 *
 * Stopping goes from the top down: no new connections, parked pops answered, requests in flight
 * finished, a last checkpoint, files closed, lock released.
 */
import { readMeta } from '@svc/engine';
import {
  decodeConfiguration,
  type Entry,
  type Message,
  members as membersOf,
  NO_NODE,
  type NodeId,
  type SoftState,
  type Status,
  type Transfer,
} from '@svc/raft';
import { DiskError } from '@svc/storage';
import type { Membership } from '@svc/wire';
import { nodeNumber } from '../config/member-id.js';
import type { Peer } from '../config/peers.js';
import type { MemberChangeDone as ChangeDone } from '../consensus/consensus.js';
import { describeMembers, type MemberChange } from '../consensus/group-membership.js';
import { RoleLog } from '../consensus/role-log.js';
import {
  type DirectoryOptions,
  type OpenDirectory,
  openDirectory,
} from '../directory/node-directory.js';
import { StateStore } from '../directory/state-store.js';
import { LmdbPlace } from '../directory/state-store-lmdb.js';
import { ApplyTurns } from '../leader/apply-turns.js';
import type { Leader } from '../leader/leader.js';
import type { FrameContent } from '../peers/frames.js';
import type { Broker } from '../service/broker.js';
import type { Cancel } from '../system/clock.js';
import { clusterDirectoryRefused } from '../system/node-refusal.js';
import { type NodeEvents, NodeLayers } from './layers.js';
import { newLeader } from './leadership.js';
import type { NodeOptions } from './options.js';

/** How often the log's second witness is brought up to date. */
const LOG_TICK_MS = 250;
const DRAIN_POLL_MS = 10;
const DRAIN_MS_MAX = 60_000;
/** How soon a follower asks again whether it has caught up. */
const READY_RETRY_MS = 100;

/** Opens the directory, which is locked for this process, and recovers; nothing is served yet. */
export async function openNode(options: NodeOptions): Promise<Node> {
  const store = new StateStore(placeOf(options));
  const parts = await new Promise<OpenDirectory>((resolve) =>
    openDirectory(options, store, resolve),
  );
  return new Node(options, parts);
}

/** Where the stores of the state are kept. */
export function placeOf({ disk, config, logger }: DirectoryOptions): LmdbPlace {
  return new LmdbPlace({
    disk,
    directory: config.dataDirectory,
    mapBytes: config.mapBytes,
    report: (text) => logger.info('boot', text),
  });
}

export class Node {
  readonly #options: NodeOptions;
  readonly #parts: OpenDirectory;
  readonly #layers: NodeLayers;
  readonly #applyTurns: ApplyTurns;
  readonly #roles: RoleLog;
  #onServing: (() => void) | null = null;
  #stopTicking: Cancel | null = null;
  #retiring = false;
  #stopping = false;
  /** Why this node takes no part any more. */
  #failure: string | null = null;

  constructor(options: NodeOptions, parts: OpenDirectory) {
    this.#options = options;
    this.#parts = parts;
    const events: NodeEvents = {
      onCommitted: (entries) => this.#apply(entries),
      onRole: (role) => this.#follow(role),
      onWhole: (recovering) => this.#startConsensus(recovering),
      onUnfit: () => this.#passOn(),
      onReopen: () => this.#reopen(),
      stopping: () => this.#retiring || this.#stopping || this.#halted,
      failure: () => this.#failure,
    };
    this.#layers = new NodeLayers(options, parts, events);
    const { consensus } = this.#layers;
    this.#applyTurns = new ApplyTurns(options.clock, () => consensus.applyMore());
    this.#roles = new RoleLog({
      logger: options.logger,
      clock: options.clock,
      self: parts.self,
      electionMs: options.config.electionMs,
      status: () => consensus.status(),
      leaderSilenceMs: () => consensus.leaderSilenceMs,
    });
  }

  get #halted(): boolean {
    return this.#failure !== null;
  }

  /** What the front calls. */
  get broker(): Broker {
    return this.#layers.broker;
  }

  /** Set while this node leads. */
  get leader(): Leader | null {
    return this.#layers.leadership.leader;
  }

  /** Who this node is to consensus. */
  get member(): NodeId {
    return this.#parts.self;
  }

  get clusterId(): string {
    return this.#parts.identity.clusterId;
  }

  /** Where the members are to be reached. */
  addresses(): readonly Peer[] {
    return this.#layers.group.addresses();
  }

  /** It is no founder, and no configuration that it knows names it. */
  get waitsToBeAdded(): boolean {
    const { formed, self } = this.#parts;
    const founds = formed?.outcome?.founding != null;
    return !founds && !this.#layers.group.members().includes(self);
  }

  /** What stands between this node and serving, for the log. */
  describeWaiting(): string {
    const status = this.#layers.consensus.status();
    if (status === null) return 'the log is being mended with the help of the others';
    if (this.waitsToBeAdded) {
      const { nodeId, clusterId } = this.#parts.identity;
      return `this directory of node ${nodeId} waits to be added to its cluster ${clusterId}`;
    }
    const { term, leader, applied, commit, configuration } = status;
    const voters = configuration.voters.map(nodeNumber);
    if (leader === NO_NODE) return `no leader is known (term ${term}, voters ${voters})`;
    return `following node ${nodeNumber(leader)}, applied ${applied} of ${commit} entries`;
  }

  /**
   * Takes part in consensus. `onServing` runs once: when this node leads, or follows a leader, and
   * has applied everything that was committed until then.
   */
  join(onServing: () => void): void {
    const { clock } = this.#options;
    this.#stopTicking = clock.every(LOG_TICK_MS, () => this.#parts.log.tick());
    this.#layers.scrubber.start();
    this.#layers.gate.start();
    this.#layers.version.start();
    this.#onServing = this.#describingStart(onServing);
    this.#layers.link?.open({
      onMessage: (message) => this.#hear(message),
      onContent: (from, content) => this.#receive(from, content),
      onUnreachable: (node) => this.#layers.group.unreachable(node),
    });
    this.#layers.membership.open();
    this.#layers.blocks.open();
    this.#layers.ephemeral.open();
    this.#layers.gather.open();
    if (this.#layers.recovery === null) {
      this.#startConsensus(false);
      this.#layers.space.start();
    } else {
      this.#layers.reports.start();
      this.#layers.recovery.begin();
    }
  }

  /**
   * What is applied is what this node's own log is known to agree with. Rows that came from another
   * node say nothing about the entries here: those may still be replaced by a leader, and count
   * when it has confirmed them, although their effects are not applied again.
   */
  #startConsensus(recovering: boolean): void {
    const { log, state, stateless, install, members } = this.#parts;
    const isForeign = stateless || install !== null;
    const own = Math.min(state.appliedIndex, log.lastIndex);
    const applied = isForeign ? log.firstIndex - 1 : own;
    this.#layers.consensus.start(members(applied), applied, recovering);
    this.#tellMembers(this.#layers.group.members());
  }

  /** Nothing that this node says from here on may count: its log is about to be replaced. */
  #reopen(): void {
    const { onReopen, onFatal, logger } = this.#options;
    this.#layers.broker.stop();
    this.#layers.consensus.stop();
    this.#layers.reports.stop();
    this.#layers.version.stop();
    this.#layers.link?.close();
    logger.info('boot', 'a snapshot was received; the directory is opened anew');
    if (onReopen === undefined) onFatal(new Error('a snapshot was received: start the node again'));
    else onReopen();
  }

  #describingStart(onServing: () => void): () => void {
    const { config, logger, clock } = this.#options;
    const startedMs = clock.nowMs();
    const replayed = Math.max(0, this.#parts.log.lastIndex - this.#layers.replica.appliedIndex);
    return () => {
      const tookMs = Math.round(clock.nowMs() - startedMs);
      const role = this.#layers.leadership.leader === null ? 'follows' : 'leads';
      const text = `${config.serverId} ${role}; entries replayed: ${replayed}, in ${tookMs} ms`;
      logger.info('boot', text);
      onServing();
    };
  }

  // --- the group -------------------------------------------------------------------------------

  /** Term, commit, members and, on the leader, how far each is; null before consensus starts. */
  consensusStatus(): Status | null {
    return this.#layers.consensus.status();
  }

  membership(): Membership | null {
    return this.#layers.group.view();
  }

  /** As `Consensus.changeMembers`; `added` are the addresses of nodes that are new. */
  changeMembers(change: MemberChange, expectedIndex: number, force: boolean, done: ChangeDone) {
    this.#layers.group.change(change, expectedIndex, force, done);
  }

  /** Hands leadership to the member. It may come to nothing within an election timeout. */
  transfer(target: NodeId): Transfer {
    return this.#layers.consensus.transfer(target);
  }

  /** Frames and messages that were not taken or not sent, by reason. */
  linkCounters(): Readonly<Record<string, number>> {
    return { ...this.#layers.consensus.counters(), ...this.#layers.link?.counters() };
  }

  /** Frames of any channel that were not taken. */
  refusedFrames(): number {
    return this.#layers.link?.refused ?? 0;
  }

  /** Something of the log or the state is being mended, or has to come from another node. */
  get repairing(): boolean {
    return this.#layers.recovery?.busy ?? false;
  }

  #hear(message: Message): void {
    if (message.type === 'snapshot') this.#layers.recovery?.onSnapshot(message);
    else this.#layers.consensus.receive(message);
  }

  #receive(from: NodeId, content: FrameContent): void {
    if (content.kind === 'digest')
      this.#layers.group.hearDigest(from, content.index, content.digest);
    else if (content.kind === 'node-report') this.#layers.reports.hear(from, content);
    else this.#layers.recovery?.receive(from, content);
  }

  // --- stopping --------------------------------------------------------------------------------

  /**
   * Steps back among others before it stops: it is not ready any more, does not campaign, and hands
   * leadership over. It goes on serving, as a follower.
   */
  async retire(): Promise<void> {
    if (this.#retiring) return;
    this.#retiring = true;
    const { consensus, recovery } = this.#layers;
    recovery?.stop();
    if (consensus.alone || this.#halted) return;
    await new Promise<void>((resolve) => this.#layers.ephemeral.leave(resolve));
    await this.#handOver();
  }

  /** Nobody could take over from this node. */
  get alone(): boolean {
    return this.#layers.consensus.alone;
  }

  /**
   * Retires, drains and closes. What was accepted is answered first: `answered` resolves when
   * nothing can come any more and everything has its answer.
   */
  async stop(answered: Promise<void> = Promise.resolve()): Promise<void> {
    if (this.#stopping) return;
    this.#stopping = true;
    const { clock, crash } = this.#options;
    const untilMs = clock.nowMs() + DRAIN_MS_MAX;
    await this.retire();
    this.#layers.broker.drain();
    this.#layers.membership.close();
    this.#layers.blocks.close();
    this.#layers.gather.close();
    await answered;
    if (this.#halted) return;
    while (!this.#layers.broker.idle && clock.nowMs() < untilMs) await this.#pause();
    this.#layers.broker.stop();
    this.#layers.consensus.stop();
    this.#layers.link?.close();
    this.#layers.scrubber.stop();
    this.#layers.gate.stop();
    this.#layers.reports.stop();
    this.#layers.version.stop();
    this.#layers.space.stop();
    this.#stopTicking?.();
    await new Promise<void>((resolve) => this.#closeRecovery(resolve));
    crash.reach('stop-drained');
    await new Promise<void>((resolve) => this.#layers.replica.close(resolve));
    crash.reach('stop-checkpointed');
    const { log, hardState, state } = this.#parts;
    await new Promise<void>((resolve) => log.close(resolve));
    hardState.close();
    await state.close();
  }

  /**
   * For a write that found no space (cluster-and-config 8): this node takes no part any more and
   * writes nothing, but says so to whoever asks until somebody makes room and starts it again. What
   * was in flight is in doubt: a write that failed is never repeated.
   */
  halt(error: Error): void {
    if (this.#halted) return;
    const what = error instanceof DiskError ? 'raft log write failed: ' : '';
    const advice = 'no space is left: make room and start the node again';
    const failure = `${what}${error.message}; ${advice}`;
    this.#failure = failure;
    const { consensus, link, recovery, scrubber, gate, space, replica, broker } = this.#layers;
    consensus.stop();
    link?.close();
    replica.halt();
    recovery?.close(() => {});
    scrubber.stop();
    gate.stop();
    this.#layers.reports.stop();
    this.#layers.version.stop();
    space.stop();
    this.#stopTicking?.();
    broker.serving = false;
    broker.stop();
    this.#options.logger.error('raft', failure);
    this.#roles.halted(failure);
  }

  #closeRecovery(done: () => void): void {
    if (this.#layers.recovery === null) done();
    else this.#layers.recovery.close(done);
  }

  /** A leader that should not lead; if nobody can take over, it goes on. */
  #passOn(): void {
    if (!this.#retiring && this.#layers.leadership.leader !== null) this.#layers.group.passOn();
  }

  /**
   * At once, also under load: a transfer stops planning and waits until the successor holds all
   * that was planned, so what is in flight commits, and what waits goes to the successor.
   */
  async #handOver(): Promise<void> {
    if (this.#layers.leadership.leader === null) return;
    const { clock, logger } = this.#options;
    const beganMs = clock.nowMs();
    const leads = () => this.#layers.leadership.leader !== null;
    const to = await new Promise<NodeId | null>((resolve) =>
      this.#layers.group.handOver(leads, [], resolve),
    );
    const ms = Math.round(clock.nowMs() - beganMs);
    if (to !== null) logger.info('raft', `leadership handed off to=${nodeNumber(to)} ms=${ms}`);
    else logger.warn('raft', `leadership was not handed off: no voter took over in ${ms} ms`);
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => void this.#options.clock.after(DRAIN_POLL_MS, resolve));
  }

  // --- the state and the role ------------------------------------------------------------------

  /** Of the newest configuration; consensus itself looks at it a little later. */
  #tellMembers(members: readonly NodeId[]): void {
    const { config, onMembers } = this.#options;
    const { self, formed } = this.#parts;
    const joins = formed?.outcome?.founding === null && members.length === 0;
    const isOfMany = joins || members.some((id) => id !== self);
    if (isOfMany && config.replicator === 'local')
      throw clusterDirectoryRefused(config.dataDirectory);
    if (members.length > 0) onMembers?.(this.#layers.group.addresses());
  }

  /** How many were applied: as many as the replica has room for. */
  #apply(entries: readonly Entry[]): number {
    const { ephemeral, leadership, meters, replica } = this.#layers;
    meters.pipeline.applyReceives++;
    meters.pipeline.applyDepth.record(entries.length);
    const count = this.#applyTurns.take(entries, (entry) => {
      if (!this.#holds(entry.index)) {
        if (replica.isFull) return false;
        leadership.leader?.committed(entry.index);
        replica.apply(entry);
      }
      leadership.applied(entry.index, entry.term);
      ephemeral.applied(entry.index);
      return true;
    });
    this.#hearOfTimers();
    this.#lookAtMembers(entries.slice(0, count));
    return count;
  }

  #lookAtMembers(applied: readonly Entry[]): void {
    const changes = applied.filter(({ type }) => type === 'configuration');
    const newest = changes[changes.length - 1];
    if (newest === undefined) return;
    this.#tellMembers(membersOf(decodeConfiguration(newest.data).configuration));
    for (const entry of changes) this.#noteMembers(entry);
    // Consensus counts the new members once this returns.
    this.#options.clock.soon(() => this.#roles.look());
  }

  /** What entries say of the time that are replayed is not news. */
  #hearOfTimers(): void {
    const { broker, leadership, timerClock } = this.#layers;
    if (!broker.serving || leadership.leader !== null) return;
    const { clock } = this.#options;
    const { timerUs } = readMeta(this.#parts.state);
    timerClock.heard(timerUs, { wallUs: clock.wallUs(), nowMs: clock.nowMs() });
  }

  #noteMembers({ index, data }: Entry): void {
    const { logger } = this.#options;
    const { configuration } = decodeConfiguration(data);
    logger.info('raft', `members since entry ${index}: ${describeMembers(configuration)}`);
    if (membersOf(configuration).includes(this.#parts.self)) return;
    if (!this.#layers.group.members().includes(this.#parts.self)) return;
    logger.warn('raft', 'this node was removed from its cluster: it may be stopped and wiped');
  }

  /** The state has this entry's effects already, or is to be replaced by one that has. */
  #holds(index: number): boolean {
    return this.#parts.stateless || index <= this.#layers.replica.appliedIndex;
  }

  #follow(role: SoftState): void {
    if (this.#halted) return;
    this.#roles.follow(role);
    this.#layers.recovery?.onRole(role);
    if (role.role === 'follower' && role.leader !== NO_NODE) this.#serveAsFollower();
    const { leadership } = this.#layers;
    const hasLed = leadership.leader !== null;
    if (role.leading && !hasLed) this.#lead();
    else if (hasLed && !role.leading) leadership.end();
    leadership.roleChanged();
  }

  /** Ready to serve only when everything is applied that was committed before. */
  #serveAsFollower(): void {
    if (this.#onServing === null) return;
    this.#layers.consensus.read((confirmed) => {
      if (confirmed && this.#layers.recovery?.complete !== false) this.#serve();
      else if (this.#layers.consensus.leader !== NO_NODE) {
        this.#options.clock.after(READY_RETRY_MS, () => this.#serveAsFollower());
      }
    });
  }

  #serve(): void {
    this.#layers.broker.serving = true;
    this.#layers.ephemeral.serve();
    this.#onServing?.();
    this.#onServing = null;
  }

  #lead(): void {
    const { leadership, consensus } = this.#layers;
    const leader = newLeader(this.#options, this.#parts, this.#layers);
    leadership.begin(leader, consensus.status()?.term ?? 0);
    this.#serve();
    this.#moveToOwnAddresses();
  }

  /**
   * A sole voter is where its own peer list says, whatever it was when it was founded: alone, or
   * somewhere else. Nobody else has to agree; among several, addresses change with members only.
   */
  #moveToOwnAddresses(): void {
    const { self } = this.#options.config;
    const { consensus, group } = this.#layers;
    if (self === null || !consensus.alone) return;
    const known = group.addresses().find(({ id }) => id === self.id);
    if (known?.raftAddress === self.raftAddress && known.httpAddress === self.httpAddress) return;
    const changes = [{ type: 'add-voter', node: this.#parts.self }] as const;
    const { configurationIndex = 0 } = consensus.status() ?? {};
    group.change(
      { changes, transition: 'auto', added: [self] },
      configurationIndex,
      true,
      () => {},
    );
  }
}
