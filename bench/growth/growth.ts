// What the measurements of growth share: a node, what fills it, and a comparison in figures.

import { type Contestant, costOf, rateOf, ratios, sideBySide } from '../load/side-by-side.js';
import type { Load, LoadProgram } from '../native/load-program.js';
import { type Figure, figure, type Target } from '../report/figure.js';
import { HttpExchange } from '../rig/http-exchange.js';
import { NodeGroup } from '../rig/node-group.js';
import type { NodeProcess } from '../rig/node-process.js';
import type { Scratch } from '../rig/scratch.js';
import type { GrowthOptions } from './options.js';

export interface Growth {
  readonly options: GrowthOptions;
  readonly scratch: Scratch;
  readonly program: LoadProgram;
  /** One line about what is going on, on standard error: standard output is for the results. */
  readonly say: (line: string) => void;
}

export const CONNECTIONS = 64;
export const PAYLOAD_BYTES = 256;
const WARM_UP_SECONDS = 2;
const CLIENTS = 16;
const ANSWER_MS_MAX = 120_000;

/** A node alone, on an empty directory. It ends with the scratch, or by `end`. */
export async function startNode({ scratch, options }: Growth): Promise<NodeProcess> {
  const [node] = (await NodeGroup.start(scratch, 1, options.entry)).nodes;
  if (node === undefined) throw new Error('a group of one has one node');
  return node.process;
}

/** SIGKILL, and the milliseconds until `/health` answers 200 again. */
export async function restart(node: NodeProcess): Promise<number> {
  await node.kill();
  return node.start();
}

export function loadOn(node: NodeProcess, load: Pick<Load, 'queue' | 'items'>): Load {
  const target = { protocol: 'http', ports: [node.plan.port], kind: '' } as const;
  return { ...target, work: 'publish', connections: CONNECTIONS, batch: 1, ...load };
}

/** Pushes all of these bodies once, over some connections. */
export async function pushAll(node: NodeProcess, bodies: Iterator<string>): Promise<void> {
  const clients = Array.from({ length: CLIENTS }, async () => {
    const exchange = new HttpExchange(node.address);
    for (let next = bodies.next(); next.done !== true; next = bodies.next()) {
      const path = '/api/v1/push';
      const { status, body } = await exchange.request('POST', path, next.value, ANSWER_MS_MAX);
      if (status !== 201) throw new Error(`push: ${status} ${body.toString('utf8', 0, 300)}`);
    }
    exchange.close();
  });
  await Promise.all(clients);
}

/** Bodies of pushes with `batch` of the items that `itemOf` makes, `count` in all. */
export function* pushBodies(
  count: number,
  batch: number,
  itemOf: (i: number) => string,
): Generator<string> {
  for (let first = 0; first < count; first += batch) {
    const length = Math.min(batch, count - first);
    const items = Array.from({ length }, (_, i) => itemOf(first + i));
    yield `{"items":[${items.join(',')}]}`;
  }
}

/** The first contestant is what the others are compared with. */
export async function compare(
  { program, options }: Growth,
  work: string,
  contestants: readonly Contestant[],
  target: Target | null,
): Promise<readonly Figure[]> {
  const plan = { ...options, warmUpSeconds: WARM_UP_SECONDS };
  const [base, ...others] = await sideBySide(program, contestants, plan);
  if (base === undefined) throw new Error(`${work}: nothing to compare`);
  return [
    ...[base, ...others].flatMap((tally) => [
      figure(`${work}, ${tally.name}`, 'messages/s', tally.rounds.map(rateOf), ''),
      figure(`${work}, ${tally.name}: server`, 'us/message', tally.rounds.map(costOf), ''),
    ]),
    ...others.flatMap((tally) => {
      const note = `${tally.name} to ${base.name}`;
      return [
        figure(`${work}: server time`, 'ratio', ratios(tally, base, costOf), note, target),
        figure(`${work}: by the rate`, 'ratio', ratios(base, tally, rateOf), note),
      ];
    }),
  ];
}
