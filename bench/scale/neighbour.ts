// A noisy neighbour: a queue with a steady load, in turn alone and beside another queue of which
// five hundred messages a second become dead letters, one by one.

import { Worker } from 'node:worker_threads';
import { HttpExchange } from '../http-exchange.js';
import { type Figure, figure } from '../load/figure.js';
import { partitionName, payloadTexts, pushBody } from '../load/push-requests.js';
import type { NodeProcess } from '../node-process.js';
import { Rounds, unitOf } from './rounds.js';
import type { Scale } from './scale.js';
import { ScaleNode } from './scale-node.js';
import { measureSteady, type SteadyResult } from './steady-queue.js';
import type { StormPlan } from './storm.js';

const ROUNDS = 5;
const CONSUMERS = 16;
const PUSHES_PER_SECOND = 1000;
const LETTERS_PER_SECOND = 500;
/** It is under way before the steady load begins, and still when that ends. */
const STORM_MORE_SECONDS = 3;
const STORM_PARTITIONS = 64;
const FILL_BATCH = 50;

export async function measureNeighbour(scale: Scale): Promise<readonly Figure[]> {
  const { entry, seconds } = scale.options;
  const { process: node } = await ScaleNode.start(scale.scratch, entry);
  const rounds = new Rounds();
  let queues = 0;
  const steady = () => {
    queues += 1;
    const queue = `steady-${queues}`;
    const load = { consumers: CONSUMERS, pushesPerSecond: PUSHES_PER_SECOND, seconds };
    return measureSteady(node, { queue, ...load });
  };
  await steady();
  for (let round = 0; round < ROUNDS; round += 1) {
    const stormSeconds = seconds + STORM_MORE_SECONDS;
    // Twice as many as it makes letters of: whichever partitions it empties, there are others.
    await fillStorm(node, 2 * stormSeconds * LETTERS_PER_SECOND);
    add(scale, rounds, 'alone', await steady());
    const plan = { address: node.address, queue: 'storm', perSecond: LETTERS_PER_SECOND };
    const storm = letters({ ...plan, seconds: stormSeconds });
    const [beside, made] = await Promise.all([steady(), storm]);
    add(scale, rounds, 'beside a storm', beside);
    rounds.add('dead letters/s of the storm', made / stormSeconds);
  }
  await node.kill();
  const note = `${PUSHES_PER_SECOND} single pushes/s, ${CONSUMERS} consumers, in turn`;
  const raised = (what: string) =>
    figure(
      `${what} beside a storm to alone`,
      'ratio',
      rounds.ratios(`${what} beside a storm`, `${what} alone`),
      `${LETTERS_PER_SECOND} dead letters/s in another queue`,
    );
  return [
    ...rounds.figures((name) => (name.startsWith('dead') ? '' : unitOf(name)), note),
    ...['push p50', 'push p99', 'delivery p50', 'delivery p99'].map(raised),
  ];
}

function add(scale: Scale, rounds: Rounds, when: string, { push, delivery }: SteadyResult): void {
  rounds.add(`push p50 ${when}`, push.p50Ms);
  rounds.add(`push p99 ${when}`, push.p99Ms);
  rounds.add(`delivery p50 ${when}`, delivery.p50Ms);
  rounds.add(`delivery p99 ${when}`, delivery.p99Ms);
  scale.say(
    `${when}: push p50 ${push.p50Ms.toFixed(2)}, p99 ${push.p99Ms.toFixed(2)} ms; ` +
      `delivery p50 ${delivery.p50Ms.toFixed(2)}, p99 ${delivery.p99Ms.toFixed(2)} ms`,
  );
}

async function fillStorm(node: NodeProcess, messages: number): Promise<void> {
  const exchange = new HttpExchange(node.address);
  const payloads = payloadTexts(FILL_BATCH, 256);
  for (let stored = 0; stored < messages; stored += FILL_BATCH) {
    const partition = partitionName((stored / FILL_BATCH) % STORM_PARTITIONS);
    const body = pushBody('storm', partition, payloads);
    const { status } = await exchange.request('POST', '/api/v1/push', body);
    if (status !== 201) throw new Error(`a push was answered ${status}`);
  }
  exchange.close();
}

function letters(plan: StormPlan): Promise<number> {
  const worker = new Worker(new URL('./storm.js', import.meta.url), { workerData: plan });
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}
