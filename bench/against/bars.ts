// Bars for a page, as SVG in lines of text: names and numbers are text beside the picture and keep
// their size on a phone, only the bar gives way. A bar is the median; the thin line over it goes
// from the lowest round to the highest.

import { formatNumber } from '../load/report.js';
import { type Html, html } from './html.js';

export interface Bar {
  readonly name: string;
  /** Of the colour; the name says the same, so that nobody needs to see colours. */
  readonly tone: string;
  /** Drawn with stripes: what it stands for is not what the other bars stand for. */
  readonly striped: boolean;
  readonly value: number;
  readonly low: number;
  readonly high: number;
  /** Beside the number, such as a ratio. */
  readonly note: string;
}

export interface Bars {
  readonly title: string;
  readonly unit: string;
  readonly bars: readonly Bar[];
}

/** From zero to the highest whisker, so that lengths can be compared by eye. */
export function bars({ title, unit, bars: all }: Bars): Html {
  const highest = Math.max(...all.map(({ high, value }) => Math.max(high, value)));
  const rows = all.map((bar) => row(bar, unit, highest));
  return html`<figure><figcaption>${title} <span class="unit">${unit}</span></figcaption>
${rows}</figure>\n`;
}

function row(bar: Bar, unit: string, highest: number): Html {
  const { name, tone, striped, value, low, high, note } = bar;
  const at = (amount: number) => `${((amount / highest) * 100).toFixed(2)}%`;
  const spoken =
    `${name}: ${formatNumber(value)} ${unit}, ` +
    `from ${formatNumber(low)} to ${formatNumber(high)}`;
  const kind = striped ? 'bar striped' : 'bar';
  return html`<div class="row"><span class="name">${name}</span><span class="value">
<b>${formatNumber(value)}</b> <span class="note">${note}</span></span>
<svg class="${kind} ${tone}" role="img" aria-label="${spoken}">
<rect class="body" y="3" height="12" rx="2" width="${at(value)}"/>
<rect class="stripes" y="3" height="12" rx="2" width="${at(value)}"/>
<line class="whisker" x1="${at(low)}" x2="${at(high)}" y1="9" y2="9"/>
<line class="whisker" x1="${at(low)}" x2="${at(low)}" y1="5" y2="13"/>
<line class="whisker" x1="${at(high)}" x2="${at(high)}" y1="5" y2="13"/></svg></div>\n`;
}
