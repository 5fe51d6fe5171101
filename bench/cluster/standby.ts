// A standby that follows a cluster on the same machine: what it costs its source, how far it is
// behind, how fast it takes over, and how fast another one is seeded.

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LinkAnswer } from '@svc/wire';
import { pushRequests } from '../load/push-requests.js';
import { type Contestant, sideBySide } from '../load/side-by-side.js';
import { type Figure, figure } from '../report/figure.js';
import { percentile } from '../report/percentiles.js';
import { HttpExchange } from '../rig/http-exchange.js';
import { type GroupNode, NodeGroup } from '../rig/node-group.js';
import { processorSeconds } from '../rig/processor-time.js';
import type { ClusterRun } from './cluster-run.js';

const BATCH = 100;
const PAYLOAD_BYTES = 4096;
const PUSHERS = 8;
const TOKEN = 'bench-link';
const MB = 1e6;
const MIB = 1024 * 1024;
/** Single pushes, each awaited until the standby shows it. */
const RESTING_PUSHES = 50;
const CAUGHT_UP_MS_MAX = 120_000;
const ANSWER_MS_MAX = 30_000;

export async function measureStandby(run: ClusterRun): Promise<readonly Figure[]> {
  const { nodes, entry } = run.options;
  const open = { SVC_LINK_TOKEN: TOKEN };
  const groups: NodeGroup[] = [];
  const start = async (size: number, environment: Readonly<Record<string, string>>) => {
    const group = await NodeGroup.start(run.scratch, size, entry, { environment });
    groups.push(group);
    return group;
  };
  try {
    const source = await start(nodes, open);
    const ratio = await withoutReader(run, source, await start(nodes, {}));
    await groups.pop()?.end();
    const alone = await load(run, source, []);
    const from = source.nodes.map(({ raftAddress }) => raftAddress).join(',');
    const following = { SVC_LINK_SOURCE: from, SVC_LINK_SOURCE_TOKEN: TOKEN };
    const standby = await start(nodes, { ...following, SVC_LINK_STANDBY: 'true' });
    await caughtUp(run, standby);
    const beside = await load(run, source, standby.nodes);
    const behindMs = await caughtUp(run, standby);
    const restingMs = await resting(source, standby);
    const seed = await seeding(run, source, () =>
      start(1, { ...following, SVC_LINK_SEED: '1', LOG_LEVEL: 'info' }),
    );
    const promotedMs = await promote(standby);
    return [ratio, ...costs(alone, beside, behindMs), restingMs, seed, promotedMs];
  } finally {
    for (const group of groups) await group.end();
  }
}

function pushes(name: string, group: NodeGroup, leader: GroupNode): Contestant {
  const target = {
    protocol: 'http',
    ports: [leader.process.plan.port],
    queue: 'stored',
    kind: '',
    work: 'publish',
    items: pushRequests('stored', PUSHERS, BATCH, PAYLOAD_BYTES),
    connections: PUSHERS,
    batch: BATCH,
  } as const;
  return { name, loadOf: () => target, pids: group.nodes.map(({ process }) => process.pid) };
}

/** The rate of a cluster that may be followed, and is not, divided by that of one that may not. */
async function withoutReader(run: ClusterRun, open: NodeGroup, shut: NodeGroup): Promise<Figure> {
  const contestants = [
    pushes('may be followed', open, await open.leader()),
    pushes('may not', shut, await shut.leader()),
  ];
  const plan = { rounds: run.options.rounds, seconds: 3, warmUpSeconds: 2 };
  const [first, second] = await sideBySide(run.program, contestants, plan);
  const rates = (first?.rounds ?? []).map((round, i) => {
    return round.messagesPerSecond / (second?.rounds[i]?.messagesPerSecond ?? Number.NaN);
  });
  return figure('no reader', 'x', rates, 'rate with SVC_LINK_TOKEN to without');
}

interface LoadResult {
  readonly mbPerSecond: number;
  readonly sourceSeconds: number;
  readonly standbySeconds: number;
  readonly mb: number;
}

async function load(
  run: ClusterRun,
  source: NodeGroup,
  others: readonly GroupNode[],
): Promise<LoadResult> {
  const contestant = pushes('source', source, await source.leader());
  const running = await run.program.open(contestant.loadOf(0));
  const standby = others.map(({ process }) => process.pid);
  const before = [processorSeconds(contestant.pids), processorSeconds(standby)] as const;
  const { seconds } = run.options;
  const { whole } = await running.turn({ warmUpSeconds: 0, seconds });
  const after = [processorSeconds(contestant.pids), processorSeconds(standby)] as const;
  await running.close();
  const mb = (whole.messages * PAYLOAD_BYTES) / MB;
  run.say(`${(mb / seconds).toFixed(1)} MB/s beside ${others.length} nodes of a standby`);
  return {
    mb,
    mbPerSecond: mb / seconds,
    sourceSeconds: after[0] - before[0],
    standbySeconds: after[1] - before[1],
  };
}

