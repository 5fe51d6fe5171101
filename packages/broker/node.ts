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
import { join } from 'node:path';
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
import { configuration, type Entry, nodeId, type SoftState } from '@svc/raft';
import { DamageError, type DirectoryLock, type Disk, openLmdb } from '@svc/storage';
import { Broker } from './broker.js';
import type { Cancel, Clock } from './clock.js';
import type { Config } from './config.js';
import { Consensus } from './consensus.js';
import type { CrashSetting } from './crash-points.js';
import { Fetches } from './fetch.js';
import { Leader } from './leader.js';
import type { Logger } from './logging.js';
import { logRates } from './logging-rates.js';
import { MessageReader } from './message-reader.js';
import { type OpenDirectory, openDirectory } from './node-directory.js';
import { NodeStatus } from './node-status.js';
import type { RandomSource } from './random.js';
import { Replica } from './replica.js';

export interface NodeOptions {
  readonly config: Config;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly crash: Exclude<CrashSetting, { readonly kind: 'refused' }>;
  /** For tests; the index knows best. */
  readonly transactionIndex?: Parameters<typeof TransactionIndex.load>[1];
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

/** Opens the directory and recovers; nothing is served yet. */
export async function openNode(options: NodeOptions): Promise<Node> {
  const { disk, config } = options;
  disk.makeDirectorySync(config.dataDirectory);
  const lock = await disk.lockDirectory(config.dataDirectory);
  try {
    return new Node(
      options,
      lock,
      openDirectory(options, (identity) =>
        openLmdb({
          disk,
          directory: join(config.dataDirectory, 'state'),
          identity,
          mapBytes: config.mapBytes,
        }),
      ),
    );
  } catch (error) {
    await lock.release();
    throw error;
  }
}

export class Node {
  readonly #options: NodeOptions;
  readonly #lock: DirectoryLock;
  readonly #parts: OpenDirectory;
  readonly #consensus: Consensus;
  readonly #replica: Replica;
  readonly #reader: MessageReader;
  readonly #transactions: TransactionIndex;
  readonly #fetches: Fetches;
  readonly #broker: Broker;
  #http: HttpServer | null = null;
  #onLeading: (() => void) | null = null;
  #stopTicking: Cancel | null = null;
  #stopping = false;

  constructor(options: NodeOptions, lock: DirectoryLock, parts: OpenDirectory) {
    const { config, clock } = options;
    const { log, state, identity } = parts;
    this.#options = options;
    this.#lock = lock;
    this.#parts = parts;
    this.#transactions = TransactionIndex.load(state, options.transactionIndex ?? {});
    this.#reader = new MessageReader(log, DECODED_BYTES_MAX, (error) =>
      options.logger.error('log', error.message),
    );
    this.#fetches = new Fetches(state, this.#reader, clock);
    this.#replica = new Replica(
      state,
      this.#transactions,
      log,
      { everyMs: config.checkpointEveryMs, everyBytes: config.checkpointEveryBytes },
      clock,
      options.crash.reach,
      this.#fetches,
    );
    this.#consensus = new Consensus({
      id: nodeId(identity.nodeId),
      configuration: configuration([nodeId(identity.nodeId)]),
      log,
      hardState: parts.hardState,
      clock,
      random: () => options.random.fraction(),
      settings: {
        electionTimeoutMs: config.electionMs,
        heartbeatMs: config.heartbeatMs,
        tailBytesMax: RAFT_TAIL_BYTES_MAX,
        // The leader bounds what is in flight; a refusal would end a leadership that is in order.
        uncommittedBytesMax: Number.MAX_SAFE_INTEGER,
      },
      appliedIndex: state.appliedIndex,
      tickMs: Math.max(1, Math.floor(config.heartbeatMs / TICKS_PER_HEARTBEAT)),
      onCommitted: (entries) => this.#apply(entries),
      onRole: (role) => this.#follow(role),
    });
    const status = new NodeStatus({
      clusterId: config.cellId ?? `c-${identity.clusterId.slice(0, 6)}`,
      nodeId: identity.nodeId,
      consensus: this.#consensus,
      log,
      clock,
      store: () => parts.backing.figures(),
      appliedIndex: () => this.#replica.appliedIndex,
      inFlight: () => this.#broker.leader?.inFlight ?? 0,
      stopping: () => this.#stopping,
    });
    this.#broker = new Broker({
      state,
      reader: this.#reader,
      fetches: this.#fetches,
      clock,
      status,
      deadlines: { writeMs: config.writeTimeoutMs, statementMs: config.statementTimeoutMs },
    });
  }

  /** What the front asks; serves from the moment this node leads. */
  get broker(): Broker {
    return this.#broker;
  }

  /** Takes part in consensus; `onLeading` runs when everything the checkpoint lacks is replayed. */
  join(onLeading: () => void): void {
    const { clock } = this.#options;
    this.#stopTicking = clock.every(LOG_TICK_MS, () => this.#parts.log.tick());
    this.#onLeading = onLeading;
    this.#consensus.start();
  }

  /** Elects, replays what the checkpoint lacks, then opens the port. */
  async start(): Promise<void> {
    const { config, logger, clock, crash } = this.#options;
    const startedMs = clock.nowMs();
    const replayed = this.#parts.log.lastIndex - this.#replica.appliedIndex;
    crash.reach('before-replay');
    await new Promise<void>((resolve) => this.join(resolve));
    const tookMs = Math.round(clock.nowMs() - startedMs);
    logger.info('boot', `${config.serverId} leads; entries replayed: ${replayed}, in ${tookMs} ms`);
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

  /** Drains and closes; what was accepted is answered first. */
  async stop(): Promise<void> {
    if (this.#stopping) return;
    this.#stopping = true;
    const { logger, clock, crash } = this.#options;
    logger.info('boot', 'stopping: finishing requests in flight');
    const untilMs = clock.nowMs() + DRAIN_MS_MAX;
    const httpStopped = this.#http?.stop() ?? Promise.resolve();
    this.#broker.leader?.releaseParked();
    this.#fetches.stop();
    await httpStopped;
    while (this.#broker.leader?.idle === false && clock.nowMs() < untilMs) await pause();
    this.#broker.leader?.stop();
    this.#broker.leader = null;
    this.#consensus.stop();
    this.#stopTicking?.();
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

  #apply(entries: readonly Entry[]): void {
    for (const entry of entries) {
      this.#replica.apply(entry);
      this.#broker.leader?.applied(entry.index, entry.term);
    }
  }

  /** A new leadership begins with a new planner; nothing of an earlier one is carried over. */
  #follow(role: SoftState): void {
    const { config, clock, logger } = this.#options;
    if (role.leading === (this.#broker.leader !== null)) return;
    if (!role.leading) {
      this.#broker.leader?.stop();
      this.#broker.leader = null;
      logger.warn('raft', `leadership lost (now ${role.role})`);
      return;
    }
    const surroundings: Surroundings = {
      nodeId: this.#parts.identity.nodeId,
      checksum: crc32,
      newUuid: (nowUs) => this.#options.random.newUuid(nowUs),
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
    const planner = new Planner(this.#parts.state, this.#transactions, surroundings, {
      ...PLANNER_LIMITS,
      turnBytesMax: config.turnBytesMax,
      entryBytesMax: config.entryBytesMax,
      leaseGraceMs: config.clockSkewMs,
    });
    this.#broker.leader = new Leader(
      planner,
      this.#consensus,
      clock,
      config.pipelineMax,
      this.#options.crash.reach,
    );
    this.#onLeading?.();
    this.#onLeading = null;
  }
}

function hostAndPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
}
