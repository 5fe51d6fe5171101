/**
 * One run: a cluster, and rounds on it. A round has a load of its own on queues of its own; under
 * it come faults, one after the other and sometimes one of the network together with another one;
 * then the load comes to its end and is judged, and its queues are deleted, so that memory and disk
 * stay what one round needs. Between two rounds a node is left behind until the log has given up
 * what it lacks, so each round but the first begins with a snapshot, and with a kill in the middle
 * of it.
 *
 * The run ends at the first violation: the logs are kept as they were then.
 */

import { Cluster } from '../cluster/cluster.js';
import { FAULTS, type FaultContext, type FaultName, pickFollower } from '../cluster/faults.js';
import { JudgedLoad } from '../cluster/judged-load.js';
import { Membership } from '../cluster/membership.js';
import { OUTGROWING, outgrowLog } from '../cluster/outgrown-log.js';
import { volumesWork } from '../cluster/private-volume.js';
import { type Environment, sleep } from '../process/node-under-test.js';
import { SeededRandom } from '../seeded-random.js';
import { type ChaosReport, RunRecord } from './run-record.js';

export interface ChaosOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly nodes: number;
  readonly kinds: readonly FaultName[];
  readonly log: (line: string) => void;
}

const ROUND_MS = 60_000;
const REST_MS_MAX = 2000;
const VOLUME_MIB = 256;
const RECOVERY_MS_MAX = 60_000;
/** Share of faults that come together with one of the network. */
const TOGETHER = 0.25;
const SNAPSHOT = 'snapshot';

const ENVIRONMENT: Environment = { ...OUTGROWING, SVC_RAFT_DURABLE_EVERY_MS: '150' };

const NETWORK = new Set<FaultName>([
  'cut-leader',
  'cut-follower',
  'cut-all',
  'deaf-leader',
  'mute-leader',
  'deaf-follower',
  'mute-follower',
  'bridge',
  'slow-network',
]);

export class ChaosRun {
  readonly #options: ChaosOptions;
  readonly #random: SeededRandom;
  readonly #record: RunRecord;

  constructor(options: ChaosOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    this.#record = new RunRecord(options.seed, options.log);
  }

  /** Ends the run as soon as possible. */
  interrupt(): void {
    this.#record.interrupt();
  }

  async run(): Promise<ChaosReport> {
    const { nodes, log } = this.#options;
    const missing = await volumesWork();
    if (missing !== null) log(`full-disk is left out: ${missing}`);
    const kinds = this.#options.kinds.filter((kind) => kind !== 'full-disk' || missing === null);
    const numbers = Array.from({ length: nodes }, (_, i) => i + 1);
    const volumes =
      missing === null ? Object.fromEntries(numbers.map((each) => [each, VOLUME_MIB])) : {};
    const cluster = await Cluster.create({ size: nodes, environment: ENVIRONMENT, volumes });
    try {
      await this.#record.until(this.#rounds(cluster, kinds));
    } finally {
      await cluster.close(!this.#record.isClean);
    }
    return this.#record.report();
  }

  async #rounds(cluster: Cluster, kinds: readonly FaultName[]): Promise<void> {
    const record = this.#record;
    const endMs = record.beganMs + this.#options.minutes * 60_000;
    const note = (text: string) => record.note(text);
    const membership = new Membership(cluster, (text) => note(`  ${text}`));
    const context: FaultContext = { cluster, membership, random: this.#random, note };
    await cluster.startAll();
    let queues: readonly string[] | null = null;
    for (let round = 1; performance.now() < endMs && record.isClean; round++) {
      const load = new JudgedLoad(cluster, {
        random: this.#random.fork(),
        name: `round${round}`,
        requests: record.requests,
      });
      try {
        if (queues === null) load.start();
        else await this.#snapshot(context, queues, load);
        const untilMs = Math.min(endMs, performance.now() + ROUND_MS);
        while (performance.now() < untilMs) await this.#fault(context, kinds, load);
        record.judged(`round ${round}`, await load.judge());
      } finally {
        // A run that broke off has nodes that answer nothing; its clients end with the process.
        if (record.goesOn) await load.abandon();
        else void load.abandon();
      }
      queues = load.queues;
    }
  }

  async #fault(
    context: FaultContext,
    kinds: readonly FaultName[],
    load: JudgedLoad,
  ): Promise<void> {
    const { random } = context;
    const kind = random.pick(kinds);
    const networks = kinds.filter((each) => NETWORK.has(each));
    const together = !NETWORK.has(kind) && networks.length > 0 && random.chance(TOGETHER);
    const chosen = together ? [kind, random.pick(networks)] : [kind];
    const name = chosen.join(' + ');
    context.note(`# ${name}`);
    await this.#measure(name, context, load, async () => {
      await Promise.all(chosen.map((each) => FAULTS[each].run(context)));
    });
    await sleep(random.between(0, REST_MS_MAX));
  }

  /** A node is down while the log gives up what it lacks; then the load begins, and the node. */
  async #snapshot(
    context: FaultContext,
    queues: readonly string[],
    load: JudgedLoad,
  ): Promise<void> {
    const { cluster, random, note } = context;
    note(`# ${SNAPSHOT}`);
    const node = await pickFollower(context);
    await node.kill();
    const entries = await outgrowLog(cluster, queues);
    note(`node ${node.number} lacks ${entries} entries that the log gave up`);
    load.start();
    await load.progress();
    await this.#measure(SNAPSHOT, context, load, async () => {
      node.start();
      await sleep(random.between(0, 1500));
      note(`SIGKILL of node ${node.number} on its way up`);
      await node.kill();
      node.start();
    });
  }

  #measure(
    name: string,
    { cluster }: FaultContext,
    load: JudgedLoad,
    run: () => Promise<void>,
  ): Promise<void> {
    return this.#record.measure(name, run, async () => {
      await cluster.ready(RECOVERY_MS_MAX);
      await load.progress(10, RECOVERY_MS_MAX);
    });
  }
}
