/**
 * `npm run page-cost [-- paths]`: what the dashboard costs, of which its README tells. With
 * `--gateway` it is that of a gateway, for an operator who has logged in.
 *
 * - its weight on the wire, and the time from the first byte asked to figures in the page;
 * - processor time of a node for each page that polls, while it is open, above what it takes alone;
 * - the heap of the page after 1,000 refreshes against that after 50.
 *
 * Processor time is read from the process of the node, so that other work on the machine changes
 * little, and each window with a page open follows one without: what the node does by itself is
 * subtracted. The timers of a page run several times as fast, and its cost is divided by as much.
 * Slow polls thus come often enough to be seen in a window, and the clock ticks of the processor
 * time, 10 ms, are small against it. All that a page waits for is a timer, so that this changes
 * nothing else. The median of the rounds counts; with a page stand the calls that it makes.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { UNLIMITED } from '../gateway/gateway-nodes.js';
import { type Caller, callerWith, HttpClient } from '../process/http-client.js';
import { type NodeUnderTest, startNode, temporaryDirectory } from '../process/node-under-test.js';
import { freePort } from '../process/ports.js';
import { Chromium, chromiumMissing, type Page } from './chromium.js';
import { GATEWAY_PAGES, KEY, logIn, OPERATOR, startGateway } from './gateway-stage.js';
import { fillForCost, QUEUES, WATCHED } from './page-cost-stage.js';

const ROUNDS = Number(process.env.SVC_PAGE_COST_ROUNDS ?? 3);
const OPEN_MS = 12_000;
const ALONE_MS = 6_000;
/** A page asks for everything at once when it opens, which is no part of leaving it open. */
const OPENED_MS = 2_000;
/** A node that was just filled compiles, collects and writes checkpoints. */
const SETTLED_MS = 15_000;
const HASTE = 5;
const SHARE_MAX = 1;
const TICKS_PER_SECOND = 100;
const REFRESHES = 1000;
const WARM_REFRESHES = 50;
/** While the heap is watched. */
const HEAP_HASTE = 100;

/** Seconds of processor time, user and system. */
function processorSeconds({ pid }: NodeUnderTest): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Per cent of a core. */
async function shareOfCore(node: NodeUnderTest, ms: number): Promise<number> {
  const [begun, before] = [performance.now(), processorSeconds(node)];
  await sleep(ms);
  return ((processorSeconds(node) - before) * 100_000) / (performance.now() - begun);
}

