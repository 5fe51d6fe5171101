/**
 * Faults of a running cluster, each from its beginning to the moment when everything
 * that it took away is back. It does not wait for the cluster to have recovered from it; whoever
 * runs a load sees when it has.
 *
 * Every function leaves the cluster as it found it: the same members, all running, the network
 * whole, the disks fast and with space.
 */
import { CRASH_POINTS, type CrashPoint } from '@svc/broker';
import { sleep } from '../process/node-under-test.js';
import type { SeededRandom } from '../seeded-random.js';
import type { Cluster } from './cluster.js';
import type { ClusterNode } from './cluster-node.js';
import type { Membership } from './membership.js';
import { CUT, type Link, STALLED } from './peer-proxy.js';

export interface FaultContext {
  readonly cluster: Cluster;
  readonly membership: Membership;
  readonly random: SeededRandom;
  /** Says what is being done, for whoever reads the run. */
  readonly note: (text: string) => void;
}

export type Fault = (context: FaultContext) => Promise<void>;

/** Longer than an election timeout at its longest; some of the pauses below are shorter. */
const LONG_MS = 3000;
const CRASH_MS_MAX = 8000;
/** Passes of a crash point before the one that kills. */
const PASSES_MAX = 60;

/** By name; the text says what it is, for tables and manuals. */
export const FAULTS = {
  'kill-leader': fault('SIGKILL of the leader, started again', (context) =>
    kill(context, pickLeader),
  ),
  'kill-follower': fault(
    'SIGKILL of a follower, started again, sometimes killed as it boots',
    (c) => kill(c, pickFollower),
  ),
  'kill-all': fault('SIGKILL of every node at once', killAll),
  'crash-point': fault('a node that kills itself at a named place of the code', crashAtPoint),
  'pause-leader': fault('SIGSTOP of the leader, then SIGCONT', (c) => pause(c, pickLeader)),
  'pause-follower': fault('SIGSTOP of a follower, then SIGCONT', (c) => pause(c, pickFollower)),
  'pause-majority': fault('SIGSTOP of more than half, then SIGCONT', pauseMajority),
  'stop-leader': fault('SIGTERM of the leader, started again', (c) => stop(c, pickLeader)),
  rolling: fault('SIGTERM and start of one node after the other', rolling),
  'stop-all': fault('SIGTERM of every node at once', stopAll),
  'cut-leader': fault('the leader reaches nobody', (c) => isolate(c, pickLeader)),
  'cut-follower': fault('a follower reaches nobody', (c) => isolate(c, pickFollower)),
  'cut-all': fault('nobody reaches anybody', cutAll),
  'deaf-leader': fault('the leader sends and hears nothing', (c) => oneWay(c, pickLeader, 'deaf')),
  'mute-leader': fault('the leader hears and nothing it sends arrives', (c) =>
    oneWay(c, pickLeader, 'mute'),
  ),
  'deaf-follower': fault('a follower sends and hears nothing', (c) =>
    oneWay(c, pickFollower, 'deaf'),
  ),
  'mute-follower': fault('a follower hears and nothing it sends arrives', (c) =>
    oneWay(c, pickFollower, 'mute'),
  ),
  bridge: fault('the leader and a follower do not reach each other, but all others', bridge),
  'slow-network': fault('every message between nodes late, on one link also few', slowNetwork),
  'slow-disk': fault('every sync of one node takes longer', (c) => slowDisk(c, 20, 300)),
  'hung-disk': fault('syncs of the leader take seconds', hungDisk),
  'full-disk': fault('no space left on the volume of a node', fullDisk),
  grow: fault('a node joins, votes and is removed again', grow),
  replace: fault('a voter is removed, loses its directory and comes back as a new one', replace),
} as const satisfies Readonly<Record<string, FaultRow>>;

export type FaultName = keyof typeof FAULTS;

export interface FaultRow {
  readonly what: string;
  readonly run: Fault;
}

function fault(what: string, run: Fault): FaultRow {
  return { what, run };
}

type Pick = (context: FaultContext) => Promise<ClusterNode>;

export const pickLeader: Pick = ({ cluster }) => cluster.waitForLeader();

