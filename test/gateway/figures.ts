/**
 * `npm run gateway-figures -- [revocation] [limits] [scale] [attacks]`: figures of whole nodes that
 * run the gateway, for its README. Nothing named: all of them.
 *
 * - `revocation`: how long a revoked key is served anywhere, over 20 of them, while clients push
 *   through all three nodes.
 * - `limits`: what comes through per second of a tenant of each plan that floods one node, beside
 *   the plan.
 * - `scale`: what 100,000 keys of 10,000 clusters in the store of a node cost it, beside the same
 *   node on the same store without a gateway, in memory and in processor time of a start
 *   (`--clusters` and `--keys` for fewer). *Live* is what the main thread holds once all garbage
 *   was collected: its heap, and the buffers outside of it.
 * - `attacks`: what attacks on the gateways of three nodes do to a tenant that pushes through them;
 *   exit 1 when one of its pushes fails. `--seconds` of each, `--connections` that one holds at
 *   each node, `--attack` for one of them by name. All connections are files of this process.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { until } from '../cluster/cluster.js';
import type { ClusterNode } from '../cluster/cluster-node.js';
import type { Caller } from '../process/http-client.js';
import { sleep } from '../process/node-under-test.js';
import { attacks } from './attack-figures.js';
import { accessHeaders, GatewayNodes, type TenantAccess } from './gateway-nodes.js';
import { PushClient } from './metered-load.js';
import { memoryMb } from './node-memory.js';
import { keyOf, slugOf } from './scale-names.js';

const REVOCATIONS = 20;
const FLOOD_CLIENTS = 24;
const BURST_MS = 8_000;
const FLOOD_MS = 10_000;
const SIDE_BY_SIDE = 32;
const STARTS = 3;

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

// --- revocation ----------------------------------------------------------------------------------

async function revocation(): Promise<void> {
  const nodes = await GatewayNodes.open();
  try {
    const access = await nodes.provision({ slug: 'revoked' });
    let isOver = false;
    const clients = nodes.gateways.map(
      (gateway, i) =>
        new PushClient({ access, gateway, batch: 10, queue: `q${i}`, mayGoOn: () => !isOver }),
    );
    const servedMs: number[] = [];
    for (let i = 0; i < REVOCATIONS; i++) servedMs.push(await revokedFor(nodes, access));
    isOver = true;
    await Promise.all(clients.map((client) => client.done));
    const pushed = clients.reduce((sum, { acknowledged }) => sum + acknowledged, 0);
    console.log(
      `revocation: ${REVOCATIONS} keys on 3 nodes, ${pushed} messages pushed meanwhile; served ` +
        `at most ${Math.max(...servedMs).toFixed(0)} ms longer, median ` +
        `${median(servedMs).toFixed(0)} ms`,
    );
  } finally {
    await nodes.close(false);
  }
}

/** From the answer to the revocation to the last request that any node served with the key. */
async function revokedFor(nodes: GatewayNodes, access: TenantAccess): Promise<number> {
  const { key, id } = await nodes.newKey(access, ['read']);
  const headers = accessHeaders({ slug: access.slug, key });
  const asks = async (gateway: Caller) => {
    return (await gateway.get('/api/v1/resources/queues?limit=1', { headers })).status;
  };
  for (const gateway of nodes.gateways) {
    const status = await asks(gateway);
    if (status !== 200) throw new Error(`a new key is answered ${status}`);
  }
  await nodes.controlled('DELETE', `keys/${id}`);
  const revokedMs = performance.now();
  const lasts = nodes.gateways.map(async (gateway) => {
    let lastMs = revokedMs;
    for (;;) {
      const askedMs = performance.now();
      const status = await asks(gateway);
      if (status === 401) return lastMs - revokedMs;
      if (status === 200) lastMs = askedMs;
      await sleep(5);
    }
  });
  return Math.max(...(await Promise.all(lasts)));
}

// --- limits --------------------------------------------------------------------------------------

