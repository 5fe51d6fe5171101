// Pop and acknowledge, alone and with pushes at the same time.

import type { NodeProcess } from '../node-process.js';
import { BACKLOG_BATCH, type BacklogPlan, consumeBacklog, storeBacklog } from './backlog.js';
import { type BenchContext, never } from './bench-context.js';
import { ClosedLoop } from './closed-loop.js';
import { ConsumeProgram } from './consume-program.js';
import { type Figure, figure } from './figure.js';
import { PushProgram } from './push-program.js';
import { pushRequests, shareOf } from './push-requests.js';
import { formatNumber } from './report.js';

const GROUP = 'bench';
/**
 * Messages stored for each second in which they are consumed. A faster consumer ends its window
 * early and loses nothing but measuring time.
 */
const BACKLOG_PER_SECOND = 300_000;
/** Pushed and not yet acknowledged at most: producers that run ahead are held. */
const UNCONSUMED_MAX = 64 * BACKLOG_BATCH * 4;

/** Consumes what was stored before: pop of 100, one cumulative acknowledgement, again. */
export async function measurePops(context: BenchContext): Promise<readonly Figure[]> {
  const { connections, partitions, payloadBytes, seconds, warmUpSeconds } = context.options;
  const measured = await context.withNode('pop', (node) =>
    context.repeat(async (run) => {
      const plan: BacklogPlan = {
        address: node.address,
        queue: `pop-${run}`,
        connections,
        partitions,
        payloadBytes,
        messages: BACKLOG_PER_SECOND * (seconds + warmUpSeconds),
      };
      await storeBacklog(plan);
      const window = [warmUpSeconds * 1000, seconds * 1000] as const;
      const result = await consumeBacklog(plan, GROUP, ...window);
      context.say(`pop and ack: ${formatNumber(result.messagesPerSecond)} messages/s`);
      return result.messagesPerSecond;
    }),
  );
  const note = `own client, ${connections} connections, ${partitions} partitions, wildcard pops`;
  return [figure('pop and ack batch 100', 'messages/s', measured, note)];
}

/** Messages that went all the way: pushed, popped and acknowledged, all at the same time. */
export async function measureEndToEnd(context: BenchContext): Promise<readonly Figure[]> {
  const { connections, partitions } = context.options;
  const producers = Math.max(1, Math.floor(connections / 2));
  const consumers = Math.max(1, connections - producers);
  const measured = await context.withNode('e2e', (node) =>
    context.repeat(async (run) => {
      const rate = await runEndToEnd(context, node, `e2e-${run}`, producers, consumers);
      context.say(`end to end: ${formatNumber(rate)} messages/s`);
      return rate;
    }),
  );
  const note =
    `own client, ${producers} producers and ${consumers} consumers, ${partitions} partitions, ` +
    `at most ${UNCONSUMED_MAX} under way`;
  return [figure('end to end batch 100', 'messages/s', measured, note)];
}

async function runEndToEnd(
  context: BenchContext,
  node: NodeProcess,
  queue: string,
  producers: number,
  consumers: number,
): Promise<number> {
  const { partitions, payloadBytes } = context.options;
  const requests = pushRequests(queue, partitions, BACKLOG_BATCH, payloadBytes);
  const tally = { acknowledged: 0 };
  let granted = 0;
  const mayPush = (messages: number): boolean => {
    if (granted - tally.acknowledged >= UNCONSUMED_MAX) {
      return false;
    }
    granted += messages;
    return true;
  };
  const pushing = Array.from({ length: producers }, (_, index) => {
    const own = shareOf(requests, index, producers);
    return new PushProgram({ requests: own, batch: BACKLOG_BATCH, mayPush, onStored: () => 0 });
  });
  const consuming = Array.from(
    { length: consumers },
    () => new ConsumeProgram(queue, GROUP, BACKLOG_BATCH, tally),
  );
  const loop = await ClosedLoop.open(node.address, [...pushing, ...consuming]);
  return (await loop.run(context.window(never))).messagesPerSecond;
}
