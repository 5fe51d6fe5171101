// A cluster of nodes as child processes, at default timings: who leads, who follows, one more.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@svc/test';
import type { RaftStatusAnswer } from '@svc/wire';
import { nodeEntry } from './checkout.js';
import type { Address } from './http-connection.js';
import { HttpExchange } from './http-exchange.js';
import { NodeProcess } from './node-process.js';
import type { Scratch } from './scratch.js';

export interface GroupNode {
  readonly number: number;
  readonly process: NodeProcess;
  readonly raftAddress: string;
  readonly httpAddress: string;
}

/** What the nodes of a group get beside what makes them a group. */
export interface GroupSettings {
  readonly environment?: Readonly<Record<string, string>>;
  readonly launcher?: readonly string[];
  readonly runtimeArguments?: readonly string[];
}

const LOOPBACK = '127.0.0.1';
const POLL_MS = 10;
const LEADER_MS_MAX = 30_000;
const STATUS_MS_MAX = 1000;
const MEMBERSHIP = '/api/v1/system/raft/membership';

export class NodeGroup {
  readonly nodes: GroupNode[] = [];
  readonly #scratch: Scratch;
  readonly #directory: string;
  readonly #entry: string;
  readonly #settings: GroupSettings;

  private constructor(scratch: Scratch, entry: string | undefined, settings: GroupSettings) {
    this.#scratch = scratch;
    this.#settings = settings;
    this.#directory = scratch.directory('nodes');
    this.#entry = nodeEntry(entry);
  }

  /** Started, with a leader. */
  static async start(
    scratch: Scratch,
    size: number,
    entry: string | undefined,
    settings: GroupSettings = {},
  ): Promise<NodeGroup> {
    const group = new NodeGroup(scratch, entry, settings);
    const places: (readonly [http: number, raft: number])[] = [];
    for (let i = 0; i < size; i += 1) places.push([await freePort(), await freePort()]);
    const peers = places.map(([http, raft], i) => peerText(i + 1, raft, http)).join(',');
    for (const [index, [http, raft]] of places.entries()) {
      group.nodes.push(group.#node(index + 1, http, raft, peers, {}));
    }
    await Promise.all(group.nodes.map((node) => node.process.start()));
    await group.leader();
    return group;
  }

  /** One more node, which waits to be added; not started. */
  async spare(): Promise<GroupNode> {
    const number = this.nodes.length + 1;
    const [http, raft] = [await freePort(), await freePort()];
    const known = this.nodes.map(
      (node) => `${node.number}=${node.raftAddress}/${node.httpAddress}`,
    );
    const peers = [...known, peerText(number, raft, http)].join(',');
    return this.#node(number, http, raft, peers, { SVC_RAFT_JOIN: 'true' });
  }

  /** Adds a started node as a learner. */
  async addLearner(node: GroupNode): Promise<void> {
    const leader = await this.leader();
    const body = { id: node.number, raft: node.raftAddress, http: node.httpAddress };
    const exchange = new HttpExchange(leader.process.address);
    const path = `${MEMBERSHIP}/learners?timeoutMs=60000`;
    const answer = await exchange.request('POST', path, JSON.stringify(body), 70_000);
    exchange.close();
    if (answer.status !== 200) {
      throw new Error(`${path}: ${answer.status} ${answer.body.toString('utf8')}`);
    }
  }

  /** The node that leads the newest term; waits for one. */
  async leader(): Promise<GroupNode> {
    const untilMs = performance.now() + LEADER_MS_MAX;
    for (;;) {
      let newest: { readonly node: GroupNode; readonly term: number } | null = null;
      for (const node of this.nodes) {
        const status = await this.status(node);
        if (status?.state !== 'leader') continue;
        if (newest === null || status.term > newest.term) newest = { node, term: status.term };
      }
      if (newest !== null) return newest.node;
      if (performance.now() > untilMs) throw new Error(`no leader within ${LEADER_MS_MAX} ms`);
      await sleep(POLL_MS);
    }
  }

  async followers(): Promise<readonly GroupNode[]> {
    const leader = await this.leader();
    return this.nodes.filter((node) => node !== leader);
  }

  /** null: it does not answer. */
  async status(node: GroupNode): Promise<RaftStatusAnswer | null> {
    const exchange = new HttpExchange(node.process.address);
    try {
      const path = '/api/v1/raft/status';
      const { body } = await exchange.request('GET', path, undefined, STATUS_MS_MAX);
      return JSON.parse(body.toString('utf8')) as RaftStatusAnswer;
    } catch {
      return null;
    } finally {
      exchange.close();
    }
  }

  /** Ends the nodes by SIGTERM, so that they write what they have recorded. */
  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.process.stop()));
    await this.end();
  }

  /** Ends the nodes by SIGKILL; their directories are gone. */
  async end(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.process.kill()));
    this.#scratch.remove(this.#directory);
  }

  #node(
    number: number,
    http: number,
    raft: number,
    peers: string,
    environment: Readonly<Record<string, string>>,
  ): GroupNode {
    const dataDirectory = join(this.#directory, `node-${number}`);
    mkdirSync(dataDirectory);
    const settings = this.#settings;
    const plan = {
      entry: this.#entry,
      port: http,
      dataDirectory,
      logFile: join(this.#directory, `node-${number}.log`),
      runtimeArguments: settings.runtimeArguments ?? [],
      launcher: settings.launcher ?? [],
      environment: {
        SVC_RAFT_REPLICATOR: 'openraft',
        SVC_RAFT_NODE_ID: `${number}`,
        SVC_RAFT_PEERS: peers,
        SVC_RAFT_TOKEN: 'bench',
        SVC_RAFT_DISK_HIGH_PCT: '99',
        SVC_RAFT_DISK_LOW_PCT: '98',
        ...settings.environment,
        ...environment,
      },
    };
    return {
      number,
      process: new NodeProcess(plan),
      raftAddress: addressText({ host: LOOPBACK, port: raft }),
      httpAddress: addressText({ host: LOOPBACK, port: http }),
    };
  }
}

function addressText({ host, port }: Address): string {
  return `${host}:${port}`;
}

function peerText(number: number, raft: number, http: number): string {
  return `${number}=${LOOPBACK}:${raft}/${LOOPBACK}:${http}`;
}
