/**
 * The parts of an opened node, made from the lowest up: each part is given the parts below it.
 *
 *     state -> group -> upkeep -> service
 *
 * A lower part that has something to tell an upper one calls `NodeEvents`, which the node answers.
 * Nothing here runs before `Node.join`; `lifecycle.ts` lists what opens and closes, and in which
 * order.
 */
import { crc32 } from 'node:zlib';
import {
  AppliedFigures,
  CLUSTER_VERSION_READ,
  type Command,
  DeadLetterGauges,
  type EphemeralQueueEffect,
  MIRROR_BYTES_MAX,
  newRequestSession,
  type Outcome,
  QueueFigures,
  TimerClock,
  TransactionIndex,
} from '@svc/engine';
import { ringLimits } from '@svc/ephemeral';
import { LoopShare } from '@svc/http';
import { type Entry, NO_NODE, type SoftState } from '@svc/raft';
import { newMeters } from '@svc/wire';
import { GROUP_LAG_ROWS_MAX, GroupLagFigures } from '../analytics/group-lag-figures.js';
import { SeriesGather } from '../analytics/series-gather.js';
import { hostAndPortText } from '../config/addresses.js';
import type { Config } from '../config/config.js';
import { nodeNumber } from '../config/member-id.js';
import { Consensus } from '../consensus/consensus.js';
import { Group, liveWithinMs } from '../consensus/group.js';
import { encodeAddresses, MemberAddresses } from '../consensus/group-addresses.js';
import { GroupLink } from '../consensus/group-link.js';
import type { OpenDirectory } from '../directory/node-directory.js';
import { StateScrubber } from '../directory/state-store-scrub.js';
import { Ephemeral } from '../ephemeral/ephemeral.js';
import { ClusterRole } from '../leader/cluster-role.js';
import { CHANGED_BYTES_MAX, CHANGED_ROWS_MAX, Replica } from '../leader/replica.js';
import { LogBudget } from '../log/budget.js';
import { DiskGate } from '../log/disk-gate.js';
import { LogRelocation } from '../log/relocation.js';
import { LogSpace } from '../log/space.js';
import { asking } from '../membership/candidate.js';
import { ClusterVersion } from '../membership/cluster-version.js';
import { MembershipService } from '../membership/service.js';
import { Fetches } from '../reads/fetch.js';
import { MessageReader } from '../reads/message-reader.js';
import { PayloadOpener } from '../reads/opened-batch.js';
import { payloadCipher } from '../reads/payload-cipher.js';
import { StateReads } from '../reads/state-reads.js';
import { UnopenedPayloads } from '../reads/unopened-payloads.js';
import { GroupRecovery } from '../repair/group-recovery.js';
import { snapshotOffer } from '../repair/snapshot-offer.js';
import { SnapshotSender } from '../repair/snapshot-sender.js';
import { Admission } from '../requests/admission.js';
import { ForwardSender } from '../requests/forward-sender.js';
import { Requests } from '../requests/held-requests.js';
import { Leadership, remoteLeader } from '../requests/leadership.js';
import { Broker, deadlinesOf } from '../service/broker.js';
import { MemberBlocks } from '../service/member-blocks.js';
import { NodeStatus } from '../service/node-status.js';
import { FollowerDriver } from '../standby/follower-driver.js';
import type { HoldKeeper } from '../standby/hold-keeper.js';
import { MachineFigures } from '../system/machine-figures.js';
import type { NodeLife } from '../system/node-life.js';
import { SendBuffers } from '../system/send-buffers.js';
import type { NodeOptions } from './options.js';
import { NodeReports } from './reports.js';
import { sourceParts } from './source-parts.js';

/** Decoded appends that the reader may keep, counted by the buffers they pin. */
const DECODED_BYTES_MAX = 8 * 1024 * 1024;
/** Durable entries that consensus keeps itself: few, for the log keeps recent ones too. */
const RAFT_TAIL_BYTES_MAX = 4 * 1024 * 1024;
/** The largest entry, of 64 MiB and a little, and the small ones around it. */
const RAFT_TAIL_UNAPPLIED_BYTES_MAX = 72 * 1024 * 1024;
/** Entries of one append: they are read, verified and sent at a stretch, about a millisecond. */
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

