// Push in batches of 1, 10 and 100, closed loop.

import type { NodeProcess } from '../node-process.js';
import { type BenchContext, never } from './bench-context.js';
import { ClosedLoop } from './closed-loop.js';
import { type Figure, figure } from './figure.js';
import { PushProgram } from './push-program.js';
import { pushRequests, shareOf } from './push-requests.js';
import { formatNumber } from './report.js';
import { runWrk, wrkIsInstalled } from './wrk.js';

const BATCHES = [1, 10, 100] as const;

export async function measurePushes(context: BenchContext): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const batch of BATCHES) {
    figures.push(
      ...(await context.withNode(`push-${batch}`, (node) => measureBatch(context, node, batch))),
    );
  }
  return figures;
}

async function measureBatch(
  context: BenchContext,
  node: NodeProcess,
  batch: number,
): Promise<readonly Figure[]> {
  const { client, partitions, connections } = context.options;
  const name = `push batch ${batch}`;
  const native = client !== 'own' && wrkIsInstalled();
  if (client === 'wrk' && !native) {
    throw new Error('--client wrk: wrk is not installed');
  }
  const where = `${connections} connections, ${partitions} partitions`;
  const busy = new ProcessorShare(node);
  const own = async (run: number): Promise<number> => {
    const rate = await pushWithOwnClient(context, node, batch, `own-${batch}-${run}`);
    context.say(`${name}: ${formatNumber(rate)} messages/s, own client`);
    return rate;
  };
  const wrk = async (run: number): Promise<number> => {
    const rate = await pushWithWrk(context, node, batch, `wrk-${batch}-${run}`);
    context.say(`${name}: ${formatNumber(rate)} messages/s, wrk`);
    return rate;
  };
  if (!native) {
    const runs = await context.repeat(own);
    return [figure(name, 'messages/s', runs, `own client, ${where}, ${busy.describe()}`)];
  }
  const runs = await context.repeat(wrk);
  const figures = [figure(name, 'messages/s', runs, `wrk, ${where}, ${busy.describe()}`)];
  if (client !== 'wrk') {
    const checks = client === 'both' ? await context.repeat(own) : [await own(0)];
    figures.push(figure(`${name}, cross-check`, 'messages/s', checks, `own client, ${where}`));
  }
  return figures;
}

async function pushWithWrk(
  context: BenchContext,
  node: NodeProcess,
  batch: number,
  queue: string,
): Promise<number> {
  const { connections, partitions, payloadBytes, seconds, warmUpSeconds } = context.options;
  const requests = pushRequests(queue, partitions, batch, payloadBytes);
  const plan = { address: node.address, connections, requests };
  if (warmUpSeconds > 0) {
    await runWrk({ ...plan, seconds: warmUpSeconds }, context.scratch);
  }
  const result = await runWrk({ ...plan, seconds }, context.scratch);
  return (result.requests * batch) / result.seconds;
}

async function pushWithOwnClient(
  context: BenchContext,
  node: NodeProcess,
  batch: number,
  queue: string,
): Promise<number> {
  const { connections, partitions, payloadBytes } = context.options;
  const requests = pushRequests(queue, partitions, batch, payloadBytes);
  const programs = Array.from({ length: connections }, (_, index) => {
    const own = shareOf(requests, index, connections);
    return new PushProgram({
      requests: own,
      batch,
      mayPush: () => true,
      onStored: (messages) => messages,
    });
  });
  const loop = await ClosedLoop.open(node.address, programs);
  return (await loop.run(context.window(never))).messagesPerSecond;
}

/** How busy the node kept the processor since this was made, for reading a rate. */
class ProcessorShare {
  readonly #node: NodeProcess;
  readonly #startedMs = performance.now();
  readonly #startSeconds: number;

  constructor(node: NodeProcess) {
    this.#node = node;
    this.#startSeconds = node.processorSeconds();
  }

  describe(): string {
    const elapsedSeconds = (performance.now() - this.#startedMs) / 1000;
    const usedSeconds = this.#node.processorSeconds() - this.#startSeconds;
    return `node on ${((usedSeconds / elapsedSeconds) * 100).toFixed(0)} % of a core`;
  }
}
