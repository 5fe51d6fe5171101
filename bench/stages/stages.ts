// `npm run bench -- --stages`: where the time of a node goes, by stage of a request, for pushes and
// for messages pushed, popped and acknowledged; beside it a server that does nothing and gets the
// same requests. A node of its own for each load, under the CPU profiler of V8, which makes it some
// hundredths slower: shares count.

import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { checkoutRoot, nodeEntry } from '../checkout.js';
import type { BenchOptions } from '../load/options.js';
import type { CpuProfile } from '../load/profile.js';
import { pushRequests } from '../load/push-requests.js';
import { describeMachine } from '../load/report.js';
import { LoadProgram } from '../native/load-program.js';
import { freePort, NodeProcess } from '../node-process.js';
import { Scratch } from '../scratch.js';
import { type MainThread, mainThread, type Window } from './stage-shares.js';
import { STAGE_TEXTS, STAGES } from './stage-table.js';
import { type ProcessTimes, processTimes, since, type ThreadTime } from './thread-times.js';

const LOADS = [
  { name: 'push, 1', work: 'publish', batch: 1 },
  { name: 'push, 10', work: 'publish', batch: 10 },
  { name: 'push, 100', work: 'publish', batch: 100 },
  { name: 'push, pop, ack, 1', work: 'consume', batch: 1 },
  { name: 'push, pop, ack, 10', work: 'consume', batch: 10 },
  { name: 'push, pop, ack, 100', work: 'consume', batch: 100 },
] as const;
type Load = (typeof LOADS)[number];

const QUEUE = 'bench';
const SAMPLE_US = 500;

/** What one process did in a measured window. */
interface Spent {
  readonly messages: number;
  readonly window: Window;
  readonly main: ThreadTime;
  readonly others: ThreadTime;
}

interface Measured {
  readonly load: Load;
  readonly spent: Spent;
  readonly main: MainThread;
  /** Of a server that does nothing, per message; null: it has no pops to answer. */
  readonly bareUs: number | null;
}

export async function runStagesBench(options: BenchOptions): Promise<void> {
  const scratch = new Scratch();
  scratch.endOnSignals();
  const all: Measured[] = [];
  try {
    for (const load of LOADS) {
      process.stderr.write(`${load.name}\n`);
      all.push(await measureLoad(load, options, scratch));
    }
  } finally {
    scratch.close();
  }
  const { processor, cores, node } = describeMachine();
  const date = new Date().toISOString().slice(0, 10);
  process.stdout.write(`${processor}, ${cores} cores, Node ${node}, ${date}\n\n${tableOf(all)}`);
}

async function measureLoad(load: Load, options: BenchOptions, scratch: Scratch): Promise<Measured> {
  const directory = scratch.directory('stages');
  const profiles = join(directory, 'profiles');
  mkdirSync(join(directory, 'node'));
  const entry = nodeEntry(options.entry);
  const node = await startServer(scratch, directory, entry, {
    runtimeArguments: ['--cpu-prof', `--cpu-prof-dir=${profiles}`].concat(
      `--cpu-prof-interval=${SAMPLE_US}`,
    ),
  });
  const spent = await measured(node, load, options, scratch);
  await node.stop();
  const [name] = readdirSync(profiles);
  if (name === undefined) throw new Error('the node wrote no profile');
  const profile = JSON.parse(readFileSync(join(profiles, name), 'utf8')) as CpuProfile;
  const root = pathToFileURL(`${checkoutRoot()}/`).href;
  const main = mainThread(profile, spent.window, spent.main, root);
  const bareUs = load.work === 'publish' ? await bareServerUs(load, options, scratch) : null;
  scratch.remove(directory);
  return { load, spent, main, bareUs };
}

async function bareServerUs(load: Load, options: BenchOptions, scratch: Scratch): Promise<number> {
  const directory = scratch.directory('stages');
  const entry = fileURLToPath(new URL('../bare-server.js', import.meta.url));
  const server = await startServer(scratch, directory, entry, { runtimeArguments: [] });
  // It answers as for one message, whatever it was sent: a request counts as one.
  const { messages, main, others } = await measured(server, load, options, scratch, 1);
  await server.kill();
  scratch.remove(directory);
  return (main.ranUs + others.ranUs) / messages / load.batch;
}