export const pickFollower: Pick = async ({ cluster, random }) =>
  random.pick(await cluster.followers());

const pickAny: Pick = async ({ cluster, random }) => random.pick(cluster.running);

async function kill(context: FaultContext, pick: Pick): Promise<void> {
  const { random, note } = context;
  const node = await pick(context);
  note(`SIGKILL of node ${node.number}`);
  await node.kill();
  await sleep(random.between(0, LONG_MS));
  node.start();
  if (!random.chance(0.3)) return;
  await sleep(random.between(0, 600));
  await node.kill();
  node.start();
}

async function killAll({ cluster, random, note }: FaultContext): Promise<void> {
  const nodes = random.shuffled(cluster.running);
  note(`SIGKILL of nodes ${numbersOf(nodes)}`);
  await Promise.all(
    nodes.map(async (node) => {
      await sleep(random.between(0, 50));
      await node.kill();
    }),
  );
  for (const node of nodes) {
    await sleep(random.between(0, 300));
    node.start();
  }
}

async function crashAtPoint(context: FaultContext): Promise<void> {
  const { random, note } = context;
  const node = await pickAny(context);
  const point = random.pick(Object.keys(CRASH_POINTS) as CrashPoint[]);
  const passes = random.between(1, PASSES_MAX);
  await node.stop();
  note(`node ${node.number} dies at ${point}:${passes}`);
  const life = node.start({ SVC_CRASH_AT: `${point}:${passes}` });
  const untilMs = performance.now() + CRASH_MS_MAX;
  if (point.startsWith('stop')) {
    await sleep(random.between(500, 1500));
    life.send('SIGTERM');
  }
  while (life.exit === null && performance.now() < untilMs) await sleep(20);
  await node.kill();
  node.start();
}

async function pause(context: FaultContext, pick: Pick): Promise<void> {
  const { random, note } = context;
  const node = await pick(context);
  const ms = random.between(100, LONG_MS);
  note(`node ${node.number} stands still for ${ms} ms`);
  node.pause();
  await sleep(ms);
  node.resume();
}

async function pauseMajority({ cluster, random, note }: FaultContext): Promise<void> {
  const count = Math.floor(cluster.running.length / 2) + 1;
  const nodes = random.shuffled(cluster.running).slice(0, count);
  const ms = random.between(100, LONG_MS);
  note(`nodes ${numbersOf(nodes)} stand still for ${ms} ms`);
  for (const node of nodes) node.pause();
  await sleep(ms);
  for (const node of nodes) node.resume();
}

async function stop(context: FaultContext, pick: Pick): Promise<void> {
  const { random, note } = context;
  const node = await pick(context);
  note(`SIGTERM of node ${node.number}`);
  await stopCleanly(node);
  await sleep(random.between(0, 500));
  node.start();
}

async function rolling({ cluster, random, note }: FaultContext): Promise<void> {
  for (const node of random.shuffled(cluster.running)) {
    note(`SIGTERM of node ${node.number}`);
    await stopCleanly(node);
    node.start();
    await cluster.ready();
  }
}

async function stopAll({ cluster, note }: FaultContext): Promise<void> {
  const nodes = cluster.running;
  note('SIGTERM of all nodes');
  await Promise.all(nodes.map(stopCleanly));
  for (const node of nodes) node.start();
}

async function stopCleanly(node: ClusterNode): Promise<void> {
  const exit = await node.stop();
  if (exit.code !== 0) {
    throw new Error(`node ${node.number} ended by SIGTERM with ${JSON.stringify(exit)}`);
  }
}

async function isolate(context: FaultContext, pick: Pick): Promise<void> {
  const { number } = await pick(context);
  await hold(context, `node ${number} is alone`, (link) =>
    context.cluster.network.isolate(number, link),
  );
}

async function cutAll(context: FaultContext): Promise<void> {
  const { network } = context.cluster;
  await hold(context, 'every node is alone', (link) =>
    network.between(network.nodes, network.nodes, link),
  );
}

