/** Many runs, one after the other, and what they add up to. */
import { FAULT_NAMES, FAULTS, type Fault, type FaultCounts, noFaults } from './faults.js';
import { type Figures, noFigures } from './figures.js';
import { type RunResult, run } from './run.js';
import type { ShapeName } from './shape.js';

export interface Totals {
  readonly runs: number;
  readonly figures: Figures;
  readonly faults: FaultCounts;
  readonly failed: readonly Failure[];
}

export interface Failure {
  readonly seed: number;
  readonly violations: readonly string[];
}

export interface CampaignOptions {
  readonly shape: ShapeName;
  readonly simMs: number;
  readonly without?: readonly Fault[];
  /** The next seed; null: enough. */
  readonly next: (totals: Totals) => number | null;
  readonly onRun?: (result: RunResult) => void;
}

export function runCampaign(options: CampaignOptions): Totals {
  const { shape, simMs, next, onRun } = options;
  const without = new Set(options.without);
  let totals = NOTHING_RUN;
  for (;;) {
    const seed = next(totals);
    if (seed === null) return totals;
    const before = process.cpuUsage();
    const result = run({ seed, shape, simMs, without });
    onRun?.(result);
    const ran = totalsOf(result);
    const { user, system } = process.cpuUsage(before);
    ran.figures.cpuMs += (user + system) / 1000;
    totals = added(totals, ran);
  }
}

export const NOTHING_RUN: Totals = {
  runs: 0,
  figures: noFigures(),
  faults: noFaults(),
  failed: [],
};

function totalsOf({ seed, figures, faults, violations }: RunResult): Totals {
  const failed = violations.length > 0 ? [{ seed, violations }] : [];
  return { runs: 1, figures, faults, failed };
}

export function added(one: Totals, other: Totals): Totals {
  const figures = noFigures();
  for (const name of Object.keys(figures) as (keyof Figures)[]) {
    figures[name] = one.figures[name] + other.figures[name];
  }
  const faults = noFaults();
  for (const fault of FAULT_NAMES) faults[fault] = one.faults[fault] + other.faults[fault];
  const failed = [...one.failed, ...other.failed];
  return { runs: one.runs + other.runs, figures, faults, failed };
}

/** A table of the faults and of what happened, and a line of totals. */
export function summaryOf({ runs, figures, faults, failed }: Totals, tookMs: number): string {
  const rows = FAULT_NAMES.map((fault) => {
    return `${fault.padEnd(14)} ${`${faults[fault]}`.padStart(10)}  ${FAULTS[fault]}`;
  });
  const counts: [number, string][] = [
    [figures.starts, 'starts of a node'],
    [figures.refusedStarts, 'starts refused'],
    [figures.elections, 'terms with a leader'],
    [figures.commits, 'entries committed'],
    [figures.changes, 'changes of the members'],
    [figures.snapshots, 'snapshots installed'],
    [figures.repairs, 'damaged records repaired'],
    [figures.recoveries, 'nodes recovered from a lost tail'],
    [figures.digestsCompared, 'states compared at a checkpoint'],
    [figures.frames, 'frames sent'],
    [figures.refusedFrames, 'frames refused'],
    [figures.stored, 'messages stored'],
    [figures.deliveries, 'deliveries'],
    [figures.trimmed, 'appends removed by retention'],
    [figures.moved, 'appends moved within the log'],
    [figures.events, 'events'],
  ];
  const simSeconds = figures.simMs / 1000;
  return [
    ...rows,
    '',
    ...counts.map(([count, text]) => `${`${count}`.padStart(25)}  ${text}`),
    '',
    `${runs} seeds, ${simSeconds.toFixed(0)} simulated seconds in ` +
      `${(tookMs / 1000).toFixed(1)} s: ${(simSeconds / (tookMs / 1000)).toFixed(1)} per second, ` +
      `${(simSeconds / (figures.cpuMs / 1000)).toFixed(1)} per second of processor time; ` +
      `${failed.length} seeds failed`,
  ].join('\n');
}
