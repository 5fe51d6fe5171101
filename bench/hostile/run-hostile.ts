// `npm run bench -- --hostile`: what clients of one front thread notice of a hostile client of
// another, and what they notice of it without front threads. 1,000 single pushes a second, each
// timed from the moment at which it was due, in peace and under each attack, in turns.

import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '@svc/test';
import { item, payloadOf, push, pushText } from '../abuse/requests.js';
import { atMost, type Figure, figure } from '../report/figure.js';
import { median, percentile } from '../report/percentiles.js';
import { formatNumber, renderFigures, report } from '../report/report.js';
import { nodeEntry } from '../rig/checkout.js';
import { type Address, HttpConnection } from '../rig/http-connection.js';
import { HttpExchange } from '../rig/http-exchange.js';
import { NodeProcess } from '../rig/node-process.js';
import { Scratch } from '../rig/scratch.js';
import { type HostileOrder, LARGE_MESSAGES, LARGE_QUEUE } from './attacks.js';
import type { HostileOptions } from './options.js';
import {
  measureShares,
  SHARES,
  type Share,
  type Shares,
  type Subject,
  subjectOf,
} from './shares.js';
import { type Loop, loopsOfClients } from './thread-places.js';

const PROGRAM = fileURLToPath(new URL('./attack-program.js', import.meta.url));
const SECONDS = 4;
const PREPARED_SECONDS_MAX = 60;
/** The node has nothing to do after so long. */
const IDLE_MS = 500;
const PUSHES_PER_SECOND = 1000;
const LANES = 64;
/** Seconds of pushes behind each connection that is opened. */
const OPENING_SECONDS = 0.004;
const LARGE_BYTES = 65_536;
/** A timer of the node that measures the lag, by what is between two of its rounds. */
const LAG_TIMER_MS = 20;
/** Times the p99 of the same round in peace. */
const RATIO_MAX = 1.5;

/** A connection of the honest client. */
interface Lane {
  connection: HttpConnection | null;
  /** When its push was due. */
  dueMs: number;
}

/** Pushes in an open loop. One that finds no lane free waits for one, and its time runs. */
class HonestPushes {
  readonly address: Address;
  readonly #pid: number;
  readonly #lanes: Lane[] = [];
  readonly #free: Lane[] = [];
  readonly #due: number[] = [];
  readonly #request = push([item('honest', 'p', payloadOf(256))]);
  #times: number[] = [];
  #failure: string | null = null;

  constructor(address: Address, pid: number) {
    this.address = address;
    this.#pid = pid;
  }

