/**
 * Heals the losses of this member, and helps others with theirs: a damaged log is repaired from the
 * others before consensus starts and while it runs, and a state that its log cannot rebuild is
 * taken from another member. This file joins the parts and keeps the order; the rules stand beside
 * it in this room and in log/space.ts.
 *
 *     open -> repair phase -> consensus starts -> catches up -> complete
 *                                   |
 *                                   +-> rows received -> install marker -> opened anew
 *
 * What must hold:
 * - Consensus starts on a whole log only, and without its vote while the recovering marker stands.
 * - Until this node is complete it serves nothing and does not campaign: its state is ahead of its
 *   log (entries up to it come again and are not applied twice), or there is none at all.
 * - Both markers go when consensus, not this file, knows the reason to be gone.
 */
import {
  members as membersOf,
  NO_NODE,
  type NodeId,
  type SnapshotRequest,
  type SoftState,
} from '@svc/raft';
import { DamageError } from '@svc/storage';
import type { Config } from '../config/config.js';
import { nodeNumber } from '../config/member-id.js';
import type { Consensus } from '../consensus/consensus.js';
import type { Group } from '../consensus/group.js';
import type { GroupLink } from '../consensus/group-link.js';
import { type OpenDirectory, refuseTruncatedLog } from '../directory/node-directory.js';
import { type Install, removeInstall, writeInstall } from '../directory/snapshot-install.js';
import type { LogSpace } from '../log/space.js';
import { anyLifeOf, type FrameContent, type SnapshotName } from '../peers/frames.js';
import type { Cancel, Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';
import { answersTo } from './answer.js';
import { type ConfigurationsInForce, configurationsInForce } from './configurations.js';
import { RepairPhase } from './phase.js';
import { RepairRunning } from './running.js';
import { decodeManifest } from './snapshot-offer.js';
import { type SnapshotOffer, SnapshotReceiver } from './snapshot-receiver.js';
import type { SnapshotSender } from './snapshot-sender.js';

const TICK_MS = 1000;
/** Bytes verified per tick: a sealed segment of 64 MiB in a minute, a millisecond each. */
const SCRUB_BYTES = 1024 * 1024;

export interface GroupRecoveryOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Logger;
  /** In [0, 1). */
  readonly fraction: () => number;
  readonly parts: OpenDirectory;
  readonly consensus: Consensus;
  readonly link: GroupLink;
  readonly group: Group;
  readonly sender: SnapshotSender;
  readonly space: LogSpace;
  /** The log is whole: consensus may start. */
  readonly onWhole: (recovering: boolean) => void;
  /** This node should not lead while its log is damaged. */
  readonly onUnfit: () => void;
  /** This node is to be closed and opened again; consensus is told nothing more. */
  readonly onReopen: () => void;
  readonly onFatal: (error: Error) => void;
}

export class GroupRecovery {
  readonly #options: GroupRecoveryOptions;
  readonly #send: (to: NodeId, content: FrameContent) => boolean;
  readonly #receiver: SnapshotReceiver;
  #phase: RepairPhase | null = null;
  /** null until consensus starts: before, the phase repairs. */
  #running: RepairRunning | null = null;
  #install: Install | null;
  #recovering = false;
  #complete = false;
  #stopping = false;
  #stopTicking: Cancel | null = null;

