/**
 * The layers of an opened node and how they are joined: who is made of what, and who tells whom.
 * What happens when one of them has something to say is `NodeEvents`, which is the node's.
 *
 * Nothing here runs before `Node.join`: a layer may be made before the one that it speaks to, and
 * looks for it only when it is called.
 */
import { crc32 } from 'node:zlib';
import {
  AppliedFigures,
  CLUSTER_VERSION_READ,
  clusterVersionOf,
  DeadLetterGauges,
  type PayloadCipher,
  QueueFigures,
  TimerClock,
  TransactionIndex,
} from '@svc/engine';
import type { Entry, SoftState } from '@svc/raft';
import { type Meters, newMeters } from '@svc/wire';
import { GROUP_LAG_ROWS_MAX, GroupLagFigures } from '../analytics/group-lag-figures.js';
import { SeriesGather } from '../analytics/series-gather.js';
import type { Config } from '../config/config.js';
import { nodeNumber } from '../config/member-id.js';
import { nameBounds } from '../config/names.js';
import { Consensus } from '../consensus/consensus.js';
import { Group } from '../consensus/group.js';
import { GroupLink } from '../consensus/group-link.js';
import type { OpenDirectory } from '../directory/node-directory.js';
import { StateScrubber } from '../directory/state-store-scrub.js';
import type { Ephemeral } from '../ephemeral/ephemeral.js';
import { CHANGED_BYTES_MAX, CHANGED_ROWS_MAX, Replica } from '../leader/replica.js';
import { LogBudget } from '../log/budget.js';
import { DiskGate } from '../log/disk-gate.js';
import { LogRelocation } from '../log/relocation.js';
import { LogSpace } from '../log/space.js';
import { judgeCandidate, NO_WAY_TO_OTHERS } from '../membership/candidate.js';
import { ClusterVersion } from '../membership/cluster-version.js';
import { MembershipService } from '../membership/service.js';
import { Fetches } from '../reads/fetch.js';
import { MessageReader } from '../reads/message-reader.js';
import { PayloadOpener } from '../reads/opened-batch.js';
import { payloadCipher } from '../reads/payload-cipher.js';
import type { StateReads } from '../reads/state-reads.js';
import { UnopenedPayloads } from '../reads/unopened-payloads.js';
import { GroupRecovery } from '../repair/group-recovery.js';
import { snapshotOffer } from '../repair/snapshot-offer.js';
import { Admission } from '../requests/admission.js';
import type { Leadership } from '../requests/leadership.js';
import { Broker, type Deadlines, deadlinesOf } from '../service/broker.js';
import { MemberBlocks } from '../service/member-blocks.js';
import { NodeStatus } from '../service/node-status.js';
import { SendBuffers } from '../system/send-buffers.js';
import { newEphemeral } from './ephemeral.js';
import { nodeFigures } from './figures.js';
import type { NodeOptions } from './options.js';
import { NodeReports } from './reports.js';
import { newLeadership, newReads } from './requests.js';

/** Decoded appends that the reader may keep, counted by the buffers they pin. */
const DECODED_BYTES_MAX = 8 * 1024 * 1024;
/** Durable entries that consensus keeps itself: few, for the log keeps recent ones too. */
const RAFT_TAIL_BYTES_MAX = 4 * 1024 * 1024;
/** The largest entry, of 64 MiB and a little, and the small ones around it. */
const RAFT_TAIL_UNAPPLIED_BYTES_MAX = 72 * 1024 * 1024;
/** Of entries in one append: what is read, verified and sent at a stretch, about a millisecond. */
const APPEND_BYTES_MAX = 512 * 1024;
/** To one member: 100 MB/s with 160 ms between sending and the acknowledgement of its disk. */
const IN_FLIGHT_BYTES_MAX = 16 * 1024 * 1024;
const TICKS_PER_HEARTBEAT = 2;
/** Two of the largest bodies, or what the pipeline holds and two batches if that is more. */
const ADMIT_BYTES_MIN = 128 * 1024 * 1024;
/**
 * Rare enough that the checkpoints of the nodes, which are made at different moments otherwise, do
 * not meet at these entries many times a minute.
 */
const DIGEST_EVERY = 8192;
/** A member that answered within this time counts as alive when the members are changed. */
const LIVE_WITHIN_MS_MIN = 1000;

