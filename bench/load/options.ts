// The command line of `npm run bench`.

import { parseArgs } from 'node:util';

export const SCENARIOS = ['push', 'pop', 'e2e', 'latency', 'storage', 'redis'] as const;
export type ScenarioName = (typeof SCENARIOS)[number];

const CLIENTS = ['auto', 'wrk', 'own', 'both'] as const;

/** Which program makes the load of the push figures. */
export type LoadClient = (typeof CLIENTS)[number];

export interface BenchOptions {
  readonly scenarios: readonly ScenarioName[];
  readonly client: LoadClient;
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
  readonly profile: boolean;
  readonly jsonFile: string | undefined;
  readonly entry: string | undefined;
}

export const USAGE = `npm run bench -- [options]
  --only LIST        of ${SCENARIOS.join(',')} (default: all but redis)
  --redis            add redis: the same load on Redis Streams, and the ratio to it
  --client NAME      push load by ${CLIENTS.join(' | ')}; auto is wrk when it is installed,
                     cross-checked by one run of the own client (default auto)
  --connections N    connections at a time (default 64)
  --partitions N     partitions of a queue; connection i uses partition i modulo N (default 64)
  --payload N        bytes of a payload's JSON text (default 256)
  --seconds N        measured seconds of a run (default 10)
  --warm-up N        seconds before the measured ones (default 2)
  --runs N           runs of each figure; the median counts (default 3)
  --rate N           pushes a second of the open loop (default 1000)
  --stored N         messages stored for the storage figures (default 5000000)
  --raft             only the consensus core, three nodes in one process
  --profile          write CPU profiles of the node and print where its time goes
  --json FILE        where the results go (default bench/results/<time>.json)
  --entry FILE       the file that starts a node (default packages/broker/dist/main.js)`;

/** Throws an Error that says what is wrong with the arguments. */
export function readOptions(commandLine: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...commandLine],
    options: {
      only: { type: 'string' },
      redis: { type: 'boolean', default: false },
      client: { type: 'string', default: 'auto' },
      connections: { type: 'string', default: '64' },
      partitions: { type: 'string', default: '64' },
      payload: { type: 'string', default: '256' },
      seconds: { type: 'string', default: '10' },
      'warm-up': { type: 'string', default: '2' },
      runs: { type: 'string', default: '3' },
      rate: { type: 'string', default: '1000' },
      stored: { type: 'string', default: '5000000' },
      raft: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      json: { type: 'string' },
      entry: { type: 'string' },
    },
  });
  return {
    scenarios: readScenarios(values.only, values.redis),
    client: oneOf('client', values.client, CLIENTS),
    connections: integer('connections', values.connections, 1, 4096),
    partitions: integer('partitions', values.partitions, 1, 65_536),
    payloadBytes: integer('payload', values.payload, 16, 1_048_576),
    seconds: integer('seconds', values.seconds, 1, 600),
    warmUpSeconds: integer('warm-up', values['warm-up'], 0, 60),
    runs: integer('runs', values.runs, 1, 99),
    ratePerSecond: integer('rate', values.rate, 1, 100_000),
    storedMessages: integer('stored', values.stored, 1000, 1_000_000_000),
    raft: values.raft,
    profile: values.profile,
    jsonFile: values.json,
    entry: values.entry,
  };
}

function readScenarios(only: string | undefined, redis: boolean): readonly ScenarioName[] {
  const named = only === undefined ? null : only.split(',');
  const chosen = new Set<ScenarioName>();
  for (const name of named ?? SCENARIOS.filter((scenario) => scenario !== 'redis')) {
    chosen.add(oneOf('only', name, SCENARIOS));
  }
  if (redis) {
    chosen.add('redis');
  }
  return SCENARIOS.filter((scenario) => chosen.has(scenario));
}

function oneOf<T extends string>(option: string, text: string, allowed: readonly T[]): T {
  const found = allowed.find((name) => name === text);
  if (found === undefined) {
    throw new Error(`--${option} ${text}: not one of ${allowed.join(', ')}`);
  }
  return found;
}

function integer(option: string, text: string, lowest: number, highest: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < lowest || value > highest) {
    throw new Error(`--${option} ${text}: not a whole number from ${lowest} to ${highest}`);
  }
  return value;
}