  constructor(options: GroupRecoveryOptions) {
    const { parts, clock, link, logger } = options;
    const send = (to: NodeId, content: FrameContent) => link.sendContent(to, content);
    this.#options = options;
    this.#send = send;
    this.#install = parts.install;
    this.#receiver = new SnapshotReceiver({
      store: parts.store,
      send,
      clock,
      drawAttempt: () => this.#draw(),
      report: (text) => logger.info('raft', text),
      stillNeeded: (offer) => this.#needs(offer),
      onReceived: (offer, name) => this.#received(offer, name),
      onFailure: options.onFatal,
    });
  }

  #newRunning(): RepairRunning {
    const { parts, clock, logger } = this.#options;
    return new RepairRunning({
      log: parts.log,
      peers: () => this.#others(),
      send: this.#send,
      clock,
      round: this.#draw(),
      report: (text) => logger.warn('log', text),
      onChange: () => this.#judge(),
    });
  }

  /** The state is whole, and the log has caught up with it. */
  get complete(): boolean {
    return this.#complete;
  }

  /** Something of the log or the state is being mended. */
  get busy(): boolean {
    const mending = !this.#complete || this.#running?.whole === false || this.#recovering;
    return mending || this.#phase !== null || this.#receiver.active;
  }

  // --- opening -----------------------------------------------------------------------------------

  /** Repairs what has to be repaired; `onWhole` follows, at once when nothing has to. */
  begin(): void {
    const { log, marker, state } = this.#options.parts;
    this.#recovering = marker.stands;
    // A replay must not meet damage halfway.
    if (log.isWhole && log.lastIndex > state.appliedIndex) log.examine(state.appliedIndex + 1);
    const tornTail = log.recovery.tornTail?.firstIndex ?? null;
    // Whose rows come from another node has a leader to wait for, and much of the log to come.
    const isForeign = this.#options.parts.stateless || this.#install !== null;
    const isOver = this.#recovering ? isForeign : tornTail === null;
    if (log.isWhole && isOver) this.#start();
    else this.#repair(tornTail);
  }

  #repair(tornTail: number | null): void {
    const { parts, clock, logger } = this.#options;
    const { log, state, marker, hardState, self } = parts;
    const peers = this.#everyoneElse();
    const [slot] = log.damage();
    if (peers.length === 0) {
      if (slot !== undefined) throw damageOfOne(slot);
      this.#start();
      return;
    }
    this.#phase = new RepairPhase(
      {
        self,
        ownTerm: hardState.state?.term ?? 0,
        log,
        peers,
        configurationsBefore: (index) => this.#inForce(index),
        appliedIndex: state.appliedIndex,
        tornTail,
        recovering: marker.stands,
        markRecovering: () => marker.set(),
        clearRecovering: () => marker.clear(),
        send: this.#send,
        clock,
        round: this.#draw(),
        report: (text) => logger.warn('log', text),
      },
      ({ recovering }) => {
        this.#phase = null;
        this.#recovering = recovering;
        this.#start();
      },
    );
    this.#phase.start();
  }

  #inForce(index: number): ConfigurationsInForce {
    const { state, log } = this.#options.parts;
    return configurationsInForce(state, state.appliedIndex, log, index);
  }

  /** Everyone who may hold entries, as far as rows, log and the configuration can tell. */
  #everyoneElse(): readonly NodeId[] {
    const { parts, config } = this.#options;
    const { log, self } = parts;
    const first = log.damage()[0]?.index ?? log.lastIndex + 1;
    const { configurations, formerVoters } = this.#inForce(first);
    const known = new Set<NodeId>(formerVoters);
    for (const each of configurations) for (const id of membersOf(each)) known.add(id);
    if (known.size > 0) return [...known].filter((id) => id !== self);
    const others = config.peers.filter(({ id }) => id !== nodeNumber(self));
    return others.map(({ id }) => anyLifeOf(id));
  }

  #start(): void {
    const { parts, clock, onWhole } = this.#options;
    const { log, state, stateless } = parts;
    const explained = this.#recovering || this.#install !== null || stateless;
    if (!explained && log.lastIndex < state.appliedIndex) this.#admitLoss();
    log.tornSettled();
    this.#stopTicking = clock.every(TICK_MS, () => this.#tick());
    this.#running = this.#newRunning();
    onWhole(this.#recovering);
    this.applied();
    this.#judge();
    this.#tellInstalled();
  }

  /**
   * The log ends before the state, and no slot of it says why. Whatever the reason, this node
   * acknowledged entries that it does not have; the others do.
   */
  #admitLoss(): void {
    const { parts, logger } = this.#options;
    const { log, state, directory, marker } = parts;
    if (this.#everyoneElse().length === 0) refuseTruncatedLog(log, state, directory);
    const lost = `the log ends at entry ${log.lastIndex}, the state at ${state.appliedIndex}`;
    logger.warn('log', `${lost}: this node goes on without its vote until it has caught up`);
    marker.set();
    this.#recovering = true;
  }

  /** The leader waits for it with what it sends next. */
  #tellInstalled(): void {
    const install = this.#install;
    if (install === null) return;
    const done = { kind: 'snapshot-done', index: install.logIndex, installed: true } as const;
    this.#send(install.offeredBy as NodeId, done);
  }

  stop(): void {
    this.#stopping = true;
    this.#judge();
  }

  /** Nothing is asked or answered any more; the store of received rows is closed. */
  close(done: () => void): void {
    this.#phase?.stop();
    this.#running?.stop();
    this.#receiver.stop();
    this.#options.sender.stop();
    this.#stopTicking?.();
    this.#options.parts.store.close(done);
  }

  // --- running -----------------------------------------------------------------------------------

  receive(from: NodeId, content: FrameContent): void {
    switch (content.kind) {
      case 'repair-ask':
        this.#answer(from, content);
        return;
      case 'repair-answer':
        if (this.#phase !== null) this.#phase.onAnswer(from, content);
        else this.#running?.onAnswer(from, content);
        return;
      case 'snapshot-ask':
        this.#options.sender.onAsk(from, content);
        return;
      case 'snapshot-chunk':
        this.#receiver.onChunk(from, content);
        return;
      case 'snapshot-refused':
        this.#receiver.onRefused(from, content);
        return;
      case 'snapshot-done':
        this.#options.consensus.snapshotSent(from, content.installed);
        // It is not where this node believes it to be: the next append finds out where.
        this.#options.consensus.unreachable(from);
        return;
      case 'log-floor':
        if (this.#complete) this.#options.space.onFloor(content);
        return;
      case 'digest':
      case 'node-report':
        return;
    }
  }

  #answer(from: NodeId, ask: Extract<FrameContent, { kind: 'repair-ask' }>): void {
    const { parts, consensus } = this.#options;
    const { log, hardState } = parts;
    const recovering = this.#recovering || (this.#phase?.recovering ?? false);
    const term = hardState.state?.term ?? 0;
    const led = consensus.leader !== NO_NODE;
    for (const answer of answersTo(ask, log, { term, recovering, led })) this.#send(from, answer);
  }

  /** The leader offers a snapshot: its rows are fetched if consensus can do with them. */
  onSnapshot(message: SnapshotRequest): void {
    const { consensus } = this.#options;
    if (!consensus.needsSnapshot(message)) {
      consensus.receive(message);
      return;
    }
    const { index, term, manifest } = message.snapshot;
    if (decodeManifest(manifest) === null) {
      this.#options.logger.warn('raft', 'an offer of a snapshot is not of this version');
      return;
    }
    this.#receiver.onOffer({ from: message.from, index, term });
  }

  /** Consensus found that this node lost entries. Durable when it returns. */
  lossNoticed(): void {
    if (this.#recovering) return;
    this.#recovering = true;
    this.#options.parts.marker.set();
    this.#options.logger.error(
      'log',
      'entries that this node had acknowledged are gone from its log; it does not vote until it ' +
        'has them again',
    );
    this.#judge();
  }

  onRole(role: SoftState): void {
    if (role.recovering || !this.#recovering) return;
    this.#recovering = false;
    this.#options.parts.marker.clear();
    this.#options.logger.info('raft', 'caught up with what was lost; this node votes again');
    this.#judge();
  }

  /** Consensus has applied more. */
  applied(): void {
    if (this.#complete) return;
    const { parts, consensus } = this.#options;
    const { stateless, state, log } = parts;
    const reached = Math.min(consensus.applied, log.durableIndex);
    if (stateless || reached < state.appliedIndex) return;
    this.#complete = true;
    // Not before: an entry given up must be one that the leader has confirmed.
    this.#options.space.start();
    if (this.#install !== null) removeInstall(parts.disk, parts.directory);
    this.#install = null;
    this.#judge();
  }

  /** A read met damage. */
  damageMet(): void {
    this.#running?.look();
  }

  #judge(): void {
    const fit = this.#complete && this.#running?.whole !== false && !this.#stopping;
    this.#options.consensus.setElectable(fit);
    if (!fit) this.#options.onUnfit();
  }

  #tick(): void {
    const { parts, consensus, sender } = this.#options;
    const { log, stateless } = parts;
    sender.tick();
    if (log.scrub(SCRUB_BYTES) !== null) this.#running?.look();
    const from = consensus.leader;
    if (from === NO_NODE) return;
    if (this.#recovering) this.#callForAppend(from);
    if (!stateless) return;
    // The leader sees a log that lacks nothing: this node offers itself what it needs.
    const index = log.firstIndex - 1;
    this.#receiver.onOffer({ from, index, term: log.term(index) ?? 0 });
  }

  /**
   * A leader with nothing new to say sends heartbeats alone, and those cannot be told of a loss: it
   * would believe for ever in what this node held once, and this node could not catch up.
   */
  #callForAppend(leader: NodeId): void {
    this.#send(leader, { kind: 'snapshot-done', index: 0, installed: false });
  }

  #needs({ index, term }: SnapshotOffer): boolean {
    const { parts, consensus } = this.#options;
    if (parts.stateless) return true;
    const status = consensus.status();
    // What was offered is committed, whoever leads by now.
    return status !== null && index > status.commit && parts.log.term(index) !== term;
  }

  #received({ from, index, term }: SnapshotOffer, name: SnapshotName): void {
    const { parts, onReopen } = this.#options;
    writeInstall(parts.disk, parts.directory, {
      phase: 'installing',
      resetsLog: !parts.stateless,
      logIndex: index,
      logTerm: term,
      appliedIndex: name.index,
      offeredBy: from,
    });
    onReopen();
  }

  #others(): readonly NodeId[] {
    const { group, parts } = this.#options;
    return group.members().filter((id) => id !== parts.self);
  }

  #draw(): number {
    return Math.floor(this.#options.fraction() * 0x1_0000_0000);
  }
}

function damageOfOne(slot: {
  readonly index: number;
  readonly file: string;
  readonly offset: number;
}) {
  return new DamageError(
    'log_damaged',
    slot.file,
    slot.offset,
    `the record of entry ${slot.index} is not what was written, and no other node has it`,
    'Nothing was changed. Put the log files back from a copy of this directory',
  );
}
