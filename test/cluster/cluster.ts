/**
 * A cluster of real processes on this machine, with a network that a test can spoil. Nodes are
 * known by their numbers; all of them and everything they stored are gone after `close`, also when
 * a test failed; then their logs are kept, and it is said where.
 */
import { cpSync, existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RaftStatusAnswer } from '@svc/wire';
import type { HttpClient } from '../process/http-client.js';
import {
  type Environment,
  sleep,
  type TemporaryDirectory,
  temporaryDirectory,
} from '../process/node-under-test.js';
import { freePorts } from '../process/ports.js';
import { ClusterNode } from './cluster-node.js';
import { PeerNetwork } from './peer-network.js';
import { openPrivateVolume, type PrivateVolume } from './private-volume.js';

export interface ClusterSettings {
  readonly size: number;
  readonly environment?: Environment;
  /** Nodes whose data stands on a volume of its own of so many MiB. */
  readonly volumes?: Readonly<Record<number, number>>;
}

/** Where others find a node. */
interface Place {
  readonly http: number;
  readonly raft: number;
  readonly proxy: number;
}

const HOST = '127.0.0.1';
const LEADER_MS_MAX = 20_000;
const CONVERGED_MS_MAX = 30_000;
const READY_MS_MAX = 40_000;
const POLL_MS = 20;
const LOG_TAIL_CHARS = 3000;

/** Short timings and small files, so that elections, rolls and checkpoints happen all the time. */
const ENVIRONMENT: Environment = {
  SVC_RAFT_REPLICATOR: 'openraft',
  SVC_RAFT_TOKEN: 'secret of the test',
  SVC_RAFT_ELECTION_MS: '500',
  SVC_RAFT_HEARTBEAT_MS: '50',
  SVC_RAFT_SEGMENT_BYTES: '262144',
  SVC_RAFT_DURABLE_EVERY_MS: '200',
};

export class Cluster {
  readonly network = new PeerNetwork();
  /** Clients of all nodes, running or not; a load holds on to this very array. */
  readonly clients: HttpClient[] = [];
  readonly #settings: ClusterSettings;
  readonly #directory: TemporaryDirectory = temporaryDirectory();
  readonly #nodes = new Map<number, ClusterNode>();
  readonly #places = new Map<number, Place>();
  readonly #volumes: PrivateVolume[] = [];
  readonly #evidence = new Map<string, () => string>();

  private constructor(settings: ClusterSettings) {
    this.#settings = settings;
  }

  /** Its founders are there and not started. */
  static async create(settings: ClusterSettings): Promise<Cluster> {
    const cluster = new Cluster(settings);
    const founders = Array.from({ length: settings.size }, (_, i) => i + 1);
    for (const number of founders) await cluster.#reserve(number);
    for (const number of founders) await cluster.addMachine(number, founders);
    return cluster;
  }

  /** Removed with the cluster. */
  get scratch(): string {
    return this.#directory.path;
  }

