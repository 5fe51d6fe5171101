// `bench --against` as one page that needs nothing else: no script, no picture, no font from
// anywhere. What was measured with the settings under which an acknowledgement means "on disk"
// stands apart from what was measured with each system's defaults; in the second part our bars are
// the durable ones, because there is no other setting.

import type { LatencySummary } from '../load/percentiles.js';
import { formatNumber } from '../load/report.js';
import { type Bar, bars } from './bars.js';
import { comparisonOf } from './compare.js';
import { type Growth, growthSection } from './growth-section.js';
import { type Content, Html, html, table } from './html.js';
import { STRIPES, STYLE } from './page-style.js';
import { countText, repetition } from './repetition.js';
import {
  type AgainstResult,
  type Contender,
  type Goal,
  type Measurement,
  type Pairing,
  type Round,
  SETTINGS,
  type Setting,
  type Work,
} from './result.js';
import { SYSTEM_NAMES } from './system-names.js';

const SETTING_TITLES: { readonly [setting in Setting]: string } = {
  durable: 'Durable: an acknowledgement means “on disk”',
  defaults: 'Defaults of each system',
};

const SETTING_TEXTS: { readonly [setting in Setting]: string } = {
  durable:
    'Every system runs with settings under which what it acknowledged survives a loss of power; ' +
    'with three nodes, on a majority of them.',
  defaults:
    'Every other system runs as it comes, so its acknowledgement may mean less; the table of ' +
    'settings says what. svc has one setting only: its bars here are those of the durable runs.',
};

const WORK_TITLES: { readonly [work in Work]: string } = {
  publish: 'Publish',
  consume: 'Publish, consume, acknowledge',
  latency: 'Latency of single publishes',
};

/** What a page may show beside one run. */
export interface Beside {
  /** Results of `bench-scale`. */
  readonly growth?: readonly Growth[];
  /** The same comparison, run a second time. */
  readonly again?: AgainstResult;
}

