/**
 * `npm run chaos`: a cluster of real processes under load and under random faults, for as long as
 * one likes; with `--standby` two, one of which follows the other. Exit code 0 when every judgement
 * was clean, 1 when one was not, 2 for arguments that it does not know. Ctrl-C ends it early; the
 * table comes all the same.
 */
import { parseArgs } from 'node:util';
import { FAULTS, type FaultName } from '../cluster/faults.js';
import { renderReport } from './chaos-report.js';
import { ChaosRun } from './chaos-run.js';
import { StandbyChaos } from './standby-chaos.js';

const MINUTES = 5;
const NODES = 3;
const NAMES = Object.keys(FAULTS) as FaultName[];

const USAGE = `npm run chaos -- [--minutes N] [--seed S]

  --minutes N     how long; ${MINUTES} unless given
  --seed S        which faults, in which order; taken from the clock unless given
  --nodes N       founders of the cluster, of each with --standby; ${NODES} unless given
  --standby       a second cluster follows the first, takes over, and is followed by the first;
                  without grow and full-disk
  --only A,B      only these kinds of faults
  --without A,B   all but these

faults:
${NAMES.map((name) => `  ${name.padEnd(16)}${FAULTS[name].what}`).join('\n')}`;

function refuse(text: string): never {
  console.error(`${text}\n\n${USAGE}`);
  process.exit(2);
}

function readArguments() {
  try {
    return parseArgs({
      options: {
        minutes: { type: 'string', default: `${MINUTES}` },
        seed: { type: 'string', default: `${Date.now() % 1_000_000}` },
        nodes: { type: 'string', default: `${NODES}` },
        only: { type: 'string' },
        without: { type: 'string', default: '' },
        standby: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

function numberOf(option: string, text: string, least: number): number {
  const value = Number(text);
  return Number.isFinite(value) && value >= least ? value : refuse(`--${option} ${text}`);
}

function namesOf(text: string): FaultName[] {
  return text
    .split(',')
    .filter((name) => name !== '')
    .map((name) => NAMES.find((known) => known === name) ?? refuse(`no such fault: ${name}`));
}

async function main(): Promise<void> {
  const given = readArguments();
  if (given.help) {
    console.log(USAGE);
    return;
  }
  const without = new Set(namesOf(given.without));
  const kinds = (given.only === undefined ? NAMES : namesOf(given.only)).filter(
    (name) => !without.has(name),
  );
  if (kinds.length === 0) refuse('no faults are left');
  const seed = numberOf('seed', given.seed, 0);
  const run = new (given.standby ? StandbyChaos : ChaosRun)({
    seed,
    minutes: numberOf('minutes', given.minutes, 0.1),
    nodes: numberOf('nodes', given.nodes, 1),
    kinds,
    log: (line) => console.log(line),
  });
  process.once('SIGINT', () => run.interrupt());
  console.log(`seed ${seed}`);
  const report = await run.run();
  console.log(renderReport(report));
  process.exitCode = report.violations.length === 0 ? 0 : 1;
}

await main();
