// Memory over time while names come and go: queues are created by a push, consumed by a group of
// their own, and deleted. What exists at any time is constant, so what the nodes hold should be
// too.

import { setTimeout as sleep } from 'node:timers/promises';
import type { PopAnswer } from '@svc/wire';
import { HttpExchange } from '../http-exchange.js';
import { type Figure, figure } from '../load/figure.js';
import type { ClusterBench } from './cluster-bench.js';
import type { GroupNode, NodeGroup } from './node-group.js';

const WORKERS = 4;
const MESSAGES = 5;
const SAMPLE_MS = 5000;
/** Caches and buffers find their size in the first part of a soak. */
const WARM_UP_SHARE = 0.3;
const MEGABYTE = 1e6;

export async function measureSoak(bench: ClusterBench): Promise<readonly Figure[]> {
  const { soakMinutes } = bench.options;
  return bench.withGroup(async (group) => {
    let running = true;
    let names = 0;
    const workers = Array.from({ length: WORKERS }, async (_, worker) => {
      const node = group.nodes[worker % group.nodes.length] as GroupNode;
      const exchange = new HttpExchange(node.process.address);
      while (running) {
        await liveAndDie(exchange, `churn.${worker}.${names}`);
        names += 1;
      }
      exchange.close();
    });
    const samples = await sample(bench, group, soakMinutes * 60_000);
    running = false;
    await Promise.all(workers);
    const note = `${names} queues and groups came and went in ${soakMinutes} min`;
    return group.nodes.flatMap((node, i) => {
      const series = samples.map((all) => all[i] ?? 0);
      const settled = series.slice(Math.floor(series.length * WARM_UP_SHARE));
      const minutes = ((settled.length - 1) * SAMPLE_MS) / 60_000;
      const growth = ((settled.at(-1) ?? 0) - (settled[0] ?? 0)) / minutes;
      return [
        figure(`node ${node.number}: resident at the end`, 'MB', [settled.at(-1) ?? 0], note),
        figure(`node ${node.number}: growth after warm-up`, 'MB/min', [growth], note),
      ];
    });
  });
}

async function sample(
  bench: ClusterBench,
  group: NodeGroup,
  ms: number,
): Promise<readonly (readonly number[])[]> {
  const samples: number[][] = [];
  for (let taken = 0; taken <= ms; taken += SAMPLE_MS) {
    const all = group.nodes.map(({ process }) => process.memory().residentBytes / MEGABYTE);
    samples.push(all);
    bench.say(`${taken / 1000} s: ${all.map((each) => each.toFixed(0)).join(', ')} MB`);
    await sleep(SAMPLE_MS);
  }
  return samples;
}

/** One queue from its first push to its deletion. */
async function liveAndDie(exchange: HttpExchange, queue: string): Promise<void> {
  const items = Array.from({ length: MESSAGES }, (_, i) => ({
    queue,
    partition: `p${i}`,
    transactionId: `t${i}`,
    payload: { i },
  }));
  await expect(exchange, 'POST', '/api/v1/push', JSON.stringify({ items }));
  const group = `group-of-${queue}`;
  for (let left = MESSAGES; left > 0; ) {
    const path = `/api/v1/pop/queue/${queue}?consumerGroup=${group}&batch=10&wait=true`;
    const body = await expect(exchange, 'GET', path);
    if (body.length === 0) continue;
    const { messages } = JSON.parse(body) as PopAnswer;
    const acknowledgments = messages.map(({ transactionId, partitionId, leaseId }) => {
      return { transactionId, partitionId, leaseId };
    });
    const acks = JSON.stringify({ consumerGroup: group, acknowledgments });
    await expect(exchange, 'POST', '/api/v1/ack/batch', acks);
    left -= messages.length;
  }
  await expect(exchange, 'DELETE', `/api/v1/resources/queues/${queue}`);
}

async function expect(
  exchange: HttpExchange,
  method: string,
  path: string,
  body?: string,
): Promise<string> {
  const answer = await exchange.request(method, path, body);
  const text = answer.body.toString('utf8');
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text;
}
