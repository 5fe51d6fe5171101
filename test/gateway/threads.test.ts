/**
 * Goal: a front thread that fails under load loses and doubles no count of the gateway
 * (gateway 10).
 * Method: a node whose threads end again and again is pushed to through its gateway, until each of
 * its clients knows what was answered; what is counted must be that, and at most what was cut off.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../cluster/cluster.js';
import { NoAnswer } from '../process/http-client.js';
import { CONTROL_TOKEN, GatewayNodes } from './gateway-nodes.js';
import { PushClient } from './metered-load.js';

const THREADS = 2;
/** Each life of a thread ends with this frame of the core. */
const FRAMES = 150;
const FAILURES_MIN = 4;
const CLIENTS = 8;
const BATCH = 3;
const WAIT_MS_MAX = 120_000;

let nodes: GatewayNodes;
let failed = true;

beforeAll(async () => {
  nodes = await GatewayNodes.open(
    {
      SVC_HTTP_THREADS: String(THREADS),
      SVC_CRASH_AT: `front-thread:${FRAMES}`,
      SVC_PROXY_METER_FLUSH_MS: '200',
      SVC_PROXY_ROLLUP_MS: '1000',
    },
    1,
  );
});

afterAll(() => nodes?.close(failed));

/** A request may meet a thread that is failing. */
async function retried<Value>(work: () => Promise<Value>): Promise<Value> {
  return until(WAIT_MS_MAX, 'an answer', async () => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof NoAnswer) return null;
      throw error;
    }
  });
}

test('threads that fail under load lose and double no count', { timeout: 240_000 }, async () => {
  const access = await retried(() => nodes.provision({ slug: 'busy' }));
  const [node] = nodes.cluster.nodes;
  if (node === undefined) throw new Error('there is no node');
  const gateway = nodes.gatewayOf(node);
  const headers = { 'x-svc-cp-token': CONTROL_TOKEN };
  let failures = 0;
  const mayGoOn = () => failures < FAILURES_MIN;
  const clients = Array.from(
    { length: CLIENTS },
    (_, i) => new PushClient({ access, gateway, batch: BATCH, queue: `q${i}`, mayGoOn }),
  );
  const pushing = Promise.all(clients.map((client) => client.done));
  await until(WAIT_MS_MAX, 'failing threads', async () => {
    const { text } = await retried(() =>
      gateway.send('GET', '/metrics/prometheus', undefined, { headers }),
    );
    failures = Number(/^svc_http_thread_restarts_total (\d+)/m.exec(text)?.[1] ?? 0);
    return failures >= FAILURES_MIN ? true : null;
  });
  await pushing;
  const sum = (of: (client: PushClient) => number) =>
    clients.reduce((total, client) => total + of(client), 0);
  const least = sum((client) => client.acknowledged);
  expect(least).toBeGreaterThan(BATCH * FRAMES);
  const counted = () => retried(() => nodes.countedPushes(access));
  await until(WAIT_MS_MAX, `${least} are counted`, async () =>
    (await counted()) >= least ? true : null,
  );
  const unanswered = sum((client) => client.unanswered);
  expect((await counted()) - least).toBeLessThanOrEqual(unanswered);
  expect(unanswered, 'pushes that were cut off').toBeGreaterThan(0);
  failed = false;
});
