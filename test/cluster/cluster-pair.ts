/**
 * Two clusters of real processes, one of which follows the other, with a network between them that
 * a test can spoil. A load sees one cluster: its clients are those of the side that takes writes,
 * and change when the other side does.
 *
 * Standbys reach the nodes of a source through the same proxies as these reach each other, and
 * present themselves differently (`STANDBY`).
 */
import type { LinkAnswer } from '@svc/wire';
import { HttpClient, NoAnswer } from '../process/http-client.js';
import { type Environment, sleep } from '../process/node-under-test.js';
import { freePort } from '../process/ports.js';
import type { SeededRandom } from '../seeded-random.js';
import { Cluster, until } from './cluster.js';
import type { ClusterNode } from './cluster-node.js';
import { REQUEST_MS_MAX } from './judged-load.js';
import { Membership } from './membership.js';
import { OPEN } from './peer-proxy.js';

export interface PairSettings {
  readonly source: number;
  readonly standby: number;
  /** All nodes of both. */
  readonly environment?: Environment;
}

const TOKENS = ['secret for the standby of the first', 'secret for the standby of the second'];
const FOLLOWED_MS_MAX = 40_000;
const PROMOTED_MS_MAX = 40_000;
const POLL_MS = 50;
const SEED_MS_MAX = 30_000;
/** At which a copy takes longer than the times after which its node dies. */
const SLOW_BYTES_PER_S = 40_000;
const SLOW_MS_MAX = 1000;
/** The node that a standby is seeded with. */
export const SEED = 1;

export class ClusterPair {
  /** Of the side that takes writes; a load holds on to this very array. */
  readonly clients: HttpClient[] = [];
  #source: Cluster;
  #standby: Cluster;

  private constructor(source: Cluster, standby: Cluster) {
    this.#source = source;
    this.#standby = standby;
    this.#turnClients();
  }

  /** Both are there and not started; the second is told to begin as a standby of the first. */
  static async create(settings: PairSettings): Promise<ClusterPair> {
    const sizes = [settings.source, settings.standby];
    const made: Cluster[] = [];
    for (const [i, size] of sizes.entries()) {
      const environment: Environment = {
        SVC_RAFT_TOKEN: `secret of cluster ${i + 1}`,
        SVC_LINK_TOKEN: TOKENS[i],
        SVC_LINK_SOURCE_TOKEN: TOKENS[1 - i],
        SVC_LINK_HOLD_DISK_PCT: '100',
        ...settings.environment,
      };
      made.push(await Cluster.create({ size, environment }));
    }
    const [source, standby] = made as [Cluster, Cluster];
    const pair = new ClusterPair(source, standby);
    pair.#tell({ SVC_LINK_STANDBY: 'true' });
    return pair;
  }

  get source(): Cluster {
    return this.#source;
  }

  get standby(): Cluster {
    return this.#standby;
  }

  // --- for a load --------------------------------------------------------------------------------