function costs(alone: LoadResult, beside: LoadResult, behindMs: number): readonly Figure[] {
  const perMb = (seconds: number, mb: number) => [(seconds * 1000) / mb];
  const share = beside.standbySeconds / (beside.standbySeconds + beside.sourceSeconds);
  return [
    figure('source alone', 'MB/s', [alone.mbPerSecond], 'pushes of 100 of 4 KiB'),
    figure('source followed', 'MB/s', [beside.mbPerSecond], 'the same, with the standby'),
    figure('standby behind', 'ms', [behindMs], 'from the end of that load until it lacked nothing'),
    figure('source alone', 'ms/MB', perMb(alone.sourceSeconds, alone.mb), 'processor'),
    figure('source followed', 'ms/MB', perMb(beside.sourceSeconds, beside.mb), 'processor'),
    figure('standby', 'ms/MB', perMb(beside.standbySeconds, beside.mb), 'processor'),
    figure('share of the standby', '%', [share * 100], 'of the processor time of both'),
  ];
}

async function resting(source: NodeGroup, standby: NodeGroup): Promise<Figure> {
  const leader = await source.leader();
  const shown = await standby.leader();
  const exchange = new HttpExchange(leader.process.address);
  const times: number[] = [];
  for (let i = 0; i < RESTING_PUSHES; i += 1) {
    const { index } = (await linkOf(shown)).position ?? { index: 0 };
    const body = JSON.stringify({ items: [{ queue: 'resting', payload: i }] });
    await exchange.request('POST', '/api/v1/push', body, ANSWER_MS_MAX);
    const pushedMs = performance.now();
    while (((await linkOf(shown)).position?.index ?? 0) <= index);
    times.push(performance.now() - pushedMs);
    await sleep(20);
  }
  exchange.close();
  const sorted = times.sort((one, other) => one - other);
  const middle = [percentile(sorted, 0.5)];
  const p90 = percentile(sorted, 0.9).toFixed(1);
  const note = `from the answer to a push until the standby has it; p90 ${p90}`;
  return figure('lag at rest', 'ms', middle, note);
}

async function seeding(
  run: ClusterRun,
  source: NodeGroup,
  start: () => Promise<NodeGroup>,
): Promise<Figure> {
  const leader = await source.leader();
  const running = await run.program.open(pushes('source', source, leader).loadOf(0));
  let stored = await bytesOf(leader);
  while (stored < run.options.storedMib * MIB) {
    await running.turn({ warmUpSeconds: 0, seconds: 1 });
    stored = await bytesOf(leader);
    run.say(`${(stored / MIB).toFixed(0)} MiB stored`);
  }
  await running.close();
  const group = await start();
  const [node] = group.nodes;
  if (node === undefined) throw new Error('no node');
  const ms = seedMs(readFileSync(node.process.plan.logFile, 'utf8'));
  const note = `${(stored / MIB).toFixed(0)} MiB of messages in ${(ms / 1000).toFixed(1)} s`;
  return figure('seed', 'MB/s', [stored / MB / (ms / 1000)], note);
}

/** By the lines with which it begins and ends. */
function seedMs(log: string): number {
  const at = (text: string) => {
    const line = log.split('\n').find((one) => one.includes(text));
    return Date.parse(line?.slice(0, line.indexOf(' ')) ?? '');
  };
  return at('is the first of standby') - at('takes its first state from');
}

async function promote(standby: NodeGroup): Promise<Figure> {
  const [node = await standby.leader()] = await standby.followers();
  const exchange = new HttpExchange(node.process.address);
  const beganMs = performance.now();
  const path = '/api/v1/system/link/promote';
  const { status } = await exchange.request('POST', path, '', ANSWER_MS_MAX);
  const tookMs = performance.now() - beganMs;
  exchange.close();
  if (status !== 200) throw new Error(`the promotion was answered ${status}`);
  return figure('promotion', 'ms', [tookMs], 'of an idle standby, asked at a follower');
}

async function bytesOf(node: GroupNode): Promise<number> {
  const queues = await ask(node, '/api/v1/resources/queues');
  const list = (queues as { readonly queues: readonly { readonly retainedBytes: number }[] })
    .queues;
  return list.reduce((sum, { retainedBytes }) => sum + retainedBytes, 0);
}

async function linkOf(node: GroupNode): Promise<LinkAnswer> {
  return (await ask(node, '/api/v1/system/link')) as LinkAnswer;
}

async function ask(node: GroupNode, path: string): Promise<unknown> {
  const exchange = new HttpExchange(node.process.address);
  const { body } = await exchange.request('GET', path, undefined, ANSWER_MS_MAX);
  exchange.close();
  return JSON.parse(body.toString('utf8'));
}

/** Waits until the standby has all that its source has applied; how long that took. */
async function caughtUp(run: ClusterRun, standby: NodeGroup): Promise<number> {
  const beganMs = performance.now();
  for (;;) {
    const { follower } = await linkOf(await standby.leader());
    const tookMs = performance.now() - beganMs;
    if (follower?.state === 'following' && follower.lagEntries === 0) {
      run.say(`the standby has everything after ${tookMs.toFixed(0)} ms`);
      return tookMs;
    }
    if (tookMs > CAUGHT_UP_MS_MAX) throw new Error(`not caught up: ${JSON.stringify(follower)}`);
    await sleep(10);
  }
}
