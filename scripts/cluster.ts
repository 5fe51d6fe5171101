/**
 * `npm run cluster`: three nodes and a load balancer on this machine, and a table of what they do.
 *
 * What must hold: nothing that was started here outlives this program, however it ends; nodes are
 * stopped in order, so that what they accepted is answered; a node that died is named and not
 * started again, for whoever runs this wants to see what happens without it.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { balancerCommand } from './cluster/balancer.js';
import { Child, type ChildEnd, Watchdog } from './cluster/children.js';
import { askNode, type NodeView, silentNode } from './cluster/node-view.js';
import { HELP, type Options, readOptions } from './cluster/options.js';
import {
  balancerPort,
  HOST,
  logFile,
  makePlan,
  nodeDirectory,
  type Plan,
  PlanError,
  type PlannedNode,
  peerList,
} from './cluster/plan.js';
import { Screen } from './cluster/screen.js';
import { changes, table } from './cluster/table.js';

/** From scripts/dist. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NODE_PROGRAM = join(ROOT, 'packages/broker/dist/main.js');
const LOOK_EVERY_MS = 1000;
/** A node drains for a minute at most. */
const NODE_STOP_MS_MAX = 70_000;
const BALANCER_STOP_MS_MAX = 2000;
/** A terminal and npm may both pass on one Ctrl-C. */
const SAME_SIGNAL_MS = 500;

class Cluster {
  readonly #options: Options;
  readonly #plan: Plan;
  readonly #screen: Screen;
  readonly #watchdog = new Watchdog();
  readonly #nodes = new Map<number, Child>();
  #balancer: Child | null = null;
  #views: readonly NodeView[] = [];
  #lookedMs = 0;
  #stopping: Promise<void> | null = null;
  #stoppingSinceMs = 0;
  #failed = false;

  constructor(options: Options, plan: Plan, screen: Screen) {
    this.#options = options;
    this.#plan = plan;
    this.#screen = screen;
    this.#views = plan.nodes.map(({ id }) => silentNode(id, 'starting'));
  }

  async run(): Promise<number> {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => this.#onSignal());
    }
    // The terminal, or whoever read the lines, is gone.
    process.stdout.on('error', () => this.#onSignal());
    // While the watchdog has its pipe this program does not end, so it goes on every way out.
    try {
      return await this.#runAll();
    } catch (error) {
      this.#stopping ??= this.#stop();
      await this.#stopping;
      throw error;
    } finally {
      this.#watchdog.end();
    }
  }

