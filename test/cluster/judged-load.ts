/**
 * All clients of a run together, workloads 1 (log), 2 (queue), 6 (dedup) and those of the state
 * surfaces (surface-load.ts), and the judgement of what they saw: the log at the end is read from
 * every node that runs, and has to be one log.
 */
import { checkDedup } from '../checkers/dedup-checker.js';
import type { ReadRecord } from '../checkers/history.js';
import { checkLog } from '../checkers/log-checker.js';
import { checkQueue } from '../checkers/queue-checker.js';
import { sleep } from '../process/node-under-test.js';
import { GROUPS, valueOfPayload, Workload } from '../process/workload.js';
import type { SeededRandom } from '../seeded-random.js';
import { SurfaceLoad } from '../workloads/surface-load.js';
import type { Cluster } from './cluster.js';
import { DedupLoad } from './dedup-load.js';
import { LogReaders } from './log-readers.js';
import { Probes } from './probes.js';
import { RequestLog } from './request-log.js';

/** What a load needs of the cluster that it loads, or of two of which one takes the load. */
export type LoadTarget = Pick<Cluster, 'clients' | 'running' | 'converged' | 'keepWithLogs'>;

export interface LoadOptions {
  readonly random: SeededRandom;
  /** Names the queues, so that a cluster can have one load after the other. */
  readonly name?: string;
  readonly restMsMax?: number;
  readonly requests?: RequestLog;
}

export interface LoadResult {
  readonly anomalies: readonly { readonly kind: string; readonly text: string }[];
  readonly summary: string;
}

/** Shorter than a push's own deadline, so that some are left without an answer and sent again. */
export const REQUEST_MS_MAX = 4000;
const REST_MS_MAX = 60;
/** Clients of the surfaces rest so many times longer: they are many, and the rest is the load. */
const SURFACE_RESTS = 4;
const LEASE_SECONDS = 2;
const BACKLOG_MAX = 100;
const PROGRESS_MS_MAX = 20_000;

export class JudgedLoad {
  readonly requests: RequestLog;
  readonly #cluster: LoadTarget;
  readonly #workload: Workload;
  readonly #dedup: DedupLoad;
  readonly #readers: LogReaders;
  readonly #probes: Probes;
  readonly #surfaces: SurfaceLoad;

  constructor(cluster: LoadTarget, options: LoadOptions) {
    const { random, name = 'load', restMsMax = REST_MS_MAX } = options;
    this.requests = options.requests ?? new RequestLog();
    this.#cluster = cluster;
    const common = {
      nodes: cluster.clients,
      requestMsMax: REQUEST_MS_MAX,
      restMsMax,
      leaseSeconds: LEASE_SECONDS,
      backlogMax: BACKLOG_MAX,
      observe: this.requests.observe,
    };
    this.#workload = new Workload({ ...common, random: random.fork(), name });
    this.#dedup = new DedupLoad({ ...common, random: random.fork(), name: `${name}.dedup` });
    const { partitions, sends, deliveries, acks } = this.#workload;
    this.#readers = new LogReaders({ ...common, random: random.fork(), partitions });
    this.#probes = new Probes({ ...common, random: random.fork(), queue: `${name}.probe` });
    const { reads } = this.#readers;
    const surfaces = { ...common, restMsMax: restMsMax * SURFACE_RESTS };
    this.#surfaces = new SurfaceLoad({ ...surfaces, random: random.fork(), name });
    const history = { sends, deliveries, acks, reads, dedup: this.#dedup.sends };
    cluster.keepWithLogs('history.json', () => JSON.stringify(history));
  }

  /** All that it stores into. */
  get queues(): readonly string[] {
    const own = [...this.#workload.queues, this.#dedup.queue, this.#probes.queue];
    return [...own, ...this.#surfaces.queues];
  }

  start(): void {
    this.#workload.start();
    this.#dedup.start();
    this.#readers.start();
    this.#probes.start();
    this.#surfaces.start();
  }

  /** Resolves when `count` more messages were acknowledged. */
  async progress(count = 50, msMax = PROGRESS_MS_MAX): Promise<void> {
    const enough = this.#workload.pushesAcked + count;
    const untilMs = performance.now() + msMax;
    while (this.#workload.pushesAcked < enough) {
      if (performance.now() > untilMs) throw new Error(`no push was acknowledged for ${msMax} ms`);
      await sleep(10);
    }
  }

  /** Ends the clients at once, without a judgement. */
  async abandon(): Promise<void> {
    const clients = [this.#workload, this.#dedup, this.#readers, this.#probes];
    await Promise.all([...clients.map((each) => each.stop()), this.#surfaces.abandon()]);
  }

  /** Lets the consumers come to the end, ends the clients, and judges. All nodes are well. */
  async judge(): Promise<LoadResult> {
    await Promise.all([
      this.#workload.runOut(() => this.#pending()),
      this.#dedup.stop(),
      this.#surfaces.finish(),
    ]);
    await this.abandon();
    await this.#cluster.converged();
    const { sends, deliveries, acks } = this.#workload;
    const [first, ...others] = this.#cluster.running;
    if (first === undefined) throw new Error('no node is running');
    const records = await this.#workload.readLog(first.client);
    const dedupRecords = await this.#dedup.readLog(first.client);
    const otherReads: ReadRecord[] = [...deliveries, ...this.#readers.reads];
    const anomalies: { kind: string; text: string }[] = [];
    for (const { client, number } of others) {
      const logs: readonly (readonly [readonly ReadRecord[], readonly ReadRecord[]])[] = [
        [records, await this.#workload.readLog(client)],
        [dedupRecords, await this.#dedup.readLog(client)],
      ];
      for (const [one, other] of logs) {
        const difference = firstDifference(one, other);
        if (difference === null) continue;
        const text = `node ${first.number} and node ${number}: ${difference}`;
        anomalies.push({ kind: 'nodes_differ', text });
      }
    }
    anomalies.push(
      ...checkLog({ sends, records, otherReads, readValue: valueOfPayload }),
      ...checkQueue({ sends, records, groups: GROUPS, deliveries, acks }),
      ...checkDedup({ sends: this.#dedup.sends, records: dedupRecords }),
      ...(await this.#surfaces.judge(this.#cluster.running.map(({ client }) => client))),
    );
    const summary =
      `${this.#workload.pushesAcked} messages acknowledged, ${records.length} stored, ` +
      `${deliveries.length} deliveries, ${this.#workload.acksDone} acks, ` +
      `${this.#dedup.sends.length} pushes of used ids with ${dedupRecords.length} records, ` +
      `${this.#readers.reads.length} records read on the way, ${this.#surfaces.summary}, ` +
      `${anomalies.length} anomalies`;
    return { anomalies, summary };
  }

  async #pending(): Promise<number> {
    const [node] = this.#cluster.running;
    if (node === undefined) throw new Error('no node is running');
    return this.#workload.pending(node.client);
  }
}

/** null: the same records. */
function firstDifference(one: readonly ReadRecord[], other: readonly ReadRecord[]): string | null {
  for (let i = 0; i < Math.max(one.length, other.length); i++) {
    const [a, b] = [one[i], other[i]];
    const same =
      a !== undefined &&
      b !== undefined &&
      a.partition === b.partition &&
      a.offset === b.offset &&
      a.transactionId === b.transactionId &&
      a.payload === b.payload;
    if (!same) return `${JSON.stringify(a)} is not ${JSON.stringify(b)}`;
  }
  return null;
}
