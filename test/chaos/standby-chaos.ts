/**
 * One run of two clusters, the second of which follows the first. A round has a load of its own,
 * and faults on either side, on both at once and between them. Then the sides change under the
 * load, with a death in the middle of it: the source ends, the standby is promoted, the old source
 * begins anew with a copy of it. One judgement covers all that; every node of both clusters shows
 * the same log then.
 *
 * After that the source is lost without warning, under a load that is not judged by what clients
 * saw, for some of it is lost rightly: what is left is compared with what the old source had.
 *
 * The run ends at the first violation: the logs are kept as they were then.
 */
import type { ClusterNode } from '../cluster/cluster-node.js';
import { ClusterPair } from '../cluster/cluster-pair.js';
import { FAULTS, type FaultName } from '../cluster/faults.js';
import { JudgedLoad } from '../cluster/judged-load.js';
import { loseSource } from '../cluster/lost-source.js';
import { Membership } from '../cluster/membership.js';
import { OUTGROWING } from '../cluster/outgrown-log.js';
import { CUT, type Link, OPEN, STALLED } from '../cluster/peer-proxy.js';
import { sleep } from '../process/node-under-test.js';
import { SeededRandom } from '../seeded-random.js';
import type { ChaosOptions } from './chaos-run.js';
import { type ChaosReport, RunRecord } from './run-record.js';

const ROUND_MS = 60_000;
const REST_MS_MAX = 2000;
const RECOVERY_MS_MAX = 60_000;
const BETWEEN_MS_MAX = 6000;
/** Within this time of its beginning a promotion loses the leader that logs it. */
const PROMOTION_MS = 100;
const KILLS_MAX = 3;
/** Share of faults of a side that come together with one between the sides. */
const TOGETHER = 0.25;
/** Without volumes of their own, and without nodes that are not told whom they follow. */
const LEFT_OUT: ReadonlySet<FaultName> = new Set<FaultName>(['full-disk', 'grow']);

type Side = 'source' | 'standby';

export class StandbyChaos {
  readonly #options: ChaosOptions;
  readonly #kinds: readonly FaultName[];
  readonly #random: SeededRandom;
  readonly #record: RunRecord;

  constructor(options: ChaosOptions) {
    this.#options = options;
    this.#kinds = options.kinds.filter((kind) => !LEFT_OUT.has(kind));
    this.#random = new SeededRandom(options.seed);
    this.#record = new RunRecord(options.seed, options.log);
  }

  /** Ends the run as soon as possible. */
  interrupt(): void {
    this.#record.interrupt();
  }

  async run(): Promise<ChaosReport> {
    const { nodes } = this.#options;
    const pair = await ClusterPair.create({
      source: nodes,
      standby: nodes,
      environment: OUTGROWING,
    });
    try {
      await this.#record.until(this.#rounds(pair));
    } finally {
      await pair.close(!this.#record.isClean);
    }
    return this.#record.report();
  }

  async #rounds(pair: ClusterPair): Promise<void> {
    const record = this.#record;
    const endMs = record.beganMs + this.#options.minutes * 60_000;
    await pair.startAll();
    for (let round = 1; performance.now() < endMs && record.isClean; round++) {
      const load = new JudgedLoad(pair, {
        random: this.#random.fork(),
        name: `round${round}`,
        requests: record.requests,
      });
      try {
        load.start();
        await load.progress(50, RECOVERY_MS_MAX);
        const untilMs = Math.min(endMs, performance.now() + ROUND_MS);
        while (performance.now() < untilMs) await this.#fault(pair, load);
        await this.#change(pair, load);
        record.judged(`round ${round}`, await load.judge());
      } finally {
        // A run that broke off has nodes that answer nothing; its clients end with the process.
        if (record.goesOn) await load.abandon();
        else void load.abandon();
      }
      if (record.isClean) await this.#lose(pair, round);
    }
  }

  // --- faults ------------------------------------------------------------------------------------

