// The command line of `npm run bench`.

import { parseArgs } from 'node:util';
import { integer, someOf } from '../option-values.js';
import { STATE_SURFACES, type StateSurface } from '../state.js';

export const SCENARIOS = ['push', 'pop', 'e2e', 'latency', 'storage'] as const;
export type ScenarioName = (typeof SCENARIOS)[number];

export interface BenchOptions {
  readonly scenarios: readonly ScenarioName[];
  readonly connections: number;
  readonly partitions: number;
  readonly payloadBytes: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly runs: number;
  readonly ratePerSecond: number;
  readonly storedMessages: number;
  /** Nothing but the consensus core, without a node. */
  readonly raft: boolean;
  /** Nothing but the disk that a queue with a short window takes. */
  readonly retention: boolean;
  /** Nothing but the prices of units of work. */
  readonly prices: boolean;
  /** Nothing but a scrape of ten thousand queues. */
  readonly scrape: boolean;
  /** Nothing but what the machine can do without a broker. */
  readonly limits: boolean;
  /** Nothing but where the time of a node goes. */
  readonly stages: boolean;
  /** Nothing but a page of these result files; empty: not that. */
  readonly pageOf: readonly string[];
  /** Results of a second run, to be held to those of the page; empty: there was none. */
  readonly again: readonly string[];
  /** Nothing but these state surfaces; empty: none of them. */
  readonly surfaces: readonly StateSurface[];
  /** Nothing but timers that come due while so many others wait; null: not that. */
  readonly timersPending: number | null;
  readonly profile: boolean;
  readonly jsonFile: string | undefined;
  readonly entry: string | undefined;
}

export const USAGE = `npm run bench -- [options]
  --only LIST        of ${SCENARIOS.join(',')} (default all)
  --connections N    connections at a time (default 64)
  --partitions N     partitions of a queue; used in turn (default 64)
  --payload N        bytes of a payload's JSON text (default 256)
  --seconds N        measured seconds of a run (default 10)
  --warm-up N        seconds before the measured ones (default 2)
  --runs N           runs of each figure; the median counts (default 3)
  --rate N           pushes a second of the open loop (default 1000)
  --stored N         messages stored for the storage figures (default 5000000)
  --raft             only the consensus core, three nodes in one process
  --retention        only the disk of a queue that is written at 50 MB/s with a 10 s window
  --prices           only the prices of units of work, beside what they cost here
  --scrape           only GET /metrics/prometheus on a node with ten thousand queues
  --limits           only what the machine, the disk and the HTTP library can do without a broker
  --stages           only where the time of a node goes, by stage of a request
  --page FILES       only a page of results: one file of --against, others of bench-scale
  --again FILES      with --page: a second run of --against, whose ratios shall be the same
  --kv               only key/value writes, in calls of 64, and their latency at half the target
  --timers           only the same of timers that are scheduled
  --locks            only the same of locks that are acquired
  --timers-due N     only how late 5,000 timers a second fire while N others wait
  --profile          write CPU profiles of the node and print where its time goes
  --json FILE        where the results go (default bench/results/<time>.json)
  --entry FILE       the file that starts a node (default packages/broker/dist/main.js)`;

/** Throws an Error that says what is wrong with the arguments. */
export function readOptions(commandLine: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...commandLine],
    options: {
      only: { type: 'string' },
      connections: { type: 'string', default: '64' },
      partitions: { type: 'string', default: '64' },
      payload: { type: 'string', default: '256' },
      seconds: { type: 'string', default: '10' },
      'warm-up': { type: 'string', default: '2' },
      runs: { type: 'string', default: '3' },
      rate: { type: 'string', default: '1000' },
      stored: { type: 'string', default: '5000000' },
      raft: { type: 'boolean', default: false },
      retention: { type: 'boolean', default: false },
      prices: { type: 'boolean', default: false },
      scrape: { type: 'boolean', default: false },
      limits: { type: 'boolean', default: false },
      stages: { type: 'boolean', default: false },
      page: { type: 'string' },
      again: { type: 'string' },
      kv: { type: 'boolean', default: false },
      timers: { type: 'boolean', default: false },
      locks: { type: 'boolean', default: false },
      'timers-due': { type: 'string' },
      profile: { type: 'boolean', default: false },
      json: { type: 'string' },
      entry: { type: 'string' },
    },
  });
  return {
    scenarios: values.only === undefined ? SCENARIOS : someOf('only', values.only, SCENARIOS),
    connections: integer('connections', values.connections, 1, 4096),
    partitions: integer('partitions', values.partitions, 1, 65_536),
    payloadBytes: integer('payload', values.payload, 16, 1_048_576),
    seconds: integer('seconds', values.seconds, 1, 600),
    warmUpSeconds: integer('warm-up', values['warm-up'], 0, 60),
    runs: integer('runs', values.runs, 1, 99),
    ratePerSecond: integer('rate', values.rate, 1, 100_000),
    storedMessages: integer('stored', values.stored, 1000, 1_000_000_000),
    raft: values.raft,
    retention: values.retention,
    prices: values.prices,
    scrape: values.scrape,
    limits: values.limits,
    stages: values.stages,
    pageOf: values.page?.split(',') ?? [],
    again: values.again?.split(',') ?? [],
    surfaces: STATE_SURFACES.filter((surface) => values[surface]),
    timersPending: pendingOf(values['timers-due']),
    profile: values.profile,
    jsonFile: values.json,
    entry: values.entry,
  };
}

function pendingOf(given: string | undefined): number | null {
  return given === undefined ? null : integer('timers-due', given, 0, 10_000_000);
}