  /** All on one loop of the node. Returns it, and one on which there may be attackers. */
  async open(): Promise<{ readonly own: Loop | null; readonly other: Loop | null }> {
    const { port } = this.address;
    const others = new Set<Loop>();
    let own: Loop | null = null;
    while (this.#lanes.length < LANES) {
      const lane: Lane = { connection: null, dueMs: 0 };
      const connection = await HttpConnection.open(this.address, {
        onAnswer: (status) => this.#answered(lane, status),
        onClosed: ({ message }) => this.#fail(message),
      });
      lane.connection = connection;
      let loop: Loop | undefined;
      for (; loop === undefined; await sleep(5)) {
        loop = loopsOfClients(this.#pid, port).get(connection.localPort);
      }
      own ??= loop;
      if (loop === own) {
        this.#lanes.push(lane);
        this.#free.push(lane);
      } else {
        others.add(loop);
        connection.destroy();
      }
      // Each lane in its turn: the node closes those that are idle.
      await this.run(OPENING_SECONDS);
    }
    const [other = null] = others;
    return { own, other };
  }

  /** For so long, or until `isOver`. Returns the milliseconds of each push, ascending. */
  async run(seconds: number, isOver = () => false): Promise<readonly number[]> {
    this.#times = [];
    const startMs = performance.now();
    const count = seconds * PUSHES_PER_SECOND;
    let sent = 0;
    for (; sent < count && !isOver(); await sleep(1)) {
      const dueNow = ((performance.now() - startMs) * PUSHES_PER_SECOND) / 1000;
      for (; sent < Math.min(dueNow, count); sent++) {
        this.#due.push(startMs + (sent * 1000) / PUSHES_PER_SECOND);
      }
      this.#send();
    }
    while (this.#times.length < sent && this.#failure === null) await sleep(5);
    if (this.#failure !== null) throw new Error(`the honest client: ${this.#failure}`);
    return this.#times.sort((one, other) => one - other);
  }

  close(): void {
    for (const { connection } of this.#lanes) connection?.destroy();
  }

  #send(): void {
    for (let lane = this.#free[0]; lane !== undefined; lane = this.#free[0]) {
      const dueMs = this.#due.shift();
      if (dueMs === undefined) return;
      this.#free.shift();
      lane.dueMs = dueMs;
      lane.connection?.send(this.#request);
    }
  }

  #answered(lane: Lane, status: number): void {
    if (status !== 201) this.#fail(`a push was answered ${status}`);
    this.#times.push(performance.now() - lane.dueMs);
    this.#free.push(lane);
    this.#send();
  }

  #fail(text: string): void {
    this.#failure ??= text;
  }
}

/** Some seconds of pushes. */
interface Window {
  readonly p99Ms: number;
  /** The longest time between two turns of the core's loop, whoever had the processors. */
  readonly longestMs: number;
  readonly shares: Shares;
}

async function measured(
  honest: HonestPushes,
  subject: Subject,
  attacker: number | null,
): Promise<Window> {
  await longestTurn(honest.address);
  const sharesNow = measureShares(subject, attacker);
  const times = await honest.run(SECONDS);
  const shares = sharesNow();
  const longestMs = await longestTurn(honest.address);
  return { p99Ms: percentile(times, 0.99), longestMs, shares };
}

/** Milliseconds since the last call, by the node's figures, which begin anew with each scrape. */
async function longestTurn(address: Address): Promise<number> {
  const exchange = new HttpExchange(address);
  const { body } = await exchange.request('GET', '/metrics/prometheus');
  exchange.close();
  const [, seconds] = /^nodejs_eventloop_lag_max_seconds ([0-9.e+-]+)$/m.exec(String(body)) ?? [];
  if (seconds === undefined) throw new Error('the node does not tell the lag of its loop');
  return Math.max(0, Number(seconds) * 1000 - LAG_TIMER_MS);
}

/** Pushes go on while the attack is prepared: nodes end idle connections. */
async function attacked(
  child: ChildProcess,
  order: HostileOrder,
  honest: HonestPushes,
  subject: Subject,
): Promise<Window> {
  const said = new Set<unknown>();
  child.on('message', (word) => said.add(word));
  child.once('exit', () => said.add('begun').add('over'));
  child.send(order);
  await honest.run(PREPARED_SECONDS_MAX, () => said.has('begun'));
  const window = await measured(honest, subject, child.pid ?? null);
  if (!said.has('begun') || child.exitCode !== null) throw new Error(`${order.attack} has failed`);
  await honest.run(PREPARED_SECONDS_MAX, () => said.has('over'));
  child.kill('SIGKILL');
  return window;
}

async function fill(address: Address): Promise<void> {
  const exchange = new HttpExchange(address);
  const items = Array.from({ length: 20 }, () => item(LARGE_QUEUE, 'p', payloadOf(LARGE_BYTES)));
  for (let filled = 0; filled < LARGE_MESSAGES; filled += items.length) {
    await exchange.request('POST', '/api/v1/push', pushText(items));
  }
  exchange.close();
}

async function startNode(
  scratch: Scratch,
  threads: number,
  entry: string | undefined,
): Promise<NodeProcess> {
  const directory = scratch.directory('hostile');
  const node = new NodeProcess({
    entry: nodeEntry(entry),
    port: await freePort(),
    dataDirectory: directory,
    logFile: join(directory, 'node.log'),
    runtimeArguments: [],
    environment: { SVC_HTTP_THREADS: `${threads}` },
  });
  await node.start();
  return node;
}

/** By attack: each round, in the seconds before it and under it. */
type Runs = Map<string, { readonly peace: Window[]; readonly attacked: Window[] }>;

async function measure(scratch: Scratch, threads: number, options: HostileOptions): Promise<Runs> {
  const node = await startNode(scratch, threads, options.entry);
  try {
    return await measureNode(scratch, node, threads, options);
  } finally {
    await node.kill();
  }
}

async function measureNode(
  scratch: Scratch,
  { address, pid }: NodeProcess,
  threads: number,
  { attacks, rounds }: HostileOptions,
): Promise<Runs> {
  await fill(address);
  const honest = new HonestPushes(address, pid);
  const { own, other: loop } = await honest.open();
  if (threads > 1 && loop === null) throw new Error('all connections came to one thread');
  await sleep(IDLE_MS);
  const subject = await subjectOf(pid, own, loop);
  await honest.run(SECONDS);
  const runs: Runs = new Map();
  for (let round = 0; round < rounds; round++) {
    for (const attack of attacks) {
      process.stderr.write(`${threads} threads, round ${round + 1}: ${attack}\n`);
      const row = runs.get(attack) ?? { peace: [], attacked: [] };
      runs.set(attack, row);
      row.peace.push(await measured(honest, subject, null));
      const child = fork(PROGRAM, [], { execArgv: [], stdio: ['ignore', 2, 2, 'ipc'] });
      scratch.adopt(child);
      const order = { attack, address, pid, loop, seconds: SECONDS + 1 };
      row.attacked.push(await attacked(child, order, honest, subject));
    }
  }
  honest.close();
  return runs;
}

function figuresOf(threads: number, runs: Runs): Figure[] {
  return [...runs].flatMap(([attack, { peace, attacked }]) => {
    const name = (what: string) => `${threads} threads, ${attack}: ${what}`;
    const beside = (what: string, unit: string, of: (window: Window) => number) =>
      figure(name(what), unit, attacked.map(of), `in peace ${formatNumber(median(peace.map(of)))}`);
    const ratios = attacked.map(({ p99Ms }, at) => p99Ms / (peace[at]?.p99Ms ?? Number.NaN));
    return [
      beside('p99', 'ms', ({ p99Ms }) => p99Ms),
      figure(name('ratio of p99'), '', ratios, '', threads === 0 ? null : atMost(RATIO_MAX)),
      beside('longest turn of the core', 'ms', ({ longestMs }) => longestMs),
      ...sharesOf(threads).flatMap((share) => [
        beside(`${share} runs`, 'us a push', ({ shares }) => usOfPush(shares[share].ranMs)),
        beside(`${share} waits`, 'us a push', ({ shares }) => usOfPush(shares[share].waitedMs)),
      ]),
    ];
  });
}

function sharesOf(threads: number): readonly Share[] {
  return threads === 0 ? SHARES.filter((share) => !share.endsWith('front')) : SHARES;
}

/** The part of one push, in microseconds, of the time that all pushes of a window took. */
function usOfPush(ms: number): number {
  return (ms * 1000) / (SECONDS * PUSHES_PER_SECOND);
}

export async function runHostile(options: HostileOptions): Promise<void> {
  const startedAt = new Date();
  const scratch = new Scratch();
  scratch.endOnSignals();
  try {
    const measured: Figure[] = [];
    for (const threads of options.httpThreads) {
      measured.push(...figuresOf(threads, await measure(scratch, threads, options)));
    }
    const table = renderFigures(measured);
    report({ kind: 'hostile', options, startedAt, measured, table });
  } finally {
    scratch.close();
  }
}
