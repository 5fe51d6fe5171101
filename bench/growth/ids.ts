// Very many transaction ids within the window of one queue: the memory that one takes, what a push
// that brings one costs, also when it is a repetition, and how long a start takes.

import { setTimeout as sleep } from 'node:timers/promises';
import { partitionName } from '../load/push-requests.js';
import type { Contestant } from '../load/side-by-side.js';
import { atMost, type Figure, figure } from '../report/figure.js';
import { requestBytes } from '../rig/http-connection.js';
import { HttpExchange } from '../rig/http-exchange.js';
import type { NodeProcess } from '../rig/node-process.js';
import { compare, type Growth, loadOn, pushAll, pushBodies, restart, startNode } from './growth.js';

const PARTITIONS = 64;
const FILL_BATCH = 1000;
const SETTLE_MS = 10_000;
/** A steady rate: so many new ids a second are needed. */
const RATE = 2000;
/** Beyond the measured seconds of a round: its warm-up, and the lead-in of its turn. */
const MORE_SECONDS = 3;
const WINDOW_SECONDS = 7 * 86_400;

export async function measureIds(growth: Growth): Promise<readonly Figure[]> {
  const { ids, seconds } = growth.options;
  const node = await startNode(growth);
  await configure(node);
  await sleep(SETTLE_MS);
  const before = node.memory().anonymousBytes;
  await pushAll(
    node,
    pushBodies(ids, FILL_BATCH, (i) => itemOf(i, `id-${i}`)),
  );
  growth.say(`${ids} ids`);
  await sleep(SETTLE_MS);
  const bytes = node.memory().anonymousBytes - before;
  const count = RATE * (seconds + MORE_SECONDS);
  const contestant = (name: string, idOf: (n: number) => string | null): Contestant => ({
    name,
    pids: [node.pid],
    loadOf: (round) => {
      const items = Array.from({ length: count }, (_, i) => {
        const n = (round + 1) * count + i;
        return requestBytes('POST', '/api/v1/push', `{"items":[${itemOf(n, idOf(n))}]}`);
      });
      return { ...loadOn(node, { queue: 'ids', items }), kind: 'calls', ratePerSecond: RATE };
    },
  });
  const pushes = await compare(
    growth,
    'push',
    [
      contestant('without an id', () => null),
      contestant('with a new id', (n) => `fresh-${n}`),
      // An id names its partition, so that a repetition goes where the first one went.
      contestant('with a known id', (n) => `id-${n % ids}`),
    ],
    null,
  );
  const startMs = await restart(node);
  await node.kill();
  return [
    figure('memory of an id', 'bytes', [bytes / ids], `${ids} ids, all counted`, atMost(64)),
    figure('start after SIGKILL', 'ms', [startMs], 'until /health answers 200', atMost(5000)),
    ...pushes,
  ];
}

async function configure(node: NodeProcess): Promise<void> {
  const exchange = new HttpExchange(node.address);
  const options = { dedupWindowSeconds: WINDOW_SECONDS };
  const body = JSON.stringify({ queue: 'ids', options });
  const { status } = await exchange.request('POST', '/api/v1/configure', body);
  exchange.close();
  if (status !== 200) throw new Error(`configure: ${status}`);
}

function itemOf(n: number, id: string | null): string {
  const given = id === null ? '' : `"transactionId":"${id}",`;
  return `{"queue":"ids","partition":"${partitionName(n % PARTITIONS)}",${given}"payload":1}`;
}
