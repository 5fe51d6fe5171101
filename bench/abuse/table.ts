// The results as tables: one run, and one build beside another.

import { formatNumber, renderTable } from '../report/report.js';
import { growthBytes, healthAway, judge, type Measured } from './judgement.js';
import { type Elapsed, longer } from './stopwatch.js';

const COLUMNS = [
  'attack',
  'p99 ms',
  'max ms',
  'health ms',
  'memory +MiB',
  'term',
  'errors',
  'processor %',
  'verdict',
  'missed',
] as const;
const NUMBERS = new Set<string>(COLUMNS.slice(1, 8));

export function renderMeasured(all: readonly Measured[]): string {
  const rows = all.map((one) => {
    const { word, missed } = judge(one);
    return [runName(one), ...figuresOf(one), ms(one.processorShare * 100), word, missed.join('; ')];
  });
  return renderTable(COLUMNS, rows, NUMBERS);
}

const PAIR_COLUMNS = [
  'attack',
  ...['p99 ms', 'max ms', 'health ms', '+MiB', 'term', 'errors'].flatMap((name) => [
    `${name} before`,
    'after',
  ]),
  'verdict before',
  'after',
  'missed after',
] as const;

/** What only one of the two has measured is shown with dashes. */
export function renderPair(before: readonly Measured[], after: readonly Measured[]): string {
  const names = [...new Set([...before, ...after].map(runName))];
  const rows = names.map((name) => {
    const old = before.find((one) => runName(one) === name);
    const now = after.find((one) => runName(one) === name);
    const left = old === undefined ? NOTHING : figuresOf(old);
    const right = now === undefined ? NOTHING : figuresOf(now);
    return [
      name,
      ...left.flatMap((figure, index) => [figure, right[index] ?? '-']),
      old === undefined ? '-' : judge(old).word,
      now === undefined ? '-' : judge(now).word,
      now === undefined ? '' : judge(now).missed.join('; '),
    ];
  });
  return renderTable(PAIR_COLUMNS, rows, new Set(PAIR_COLUMNS.slice(1, 13)));
}

export function runName({ scenario, against }: Pick<Measured, 'scenario' | 'against'>): string {
  return against === 'node' ? scenario : `${scenario}@cluster`;
}

const NOTHING = Array.from({ length: 6 }, () => '-');

/** The worse of pushes and polls. */
function figuresOf(measured: Measured): readonly string[] {
  const { honest, termBefore, termAfter, ended } = measured;
  return [
    elapsed(longer(honest.pushes.p99, honest.polls.p99)),
    elapsed(longer(honest.pushes.max, honest.polls.max)),
    elapsed(healthAway(measured)),
    formatNumber(Math.round(growthBytes(measured) / 2 ** 20)),
    ended > 0 ? `${ended} ended` : `+${termAfter - termBefore}`,
    formatNumber(honest.errors + honest.undelivered),
  ];
}

/** In brackets what is left without the machine's share. */
function elapsed({ ms: whole, quietMs }: Elapsed): string {
  return `${ms(whole)} (${ms(quietMs)})`;
}

function ms(value: number): string {
  return formatNumber(Math.round(value));
}