  async #runAll(): Promise<number> {
    const port = await balancerPort(this.#options.port);
    for (const node of this.#plan.nodes) this.#nodes.set(node.id, this.#startNode(node));
    if (this.#options.balancer) this.#startBalancer(port);
    this.#screen.say('Ctrl-C stops all.');
    while (this.#stopping === null) {
      await this.#look();
      await sleep(LOOK_EVERY_MS);
    }
    await this.#stopping;
    return this.#failed ? 1 : 0;
  }

  #startNode(node: PlannedNode): Child {
    const { id, httpPort, raftPort } = node;
    const { directory } = this.#options;
    const log = logFile(directory, id);
    const environment: NodeJS.ProcessEnv = {
      ...process.env,
      PORT: String(httpPort),
      SVC_BIND_ADDR: HOST,
      SVC_SERVER_ID: `node-${id}`,
      SVC_RAFT_DIR: nodeDirectory(directory, id),
      SVC_RAFT_REPLICATOR: 'openraft',
      SVC_RAFT_NODE_ID: String(id),
      SVC_RAFT_PEERS: peerList(this.#plan),
      SVC_RAFT_LISTEN: `${HOST}:${raftPort}`,
      SVC_RAFT_TOKEN: this.#plan.token,
    };
    const child = new Child(
      {
        name: `node ${id}`,
        command: process.execPath,
        args: [NODE_PROGRAM],
        environment,
        logFile: log,
        onEnd: (end) => this.#onNodeEnd(id, end),
      },
      this.#watchdog,
    );
    this.#screen.say(`node ${id}    http://${HOST}:${httpPort}    pid ${child.pid}    log ${log}`);
    return child;
  }

  #startBalancer(port: number): void {
    const found = balancerCommand(this.#plan, port);
    if (found === null) {
      this.#screen.say('no load balancer: HAProxy is not installed (apt-get install haproxy).');
      this.#screen.say('Each of the addresses above takes any request.');
      return;
    }
    const log = join(this.#options.directory, 'balancer.log');
    this.#balancer = new Child(
      { ...found, name: 'balancer', logFile: log, onEnd: (end) => this.#onBalancerEnd(end) },
      this.#watchdog,
    );
    this.#screen.say(`balancer  http://${HOST}:${port}    log ${log}`);
  }

  #onNodeEnd(id: number, end: ChildEnd): void {
    const child = this.#nodes.get(id);
    if (this.#stopping !== null) {
      if (end.code !== 0) this.#failed = true;
      this.#screen.say(`node ${id} stopped (${describe(end)})`);
      return;
    }
    this.#failed = true;
    // One that was killed had nothing to say.
    const why = end.signal === null ? `: ${child?.lastWords() ?? ''}` : '';
    this.#screen.say(`node ${id} DIED (${describe(end)})${why}`);
    if ([...this.#nodes.values()].some((node) => node.isRunning)) return;
    this.#screen.say('no node is left');
    this.#onSignal();
  }

  #onBalancerEnd(end: ChildEnd): void {
    if (this.#stopping !== null) return;
    this.#failed = true;
    const why = this.#balancer?.lastWords() ?? '';
    this.#screen.say(`the balancer DIED (${describe(end)}): ${why}`);
  }

  async #look(): Promise<void> {
    const before = this.#views;
    const views = await Promise.all(
      this.#plan.nodes.map(({ id, httpPort }) =>
        this.#nodes.get(id)?.isRunning === true
          ? askNode(id, httpPort)
          : Promise.resolve(silentNode(id, 'down')),
      ),
    );
    const nowMs = performance.now();
    this.#views = views;
    if (this.#screen.isTerminal) {
      this.#screen.draw(['', ...table(views, before, (nowMs - this.#lookedMs) / 1000)]);
    } else {
      for (const line of changes(views, before)) this.#screen.say(line);
    }
    this.#lookedMs = nowMs;
  }

  /** The first one stops all in order; a later one at once, which loses nothing acknowledged. */
  #onSignal(): void {
    const nowMs = performance.now();
    if (this.#stopping === null) {
      this.#stoppingSinceMs = nowMs;
      this.#stopping = this.#stop();
    } else if (nowMs - this.#stoppingSinceMs > SAME_SIGNAL_MS) {
      this.#failed = true;
      for (const child of [...this.#nodes.values(), this.#balancer]) child?.signal('SIGKILL');
    }
  }

  /** The balancer takes nothing new; followers end before the leader, which finishes with them. */
  async #stop(): Promise<void> {
    this.#screen.draw([]);
    if (this.#nodes.size > 0) this.#screen.say('stopping; once more ends all at once');
    this.#balancer?.signal('SIGUSR1');
    const isLeader = (id: number) =>
      this.#views.some((view) => view.id === id && view.state === 'leader');
    const ids = [...this.#nodes.keys()];
    for (const leads of [false, true]) {
      await Promise.all(ids.filter((id) => isLeader(id) === leads).map((id) => this.#stopNode(id)));
    }
    if (this.#balancer !== null) await end(this.#balancer, 'SIGTERM', BALANCER_STOP_MS_MAX);
  }

  async #stopNode(id: number): Promise<void> {
    const child = this.#nodes.get(id);
    if (child !== undefined) await end(child, 'SIGTERM', NODE_STOP_MS_MAX);
  }
}

async function end(child: Child, signal: NodeJS.Signals, withinMs: number): Promise<void> {
  if (!child.isRunning) return;
  child.signal(signal);
  const timer = setTimeout(() => child.signal('SIGKILL'), withinMs);
  await child.ended;
  clearTimeout(timer);
}

function describe({ code, signal }: ChildEnd): string {
  if (signal !== null) return signal;
  return code === null ? 'could not be started' : `code ${code}`;
}

async function main(): Promise<number> {
  const parsed = readOptions(process.argv.slice(2), join(ROOT, 'data', 'cluster'));
  if (parsed.kind === 'help') {
    process.stdout.write(HELP);
    return 0;
  }
  if (parsed.kind === 'refused') {
    console.error(`cluster: ${parsed.error}`);
    return 1;
  }
  try {
    const plan = await makePlan(parsed.options);
    mkdirSync(parsed.options.directory, { recursive: true });
    return await new Cluster(parsed.options, plan, new Screen(process.stdout)).run();
  } catch (error) {
    if (!(error instanceof PlanError)) throw error;
    console.error(`cluster: ${error.message}`);
    return 1;
  }
}

process.exitCode = await main();
