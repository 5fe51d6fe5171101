/** The nodes of one cluster: started together, looked at together, stopped in order. */
import { fileURLToPath } from 'node:url';
import { Child, type ChildEnd, describe, end, type Watchdog } from './children.js';
import { askNode, type NodeView, silentNode } from './node-view.js';
import {
  HOST,
  logFile,
  nodeDirectory,
  type Plan,
  type PlannedNode,
  peerList,
  shownPath,
} from './plan.js';
import type { Screen } from './screen.js';
import { changes, table } from './table.js';

export interface NodeGroupOptions {
  /** What one of the nodes is called. */
  readonly name: string;
  readonly plan: Plan;
  readonly directory: string;
  /** Beside what each node of any cluster gets. */
  readonly environment: NodeJS.ProcessEnv;
  readonly screen: Screen;
  readonly watchdog: Watchdog;
  /** A node ended that was not stopped. */
  readonly onDeath: () => void;
}

/** From scripts/dist/cluster. */
const NODE_PROGRAM = fileURLToPath(
  new URL('../../../packages/broker/dist/main.js', import.meta.url),
);
/** A node drains for a minute at most. */
const NODE_STOP_MS_MAX = 70_000;

export class NodeGroup {
  readonly #options: NodeGroupOptions;
  readonly #nodes = new Map<number, Child>();
  #views: readonly NodeView[];
  #lookedMs = 0;
  #isStopping = false;
  #failed = false;

  constructor(options: NodeGroupOptions) {
    this.#options = options;
    this.#views = options.plan.nodes.map(({ id }) => silentNode(id, 'starting'));
  }

  /** A node died, or was not stopped well. */
  get failed(): boolean {
    return this.#failed;
  }

  get isRunning(): boolean {
    return [...this.#nodes.values()].some((node) => node.isRunning);
  }

  /** null: none says that it leads. */
  get leader(): PlannedNode | null {
    return this.#options.plan.nodes.find(({ id }) => this.#leads(id)) ?? null;
  }

  start(): void {
    for (const node of this.#options.plan.nodes) this.#nodes.set(node.id, this.#startNode(node));
  }

  /** What is to be drawn on a terminal; elsewhere changes are said. */
  async look(): Promise<readonly string[]> {
    const { plan, screen, name } = this.#options;
    const before = this.#views;
    this.#views = await Promise.all(
      plan.nodes.map(({ id, httpPort }) =>
        this.#nodes.get(id)?.isRunning === true
          ? askNode(id, httpPort)
          : Promise.resolve(silentNode(id, 'down')),
      ),
    );
    const nowMs = performance.now();
    const seconds = (nowMs - this.#lookedMs) / 1000;
    this.#lookedMs = nowMs;
    if (screen.isTerminal) return table(name, this.#views, before, seconds);
    for (const line of changes(name, this.#views, before)) screen.say(line);
    return [];
  }

  /** Followers end before the leader, which finishes with them. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const nodes = [...this.#nodes];
    for (const leads of [false, true]) {
      const now = nodes.filter(([id]) => this.#leads(id) === leads);
      await Promise.all(now.map(([, node]) => end(node, 'SIGTERM', NODE_STOP_MS_MAX)));
    }
  }

  kill(): void {
    this.#failed = true;
    for (const node of this.#nodes.values()) node.signal('SIGKILL');
  }

  #leads(id: number): boolean {
    return this.#views.some((view) => view.id === id && view.state === 'leader');
  }

  #startNode({ id, httpPort, raftPort }: PlannedNode): Child {
    const { name, plan, directory, environment, screen, watchdog } = this.#options;
    const log = logFile(directory, id);
    const child = new Child(
      {
        name: `${name} ${id}`,
        command: process.execPath,
        args: [NODE_PROGRAM],
        environment: {
          ...process.env,
          PORT: String(httpPort),
          SVC_BIND_ADDR: HOST,
          SVC_SERVER_ID: `${name}-${id}`,
          SVC_RAFT_DIR: nodeDirectory(directory, id),
          SVC_RAFT_REPLICATOR: 'openraft',
          SVC_RAFT_NODE_ID: String(id),
          SVC_RAFT_PEERS: peerList(plan),
          SVC_RAFT_LISTEN: `${HOST}:${raftPort}`,
          SVC_RAFT_TOKEN: plan.token,
          ...environment,
        },
        logFile: log,
        onEnd: (what) => this.#onEnd(id, what),
      },
      watchdog,
    );
    const address = `http://${HOST}:${httpPort}`;
    screen.say(
      `${`${name} ${id}`.padEnd(10)}${address}    pid ${child.pid}    log ${shownPath(log)}`,
    );
    return child;
  }

  #onEnd(id: number, what: ChildEnd): void {
    const { name, screen, onDeath } = this.#options;
    if (this.#isStopping) {
      if (what.code !== 0) this.#failed = true;
      screen.say(`${name} ${id} stopped (${describe(what)})`);
      return;
    }
    this.#failed = true;
    // One that was killed had nothing to say.
    const why = what.signal === null ? `: ${this.#nodes.get(id)?.lastWords() ?? ''}` : '';
    screen.say(`${name} ${id} DIED (${describe(what)})${why}`);
    onDeath();
  }
}