async function limits(): Promise<void> {
  const nodes = await GatewayNodes.open({}, 1);
  try {
    console.log('limits: a second of a flood | what the plan says');
    for (const [plan, requests, messages] of [
      ['free', 5, 20],
      ['dev', 10, 40],
      ['pro', 50, 200],
      ['dedicated-s', 200, 600],
    ] as const) {
      const single = await flooded(nodes, plan, 1);
      const batches = await flooded(nodes, plan, 20);
      console.log(
        `${plan}: ${single.toFixed(1)} pushes of 1 | ${requests} requests; ` +
          `${batches.toFixed(1)} messages in pushes of 20 | ${messages} messages`,
      );
    }
  } finally {
    await nodes.close(false);
  }
}

/** Messages a second that are let through once the burst is used up. */
async function flooded(nodes: GatewayNodes, plan: string, batch: number): Promise<number> {
  const [gateway] = nodes.gateways;
  if (gateway === undefined) throw new Error('no node');
  const access = await nodes.provision({ slug: `${plan}-${batch}`, plan, overrides: {} });
  const headers = accessHeaders(access);
  const items = Array.from({ length: batch }, () => ({ queue: 'q', payload: 1 }));
  const body = JSON.stringify({ items });
  const beganMs = performance.now();
  let passed = 0;
  const client = async () => {
    for (;;) {
      const nowMs = performance.now();
      if (nowMs - beganMs > BURST_MS + FLOOD_MS) return;
      const { status } = await gateway.send('POST', '/api/v1/push', body, { headers });
      if (status === 201 && nowMs - beganMs > BURST_MS) passed += batch;
      else if (status !== 201 && status !== 429) throw new Error(`a push is answered ${status}`);
    }
  };
  await Promise.all(Array.from({ length: FLOOD_CLIENTS }, client));
  return passed / (FLOOD_MS / 1000);
}

// --- scale ---------------------------------------------------------------------------------------

async function scale(clusters: number, keys: number): Promise<void> {
  const nodes = await GatewayNodes.open({}, 1);
  const [node] = nodes.cluster.nodes;
  try {
    if (node === undefined) throw new Error('no node');
    await filled(node, clusters, keys);
    const bare = await starts(nodes, node, false);
    const bareStarted = await memory(node);
    await usesBare(node, clusters, keys);
    const bareUsed = await memory(node);
    const own = await starts(nodes, node, true);
    const ownStarted = await memory(node);
    await usesAll(nodes, clusters, keys);
    const used = await memory(node);
    const over = (what: keyof Started) => median(own[what]) - median(bare[what]);
    console.log(
      `scale: ${keys} keys of ${clusters} clusters in the store; a start takes ` +
        `${median(own.startMs).toFixed(0)} ms and ${median(own.cpuMs).toFixed(0)} ms of a ` +
        `processor, ${over('startMs').toFixed(0)} and ${over('cpuMs').toFixed(0)} ms over the ` +
        `bare node; memory ${median(own.mb).toFixed(0)} MB, ${over('mb').toFixed(0)} MB over it; ` +
        `and of it ${shown(ownStarted)} beside ${shown(bareStarted)}; after each key was used: ` +
        `${shown(used)}; after as many requests to the bare node: ${shown(bareUsed)}`,
    );
  } finally {
    await nodes.close(false);
  }
}

/** By a node that does it itself: the control plane would take an hour. */
async function filled(node: ClusterNode, clusters: number, keys: number): Promise<void> {
  const done = join(node.settings.directory, 'filled');
  const hook = new URL('./filling-hook.js', import.meta.url).href;
  await node.stop();
  node.start({
    NODE_OPTIONS: `--import ${hook}`,
    SVC_HTTP_THREADS: '0',
    SVC_PROXY_RECONCILE_MS: '1000',
    SVC_TEST_FILL: `${clusters} ${keys} ${done}`,
  });
  await until(3_600_000, 'the store is full', async () => (existsSync(done) ? true : null));
}

interface Started {
  /** On the clock, which other work slows, and of a processor. */
  readonly startMs: number[];
  readonly cpuMs: number[];
  readonly mb: number[];
}

