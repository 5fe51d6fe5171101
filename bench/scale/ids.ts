// Very many transaction ids within the window of one queue: the memory that one costs, what a push
// that brings one costs, also when it is a repetition, and how long a start takes.

import { setTimeout as sleep } from 'node:timers/promises';
import { requestBytes } from '../http-connection.js';
import { HttpExchange } from '../http-exchange.js';
import { type Figure, figure } from '../load/figure.js';
import { runOpenLoop } from '../load/open-loop.js';
import { summarize } from '../load/percentiles.js';
import type { Scale } from './scale.js';
import { ScaleNode } from './scale-node.js';

const PARTITIONS = 64;
const FILL_BATCH = 1000;
const SETTLE_MS = 10_000;
const RATE = 500;
const ROUNDS = 3;
const WINDOW_SECONDS = 7 * 86_400;

export async function measureIds(scale: Scale): Promise<readonly Figure[]> {
  const { ids, seconds, entry } = scale.options;
  const node = await ScaleNode.start(scale.scratch, entry);
  await configure(node);
  await sleep(SETTLE_MS);
  const before = node.anonymousBytes();
  const beganMs = performance.now();
  await fill(node, ids);
  const fillSeconds = (performance.now() - beganMs) / 1000;
  scale.say(`${ids} ids in ${fillSeconds.toFixed(0)} s`);
  await sleep(SETTLE_MS);
  const bytes = node.anonymousBytes() - before;
  const kinds = {
    none: () => null,
    fresh: (i: number) => `fresh-${i}`,
    old: (i: number) => `id-${(i * 7919) % ids}`,
  };
  const p50: Record<keyof typeof kinds, number[]> = { none: [], fresh: [], old: [] };
  const p99: Record<keyof typeof kinds, number[]> = { none: [], fresh: [], old: [] };
  let made = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const kind of ['none', 'fresh', 'old'] as const) {
      const count = RATE * seconds;
      const first = made;
      made += count;
      const requests = Array.from({ length: count }, (_, i) => pushOf(kinds[kind](first + i)));
      const { latenciesMs } = await runOpenLoop({
        address: node.process.address,
        connections: 32,
        ratePerSecond: RATE,
        seconds,
        requests,
        expectedStatus: 201,
      });
      const summary = summarize(latenciesMs);
      p50[kind].push(summary.p50Ms);
      p99[kind].push(summary.p99Ms);
      scale.say(`${kind}: p50 ${summary.p50Ms.toFixed(2)}, p99 ${summary.p99Ms.toFixed(2)} ms`);
    }
  }
  await node.process.kill();
  const startMs = await node.process.start();
  await node.process.kill();
  const more = (kind: 'fresh' | 'old') => p50[kind].map((value, i) => value - (p50.none[i] ?? 0));
  const note = `${ids} ids, ${RATE} single pushes/s, in turn`;
  return [
    figure('memory of an id', 'bytes', [bytes / ids], 'anonymous memory, everything counted'),
    figure('push without an id, p50', 'ms', p50.none, note),
    figure('push without an id, p99', 'ms', p99.none, note),
    figure('push of a new id, p99', 'ms', p99.fresh, note),
    figure('push of a known id, p99', 'ms', p99.old, note),
    figure('a new id costs, p50', 'ms', more('fresh'), 'against none'),
    figure('a known id costs, p50', 'ms', more('old'), 'against none'),
    figure('start after SIGKILL', 'ms', [startMs], 'until /health answers 200'),
  ];
}

async function configure(node: ScaleNode): Promise<void> {
  const exchange = new HttpExchange(node.process.address);
  const options = { dedupWindowSeconds: WINDOW_SECONDS };
  const body = JSON.stringify({ queue: 'ids', options });
  const { status } = await exchange.request('POST', '/api/v1/configure', body);
  exchange.close();
  if (status !== 200) throw new Error(`configure: ${status}`);
}

async function fill(node: ScaleNode, ids: number): Promise<void> {
  let next = 0;
  await node.work(async (ask) => {
    if (next >= ids) return false;
    const items: string[] = [];
    for (; items.length < FILL_BATCH && next < ids; next += 1) {
      items.push(itemOf(next % PARTITIONS, `id-${next}`));
    }
    await ask('POST', '/api/v1/push', `{"items":[${items.join(',')}]}`);
    return true;
  });
}

function itemOf(partition: number, id: string | null): string {
  const given = id === null ? '' : `"transactionId":"${id}",`;
  return `{"queue":"ids","partition":"p${partition}",${given}"payload":1}`;
}

function pushOf(id: string | null): Buffer {
  // An id names its partition, so that a repetition goes where the first one went.
  const number = id === null ? 0 : Number(id.slice(id.indexOf('-') + 1));
  const item = itemOf(number % PARTITIONS, id);
  return requestBytes('POST', '/api/v1/push', `{"items":[${item}]}`);
}
