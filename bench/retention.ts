// `npm run bench -- --retention`: how much disk a queue takes that is written all the time and
// keeps its messages for ten seconds. One node alone, 50 MB of payloads a second, in a quiet queue
// one message that nobody reads and that is older than everything else. Live are the payload bytes
// pushed within the window; the disk is what the data directory takes, log and state together,
// every half second. The first windows do not count: the log has to become long before it is given
// up.

import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeEntry } from './checkout.js';
import { PushClient } from './cluster/push-client.js';
import { freePort, NodeProcess } from './node-process.js';
import { Scratch } from './scratch.js';

const BYTES_PER_SECOND = 50_000_000;
const WINDOW_SECONDS = 10;
/** A push every 10 ms: 50 payloads of 10,000 bytes. */
const PUSH_BYTES = 500_000;
const PAYLOAD_BYTES = 10_000;
const CLIENTS = 4;
const SAMPLE_MS = 500;
const WARM_UP_WINDOWS = 3;
const PUSH_TIMEOUT_MS = 30_000;
const MEGABYTE = 1_000_000;

interface Pushed {
  readonly atMs: number;
  readonly bytes: number;
}

interface Sample {
  readonly seconds: number;
  readonly liveBytes: number;
  readonly logBytes: number;
  readonly diskBytes: number;
}

export async function runRetentionBench(seconds: number, entry: string | undefined) {
  const scratch = new Scratch();
  scratch.endOnSignals();
  try {
    const directory = scratch.directory('retention');
    const node = new NodeProcess(
      {
        entry: nodeEntry(entry),
        port: await freePort(),
        dataDirectory: join(directory, 'node'),
        logFile: join(directory, 'node.log'),
        runtimeArguments: [],
        environment: {},
      },
      scratch,
    );
    await node.start();
    const measured = WARM_UP_WINDOWS * WINDOW_SECONDS + Math.max(seconds, 2 * WINDOW_SECONDS);
    const samples = await load(node, measured);
    report(samples);
    await node.stop();
  } finally {
    scratch.close();
  }
}

async function load(node: NodeProcess, seconds: number): Promise<Sample[]> {
  const clients = Array.from({ length: CLIENTS }, () => new PushClient(node.address));
  const [first] = clients as [PushClient];
  await expectPushed(first, bodyOf('quiet', 1, 100));
  await configure(node, 'written');
  const body = bodyOf('written', PUSH_BYTES / PAYLOAD_BYTES, PAYLOAD_BYTES);
  const pushed: Pushed[] = [];
  const startMs = performance.now();
  const untilMs = startMs + seconds * 1000;
  let sent = 0;
  const producers = clients.map(async (client) => {
    while (performance.now() < untilMs) {
      // Each push has its time; who is late catches up.
      const dueMs = startMs + (sent++ * PUSH_BYTES * 1000) / BYTES_PER_SECOND;
      await sleep(Math.max(0, dueMs - performance.now()));
      await expectPushed(client, body);
      pushed.push({ atMs: performance.now(), bytes: PUSH_BYTES });
    }
  });
  const samples: Sample[] = [];
  while (performance.now() < untilMs) {
    await sleep(SAMPLE_MS);
    samples.push(sample(node.plan.dataDirectory, pushed, startMs));
  }
  await Promise.all(producers);
  for (const client of clients) client.close();
  return samples;
}

function sample(directory: string, pushed: Pushed[], startMs: number): Sample {
  const nowMs = performance.now();
  while ((pushed[0]?.atMs ?? nowMs) < nowMs - WINDOW_SECONDS * 1000) pushed.shift();
  const liveBytes = pushed.reduce((sum, { bytes }) => sum + bytes, 0);
  const files = filesOf(directory);
  const log = files.filter(({ name }) => /^segment-/.test(name));
  return {
    seconds: (nowMs - startMs) / 1000,
    liveBytes,
    logBytes: log.reduce((sum, { bytes }) => sum + bytes, 0),
    diskBytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** What the files take on the disk, holes not counted. */
function filesOf(directory: string): { readonly name: string; readonly bytes: number }[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((file) => {
    const path = join(directory, file.name);
    if (file.isDirectory()) return filesOf(path);
    // It may have been given up since the directory was read.
    const stat = lstatSync(path, { throwIfNoEntry: false });
    return stat === undefined ? [] : [{ name: file.name, bytes: stat.blocks * 512 }];
  });
}

function report(samples: readonly Sample[]): void {
  const line = ({ seconds, liveBytes, logBytes, diskBytes }: Sample) =>
    `${seconds.toFixed(1).padStart(7)} s ${mb(liveBytes)} live ${mb(logBytes)} log ` +
    `${mb(diskBytes)} disk  ${(diskBytes / liveBytes).toFixed(2)}x\n`;
  for (const [i, one] of samples.entries()) if (i % 10 === 9) process.stdout.write(line(one));
  const settled = samples.filter(({ seconds }) => seconds > WARM_UP_WINDOWS * WINDOW_SECONDS);
  const ratios = settled.map(({ diskBytes, liveBytes }) => diskBytes / liveBytes);
  const live = settled.reduce((sum, { liveBytes }) => sum + liveBytes, 0) / settled.length;
  process.stdout.write(
    `retention: ${(live / WINDOW_SECONDS / MEGABYTE).toFixed(1)} MB/s, window ` +
      `${WINDOW_SECONDS} s: disk at most ${Math.max(...ratios).toFixed(2)}x of the live bytes ` +
      '(target 3x)\n',
  );
}

function mb(bytes: number): string {
  return `${(bytes / MEGABYTE).toFixed(0).padStart(6)} MB`;
}

function bodyOf(queue: string, items: number, payloadBytes: number): string {
  const payload = 'x'.repeat(payloadBytes - 2);
  return JSON.stringify({ items: Array.from({ length: items }, () => ({ queue, payload })) });
}

async function expectPushed(client: PushClient, body: string): Promise<void> {
  const answer = await client.push(body, PUSH_TIMEOUT_MS);
  if (typeof answer === 'string' || answer.status !== 201) {
    throw new Error(`a push was answered ${JSON.stringify(answer).slice(0, 200)}`);
  }
}

async function configure(node: NodeProcess, queue: string): Promise<void> {
  const { host, port } = node.address;
  const options = { retentionEnabled: true, retentionSeconds: WINDOW_SECONDS };
  const response = await fetch(`http://${host}:${port}/api/v1/configure`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ queue, options }),
  });
  if (response.status !== 200) throw new Error(`configure was answered ${response.status}`);
}