const LOADED = `new Promise((done, fail) => {
  const look = () => {
    if (document.querySelector('.facts, .table-box')) done(performance.now());
    else if (performance.now() < 30_000) setTimeout(look, 5);
    else fail(new Error(location.href + ' shows no figures: ' + document.body.innerText));
  };
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

/** Timers run faster, and calls are counted by path. */
const HASTENED = `{
  const real = window.setTimeout;
  window.setTimeout = (work, ms, ...rest) => real(work, ms / ${HASTE}, ...rest);
  const fetched = window.fetch;
  window.asked = {};
  window.fetch = (url, options) => {
    const { pathname } = new URL(url, location.href);
    const begun = performance.now();
    return fetched(url, options).finally(() => {
      const kept = window.asked[pathname] ??= [0, 0];
      kept[0]++;
      kept[1] += performance.now() - begun;
    });
  };
}`;

interface Cost {
  readonly shares: number[];
  /** Path, calls and milliseconds of all of them. */
  calls: readonly (readonly [string, readonly [number, number]])[];
}

async function watchPages(
  tab: Page,
  origin: string,
  node: NodeUnderTest,
  paths: readonly string[],
): Promise<void> {
  await tab.before(HASTENED);
  const costs = new Map(paths.map((path): [string, Cost] => [path, { shares: [], calls: [] }]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [path, cost] of costs) {
      await tab.go('about:blank');
      const alone = await shareOfCore(node, ALONE_MS);
      await tab.go(`${origin}${path}`);
      await tab.run(LOADED);
      await sleep(OPENED_MS);
      await tab.run('window.asked = {}, 0');
      cost.shares.push(((await shareOfCore(node, OPEN_MS)) - alone) / HASTE);
      cost.calls = (await tab.run('Object.entries(window.asked)')) as Cost['calls'];
      report(path, cost);
    }
  }
  await tab.go('about:blank');
  console.log('medians:');
  for (const [path, cost] of costs) report(path, cost);
}

function report(path: string, { shares, calls }: Cost): void {
  const share = median(shares);
  const perMinute = 60_000 / (OPEN_MS * HASTE);
  const asked = [...calls]
    .sort(([, [, a]], [, [, b]]) => b - a)
    .map(([at, [times, ms]]) => {
      return `${at} ${(times * perMinute).toFixed(0)}/min of ${(ms / times).toFixed(1)} ms`;
    });
  const mark = share < SHARE_MAX ? '' : ` MORE THAN ${SHARE_MAX} %`;
  const rounds = shares.map((each) => each.toFixed(2)).join(' ');
  console.log(`${share.toFixed(2)} % of a core  ${path}${mark}  (${rounds})`);
  console.log(`    ${asked.join(', ')}`);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** Refreshes are counted by the calls that the page makes, three and more for each. */
async function watchHeap(tab: Page, origin: string): Promise<void> {
  await tab.go(`${origin}/`);
  await tab.run(LOADED);
  await tab.run(`{
    const real = window.setTimeout;
    window.setTimeout = (work, ms, ...rest) => real(work, ms / ${HEAP_HASTE}, ...rest);
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

interface Stage {
  readonly node: NodeUnderTest;
  readonly origin: string;
  readonly client: Caller;
  /** Makes the browser one that may see the pages. */
  readonly enter: (tab: Page) => Promise<void>;
  readonly close: () => Promise<void>;
}

async function plainStage(): Promise<Stage> {
  const directory = temporaryDirectory();
  const node = await startNode({ directory: directory.path, port: await freePort() });
  const client = new HttpClient(node.port);
  return {
    node,
    origin: `http://127.0.0.1:${node.port}`,
    client,
    enter: async () => {},
    close: async () => {
      client.close();
      await node.kill();
      directory.remove();
    },
  };
}

/** No limit of its plan is met, as at a plain node. */
async function gatewayStage(): Promise<Stage> {
  const token = 'the token of the control plane';
  const stage = await startGateway({ SVC_PROXY_CP_TOKEN: token, SVC_EDGE_WEB_RPS_PER_IP: '0' });
  const { node, origin, client, close } = stage;
  const control = callerWith(client, { 'x-svc-cp-token': token });
  const { id } = JSON.parse((await control.get('/api/cp/clusters/acme')).text) as { id: string };
  const overrides = JSON.stringify(UNLIMITED);
  await control.send('PUT', `/api/cp/clusters/${id}/overrides`, overrides);
  const headers = { host: new URL(origin).host, authorization: `Bearer ${KEY}` };
  const enter = (tab: Page) => logIn(tab, origin, OPERATOR, '/');
  return { node, origin, client: callerWith(client, headers), enter, close };
}

async function main(given: readonly string[]): Promise<void> {
  const isGateway = given.includes('--gateway');
  const chosen = given.filter((one) => one !== '--gateway');
  const odd = chosen.find((path) => !path.startsWith('/'));
  const wrong = odd === undefined ? chromiumMissing() : `${odd}: write paths, such as /queues`;
  if (wrong !== null) {
    console.error(`page-cost: ${wrong}`);
    process.exitCode = 1;
    return;
  }
  const { node, origin, client, enter, close } = await (isGateway ? gatewayStage() : plainStage());
  const browser = new Chromium();
  try {
    await fillForCost(client);
    console.log(`a node with ${QUEUES} queues${isGateway ? ', behind its gateway' : ''}`);
    const inTab = async (work: (tab: Page) => Promise<void>) => {
      const tab = await browser.open('about:blank');
      await tab.look(1280, 800, 'light');
      await work(tab);
      await tab.close();
    };
    const isAll = chosen.length === 0;
    const all = isGateway ? [...WATCHED, ...GATEWAY_PAGES.map(({ path }) => path)] : WATCHED;
    await inTab(enter);
    if (isAll) await inTab((tab) => weigh(tab, origin));
    await sleep(SETTLED_MS);
    await inTab((tab) => watchPages(tab, origin, node, isAll ? all : chosen));
    if (isAll) await inTab((tab) => watchHeap(tab, origin));
  } finally {
    await browser.close();
    await close();
  }
}

await main(process.argv.slice(2));