  async #fault(pair: ClusterPair, load: JudgedLoad): Promise<void> {
    const random = this.#random;
    const where = random.pick(['source', 'standby', 'standby', 'both', 'between'] as const);
    if (where === 'between') await this.#measure(pair, load, ...this.#between(pair));
    else if (where === 'both') await this.#measure(pair, load, ...this.#bothLeaders(pair));
    else {
      const [name, run] = this.#ofSide(pair, where);
      const [between, cut] = this.#between(pair);
      if (random.chance(TOGETHER)) {
        const both = async () => void (await Promise.all([run(), cut()]));
        await this.#measure(pair, load, `${name} + ${between}`, both);
      } else await this.#measure(pair, load, name, run);
    }
    await sleep(random.between(0, REST_MS_MAX));
  }

  #ofSide(pair: ClusterPair, side: Side): [name: string, run: () => Promise<void>] {
    const random = this.#random;
    const kind = random.pick(this.#kinds);
    const cluster = pair[side];
    const note = (text: string) => this.#record.note(`${side}: ${text}`);
    const membership = new Membership(cluster, note);
    return [`${side} ${kind}`, () => FAULTS[kind].run({ cluster, membership, random, note })];
  }

  #bothLeaders(pair: ClusterPair): [name: string, run: () => Promise<void>] {
    const run = async () => {
      const sides = [pair.source, pair.standby];
      const leaders = await Promise.all(sides.map((side) => side.waitForLeader()));
      await Promise.all(leaders.map((leader) => leader.kill()));
      await sleep(this.#random.between(0, BETWEEN_MS_MAX / 2));
      for (const leader of leaders) leader.start();
    };
    return ['both kill-leader', run];
  }

  /** The network between the clusters: to all nodes of the source, or to some. */
  #between(pair: ClusterPair): [name: string, run: () => Promise<void>] {
    const random = this.#random;
    const delayMs = random.between(5, 200);
    const slow: Link = { kind: 'slow', delayMs, bytesPerSecond: 100_000 };
    const link = random.pick([CUT, STALLED, slow]);
    const { network } = pair.source;
    const nodes = random.shuffled(network.nodes).slice(0, random.between(1, network.nodes.length));
    const run = async () => {
      const ms = random.between(200, BETWEEN_MS_MAX);
      this.#record.note(`standbys and nodes ${nodes}: ${link.kind} for ${ms} ms`);
      network.toStandbys(link, nodes);
      await sleep(ms);
      network.toStandbys(OPEN);
    };
    return [`between ${link.kind}`, run];
  }

  #measure(
    pair: ClusterPair,
    load: JudgedLoad,
    name: string,
    run: () => Promise<void>,
  ): Promise<void> {
    this.#record.note(`# ${name}`);
    return this.#record.measure(name, run, async () => {
      await pair.ready(RECOVERY_MS_MAX);
      await load.progress(10, RECOVERY_MS_MAX);
      await pair.followed(RECOVERY_MS_MAX);
    });
  }

  // --- changes of the sides ----------------------------------------------------------------------

  /** Planned, under load; the old source comes back as the standby. */
  async #change(pair: ClusterPair, load: JudgedLoad): Promise<void> {
    const record = this.#record;
    record.note('# switch');
    let death: Promise<void> = Promise.resolve();
    const change = async () => {
      await pair.switchOver(async (standby) => {
        const leader = await standby.waitForLeader();
        if (this.#random.chance(0.5)) death = this.#dieSoon(leader);
        return this.#random.pick(standby.running);
      });
      await death;
    };
    await record.measure('switch', change, async () => {
      await pair.source.ready(RECOVERY_MS_MAX);
      await load.progress(10, RECOVERY_MS_MAX);
    });
    await this.#measure(pair, load, 'seed', () => this.#seed(pair));
  }

  async #dieSoon(leader: ClusterNode): Promise<void> {
    await sleep(this.#random.between(0, PROMOTION_MS));
    this.#record.note(`SIGKILL of node ${leader.number}, which leads the standby`);
    await leader.kill();
    leader.start();
  }

  async #seed(pair: ClusterPair): Promise<void> {
    const kills = this.#random.between(0, KILLS_MAX);
    const inTheMiddle = await pair.seedWithKills(this.#random, kills);
    this.#record.note(`the seed was killed ${inTheMiddle} times in its middle`);
  }

  /** Without warning; the old source comes back as the standby. */
  async #lose(pair: ClusterPair, round: number): Promise<void> {
    const record = this.#record;
    record.note('# lost source');
    const tail = await loseSource(pair, this.#random, `lost${round}`);
    const { kept, lost, wrong } = tail;
    const anomalies = wrong.map((text) => ({ kind: 'lost source', text }));
    const summary = `${kept} messages kept, ${lost} lost, ${wrong.length} anomalies`;
    record.judged(`lost source ${round}`, { anomalies, summary });
    if (!record.isClean) return;
    await Promise.all(pair.standby.nodes.map((node) => node.kill()));
    await this.#seed(pair);
    await pair.followed(RECOVERY_MS_MAX);
  }
}
