// A noisy neighbour: a queue with a steady load and consumers that wait for it, in turn alone and
// beside another queue to which five hundred messages a second come that all become dead letters,
// one by one.

import { pushRequests } from '../load/push-requests.js';
import type { Load, TurnPlan, TurnResult } from '../native/load-program.js';
import { atMost, type Figure, figure } from '../report/figure.js';
import type { NodeProcess } from '../rig/node-process.js';
import { type Growth, loadOn, PAYLOAD_BYTES, startNode } from './growth.js';
import { numberedPushes } from './numbered-pushes.js';

const PUSHES_PER_SECOND = 1000;
const LEAD_IN_SECONDS = 1;
/** The node compiles meanwhile. */
const WARM_UP_SECONDS = 8;
const STORM_CONNECTIONS = 16;
const LETTERS_PER_SECOND = 500;
/** The storm is under way before the steady load begins, and still when that ends. */
const STORM_MORE_SECONDS = 3;
const PARTITIONS = 64;

const VALUES: readonly (readonly [string, (result: TurnResult) => number])[] = [
  ['push p50', ({ latency }) => latency.p50Ms],
  ['push p99', ({ latency }) => latency.p99Ms],
  ['delivery p50', ({ delivery }) => delivery.p50Ms],
  ['delivery p99', ({ delivery }) => delivery.p99Ms],
];

export async function measureNeighbour(growth: Growth): Promise<readonly Figure[]> {
  const { options, program } = growth;
  const node = await startNode(growth);
  const steady = async (seconds: number, number: number): Promise<TurnResult> => {
    const plan: TurnPlan = { warmUpSeconds: LEAD_IN_SECONDS, seconds };
    return program.run(steadyOn(node, `steady${number}`, seconds), plan);
  };
  const storm = (seconds: number): Promise<TurnResult> =>
    program.run(stormOn(node), { warmUpSeconds: 0, seconds });
  await Promise.all([storm(WARM_UP_SECONDS), steady(WARM_UP_SECONDS, 0)]);
  const [alone, beside, storms]: TurnResult[][] = [[], [], []];
  for (let round = 0; round < options.rounds; round += 1) {
    alone?.push(await steady(options.seconds, 2 * round + 1));
    const [letters, one] = await Promise.all([
      storm(options.seconds + STORM_MORE_SECONDS),
      steady(options.seconds, 2 * round + 2),
    ]);
    beside?.push(one);
    storms?.push(letters);
    growth.say(`round ${round + 1}`);
  }
  await node.kill();
  return figuresOf(alone ?? [], beside ?? [], storms ?? []);
}

function figuresOf(
  alone: readonly TurnResult[],
  beside: readonly TurnResult[],
  storms: readonly TurnResult[],
): readonly Figure[] {
  const note = `${PUSHES_PER_SECOND} single pushes/s that are consumed`;
  const letters = storms.map(({ messages, seconds }) => messages / seconds);
  return [
    figure('dead letters/s of the storm', '', letters, 'in another queue'),
    ...VALUES.flatMap(([name, value]) => {
      const ratios = beside.map((one, i) => value(one) / value(alone[i] ?? one));
      const target = name.endsWith('p99') ? atMost(1.25) : null;
      return [
        figure(`${name} alone`, 'ms', alone.map(value), note),
        figure(`${name} beside a storm`, 'ms', beside.map(value), note),
        figure(`${name} beside a storm to alone`, 'ratio', ratios, note, target),
      ];
    }),
  ];
}

/** Half of the connections push, each of the others holds a pop that waits. */
function steadyOn(node: NodeProcess, queue: string, seconds: number): Load {
  const items = numberedPushes(queue, PUSHES_PER_SECOND * (seconds + LEAD_IN_SECONDS));
  const load = loadOn(node, { queue, items });
  return { ...load, work: 'consume', ratePerSecond: PUSHES_PER_SECOND };
}

function stormOn(node: NodeProcess): Load {
  const items = pushRequests('storm', PARTITIONS, 1, PAYLOAD_BYTES);
  const load = {
    ...loadOn(node, { queue: 'storm', items }),
    kind: 'dlq',
    work: 'consume',
  } as const;
  return { ...load, connections: STORM_CONNECTIONS, ratePerSecond: LETTERS_PER_SECOND };
}
