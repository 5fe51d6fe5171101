// Push in batches of 1, 10 and 100, closed loop, by the native load program.

import { LoadProgram } from '../native/load-program.js';
import type { NodeProcess } from '../node-process.js';
import type { BenchContext } from './bench-context.js';
import { type Figure, figure } from './figure.js';
import { pushRequests } from './push-requests.js';
import { formatNumber } from './report.js';

const BATCHES = [1, 10, 100] as const;

export async function measurePushes(context: BenchContext): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const batch of BATCHES) {
    figures.push(
      await context.withNode(`push-${batch}`, (node) => measureBatch(context, node, batch)),
    );
  }
  return figures;
}

async function measureBatch(
  context: BenchContext,
  node: NodeProcess,
  batch: number,
): Promise<Figure> {
  const { partitions, connections, payloadBytes, seconds, warmUpSeconds } = context.options;
  const load = LoadProgram.in(context.scratch);
  const name = `push batch ${batch}`;
  let [usedSeconds, measuredSeconds] = [0, 0];
  const runs = await context.repeat(async (run) => {
    const queue = `push${batch}x${run}`;
    const result = await load.run({
      protocol: 'http',
      ports: [node.plan.port],
      queue,
      kind: '',
      work: 'publish',
      items: pushRequests(queue, partitions, batch, payloadBytes),
      connections,
      batch,
      seconds,
      warmUpSeconds,
      ratePerSecond: null,
      atEdge: (edge) => {
        usedSeconds += edge === 'end' ? node.processorSeconds() : -node.processorSeconds();
      },
    });
    measuredSeconds += result.seconds;
    const rate = result.messages / result.seconds;
    context.say(`${name}: ${formatNumber(rate)} messages/s`);
    return rate;
  });
  const busy = ((usedSeconds / measuredSeconds) * 100).toFixed(0);
  const note = `${connections} connections, ${partitions} partitions, node on ${busy} % of a core`;
  return figure(name, 'messages/s', runs, note);
}