/** The whole text of the page. */
export function renderPage(result: AgainstResult, { growth = [], again }: Beside = {}): string {
  const title = 'svc side by side';
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title><style>${new Html(STYLE)}</style></head><body>${new Html(STRIPES)}
<main><h1>${title}</h1>
<p>Messages a second that were acknowledged, by each system on the same machine, in the same run,
under the same load, in turn. A bar is the median of the rounds, the thin line goes from the lowest
round to the highest. A ratio is that of rounds side by side, so it is not that of two bars.</p>
${conditions(result)}
${goals(result)}
${SETTINGS.map((setting) => settingSection(result, setting))}
${contenders(result)}
${again === undefined ? html`` : repeatedSection(result, again)}
${growthSection(growth)}
</main></body></html>
`;
  return page.text;
}

function conditions(result: AgainstResult): Html {
  const { machine } = result;
  const rows: readonly (readonly [string, Content])[] = [
    ['Date', result.date],
    [
      'Machine',
      `${machine.processor}, ${machine.cores} cores, ${machine.memoryGib} GiB, ` +
        `${machine.kernel}, Node ${machine.node}`,
    ],
    ['Command', html`<code>${result.command}</code>`],
    [
      'Load',
      `${result.connections} connections, ${result.partitions} partitions; the load program runs ` +
        'on the same processors',
    ],
    [
      'Rounds',
      `at least ${result.rounds} of ${result.secondsPerRound} s each, more where ratios were ` +
        'least certain; latencies in longer ones',
    ],
    ...leftOutOf(result).map((text) => ['Left out', text] as const),
    ['Disk', `one synced write of 4 KiB, alone, takes ${result.diskSyncMs.toFixed(3)} ms`],
    [
      'Memory',
      `${formatNumber(result.keptMemoryMib)} MiB of what was free were used once before and kept ` +
        'from the host of a virtual machine, which may take free memory',
    ],
  ];
  return html`<dl>${rows.map(([name, text]) => html`<dt>${name}</dt><dd>${text}</dd>\n`)}</dl>`;
}

/** Rounds in which another system failed, each in a sentence. */
export function leftOutOf({ leftOut }: AgainstResult): readonly string[] {
  return leftOut.map((round) => `a round of ${loadOf(round)}: ${round.reason}`);
}

// --- what was promised ---------------------------------------------------------------------------

function goals(result: AgainstResult): Html {
  const ratios = result.comparisons.flatMap((comparison) => {
    const { goal } = comparison;
    if (goal === null) return [];
    const lowest = Math.min(...comparison.ratios);
    const highest = Math.max(...comparison.ratios);
    const spread = `${factor(lowest)} to ${factor(highest)}`;
    return [[loadOf(comparison), factor(comparison.ratio), spread, ...verdict(goal, factor)]];
  });
  const latencies = result.latencyVerdicts.map(({ nodes, payloadBytes, quantile, value, goal }) => [
    `${quantile === 'p50Ms' ? 'p50' : 'p99'} of single publishes at ${result.ratePerSecond}/s, ` +
      `${machines(nodes)}, ${bytes(payloadBytes)}`,
    milliseconds(value),
    '',
    ...verdict(goal, milliseconds),
  ]);
  const rows = [...ratios, ...latencies];
  if (rows.length === 0) return html``;
  return html`<h2>What was promised</h2>
${table({
  caption: 'Rate of svc divided by the rate of the other system under the same load, and latency',
  columns: ['Figure', 'Measured', 'Lowest to highest round', 'Goal', ''],
  rows,
  words: 1,
})}`;
}

/** In words, such as a line of a table begins with. */
export function loadOf({ peer, setting, nodes, work, payloadBytes, batch }: Pairing): string {
  const what = setting === 'durable' ? 'durable' : 'at its defaults';
  return (
    `${WORK_TITLES[work]}, batches of ${batch}, ${bytes(payloadBytes)}, ${machines(nodes)}: ` +
    `svc to ${SYSTEM_NAMES[peer]} ${what}`
  );
}

function verdict({ bound, value, reached }: Goal, format: (value: number) => string): Content[] {
  const text = reached
    ? html`<span class="reached">reached</span>`
    : html`<span class="missed">missed</span>`;
  return [`${bound} ${format(value)}`, text];
}

// --- the charts ----------------------------------------------------------------------------------

function settingSection(result: AgainstResult, setting: Setting): Html {
  const shown = result.measurements.filter(
    (one) => one.setting === setting || one.system === 'ours',
  );
  if (shown.every(({ system }) => system === 'ours')) return html``;
  const loads = distinct(shown, ({ nodes, work }) => `${nodes} ${work}`);
  return html`<h2>${SETTING_TITLES[setting]}</h2><p>${SETTING_TEXTS[setting]}</p>
${loads.map((all) => (all[0]?.work === 'latency' ? latencyPart(all) : ratePart(result, all)))}`;
}

function ratePart(result: AgainstResult, all: readonly Measurement[]): Html {
  const [first] = all;
  if (first === undefined) return html``;
  const charts = distinct(all, ({ payloadBytes, batch }) => `${payloadBytes} ${batch}`);
  return html`<h3>${WORK_TITLES[first.work]}, ${machines(first.nodes)}</h3>
${charts.map((measured) => rateChart(result, measured))}
<details><summary>The same as numbers</summary>${rateTable(result, all)}</details>`;
}

function rateChart(result: AgainstResult, measured: readonly Measurement[]): Html {
  const [first] = measured;
  if (first === undefined) return html``;
  return bars({
    title: `${bytes(first.payloadBytes)}, batches of ${first.batch}`,
    unit: 'messages/s',
    bars: measured.map((one) => {
      const ratio = ratioOf(result, one);
      return barOf(one, one.messagesPerSecond, (round) => round.messagesPerSecond, ratio);
    }),
  });
}

/** Of ours to it, as text. */
function ratioOf({ comparisons }: AgainstResult, one: Measurement): string {
  const found = comparisonOf(one, comparisons);
  return found === undefined ? '' : `svc ${factor(found.ratio)}`;
}

function rateTable(result: AgainstResult, all: readonly Measurement[]): Html {
  return table({
    caption: 'Medians of the rounds; latency is that of one request of the load program',
    columns: [
      'System',
      'Payload',
      'Batch',
      'messages/s',
      'lowest',
      'highest',
      'svc to it',
      'p50 ms',
      'p99 ms',
      'server us/message',
    ],
    rows: all.map((one) => {
      const rates = one.rounds.map(({ messagesPerSecond }) => messagesPerSecond);
      return [
        nameOf(one),
        bytes(one.payloadBytes),
        one.batch,
        formatNumber(one.messagesPerSecond),
        formatNumber(Math.min(...rates)),
        formatNumber(Math.max(...rates)),
        ratioOf(result, one).replace('svc ', ''),
        one.latency.p50Ms.toFixed(2),
        one.latency.p99Ms.toFixed(2),
        one.serverMicrosecondsPerMessage.toFixed(1),
      ];
    }),
    words: 1,
  });
}

const QUANTILES: readonly (readonly [keyof LatencySummary, string])[] = [
  ['p50Ms', 'p50'],
  ['p90Ms', 'p90'],
  ['p99Ms', 'p99'],
  ['p999Ms', 'p99.9'],
  ['maxMs', 'max'],
];

function latencyPart(all: readonly Measurement[]): Html {
  const [first] = all;
  if (first === undefined) return html``;
  const charts = distinct(all, ({ payloadBytes }) => String(payloadBytes)).flatMap((measured) =>
    (['p50Ms', 'p99Ms'] as const).map((quantile) =>
      bars({
        title: `${bytes(measured[0]?.payloadBytes ?? 0)}, ${quantile === 'p50Ms' ? 'p50' : 'p99'}`,
        unit: 'ms',
        bars: measured.map((one) =>
          barOf(one, one.latency[quantile], ({ latency }) => latency[quantile], ''),
        ),
      }),
    ),
  );
  return html`<h3>${WORK_TITLES.latency}, ${machines(first.nodes)}</h3>
<p>An open loop: each publish is timed from the moment at which it was due to leave, so a stall
counts for all that were due in it. Shorter is better.</p>
${charts}<details><summary>The same as numbers</summary>${latencyTable(all)}</details>`;
}

function latencyTable(all: readonly Measurement[]): Html {
  return table({
    caption: 'Milliseconds, medians of the rounds',
    columns: ['System', 'Payload', ...QUANTILES.map(([, name]) => name)],
    rows: all.map((one) => [
      nameOf(one),
      bytes(one.payloadBytes),
      ...QUANTILES.map(([key]) => one.latency[key].toFixed(2)),
    ]),
    words: 1,
  });
}

function barOf(
  one: Measurement,
  value: number,
  valueIn: (round: Round) => number,
  note: string,
): Bar {
  const values = one.rounds.map(valueIn);
  return {
    name: nameOf(one),
    tone: one.system,
    striped: one.setting === 'defaults',
    value,
    low: Math.min(value, ...values),
    high: Math.max(value, ...values),
    note,
  };
}

// --- whether it repeats --------------------------------------------------------------------------

function repeatedSection(result: AgainstResult, again: AgainstResult): Html {
  const all = repetition(result, again);
  return html`<h2>A second run</h2>
<p>${countText(all)}; the larger of two ratios over the smaller one. It began at ${again.date}.</p>
<details><summary>All ratios</summary>${table({
    caption: 'Rate of svc divided by the rate of the other system, side by side',
    columns: ['Load', 'This run', 'Second run', 'Difference', ''],
    rows: all.map(({ first, second, difference, within }) => [
      loadOf(first),
      factor(first.ratio),
      second === null ? 'not measured' : factor(second.ratio),
      second === null ? '' : `${(difference * 100).toFixed(0)} %`,
      within ? html`<span class="reached">within</span>` : html`<span class="missed">beyond</span>`,
    ]),
    words: 1,
  })}</details>`;
}

// --- who took part -------------------------------------------------------------------------------

function contenders({ contenders: all }: AgainstResult): Html {
  return html`<h2>Systems and their settings</h2>
${table({
  caption: 'As they ran',
  columns: ['System', 'Version', 'Nodes', 'Setting', 'What its acknowledgement means'],
  rows: all.map(({ system, version, nodes, setting, label }: Contender) => [
    SYSTEM_NAMES[system],
    version,
    nodes,
    setting,
    label,
  ]),
  words: 5,
})}`;
}

function nameOf({ system, setting }: Measurement): string {
  return setting === 'defaults' ? `${SYSTEM_NAMES[system]}, defaults` : SYSTEM_NAMES[system];
}

function machines(nodes: number): string {
  return nodes === 1 ? 'one node' : `${nodes} nodes`;
}

function bytes(count: number): string {
  return `${formatNumber(count)} bytes`;
}

function factor(ratio: number): string {
  return `${ratio.toFixed(2)}x`;
}

function milliseconds(value: number): string {
  return `${value.toFixed(2)} ms`;
}

/** Groups of what has the same key, in the order of their first. */
function distinct<T>(all: readonly T[], keyOf: (one: T) => string): readonly (readonly T[])[] {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const key = keyOf(one);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  return [...groups.values()];
}
