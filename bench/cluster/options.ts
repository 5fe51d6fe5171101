// The command line of `npm run bench -- --cluster`.

import { parseArgs } from 'node:util';
import { integer, someOf } from '../rig/option-values.js';

export const SCENARIOS = ['failover', 'handoff', 'distance', 'join', 'soak', 'standby'] as const;
export type ScenarioName = (typeof SCENARIOS)[number];

export interface ClusterOptions {
  readonly scenarios: readonly ScenarioName[];
  readonly nodes: number;
  readonly times: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly ratePerSecond: number;
  readonly connections: number;
  readonly storedMib: number;
  readonly soakMinutes: number;
  readonly jsonFile: string | undefined;
  readonly entry: string | undefined;
}

export const CLUSTER_USAGE = `npm run bench -- --cluster LIST [options]
  --cluster LIST     of ${SCENARIOS.join(',')}: a cluster on this machine
  --nodes N          nodes of the cluster (default 3)
  --times N          leaders that are killed, and stopped (default 20)
  --rounds N         of the distance (default 5)
  --seconds N        measured seconds of a latency (default 10)
  --rate N           pushes a second of a latency (default 500)
  --connections N    connections of the load that leaders are lost under (default 24)
  --stored N         MiB that a new node, or a seed, has to fetch (default 1024)
  --soak-minutes N   length of the soak (default 20)
  --entry FILE, --json FILE`;

/** Throws an Error that says what is wrong with the arguments. */
export function readClusterOptions(commandLine: readonly string[]): ClusterOptions {
  const { values } = parseArgs({
    args: [...commandLine],
    options: {
      cluster: { type: 'string', default: 'failover' },
      nodes: { type: 'string', default: '3' },
      times: { type: 'string', default: '20' },
      rounds: { type: 'string', default: '5' },
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
    scenarios: someOf('cluster', values.cluster, SCENARIOS),
    nodes: integer('nodes', values.nodes, 1, 9),
    times: integer('times', values.times, 1, 1000),
    rounds: integer('rounds', values.rounds, 1, 99),
    seconds: integer('seconds', values.seconds, 1, 600),
    ratePerSecond: integer('rate', values.rate, 1, 100_000),
    connections: integer('connections', values.connections, 1, 1024),
    storedMib: integer('stored', values.stored, 1, 1 << 20),
    soakMinutes: integer('soak-minutes', values['soak-minutes'], 1, 10_000),
    jsonFile: values.json,
    entry: values.entry,
  };
}
