// A noisy neighbour: a queue with a steady load and consumers that wait for it, in turn alone and
// beside another queue to which five hundred messages a second come that all become dead letters,
// one by one. Both loads are the native program's: with clients in JavaScript on the same two
// cores, half of what was measured was them.

import { type Figure, figure } from '../load/figure.js';
import { pushRequests } from '../load/push-requests.js';
import { LoadProgram } from '../native/load-program.js';
import type { LoadResult } from '../native/load-result.js';
import { Rounds, unitOf } from './rounds.js';
import type { Scale } from './scale.js';
import { ScaleNode } from './scale-node.js';
import { numberedPushes } from './steady-queue.js';

const ROUNDS = 5;
/** Half of them push, each of the others holds a pop that waits. */
const STEADY_CONNECTIONS = 64;
const PUSHES_PER_SECOND = 1000;
const WARM_UP_SECONDS = 1;
/** Of the node itself, before the first round: it compiles meanwhile. */
const FIRST_SECONDS = 8;
const STORM_CONNECTIONS = 16;
const LETTERS_PER_SECOND = 500;
/** It is under way before the steady load begins, and still when that ends. */
const STORM_MORE_SECONDS = 3;
const STORM_PARTITIONS = 64;
const PAYLOAD_BYTES = 256;

export async function measureNeighbour(scale: Scale): Promise<readonly Figure[]> {
  const { entry, seconds } = scale.options;
  const { process: node } = await ScaleNode.start(scale.scratch, entry);
  const loads = new Loads(LoadProgram.in(scale.scratch), node.address.port);
  const rounds = new Rounds();
  await Promise.all([loads.storm(FIRST_SECONDS), loads.steady(FIRST_SECONDS)]);
  for (let round = 0; round < ROUNDS; round += 1) {
    add(scale, rounds, 'alone', await loads.steady(seconds));
    const stormSeconds = seconds + STORM_MORE_SECONDS;
    const [storm, beside] = await Promise.all([loads.storm(stormSeconds), loads.steady(seconds)]);
    add(scale, rounds, 'beside a storm', beside);
    rounds.add('dead letters/s of the storm', storm.messages / storm.seconds);
  }
  await node.kill();
  const consumers = STEADY_CONNECTIONS / 2;
  const note = `${PUSHES_PER_SECOND} single pushes/s, ${consumers} consumers, in turn`;
  const raised = (what: string) =>
    figure(
      `${what} beside a storm to alone`,
      'ratio',
      rounds.ratios(`${what} beside a storm`, `${what} alone`),
      `${LETTERS_PER_SECOND} dead letters/s in another queue`,
    );
  return [
    ...rounds.figures((name) => (name.startsWith('dead') ? '' : unitOf(name)), note),
    ...['push p50', 'push p99', 'delivery p50', 'delivery p99'].map(raised),
  ];
}

class Loads {
  readonly #load: LoadProgram;
  readonly #port: number;
  #queues = 0;

  constructor(load: LoadProgram, port: number) {
    this.#load = load;
    this.#port = port;
  }

  /** Each on a queue of its own: nothing lies there. */
  steady(seconds: number): Promise<LoadResult> {
    this.#queues += 1;
    const queue = `steady${this.#queues}`;
    const pushes = PUSHES_PER_SECOND * (seconds + WARM_UP_SECONDS);
    return this.#run({
      queue,
      kind: '',
      items: numberedPushes(queue, pushes),
      connections: STEADY_CONNECTIONS,
      seconds,
      warmUpSeconds: WARM_UP_SECONDS,
      ratePerSecond: PUSHES_PER_SECOND,
    });
  }

  storm(seconds: number): Promise<LoadResult> {
    return this.#run({
      queue: 'storm',
      kind: 'dlq',
      items: pushRequests('storm', STORM_PARTITIONS, 1, PAYLOAD_BYTES),
      connections: STORM_CONNECTIONS,
      seconds,
      warmUpSeconds: 0,
      ratePerSecond: LETTERS_PER_SECOND,
    });
  }

  #run(plan: {
    readonly queue: string;
    readonly kind: string;
    readonly items: readonly Uint8Array[];
    readonly connections: number;
    readonly seconds: number;
    readonly warmUpSeconds: number;
    readonly ratePerSecond: number;
  }): Promise<LoadResult> {
    return this.#load.run({
      ...plan,
      protocol: 'http',
      ports: [this.#port],
      work: 'consume',
      batch: 1,
      atEdge: () => undefined,
    });
  }
}

function add(scale: Scale, rounds: Rounds, when: string, { latency, delivery }: LoadResult): void {
  rounds.add(`push p50 ${when}`, latency.p50Ms);
  rounds.add(`push p99 ${when}`, latency.p99Ms);
  rounds.add(`delivery p50 ${when}`, delivery.p50Ms);
  rounds.add(`delivery p99 ${when}`, delivery.p99Ms);
  scale.say(
    `${when}: push p50 ${latency.p50Ms.toFixed(2)}, p99 ${latency.p99Ms.toFixed(2)} ms; ` +
      `delivery p50 ${delivery.p50Ms.toFixed(2)}, p99 ${delivery.p99Ms.toFixed(2)} ms`,
  );
}
