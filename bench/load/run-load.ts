// Runs the chosen loads on systems that stand ready side by side, and reports them in one table.

import { LoadProgram, type LoadTarget } from '../native/load-program.js';
import { median } from '../report/percentiles.js';
import { formatNumber, renderTable, report } from '../report/report.js';
import { Scratch } from '../rig/scratch.js';
import type { LoadOptions } from './options.js';
import {
  brokerCostOf,
  costOf,
  rateOf,
  ratios,
  sideBySide,
  type Tally,
  type Value,
} from './side-by-side.js';
import type { System, SystemPlan } from './system.js';
import { type Cell, cellsOf, loadOf, WORK_TEXTS } from './works.js';

export type Starter = (plan: SystemPlan) => Promise<System>;

interface Measured extends Cell {
  readonly tallies: readonly Tally[];
}

/**
 * The systems of each pass are started in its order, measured side by side and stopped; the rounds
 * of a system in all passes count together. The first system of the first pass is the one that
 * others are compared with.
 */
export async function runLoad(
  kind: string,
  options: LoadOptions,
  passes: readonly (readonly Starter[])[],
): Promise<void> {
  const scratch = new Scratch();
  scratch.endOnSignals();
  const startedAt = new Date();
  const about = new Map<string, string>();
  const measured: Measured[] = [];
  try {
    const program = LoadProgram.in(scratch);
    const { nodes, profile } = options;
    // A name of its own: a node that runs somewhere may have queues.
    const queue = `bench${startedAt.getTime().toString(36)}`;
    for (const starters of passes) {
      const systems: System[] = [];
      for (const start of starters) {
        const system = await start({ scratch, program, queue, nodes, profile });
        systems.push(system);
        about.set(system.name, system.about);
        process.stderr.write(`${system.name} is ready\n`);
      }
      for (const [index, cell] of cellsOf(options).entries()) {
        const tallies = await measure(program, systems, cell, options);
        process.stderr.write(
          `${rowsOf([{ ...cell, tallies }])
            .map(textOf)
            .join('\n')}\n`,
        );
        measured[index] = { ...cell, tallies: merged(measured[index]?.tallies, tallies) };
      }
      for (const system of systems) await system.stop();
    }
  } finally {
    // Also after a failure, with what there is.
    scratch.close();
    const lines = [...about].map(([name, text]) => `${name}: ${text}`).join('\n');
    const table = `${lines}\n\n${renderTable(COLUMNS, rowsOf(measured), RIGHT_ALIGNED)}`;
    report({ kind, options, startedAt, measured, table });
  }
}

function merged(before: readonly Tally[] | undefined, now: readonly Tally[]): readonly Tally[] {
  return (before ?? now).map((tally) => {
    const more = before === undefined ? undefined : now.find(({ name }) => name === tally.name);
    return { name: tally.name, rounds: [...tally.rounds, ...(more?.rounds ?? [])] };
  });
}

function measure(
  program: LoadProgram,
  systems: readonly System[],
  cell: Cell,
  options: LoadOptions,
): Promise<readonly Tally[]> {
  const load = (target: LoadTarget) => loadOf(target, cell, options);
  const contestants = systems.map(({ name, target, pids, nodePids, create, remove }) => ({
    name,
    loadOf: () => load(target),
    pids,
    nodePids,
    create,
    remove: cell.work === 'kv' ? async () => undefined : remove,
  }));
  return sideBySide(program, contestants, options);
}

const COLUMNS = [
  'work',
  'bytes',
  'batch',
  'system',
  'per second',
  'rounds',
  'server us',
  'broker us',
  'p50 ms',
  'p99 ms',
  'sent late ms',
  'ratio of rates',
  'of server us',
] as const;
const RIGHT_ALIGNED = new Set<string>([...COLUMNS.slice(1, 3), ...COLUMNS.slice(4, 11)]);

function rowsOf(all: readonly Measured[]): readonly (readonly string[])[] {
  return all.flatMap(({ work, payloadBytes, batch, tallies }) =>
    tallies.map((tally, place) => {
      const [first = tally] = tallies;
      const compared = (value: Value): string =>
        place === 0 || work === 'latency' ? '' : spreadText(ratios(first, tally, value));
      const of = (value: Value): number => median(tally.rounds.map(value));
      const rates = tally.rounds.map((round) => Math.round(rateOf(round)));
      const [low, high] = [Math.min(...rates), Math.max(...rates)];
      return [
        WORK_TEXTS[work],
        `${payloadBytes}`,
        `${batch}`,
        tally.name,
        formatNumber(Math.round(of(rateOf))),
        `${formatNumber(low)} to ${formatNumber(high)}`,
        numberText(of(costOf)),
        numberText(of(brokerCostOf)),
        of(({ latency }) => latency.p50Ms).toFixed(2),
        of(({ latency }) => latency.p99Ms).toFixed(2),
        work === 'latency' ? of(({ lateness }) => lateness.p99Ms).toFixed(2) : '',
        compared(rateOf),
        compared(costOf),
      ];
    }),
  );
}

/** The first system's value divided by this one's: the median of the rounds, and their ends. */
function spreadText(values: readonly number[]): string {
  const known = values.filter((value) => !Number.isNaN(value));
  if (known.length === 0) return '';
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return `${median(known).toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;
}

function numberText(value: number): string {
  return Number.isNaN(value) ? '' : formatNumber(value);
}

function textOf(row: readonly string[]): string {
  const [work = '', bytes = '', batch = '', system = '', rate = ''] = row;
  return `${work}, ${bytes} bytes x ${batch}: ${system} ${rate}/s`;
}
