// One queue with very many partitions: what a message costs, and the depth of the queue, against a
// queue with a thousand; and the memory of a partition that nothing happens to.

import { setTimeout as sleep } from 'node:timers/promises';
import { partitionName, payloadTexts } from '../load/push-requests.js';
import type { Contestant } from '../load/side-by-side.js';
import type { Load } from '../native/load-program.js';
import { atMost, type Figure, figure } from '../report/figure.js';
import { requestBytes } from '../rig/http-connection.js';
import { HttpExchange } from '../rig/http-exchange.js';
import type { NodeProcess } from '../rig/node-process.js';
import {
  compare,
  type Growth,
  loadOn,
  PAYLOAD_BYTES,
  pushAll,
  pushBodies,
  restart,
  startNode,
} from './growth.js';

const FEW = 1000;
const FILL_BATCH = 1000;
/** So many of the many partitions are pushed to, spread evenly. */
const USED_MAX = 100_000;
const PAYLOADS = payloadTexts(64, PAYLOAD_BYTES);
/** Checkpoints and collections of garbage find their rest. */
const SETTLE_MS = 10_000;
const ANSWER_MS_MAX = 120_000;

export async function measurePartitions(growth: Growth): Promise<readonly Figure[]> {
  const { partitions, rounds } = growth.options;
  const node = await startNode(growth);
  await pushAll(node, pushBodies(FEW, FILL_BATCH, itemOf('few')));
  await sleep(SETTLE_MS);
  const before = node.memory().anonymousBytes;
  await pushAll(node, pushBodies(partitions, FILL_BATCH, itemOf('many')));
  growth.say(`${partitions} partitions`);
  // What the process has not collected yet of a million pushes is no memory of partitions.
  const restartMs = await restart(node);
  await sleep(SETTLE_MS);
  const idleBytes = (node.memory().anonymousBytes - before) / partitions;
  await ask(node, pathOfPop('few'));
  const firstMs = await ask(node, pathOfPop('many'));
  const sides = [
    { name: 'few', partitions: FEW },
    { name: 'many', partitions },
  ];
  const contestants = (work: Load['work']): readonly Contestant[] =>
    sides.map(({ name, partitions: count }) => {
      const items = requestsOf(name, count);
      const load = { ...loadOn(node, { queue: name, items }), work };
      return { name: `${name} partitions`, pids: [node.pid], loadOf: () => load };
    });
  const pushes = await compare(growth, 'push', contestants('publish'), atMost(1.5));
  const consumed = await compare(growth, 'push, pop, ack', contestants('consume'), atMost(1.5));
  const depths: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const few = (await ask(node, '/api/v1/resources/queues/few/depth')) / FEW;
    depths.push((await ask(node, '/api/v1/resources/queues/many/depth')) / partitions / few);
  }
  await node.kill();
  const note = `${partitions} partitions`;
  const perPartition = 'for each partition; the answer lists all';
  return [
    figure('memory of an idle partition', 'bytes', [idleBytes], note, atMost(1000)),
    figure('start after SIGKILL', 'ms', [restartMs], `${note}, until /health answers 200`),
    figure('first pop of a group', 'ms', [firstMs], `${note} are looked at once`),
    figure('depth: many to few', 'ratio', depths, perPartition, atMost(1.5)),
    ...pushes,
    ...consumed,
  ];
}

function itemOf(queue: string): (i: number) => string {
  return (i) => {
    const payload = PAYLOADS[i % PAYLOADS.length] ?? '0';
    return `{"queue":"${queue}","partition":"${partitionName(i)}","payload":${payload}}`;
  };
}

/** Neighbours in the list are far apart in the queue. */
function requestsOf(queue: string, partitions: number): readonly Buffer[] {
  const used = Math.min(partitions, USED_MAX);
  const item = itemOf(queue);
  return Array.from({ length: used }, (_, i) => {
    const partition = Math.floor((((i * 7919) % used) * partitions) / used);
    return requestBytes('POST', '/api/v1/push', `{"items":[${item(partition)}]}`);
  });
}

function pathOfPop(queue: string): string {
  return `/api/v1/pop/queue/${queue}?consumerGroup=bench&batch=1&autoAck=true`;
}

/** Milliseconds until the answer. */
async function ask(node: NodeProcess, path: string): Promise<number> {
  const exchange = new HttpExchange(node.address);
  const beganMs = performance.now();
  const { status } = await exchange.request('GET', path, undefined, ANSWER_MS_MAX);
  const tookMs = performance.now() - beganMs;
  exchange.close();
  if (status !== 200) throw new Error(`GET ${path}: ${status}`);
  return tookMs;
}
