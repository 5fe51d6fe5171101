// `npm run bench -- --limits`: what the machine, the disk and the HTTP library can do without a
// broker. A figure of the broker means something beside the limit that bounds it: no push over HTTP
// is cheaper than a request to a server that does nothing, no group of entries is durable sooner
// than one synced write, no payload is stored faster than memory is copied and the disk writes.

import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crc32 } from 'node:zlib';
import { RealDisk } from '@svc/storage';
import { BenchContext } from './load/bench-context.js';
import { probeDisk } from './load/disk-probe.js';
import { type Figure, figure } from './load/figure.js';
import type { BenchOptions } from './load/options.js';
import { percentile } from './load/percentiles.js';
import { pushRequests } from './load/push-requests.js';
import { formatNumber, report } from './load/report.js';
import { freePort, NodeProcess } from './node-process.js';
import { pushes } from './scale/node-load.js';
import { Scratch } from './scratch.js';

const LIBRARIES = ['uWebSockets.js', 'node:http'] as const;
const SYNCED_WRITES = 500;
/** About what 64 connections with single pushes of 256 bytes have in one group. */
const GROUP_BYTES = 16 * 1024;
const WRITTEN_BYTES = 512 * 1024 * 1024;
const BLOCK_BYTES = 1024 * 1024;
/** More than the caches of a processor hold. */
const COPIED_BYTES = 256 * 1024 * 1024;
const GIGABYTE = 1e9;

export async function runLimitsBench(options: BenchOptions): Promise<void> {
  const scratch = new Scratch();
  scratch.endOnSignals();
  const context = new BenchContext(options, scratch);
  const startedAt = new Date();
  const figures: Figure[] = [];
  try {
    figures.push(probeDisk(context.scratch), await syncedGroups(context), diskBandwidth(context));
    figures.push(
      inMemory('memory copy', options.runs, (from, to) => void to.set(from)),
      inMemory('CRC-32', options.runs, (from) => void crc32(from)),
    );
    for (const library of LIBRARIES) figures.push(...(await bareServer(context, library)));
  } finally {
    scratch.close();
    report({ program: 'bench', filePrefix: 'limits-', options, startedAt, figures });
  }
}

/** Synced writes one after the other, by the call that the log makes, on the thread pool. */
async function syncedGroups({ scratch }: BenchContext): Promise<Figure> {
  const directory = scratch.directory('limits');
  const file = new RealDisk().openSync(join(directory, 'groups'), 'create');
  file.writeSync(Buffer.alloc(SYNCED_WRITES * GROUP_BYTES), 0);
  file.syncSync();
  const group = [Buffer.alloc(GROUP_BYTES, 0x61)];
  const tookMs = new Float64Array(SYNCED_WRITES);
  for (let i = 0; i < SYNCED_WRITES; i += 1) {
    const beganMs = performance.now();
    await new Promise<void>((resolve, reject) => {
      const done = (error: Error | null) => (error === null ? resolve() : reject(error));
      file.writeSynced(group, i * GROUP_BYTES, done);
    });
    tookMs[i] = performance.now() - beganMs;
  }
  file.closeSync();
  scratch.remove(directory);
  tookMs.sort();
  const slowest = percentile(tookMs, 0.99).toFixed(2);
  const note = `${GROUP_BYTES} bytes, by the call of the log; p99 ${slowest} ms`;
  return figure('group of the log p50', 'ms', [percentile(tookMs, 0.5)], note);
}

function diskBandwidth({ scratch, options }: BenchContext): Figure {
  const block = Buffer.alloc(BLOCK_BYTES, 0x61);
  const rates = Array.from({ length: options.runs }, () => {
    const directory = scratch.directory('limits');
    const file = openSync(join(directory, 'written'), 'w');
    const beganMs = performance.now();
    for (let at = 0; at < WRITTEN_BYTES; at += BLOCK_BYTES) {
      writeSync(file, block, 0, BLOCK_BYTES, at);
    }
    fdatasyncSync(file);
    const seconds = (performance.now() - beganMs) / 1000;
    closeSync(file);
    scratch.remove(directory);
    return WRITTEN_BYTES / 1e6 / seconds;
  });
  return figure('disk writes', 'MB/s', rates, '512 MiB in one go, synced once');
}

function inMemory(
  name: string,
  runs: number,
  work: (from: Uint8Array, to: Uint8Array) => void,
): Figure {
  const from = new Uint8Array(COPIED_BYTES).fill(0x61);
  const to = new Uint8Array(COPIED_BYTES).fill(0x62);
  const rates = Array.from({ length: runs }, () => {
    const beganMs = performance.now();
    work(from, to);
    return COPIED_BYTES / GIGABYTE / ((performance.now() - beganMs) / 1000);
  });
  return figure(name, 'GB/s', rates, 'one thread, 256 MiB');
}

async function bareServer(
  context: BenchContext,
  library: (typeof LIBRARIES)[number],
): Promise<readonly Figure[]> {
  const { options, scratch } = context;
  const directory = scratch.directory('limits');
  const plan = {
    entry: fileURLToPath(new URL('./bare-server.js', import.meta.url)),
    port: await freePort(),
    dataDirectory: directory,
    logFile: join(directory, 'server.log'),
    runtimeArguments: [],
    environment: { BARE_SERVER: library },
  };
  const server = new NodeProcess(plan, scratch);
  await server.start();
  const requests = pushRequests('push', options.partitions, 1, options.payloadBytes);
  const load = { requests, batch: 1, seconds: options.seconds };
  await pushes(server, { ...load, seconds: Math.max(1, options.warmUpSeconds) }, scratch);
  const rates: number[] = [];
  const times: number[] = [];
  for (let run = 0; run < options.runs; run += 1) {
    const { messagesPerSecond, processorUs } = await pushes(server, load, scratch);
    rates.push(messagesPerSecond);
    times.push(processorUs);
    context.say(`${library}: ${formatNumber(messagesPerSecond)} requests/s`);
  }
  await server.kill();
  scratch.remove(directory);
  const note = `answers at once; requests as single pushes of ${options.payloadBytes} bytes`;
  return [
    figure(`bare server, ${library}`, 'requests/s', rates, note),
    figure(`bare server, ${library}: processor time`, 'us/request', times, note),
  ];
}
