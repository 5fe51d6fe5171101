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
import { RequestLog } from '../cluster/request-log.js';
import { type Environment, sleep } from '../process/node-under-test.js';
import { SeededRandom } from '../seeded-random.js';

export interface ChaosOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly nodes: number;
  readonly kinds: readonly FaultName[];
  readonly log: (line: string) => void;
}

/** What all faults of one kind did to the clients. */
export interface FaultFigures {
  readonly count: number;
  /** The longest time without an acknowledged push, from its begin until all was well again. */
  readonly unavailableMsMax: number;
  /** From the end of the fault until pushes went on and every node was ready. */
  readonly recoveryMsMax: number;
}

export interface ChaosReport {
  readonly seed: number;
  readonly seconds: number;
  readonly interrupted: boolean;
  readonly faults: ReadonlyMap<string, FaultFigures>;
  readonly requests: RequestLog;
  /** One line for each round that was judged. */
  readonly verdicts: readonly string[];
  readonly violations: readonly string[];
}

const ROUND_MS = 60_000;
const REST_MS_MAX = 2000;
const VOLUME_MIB = 256;
const RECOVERY_MS_MAX = 60_000;
/** Share of faults that come together with one of the network. */
const TOGETHER = 0.25;
const SNAPSHOT = 'snapshot';
const ANOMALIES_SHOWN = 20;

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

class Interrupted extends Error {}

export class ChaosRun {
  readonly #options: ChaosOptions;
  readonly #random: SeededRandom;
  readonly #requests = new RequestLog();
  readonly #faults = new Map<string, FaultFigures>();
  readonly #verdicts: string[] = [];
  readonly #violations: string[] = [];
  readonly #beganMs = performance.now();
  readonly #interruption: Promise<never>;
  #interrupt: (error: Interrupted) => void = () => {};
  #interrupted = false;

  constructor(options: ChaosOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    this.#interruption = new Promise((_, reject) => {
      this.#interrupt = reject;
    });
    // It is raced against the run; without one it is nobody's error.
    this.#interruption.catch(() => undefined);
  }

  /** Ends the run as soon as possible. */
  interrupt(): void {
    this.#interrupted = true;
    this.#interrupt(new Interrupted());
  }

  async run(): Promise<ChaosReport> {
    const { seed, nodes, log } = this.#options;
    const missing = await volumesWork();
    if (missing !== null) log(`full-disk is left out: ${missing}`);
    const kinds = this.#options.kinds.filter((kind) => kind !== 'full-disk' || missing === null);
    const numbers = Array.from({ length: nodes }, (_, i) => i + 1);
    const volumes =
      missing === null ? Object.fromEntries(numbers.map((each) => [each, VOLUME_MIB])) : {};
    const cluster = await Cluster.create({ size: nodes, environment: ENVIRONMENT, volumes });
    try {
      await Promise.race([this.#rounds(cluster, kinds), this.#interruption]);
    } catch (error) {
      if (!(error instanceof Interrupted)) this.#violated(`the run broke off: ${textOf(error)}`);
    } finally {
      await cluster.close(this.#violations.length > 0);
    }
    return {
      seed,
      seconds: (performance.now() - this.#beganMs) / 1000,
      interrupted: this.#interrupted,
      faults: this.#faults,
      requests: this.#requests,
      verdicts: this.#verdicts,
      violations: this.#violations,
    };
  }

  async #rounds(cluster: Cluster, kinds: readonly FaultName[]): Promise<void> {
    const endMs = this.#beganMs + this.#options.minutes * 60_000;
    const note = (text: string) => this.#options.log(`${this.#clock()}  ${text}`);
    const membership = new Membership(cluster, (text) => note(`  ${text}`));
    const context: FaultContext = { cluster, membership, random: this.#random, note };
    await cluster.startAll();
    let queues: readonly string[] | null = null;
    for (let round = 1; performance.now() < endMs && this.#violations.length === 0; round++) {
      const load = new JudgedLoad(cluster, {
        random: this.#random.fork(),
        name: `round${round}`,
        requests: this.#requests,
      });
      try {
        if (queues === null) load.start();
        else await this.#snapshot(context, queues, load);
        const untilMs = Math.min(endMs, performance.now() + ROUND_MS);
        while (performance.now() < untilMs) await this.#fault(context, kinds, load);
        await this.#judge(round, load);
      } finally {
        // A run that broke off has nodes that answer nothing; its clients end with the process.
        if (!this.#interrupted && this.#violations.length === 0) await load.abandon();
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

  async #measure(
    name: string,
    { cluster, note }: FaultContext,
    load: JudgedLoad,
    run: () => Promise<void>,
  ): Promise<void> {
    const beganMs = performance.now();
    await run();
    const endedMs = performance.now();
    await cluster.ready(RECOVERY_MS_MAX);
    await load.progress(10, RECOVERY_MS_MAX);
    const wellMs = performance.now();
    const gapMs = this.#requests.longestGapMs(beganMs, wellMs);
    const before = this.#faults.get(name);
    this.#faults.set(name, {
      count: (before?.count ?? 0) + 1,
      unavailableMsMax: Math.max(before?.unavailableMsMax ?? 0, gapMs),
      recoveryMsMax: Math.max(before?.recoveryMsMax ?? 0, wellMs - endedMs),
    });
    note(`  no push for ${gapMs.toFixed(0)} ms, well after ${(wellMs - endedMs).toFixed(0)} ms`);
  }

  async #judge(round: number, load: JudgedLoad): Promise<void> {
    const { anomalies, summary } = await load.judge();
    this.#verdicts.push(`round ${round}: ${summary}`);
    this.#options.log(`${this.#clock()}  round ${round}: ${summary}`);
    for (const { kind, text } of anomalies.slice(0, ANOMALIES_SHOWN)) {
      this.#violated(`round ${round}: ${kind}: ${text}`);
    }
  }

  #violated(text: string): void {
    this.#violations.push(text);
    this.#options.log(`${this.#clock()}  VIOLATION ${text}`);
  }

  #clock(): string {
    return `${((performance.now() - this.#beganMs) / 1000).toFixed(1)} s`.padStart(9);
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
