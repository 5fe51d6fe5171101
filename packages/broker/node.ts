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
import { fileURLToPath } from 'node:url';
import { crc32 } from 'node:zlib';
import {
  AppendDamage,
  PLANNER_LIMITS,
  Planner,
  type Surroundings,
  TransactionIndex,
} from '@svc/engine';
import { createServer, type HttpServer } from '@svc/http';
import {
  type Entry,
  type Message,
  NO_NODE,
  type NodeId,
  type SoftState,
  type Status,
  type Transfer,
} from '@svc/raft';
import { DamageError, type DirectoryLock, type Disk } from '@svc/storage';
import { Broker } from './broker.js';
import type { Cancel, Clock } from './clock.js';
import type { Config } from './config.js';
import { type MemberChangeDone as ChangeDone, Consensus } from './consensus.js';
import type { CrashSetting } from './crash-points.js';
import { Fetches } from './fetch.js';
import type { FrameContent } from './frames.js';
import { Group } from './group.js';
import { GroupLink } from './group-link.js';
import type { MemberChange, MembershipView } from './group-membership.js';
import { GroupRecovery } from './group-recovery.js';
import { Leader } from './leader.js';
import type { Logger } from './logging.js';
import { logRates } from './logging-rates.js';
import { NODE_NUMBER_MAX } from './member-id.js';
import { MessageReader } from './message-reader.js';
import { type OpenDirectory, openDirectory } from './node-directory.js';
import { NodeStatus } from './node-status.js';
import type { PeerPort } from './peer-port.js';
import type { RandomSource } from './random.js';
import { Replica } from './replica.js';
import { snapshotOffer } from './snapshot-offer.js';
import { StateStore } from './state-store.js';
import { LmdbPlace } from './state-store-lmdb.js';
import { StateScrubber } from './state-store-scrub.js';

export interface NodeOptions {
  readonly config: Config;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly crash: Exclude<CrashSetting, { readonly kind: 'refused' }>;
  /** For tests; the index knows best. */
  readonly transactionIndex?: Parameters<typeof TransactionIndex.load>[1];
  /** The way to the other nodes; null or absent when there are none. */
  readonly peers?: PeerPort | null;
  /** What a fresh directory does; 'found' unless given. */
  readonly founding?: 'found' | 'join';
  /** Entries between two comparisons of the nodes' states; DIGEST_EVERY unless given. */
  readonly digestEvery?: number;
  /** As `LogSpaceSettings`; for tests. */
  readonly purgeStep?: number;
  /** The node is to be stopped and opened again: it has received a snapshot. */
  readonly onReopen?: () => void;
  /** The process must end: a disk lost a write, or the node no longer fits its own state. */
  readonly onFatal: (error: Error) => void;
}

/** The dashboard is part of the checkout; this file runs from packages/broker/dist. */
const DASHBOARD_DIRECTORY = fileURLToPath(new URL('../../../dashboard/public', import.meta.url));
/** Decoded appends that the reader may keep, counted by the buffers they pin. */
const DECODED_BYTES_MAX = 8 * 1024 * 1024;
/** Durable entries that consensus keeps itself: few, for the log keeps recent ones too. */
const RAFT_TAIL_BYTES_MAX = 4 * 1024 * 1024;
const TICKS_PER_HEARTBEAT = 2;
/** How often the log's second witness is brought up to date. */
const LOG_TICK_MS = 250;
const DRAIN_POLL_MS = 10;
const DRAIN_MS_MAX = 60_000;
const DIGEST_EVERY = 1024;
/** A member that answered within this time counts as alive when the members are changed. */
const LIVE_WITHIN_MS_MIN = 1000;
/** A stopping leader lets what is in flight commit for this long, then hands over. */
const SETTLE_MS_MAX = 500;
/** How soon a follower asks again whether it has caught up. */
const READY_RETRY_MS = 100;

