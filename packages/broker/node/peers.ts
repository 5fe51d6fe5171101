/**
 * The way to the other nodes: the raft port, the calls over it, what standbys read there, and where
 * everybody is. It is there
 * before the directory is opened, and outlives a node that is opened anew.
 *
 * Addresses come from the membership, and from the peer list until there is one: who the members
 * are and where is part of what the log says, so a list that is out of date does no harm.
 */
import { isLoopback } from '@svc/http';
import { type HostAndPort, hostAndPortOf, hostAndPortText } from '../config/addresses.js';
import type { Config } from '../config/config.js';
import type { Peer } from '../config/peers.js';
import { PeerCalls } from '../peers/calls.js';
import { PeerSockets } from '../peers/sockets.js';
import { SourceServer } from '../standby/source-server.js';
import type { Cancel, Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';
import type { RandomSource } from '../system/random.js';

export interface NodePeersOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
}

/** The raft port cannot be opened. */
export class RaftListenError extends Error {
  readonly code: string;

  constructor(address: HostAndPort, cause: NodeJS.ErrnoException) {
    const why = cause.code === 'EADDRINUSE' ? 'the port is taken' : cause.message;
    const code = cause.code ?? 'listen_failed';
    super(
      `cannot listen for other nodes on ${hostAndPortText(address)}: ${why} (${code}); ` +
        'SVC_RAFT_LISTEN names another address',
    );
    this.name = 'RaftListenError';
    this.code = code;
  }
}

/** Parked pops of a follower wait at the leader, each as a call, beside other commands. */
const PARKED_CALLS_MAX = 16_384;
/** Calls about ephemeral queues that go to other nodes, most of them pops that wait. */
const EPHEMERAL_CALLS_MAX = 8192;
/** Questions of forming, status and membership: few at a time. */
const OTHER_CALLS_MAX = 1024;
const OWN_CALLS_MAX = PARKED_CALLS_MAX + EPHEMERAL_CALLS_MAX + OTHER_CALLS_MAX;
const CLUSTER_BYTES = 16;

export class NodePeers {
  readonly calls: PeerCalls;
  /** What standbys ask on the same port. */
  readonly standbys: SourceServer;
  readonly #options: NodePeersOptions;
  readonly #sockets: PeerSockets;
  #cluster: Uint8Array = new Uint8Array(CLUSTER_BYTES);
  #known: readonly Peer[];
  /** Nodes that are no members, and have to be reached for a time. */
  readonly #introduced = new Set<Peer>();

  constructor(options: NodePeersOptions) {
    const { config, clock, random, logger } = options;
    const fraction = () => random.fraction();
    this.#options = options;
    this.#known = config.peers;
    this.standbys = new SourceServer({ token: config.standbyToken, clock, logger });
    this.#sockets = new PeerSockets({
      self: config.nodeId,
      token: config.raftToken ?? '',
      cluster: () => this.#cluster,
      entryBytesMax: config.turnBytesMax + config.entryBytesMax,
      clock,
      random: fraction,
      logger,
      onHttp: (socket) => this.standbys.take(socket),
    });
    this.calls = new PeerCalls({
      port: this.#sockets,
      clock,
      random: fraction,
      inFlightMax: config.forwardInFlightMax + OWN_CALLS_MAX,
    });
  }

  /** Rejects with `RaftListenError`. Others are dialed from here on. */
  async listen(address: HostAndPort): Promise<void> {
    const { logger, config } = this.#options;
    const { host } = address;
    const port = await this.#sockets.listen(host, address.port).catch((error) => {
      throw new RaftListenError(address, error as NodeJS.ErrnoException);
    });
    logger.info('raft', `listening for other nodes on ${hostAndPortText({ host, port })}`);
    if ((config.raftToken ?? '') === '' && !isLoopback(host)) {
      const text = 'SVC_RAFT_TOKEN is not set: whoever reaches the raft port can vote and append';
      logger.warn('raft', text);
    }
    this.#dial();
  }

  /** Nodes of another cluster are refused from here on. */
  belongTo(clusterId: string): void {
    this.#cluster = new Uint8Array(Buffer.from(clusterId.replaceAll('-', ''), 'hex'));
    this.#sockets.clusterChanged();
  }

  /** Where the members are, as the newest applied configuration says; none: it does not say. */
  follow(members: readonly Peer[]): void {
    this.#known = members.length === 0 ? this.#options.config.peers : members;
    this.#dial();
  }

  /** A member says where the members are to a node that does not know. */
  meet(members: readonly Peer[]): void {
    const known = this.#known.filter(({ id }) => !members.some((member) => member.id === id));
    this.#known = [...known, ...members];
    this.#dial();
  }

  /** Makes a node reachable that is not a member, until the result is called. */
  introduce(node: number, raftAddress: string): Cancel {
    const peer: Peer = { id: node, raftAddress, httpAddress: '' };
    this.#introduced.add(peer);
    this.#dial();
    return () => {
      if (this.#introduced.delete(peer)) this.#dial();
    };
  }

  counters(): Readonly<Record<string, number>> {
    return { ...this.#sockets.counters(), ...this.calls.counters() };
  }

  async close(): Promise<void> {
    this.calls.close();
    this.standbys.close();
    await this.#sockets.close();
  }

  #dial(): void {
    const addresses = new Map<number, HostAndPort>();
    for (const { id, raftAddress } of [...this.#introduced, ...this.#known]) {
      const address = hostAndPortOf(raftAddress);
      if (address !== null && id !== this.#options.config.nodeId) addresses.set(id, address);
    }
    this.#sockets.setPeers([...addresses].map(([node, address]) => ({ node, ...address })));
  }
}
