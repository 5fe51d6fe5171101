// One queue with 10, 100 and 1,000 consumers that wait: how long a message of a steady load
// needs until one of them has it, and what it costs the node, its pop and its ack included.

import { costOf, sideBySide, type Tally } from '../load/side-by-side.js';
import { type Figure, figure } from '../report/figure.js';
import { type Growth, loadOn, startNode } from './growth.js';
import { numberedPushes } from './numbered-pushes.js';

const COUNTS = [10, 100, 1000] as const;
const PUSHES_PER_SECOND = 1000;
const PRODUCERS = 32;
const WARM_UP_SECONDS = 2;
/** Beyond the measured seconds of a round: the lead-in of its turn. */
const MORE_SECONDS = 1;

export async function measureConsumers(growth: Growth): Promise<readonly Figure[]> {
  const { options, program } = growth;
  const node = await startNode(growth);
  const figures: Figure[] = [];
  for (const consumers of COUNTS) {
    const queue = `steady${consumers}`;
    const seconds = Math.max(options.seconds, WARM_UP_SECONDS) + MORE_SECONDS;
    const items = numberedPushes(queue, PUSHES_PER_SECOND * seconds);
    const load = {
      ...loadOn(node, { queue, items }),
      work: 'consume',
      connections: PRODUCERS + consumers,
      consumers,
      ratePerSecond: PUSHES_PER_SECOND,
    } as const;
    const contestant = { name: queue, pids: [node.pid], loadOf: () => load };
    const plan = { ...options, warmUpSeconds: WARM_UP_SECONDS };
    const [tally] = await sideBySide(program, [contestant], plan);
    if (tally !== undefined) figures.push(...figuresOf(tally, consumers));
  }
  await node.kill();
  return figures;
}

function figuresOf({ rounds }: Tally, consumers: number): readonly Figure[] {
  const note = `${PUSHES_PER_SECOND} single pushes/s, from the moment each was due`;
  const name = `${consumers} consumers`;
  return [
    figure(
      `delivery p50, ${name}`,
      'ms',
      rounds.map(({ delivery }) => delivery.p50Ms),
      note,
    ),
    figure(
      `delivery p99, ${name}`,
      'ms',
      rounds.map(({ delivery }) => delivery.p99Ms),
      note,
    ),
    figure(`push, pop, ack, ${name}: server`, 'us/message', rounds.map(costOf), note),
  ];
}
