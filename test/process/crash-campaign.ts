/**
 * A campaign of crashes: one directory, one load that never stops, and a node that is killed again
 * and again, at random instants, while it boots, and at every named crash point; then the load is
 * let run out and the checkers of the log, of the queues and of the state surfaces judge everything
 * the clients saw.
 *
 * Segments are small and checkpoints frequent, so that rolls and checkpoints happen all the time.
 */
import { CRASH_POINTS, type CrashPoint } from '@svc/broker';
import { checkLog } from '../checkers/log-checker.js';
import { checkQueue } from '../checkers/queue-checker.js';
import { SeededRandom } from '../seeded-random.js';
import { SurfaceLoad } from '../workloads/surface-load.js';
import { HttpClient, NoAnswer } from './http-client.js';
import {
  type Environment,
  type NodeSettings,
  NodeUnderTest,
  sleep,
  startNode,
  temporaryDirectory,
} from './node-under-test.js';
import { freePort } from './ports.js';
import { GROUPS, valueOfPayload, Workload } from './workload.js';

export interface CampaignOptions {
  readonly seed: number;
  /** At least one for each crash point. */
  readonly kills: number;
  readonly log: (line: string) => void;
}

export interface CampaignResult {
  readonly anomalies: readonly { readonly kind: string; readonly text: string }[];
  readonly summary: string;
  readonly kills: number;
}

const ENVIRONMENT: Environment = {
  SVC_RAFT_SEGMENT_BYTES: '262144',
  SVC_RAFT_DURABLE_EVERY_MS: '150',
  RUST_LOG: 'info',
};

/** One life after the other has 1, 2 and 0 front threads; the kills come in a random order. */
const FRONT_THREAD_COUNTS = 3;
/** A busy machine may take this long to come to a point; one that is never passed is told then. */
const POINT_MS_MAX = 60_000;
const REQUEST_MS_MAX = 5000;
const SURFACE_REST_MS_MAX = 120;

/** How often a point may be passed before the one that kills: less for what happens rarely. */
function passesMax(point: CrashPoint): number {
  if (point.startsWith('hard-state') || point.startsWith('stop')) return 1;
  if (point.startsWith('before-replay') || point.startsWith('before-listen')) return 1;
  if (point.startsWith('log-roll') || point === 'log-after-roll') return 2;
  if (point === 'log-directory-sync') return 2;
  return point.includes('checkpoint') ? 6 : 150;
}

type Kill =
  | { readonly kind: 'point'; readonly point: CrashPoint; readonly pass: number }
  | { readonly kind: 'running'; readonly afterMs: number }
  | { readonly kind: 'booting'; readonly afterMs: number };

export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
  const random = new SeededRandom(options.seed);
  const directory = temporaryDirectory();
  const port = await freePort();
  const client = new HttpClient(port);
  const workload = new Workload({ nodes: [client], random: random.fork(), name: 'crash' });
  const surfaces = new SurfaceLoad({
    nodes: [client],
    random: random.fork(),
    name: 'crash',
    requestMsMax: REQUEST_MS_MAX,
    restMsMax: SURFACE_REST_MS_MAX,
  });
  const campaign = new Campaign(directory.path, port, options.log);
  try {
    workload.start();
    surfaces.start();
    for (const kill of planKills(random, options.kills)) await campaign.run(kill);
    return await finish(campaign, { workload, surfaces }, client, options);
  } catch (error) {
    // A request that fails because the node has ended says nothing of why it has.
    if (campaign.node?.exit != null && error instanceof NoAnswer)
      campaign.unexpected(campaign.node);
    throw error;
  } finally {
    await campaign.abandon();
    await Promise.all([workload.stop(), surfaces.abandon()]);
    client.close();
    directory.remove();
  }
}

