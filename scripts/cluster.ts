/**
 * `npm run cluster`: three nodes and a load balancer on this machine, and a table of what they do;
 * with `--standby` three more, a cluster that follows the first.
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
import { Child, type ChildEnd, describe, end, Watchdog } from './cluster/children.js';
import { NodeGroup } from './cluster/node-group.js';
import { HELP, type Options, readOptions } from './cluster/options.js';
import {
  balancerPort,
  HOST,
  makePlan,
  makeStandbyPlan,
  newToken,
  type Plan,
  PlanError,
  shownPath,
  sourceList,
  standbyDirectory,
} from './cluster/plan.js';
import { Screen } from './cluster/screen.js';
import {
  askStandby,
  type StandbyView,
  standbyChange,
  standbyLines,
} from './cluster/standby-view.js';

/** From scripts/dist. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LOOK_EVERY_MS = 1000;
const BALANCER_STOP_MS_MAX = 2000;
/** A terminal and npm may both pass on one Ctrl-C. */
const SAME_SIGNAL_MS = 500;

interface Plans {
  readonly source: Plan;
  /** null: none is wanted. */
  readonly standby: Plan | null;
}

class Cluster {
  readonly #options: Options;
  readonly #plans: Plans;
  readonly #screen: Screen;
  readonly #watchdog = new Watchdog();
  readonly #source: NodeGroup;
  readonly #standby: NodeGroup | null;
  #balancer: Child | null = null;
  #standbyView: StandbyView | null = null;
  #stopping: Promise<void> | null = null;
  #stoppingSinceMs = 0;
  #failed = false;

  constructor(options: Options, plans: Plans, screen: Screen) {
    this.#options = options;
    this.#plans = plans;
    this.#screen = screen;
    const { directory } = options;
    const { source, standby } = plans;
    const token = newToken();
    const common = { screen, watchdog: this.#watchdog, onDeath: () => this.#onNodeDeath() };
    const environment = standby === null ? {} : { SVC_LINK_TOKEN: token };
    this.#source = new NodeGroup({ ...common, name: 'node', plan: source, directory, environment });
    const follows = {
      SVC_LINK_SOURCE: sourceList(source),
      SVC_LINK_SOURCE_TOKEN: token,
      SVC_LINK_STANDBY: 'true',
    };
    this.#standby =
      standby === null
        ? null
        : new NodeGroup({
            ...common,
            name: 'standby',
            plan: standby,
            directory: standbyDirectory(directory),
            environment: follows,
          });
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
    for (const group of this.#groups) group.start();
    if (this.#options.balancer) this.#startBalancer(port);
    const [standby] = this.#plans.standby?.nodes ?? [];
    if (standby !== undefined) {
      const page = `http://${HOST}:${standby.httpPort}/system`;
      this.#screen.say(`link      ${page}    how it follows; promotes it`);
    }
    this.#screen.say('Every address has the dashboard. Ctrl-C stops all.');
    while (this.#stopping === null) {
      await this.#look();
      await sleep(LOOK_EVERY_MS);
    }
    await this.#stopping;
    return this.#failed || this.#groups.some(({ failed }) => failed) ? 1 : 0;
  }

  get #groups(): readonly NodeGroup[] {
    return this.#standby === null ? [this.#source] : [this.#source, this.#standby];
  }

  #startBalancer(port: number): void {
    const found = balancerCommand(this.#plans.source, port);
    if (found === null) {
      this.#screen.say('no load balancer: HAProxy is not installed (apt-get install haproxy).');
      this.#screen.say('Each of the addresses above takes any request.');
      return;
    }
    const log = join(this.#options.directory, 'balancer.log');
    this.#balancer = new Child(
      { ...found, name: 'balancer', logFile: log, onEnd: (what) => this.#onBalancerEnd(what) },
      this.#watchdog,
    );
    this.#screen.say(`balancer  http://${HOST}:${port}    log ${shownPath(log)}`);
  }

  /** A standby without its source goes on: that is what it is for. */
  #onNodeDeath(): void {
    if (this.#groups.some(({ isRunning }) => isRunning)) return;
    this.#screen.say('no node is left');
    this.#onSignal();
  }

  #onBalancerEnd(what: ChildEnd): void {
    if (this.#stopping !== null) return;
    this.#failed = true;
    const why = this.#balancer?.lastWords() ?? '';
    this.#screen.say(`the balancer DIED (${describe(what)}): ${why}`);
  }

  async #look(): Promise<void> {
    const blocks = await Promise.all(this.#groups.map((group) => group.look()));
    const lines = blocks.flatMap((block) => ['', ...block]);
    if (this.#standby !== null) {
      const before = this.#standbyView;
      const { leader } = this.#standby;
      this.#standbyView = leader === null ? null : await askStandby(leader.httpPort);
      lines.push('', ...standbyLines(this.#standbyView));
      const change = standbyChange(this.#standbyView, before);
      if (change !== null && !this.#screen.isTerminal) this.#screen.say(change);
    }
    this.#screen.draw(lines);
  }

  /** The first one stops all in order; a later one at once, which loses nothing acknowledged. */
  #onSignal(): void {
    const nowMs = performance.now();
    if (this.#stopping === null) {
      this.#stoppingSinceMs = nowMs;
      this.#stopping = this.#stop();
    } else if (nowMs - this.#stoppingSinceMs > SAME_SIGNAL_MS) {
      for (const group of this.#groups) group.kill();
      this.#balancer?.signal('SIGKILL');
    }
  }

  /** The balancer takes nothing new. A standby, which has no clients, ends before its source. */
  async #stop(): Promise<void> {
    this.#screen.draw([]);
    if (this.#groups.some(({ isRunning }) => isRunning)) {
      this.#screen.say('stopping; once more ends all at once');
    }
    this.#balancer?.signal('SIGUSR1');
    await this.#standby?.stop();
    await this.#source.stop();
    if (this.#balancer !== null) await end(this.#balancer, 'SIGTERM', BALANCER_STOP_MS_MAX);
  }
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
    const source = await makePlan(parsed.options);
    const standby = await makeStandbyPlan(parsed.options, source);
    mkdirSync(parsed.options.directory, { recursive: true });
    const plans = { source, standby };
    return await new Cluster(parsed.options, plans, new Screen(process.stdout)).run();
  } catch (error) {
    if (!(error instanceof PlanError)) throw error;
    console.error(`cluster: ${error.message}`);
    return 1;
  }
}

process.exitCode = await main();