/** What the layers tell the node. */
export interface NodeEvents {
  /** Durable here and on a majority; they count as applied when it returns. */
  onCommitted(entries: readonly Entry[]): number;
  onRole(role: SoftState): void;
  /** The log is whole: consensus may start. */
  onWhole(recovering: boolean): void;
  /** This node should not lead for the moment. */
  onUnfit(): void;
  /** A snapshot was received: the directory is to be opened anew. */
  onReopen(): void;
  stopping(): boolean;
  /** Why this node takes no part any more; null while it does. */
  failure(): string | null;
}

export class NodeLayers {
  readonly #options: NodeOptions;
  readonly #parts: OpenDirectory;
  readonly #events: NodeEvents;
  readonly deadlines: Deadlines;
  /** null without peers. */
  readonly link: GroupLink | null;
  readonly space: LogSpace;
  /** null without peers. */
  readonly recovery: GroupRecovery | null;
  readonly consensus: Consensus;
  readonly group: Group;
  readonly reports: NodeReports;
  readonly version: ClusterVersion;
  readonly scrubber: StateScrubber;
  readonly replica: Replica;
  readonly timerClock: TimerClock;
  /** null: payloads are stored as they come. */
  readonly cipher: PayloadCipher | null;
  readonly reader: MessageReader;
  readonly transactions: TransactionIndex;
  readonly fetches: Fetches;
  readonly gate: DiskGate;
  readonly admission: Admission;
  readonly membership: MembershipService;
  readonly status: NodeStatus;
  readonly blocks: MemberBlocks;
  readonly gather: SeriesGather;
  readonly ephemeral: Ephemeral;
  readonly reads: StateReads;
  readonly leadership: Leadership;
  readonly broker: Broker;
  /** Every layer adds to the same. */
  readonly meters: Meters;
  readonly deadLetters: DeadLetterGauges;
  readonly queueFigures: QueueFigures;
  readonly groupLags: GroupLagFigures;

  constructor(options: NodeOptions, parts: OpenDirectory, events: NodeEvents) {
    const { config, clock, peers = null } = options;
    const { log, state, self } = parts;
    this.#options = options;
    this.#parts = parts;
    this.#events = events;
    this.deadlines = deadlinesOf(config);
    this.meters = options.meters ?? newMeters();
    this.deadLetters = new DeadLetterGauges(state);
    this.queueFigures = new QueueFigures(state);
    const lagLimits = { cursorsMax: config.groupLagCursorsMax, rowsMax: GROUP_LAG_ROWS_MAX };
    this.groupLags = new GroupLagFigures(state, clock, lagLimits, (begin, reply, done) =>
      this.broker.walk(begin, reply, done),
    );
    const entryBytesMax = config.turnBytesMax + config.entryBytesMax;
    this.link = peers === null ? null : new GroupLink(peers, self, entryBytesMax);
    this.transactions = TransactionIndex.load(state, options.transactionIndex ?? {});
    this.timerClock = options.timerClock ?? new TimerClock();
    this.timerClock.nowUs({ wallUs: clock.wallUs(), nowMs: clock.nowMs() });
    const unopened = new UnopenedPayloads(this.meters.encryption, clock, options.logger);
    this.cipher = payloadCipher(
      config.encryptionKey,
      (bytes) => options.random.fill(bytes),
      () => unopened.met(),
    );
    const opener = this.cipher === null ? null : new PayloadOpener(this.cipher, clock);
    this.reader = new MessageReader(log, opener, clock, DECODED_BYTES_MAX, (error) => {
      options.logger.error('log', error.message);
      this.recovery?.damageMet();
    });
    this.fetches = new Fetches(state, this.reader, clock);
    this.replica = this.#newReplica();
    this.consensus = this.#newConsensus();
    this.group = new Group({
      self,
      config,
      liveWithinMs: liveWithinMs(config),
      clock,
      consensus: this.consensus,
      state,
      appliedIndex: () => this.replica.appliedIndex,
      backing: parts.backing,
      link: this.link,
      onFatal: options.onFatal,
    });
    this.reports = this.#newReports();
    this.version = this.#newVersion();
    this.scrubber = this.#newScrubber();
    this.space = this.#newSpace();
    this.recovery = this.link === null ? null : this.#newRecovery(this.link);
    this.gate = this.#newGate();
    this.admission = this.#newAdmission();
    this.membership = this.#newMembership();
    this.status = this.#newStatus();
    this.blocks = new MemberBlocks({
      self,
      status: this.status,
      consensusStatus: () => this.consensus.status(),
      addresses: () => this.group.addresses(),
      calls: options.calls ?? null,
      directory: parts.directory,
      rates: () => this.meters.queues.closedRates(),
    });
    this.gather = this.#newGather();
    this.ephemeral = newEphemeral(options, parts, this);
    this.reads = newReads(options, parts, this);
    this.leadership = newLeadership(options, parts, this);
    this.broker = this.#newBroker();
  }

