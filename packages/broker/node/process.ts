/**
 * The node as a process runs it, from the bottom up:
 *
 *     lock -> raft port -> forming -> directory -> consensus -> a leader -> HTTP port
 *
 * The raft port is there before anything is asked, so that fresh nodes answer each other. The HTTP
 * port opens when the node is ready, at once for one that waits to be added, and after
 * READY_MS_MAX at the latest, for a node that waits has to be asked why. Both outlive a node that
 * is closed and opened anew because it received a snapshot. A node without a raft port has no
 * others, and asks nobody.
 *
 * `stop` may come at any moment of this, and ends it in order.
 */
import { TimerClock } from '@svc/engine';
import { LoopShare } from '@svc/http';
import type { DirectoryLock, Disk } from '@svc/storage';
import { newMeters } from '@svc/wire';
import { NodeSeries } from '../analytics/node-series.js';
import type { Config } from '../config/config.js';
import type { Peer } from '../config/peers.js';
import { type Card, cardOfNobody, decodeCard, encodeCard } from '../forming/card.js';
import { Forming } from '../forming/forming.js';
import { NodeFront } from '../front/front.js';
import { ranOutOfSpace } from '../log/disk-gate.js';
import { CLUSTER_VERSION } from '../service/node-status.js';
import { SourceClient } from '../standby/source-client.js';
import type { Cancel, Clock } from '../system/clock.js';
import type { CrashSetting } from '../system/crash-points.js';
import type { Logger } from '../system/logging.js';
import type { RandomSource } from '../system/random.js';
import { recoverByForce } from './forced-recovery.js';
import { type Node, openNode, placeOf } from './node.js';
import { NodePeers } from './peers.js';
import { refuseUnfinishedSeed, seedFromSource, waitsForSeed } from './seeding.js';

export interface NodeProcessOptions {
  readonly config: Config;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly crash: Exclude<CrashSetting, { readonly kind: 'refused' }>;
  /** The process must end; it does not return. */
  readonly onFatal: (error: Error) => void;
  /** The program that front threads run; null or absent: there are none. */
  readonly threadProgram?: URL | null;
}

/** How long the boot waits for a leader before it serves all the same. */
const READY_MS_MAX = 30_000;
/** Two looks of a load balancer that looks once a second. */
const LINGER_MS = 2000;
/** From the signal to the closing of what has no answer yet. */
const DRAIN_MS_MAX = 60_000;
const FIRST_REPORT_MS = 3000;
/** The pause before each next report is half as long again as the one before. */
const REPORT_PAUSE_MS_MAX = 60_000;
/** A node that is sent one snapshot after another does not keep up; it must not spin either. */
const REOPENS_MAX = 6;
const REOPENS_WITHIN_MS = 60_000;
const ASK_AGAIN_MS = 100;
const INTRODUCED_MS = 30_000;
/** For the other nodes, which may not be there yet, to say that they have a cluster. */
const SEED_ASK_MS = 2000;

export class NodeProcess {
  readonly #options: NodeProcessOptions;
  readonly #ending: Promise<false>;
  #end: () => void = () => {};
  #stopping = false;
  #halted = false;
  /** It was, once: somebody may send requests here. */
  #ready = false;
  #lock: DirectoryLock | null = null;
  #front: NodeFront | null = null;
  #peers: NodePeers | null = null;
  #forming: Forming | null = null;
  #node: Node | null = null;
  /** Opening or closing of the node that is under way: what stops waits for it. */
  #changing: Promise<void> = Promise.resolve();
  #reopenedMs: readonly number[] = [];
  #stopAnswering: Cancel = () => {};
  /** It goes on counting when the node is opened anew. */
  readonly #meters = newMeters();
  readonly #timerClock = new TimerClock();
  readonly #loop: LoopShare;
  #series: NodeSeries | null = null;

