/**
 * `npm run screenshots [names]`: pictures of every page of the dashboard, or of those that are
 * named, light and dark, wide and as a phone has it, to `dashboard/screenshots/`; of a node, and of
 * a gateway the pages that a node alone has not. Both have traffic for long enough that the charts
 * have something to show, which are of the last quarter of an hour and the last hour. WebP is a
 * third of PNG in size.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { HttpClient } from '../process/http-client.js';
import { startNode, temporaryDirectory } from '../process/node-under-test.js';
import { freePort } from '../process/ports.js';
import { Chromium, chromiumMissing, type Page } from './chromium.js';
import { fill, PAGES, type StagedPage } from './dashboard-stage.js';
import {
  fillGateway,
  GATEWAY_PAGES,
  type GatewayStage,
  logIn,
  OPERATOR,
  startGateway,
} from './gateway-stage.js';

/** From test/dist/browser. */
const FOLDER = fileURLToPath(new URL('../../../dashboard/screenshots', import.meta.url));
const SIZES = { wide: [1280, 800], phone: [360, 740] } as const;
const THEMES = ['light', 'dark'] as const;
/** The node counts by the minute. */
const TRAFFIC_MS = Number(process.env.SVC_SCREENSHOTS_TRAFFIC_MS ?? 400_000);
/** Pages with charts. */
const CHARTS = ['overview', 'queue', 'workload', 'workload-queues'];
/** The stream reads so many times more seldom than the others, and is a little behind. */
const STREAM_EVERY = 50;
const SETTLED_MS = 700;

async function drive(client: HttpClient): Promise<void> {
  const endMs = performance.now() + TRAFFIC_MS;
  for (let turn = 0; performance.now() < endMs; turn++) {
    const items = Array.from({ length: 20 + Math.round(15 * Math.sin(turn / 400)) }, (_, i) => ({
      queue: 'orders',
      partition: `p${i % 3}`,
      payload: { order: turn * 100 + i },
    }));
    await client.post('/api/v1/push', { items });
    const pop = '/api/v1/pop/queue/orders?consumerGroup=billing&batch=40&partitions=3';
    const { status, text } = await client.get(pop);
    if (status === 200) await acknowledge(client, JSON.parse(text));
    if (turn % STREAM_EVERY === 0) {
      const stream = 'consumerGroup=streams.totals&autoAck=true&batch=2000&partitions=3';
      await client.get(`/api/v1/pop/queue/orders?${stream}`);
    }
    await sleep(100);
  }
}

/** Pushes more and more, so that the lines of usage rise. */
async function driveGateway(stage: GatewayStage): Promise<void> {
  const startMs = performance.now();
  for (let turn = 0; performance.now() < startMs + TRAFFIC_MS; turn++) {
    await stage.pushAsStage();
    if (turn % 2 === 0) await stage.popAsStage();
    const passed = (performance.now() - startMs) / TRAFFIC_MS;
    await sleep(400 - 300 * passed);
  }
}

interface Popped {
  readonly messages: readonly Readonly<Record<string, unknown>>[];
}

async function acknowledge(client: HttpClient, { messages }: Popped): Promise<void> {
  const acknowledgments = messages.map(({ transactionId, partitionId, leaseId }) => {
    return { transactionId, partitionId, leaseId, status: 'completed' };
  });
  await client.post('/api/v1/ack/batch', { consumerGroup: 'billing', acknowledgments });
}

function rangeOf(name: string, path: string): string {
  if (!CHARTS.includes(name)) return '';
  return `${path.includes('?') ? '&' : '?'}range=15m`;
}

async function photograph(tab: Page, origin: string, pages: readonly StagedPage[]): Promise<void> {
  for (const { name, path } of pages) {
    for (const [size, [width, height]] of Object.entries(SIZES)) {
      for (const theme of THEMES) {
        await tab.look(width, height, theme);
        await tab.go(`${origin}${path}${rangeOf(name, path)}`);
        await sleep(SETTLED_MS);
        writeFileSync(join(FOLDER, `${name}-${size}-${theme}.webp`), await tab.picture('webp'));
      }
    }
    console.log(name);
  }
}

async function main(names: readonly string[]): Promise<void> {
  const missing = chromiumMissing();
  if (missing !== null) throw new Error(missing);
  const wanted = ({ name }: StagedPage) => names.length === 0 || names.includes(name);
  const [pages, gatewayPages] = [PAGES.filter(wanted), GATEWAY_PAGES.filter(wanted)];
  const directory = temporaryDirectory();
  const node = await startNode({ directory: directory.path, port: await freePort() });
  const stage = await startGateway();
  const client = new HttpClient(node.port);
  const browser = new Chromium();
  try {
    await Promise.all([fill(client), fillGateway(stage)]);
    await Promise.all([
      pages.length > 0 && drive(client),
      gatewayPages.length > 0 && driveGateway(stage),
    ]);
    mkdirSync(FOLDER, { recursive: true });
    const tab = await browser.open('about:blank');
    await tab.hideScrollbars();
    await photograph(tab, `http://127.0.0.1:${node.port}`, pages);
    await logIn(tab, stage.origin, OPERATOR, '/console');
    await photograph(tab, stage.origin, gatewayPages);
  } finally {
    await browser.close();
    client.close();
    await node.kill();
    directory.remove();
    await stage.close();
  }
}

await main(process.argv.slice(2));