  #newBroker(): Broker {
    const options = this.#options;
    const { config, clock } = options;
    const { state } = this.#parts;
    return new Broker({
      activity: options.series?.activity ?? null,
      gather: this.gather,
      fraction: () => options.random.fraction(),
      blocks: this.blocks,
      membership: this.membership,
      state,
      transactions: this.transactions,
      reader: this.reader,
      queueFigures: this.queueFigures,
      fetches: this.fetches,
      ephemeral: this.ephemeral,
      clock,
      status: this.status,
      leadership: this.leadership,
      reads: this.reads,
      deadlines: this.deadlines,
      partitionsMax: config.partitionsShownMax,
      stateIndex: () => this.replica.appliedIndex,
      appliedIndex: () => this.appliedIndex,
      pressure: () => ({ storageFull: this.gate.full, admission: this.admission }),
      meters: this.meters,
      figures: () =>
        nodeFigures({
          state,
          status: this.status,
          leadership: this.leadership,
          deadLetters: this.deadLetters,
          groupLags: this.groupLags,
          nameLimits: nameBounds(config).all,
          queueSeriesMax: config.queueSeriesMax,
          wallUs: () => clock.wallUs(),
          pressure: () => this.broker.pressure(),
          loopLagMs: () => options.series?.loopLag.meanMs ?? 0,
          showsPipeline: config.pipelineMetrics,
        }),
    });
  }

  /** Rows that came with a snapshot are ahead of the log, where the messages are. */
  get appliedIndex(): number {
    return Math.min(this.replica.appliedIndex, this.consensus.applied);
  }

  /** While the log is being repaired nobody knows yet; requests are held. */
  get isMember(): boolean {
    return this.consensus.status() === null || this.group.members().includes(this.#parts.self);
  }

  #newGather(): SeriesGather {
    const { config, calls = null, series = null } = this.#options;
    return new SeriesGather({
      self: this.#parts.self,
      hostname: config.serverId,
      port: config.port,
      series,
      consensusStatus: () => this.consensus.status(),
      calls,
    });
  }

  get #readVersion(): number {
    return this.#options.readVersion ?? CLUSTER_VERSION_READ;
  }

  #newReplica(): Replica {
    const { config, clock, crash, random } = this.#options;
    const { digestEvery = DIGEST_EVERY, changedRowsMax = CHANGED_ROWS_MAX } = this.#options;
    const { state, log } = this.#parts;
    return new Replica({
      state,
      transactions: this.transactions,
      log,
      policy: {
        everyMs: config.checkpointEveryMs,
        everyBytes: config.checkpointEveryBytes,
        changedRowsMax,
        changedBytesMax: CHANGED_BYTES_MAX,
        digests: {
          every: this.link === null ? 0 : digestEvery,
          onPoint: (index) => this.group.tellDigest(index),
        },
      },
      clock,
      fraction: () => random.fraction(),
      reach: crash.reach,
      observer: this.fetches,
      onRoom: () => this.consensus.applyMore(),
      onEased: () => this.leadership.leader?.resume(),
      onEphemeral: (effect) => this.ephemeral.changed(effect),
      pipeline: this.meters.pipeline,
      figures: this.#appliedFigures(),
      readVersion: this.#readVersion,
    });
  }

  /** A figure that fails at every entry is told once. */
  #appliedFigures(): AppliedFigures {
    const { logger, series } = this.#options;
    let told = '';
    return new AppliedFigures({
      figures: this.queueFigures,
      deadLetters: this.deadLetters,
      events: series?.activity,
      onFailure: (error) => {
        const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
        if (text === told) return;
        told = text;
        logger.warn('raft', 'a figure failed beside an applied entry, and begins anew', {
          error: text,
        });
      },
    });
  }

  #newConsensus(): Consensus {
    const { config, clock, random } = this.#options;
    const { log, state, self, hardState } = this.#parts;
    const sendBuffers = new SendBuffers(APPEND_BYTES_MAX);
    return new Consensus({
      id: self,
      log,
      hardState,
      clock,
      random: () => random.fraction(),
      context: () => this.group.context(),
      settings: {
        electionTimeoutMs: config.electionMs,
        heartbeatMs: config.heartbeatMs,
        promoteMaxLag: config.promoteMaxLag,
        liveWithinMs: liveWithinMs(config),
        tailBytesMax: RAFT_TAIL_BYTES_MAX,
        tailUnappliedBytesMax: RAFT_TAIL_UNAPPLIED_BYTES_MAX,
        appendBytesMax: APPEND_BYTES_MAX,
        inFlightBytesMax: IN_FLIGHT_BYTES_MAX,
        // The leader bounds what is in flight; a refusal would end a leadership that is in order.
        uncommittedBytesMax: Number.MAX_SAFE_INTEGER,
      },
      tickMs: Math.max(1, Math.floor(config.heartbeatMs / TICKS_PER_HEARTBEAT)),
      onCommitted: (entries) => this.#events.onCommitted(entries),
      onApplied: () => this.recovery?.applied(),
      onRole: (role) => this.#events.onRole(role),
      onLoss: () => this.recovery?.lossNoticed(),
      onAccepting: () => this.leadership.leader?.resume(),
      send: (message) => this.link?.send(message, sendBuffers.whenSent(message)),
      memoryToSend: sendBuffers.take,
      catchUpBytesPerSecond: config.catchUpMibPerSecond * 1024 * 1024,
      snapshot: () => snapshotOffer({ log, state, checkpointIndex: state.appliedIndex }),
      onDamage: () => this.recovery?.damageMet(),
    });
  }

  #newReports(): NodeReports {
    return new NodeReports({
      self: this.#parts.self,
      clock: this.#options.clock,
      readVersion: this.#readVersion,
      commit: () => this.consensus.status()?.commit ?? 0,
      members: () => this.group.members(),
      send: (to, report) => void this.link?.sendContent(to, report),
      onFullElsewhere: (member, full) => {
        const node = nodeNumber(member);
        const cause = `node ${node} says so of its volume`;
        const { logger } = this.#options;
        logger.warn('raft', 'storage pressure of a member changed', { node, full, cause });
      },
    });
  }

  #newVersion(): ClusterVersion {
    const { config, clock, logger } = this.#options;
    return new ClusterVersion({
      clock,
      everyMs: config.clusterVersionMs,
      version: () => clusterVersionOf(this.#parts.state),
      readByAll: () => this.reports.versionReadByAll(),
      leader: () => this.leadership.leader,
      report: (text) => logger.info('raft', text),
    });
  }

  #newGate(): DiskGate {
    const { config, clock, logger, disk } = this.#options;
    return new DiskGate({
      disk,
      directory: config.dataDirectory,
      highPct: config.diskHighPct,
      lowPct: config.diskLowPct,
      checkMs: config.diskCheckMs,
      pendingBytes: () => this.admission.bytes,
      clock,
      logger,
      onChange: (full) => this.reports.setStorageFull(full),
      fullElsewhere: () => this.reports.anyMemberFull(),
    });
  }

  #newAdmission(): Admission {
    const { config, clock, random } = this.#options;
    const { admitBytesMax, pipelineMax, turnBytesMax } = config;
    return new Admission({
      bytesMax: admitBytesMax ?? Math.max(ADMIT_BYTES_MIN, (pipelineMax + 2) * turnBytesMax),
      holdMs: config.admitHoldMs,
      forwardedHoldMs: config.admitForwardedHoldMs,
      clock,
      fraction: () => random.fraction(),
      counts: this.meters.pipeline.admission,
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
      replaceable: () => this.link !== null || log.firstIndex === 1,
      onFatal,
      error: (text) => logger.error('boot', text),
    });
  }

  #newSpace(): LogSpace {
    const { config, clock, logSpace } = this.#options;
    const { log, state } = this.#parts;
    const { link, consensus } = this;
    const { slackBytes, bytesPerS } = logSpace ?? {};
    const budget = new LogBudget({ state, segments: () => log.segments(), slackBytes });
    const relocation = new LogRelocation({
      state,
      log,
      clock,
      checksum: crc32,
      budget,
      appliedIndex: () => consensus.applied,
      leader: () => this.leadership.leader,
      bytesPerS,
    });
    return new LogSpace({
      state,
      log,
      clock,
      budget,
      relocation,
      settings: {
        purgeHoldMs: config.purgeHoldSeconds * 1000,
        keepEntries: config.logKeepEntries,
        ...logSpace,
      },
      alone: link === null,
      space: () => this.gate.space,
      appliedIndex: () => consensus.applied,
      checkpointIndex: () => state.appliedIndex,
      leading: () => {
        const status = consensus.status();
        if (status?.leading !== true) return null;
        const members = status.peers.filter(({ id }) => id !== status.id);
        return { term: status.term, members };
      },
      heldFrom: () => this.recovery?.heldFrom ?? null,
      send: (to, content) => link?.sendContent(to, content) ?? false,
    });
  }

  #newRecovery(link: GroupLink): GroupRecovery {
    const { config, clock, logger, random, onFatal } = this.#options;
    return new GroupRecovery({
      config,
      clock,
      logger,
      fraction: () => random.fraction(),
      parts: this.#parts,
      consensus: this.consensus,
      send: (to, content) => link.sendContent(to, content),
      members: () => this.group.members(),
      space: this.space,
      onWhole: (recovering) => this.#events.onWhole(recovering),
      onUnfit: () => this.#events.onUnfit(),
      onReopen: () => this.#events.onReopen(),
      onFatal,
    });
  }

  #newMembership(): MembershipService {
    const { config, clock, calls = null, askCandidate = null } = this.#options;
    const { identity, self } = this.#parts;
    const leads = () => this.consensus.status()?.leading === true;
    return new MembershipService({
      self,
      clock,
      calls,
      leader: () => this.consensus.leader,
      group: {
        leading: () => (leads() ? this.consensus.status() : null),
        addresses: () => this.group.addresses(),
        view: () => this.group.view(),
        promoteMaxLag: config.promoteMaxLag,
        liveWithinMs: liveWithinMs(config),
        change: (change, index, force, done) => this.group.change(change, index, force, done),
        handOver: (leaving, done) => this.group.handOver(leads, leaving, done),
        ask: (peer, timeoutMs, done) => {
          if (askCandidate === null) {
            done(NO_WAY_TO_OTHERS);
            return;
          }
          askCandidate(peer, timeoutMs, (card) => {
            const { clusterId } = identity;
            done(
              judgeCandidate(peer, card, {
                clusterId,
                version: clusterVersionOf(this.#parts.state),
              }),
            );
          });
        },
      },
    });
  }

  #newStatus(): NodeStatus {
    const { config, clock } = this.#options;
    const { identity, log, backing } = this.#parts;
    return new NodeStatus({
      clusterId: config.cellId ?? `c-${identity.clusterId.slice(0, 6)}`,
      nodeId: identity.nodeId,
      consensus: this.consensus,
      log,
      clock,
      store: () => backing.figures(),
      appliedIndex: () => this.replica.appliedIndex,
      appliedAtMs: () => this.replica.appliedAtMs,
      addresses: () => this.group.addresses(),
      durableIndex: () => this.#parts.state.appliedIndex,
      leaderHeardWithinMs: liveWithinMs(config),
      leaderCommit: () => this.reports.of(this.consensus.leader)?.commit ?? 0,
      clusterVersion: () => clusterVersionOf(this.#parts.state),
      isClustered: config.replicator !== 'local',
      serving: () => this.broker.serving,
      refusedFrames: () =>
        summed(this.link?.counters() ?? {}, this.#options.peerCounters?.() ?? {}),
      readiness: { lagMs: config.readyLagMs, lagEntries: config.readyLagEntries },
      inFlight: () => this.leadership.leader?.inFlight ?? 0,
      stopping: () => this.#events.stopping(),
      failure: () => this.#events.failure(),
    });
  }
}

function liveWithinMs({ electionMs }: Config): number {
  return Math.max(2 * electionMs, LIVE_WITHIN_MS_MIN);
}

/** A reason may be counted in several places. */
function summed(
  ...counters: readonly Readonly<Record<string, number>>[]
): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const [reason, count] of counters.flatMap((each) => Object.entries(each))) {
    sums[reason] = (sums[reason] ?? 0) + count;
  }
  return sums;
}
