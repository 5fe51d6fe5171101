// What growth costs, as a part of the page: for each run of `bench-scale` its figures in a table,
// and those that have a goal as bars that end at the goal or not.

import type { Figure, Target } from '../load/figure.js';
import { formatNumber, type Machine } from '../load/report.js';
import { type Html, html, table } from './html.js';

/** The JSON file that a program of this folder writes. */
export interface Growth {
  readonly date: string;
  readonly command: string;
  readonly machine: Machine;
  readonly figures: readonly JudgedFigure[];
}

export interface JudgedFigure extends Figure {
  readonly target: Target | null;
  readonly met: boolean | null;
}

export function growthSection(runs: readonly Growth[]): Html {
  if (runs.length === 0) return html``;
  const judged = runs.flatMap(({ figures }) => figures.filter(({ target }) => target !== null));
  return html`<h2>What growth costs</h2>
<p>One node, measured in turn with and without what grew. The line marks the goal; a bar that does
not reach it is within the goal where the goal is “at most”.</p>
<figure class="goals"><figcaption>Measured, against the goal</figcaption>
${judged.map(goalRow)}</figure>
${runs.map(runTable)}`;
}

/** The goal stands at two thirds of the line, so that what passes it can be seen. */
const GOAL_AT = 2 / 3;

function goalRow({ name, unit, value, target, met, runs }: JudgedFigure): Html {
  if (target === null) return html``;
  const at = (amount: number) =>
    `${(Math.min(1, (amount / target.value) * GOAL_AT) * 100).toFixed(2)}%`;
  const goal = `goal: ${target.bound} ${formatNumber(target.value)}`;
  const spoken = `${name}: ${formatNumber(value)} ${unit}, ${goal}`;
  const low = Math.min(value, ...runs);
  const high = Math.max(value, ...runs);
  const verdict = met
    ? html`<span class="reached">reached</span>`
    : html`<span class="missed">missed</span>`;
  return html`<div class="row"><span class="name">${name}</span><span class="value">
<b>${formatNumber(value)}</b> <span class="note">${unit}, ${goal}</span> ${verdict}</span>
<svg class="bar ours" role="img" aria-label="${spoken}">
<rect class="body" y="3" height="12" rx="2" width="${at(value)}"/>
<line class="whisker" x1="${at(low)}" x2="${at(high)}" y1="9" y2="9"/>
<line class="whisker" x1="${at(target.value)}" x2="${at(target.value)}" y1="0" y2="18"/>
</svg></div>\n`;
}

function runTable({ date, command, machine, figures }: Growth): Html {
  const rows = figures.map(({ name, value, unit, runs, target, met, note }) => [
    name,
    formatNumber(value),
    unit,
    runs.length > 1
      ? `${formatNumber(Math.min(...runs))} to ${formatNumber(Math.max(...runs))}`
      : '',
    target === null ? '' : `${target.bound} ${formatNumber(target.value)}`,
    met === null ? '' : met ? 'reached' : 'missed',
    note,
  ]);
  return html`<details><summary><code>${command}</code>, ${date}</summary>
<p>${machine.processor}, ${machine.cores} cores, ${machine.memoryGib} GiB, ${machine.kernel},
Node ${machine.node}</p>
${table({
  caption: command,
  columns: ['Figure', 'Median', 'Unit', 'Lowest to highest', 'Goal', '', 'Note'],
  rows,
  words: 1,
})}</details>`;
}
