/**
 * `npm run page-cost`: what the dashboard costs, of which the README tells.
 *
 * - its weight on the wire, and the time from the first byte asked to figures in the page;
 * - processor time of a node for a page that is open, at 1,000 queues, above what it takes alone;
 * - the heap of the page after 1,000 refreshes against that after 50, its clock running faster.
 *
 * Processor time is read from the process, so that other work on the machine changes little.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpClient } from '../process/http-client.js';
import { type NodeUnderTest, startNode, temporaryDirectory } from '../process/node-under-test.js';
import { freePort } from '../process/ports.js';
import { Chromium, chromiumMissing, type Page } from './chromium.js';

const QUEUES = 1000;
const OBSERVED_MS = 30_000;
/** A node that has just started compiles and collects. */
const SETTLED_MS = 10_000;
const TICKS_PER_SECOND = 100;
const REFRESHES = 1000;
const WARM_REFRESHES = 50;
/** Timers of the page run so much faster while its heap is watched. */
const HASTE = 100;

/** Seconds of processor time, user and system. */
function processorSeconds({ pid }: NodeUnderTest): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

async function shareOfCore(node: NodeUnderTest): Promise<number> {
  const before = processorSeconds(node);
  await sleep(OBSERVED_MS);
  return ((processorSeconds(node) - before) * 100_000) / OBSERVED_MS;
}

async function fill(client: HttpClient): Promise<void> {
  for (let from = 0; from < QUEUES; from += 100) {
    const items = Array.from({ length: 100 }, (_, i) => ({
      queue: `queue-${from + i}`,
      payload: { order: i },
    }));
    await client.post('/api/v1/push', { items });
  }
}

const LOADED = `new Promise((done) => {
  const look = () => document.querySelector('.facts, .table-box')
    ? done(performance.now()) : requestAnimationFrame(look);
  look();
})`;
const WEIGHT = `performance.getEntriesByType('resource')
  .filter(({ name }) => name.includes('/assets/'))
  .reduce((bytes, { transferSize }) => bytes + transferSize,
    performance.getEntriesByType('navigation')[0].transferSize)`;

async function weigh(tab: Page, origin: string): Promise<void> {
  await tab.go(`${origin}/`);
  const readyMs = Number(await tab.run(LOADED));
  console.log(`first load: ${await tab.run(WEIGHT)} bytes, figures after ${readyMs.toFixed(0)} ms`);
}

async function watchProcessor(tab: Page, origin: string, node: NodeUnderTest): Promise<void> {
  await tab.go('about:blank');
  await sleep(SETTLED_MS);
  const alone = await shareOfCore(node);
  console.log(`node alone: ${alone.toFixed(2)} % of a core`);
  for (const path of ['/', '/queues', '/system']) {
    await tab.go(`${origin}${path}`);
    await tab.run(LOADED);
    const open = await shareOfCore(node);
    console.log(`${path} open: ${(open - alone).toFixed(2)} % of a core more`);
  }
}

/** Refreshes are counted by the calls that the page makes, three and more for each. */
async function watchHeap(tab: Page, origin: string): Promise<void> {
  await tab.go(`${origin}/`);
  await tab.run(LOADED);
  await tab.run(`{
    const real = window.setTimeout;
    window.setTimeout = (work, ms, ...rest) => real(work, ms / ${HASTE}, ...rest);
    performance.setResourceTimingBufferSize(1_000_000);
    const fetched = window.fetch;
    window.refreshes = 0;
    window.fetch = (url, options) => {
      if (String(url).includes('/overview')) window.refreshes++;
      return fetched(url, options);
    };
  } 0`);
  const heapAfter = async (refreshes: number) => {
    while (Number(await tab.run('window.refreshes')) < refreshes) await sleep(200);
    await tab.run('performance.clearResourceTimings()');
    return tab.heapBytes();
  };
  const warm = await heapAfter(WARM_REFRESHES);
  const later = await heapAfter(REFRESHES);
  const growth = ((later / warm - 1) * 100).toFixed(1);
  console.log(`heap after ${WARM_REFRESHES} refreshes: ${warm} bytes`);
  console.log(`heap after ${REFRESHES} refreshes: ${later} bytes, ${growth} % more`);
}

async function main(): Promise<void> {
  const missing = chromiumMissing();
  if (missing !== null) throw new Error(missing);
  const directory = temporaryDirectory();
  const node = await startNode({ directory: directory.path, port: await freePort() });
  const client = new HttpClient(node.port);
  const browser = new Chromium();
  try {
    await fill(client);
    const origin = `http://127.0.0.1:${node.port}`;
    const tab = await browser.open('about:blank');
    await tab.look(1280, 800, 'light');
    await weigh(tab, origin);
    await watchProcessor(tab, origin, node);
    await watchHeap(tab, origin);
  } finally {
    await browser.close();
    client.close();
    await node.kill();
    directory.remove();
  }
}

await main();
