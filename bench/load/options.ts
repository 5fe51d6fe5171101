// The command line of the load program, of the comparison of two builds and of that with others.

import { parseArgs } from 'node:util';
import { integer, integers, someOf } from '../rig/option-values.js';
import { REMOTE_WORKS, SHARED_WORKS, WORKS, type Work } from './works.js';

const PEERS = ['nats', 'rabbitmq', 'redis', 'postgres'] as const;
export type Peer = (typeof PEERS)[number];

/**
 * `durable`: an acknowledgement means "on disk", at a majority where there are three nodes.
 * `defaults`: the settings a system comes with. Ours has only the first.
 */
const SETTINGS = ['durable', 'defaults'] as const;
export type Setting = (typeof SETTINGS)[number];

export interface LoadOptions {
  readonly works: readonly Work[];
  readonly batches: readonly number[];
  readonly payloads: readonly number[];
  readonly nodes: number;
  readonly connections: number;
  readonly partitions: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly ratePerSecond: number;
  readonly profile: boolean;
  readonly url: string | undefined;
  readonly tokenFile: string | undefined;
  readonly entry: string | undefined;
  /** Another checkout, built. */
  readonly againstBuild: string | undefined;
  /** Nodes of this build with so many front threads, beside one another. */
  readonly httpThreads: readonly number[];
  readonly peers: readonly Peer[];
  readonly settings: readonly Setting[];
  readonly jsonFile: string | undefined;
}

export const LOAD_USAGE = `npm run bench -- [options]
  --only LIST        of ${WORKS.join(',')} (default all;
                     with --against: ${SHARED_WORKS.join(',')})
  --batches LIST     messages of a push, a pop and an ack; operations of a call (default 1,10,100)
  --payload LIST     bytes of a payload (default 256)
  --nodes N          nodes that are started, 1 or 3 (default 1)
  --connections N    connections at a time (default 64)
  --partitions N     partitions of the queue, used in turn (default 64)
  --rounds N         rounds of each load; the median counts (default 3)
  --seconds N        measured seconds of a round, of each system (default 3)
  --warm-up N        seconds before the first round (default 2)
  --rate N           pushes a second of the latency figures (default 1000)
  --profile          CPU profiles of the nodes: where their time goes, by folder and by function
  --url URL          a node or a balancer that runs there (http), instead of nodes of its own
  --token-file FILE  holds the bearer token for it
  --entry FILE       the file that starts a node (default packages/broker/dist/main.js)
  --json FILE        where the results go (default bench/results/<program>-<time>.json)

npm run bench -- --against-build PATH [options]
  another checkout, built, beside this one in turns; in one run both ways round, each with its
  rounds

npm run bench -- --http-threads LIST [options]
  --http-threads LIST  so many front threads (SVC_HTTP_THREADS), a system each

npm run bench -- --against LIST [options]
  --against LIST     of ${PEERS.join(',')}: other systems beside ours
  --settings LIST    of ${SETTINGS.join(',')} (default durable)
  --nodes 3          only of nats and rabbitmq`;

/** Throws an Error that says what is wrong with the arguments. */
export function readLoadOptions(commandLine: readonly string[]): LoadOptions {
  const { values } = parseArgs({
    args: [...commandLine],
    options: {
      only: { type: 'string' },
      batches: { type: 'string', default: '1,10,100' },
      payload: { type: 'string', default: '256' },
      nodes: { type: 'string', default: '1' },
      connections: { type: 'string', default: '64' },
      partitions: { type: 'string', default: '64' },
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '3' },
      'warm-up': { type: 'string', default: '2' },
      rate: { type: 'string', default: '1000' },
      profile: { type: 'boolean', default: false },
      url: { type: 'string' },
      'token-file': { type: 'string' },
      entry: { type: 'string' },
      'against-build': { type: 'string' },
      'http-threads': { type: 'string' },
      against: { type: 'string' },
      settings: { type: 'string', default: 'durable' },
      json: { type: 'string' },
    },
  });
  const { url, against, 'against-build': againstBuild, 'http-threads': threads } = values;
  if ([url, against, againstBuild, threads].filter((one) => one !== undefined).length > 1) {
    throw new Error('one of --url, --against, --against-build and --http-threads at a time');
  }
  const allowed = against !== undefined ? SHARED_WORKS : url !== undefined ? REMOTE_WORKS : WORKS;
  // The tenant there has a rate of key/value calls, which would be what is measured.
  const works = url === undefined ? allowed : allowed.filter((work) => work !== 'kv');
  return {
    works: values.only === undefined ? works : someOf('only', values.only, allowed),
    batches: integers('batches', values.batches, 1, 256),
    payloads: integers('payload', values.payload, 16, 65_536),
    nodes: Number(someOf('nodes', values.nodes, ['1', '3'])[0]),
    connections: integer('connections', values.connections, 2, 4095),
    partitions: integer('partitions', values.partitions, 1, 65_536),
    rounds: integer('rounds', values.rounds, 1, 99),
    seconds: integer('seconds', values.seconds, 1, 600),
    warmUpSeconds: integer('warm-up', values['warm-up'], 0, 60),
    ratePerSecond: integer('rate', values.rate, 1, 100_000),
    profile: values.profile,
    url,
    tokenFile: values['token-file'],
    entry: values.entry,
    againstBuild,
    httpThreads: threads === undefined ? [] : integers('http-threads', threads, 0, 8),
    peers: against === undefined ? [] : someOf('against', against, PEERS),
    settings: someOf('settings', values.settings, SETTINGS),
    jsonFile: values.json,
  };
}
