// Memory over time while names come and go, at a share of what the cluster can do: queues are
// created by a push, consumed by a group of their own, and deleted. What exists at any time is
// constant, so what the nodes hold should be too. Messages have no transaction ids of their own:
// those are remembered for an hour, and fill the memory that they may have (256 MiB) meanwhile.

import { setTimeout as sleep } from 'node:timers/promises';
import type { PopAnswer } from '@svc/wire';
import { atMost, type Figure, figure } from '../report/figure.js';
import { median } from '../report/percentiles.js';
import { HttpExchange } from '../rig/http-exchange.js';
import type { GroupNode, NodeGroup } from '../rig/node-group.js';
import type { ClusterRun } from './cluster-run.js';

const WORKERS = 12;
/** One queue has so many partitions, and gets so many messages. */
const PARTITIONS = 10;
const MESSAGES = 100;
const PAYLOAD = 'x'.repeat(254);
const PEAK_MS = 20_000;
const SHARE_OF_PEAK = 0.7;
const SAMPLE_MS = 5000;
/** Caches and buffers find their size in the first part of a soak. */
const WARM_UP_SHARE = 0.3;
/** The first and the last tenth of what follows the warm-up are compared. */
const COMPARED_SHARE = 0.1;
const MEGABYTE = 1e6;

export async function measureSoak(run: ClusterRun): Promise<readonly Figure[]> {
  const { soakMinutes } = run.options;
  return run.withGroup(async (group) => {
    const churn = new Churn(group);
    const peak = await churn.run(PEAK_MS, null);
    run.say(`at most ${rateText(peak)}`);
    const paced = churn.run(soakMinutes * 60_000, peak * SHARE_OF_PEAK);
    const samples = await sample(run, group, churn, paced);
    const rate = await paced;
    const note = `${churn.ended} queues and groups came and went, at ${rateText(rate)}`;
    return group.nodes.flatMap((node, i) => {
      const series = samples.map((all) => all[i] ?? 0);
      const settled = series.slice(Math.floor(series.length * WARM_UP_SHARE));
      const compared = Math.ceil(series.length * COMPARED_SHARE);
      const before = median(settled.slice(0, compared));
      const after = median(settled.slice(-compared));
      return [
        figure(`node ${node.number}: resident at the end`, 'MB', [after], note),
        figure(
          `node ${node.number}: growth after warm-up`,
          '%',
          [(after / before - 1) * 100],
          note,
          atMost(10),
        ),
      ];
    });
  });
}

function rateText(livesPerSecond: number): string {
  const messages = (livesPerSecond * MESSAGES).toFixed(0);
  return `${livesPerSecond.toFixed(0)} queues/s, ${messages} messages/s`;
}

/** Queues that live and die, some at a time, through all nodes. */
class Churn {
  ended = 0;
  readonly #group: NodeGroup;
  #names = 0;

  constructor(group: NodeGroup) {
    this.#group = group;
  }

  /** For so long, at so many lives a second, null for as many as it can; resolves with the rate. */
  async run(ms: number, livesPerSecond: number | null): Promise<number> {
    const endedBefore = this.ended;
    const beganMs = performance.now();
    let begun = 0;
    const workers = Array.from({ length: WORKERS }, async (_, worker) => {
      const node = this.#group.nodes[worker % this.#group.nodes.length] as GroupNode;
      const exchange = new HttpExchange(node.process.address);
      while (performance.now() - beganMs < ms) {
        if (livesPerSecond !== null) {
          const dueMs = beganMs + (begun * 1000) / livesPerSecond;
          begun += 1;
          await sleep(Math.max(0, dueMs - performance.now()));
        }
        this.#names += 1;
        await liveAndDie(exchange, `churn.${this.#names}`);
        this.ended += 1;
      }
      exchange.close();
    });
    await Promise.all(workers);
    return ((this.ended - endedBefore) * 1000) / (performance.now() - beganMs);
  }
}

/** Resident megabytes of all nodes, every few seconds until the load has ended. */
async function sample(
  run: ClusterRun,
  group: NodeGroup,
  churn: Churn,
  load: Promise<unknown>,
): Promise<readonly (readonly number[])[]> {
  const samples: number[][] = [];
  let loaded = true;
  const ended = load.finally(() => {
    loaded = false;
  });
  for (let taken = 0; loaded; taken += SAMPLE_MS) {
    const all = group.nodes.map(({ process }) => process.memory().residentBytes / MEGABYTE);
    samples.push(all);
    const sizes = all.map((each) => each.toFixed(0)).join(', ');
    run.say(`${taken / 1000} s: ${sizes} MB, ${churn.ended} queues ended`);
    await Promise.race([sleep(SAMPLE_MS), ended]);
  }
  return samples;
}

/** One queue from its first push to its deletion. */
async function liveAndDie(exchange: HttpExchange, queue: string): Promise<void> {
  const items = Array.from({ length: MESSAGES }, (_, i) => ({
    queue,
    partition: `p${i % PARTITIONS}`,
    payload: PAYLOAD,
  }));
  await expect(exchange, 'POST', '/api/v1/push', JSON.stringify({ items }));
  const group = `group-of-${queue}`;
  const query = `consumerGroup=${group}&batch=${MESSAGES}&partitions=${PARTITIONS}&wait=true`;
  for (let left = MESSAGES; left > 0; ) {
    const body = await expect(exchange, 'GET', `/api/v1/pop/queue/${queue}?${query}`);
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