/** What a lower part tells an upper one. */
export interface NodeEvents {
  /** Entries are durable here and on a majority. Returns how many of them are applied. */
  onCommitted(entries: readonly Entry[]): number;
  /** What `onCommitted` took counts as applied. */
  onApplied(): void;
  onRole(role: SoftState): void;
  /** Consensus found that this node lost entries that it had acknowledged. */
  onLoss(): void;
  /** The log cannot be read somewhere. */
  onDamage(): void;
  /** Apply may go on, after a checkpoint freed room. */
  onRoom(): void;
  /** The leader may plan wide commands again. */
  onEased(): void;
  /** The leader may propose again. */
  onAccepting(): void;
  /** The newest durable checkpoint is the state after entry `index`, at which nodes compare. */
  onPoint(index: number): void;
  /** An entry that was applied changed the options of an ephemeral queue. */
  onEphemeral(effect: EphemeralQueueEffect): void;
  /** The log is whole: consensus may start. */
  onWhole(recovering: boolean): void;
  /** This node should not lead for the moment. */
  onUnfit(): void;
  /** A snapshot was received: the directory is to be opened anew. */
  onReopen(): void;
}

/** What every part may be given. */
interface Site {
  readonly options: NodeOptions;
  readonly opened: OpenDirectory;
  readonly life: NodeLife;
  readonly events: NodeEvents;
  /** 0 <= fraction < 1, at random. */
  readonly fraction: () => number;
  /** The newest effect catalogue that this node reads. */
  readonly readVersion: number;
}

type StateParts = ReturnType<typeof stateParts>;
type GroupParts = StateParts & ReturnType<typeof groupParts>;
type UpkeepParts = GroupParts & ReturnType<typeof upkeepParts>;
export type NodeParts = ReturnType<typeof nodeParts>;

export function nodeParts(
  options: NodeOptions,
  opened: OpenDirectory,
  life: NodeLife,
  events: NodeEvents,
) {
  const { random, readVersion = CLUSTER_VERSION_READ } = options;
  const fraction = () => random.fraction();
  const site: Site = { options, opened, life, events, fraction, readVersion };
  const state = stateParts(site);
  const group = { ...state, ...groupParts(site, state) };
  const upkeep = { ...group, ...upkeepParts(site, group) };
  return { ...upkeep, ...serviceParts(site, upkeep) };
}

// --- the state, and the way to the others --------------------------------------------------------

function stateParts(site: Site) {
  const { options, opened, events } = site;
  const { config, clock, logger, random, peers = null } = options;
  const { log, state, self } = opened;
  const meters = options.meters ?? newMeters();
  const loop = options.loop ?? new LoopShare(clock);
  const timerClock = options.timerClock ?? new TimerClock();
  timerClock.nowUs({ wallUs: clock.wallUs(), nowMs: clock.nowMs() });
  const unopened = new UnopenedPayloads(meters.encryption, clock, logger);
  /** null: payloads are stored as they come. */
  const cipher = payloadCipher(
    config.encryptionKey,
    (bytes) => random.fill(bytes),
    () => unopened.met(),
  );
  const opener = cipher === null ? null : new PayloadOpener(cipher, loop);
  const reader = new MessageReader(log, opener, loop, DECODED_BYTES_MAX, (error) => {
    logger.error('log', error.message);
    events.onDamage();
  });
  const parts = {
    meters,
    timerClock,
    cipher,
    reader,
    loop,
    fetches: new Fetches(state, reader, clock, loop),
    transactions: TransactionIndex.load(state, options.transactionIndex ?? {}),
    queueFigures: new QueueFigures(state),
    deadLetters: new DeadLetterGauges(state),
    role: new ClusterRole(state),
    /** null: there are no other nodes. */
    link: peers === null ? null : new GroupLink(peers, self, entryBytesMaxOf(config)),
  };
  const replica = newReplica(site, parts);
  const addresses = new MemberAddresses(state, replica, config.peers);
  return { ...parts, replica, addresses };
}