  get nodes(): readonly ClusterNode[] {
    return [...this.#nodes.values()];
  }

  get running(): readonly ClusterNode[] {
    return this.nodes.filter((node) => node.running);
  }

  node(number: number): ClusterNode {
    const node = this.#nodes.get(number);
    if (node === undefined) throw new RangeError(`there is no node ${number}`);
    return node;
  }

  /** `host:port` of both doors of a node, as members are named to the membership routes. */
  addresses(number: number): { readonly raft: string; readonly http: string } {
    const { proxy, http } = this.#placeOf(number);
    return { raft: `${HOST}:${proxy}`, http: `${HOST}:${http}` };
  }

  /** A machine that was not there; it is told of `peers` and itself, and not started. */
  async addMachine(number: number, peers: readonly number[]): Promise<ClusterNode> {
    await this.#reserve(number);
    const { http, raft, proxy } = this.#placeOf(number);
    const directory = join(this.scratch, `${number}`);
    const volume = await this.#volumeOf(number);
    const known = [...new Set([...peers, number])].sort((a, b) => a - b);
    const list = known.map((peer) => {
      const addresses = this.addresses(peer);
      return `${peer}=${addresses.raft}/${addresses.http}`;
    });
    const environment: Environment = {
      ...ENVIRONMENT,
      SVC_RAFT_NODE_ID: `${number}`,
      SVC_RAFT_PEERS: list.join(','),
      SVC_RAFT_LISTEN: `${HOST}:${raft}`,
      ...this.#settings.environment,
    };
    const node = new ClusterNode({
      number,
      httpPort: http,
      raftPort: raft,
      directory,
      environment,
      volume,
    });
    this.#nodes.set(number, node);
    await this.network.add(number, { host: HOST, port: proxy }, { host: HOST, port: raft });
    this.clients.push(node.client);
    return node;
  }

  /** Ends a machine for good, with all that it stored; clients forget it. */
  async removeMachine(number: number): Promise<void> {
    const node = this.node(number);
    await node.kill();
    await this.network.remove(number);
    this.clients.splice(this.clients.indexOf(node.client), 1);
    node.client.close();
    node.wipe();
    this.#nodes.delete(number);
  }

  /** Starts whatever is down and waits until every node is ready. */
  async startAll(environment: Environment = {}): Promise<void> {
    for (const node of this.nodes) if (!node.running) node.start(environment);
    await this.ready();
  }

  /** Every process that is there answers `/health` with 200. */
  async ready(msMax = READY_MS_MAX): Promise<void> {
    const lives = this.running.map(async ({ life, number }) => {
      if (await life?.healthy(msMax)) return;
      throw new Error(`node ${number} ended by itself: ${JSON.stringify(life?.exit)}`);
    });
    await Promise.all(lives);
  }

  async statuses(): Promise<readonly RaftStatusAnswer[]> {
    const all = await Promise.all(this.running.map((node) => node.status()));
    return all.filter((status) => status !== null);
  }

  /** The running node that leads the newest term; null when none says that it leads. */
  async leader(): Promise<ClusterNode | null> {
    let newest: RaftStatusAnswer | null = null;
    for (const status of await this.statuses()) {
      if (status.state !== 'leader') continue;
      if (newest === null || status.term > newest.term) newest = status;
    }
    return newest === null ? null : this.node(newest.nodeId);
  }

  async waitForLeader(msMax = LEADER_MS_MAX): Promise<ClusterNode> {
    return until(msMax, 'a leader', () => this.leader());
  }

  async followers(): Promise<readonly ClusterNode[]> {
    const leader = await this.waitForLeader();
    return this.running.filter((node) => node !== leader);
  }

  /** Every running node has applied what the leader had committed at one moment of this call. */
  async converged(msMax = CONVERGED_MS_MAX): Promise<void> {
    const target = await until(msMax, 'a leader that knows what is committed', async () => {
      const leader = (await this.statuses()).find(({ state }) => state === 'leader');
      return leader?.committedIndex ?? null;
    });
    await until(msMax, `all nodes at entry ${target}`, async () => {
      const statuses = await this.statuses();
      if (statuses.length < this.running.length) return null;
      return statuses.every(({ appliedIndex }) => (appliedIndex ?? 0) >= target) ? true : null;
    });
  }

  /** `text` is written beside the logs when they are kept. */
  keepWithLogs(name: string, text: () => string): void {
    this.#evidence.set(name, text);
  }

  /** Ends every process. With `failure`, the logs are kept and their ends printed. */
  async close(failure: boolean): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.kill()));
    await this.network.close();
    for (const client of this.clients) client.close();
    for (const volume of this.#volumes) await volume.close();
    if (failure) this.#keepLogs();
    this.#directory.remove();
  }

  #keepLogs(): void {
    const kept = mkdtempSync(join(tmpdir(), 'svc-cluster-logs-'));
    for (const { logFile, number, life } of this.nodes) {
      if (!existsSync(logFile)) continue;
      cpSync(logFile, join(kept, `node-${number}.log`));
      console.log(`--- node ${number} ---\n${life?.output.slice(-LOG_TAIL_CHARS) ?? ''}`);
    }
    for (const [name, text] of this.#evidence) writeFileSync(join(kept, name), text());
    console.log(`the logs of all nodes, and what clients saw: ${kept}`);
  }

  async #volumeOf(number: number): Promise<PrivateVolume | null> {
    const mib = this.#settings.volumes?.[number];
    if (mib === undefined) return null;
    const volume = await openPrivateVolume(join(this.scratch, `volume-${number}`), mib);
    this.#volumes.push(volume);
    return volume;
  }

  async #reserve(number: number): Promise<void> {
    if (this.#places.has(number)) return;
    const [http = 0, raft = 0, proxy = 0] = await freePorts(3);
    this.#places.set(number, { http, raft, proxy });
  }

  #placeOf(number: number): Place {
    const place = this.#places.get(number);
    if (place === undefined) throw new RangeError(`there is no node ${number}`);
    return place;
  }
}

/** Creates a cluster, runs `body` with it and cleans up; logs are kept when `body` throws. */
export async function withCluster(
  settings: ClusterSettings,
  body: (cluster: Cluster) => Promise<void>,
): Promise<void> {
  const cluster = await Cluster.create(settings);
  let failed = true;
  try {
    await body(cluster);
    failed = false;
  } finally {
    await cluster.close(failed);
  }
}

/** Polls until `look` finds something; rejects after `msMax`. */
export async function until<Found>(
  msMax: number,
  what: string,
  look: () => Promise<Found | null>,
): Promise<Found> {
  const untilMs = performance.now() + msMax;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (performance.now() > untilMs) throw new Error(`not within ${msMax} ms: ${what}`);
    await sleep(POLL_MS);
  }
}
