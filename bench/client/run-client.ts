// `npm run bench -- --client`: what the client costs beside requests that were made before, and how
// fast a program is with it that uses BullMQ today.
//
// The figure of the node is processor time: the client runs on the same cores as the node and has
// its own price, which the last rows show. Sides take turns in each round, so both meet the same
// other work of the machine, and a ratio is one of two turns that followed each other.

import { requirePeers } from '../against/start-peers.js';
import { payloadTexts, pushRequests } from '../load/push-requests.js';
import { LoadProgram } from '../native/load-program.js';
import { atMost, type Figure, figure, type Target } from '../report/figure.js';
import { renderFigures, report } from '../report/report.js';
import { NodeGroup } from '../rig/node-group.js';
import { processorSeconds } from '../rig/processor-time.js';
import { Scratch } from '../rig/scratch.js';
import { bullmqContender } from './bullmq-contender.js';
import { BATCH, type Contender } from './contender.js';
import type { ClientOptions } from './options.js';
import { pushByHand, svcContender } from './svc-contender.js';

const MICROSECONDS = 1e6;
const atLeast = (value: number): Target => ({ bound: 'at least', value });

interface Turn {
  readonly perSecond: number;
  /** Processor time a message, in microseconds. */
  readonly serverUs: number;
  readonly programUs: number;
}

export async function runClient(options: ClientOptions): Promise<void> {
  requirePeers(['redis']);
  const scratch = new Scratch();
  scratch.endOnSignals();
  const startedAt = new Date();
  const group = await NodeGroup.start(scratch, 1, options.entry);
  const plan = { ...options, payloads: payloadTexts(BATCH, options.payloadBytes) };
  const client = svcContender(group, plan);
  const bullmq = await bullmqContender(scratch, plan);
  const untilOver = () => {
    const untilMs = performance.now() + options.seconds * 1000;
    return () => performance.now() > untilMs;
  };
  const turns = {
    'pushed, native load program': () => nativeTurn(scratch, group, options),
    'pushed, requests by hand': () => timed(client, () => pushByHand(group, plan, untilOver())),
    'pushed, @svc/client': () => timed(client, () => client.push(untilOver())),
    'pushed, BullMQ': () => timed(bullmq, () => bullmq.push(untilOver())),
    'consumed, @svc/client': () => consumeTurn(client, options.stored),
    'consumed, BullMQ': () => consumeTurn(bullmq, options.stored),
  };
  const taken = new Map<string, Turn[]>(Object.keys(turns).map((name) => [name, []]));
  try {
    // The first round warms up, and does not count.
    for (let round = 0; round <= options.rounds; round += 1) {
      process.stderr.write(round === 0 ? 'warm-up\n' : `round ${round} of ${options.rounds}\n`);
      for (const [name, take] of Object.entries(turns)) {
        const turn = await take();
        if (round > 0) taken.get(name)?.push(turn);
      }
    }
    const measured = figuresOf(taken);
    report({ kind: 'client', options, startedAt, measured, table: renderFigures(measured) });
  } finally {
    await client.stop();
    await bullmq.stop();
    await group.end();
    scratch.close();
  }
}

async function nativeTurn(
  scratch: Scratch,
  group: NodeGroup,
  options: ClientOptions,
): Promise<Turn> {
  const { producers, payloadBytes, seconds } = options;
  const leader = await group.leader();
  const load = {
    protocol: 'http',
    ports: [leader.process.plan.port],
    queue: 'native',
    kind: '',
    work: 'publish',
    items: pushRequests('native', producers, BATCH, payloadBytes),
    connections: producers,
    batch: BATCH,
  } as const;
  const running = await LoadProgram.in(scratch).open(load);
  const pids = group.nodes.map(({ process }) => process.pid);
  const before = processorSeconds(pids);
  const { whole, messages, seconds: took } = await running.turn({ warmUpSeconds: 0, seconds });
  const serverUs = ((processorSeconds(pids) - before) * MICROSECONDS) / whole.messages;
  await running.close();
  const programUs = (whole.processorSeconds * MICROSECONDS) / whole.messages;
  return { perSecond: messages / took, serverUs, programUs };
}

async function consumeTurn(contender: Contender, messages: number): Promise<Turn> {
  await contender.fill(messages);
  return timed(contender, async () => {
    await contender.consume(messages);
    return messages;
  });
}

/** `work` resolves to the messages that it dealt with. */
async function timed(contender: Contender, work: () => Promise<number>): Promise<Turn> {
  const server = processorSeconds(contender.pids);
  const program = process.cpuUsage();
  const startedMs = performance.now();
  const messages = await work();
  const seconds = (performance.now() - startedMs) / 1000;
  const { user, system } = process.cpuUsage(program);
  const serverUs = ((processorSeconds(contender.pids) - server) * MICROSECONDS) / messages;
  return { perSecond: messages / seconds, serverUs, programUs: (user + system) / messages };
}

function figuresOf(taken: ReadonlyMap<string, readonly Turn[]>): readonly Figure[] {
  const ratio = (name: string, what: keyof Turn, of: string, to: string, target: Target | null) => {
    const [left, right] = [taken.get(of) ?? [], taken.get(to) ?? []];
    const runs = left.map((turn, round) => turn[what] / (right[round]?.[what] ?? Number.NaN));
    return figure(name, 'x', runs, `${of} to ${to}`, target);
  };
  const pushed = 'pushed, @svc/client';
  return [
    ratio('node, a message', 'serverUs', pushed, 'pushed, requests by hand', atMost(1.25)),
    ratio('node, without ids', 'serverUs', pushed, 'pushed, native load program', null),
    ratio('push rate', 'perSecond', pushed, 'pushed, BullMQ', atLeast(2)),
    ratio('consume rate', 'perSecond', 'consumed, @svc/client', 'consumed, BullMQ', atLeast(3)),
    ...[...taken].flatMap(([name, turns]) => rowsOf(name, turns)),
  ];
}

function rowsOf(name: string, turns: readonly Turn[]): readonly Figure[] {
  const row = (what: keyof Turn, unit: string, note: string) =>
    figure(
      name,
      unit,
      turns.map((turn) => turn[what]),
      note,
    );
  return [
    row('perSecond', 'messages/s', ''),
    row('serverUs', 'us', 'processor time of the server, a message'),
    row('programUs', 'us', 'processor time of the program, a message'),
  ];
}