/** A turn may be over its budget by one command, and a standby names its source's entry in it. */
export function entryBytesMaxOf({ turnBytesMax, entryBytesMax }: Config): number {
  return turnBytesMax + entryBytesMax + MIRROR_BYTES_MAX;
}

function newReplica(
  { options, opened, events, fraction, readVersion }: Site,
  parts: Pick<StateParts, 'meters' | 'fetches' | 'transactions' | 'link' | 'role'> & FiguresParts,
): Replica {
  const { config, clock, crash } = options;
  const { digestEvery = DIGEST_EVERY, changedRowsMax = CHANGED_ROWS_MAX } = options;
  const { meters, fetches, transactions, link, role } = parts;
  const { state, log } = opened;
  return new Replica({
    ...events,
    state,
    transactions,
    log,
    policy: {
      everyMs: config.checkpointEveryMs,
      everyBytes: config.checkpointEveryBytes,
      changedRowsMax,
      changedBytesMax: CHANGED_BYTES_MAX,
      digests: { every: link === null ? 0 : digestEvery, onPoint: events.onPoint },
    },
    clock,
    fraction,
    reach: crash.reach,
    observer: fetches,
    pipeline: meters.pipeline,
    figures: appliedFigures(options, parts),
    readVersion,
    role,
  });
}

type FiguresParts = Pick<StateParts, 'queueFigures' | 'deadLetters'>;

