// One queue with very many partitions: what a push, a pop and its depth cost, against a queue with
// a thousand, and the memory of a partition that nothing happens to.

import { setTimeout as sleep } from 'node:timers/promises';
import { type Figure, figure } from '../load/figure.js';
import { payloadTexts } from '../load/push-requests.js';
import type { Scale } from './scale.js';
import { type Ask, ScaleNode, type Worked } from './scale-node.js';

const FEW = 1000;
/** Of one push while a queue is filled. */
const FILL_BATCH = 1000;
const ROUNDS = 3;
const PAYLOADS = payloadTexts(64, 256);
/** Checkpoints and collections of garbage find their rest. */
const SETTLE_MS = 10_000;

interface Cost {
  readonly pushes: Worked;
  readonly pops: Worked;
  readonly depths: number;
}

interface Costs {
  readonly pushes: number[];
  readonly pops: number[];
  /** Processor time of the node, which does not wait for the clients. */
  readonly pushUs: number[];
  readonly popUs: number[];
  /** Milliseconds for a thousand partitions. */
  readonly depths: number[];
}

export async function measurePartitions(scale: Scale): Promise<readonly Figure[]> {
  const { partitions } = scale.options;
  const node = await ScaleNode.start(scale.scratch, scale.options.entry);
  await fill(node, 'few', FEW);
  // Code that has not run often is several times slower.
  await costs(scale, node, 'few', FEW);
  await sleep(SETTLE_MS);
  const before = node.anonymousBytes();
  const beganMs = performance.now();
  await fill(node, 'many', partitions);
  scale.say(`${partitions} partitions in ${((performance.now() - beganMs) / 1000).toFixed(0)} s`);
  const filledBytes = (node.anonymousBytes() - before) / partitions;
  // What the process has not collected yet of a million pushes is no memory of partitions.
  const restartMs = await restarted(node);
  await costs(scale, node, 'few', FEW);
  await sleep(SETTLE_MS);
  const idleBytes = (node.anonymousBytes() - before) / partitions;
  const few: Costs = { pushes: [], pops: [], pushUs: [], popUs: [], depths: [] };
  const many: Costs = { pushes: [], pops: [], pushUs: [], popUs: [], depths: [] };
  const firstMs = await firstPop(node);
  for (let round = 0; round < ROUNDS; round += 1) {
    add(few, await costs(scale, node, 'few', FEW));
    add(many, await costs(scale, node, 'many', partitions));
  }
  await node.process.kill();
  const ratios = (name: keyof Costs) => many[name].map((value, i) => value / (few[name][i] ?? 1));
  const note = `${partitions} partitions against ${FEW}, in turn`;
  return [
    figure(
      'memory of an idle partition',
      'bytes',
      [idleBytes],
      'after a start, under load elsewhere',
    ),
    figure('memory right behind the fill', 'bytes', [filledBytes], 'for each partition'),
    figure('pushes/s, few', '', few.pushes, 'single pushes, any partition'),
    figure('pushes/s, many', '', many.pushes, 'single pushes, any partition'),
    figure('push: cost, many to few', 'ratio', ratios('pushes').map(inverse), note),
    figure('push: processor time, many to few', 'ratio', ratios('pushUs'), note),
    figure('pops/s, few', '', few.pops, 'one message each'),
    figure('pops/s, many', '', many.pops, 'one message each'),
    figure('pop: cost, many to few', 'ratio', ratios('pops').map(inverse), note),
    figure('pop: processor time, many to few', 'ratio', ratios('popUs'), note),
    figure('depth, few', 'ms per 1,000', few.depths, 'the answer lists every partition'),
    figure('depth, many', 'ms per 1,000', many.depths, 'the answer lists every partition'),
    figure('depth: cost, many to few', 'ratio', ratios('depths'), `${note}, for each partition`),
    figure('first pop of a group', 'ms', [firstMs], `${partitions} partitions are looked at once`),
    figure('start after SIGKILL', 'ms', [restartMs], 'until /health answers 200'),
  ];
}

/** One message in each of so many partitions. */
async function fill(node: ScaleNode, queue: string, partitions: number): Promise<void> {
  let next = 0;
  await node.work(async (ask) => {
    if (next >= partitions) return false;
    const items: string[] = [];
    for (; items.length < FILL_BATCH && next < partitions; next += 1) {
      items.push(itemOf(queue, next, PAYLOADS[next % PAYLOADS.length] ?? '0'));
    }
    await ask('POST', '/api/v1/push', `{"items":[${items.join(',')}]}`);
    return true;
  });
}

function itemOf(queue: string, partition: number, payload: string): string {
  return `{"queue":"${queue}","partition":"p${partition}","payload":${payload}}`;
}

async function costs(
  scale: Scale,
  node: ScaleNode,
  queue: string,
  partitions: number,
): Promise<Cost> {
  const ms = scale.options.seconds * 1000;
  const pushes = await node.work(async (ask) => {
    const partition = Math.floor(Math.random() * partitions);
    const payload = PAYLOADS[partition % PAYLOADS.length] ?? '0';
    await ask('POST', '/api/v1/push', `{"items":[${itemOf(queue, partition, payload)}]}`);
    return true;
  }, ms);
  const pops = await node.work((ask) => popOne(ask, queue), ms);
  const beganMs = performance.now();
  await node.work(async (ask, client) => {
    if (client === 0) await ask('GET', `/api/v1/resources/queues/${queue}/depth`);
    return false;
  });
  const depthMs = performance.now() - beganMs;
  const depths = (depthMs * FEW) / partitions;
  scale.say(
    `${queue}: ${pushes.perSecond.toFixed(0)} pushes/s, ${pops.perSecond.toFixed(0)} pops/s, ` +
      `depth in ${depthMs.toFixed(0)} ms`,
  );
  return { pushes, pops, depths };
}

async function popOne(ask: Ask, queue: string): Promise<boolean> {
  const query = 'consumerGroup=readers&batch=1&autoAck=true';
  const { status } = await ask('GET', `/api/v1/pop/queue/${queue}?${query}`);
  return status === 200;
}

/** Milliseconds until a group that nobody knew gets its first message. */
async function firstPop(node: ScaleNode): Promise<number> {
  const beganMs = performance.now();
  await node.work(async (ask, client) => {
    if (client === 0) await popOne(ask, 'many');
    return false;
  });
  return performance.now() - beganMs;
}

async function restarted(node: ScaleNode): Promise<number> {
  await node.process.kill();
  return node.process.start();
}

function add(all: Costs, one: Cost): void {
  all.pushes.push(one.pushes.perSecond);
  all.pops.push(one.pops.perSecond);
  all.pushUs.push(one.pushes.processorUs);
  all.popUs.push(one.pops.processorUs);
  all.depths.push(one.depths);
}

function inverse(ratio: number): number {
  return 1 / ratio;
}
