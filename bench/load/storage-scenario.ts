// What stored messages cost: log bytes, memory, and the time to come back after a SIGKILL.

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { HttpExchange } from '../http-exchange.js';
import type { NodeProcess } from '../node-process.js';
import { type BacklogPlan, consumeBacklog, storeBacklog } from './backlog.js';
import type { BenchContext } from './bench-context.js';
import { type Figure, figure } from './figure.js';
import { formatNumber } from './report.js';

const MEGABYTE = 1e6;
/** Stored just before each SIGKILL, so that a log tail that no checkpoint covers is replayed. */
const TAIL_MESSAGES = 200_000;

export function measureStorage(context: BenchContext): Promise<readonly Figure[]> {
  return context.withNode('storage', (node) => measure(context, node));
}

async function measure(context: BenchContext, node: NodeProcess): Promise<readonly Figure[]> {
  const { connections, partitions, payloadBytes, storedMessages } = context.options;
  const plan: BacklogPlan = {
    address: node.address,
    queue: 'stored',
    connections,
    partitions,
    payloadBytes,
    messages: storedMessages,
  };
  const before = await logBytes(node);
  const stored = await storeBacklog(plan);
  const after = await logBytes(node);
  const perMessage = (after.bytes - before.bytes) / stored;
  const storedMegabytes = node.memory().residentBytes / MEGABYTE;
  context.say(`stored ${formatNumber(stored)}: ${storedMegabytes.toFixed(0)} MB resident`);

  await consumeBacklog(plan, 'bench');
  const consumed = node.memory();
  const consumedMegabytes = consumed.residentBytes / MEGABYTE;
  context.say(`consumed: ${consumedMegabytes.toFixed(0)} MB resident`);

  const restarts = await context.repeat(async (run) => {
    await storeBacklog({ ...plan, queue: `tail-${run}`, messages: TAIL_MESSAGES });
    await node.kill();
    const readyMs = await node.start();
    context.say(`restart after SIGKILL: ${readyMs.toFixed(0)} ms`);
    return readyMs;
  });
  const restartedMegabytes = node.memory().residentBytes / MEGABYTE;
  const count = `${formatNumber(stored)} messages of ${payloadBytes} bytes`;
  const peak = `peak ${formatNumber(consumed.peakBytes / MEGABYTE)}`;
  const tail = `${formatNumber(TAIL_MESSAGES)} pushed right before the kill`;
  return [
    figure('log bytes per message', 'bytes', [perMessage], `${count}, ${after.source}`),
    figure('memory stored', 'MB', [storedMegabytes], count),
    figure('memory stored and consumed', 'MB', [consumedMegabytes], `${count}, ${peak}`),
    figure('restart after SIGKILL', 'ms', restarts, `to /health 200; ${count}, ${tail}`),
    figure('memory after restart', 'MB', [restartedMegabytes], count),
  ];
}

interface LogSize {
  readonly bytes: number;
  readonly source: string;
}

/** As the node states it, or the blocks its log files hold on disk when it states nothing. */
async function logBytes(node: NodeProcess): Promise<LogSize> {
  const exchange = new HttpExchange(node.address);
  try {
    const answer = await exchange.request('GET', '/api/v1/raft/status');
    const stated = answer.status === 200 ? statedLogBytes(answer.body.toString()) : null;
    return stated === null
      ? { bytes: usedBytes(join(node.plan.dataDirectory, 'log')), source: 'blocks on disk' }
      : { bytes: stated, source: 'as raft/status states' };
  } finally {
    exchange.close();
  }
}

function statedLogBytes(text: string): number | null {
  const status: unknown = JSON.parse(text);
  if (typeof status !== 'object' || status === null || !('log' in status)) {
    return null;
  }
  const log = status.log;
  if (typeof log !== 'object' || log === null || !('bytes' in log)) {
    return null;
  }
  return typeof log.bytes === 'number' ? log.bytes : null;
}

const BLOCK_BYTES = 512;

function usedBytes(directory: string): number {
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(directory, entry.name)).blocks * BLOCK_BYTES, 0);
}