/** `isGateway`: with it, until it serves. */
async function starts(
  nodes: GatewayNodes,
  node: ClusterNode,
  isGateway: boolean,
): Promise<Started> {
  const started: Started = { startMs: [], cpuMs: [], mb: [] };
  for (let i = 0; i < STARTS; i++) {
    await node.stop();
    const beganMs = performance.now();
    node.start({
      NODE_OPTIONS: `--import ${COLLECTING}`,
      SVC_TEST_COLLECTED: collectedFile(node),
      SVC_PROXY_EMBEDDED: String(isGateway),
    });
    await nodes.cluster.ready();
    if (isGateway) await nodes.serving(node);
    started.startMs.push(performance.now() - beganMs);
    started.cpuMs.push(processorMs(node));
    // The work of a node after its start is over then.
    await sleep(5_000);
    started.mb.push(memoryMb(node));
  }
  return started;
}

async function usesAll(nodes: GatewayNodes, clusters: number, keys: number): Promise<void> {
  const [gateway] = nodes.gateways;
  await sideBySide(keys, async (i) => {
    const headers = accessHeaders({ slug: slugOf(i % clusters), key: keyOf(i) });
    const answer = await gateway?.get('/api/v1/resources/queues?limit=1', { headers });
    if (answer?.status !== 200) throw new Error(`key ${i} is answered ${answer?.status}`);
  });
}

/** The same requests by the broker's own tenants, as many as there are clusters. */
async function usesBare({ client }: ClusterNode, clusters: number, keys: number): Promise<void> {
  await sideBySide(keys, async (i) => {
    const tenant = `c0ffee00-0000-4000-8000-${`${i % clusters}`.padStart(12, '0')}`;
    const headers = { 'x-svc-tenant': tenant };
    const answer = await client.get('/api/v1/resources/queues?limit=1', { headers });
    if (answer.status !== 200) throw new Error(`the bare node answered ${answer.status}`);
  });
}

interface Memory {
  readonly residentMb: number;
  readonly heapMb: number;
  readonly liveMb: number;
  /** Resident after the collection. */
  readonly restMb: number;
}

const HEAP_LOOKS = 20;
const COLLECTING = new URL('./collecting-hook.js', import.meta.url).href;

const collectedFile = ({ settings }: ClusterNode): string => join(settings.directory, 'collected');

/** As it is, and then after a collection that nobody would make. The heap: the lowest of looks. */
async function memory(node: ClusterNode): Promise<Memory> {
  const looks: number[] = [];
  for (let i = 0; i < HEAP_LOOKS; i++) {
    const { text } = await node.client.get('/metrics/prometheus');
    looks.push(Number(/^nodejs_heap_size_used_bytes(?:\{.*?\})? (\S+)/m.exec(text)?.[1]) / 1e6);
    await sleep(500);
  }
  const resident = memoryMb(node);
  const file = collectedFile(node);
  rmSync(file, { force: true });
  node.life?.send('SIGUSR2');
  await until(60_000, 'a collection', async () => (existsSync(file) ? true : null));
  const { heapUsed, external } = JSON.parse(readFileSync(file, 'utf8')) as NodeJS.MemoryUsage;
  return {
    residentMb: resident,
    heapMb: Math.min(...looks),
    liveMb: (heapUsed + external) / 1e6,
    restMb: memoryMb(node),
  };
}

const shown = ({ residentMb: resident, heapMb, liveMb, restMb }: Memory): string =>
  `${resident.toFixed(0)} MB resident, ${heapMb.toFixed(0)} MB of heap, ` +
  `${liveMb.toFixed(0)} MB live, ${restMb.toFixed(0)} MB resident after a collection`;

function processorMs({ life }: ClusterNode): number {
  const fields = readFileSync(`/proc/${life?.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  // In hundredths of a second; the third field of a line is the first here.
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function sideBySide(count: number, work: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    clusters: { type: 'string', default: '10000' },
    keys: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '10' },
    connections: { type: 'string', default: '1000' },
    attack: { type: 'string', multiple: true, default: [] },
  },
});
const asked = (name: string): boolean => positionals.length === 0 || positionals.includes(name);
if (asked('revocation')) await revocation();
if (asked('limits')) await limits();
if (asked('scale')) await scale(Number(values.clusters), Number(values.keys));
if (asked('attacks')) {
  const { attack: names } = values;
  const [seconds, connections] = [Number(values.seconds), Number(values.connections)];
  if (!(await attacks({ seconds, connections, names }))) process.exitCode = 1;
}