async function oneWay(context: FaultContext, pick: Pick, which: 'deaf' | 'mute'): Promise<void> {
  const { network } = context.cluster;
  const { number } = await pick(context);
  await hold(context, `node ${number} is ${which}`, (link) => {
    if (which === 'deaf') network.deafen(number, link);
    else network.mute(number, link);
  });
}

async function bridge(context: FaultContext): Promise<void> {
  const { network } = context.cluster;
  const { number } = await pickLeader(context);
  const other = context.random.pick(network.nodes.filter((node) => node !== number));
  await hold(context, `nodes ${number} and ${other} reach only others`, (link) =>
    network.between([number], [other], link),
  );
}

/** Connections end in half of the cases and hang in the others. */
async function hold(
  { cluster, random, note }: FaultContext,
  what: string,
  apply: (link: Link) => void,
): Promise<void> {
  const link = random.chance(0.5) ? CUT : STALLED;
  const ms = random.between(200, 2 * LONG_MS);
  note(`${what} (${link.kind}) for ${ms} ms`);
  apply(link);
  await sleep(ms);
  cluster.network.heal();
}

async function slowNetwork({ cluster, random, note }: FaultContext): Promise<void> {
  const { network } = cluster;
  const delayMs = random.between(5, 60);
  const ms = random.between(1000, 2 * LONG_MS);
  network.between(network.nodes, network.nodes, { kind: 'slow', delayMs, bytesPerSecond: null });
  const [from = 0, to = 0] = random.shuffled(network.nodes);
  network.set(from, to, { kind: 'slow', delayMs, bytesPerSecond: 200_000 });
  note(`${delayMs} ms late for ${ms} ms, few bytes from ${from} to ${to}`);
  await sleep(ms);
  network.heal();
}

async function slowDisk(context: FaultContext, leastMs: number, mostMs: number): Promise<void> {
  const { random, note } = context;
  const node = await pickAny(context);
  const delayMs = random.between(leastMs, mostMs);
  const ms = random.between(1000, 2 * LONG_MS);
  note(`every sync of node ${node.number} takes ${delayMs} ms longer for ${ms} ms`);
  node.slowDisk(delayMs);
  await sleep(ms);
  node.slowDisk(0);
}

async function hungDisk(context: FaultContext): Promise<void> {
  const { random, note } = context;
  const node = await pickLeader(context);
  const delayMs = random.between(2000, 6000);
  note(`syncs of node ${node.number} take ${delayMs} ms`);
  node.slowDisk(delayMs);
  await sleep(delayMs + 1000);
  node.slowDisk(0);
}

/** A node that could not write any more stays as it is until it is started again. */
async function fullDisk(context: FaultContext): Promise<void> {
  const { cluster, random, note } = context;
  const withVolume = cluster.running.filter(({ settings }) => settings.volume !== null);
  const node = random.pick(withVolume);
  const { volume } = node.settings;
  if (volume === null) return;
  const leave = random.chance(0.5) ? 0 : random.between(1, 8) << 20;
  const ms = random.between(1000, 2 * LONG_MS);
  note(`${leave} bytes are left on the volume of node ${node.number} for ${ms} ms`);
  volume.fill(leave);
  await sleep(ms);
  volume.free();
  const status = await node.status();
  if (status !== null && status.state !== 'shutdown') return;
  note(`node ${node.number} had stopped writing`);
  await node.kill();
  node.start();
}

async function grow({ cluster, membership, note }: FaultContext): Promise<void> {
  const number = Math.max(...cluster.nodes.map((node) => node.number)) + 1;
  const voters = cluster.nodes.map((node) => node.number);
  await cluster.addMachine(number, voters);
  note(`node ${number} joins`);
  await membership.join(number);
  note(`node ${number} leaves`);
  await membership.remove(number);
  await cluster.removeMachine(number);
}

async function replace(context: FaultContext): Promise<void> {
  const { membership, note, cluster } = context;
  const node = await pickAny(context);
  note(`node ${node.number} is replaced`);
  await node.kill();
  await membership.remove(node.number);
  node.wipe();
  await membership.join(node.number);
  await cluster.ready();
}

function numbersOf(nodes: readonly ClusterNode[]): string {
  return nodes.map(({ number }) => number).join(', ');
}
