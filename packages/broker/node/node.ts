/**
 * One node: opens its directory, recovers, leads or follows, serves, and stops in order.
 *
 * Opening goes from the bottom up and stops at the first thing that cannot be trusted: directory
 * lock, identity, log, term and vote, checkpoint. What the checkpoint does not hold yet is replayed
 * from the log before the node calls itself ready and before the port is opened.
 *
 * `parts.ts` makes the parts, `lifecycle.ts` opens and closes them. This file is what happens in
 * between: it answers their events, follows consensus, and applies what is committed.
 */
import { readMeta, SOURCE_START } from '@svc/engine';
import {
  decodeConfiguration,
  type Entry,
  type Message,
  members as membersOf,
  NO_NODE,
  type NodeId,
  type SoftState,
} from '@svc/raft';
import { DiskError } from '@svc/storage';
import { nodeNumber } from '../config/member-id.js';
import { describeMembers } from '../consensus/group-membership.js';
import { RoleLog } from '../consensus/role-log.js';
import {
  type DirectoryOptions,
  type OpenDirectory,
  openDirectory,
} from '../directory/node-directory.js';
import { StateStore } from '../directory/state-store.js';
import { LmdbPlace } from '../directory/state-store-lmdb.js';
import { ApplyTurns } from '../leader/apply-turns.js';
import type { Leader, Office } from '../leader/leader.js';
import { StandbyLeader } from '../leader/standby-leader.js';
import type { FrameContent } from '../peers/frames.js';
import type { Broker } from '../service/broker.js';
import { NodeLife } from '../system/node-life.js';
import { clusterDirectoryRefused } from '../system/node-refusal.js';
import { newLeader, newOffice, promotedWarning } from './leadership.js';
import { Lifecycle, lifeOf } from './lifecycle.js';
import type { NodeOptions } from './options.js';
import { type NodeEvents, type NodeParts, nodeParts } from './parts.js';

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
  readonly parts: NodeParts;
  readonly #options: NodeOptions;
  readonly #opened: OpenDirectory;
  readonly #life = new NodeLife();
  readonly #lifecycle: Lifecycle;
  readonly #applyTurns: ApplyTurns;
  readonly #roles: RoleLog;
  #onServing: (() => void) | null = null;

  constructor(options: NodeOptions, opened: OpenDirectory) {
    const { clock, crash, logger, config } = options;
    this.#options = options;
    this.#opened = opened;
    this.parts = nodeParts(options, opened, this.#life, this.#events());
    const { consensus } = this.parts;
    this.#lifecycle = new Lifecycle(
      lifeOf({
        clock,
        crash,
        opened,
        parts: this.parts,
        openLink: () => this.#openLink(),
        startConsensus: () => this.#startConsensus(false),
      }),
    );
    this.#applyTurns = new ApplyTurns(clock, () => consensus.applyMore());
    this.#roles = new RoleLog({
      logger,
      clock,
      self: opened.self,
      electionMs: config.electionMs,
      status: () => consensus.status(),
      leaderSilenceMs: () => consensus.leaderSilenceMs,
    });
  }

  #events(): NodeEvents {
    return {
      onCommitted: (entries) => this.#apply(entries),
      onApplied: () => {
        this.parts.recovery?.applied();
        this.parts.sourceReads?.applied();
      },
      onRole: (role) => this.#follow(role),
      onLoss: () => this.parts.recovery?.lossNoticed(),
      onDamage: () => this.parts.recovery?.damageMet(),
      onRoom: () => this.parts.consensus.applyMore(),
      onEased: () => this.#office?.resume(),
      onAccepting: () => this.#office?.resume(),
      onPoint: (index) => this.parts.group.tellDigest(index),
      onEphemeral: (effect) => this.parts.ephemeral.changed(effect),
      onWhole: (recovering) => this.#startConsensus(recovering),
      onUnfit: () => this.#passOn(),
      onReopen: () => this.#reopen(),
    };
  }

  /** What the front calls. */
  get broker(): Broker {
    return this.parts.broker;
  }

  /** Set while this node leads an ordinary cluster. */
  get leader(): Leader | null {
    return this.parts.leadership.leader;
  }

  /** Set while this node leads. */
  get #office(): Office | null {
    return this.parts.leadership.office;
  }

  /** The member that this node is to consensus. */
  get member(): NodeId {
    return this.#opened.self;
  }

  get clusterId(): string {
    return this.#opened.identity.clusterId;
  }

  /** It is no founder, and no configuration that it knows names it. */
  get waitsToBeAdded(): boolean {
    const { formed, self } = this.#opened;
    const founds = formed?.outcome?.founding != null;
    return !founds && !this.parts.group.members().includes(self);
  }

  /** Something of the log or the state is being mended, or has to come from another node. */
  get repairing(): boolean {
    return this.parts.recovery?.busy ?? false;
  }

  /** Nothing that a client or another node asked for is without its answer. */
  get idle(): boolean {
    return this.#lifecycle.isIdle;
  }

  /** What stands between this node and serving, for the log. */
  describeWaiting(): string {
    const status = this.parts.consensus.status();
    if (status === null) return 'the log is being mended with the help of the others';
    if (this.waitsToBeAdded) {
      const { nodeId, clusterId } = this.#opened.identity;
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
    const warning = promotedWarning(this.#options.config, this.parts.role.row);
    if (warning !== null) this.#options.logger.warn('standby', warning);
    this.#onServing = this.#describingStart(onServing);
    this.#lifecycle.open();
  }

  #openLink(): void {
    const { link, group } = this.parts;
    link?.open({
      onMessage: (message) => this.#hear(message),
      onContent: (from, content) => this.#receive(from, content),
      onUnreachable: (node) => group.unreachable(node),
    });
  }

  /**
   * An entry counts as applied when this node's own log is known to agree with it. Rows that came
   * from another node say nothing about the entries here: those may still be replaced by a leader,
   * and count when it has confirmed them, although their effects are not applied again.
   */
  #startConsensus(recovering: boolean): void {
    const { log, state, stateless, install, members } = this.#opened;
    const isForeign = stateless || install !== null;
    const own = Math.min(state.appliedIndex, log.lastIndex);
    const applied = isForeign ? log.firstIndex - 1 : own;
    this.parts.consensus.start(members(applied), applied, recovering);
    this.#tellMembers(this.parts.group.members());
  }

  /** Nothing that this node says from here on may count: its log is about to be replaced. */
  #reopen(): void {
    const { onReopen, onFatal, logger } = this.#options;
    this.#lifecycle.reopen();
    logger.info('boot', 'a snapshot was received; the directory is opened anew');
    if (onReopen === undefined) onFatal(new Error('a snapshot was received: start the node again'));
    else onReopen();
  }

  #describingStart(onServing: () => void): () => void {
    const { config, logger, clock } = this.#options;
    const startedMs = clock.nowMs();
    const replayed = Math.max(0, this.#opened.log.lastIndex - this.parts.replica.appliedIndex);
    return () => {
      const tookMs = Math.round(clock.nowMs() - startedMs);
      const role = this.#office === null ? 'follows' : 'leads';
      const text = `${config.serverId} ${role}; entries replayed: ${replayed}, in ${tookMs} ms`;
      logger.info('boot', text);
      onServing();
    };
  }

  // --- the group -------------------------------------------------------------------------------

  #hear(message: Message): void {
    if (message.type === 'snapshot') this.parts.recovery?.onSnapshot(message);
    else this.parts.consensus.receive(message);
  }

  #receive(from: NodeId, content: FrameContent): void {
    if (content.kind === 'digest') this.parts.group.hearDigest(from, content.index, content.digest);
    else if (content.kind === 'node-report') this.parts.reports.hear(from, content);
    else this.parts.recovery?.receive(from, content);
  }

  // --- stopping --------------------------------------------------------------------------------

  /**
   * Steps back among others before it stops: it is not ready any more, does not campaign, and hands
   * leadership over. It goes on serving, as a follower.
   */
  async retire(): Promise<void> {
    if (this.#life.retiring) return;
    this.#life.retiring = true;
    const { consensus, recovery, ephemeral } = this.parts;
    recovery?.stop();
    if (consensus.alone || this.#life.halted) return;
    await new Promise<void>((resolve) => ephemeral.leave(resolve));
    await this.#handOver();
  }

  /**
   * Retires, drains and closes. What was accepted is answered first: `answered` resolves when
   * nothing can come any more and everything has its answer.
   */
  async stop(answered: Promise<void> = Promise.resolve()): Promise<void> {
    if (this.#life.stopping) return;
    this.#life.stopping = true;
    const { clock } = this.#options;
    const untilMs = clock.nowMs() + DRAIN_MS_MAX;
    await this.retire();
    this.#lifecycle.drain();
    await answered;
    if (this.#life.halted) return;
    while (!this.idle && clock.nowMs() < untilMs) await this.#pause();
    await this.#lifecycle.close();
  }

  /**
   * Ends this node's part after a write that found no space: it writes nothing any more, and says
   * so to whoever asks until somebody makes room and starts it again. What was in flight is in
   * doubt: a write that failed is never repeated.
   */
  halt(error: Error): void {
    if (this.#life.halted) return;
    const what = error instanceof DiskError ? 'raft log write failed: ' : '';
    const advice = 'no space is left: make room and start the node again';
    const failure = `${what}${error.message}; ${advice}`;
    this.#life.failure = failure;
    this.#life.serving = false;
    this.#lifecycle.halt();
    this.#options.logger.error('raft', failure);
    this.#roles.halted(failure);
  }

  /** A leader that should not lead; if nobody can take over, it goes on. */
  #passOn(): void {
    if (!this.#life.retiring && this.#office !== null) this.parts.group.passOn();
  }

  /**
   * At once, also under load: a transfer stops planning and waits until the successor holds all
   * that was planned, so what is in flight commits, and what waits goes to the successor.
   */
  async #handOver(): Promise<void> {
    if (this.#office === null) return;
    const { clock, logger } = this.#options;
    const beganMs = clock.nowMs();
    const to = await new Promise<NodeId | null>((resolve) =>
      this.parts.group.handOver([], resolve),
    );
    const ms = Math.round(clock.nowMs() - beganMs);
    if (to !== null) logger.info('raft', `leadership handed off to=${nodeNumber(to)} ms=${ms}`);
    else logger.warn('raft', `leadership was not handed off: no voter took over in ${ms} ms`);
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => void this.#options.clock.after(DRAIN_POLL_MS, resolve));
  }

  // --- the state and the role ------------------------------------------------------------------

  /** `members` of the newest configuration; consensus itself looks at it a little later. */
  #tellMembers(members: readonly NodeId[]): void {
    const { config, onMembers } = this.#options;
    const { self, formed } = this.#opened;
    const joins = formed?.outcome?.founding === null && members.length === 0;
    const isOfMany = joins || members.some((id) => id !== self);
    if (isOfMany && config.replicator === 'local')
      throw clusterDirectoryRefused(config.dataDirectory);
    if (members.length > 0) onMembers?.(this.parts.addresses.get());
  }

  /** How many were applied: as many as the replica has room for. */
  #apply(entries: readonly Entry[]): number {
    const { ephemeral, leadership, meters, replica } = this.parts;
    meters.pipeline.applyReceives++;
    meters.pipeline.applyDepth.record(entries.length);
    const count = this.#applyTurns.take(entries, (entry) => {
      if (!this.#holds(entry.index)) {
        if (replica.isFull) return false;
        leadership.office?.committed(entry.index);
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

  /** Entries that are replayed say nothing new of the time. */
  #hearOfTimers(): void {
    const { timerClock, role } = this.parts;
    if (!this.#life.serving || this.leader !== null) return;
    const { clock } = this.#options;
    const { timerUs } = readMeta(this.#opened.state);
    const at = { wallUs: clock.wallUs(), nowMs: clock.nowMs() };
    // What a source said may be hours old when it comes: nothing goes below it, and that is all.
    if (role.isStandby) timerClock.nowUs(at, timerUs);
    else timerClock.heard(timerUs, at);
  }

  #noteMembers({ index, data }: Entry): void {
    const { logger } = this.#options;
    const { configuration } = decodeConfiguration(data);
    logger.info('raft', `members since entry ${index}: ${describeMembers(configuration)}`);
    if (membersOf(configuration).includes(this.#opened.self)) return;
    if (!this.parts.group.members().includes(this.#opened.self)) return;
    logger.warn('raft', 'this node was removed from its cluster: it may be stopped and wiped');
  }

  /** The state has this entry's effects already, or is to be replaced by one that has. */
  #holds(index: number): boolean {
    return this.#opened.stateless || index <= this.parts.replica.appliedIndex;
  }

  #follow(role: SoftState): void {
    if (this.#life.halted) return;
    this.#roles.follow(role);
    this.parts.recovery?.onRole(role);
    if (role.role === 'follower' && role.leader !== NO_NODE) this.#serveAsFollower();
    const { leadership } = this.parts;
    const hasLed = leadership.office !== null;
    if (role.leading && !hasLed) this.#lead();
    else if (hasLed && !role.leading) this.#endLeadership();
    leadership.roleChanged();
  }

  /** Ready to serve only when everything is applied that was committed before. */
  #serveAsFollower(): void {
    if (this.#onServing === null) return;
    this.parts.consensus.read((confirmed) => {
      if (confirmed && this.parts.recovery?.complete !== false) this.#serve();
      else if (this.parts.consensus.leader !== NO_NODE) {
        this.#options.clock.after(READY_RETRY_MS, () => this.#serveAsFollower());
      }
    });
  }

  #serve(): void {
    this.#life.serving = true;
    this.parts.ephemeral.serve();
    this.#onServing?.();
    this.#onServing = null;
  }

  #lead(): void {
    const { leadership, follower } = this.parts;
    const office = newOffice(this.#options, this.#opened, this.parts, () => this.#succeed());
    leadership.begin(office, this.#term);
    if (office instanceof StandbyLeader) follower?.lead(office);
    this.#serve();
    this.#moveToOwnAddresses();
  }

  #endLeadership(): void {
    this.parts.follower?.yield();
    this.parts.leadership.end();
  }

  /** The promotion of a standby is applied: what led it until now is followed by a planner. */
  #succeed(): void {
    const { leadership, role, follower } = this.parts;
    follower?.yield();
    const { index, term } = role.row?.position ?? SOURCE_START;
    this.#options.logger.warn(
      'standby',
      `this cluster is promoted: it holds its source up to entry ${index} of term ${term}, takes ` +
        'writes, and follows nobody any more',
    );
    leadership.begin(newLeader(this.#options, this.#opened, this.parts), this.#term);
  }

  get #term(): number {
    return this.parts.consensus.status()?.term ?? 0;
  }

  /**
   * A sole voter is where its own peer list says, whatever it was when it was founded: alone, or
   * somewhere else. Nobody else has to agree; among several, addresses change with members only.
   */
  #moveToOwnAddresses(): void {
    const { self } = this.#options.config;
    const { consensus, group, addresses } = this.parts;
    if (self === null || !consensus.alone) return;
    const known = addresses.get().find(({ id }) => id === self.id);
    if (known?.raftAddress === self.raftAddress && known.httpAddress === self.httpAddress) return;
    const changes = [{ type: 'add-voter', node: this.#opened.self }] as const;
    const { configurationIndex = 0 } = consensus.status() ?? {};
    group.change(
      { changes, transition: 'auto', added: [self] },
      configurationIndex,
      true,
      () => {},
    );
  }
}
