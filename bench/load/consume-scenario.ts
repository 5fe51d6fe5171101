// Pop and acknowledge, alone and with pushes at the same time.

import { LoadProgram } from '../native/load-program.js';
import { BACKLOG_BATCH, type BacklogPlan, consumeBacklog, storeBacklog } from './backlog.js';
import type { BenchContext } from './bench-context.js';
import { type Figure, figure } from './figure.js';
import { pushRequests } from './push-requests.js';
import { formatNumber } from './report.js';

const GROUP = 'bench';
/**
 * Messages stored for each second in which they are consumed. A faster consumer ends its window
 * early and loses nothing but measuring time.
 */
const BACKLOG_PER_SECOND = 300_000;

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
  const { connections, partitions, payloadBytes, seconds, warmUpSeconds } = context.options;
  const load = LoadProgram.in(context.scratch);
  const measured = await context.withNode('e2e', (node) =>
    context.repeat(async (run) => {
      const queue = `e2e${run}`;
      const result = await load.run({
        protocol: 'http',
        ports: [node.plan.port],
        queue,
        kind: '',
        work: 'consume',
        items: pushRequests(queue, partitions, BACKLOG_BATCH, payloadBytes),
        connections: Math.max(2, connections),
        batch: BACKLOG_BATCH,
        seconds,
        warmUpSeconds,
        ratePerSecond: null,
        atEdge: () => undefined,
      });
      const rate = result.messages / result.seconds;
      context.say(`end to end: ${formatNumber(rate)} messages/s`);
      return rate;
    }),
  );
  const note =
    `${connections} connections, half of them consume, ${partitions} partitions, at most four ` +
    'batches for each connection under way';
  return [figure('end to end batch 100', 'messages/s', measured, note)];
}