  /** Nodes that a judgement reads: those of a standby have to show the same. */
  get running(): readonly ClusterNode[] {
    return [...this.#source.running, ...this.#standby.running];
  }

  async converged(): Promise<void> {
    await this.#source.converged();
    if (this.#standby.running.length > 0) await this.followed();
  }

  keepWithLogs(name: string, text: () => string): void {
    this.#source.keepWithLogs(name, text);
  }

  // --- for whoever runs a test -------------------------------------------------------------------

  async startAll(): Promise<void> {
    await this.#source.startAll();
    await this.#standby.startAll();
  }

  async ready(msMax?: number): Promise<void> {
    await Promise.all([this.#source.ready(msMax), this.#standby.ready(msMax)]);
  }

  /** What the leader of the standby says of it; null: it has none, or does not answer. */
  async link(): Promise<LinkAnswer | null> {
    const leader = await this.#standby.leader();
    return (await leader?.link()) ?? null;
  }

  /** The follower has something to say that `isIt` takes. */
  async follower(
    what: string,
    isIt: (follower: NonNullable<LinkAnswer['follower']>) => boolean,
    msMax = FOLLOWED_MS_MAX,
  ): Promise<void> {
    let last: LinkAnswer | null = null;
    try {
      await until(msMax, what, async () => {
        last = await this.link();
        const follower = last?.follower;
        return follower !== undefined && isIt(follower) ? true : null;
      });
    } catch (error) {
      throw new Error(`${(error as Error).message}; the last view: ${JSON.stringify(last)}`);
    }
  }

  /** Every node of the standby has all that the source had committed when this was called. */
  async followed(msMax = FOLLOWED_MS_MAX): Promise<void> {
    const target = (await (await this.#source.waitForLeader()).status())?.committedIndex ?? 0;
    await this.follower(`entry ${target} is followed`, ({ scanned }) => scanned >= target, msMax);
    await until(msMax, 'the standby has applied what it logged', async () => {
      const leader = await this.#standby.leader();
      const status = (await leader?.status()) ?? null;
      return status !== null && status.appliedIndex === status.lastLogIndex ? true : null;
    });
    await this.#standby.converged();
  }

  /**
   * The planned switch: clients reach nobody; what they had begun at the source ends; the standby
   * follows to the end; the source ends; clients turn to the standby, which refuses them, and is
   * promoted. Until it has followed to the end they must not read there: it is a moment behind.
   */
  async switchOver(asked: (standby: Cluster) => Promise<ClusterNode>): Promise<LinkAnswer> {
    const nowhere = new HttpClient(await freePort());
    this.clients.splice(0, this.clients.length, nowhere);
    await sleep(REQUEST_MS_MAX);
    await this.followed();
    await this.killSource();
    this.clients.splice(0, this.clients.length, ...this.#standby.clients);
    nowhere.close();
    return this.promote(await asked(this.#standby));
  }

  async killSource(): Promise<void> {
    await Promise.all(this.#source.nodes.map((node) => node.kill()));
  }

  /** Asks `node` until it is done; the sides have changed then. */
  async promote(node: ClusterNode): Promise<LinkAnswer> {
    const answer = await this.askPromotion(node);
    [this.#source, this.#standby] = [this.#standby, this.#source];
    this.#turnClients();
    return answer;
  }

  async askPromotion(node: ClusterNode): Promise<LinkAnswer> {
    let last = '';
    return until(PROMOTED_MS_MAX, 'a promotion', async () => {
      try {
        const answer = await node.client.post('/api/v1/system/link/promote', {});
        last = `${answer.status} ${answer.text}`;
        if (answer.status === 200) return JSON.parse(answer.text) as LinkAnswer;
        if (answer.status !== 503) throw new Error(`a promotion: ${last}`);
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
      }
      await sleep(POLL_MS);
      return null;
    });
  }

  /**
   * The standby, whose nodes are down, begins anew with a copy of the source: its node `SEED`
   * first, to which the others are added. `disturb` happens while the copy comes.
   */
  async seed(disturb: (node: ClusterNode) => Promise<void> = async () => {}): Promise<void> {
    for (const node of this.#standby.nodes) node.wipe();
    this.#tell({ SVC_LINK_SEED: `${SEED}` });
    const node = this.#standby.node(SEED);
    node.start();
    await disturb(node);
    await this.#standby.ready();
    const membership = new Membership(this.#standby);
    for (const { number } of this.#standby.nodes) {
      if (number === SEED) continue;
      this.#standby.node(number).start();
      await membership.addLearner(number);
      await membership.promote(number);
    }
    await this.#standby.ready();
  }

  /**
   * As `seed`, with deaths of the seed's node. The copy comes slowly at first, so that it is in its
   * middle then; returns how often it was.
   */
  async seedWithKills(random: SeededRandom, kills: number): Promise<number> {
    const { network } = this.#source;
    let inTheMiddle = 0;
    network.toStandbys({ kind: 'slow', delayMs: 20, bytesPerSecond: SLOW_BYTES_PER_S });
    await this.seed(async (node) => {
      for (let i = 0; i < kills; i++) {
        await until(SEED_MS_MAX, 'a seed that begins', async () =>
          node.life?.output.includes('takes its first state') ? true : null,
        );
        await sleep(random.between(0, SLOW_MS_MAX));
        await node.kill();
        if (node.life?.output.includes('is the first of standby')) break;
        inTheMiddle++;
        node.start();
      }
      network.toStandbys(OPEN);
      if (!node.running) node.start();
    });
    return inTheMiddle;
  }

  async close(failure: boolean): Promise<void> {
    await this.#source.close(failure);
    await this.#standby.close(failure);
  }

  /** Tells the nodes of the standby whom they follow, and those of the source that they do not. */
  #tell(how: Environment): void {
    const addresses = this.#source.nodes.map(({ number }) => this.#source.addresses(number).raft);
    const variables = { SVC_LINK_SOURCE: addresses.join(','), ...how };
    for (const node of this.#standby.nodes) node.variables = variables;
    for (const node of this.#source.nodes) node.variables = {};
  }

  #turnClients(): void {
    this.clients.splice(0, this.clients.length, ...this.#source.clients);
  }
}

/** As `withCluster`. */
export async function withPair(
  settings: PairSettings,
  body: (pair: ClusterPair) => Promise<void>,
): Promise<void> {
  const pair = await ClusterPair.create(settings);
  let failed = true;
  try {
    await body(pair);
    failed = false;
  } finally {
    await pair.close(failed);
  }
}