/** Opens the directory and recovers; nothing is served yet. */
export async function openNode(options: NodeOptions): Promise<Node> {
  const { disk, config } = options;
  disk.makeDirectorySync(config.dataDirectory);
  const lock = await disk.lockDirectory(config.dataDirectory);
  try {
    const place = new LmdbPlace({
      disk,
      directory: config.dataDirectory,
      mapBytes: config.mapBytes,
      report: (text) => options.logger.info('boot', text),
    });
    const store = new StateStore(place);
    const parts = await new Promise<OpenDirectory>((resolve) =>
      openDirectory(options, store, resolve),
    );
    return new Node(options, lock, parts);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

export class Node {
  readonly #options: NodeOptions;
  readonly #lock: DirectoryLock;
  readonly #parts: OpenDirectory;
  readonly #link: GroupLink | null;
  /** null without peers. */
  readonly #recovery: GroupRecovery | null;
  readonly #consensus: Consensus;
  readonly #group: Group;
  readonly #scrubber: StateScrubber;
  readonly #replica: Replica;
  readonly #reader: MessageReader;
  readonly #transactions: TransactionIndex;
  readonly #fetches: Fetches;
  readonly #broker: Broker;
  #http: HttpServer | null = null;
  #onServing: (() => void) | null = null;
  #stopTicking: Cancel | null = null;
  #stopping = false;

  constructor(options: NodeOptions, lock: DirectoryLock, parts: OpenDirectory) {
    const { config, clock, peers = null } = options;
    const { log, state, self } = parts;
    this.#options = options;
    this.#lock = lock;
    this.#parts = parts;
    const entryBytesMax = config.turnBytesMax + config.entryBytesMax;
    this.#link = peers === null ? null : new GroupLink(peers, self, entryBytesMax);
    this.#transactions = TransactionIndex.load(state, options.transactionIndex ?? {});
    this.#reader = new MessageReader(log, DECODED_BYTES_MAX, (error) => {
      options.logger.error('log', error.message);
      this.#recovery?.damageMet();
    });
    this.#fetches = new Fetches(state, this.#reader, clock);
    this.#replica = this.#newReplica();
    this.#consensus = this.#newConsensus();
    this.#group = new Group({
      self,
      config,
      clock,
      consensus: this.#consensus,
      state,
      appliedIndex: () => this.#replica.appliedIndex,
      backing: parts.backing,
      link: this.#link,
      onFatal: options.onFatal,
    });
    this.#scrubber = this.#newScrubber();
    this.#recovery = this.#link === null ? null : this.#newRecovery(this.#link);
    this.#broker = new Broker({
      state,
      reader: this.#reader,
      fetches: this.#fetches,
      clock,
      status: this.#newStatus(),
      consensus: this.#consensus,
      deadlines: { writeMs: config.writeTimeoutMs, statementMs: config.statementTimeoutMs },
    });
  }

  #newReplica(): Replica {
    const { config, clock, crash, digestEvery = DIGEST_EVERY } = this.#options;
    const { state, log } = this.#parts;
    return new Replica(
      state,
      this.#transactions,
      log,
      {
        everyMs: config.checkpointEveryMs,
        everyBytes: config.checkpointEveryBytes,
        digests: {
          every: this.#link === null ? 0 : digestEvery,
          onPoint: (index) => this.#group.tellDigest(index),
        },
      },
      clock,
      crash.reach,
      this.#fetches,
    );
  }

  #newConsensus(): Consensus {
    const { config, clock, random } = this.#options;
    const { log, state, self, hardState } = this.#parts;
    return new Consensus({
      id: self,
      log,
      hardState,
      clock,
      random: () => random.fraction(),
      settings: {
        electionTimeoutMs: config.electionMs,
        heartbeatMs: config.heartbeatMs,
        promoteMaxLag: config.promoteMaxLag,
        liveWithinMs: Math.max(2 * config.electionMs, LIVE_WITHIN_MS_MIN),
        tailBytesMax: RAFT_TAIL_BYTES_MAX,
        // The leader bounds what is in flight; a refusal would end a leadership that is in order.
        uncommittedBytesMax: Number.MAX_SAFE_INTEGER,
      },
      tickMs: Math.max(1, Math.floor(config.heartbeatMs / TICKS_PER_HEARTBEAT)),
      onCommitted: (entries) => this.#apply(entries),
      onApplied: () => this.#recovery?.applied(),
      onRole: (role) => this.#follow(role),
      onLoss: () => this.#recovery?.lossNoticed(),
      onAccepting: () => this.#broker.leader?.resume(),
      send: (message) => this.#link?.send(message),
      snapshot: () => snapshotOffer({ log, state, checkpointIndex: state.appliedIndex }),
      onDamage: () => this.#recovery?.damageMet(),
    });
  }

  #newScrubber(): StateScrubber {
    const { config, clock, logger, onFatal } = this.#options;
    const { state, log } = this.#parts;
    return new StateScrubber({
      state,
      clock,
      everyS: config.scrubEverySeconds,
      rowsPerS: config.scrubRowsPerSecond,
      replaceable: () => this.#link !== null || log.firstIndex === 1,
      onFatal,
      error: (text) => logger.error('boot', text),
    });
  }

  #newRecovery(link: GroupLink): GroupRecovery {
    const { config, clock, logger, random, purgeStep = null, onFatal } = this.#options;
    return new GroupRecovery({
      config,
      clock,
      logger,
      fraction: () => random.fraction(),
      parts: this.#parts,
      consensus: this.#consensus,
      send: (to, content) => link.sendContent(to, content),
      members: () => this.#group.members(),
      purgeStep,
      onWhole: (recovering) => this.#startConsensus(recovering),
      onUnfit: () => this.#passOn(),
      onReopen: () => this.#reopen(),
      onFatal,
    });
  }

  #newStatus(): NodeStatus {
    const { config, clock } = this.#options;
    const { identity, log, backing } = this.#parts;
    return new NodeStatus({
      clusterId: config.cellId ?? `c-${identity.clusterId.slice(0, 6)}`,
      nodeId: identity.nodeId,
      consensus: this.#consensus,
      log,
      clock,
      store: () => backing.figures(),
      appliedIndex: () => this.#replica.appliedIndex,
      appliedAtMs: () => this.#replica.appliedAtMs,
      addresses: () => this.#group.addresses(),
      readiness: { lagMs: config.readyLagMs, lagEntries: config.readyLagEntries },
      inFlight: () => this.#broker.leader?.inFlight ?? 0,
      stopping: () => this.#stopping,
    });
  }

  /** What the front asks; takes commands while this node leads. */
  get broker(): Broker {
    return this.#broker;
  }

  /** Who this node is to consensus. */
  get member(): NodeId {
    return this.#parts.self;
  }

  /**
   * Takes part in consensus. `onServing` runs once: when this node leads, or follows a leader, and
   * has applied everything that was committed until then.
   */
  join(onServing: () => void): void {
    const { clock } = this.#options;
    this.#stopTicking = clock.every(LOG_TICK_MS, () => this.#parts.log.tick());
    this.#scrubber.start();
    this.#onServing = onServing;
    this.#link?.open({
      onMessage: (message) => this.#hear(message),
      onContent: (from, content) => this.#receive(from, content),
      onUnreachable: (node) => this.#group.unreachable(node),
    });
    if (this.#recovery === null) this.#startConsensus(false);
    else this.#recovery.begin();
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
    this.#consensus.start(members(applied), applied, recovering);
  }

  /** Nothing that this node says from here on may count: its log is about to be replaced. */
  #reopen(): void {
    const { onReopen, onFatal, logger } = this.#options;
    this.#consensus.stop();
    this.#link?.close();
    logger.info('boot', 'a snapshot was received; the directory is opened anew');
    if (onReopen === undefined) onFatal(new Error('a snapshot was received: start the node again'));
    else onReopen();
  }

  /** Elects or finds a leader, replays what the checkpoint lacks, then opens the port. */
  async start(): Promise<void> {
    const { config, logger, clock, crash } = this.#options;
    const startedMs = clock.nowMs();
    const replayed = this.#parts.log.lastIndex - this.#replica.appliedIndex;
    crash.reach('before-replay');
    await new Promise<void>((resolve) => this.join(resolve));
    const tookMs = Math.round(clock.nowMs() - startedMs);
    const role = this.#broker.leader === null ? 'follows' : 'leads';
    const text = `${config.serverId} ${role}; entries replayed: ${replayed}, in ${tookMs} ms`;
    logger.info('boot', text);
    crash.reach('before-listen');
    this.#http = createServer(
      {
        logger: { error: (text, error) => logger.error('http', text, { error: String(error) }) },
        bodyBytesMax: config.bodyBytesMax,
        tenancyHeader: config.tenancyHeader,
        popTimeoutMs: config.popTimeoutMs,
        defaultSubscriptionMode: config.defaultSubscriptionMode,
        dashboardDirectory: DASHBOARD_DIRECTORY,
      },
      this.#broker,
    );
    const { counters } = this.#http;
    logRates(logger, config.logRatesMs, () => ({ ...counters }));
    const port = await this.#http.listen(config.bindAddress, config.port);
    logger.info('http', `listening on ${hostAndPort(config.bindAddress, port)}`);
  }

  // --- the group -------------------------------------------------------------------------------

  /** Term, commit, members and, on the leader, how far each is; null before consensus starts. */
  consensusStatus(): Status | null {
    return this.#consensus.status();
  }

  membership(): MembershipView | null {
    return this.#group.view();
  }

  /** As `Consensus.changeMembers`; `added` are the addresses of nodes that are new. */
  changeMembers(change: MemberChange, expectedIndex: number, force: boolean, done: ChangeDone) {
    this.#group.change(change, expectedIndex, force, done);
  }

  /** Hands leadership to the member. It may come to nothing within an election timeout. */
  transfer(target: NodeId): Transfer {
    return this.#consensus.transfer(target);
  }

  /** Frames and messages that were not taken or not sent, by reason. */
  linkCounters(): Readonly<Record<string, number>> {
    return { ...this.#consensus.counters(), ...this.#link?.counters() };
  }

  /** Frames of any channel that were not taken. */
  refusedFrames(): number {
    return this.#link?.refused ?? 0;
  }

  /** Something of the log or the state is being mended, or has to come from another node. */
  get repairing(): boolean {
    return this.#recovery?.busy ?? false;
  }

  #hear(message: Message): void {
    if (message.type === 'snapshot') this.#recovery?.onSnapshot(message);
    else this.#consensus.receive(message);
  }

  #receive(from: NodeId, content: FrameContent): void {
    if (content.kind === 'digest') this.#group.hearDigest(from, content.index, content.digest);
    else this.#recovery?.receive(from, content);
  }

  // --- stopping --------------------------------------------------------------------------------

  /** Hands over, drains and closes; what was accepted is answered first. */
  async stop(): Promise<void> {
    if (this.#stopping) return;
    this.#stopping = true;
    const { logger, clock, crash } = this.#options;
    logger.info('boot', 'stopping: finishing requests in flight');
    const untilMs = clock.nowMs() + DRAIN_MS_MAX;
    const httpStopped = this.#http?.stop() ?? Promise.resolve();
    this.#broker.leader?.releaseParked();
    this.#fetches.stop();
    this.#recovery?.stop();
    if (!this.#consensus.alone) await this.#handOver();
    await httpStopped;
    while (this.#broker.leader?.idle === false && clock.nowMs() < untilMs) await this.#pause();
    this.#broker.leader?.stop();
    this.#broker.leader = null;
    this.#consensus.stop();
    this.#link?.close();
    this.#scrubber.stop();
    this.#stopTicking?.();
    await new Promise<void>((resolve) => this.#closeRecovery(resolve));
    crash.reach('stop-drained');
    await new Promise<void>((resolve) => this.#replica.close(resolve));
    crash.reach('stop-checkpointed');
    const { log, hardState, state } = this.#parts;
    await new Promise<void>((resolve) => log.close(resolve));
    hardState.close();
    await state.close();
    await this.#lock.release();
    logger.info('boot', 'stopped');
  }

  #closeRecovery(done: () => void): void {
    if (this.#recovery === null) done();
    else this.#recovery.close(done);
  }

  /** A leader that should not lead; if nobody can take over, it goes on. */
  #passOn(): void {
    if (!this.#stopping && this.#broker.leader !== null) this.#group.passOn();
  }

  /** Leadership goes on, after what is in flight had a moment to commit. */
  async #handOver(): Promise<void> {
    const { clock, logger } = this.#options;
    const untilMs = clock.nowMs() + SETTLE_MS_MAX;
    while (this.#broker.leader?.idle === false && clock.nowMs() < untilMs) await this.#pause();
    if (this.#broker.leader === null) return;
    const beganMs = clock.nowMs();
    const done = await this.#group.handOver(() => this.#broker.leader !== null);
    const ms = Math.round(clock.nowMs() - beganMs);
    if (done) logger.info('raft', `leadership handed off ms=${ms}`);
    else logger.warn('raft', `leadership was not handed off: no voter took over in ${ms} ms`);
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => void this.#options.clock.after(DRAIN_POLL_MS, resolve));
  }

  // --- the state and the role ------------------------------------------------------------------

  #apply(entries: readonly Entry[]): void {
    for (const entry of entries) {
      if (this.#holds(entry.index)) continue;
      this.#replica.apply(entry);
      this.#broker.leader?.applied(entry.index, entry.term);
    }
  }

  /** The state has this entry's effects already, or is to be replaced by one that has. */
  #holds(index: number): boolean {
    return this.#parts.stateless || index <= this.#replica.appliedIndex;
  }

  /** A new leadership begins with a new planner; nothing of an earlier one is carried over. */
  #follow(role: SoftState): void {
    this.#recovery?.onRole(role);
    if (role.role === 'follower' && role.leader !== NO_NODE) this.#serveAsFollower();
    if (role.leading === (this.#broker.leader !== null)) return;
    if (role.leading) {
      this.#lead();
      return;
    }
    this.#broker.leader?.stop();
    this.#broker.leader = null;
    this.#options.logger.warn('raft', `leadership lost (now ${role.role})`);
  }

  /** Ready to serve only when everything is applied that was committed before. */
  #serveAsFollower(): void {
    if (this.#onServing === null) return;
    this.#consensus.read((confirmed) => {
      if (confirmed && this.#recovery?.complete !== false) this.#serve();
      else if (this.#consensus.leader !== NO_NODE) {
        this.#options.clock.after(READY_RETRY_MS, () => this.#serveAsFollower());
      }
    });
  }

  #serve(): void {
    this.#broker.serving = true;
    this.#onServing?.();
    this.#onServing = null;
  }

  /**
   * Who grants leases from now on. Alone it is the node, whose clock measures its leases after a
   * restart too. In a group each leadership is another granter: since this node led last, stamps
   * may have followed another one's clock, so its former leases need the same grace as theirs.
   */
  #granter(): number {
    const { identity } = this.#parts;
    const { term = 0 } = this.#consensus.status() ?? {};
    return this.#consensus.alone ? identity.nodeId : NODE_NUMBER_MAX + term;
  }

  #lead(): void {
    const { config, clock, logger, crash, random } = this.#options;
    const { state } = this.#parts;
    const surroundings: Surroundings = {
      nodeId: this.#granter(),
      checksum: crc32,
      newUuid: (nowUs) => random.newUuid(nowUs),
      readLog: (location) => {
        try {
          return this.#reader.readSync(location);
        } catch (error) {
          if (!(error instanceof DamageError)) throw error;
          logger.error('log', error.message);
          throw new AppendDamage(error.message);
        }
      },
    };
    const planner = new Planner(state, this.#transactions, surroundings, {
      ...PLANNER_LIMITS,
      turnBytesMax: config.turnBytesMax,
      entryBytesMax: config.entryBytesMax,
      leaseGraceMs: config.clockSkewMs,
    });
    const { pipelineMax } = config;
    this.#broker.leader = new Leader(planner, this.#consensus, clock, pipelineMax, crash.reach);
    this.#serve();
  }
}

function hostAndPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
