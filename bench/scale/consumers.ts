// One queue with 1, 10, 100 and 1,000 consumers that wait: how long a message of a steady load
// needs until one of them has it, and what the pushes cost the node as fast as it takes them, while
// all of them pop.

import { type Figure, figure } from '../load/figure.js';
import { pushRequests } from '../load/push-requests.js';
import { pushes } from './node-load.js';
import { Rounds, unitOf } from './rounds.js';
import type { Scale } from './scale.js';
import { ScaleNode } from './scale-node.js';
import { Consumers, measureSteady } from './steady-queue.js';

const COUNTS = [1, 10, 100, 1000] as const;
const ROUNDS = 3;
const PUSHES_PER_SECOND = 1000;
const PARTITIONS = 64;
const PAYLOAD_BYTES = 256;

export async function measureConsumers(scale: Scale): Promise<readonly Figure[]> {
  const { entry, seconds } = scale.options;
  const { process: node } = await ScaleNode.start(scale.scratch, entry);
  const rounds = new Rounds();
  let queues = 0;
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const consumers of COUNTS) {
      queues += 1;
      const steady = await measureSteady(node, {
        queue: `steady-${queues}`,
        consumers,
        pushesPerSecond: PUSHES_PER_SECOND,
        seconds,
      });
      // None of these messages has a number: they are only taken.
      const waiting = await Consumers.open(node, `busy-${queues}`, consumers, () => {});
      const requests = pushRequests(`busy-${queues}`, PARTITIONS, 1, PAYLOAD_BYTES);
      const push = await pushes(node, { requests, batch: 1, seconds }, scale.scratch);
      waiting.throwFailure();
      waiting.close();
      const { p50Ms, p99Ms } = steady.delivery;
      scale.say(
        `${consumers} consumers: delivery p50 ${p50Ms.toFixed(2)}, p99 ${p99Ms.toFixed(2)} ms; ` +
          `${push.messagesPerSecond.toFixed(0)} pushes/s`,
      );
      if (round < 0) continue;
      rounds.add(`delivery p50, ${consumers} consumers`, p50Ms);
      rounds.add(`delivery p99, ${consumers} consumers`, p99Ms);
      rounds.add(`push, ${consumers} consumers`, push.messagesPerSecond);
      rounds.add(`push: processor time, ${consumers} consumers`, push.processorUs);
    }
  }
  await node.kill();
  const note = `delivery at ${PUSHES_PER_SECOND} single pushes/s; pushes as fast as they go`;
  const many = COUNTS[COUNTS.length - 1] ?? 1;
  const costs = rounds.ratios(
    `push: processor time, ${many} consumers`,
    `push: processor time, 1 consumers`,
  );
  return [
    ...rounds.figures(unitOf, note),
    figure(`push: cost, ${many} consumers to one`, 'ratio', costs, 'pops included'),
  ];
}
