// `npm run bench -- --kv`, `--timers`, `--locks`: how much one node alone takes of the state
// surfaces, and how long a call waits at half the target. Every call is acknowledged after
// `fdatasync`. The limits per tenant are lifted: they are not what is measured.
//
// Two figures for each surface. Closed loop: each connection sends its next call when its answer
// came; the rate is what the node can take. Open loop: calls leave at scheduled moments, and a
// latency runs from the scheduled moment, so that a stall counts for every call that was due in it.

import { join } from 'node:path';
import { checkoutRoot, nodeEntry } from './checkout.js';
import { requestBytes } from './http-connection.js';
import {
  ClosedLoop,
  LoadFailedError,
  type LoadProgram,
  type LoopWindow,
} from './load/closed-loop.js';
import { runOpenLoop } from './load/open-loop.js';
import { summarize } from './load/percentiles.js';
import { renderProfiles } from './load/profile.js';
import { LockPairs } from './lock-pairs.js';
import { freePort, NodeProcess } from './node-process.js';
import { Scratch } from './scratch.js';

export const STATE_SURFACES = ['kv', 'timers', 'locks'] as const;
export type StateSurface = (typeof STATE_SURFACES)[number];

export interface StateBenchOptions {
  readonly surfaces: readonly StateSurface[];
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly entry: string | undefined;
  readonly profile: boolean;
}

interface Surface {
  /** What is counted. */
  readonly what: string;
  readonly path: string;
  /** Operations of a call. */
  readonly batch: number;
  /** Operations a second; half of it is the rate of the open loop. */
  readonly target: number;
  /** The `n`th operation. */
  readonly operation: (n: number) => object;
  /** A part of the answer that shows what came of the first operation. */
  readonly sign: string;
  /** What the connections of the closed loop do instead of repeating these calls. */
  readonly closed?: {
    readonly what: string;
    readonly target: number;
    readonly programs: () => readonly LoadProgram[];
  };
}

const CONNECTIONS = 16;
/** Distinct keys, timers and locks; each has been written before the second time round. */
const NAMES = 64_000;
const MS_PER_SECOND = 1000;

/** 100 bytes of JSON. */
const VALUE = { note: 'x'.repeat(80), n: 1.5 };
const PAYLOAD = Buffer.from(JSON.stringify(VALUE)).toString('base64');

const SURFACES: { readonly [surface in StateSurface]: Surface } = {
  kv: {
    what: 'single-key writes',
    path: '/api/v1/kv',
    batch: 64,
    target: 20_000,
    operation: (n) => ({ op: 'put', ns: 'bench', key: `key-${n}`, value: VALUE, forever: true }),
    sign: '"applied":true',
  },
  timers: {
    what: 'timers scheduled',
    path: '/api/v1/timers',
    batch: 64,
    target: 10_000,
    operation: (n) => ({
      op: 'schedule',
      queue: 'bench',
      timerKey: `timer-${n}`,
      delayMs: 3_600_000,
      txn: `txn-${n}`,
      payload: PAYLOAD,
    }),
    sign: '"ok":true',
  },
  locks: {
    what: 'locks acquired or kept',
    closed: {
      what: 'pairs of acquire and release, one in a call,',
      target: 2000,
      programs: () => Array.from({ length: 64 }, (_, i) => new LockPairs(`pair-${i}`)),
    },
    path: '/api/v1/locks',
    batch: 16,
    target: 4000,
    operation: (n) => ({ op: 'acquire', name: `lock-${n}`, owner: 'bench', ttlSeconds: 3600 }),
    sign: '"acquired":true',
  },
};

const UNLIMITED = '1000000000';
const ENVIRONMENT = {
  SVC_KV_READ_RATE: UNLIMITED,
  SVC_KV_READ_BURST: UNLIMITED,
  SVC_KV_WRITE_RATE: UNLIMITED,
  SVC_KV_WRITE_BURST: UNLIMITED,
};

