// The same partitions in one queue, in a hundred and in ten thousand: what a push and a pop cost,
// and the memory of a queue. Each number of queues has a node of its own, because a node with many
// queues has more to look after, whichever of them is used.

import { setTimeout as sleep } from 'node:timers/promises';
import { requestBytes } from '../http-connection.js';
import { type Figure, figure } from '../load/figure.js';
import { payloadTexts } from '../load/push-requests.js';
import { pushes } from './node-load.js';
import { Rounds, unitOf } from './rounds.js';
import type { Scale } from './scale.js';
import { ScaleNode } from './scale-node.js';

const SOME = 100;
const FILL_BATCH = 1000;
const ROUNDS = 3;
const SETTLE_MS = 5000;
const PAYLOADS = payloadTexts(64, 256);

export async function measureQueues(scale: Scale): Promise<readonly Figure[]> {
  const { queues: many, entry, seconds } = scale.options;
  const counts = [1, SOME, many];
  const rounds = new Rounds();
  const nodes: { readonly count: number; readonly node: ScaleNode }[] = [];
  for (const count of counts) {
    const node = await ScaleNode.start(scale.scratch, entry);
    const before = node.anonymousBytes();
    await fill(node, count, many);
    await sleep(SETTLE_MS);
    rounds.add(`memory with ${count} queues`, node.anonymousBytes() - before);
    nodes.push({ count, node });
    scale.say(`${many} partitions in ${count} queues`);
  }
  const requests = new Map(counts.map((count) => [count, requestsOf(count, many)]));
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const { count, node } of nodes) {
      const load = { requests: requests.get(count) ?? [], batch: 1, seconds };
      const push = await pushes(node.process, load, scale.scratch);
      const pop = await popAll(node, count, seconds);
      scale.say(
        `${count} queues: ${push.messagesPerSecond.toFixed(0)} pushes/s, ` +
          `${pop.perSecond.toFixed(0)} pops/s`,
      );
      // The first round warms up: code that has not run often is several times slower.
      if (round < 0) continue;
      rounds.add(`push, ${count} queues`, push.messagesPerSecond);
      rounds.add(`push: processor time, ${count} queues`, push.processorUs);
      rounds.add(`pop, ${count} queues`, pop.perSecond);
      rounds.add(`pop: processor time, ${count} queues`, pop.processorUs);
    }
  }
  for (const { node } of nodes) await node.process.kill();
  const note = `${many} partitions in so many queues, single messages, in turn`;
  const ratio = (work: string, count: number) =>
    figure(
      `${work}: cost, ${count} queues to one`,
      'ratio',
      rounds.ratios(
        `${work}: processor time, ${count} queues`,
        `${work}: processor time, 1 queues`,
      ),
      'processor time of the node, round by round',
    );
  return [
    ...rounds.figures(unitOf, note),
    ...['push', 'pop'].flatMap((work) => [ratio(work, SOME), ratio(work, many)]),
  ];
}

/** Partition `i` lies in queue `i` modulo their number. */
async function fill(node: ScaleNode, queues: number, partitions: number): Promise<void> {
  let next = 0;
  await node.work(async (ask) => {
    if (next >= partitions) return false;
    const items: string[] = [];
    for (; items.length < FILL_BATCH && next < partitions; next += 1) {
      items.push(itemOf(next, queues));
    }
    await ask('POST', '/api/v1/push', `{"items":[${items.join(',')}]}`);
    return true;
  });
}

/** One for each partition; neighbours in the list lie in different queues. */
function requestsOf(queues: number, partitions: number): readonly Buffer[] {
  return Array.from({ length: partitions }, (_, i) =>
    requestBytes('POST', '/api/v1/push', `{"items":[${itemOf(i, queues)}]}`),
  );
}

function itemOf(partition: number, queues: number): string {
  const payload = PAYLOADS[partition % PAYLOADS.length] ?? '0';
  return `{"queue":"q${partition % queues}","partition":"p${partition}","payload":${payload}}`;
}

/** Single pops, round robin over the queues. */
function popAll(node: ScaleNode, queues: number, seconds: number) {
  const query = 'consumerGroup=readers&batch=1&autoAck=true';
  let next = 0;
  return node.work(async (ask) => {
    next = (next + 1) % queues;
    await ask('GET', `/api/v1/pop/queue/q${next}?${query}`);
    return true;
  }, seconds * 1000);
}
