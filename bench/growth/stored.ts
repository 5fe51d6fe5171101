// An empty store against one that holds very many bytes: two nodes, measured side by side, with the
// same loads on queues of their own.

import { mkdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pushRequests } from '../load/push-requests.js';
import type { Contestant } from '../load/side-by-side.js';
import type { Load } from '../native/load-program.js';
import { atMost, type Figure, figure } from '../report/figure.js';
import { checkoutRoot } from '../rig/checkout.js';
import type { NodeProcess } from '../rig/node-process.js';
import { compare, type Growth, loadOn, PAYLOAD_BYTES, restart, startNode } from './growth.js';

const PARTITIONS = 64;
const FILL_BATCH = 100;
const FILL_PAYLOAD_BYTES = 4096;
const FILL_SECONDS = 5;
const GIGABYTE = 1e9;
/** Bytes of the disk for a byte of payload, with what the measured loads write. */
const DISK_SHARE = 1.25;
const SETTLE_MS = 3000;

const WORKS = [
  { name: 'push, batch 1', work: 'publish', batch: 1 },
  { name: 'push, batch 100', work: 'publish', batch: 100 },
  { name: 'push, pop, ack, batch 100', work: 'consume', batch: 100 },
] as const;

export async function measureStored(growth: Growth): Promise<readonly Figure[]> {
  const { storedGb, rounds } = growth.options;
  requireRoom(storedGb * GIGABYTE * DISK_SHARE);
  const nodes = [
    { name: 'empty', node: await startNode(growth) },
    { name: 'full', node: await startNode(growth) },
  ];
  const full = nodes[1]?.node;
  if (full !== undefined) await fill(growth, full);
  const figures: Figure[] = [];
  for (const { name, node } of nodes) {
    const starts: number[] = [];
    for (let start = 0; start < rounds; start += 1) starts.push(await restart(node));
    figures.push(figure(`start after SIGKILL, ${name}`, 'ms', starts, `${storedGb} GB`));
  }
  for (const { name, work, batch } of WORKS) {
    const contestants = nodes.map(({ name: side, node }): Contestant => {
      const load = loadOf(node, 'measured', work, batch, PAYLOAD_BYTES);
      return { name: side, pids: [node.pid], loadOf: () => load };
    });
    figures.push(...(await compare(growth, name, contestants, atMost(1.15))));
  }
  await sleep(SETTLE_MS);
  for (const { name, node } of nodes) {
    const megabytes = node.memory().anonymousBytes / 1e6;
    figures.push(figure(`memory of the process, ${name}`, 'MB', [megabytes], `${storedGb} GB`));
    await node.kill();
  }
  return figures;
}

function loadOf(
  node: NodeProcess,
  queue: string,
  work: Load['work'],
  batch: number,
  payloadBytes: number,
): Load {
  const items = pushRequests(queue, PARTITIONS, batch, payloadBytes);
  return { ...loadOn(node, { queue, items }), work, batch };
}

async function fill({ program, options, say }: Growth, node: NodeProcess): Promise<void> {
  const load = await program.open(
    loadOf(node, 'stored', 'publish', FILL_BATCH, FILL_PAYLOAD_BYTES),
  );
  for (let bytes = 0; bytes < options.storedGb * GIGABYTE; ) {
    const { whole } = await load.turn({ warmUpSeconds: 0, seconds: FILL_SECONDS });
    bytes += whole.messages * FILL_PAYLOAD_BYTES;
    say(`${(bytes / GIGABYTE).toFixed(1)} GB stored`);
  }
  await load.close();
}

function requireRoom(bytes: number): void {
  const directory = join(checkoutRoot(), 'data');
  mkdirSync(directory, { recursive: true });
  const { bavail, bsize } = statfsSync(directory);
  if (bavail * bsize < bytes) {
    const [needed, free] = [bytes, bavail * bsize].map((one) => (one / GIGABYTE).toFixed(0));
    throw new Error(`--stored needs ${needed} GB on the disk of ${directory}, ${free} GB are free`);
  }
}
