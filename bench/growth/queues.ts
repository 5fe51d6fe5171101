// The same partitions in one queue, in a hundred and in ten thousand: what a push and a pop cost,
// and the memory of a queue. Each number of queues has a node of its own, because a node with many
// queues has more to look after, whichever of them is used.

import { setTimeout as sleep } from 'node:timers/promises';
import { partitionName, payloadTexts } from '../load/push-requests.js';
import type { Contestant } from '../load/side-by-side.js';
import { type Figure, figure } from '../report/figure.js';
import { requestBytes } from '../rig/http-connection.js';
import type { NodeProcess } from '../rig/node-process.js';
import {
  compare,
  type Growth,
  loadOn,
  PAYLOAD_BYTES,
  pushAll,
  pushBodies,
  startNode,
} from './growth.js';

const SOME = 100;
const FILL_BATCH = 1000;
const SETTLE_MS = 5000;
const PAYLOADS = payloadTexts(64, PAYLOAD_BYTES);

interface Filled {
  readonly queues: number;
  readonly node: NodeProcess;
  readonly bytes: number;
}

export async function measureQueues(growth: Growth): Promise<readonly Figure[]> {
  const { queues: many } = growth.options;
  const filled: Filled[] = [];
  for (const queues of [1, SOME, many]) filled.push(await fill(growth, queues, many));
  const contestants = (requestOf: (i: number, queues: number) => Buffer): readonly Contestant[] =>
    filled.map(({ queues, node }) => {
      const items = Array.from({ length: many }, (_, i) => requestOf(i, queues));
      const load = { ...loadOn(node, { queue: 'q', items }), kind: 'calls' };
      return { name: `${queues} queues`, pids: [node.pid], loadOf: () => load };
    });
  const pushes = await compare(
    growth,
    'push',
    contestants((i, queues) =>
      requestBytes('POST', '/api/v1/push', `{"items":[${itemOf(i, queues)}]}`),
    ),
    null,
  );
  const pops = await compare(
    growth,
    'pop',
    contestants((i, queues) => requestBytes('GET', pathOfPop(i % queues))),
    null,
  );
  for (const { node } of filled) await node.kill();
  const note = `${many} partitions in all`;
  return [
    ...filled.map(({ queues, bytes }) =>
      figure(`memory with ${queues} queues`, 'MB', [bytes / 1e6], note),
    ),
    ...pushes,
    ...pops,
  ];
}

async function fill(growth: Growth, queues: number, partitions: number): Promise<Filled> {
  const node = await startNode(growth);
  const before = node.memory().anonymousBytes;
  await pushAll(
    node,
    pushBodies(partitions, FILL_BATCH, (i) => itemOf(i, queues)),
  );
  await sleep(SETTLE_MS);
  growth.say(`${partitions} partitions in ${queues} queues`);
  return { queues, node, bytes: node.memory().anonymousBytes - before };
}

/** Partition `i` lies in queue `i` modulo their number, so neighbours lie in different queues. */
function itemOf(i: number, queues: number): string {
  const payload = PAYLOADS[i % PAYLOADS.length] ?? '0';
  return `{"queue":"q${i % queues}","partition":"${partitionName(i)}","payload":${payload}}`;
}

function pathOfPop(queue: number): string {
  return `/api/v1/pop/queue/q${queue}?consumerGroup=readers&batch=1&autoAck=true`;
}
