// Loads of a node that several measurements of growth share: how many messages a second it took,
// and what it spent on each. The processor time is the steadier of the two figures: other work on
// the machine takes rate away, but hardly changes it.

import { ClosedLoop } from '../load/closed-loop.js';
import { ConsumeProgram } from '../load/consume-program.js';
import { LoadProgram } from '../native/load-program.js';
import type { NodeProcess } from '../node-process.js';
import type { Scratch } from '../scratch.js';

export const CONNECTIONS = 64;

export interface Spent {
  readonly messagesPerSecond: number;
  /** Of the node, user and system, per message. */
  readonly processorUs: number;
}

export interface PushLoad {
  readonly requests: readonly Buffer[];
  /** Messages of each request. */
  readonly batch: number;
  readonly seconds: number;
}

/** Pushes as fast as the node takes them. */
export async function pushes(node: NodeProcess, load: PushLoad, scratch: Scratch): Promise<Spent> {
  const { requests, batch, seconds } = load;
  const program = LoadProgram.in(scratch);
  return spent(node, () =>
    program.run({
      protocol: 'http',
      ports: [node.plan.port],
      queue: 'unused',
      kind: '',
      work: 'publish',
      items: requests,
      connections: CONNECTIONS,
      batch,
      seconds,
      warmUpSeconds: 0,
      ratePerSecond: null,
      atEdge: () => undefined,
    }),
  );
}

export interface ConsumeLoad {
  readonly queue: string;
  readonly group: string;
  /** Messages of a pop; its last one is acknowledged, and with it all. */
  readonly batch: number;
  /** Stored and unread; the load ends when they are consumed. */
  readonly messages: number;
  readonly seconds: number;
}

/** Pops and acknowledges as fast as the node answers. */
export async function consumption(node: NodeProcess, load: ConsumeLoad): Promise<Spent> {
  const { queue, group, batch, messages, seconds } = load;
  const tally = { acknowledged: 0 };
  const programs = Array.from(
    { length: CONNECTIONS },
    () => new ConsumeProgram(queue, group, batch, tally),
  );
  const loop = await ClosedLoop.open(node.address, programs);
  return spent(node, () => loop.run(windowOf(seconds, () => tally.acknowledged >= messages)));
}

function windowOf(seconds: number, finished: () => boolean) {
  return { warmUpMs: 0, measureMs: seconds * 1000, finished };
}

async function spent(
  node: NodeProcess,
  load: () => Promise<{ readonly messages: number; readonly seconds: number }>,
): Promise<Spent> {
  const before = node.processorSeconds();
  const { messages, seconds } = await load();
  const processorUs = ((node.processorSeconds() - before) * 1e6) / messages;
  return { messagesPerSecond: messages / seconds, processorUs };
}
