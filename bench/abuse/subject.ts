// The subject of an attack: one node or a cluster of three, as real processes with the default
// settings. It tells the memory of each node, the term, and which nodes have ended.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@svc/test';
import type { RaftStatusAnswer } from '@svc/wire';
import type { Address } from '../rig/http-connection.js';
import { HttpExchange } from '../rig/http-exchange.js';
import { NodeGroup } from '../rig/node-group.js';
import { NodeProcess } from '../rig/node-process.js';
import type { Scratch } from '../rig/scratch.js';
import type { Against, Scenario } from './scenario.js';

const CLUSTER_NODES = 3;
const STATUS_MS_MAX = 5000;
/** Short enough that a spike of memory between two collections of garbage is seen. */
const SAMPLE_INTERVAL_MS = 20;

export interface SubjectPlan {
  readonly scenario: Scenario;
  readonly against: Against;
  readonly entry: string;
  /** Arguments of the runtime, as for a profile. */
  readonly runtimeArguments: readonly string[];
}

export interface Office {
  /** Newest term that any node knows; 0 when no node answered. */
  readonly term: number;
  /** Index of the node that leads in this term; -1 when none does. */
  readonly leader: number;
}

export class Subject {
  readonly nodes: readonly NodeProcess[];
  readonly #end: () => Promise<void>;
  readonly #timer: NodeJS.Timeout;
  readonly #peakBytes: number[];

  private constructor(nodes: readonly NodeProcess[], end: () => Promise<void>) {
    this.nodes = nodes;
    this.#end = end;
    this.#peakBytes = nodes.map(() => 0);
    this.#timer = setInterval(() => this.#sample(), SAMPLE_INTERVAL_MS);
  }

  static async start(scratch: Scratch, plan: SubjectPlan): Promise<Subject> {
    const { scenario, against, entry, runtimeArguments } = plan;
    const launcher =
      scenario.openFiles === undefined
        ? []
        : ['prlimit', `--nofile=${scenario.openFiles}:${scenario.openFiles}`];
    const environment = {
      SVC_RAFT_DISK_HIGH_PCT: '99',
      SVC_RAFT_DISK_LOW_PCT: '98',
      ...scenario.environment,
    };
    if (against === 'cluster') {
      const more = { environment, launcher, runtimeArguments };
      const group = await NodeGroup.start(scratch, CLUSTER_NODES, entry, more);
      const nodes = group.nodes.map((node) => node.process);
      return new Subject(nodes, () => group.end());
    }
    const directory = scratch.directory('abuse');
    const dataDirectory = join(directory, 'node');
    mkdirSync(dataDirectory);
    const logFile = join(directory, 'node.log');
    const port = await freePort();
    const rest = { runtimeArguments, launcher, environment };
    const node = new NodeProcess({ entry, port, dataDirectory, logFile, ...rest });
    await node.start();
    return new Subject([node], async () => {
      await node.kill();
      scratch.remove(directory);
    });
  }

  addresses(): readonly Address[] {
    return this.nodes.map((node) => node.address);
  }

  /** Resident memory of each node; 0: it has ended. */
  residentBytes(): readonly number[] {
    return this.nodes.map((node) => {
      try {
        return node.isRunning ? node.memory().residentBytes : 0;
      } catch {
        // It ended a moment ago, and nobody has told us yet.
        return 0;
      }
    });
  }

  /** Highest resident memory of each node since the last `restartPeaks`. */
  peakBytes(): readonly number[] {
    this.#sample();
    return [...this.#peakBytes];
  }

  restartPeaks(): void {
    this.#peakBytes.fill(0);
    this.#sample();
  }

  /** Number of nodes that have ended by themselves. */
  ended(): number {
    return this.nodes.filter((node) => !node.isRunning).length;
  }

  async office(): Promise<Office> {
    const views = await Promise.all(this.addresses().map(statusOf));
    const term = Math.max(0, ...views.map((view) => view?.term ?? 0));
    const leader = views.findIndex((view) => view?.term === term && view.state === 'leader');
    return { term, leader };
  }

  /** Ends nodes in order, so that they write what they have recorded. */
  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#end();
  }

  #sample(): void {
    for (const [index, bytes] of this.residentBytes().entries()) {
      this.#peakBytes[index] = Math.max(this.#peakBytes[index] ?? 0, bytes);
    }
  }
}

async function statusOf(address: Address): Promise<RaftStatusAnswer | null> {
  const exchange = new HttpExchange(address);
  try {
    const answer = await exchange.request('GET', '/api/v1/raft/status', undefined, STATUS_MS_MAX);
    if (answer.status !== 200) return null;
    return JSON.parse(answer.body.toString('utf8')) as RaftStatusAnswer;
  } catch {
    return null;
  } finally {
    exchange.close();
  }
}
