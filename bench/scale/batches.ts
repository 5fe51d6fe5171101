// What a message costs the node when it comes alone, and when it comes with others: the processor
// time of a push and of a pop with its acknowledgement, in batches of 1 to 1,000.

import { type Figure, figure } from '../load/figure.js';
import { pushRequests } from '../load/push-requests.js';
import { consumption, pushes } from './node-load.js';
import { Rounds, unitOf } from './rounds.js';
import type { Scale } from './scale.js';
import { ScaleNode } from './scale-node.js';

const BATCHES = [1, 10, 100, 1000] as const;
const ROUNDS = 3;
const PARTITIONS = 64;
const PAYLOAD_BYTES = 256;

export async function measureBatches(scale: Scale): Promise<readonly Figure[]> {
  const { seconds, entry } = scale.options;
  const { process: node } = await ScaleNode.start(scale.scratch, entry);
  const rounds = new Rounds();
  const requestsOf = (queue: string, batch: number) =>
    pushRequests(queue, PARTITIONS, batch, PAYLOAD_BYTES);
  const warmUp = { requests: requestsOf('warm-up', 10), batch: 10, seconds };
  await pushes(node, warmUp, scale.scratch);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const batch of BATCHES) {
      // What a round leaves unread, and its leases, are not the next one's.
      const queue = `b${batch}-${round}`;
      const load = { requests: requestsOf(queue, batch), batch, seconds };
      const push = await pushes(node, load, scale.scratch);
      const messages = Math.floor(push.messagesPerSecond * seconds);
      const pop = await consumption(node, { queue, group: 'g', batch, messages, seconds });
      rounds.add(`push: processor time, batch ${batch}`, push.processorUs);
      rounds.add(`pop and ack: processor time, batch ${batch}`, pop.processorUs);
      rounds.add(`push, batch ${batch}`, push.messagesPerSecond);
      rounds.add(`pop and ack, batch ${batch}`, pop.messagesPerSecond);
      scale.say(
        `batch ${batch}: push ${push.processorUs.toFixed(2)} us, ` +
          `pop and ack ${pop.processorUs.toFixed(2)} us of the node a message`,
      );
    }
  }
  await node.kill();
  const note = `${PAYLOAD_BYTES} bytes, 64 connections, ${PARTITIONS} partitions, in turn`;
  return [
    ...rounds.figures(unitOf, note),
    figure('push: a larger batch costs', 'ratio', worst(rounds, 'push'), 'most, per message'),
    figure('pop: a larger batch costs', 'ratio', worst(rounds, 'pop and ack'), 'most, per message'),
  ];
}

/** In each round the highest of: a batch size against the next smaller one. */
function worst(rounds: Rounds, work: string): readonly number[] {
  const name = (batch: number) => `${work}: processor time, batch ${batch}`;
  const steps = BATCHES.slice(1).map((batch, i) =>
    rounds.ratios(name(batch), name(BATCHES[i] ?? 1)),
  );
  return Array.from({ length: ROUNDS }, (_, round) =>
    Math.max(...steps.map((ratios) => ratios[round] ?? 0)),
  );
}