export async function runStateBench(options: StateBenchOptions): Promise<void> {
  const scratch = new Scratch();
  scratch.endOnSignals();
  try {
    for (const surface of options.surfaces) await measure(surface, options, scratch);
  } finally {
    scratch.close();
  }
}

async function measure(
  name: StateSurface,
  { seconds, warmUpSeconds, entry, profile }: StateBenchOptions,
  scratch: Scratch,
): Promise<void> {
  const surface = SURFACES[name];
  const directory = scratch.directory(`state-${name}`);
  const profileDirectory = join(checkoutRoot(), 'bench', 'results', `profile-${name}`);
  const startedMs = Date.now();
  const node = new NodeProcess(
    {
      entry: nodeEntry(entry),
      port: await freePort(),
      dataDirectory: join(directory, 'node'),
      logFile: join(directory, 'node.log'),
      runtimeArguments: profile ? ['--cpu-prof', `--cpu-prof-dir=${profileDirectory}`] : [],
      environment: ENVIRONMENT,
    },
    scratch,
  );
  await node.start();
  const requests = requestsOf(surface);
  const { closed } = surface;
  const programs = closed?.programs() ?? callsOf(surface, requests);
  const loop = await ClosedLoop.open(node.address, programs);
  const window: LoopWindow = {
    warmUpMs: warmUpSeconds * MS_PER_SECOND,
    measureMs: seconds * MS_PER_SECOND,
    finished: () => false,
  };
  const { messagesPerSecond } = await loop.run(window);
  const ratePerSecond = surface.target / 2 / surface.batch;
  const plan = { address: node.address, connections: CONNECTIONS, requests, expectedStatus: 200 };
  const { latenciesMs, latenessMs } = await runOpenLoop({ ...plan, ratePerSecond, seconds });
  const waited = summarize(latenciesMs);
  const late = summarize(latenessMs);
  const ms = (value: number) => `${value.toFixed(1)} ms`;
  process.stdout.write(
    `${name}: ${Math.round(messagesPerSecond)} ` +
      (closed === undefined
        ? `${surface.what} a second in calls of ${surface.batch} (target ${surface.target})\n`
        : `${closed.what} a second (target ${closed.target})\n`) +
      `${name}: at ${surface.target / 2} a second a call takes p50 ${ms(waited.p50Ms)}, ` +
      `p99 ${ms(waited.p99Ms)} (target 20 ms), max ${ms(waited.maxMs)}; ` +
      `the client was late by p99 ${ms(late.p99Ms)}\n`,
  );
  await node.stop();
  if (profile) process.stdout.write(`${renderProfiles(profileDirectory, startedMs)}\n`);
}

function requestsOf({ path, batch, operation }: Surface): readonly Uint8Array[] {
  return Array.from({ length: NAMES / batch }, (_, call) => {
    const operations = Array.from({ length: batch }, (_, i) => operation(call * batch + i));
    return requestBytes('POST', path, JSON.stringify(operations));
  });
}

function callsOf(surface: Surface, requests: readonly Uint8Array[]): readonly LoadProgram[] {
  const share = requests.length / CONNECTIONS;
  return Array.from(
    { length: CONNECTIONS },
    (_, i) => new Calls(surface, requests, Math.floor(i * share)),
  );
}

/** Sends prepared calls one after the other, from its own place among them on. */
class Calls implements LoadProgram {
  readonly #surface: Surface;
  readonly #requests: readonly Uint8Array[];
  #next: number;

  constructor(surface: Surface, requests: readonly Uint8Array[], first: number) {
    this.#surface = surface;
    this.#requests = requests;
    this.#next = first;
  }

  next(): Uint8Array | null {
    this.#next = (this.#next + 1) % this.#requests.length;
    return this.#requests[this.#next] ?? null;
  }

  take(status: number, body: Buffer): number {
    const { sign, batch } = this.#surface;
    if (status === 200 && body.indexOf(sign) > 0) return batch;
    throw new LoadFailedError(`answer ${status}: ${body.toString('utf8', 0, 300)}`);
  }
}