/** Every point once, the rest at random instants; in a random order. */
function planKills(random: SeededRandom, count: number): Kill[] {
  const points = Object.keys(CRASH_POINTS) as CrashPoint[];
  const kills: Kill[] = points.map((point) => ({
    kind: 'point',
    point,
    pass: random.between(1, passesMax(point)),
  }));
  while (kills.length < count) {
    kills.push(
      random.chance(0.2)
        ? { kind: 'booting', afterMs: random.between(0, 400) }
        : { kind: 'running', afterMs: random.between(50, 1200) },
    );
  }
  return random.shuffled(kills);
}

class Campaign {
  kills = 0;
  starts = 0;
  node: NodeUnderTest | null = null;
  readonly #directory: string;
  readonly #port: number;
  readonly #log: (line: string) => void;

  constructor(directory: string, port: number, log: (line: string) => void) {
    this.#directory = directory;
    this.#port = port;
    this.#log = log;
  }

  async run(kill: Kill): Promise<void> {
    this.#log(`kill ${this.kills + 1}: ${JSON.stringify(kill)}`);
    switch (kill.kind) {
      case 'point':
        return this.#killAtPoint(kill.point, kill.pass);
      case 'running':
        this.node = await this.start({});
        await sleep(kill.afterMs);
        break;
      case 'booting':
        this.node = this.#spawn({});
        await sleep(kill.afterMs);
        break;
    }
    // A node that ended by itself is a finding, not a kill.
    if (this.node.exit !== null) this.unexpected(this.node);
    await this.node.kill();
    this.kills++;
  }

  async start(environment: Environment): Promise<NodeUnderTest> {
    this.node = await startNode(this.#nextLife(environment));
    return this.node;
  }

  async abandon(): Promise<void> {
    if (this.node !== null && this.node.exit === null) await this.node.kill();
  }

  #spawn(environment: Environment): NodeUnderTest {
    return new NodeUnderTest(this.#nextLife(environment));
  }

  #nextLife(environment: Environment): NodeSettings {
    this.starts++;
    return {
      directory: this.#directory,
      port: this.#port,
      frontThreads: this.starts % FRONT_THREAD_COUNTS,
      environment: { ...ENVIRONMENT, ...environment },
    };
  }

  async #killAtPoint(point: CrashPoint, pass: number): Promise<void> {
    const node = this.#spawn({ SVC_CRASH_AT: `${point}:${pass}` });
    this.node = node;
    if (point.startsWith('stop') && (await node.healthy())) {
      await sleep(200);
      node.send('SIGTERM');
    }
    const exit = await node.ended(POINT_MS_MAX);
    if (exit.signal !== 'SIGKILL') this.unexpected(node);
    this.kills++;
  }

  unexpected(node: NodeUnderTest): never {
    throw new Error(`the node ended by itself: ${JSON.stringify(node.exit)}\n${node.output}`);
  }
}

interface Loads {
  readonly workload: Workload;
  readonly surfaces: SurfaceLoad;
}

async function finish(
  campaign: Campaign,
  { workload, surfaces }: Loads,
  client: HttpClient,
  options: CampaignOptions,
): Promise<CampaignResult> {
  const node = await campaign.start({});
  await Promise.all([workload.runOut(() => workload.pending(client)), surfaces.finish()]);
  const records = await workload.readLog(client);
  const { sends, deliveries, acks } = workload;
  const anomalies = [
    ...checkLog({ sends, records, otherReads: deliveries, readValue: valueOfPayload }),
    ...checkQueue({ sends, records, groups: GROUPS, deliveries, acks }),
    ...(await surfaces.judge([client])),
  ];
  const exit = await node.signal('SIGTERM');
  if (exit.code !== 0) anomalies.push({ kind: 'lost', text: `exit ${JSON.stringify(exit)}` });
  const summary =
    `seed ${options.seed}: ${campaign.kills} kills, ${campaign.starts} starts, ` +
    `${workload.pushesAcked} pushed messages acknowledged, ${records.length} stored, ` +
    `${deliveries.length} deliveries, ${workload.acksDone} acks, ${anomalies.length} anomalies`;
  return { anomalies, summary, kills: campaign.kills };
}
