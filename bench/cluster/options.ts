// The command line of `npm run bench-cluster`.

import { parseArgs } from 'node:util';
import { integer, someOf } from '../option-values.js';

export const SCENARIOS = ['failover', 'handoff', 'distance', 'join', 'soak'] as const;
export type ScenarioName = (typeof SCENARIOS)[number];

export interface ClusterBenchOptions {
  readonly scenarios: readonly ScenarioName[];
  readonly nodes: number;
  readonly times: number;
  readonly seconds: number;
  readonly ratePerSecond: number;
  readonly storedMib: number;
  readonly soakMinutes: number;
  readonly connections: number;
  readonly jsonFile: string | undefined;
  readonly entry: string | undefined;
}

export const USAGE = `npm run bench-cluster -- [options]
  --only LIST        of ${SCENARIOS.join(',')} (default: all but soak)
  --nodes N          nodes of the cluster (default 3)
  --times N          leaders that are killed, and stopped (default 20)
  --seconds N        measured seconds of a latency run (default 10)
  --rate N           pushes a second of a latency run (default 500)
  --connections N    connections of the load that leaders are lost under (default 24)
  --stored N         MiB that a new node has to fetch (default 1024)
  --soak-minutes N   length of the soak (default 20)
  --json FILE        where the results go (default bench/results/cluster-<time>.json)
  --entry FILE       the file that starts a node (default packages/broker/dist/main.js)`;

/** Throws an Error that says what is wrong with the arguments. */
export function readOptions(commandLine: readonly string[]): ClusterBenchOptions {
  const { values } = parseArgs({
    args: [...commandLine],
    options: {
      only: { type: 'string', default: SCENARIOS.filter((name) => name !== 'soak').join(',') },
      nodes: { type: 'string', default: '3' },
      times: { type: 'string', default: '20' },
      seconds: { type: 'string', default: '10' },
      rate: { type: 'string', default: '500' },
      connections: { type: 'string', default: '24' },
      stored: { type: 'string', default: '1024' },
      'soak-minutes': { type: 'string', default: '20' },
      json: { type: 'string' },
      entry: { type: 'string' },
    },
  });
  return {
    scenarios: someOf('only', values.only, SCENARIOS),
    nodes: integer('nodes', values.nodes, 2, 9),
    times: integer('times', values.times, 1, 1000),
    seconds: integer('seconds', values.seconds, 1, 600),
    ratePerSecond: integer('rate', values.rate, 1, 100_000),
    connections: integer('connections', values.connections, 1, 1024),
    storedMib: integer('stored', values.stored, 1, 1 << 20),
    soakMinutes: integer('soak-minutes', values['soak-minutes'], 1, 10_000),
    jsonFile: values.json,
    entry: values.entry,
  };
}