/** A figure that fails at every entry is told once. */
function appliedFigures(
  { logger, series }: NodeOptions,
  { queueFigures, deadLetters }: FiguresParts,
): AppliedFigures {
  let told = '';
  return new AppliedFigures({
    figures: queueFigures,
    deadLetters,
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

// --- consensus, and the way of commands to the leader --------------------------------------------

function groupParts(site: Site, parts: StateParts) {
  const { options, opened, readVersion } = site;
  const { config, clock, logger, disk, onFatal } = options;
  const { link, addresses, replica, role } = parts;
  const { self, backing, directory } = opened;
  const consensus = newConsensus(site, parts);
  const group = new Group({ self, config, clock, consensus, addresses, backing, link, onFatal });
  const reports = new NodeReports({ self, clock, readVersion, consensus, group, link, logger });
  const admission = newAdmission(site, parts);
  const gate = new DiskGate({
    disk,
    directory,
    highPct: config.diskHighPct,
    lowPct: config.diskLowPct,
    checkMs: config.diskCheckMs,
    admission,
    clock,
    logger,
    reports,
  });
  const deadlines = deadlinesOf(config);
  const reads = newReads(site, parts, consensus, group, deadlines.writeMs);
  /** Rows that came with a snapshot are ahead of the log, where the messages are. */
  const appliedIndex = () => Math.min(replica.appliedIndex, consensus.applied);
  const refusal = (command: Command) => role.refusal(command) ?? gate.refusal(command);
  const requests = new Requests({
    clock,
    sender: newSender(site, parts),
    appliedIndex,
    remoteLeader: () => remoteLeader(consensus, opened.identity.nodeId),
    isMember: () => group.isMember,
    admission,
    refusal,
  });
  const { pipeline } = parts.meters;
  const taking = { clock, consensus, reads, requests, admission, refusal, pipeline };
  const leadership = new Leadership({ ...taking, calls: options.calls ?? null });
  const upward = { reads, appliedIndex, requests, leadership };
  return { consensus, group, reports, admission, gate, deadlines, ...upward };
}

function newConsensus(site: Site, { link, addresses, role }: StateParts): Consensus {
  const { options, opened, events, fraction } = site;
  const { config, clock } = options;
  const { log, state, self, hardState } = opened;
  const sendBuffers = new SendBuffers(APPEND_BYTES_MAX);
  return new Consensus({
    ...events,
    id: self,
    log,
    hardState,
    clock,
    random: fraction,
    context: () => encodeAddresses(addresses.get()),
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
    send: (message) => link?.send(message, sendBuffers.whenSent(message)),
    memoryToSend: sendBuffers.take,
    catchUpBytesPerSecond: config.catchUpMibPerSecond * 1024 * 1024,
    isConsumed: () => !role.isStandby,
    snapshot: () => snapshotOffer({ log, state, checkpointIndex: state.appliedIndex }),
  });
}

function newAdmission({ options, fraction }: Site, { meters }: StateParts): Admission {
  const { config, clock } = options;
  const { admitBytesMax, pipelineMax, turnBytesMax } = config;
  return new Admission({
    bytesMax: admitBytesMax ?? Math.max(ADMIT_BYTES_MIN, (pipelineMax + 2) * turnBytesMax),
    holdMs: config.admitHoldMs,
    forwardedHoldMs: config.admitForwardedHoldMs,
    clock,
    fraction,
    counts: meters.pipeline.admission,
  });
}

function newReads(
  { options, opened }: Site,
  { loop }: StateParts,
  consensus: Consensus,
  group: Group,
  allowedMs: number,
): StateReads {
  const { stateless } = opened;
  const source = {
    stateless,
    get leadsAlone() {
      return consensus.leadsAlone;
    },
    get isLed() {
      return consensus.leader !== NO_NODE;
    },
    isMember: () => group.isMember,
    read: (done: (confirmed: boolean) => void) => consensus.read(done),
  };
  return new StateReads(source, options.clock, loop, allowedMs, ({ message }) =>
    options.logger.error('boot', message),
  );
}

/** null: there are no other nodes. */
function newSender({ options, opened, fraction }: Site, { meters }: StateParts) {
  const { config, clock, calls = null } = options;
  if (calls === null) return null;
  const word = () => Math.floor(fraction() * 2 ** 32);
  const session = newRequestSession(opened.self, word(), word());
  const inFlightMax = config.forwardInFlightMax;
  return new ForwardSender({ calls, session, inFlightMax, clock, pipeline: meters.pipeline });
}

// --- upkeep of the log, the state and the version ------------------------------------------------

function upkeepParts(site: Site, parts: GroupParts) {
  const { options, opened } = site;
  const { config, clock, logger, onFatal } = options;
  const { state, log } = opened;
  const { link, group, reports, leadership } = parts;
  const version = new ClusterVersion({
    clock,
    everyMs: config.clusterVersionMs,
    state,
    reports,
    leadership,
    logger,
  });
  const scrubber = new StateScrubber({
    state,
    clock,
    everyS: config.scrubEverySeconds,
    rowsPerS: config.scrubRowsPerSecond,
    replaceable: () => link !== null || log.firstIndex === 1,
    onFatal,
    error: (text) => logger.error('boot', text),
  });
  const sender =
    link === null
      ? null
      : new SnapshotSender({
          openView: () => state.snapshot(),
          firstIndex: () => log.firstIndex,
          isMember: (member) => group.members().includes(member),
          send: (to, content) => link.sendContent(to, content),
          clock,
        });
  const { consensus, gate, appliedIndex } = parts;
  const { fraction, events } = site;
  const source = { ...options, ...events, opened, gate, appliedIndex, sender };
  const { holds, sourceReads, seeds } = sourceParts(source);
  const space = newSpace(site, parts, sender, holds);
  const follower = newFollower(site, parts);
  const basis = { ...events, config, clock, logger, fraction, parts: opened, onFatal };
  /** null: there are no other nodes. */
  const recovery =
    link === null || sender === null
      ? null
      : new GroupRecovery({ ...basis, consensus, link, group, sender, space });
  return { version, scrubber, sender, space, recovery, follower, holds, sourceReads, seeds };
}

/** null: no source is named. */
function newFollower({ options, opened }: Site, { link }: GroupParts): FollowerDriver | null {
  const { config, clock, logger, source = null } = options;
  if (source === null || link === null) return null;
  return new FollowerDriver({
    sources: config.sourceAddresses.map(hostAndPortText),
    name: config.standbyName,
    cluster: opened.identity.clusterId,
    entryBytesMax: entryBytesMaxOf(config),
    port: source,
    clock,
    logger,
  });
}

function newSpace(
  { options, opened }: Site,
  { link, gate, consensus, leadership }: GroupParts,
  sender: SnapshotSender | null,
  holds: HoldKeeper | null,
): LogSpace {
  const { config, clock, logSpace } = options;
  const { log, state } = opened;
  const { slackBytes, bytesPerS } = logSpace ?? {};
  const budget = new LogBudget({
    state,
    segments: () => log.segments(),
    slackBytes,
    readFrom: () => holds?.heldFrom ?? null,
  });
  const appliedIndex = () => consensus.applied;
  const relocation = new LogRelocation({
    state,
    log,
    clock,
    checksum: crc32,
    budget,
    appliedIndex,
    leader: () => leadership.leader,
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
    space: () => gate.space,
    appliedIndex,
    checkpointIndex: () => state.appliedIndex,
    leading: () => {
      const status = consensus.status();
      if (status?.leading !== true) return null;
      return { term: status.term, members: status.peers.filter(({ id }) => id !== status.id) };
    },
    sender,
    holds,
    send: (to, content) => link?.sendContent(to, content) ?? false,
  });
}

// --- the service ---------------------------------------------------------------------------------

function serviceParts(site: Site, parts: UpkeepParts) {
  const { options, opened, life, fraction } = site;
  const { config, clock, calls = null, series = null, peerCounters } = options;
  const { self, state, directory } = opened;
  const { consensus, group, addresses, meters, deadlines, reads, requests } = parts;
  const askWho = asking(options.askCandidate ?? null, opened.identity.clusterId, state);
  const membership = new MembershipService({
    self,
    clock,
    consensus,
    group,
    addresses,
    calls,
    askWho,
  });
  const status = new NodeStatus({ ...parts, config, opened, clock, life, peerCounters });
  const machine = new MachineFigures({ directory, diskGatePct: config.diskHighPct });
  const blocks = new MemberBlocks({ self, status, consensus, addresses, calls, machine, meters });
  const [hostname, port] = [config.serverId, config.port];
  const gather = new SeriesGather({ self, hostname, port, series, consensus, calls });
  const submit = (command: Command, onOutcome: (outcome: Outcome) => void) =>
    void requests.submit(command, clock.nowMs() + deadlines.writeMs, onOutcome);
  const ephemeral = newEphemeral(site, parts, submit);
  const lagLimits = { cursorsMax: config.groupLagCursorsMax, rowsMax: GROUP_LAG_ROWS_MAX };
  const groupLags = new GroupLagFigures(state, clock, lagLimits, reads);
  const broker = new Broker({
    ...parts,
    state,
    clock,
    life,
    fraction,
    status,
    membership,
    blocks,
    ephemeral,
    submit,
    partitionsMax: config.partitionsShownMax,
    scrape: { ...parts, config, clock, state, status, groupLags, series },
    activity: series?.activity ?? null,
    gather,
  });
  return { membership, status, blocks, gather, ephemeral, broker };
}

function newEphemeral(
  { options, opened, fraction }: Site,
  { meters, loop, consensus, group, reports }: UpkeepParts,
  submit: (command: Command, onOutcome: (outcome: Outcome) => void) => void,
): Ephemeral {
  const { config, clock, logger, calls = null } = options;
  return new Ephemeral({
    self: opened.identity.nodeId,
    clock,
    loop,
    fraction,
    limits: ringLimitsOf(config),
    silentMsMax: config.ephemeralSilentMsMax,
    meters: meters.ephemeral,
    state: opened.state,
    appliedIndex: () => consensus.applied,
    members: () => group.members().map(nodeNumber),
    heardAgoMs: (node) => {
      const member = group.members().find((one) => nodeNumber(one) === node);
      return member === undefined ? null : (reports.of(member)?.ageMs ?? null);
    },
    calls,
    submit,
    warn: (text) => logger.warn('ephemeral', text),
  });
}

function ringLimitsOf(config: Config): ReturnType<typeof ringLimits> {
  return ringLimits(
    config.ephemeralBytesMax,
    config.ephemeralIdleSeconds * 1000,
    {
      maxBytes: config.ephemeralRingBytesMax,
      maxLength: config.ephemeralRingLengthMax,
      leaseSeconds: config.ephemeralLeaseSeconds,
      retryLimit: config.ephemeralRetryLimit,
    },
    config.gatewayEmbedded && config.gatewayTenantHeader,
  );
}