async function startServer(
  scratch: Scratch,
  directory: string,
  entry: string,
  { runtimeArguments }: { readonly runtimeArguments: readonly string[] },
): Promise<NodeProcess> {
  const plan = {
    entry,
    port: await freePort(),
    dataDirectory: join(directory, 'node'),
    logFile: join(directory, 'node.log'),
    runtimeArguments,
    environment: {},
  };
  const node = new NodeProcess(plan, scratch);
  await node.start();
  return node;
}

async function measured(
  node: NodeProcess,
  { work, batch }: Load,
  { connections, partitions, payloadBytes, seconds, warmUpSeconds }: BenchOptions,
  scratch: Scratch,
  answered: number = batch,
): Promise<Spent> {
  const edges: { nowUs: number; times: ProcessTimes }[] = [];
  const { messages } = await LoadProgram.in(scratch).run({
    protocol: 'http',
    ports: [node.plan.port],
    queue: QUEUE,
    kind: '',
    work,
    items: pushRequests(QUEUE, partitions, batch, payloadBytes),
    connections,
    batch: answered,
    seconds,
    warmUpSeconds,
    ratePerSecond: null,
    atEdge: () => {
      const nowUs = Number(process.hrtime.bigint() / 1000n);
      edges.push({ nowUs, times: processTimes(node.pid) });
    },
  });
  const [begin, end] = edges;
  if (begin === undefined || end === undefined) throw new Error('the window has no edges');
  return {
    messages,
    window: { beginUs: begin.nowUs, endUs: end.nowUs },
    main: since(end.times.main, begin.times.main),
    others: since(end.times.others, begin.times.others),
  };
}

/** Markdown, for a document that has it: microseconds of a processor for a message. */
function tableOf(all: readonly Measured[]): string {
  const row = (name: string, textOf: (one: Measured) => string): string =>
    `| ${name} | ${all.map(textOf).join(' | ')} |\n`;
  const spentUs = (name: string, totalOf: (one: Measured) => number): string =>
    row(name, (one) => microseconds(totalOf(one) / one.spent.messages));
  const shown = STAGES.filter((stage) =>
    all.some(({ main, spent }) => main.stages[stage] > SHOWN_SHARE * spent.main.ranUs),
  );
  const unshown = STAGES.filter((stage) => !shown.includes(stage));
  return [
    row('us for a message', ({ load }) => load.name),
    row('---', () => '---'),
    ...shown.map((stage) => spentUs(STAGE_TEXTS[stage], ({ main }) => main.stages[stage])),
    spentUs('less than a hundredth each', ({ main }) =>
      unshown.reduce((sum, stage) => sum + main.stages[stage], 0),
    ),
    spentUs('HTTP library and loop: reading sockets, heads', ({ main }) => main.libraryUs),
    spentUs('garbage collector, in the main thread', ({ main }) => main.collectorUs),
    spentUs('**main thread**', ({ spent }) => spent.main.ranUs),
    spentUs('of which in the kernel', ({ spent }) => spent.main.systemUs),
    spentUs('**other threads**: writes, collector, compiler', ({ spent }) => spent.others.ranUs),
    spentUs('of which in the kernel', ({ spent }) => spent.others.systemUs),
    row('main thread idle', ({ main, spent }) => {
      const share = main.idleUs / (spent.window.endUs - spent.window.beginUs);
      return `${(share * 100).toFixed(0)} %`;
    }),
    row('a server that does nothing, same requests', ({ bareUs }) =>
      bareUs === null ? '' : microseconds(bareUs),
    ),
    row('the node over it', ({ bareUs, spent }) => {
      const ownUs = (spent.main.ranUs + spent.others.ranUs) / spent.messages;
      return bareUs === null ? '' : `${(ownUs / bareUs).toFixed(1)}x`;
    }),
  ].join('');
}

/** A stage that takes less of every load stands in one line with the others of its kind. */
const SHOWN_SHARE = 0.01;

function microseconds(value: number): string {
  return value.toFixed(value < 10 ? 2 : 1);
}
