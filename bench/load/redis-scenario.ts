// The same load on Redis Streams, in the same run on the same disk, as a yardstick that travels
// between machines: XADD of values of the same size, every write synced before its answer.

import { spawn, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpConnection } from '../http-connection.js';
import { freePort } from '../node-process.js';
import type { BenchContext } from './bench-context.js';
import { runProgram } from './child-program.js';
import { type Figure, figure } from './figure.js';
import { payloadTexts } from './push-requests.js';
import { formatNumber } from './report.js';

const PIPELINES = [1, 10, 100] as const;
const PROBE_REQUESTS = 20_000;
const READY_TIMEOUT_MS = 10_000;

/** Figures of Redis, and ratios to those among `measured` that have a counterpart. */
export async function measureRedis(
  context: BenchContext,
  measured: readonly Figure[],
): Promise<readonly Figure[]> {
  if (spawnSync('redis-server', ['--version']).error !== undefined) {
    throw new Error('redis: redis-server is not installed');
  }
  const figures: Figure[] = [];
  for (const pipeline of PIPELINES) {
    const runs = await withRedis(context, (port) =>
      context.repeat(() => measurePipeline(context, port, pipeline)),
    );
    const note = `redis-benchmark XADD, appendfsync always, ${context.options.connections} clients`;
    const redis = figure(`redis pipeline ${pipeline}`, 'messages/s', runs, note);
    figures.push(redis);
    const own = measured.find((candidate) => candidate.name === `push batch ${pipeline}`);
    if (own !== undefined) {
      const ratio = own.value / redis.value;
      figures.push(figure(`ratio to redis ${pipeline}`, '', [ratio], 'medians of this run'));
    }
  }
  return figures;
}

/** One run, as long as the other figures' runs: its number of requests follows from a probe. */
async function measurePipeline(
  context: BenchContext,
  port: number,
  pipeline: number,
): Promise<number> {
  const { seconds } = context.options;
  const probed = await runBenchmark(context, port, pipeline, PROBE_REQUESTS);
  const requests = Math.ceil((probed * seconds) / PROBE_REQUESTS) * PROBE_REQUESTS;
  const rate = await runBenchmark(context, port, pipeline, requests);
  context.say(`redis pipeline ${pipeline}: ${formatNumber(rate)} messages/s`);
  return rate;
}

async function runBenchmark(
  context: BenchContext,
  port: number,
  pipeline: number,
  requests: number,
): Promise<number> {
  const { connections, partitions, payloadBytes, seconds } = context.options;
  const [payload = ''] = payloadTexts(1, payloadBytes);
  const output = await runProgram(
    'redis-benchmark',
    ['-h', '127.0.0.1', '-p', String(port), '-c', String(connections), '-n', String(requests)]
      .concat(['-P', String(pipeline), '-r', String(partitions), '--csv'])
      .concat(['XADD', 'stream:__rand_int__', '*', 'field', payload]),
    seconds * 10_000 + 60_000,
    context.scratch,
  );
  const rate = Number(/"([0-9.]+)"(?:,"[0-9.]+")*\s*$/.exec(lastLine(output))?.[1]);
  if (!Number.isFinite(rate) || rate <= 0) {
    throw new Error(`redis-benchmark printed no rate:\n${output.slice(-500)}`);
  }
  return rate;
}

async function withRedis<T>(context: BenchContext, work: (port: number) => Promise<T>): Promise<T> {
  const directory = context.scratch.directory('redis');
  const port = await freePort();
  const settings = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', '']
    .concat(['--auto-aof-rewrite-percentage', '0', '--dir', directory])
    .concat(['--bind', '127.0.0.1', '--port', String(port)]);
  const server = spawn('redis-server', settings, { stdio: 'ignore' });
  context.scratch.adopt(server);
  const ended = new Promise((resolve) => server.once('exit', resolve));
  try {
    await untilConnectable(port);
    return await work(port);
  } finally {
    server.kill('SIGKILL');
    await ended;
    context.scratch.remove(directory);
  }
}

async function untilConnectable(port: number): Promise<void> {
  const deadlineMs = performance.now() + READY_TIMEOUT_MS;
  const silent = { onAnswer: () => undefined, onClosed: () => undefined };
  for (;;) {
    try {
      (await HttpConnection.open({ host: '127.0.0.1', port }, silent)).destroy();
      return;
    } catch (error) {
      if (performance.now() > deadlineMs) {
        throw error;
      }
      await sleep(20);
    }
  }
}

function lastLine(output: string): string {
  return output.trim().split('\n').at(-1) ?? '';
}