  constructor(options: NodeProcessOptions) {
    this.#options = options;
    this.#loop = new LoopShare(options.clock);
    this.#ending = new Promise((resolve) => {
      this.#end = () => resolve(false);
    });
  }

  /** Resolves when the node serves, or when it is stopped before. */
  async start(): Promise<void> {
    const { config, disk, clock, logger, crash } = this.#options;
    disk.makeDirectorySync(config.dataDirectory);
    this.#lock = await disk.lockDirectory(config.dataDirectory);
    this.#series = new NodeSeries({ ...this.#options, meters: this.#meters, loop: this.#loop });
    this.#series.start();
    const front = new NodeFront({
      config,
      clock,
      logger,
      random: this.#options.random,
      onFatal: this.#options.onFatal,
      onHang: (error) => this.#endFor(error),
      readableVersion: CLUSTER_VERSION,
      meters: this.#meters,
      loop: this.#loop,
      threadProgram: this.#options.threadProgram ?? null,
    });
    this.#front = front;
    const cancelListening = clock.after(READY_MS_MAX, () => this.#listenUnready(front));
    const peers = await this.#openPeers();
    if (!(await this.#seed(peers))) return;
    const recovery = recoverByForce(this.#options, placeOf(this.#options));
    this.#changing = recovery.catch(() => {});
    await recovery;
    if (!(await this.#form(front, peers))) return;
    const ready = this.#open(front, peers);
    if (!(await Promise.race([this.#ending, ready]))) return;
    this.#ready = true;
    cancelListening();
    crash.reach('before-listen');
    await front.listen();
  }

  /**
   * A disk without space is no reason for a running node to end: it stays, says so, and
   * takes no part. Everything else is.
   */
  fail(error: Error): void {
    const { disk, config } = this.#options;
    if (this.#node === null || !ranOutOfSpace(error, disk, config.dataDirectory)) {
      this.#options.onFatal(error);
      return;
    }
    this.#halted = true;
    this.#node.halt(error);
    this.#front?.listen().catch(this.#options.onFatal);
  }

  /** It serves some of its clients no more: it ends as by a signal, for its supervisor to start. */
  #endFor(error: Error): void {
    const { logger, onFatal } = this.#options;
    if (this.#stopping) return;
    logger.error('boot', `${error.message}: the node ends, to be started again`);
    this.stop().then(() => onFatal(error), onFatal);
  }

  /** Ends what is under way; what was accepted is answered first. */
  async stop(): Promise<void> {
    if (this.#stopping) return;
    this.#stopping = true;
    this.#end();
    this.#forming?.stop();
    this.#options.logger.info('boot', 'stopping: finishing requests in flight');
    const { clock } = this.#options;
    const untilMs = clock.nowMs() + DRAIN_MS_MAX;
    await this.#retire();
    const answered = this.#front?.stop(untilMs - clock.nowMs()) ?? Promise.resolve();
    await this.#changing;
    // What a card says is read from the state, which is closed from here on.
    this.#stopAnswering();
    if (this.#node === null) await answered;
    else await this.#node.stop(answered);
    await this.#peers?.close();
    await new Promise<void>((resolve) => this.#stopSeries(resolve));
    await this.#lock?.release();
    this.#options.logger.info('boot', 'stopped');
  }

  #stopSeries(done: () => void): void {
    if (this.#series === null) done();
    else this.#series.stop(done);
  }

  /**
   * Among others, first leadership goes and balancers take notice: for a while `/health` says 503
   * and each connection is closed with its answer, while all that comes is still served.
   */
  async #retire(): Promise<void> {
    const node = this.#node;
    if (node === null || node.parts.consensus.alone || this.#halted || !this.#ready) return;
    const { clock } = this.#options;
    const untilMs = clock.nowMs() + LINGER_MS;
    this.#front?.retire();
    await node.retire();
    const leftMs = Math.max(0, untilMs - clock.nowMs());
    await new Promise<void>((resolve) => void clock.after(leftMs, resolve));
  }

  async #openPeers(): Promise<NodePeers | null> {
    const { config } = this.#options;
    if (config.raftAddress === null) return null;
    const peers = new NodePeers(this.#options);
    this.#peers = peers;
    this.#stopAnswering = peers.calls.serve('ask', (call) => {
      const card = decodeCard(call.body);
      // Its answers go back by its own connection; consensus will need the way to it.
      if (card !== null && !this.#isMember) peers.meet(card.addresses);
      if (card !== null) this.#forming?.heard(card);
      const own = this.#card();
      if (own !== null) call.answer([encodeCard(own)]);
    });
    await peers.listen(config.raftAddress);
    return peers;
  }

  /** A stop does not wait for it: what it has written is gone on with. */
  #seed(peers: NodePeers | null): Promise<boolean> {
    refuseUnfinishedSeed(this.#options);
    const source = this.#newSource();
    if (source === null || peers === null) return Promise.resolve(true);
    const seeding = seedFromSource({
      ...this.#options,
      place: placeOf(this.#options),
      source,
      askPeers: () => this.#memberAmong(peers),
    });
    return Promise.race([this.#ending, seeding.then(() => true)]);
  }

  /** A node of the peer list that says that it is a member of a cluster. */
  async #memberAmong(peers: NodePeers): Promise<number | null> {
    const { config } = this.#options;
    const others = config.peers.filter(({ id }) => id !== config.nodeId);
    const cards = others.map((peer) => {
      return new Promise<Card | null>((resolve) => this.#ask(peers, peer, SEED_ASK_MS, resolve));
    });
    const member = (await Promise.all(cards)).find((card) => card?.state === 'member');
    return member?.node ?? null;
  }

  /** Finds out what a fresh directory becomes; false when the process ends before. */
  async #form(front: NodeFront, peers: NodePeers | null): Promise<boolean> {
    const { config } = this.#options;
    const forming = new Forming({
      ...this.#options,
      config: waitsForSeed(config) ? { ...config, raftJoin: true } : config,
      calls: peers?.calls ?? null,
      readableVersion: CLUSTER_VERSION,
    });
    this.#forming = forming;
    if (forming.clusterId !== '') peers?.belongTo(forming.clusterId);
    const formed = new Promise<true>((resolve) => forming.start(() => resolve(true)));
    // The operator that it waits for has to see that it does.
    if (forming.waitsToBeAdded) await front.listen();
    // When both are so, it is to end.
    return Promise.race([this.#ending, formed]);
  }

  get #isMember(): boolean {
    return this.#node?.waitsToBeAdded === false;
  }

  /** What this node says of itself; null before it can say anything. */
  #card(): Card | null {
    const {
      voters = [],
      learners = [],
      outgoing = [],
    } = this.#node?.parts.consensus.status()?.configuration ?? {};
    const members = [...new Set([...voters, ...outgoing, ...learners])];
    const addresses = members.length === 0 ? [] : (this.#node?.parts.addresses.get() ?? []);
    return (
      this.#forming?.card(
        members.sort((one, other) => one - other),
        addresses,
      ) ?? null
    );
  }

  /** Asks a node for its card that need not be a member; it may not be connected to yet. */
  #ask(peers: NodePeers, peer: Peer, timeoutMs: number, done: (card: Card | null) => void): void {
    const { clock, config } = this.#options;
    const own = this.#card() ?? cardOfNobody(config, CLUSTER_VERSION);
    const untilMs = clock.nowMs() + timeoutMs;
    const forget = peers.introduce(peer.id, peer.raftAddress);
    const end = (card: Card | null) => {
      // Consensus goes on with it as soon as it is a member; until then the way stays open.
      clock.after(INTRODUCED_MS, forget);
      done(card);
    };
    const ask = () => {
      const leftMs = untilMs - clock.nowMs();
      if (leftMs <= 0) {
        end(null);
        return;
      }
      peers.calls.call(peer.id, 'ask', [encodeCard(own)], leftMs, (answer) => {
        if (typeof answer !== 'string') end(decodeCard(answer));
        else clock.after(ASK_AGAIN_MS, ask);
      });
    };
    ask();
  }

  /** Resolves with true when the node is ready; a reopening on the way does not matter. */
  #open(front: NodeFront, peers: NodePeers | null): Promise<true> {
    return new Promise((resolve) => {
      const { clock } = this.#options;
      let cancelReports = () => {};
      const reportAfter = (ms: number) => {
        cancelReports = clock.after(ms, () => {
          this.#report();
          reportAfter(Math.min(ms * 1.5, REPORT_PAUSE_MS_MAX));
        });
      };
      reportAfter(FIRST_REPORT_MS);
      const ready = () => {
        cancelReports();
        resolve(true);
      };
      this.#change(() => this.#openNode(front, peers, ready));
    });
  }

  async #openNode(front: NodeFront, peers: NodePeers | null, ready: () => void): Promise<void> {
    const { crash } = this.#options;
    const node = await openNode({
      ...this.#options,
      onFatal: (error) => this.fail(error),
      peers: peers?.calls ?? null,
      calls: peers?.calls ?? null,
      askCandidate:
        peers === null ? null : (peer, timeoutMs, done) => this.#ask(peers, peer, timeoutMs, done),
      peerCounters: () => peers?.counters() ?? {},
      meters: this.#meters,
      loop: this.#loop,
      timerClock: this.#timerClock,
      series: this.#series,
      onMembers: (members) => peers?.follow(members),
      source: this.#newSource(),
      onReopen: () => this.#change(() => this.#reopen(front, peers, ready)),
    });
    peers?.belongTo(node.clusterId);
    this.#node = node;
    if (this.#stopping) return;
    front.serve(node.broker);
    const { sourceReads: reads, seeds } = node.parts;
    peers?.standbys.serve(reads === null ? null : { reads, seeds });
    this.#series?.observe(node.broker);
    crash.reach('before-replay');
    node.join(ready);
    // It still waits for an operator, and now knows the id of its cluster.
    if (node.waitsToBeAdded) await front.listen();
  }

  /** null: no source is named. Closed with the node that it is for. */
  #newSource(): SourceClient | null {
    const { config, clock } = this.#options;
    if (config.sourceAddresses.length === 0) return null;
    return new SourceClient({ token: config.sourceToken, clock });
  }

  /** Changes of the node follow each other; a failure ends the process. */
  #change(work: () => Promise<void>): void {
    this.#changing = this.#changing.then(work).catch((error) => this.fail(error));
  }

  /** The node has received a snapshot: it is closed, and opened from it. */
  async #reopen(front: NodeFront, peers: NodePeers | null, ready: () => void): Promise<void> {
    const { clock } = this.#options;
    if (this.#stopping || this.#halted) return;
    front.serve(null);
    peers?.standbys.serve(null);
    this.#series?.observe(null);
    const closing = this.#node;
    this.#node = null;
    await closing?.stop(Promise.resolve());
    const nowMs = clock.nowMs();
    const within = this.#reopenedMs.filter((atMs) => nowMs - atMs < REOPENS_WITHIN_MS);
    this.#reopenedMs = [...within, nowMs];
    const first = within[within.length - REOPENS_MAX];
    if (first !== undefined) await this.#holdBack(first + REOPENS_WITHIN_MS - nowMs);
    if (!this.#stopping) await this.#openNode(front, peers, ready);
  }

  async #holdBack(ms: number): Promise<void> {
    const { clock, logger } = this.#options;
    const seconds = Math.ceil(ms / 1000);
    logger.warn('boot', `one snapshot after the other was received: ${seconds} s of rest`);
    const rest = new Promise<void>((resolve) => void clock.after(ms, resolve));
    await Promise.race([rest, this.#ending]);
  }

  #listenUnready(front: NodeFront): void {
    const { logger, onFatal } = this.#options;
    if (this.#stopping) return;
    const seconds = READY_MS_MAX / 1000;
    logger.warn('boot', `not ready after ${seconds} s: requests are answered 503 until it is`);
    front.listen().catch(onFatal);
  }

  #report(): void {
    if (this.#node === null || this.#stopping) return;
    this.#options.logger.info('boot', `not ready yet: ${this.#node.describeWaiting()}`);
  }
}
