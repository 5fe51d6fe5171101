/**
 * Goal: the page shows every figure of a result, keeps what is durable apart from what is not, and
 * needs nothing but itself. Method: a result of invented figures, and the text of its page.
 */
import { expect, test } from 'vitest';
import { formatNumber } from '../load/report.js';
import type { Growth } from './growth-section.js';
import { markdown } from './markdown.js';
import { merged } from './merged.js';
import { renderPage } from './page.js';
import { countText, repetition } from './repetition.js';
import { fakeResult } from './result.fake.js';

const MACHINE = { processor: 'P', cores: 2, memoryGib: 24, kernel: 'linux', node: 'v20' };

const GROWTH: Growth = {
  date: '2026-01-02',
  command: 'npm run bench-scale',
  machine: MACHINE,
  figures: [
    {
      name: 'push: cost, many to few',
      unit: 'ratio',
      value: 1.25,
      runs: [1.2, 1.25, 1.3],
      note: 'in turn',
      target: { bound: 'at most', value: 1.5 },
      met: true,
    },
    {
      name: 'a figure without a goal',
      unit: 'ms',
      value: 7,
      runs: [7],
      note: '',
      target: null,
      met: null,
    },
  ],
};

test('every rate stands in a chart and in a table of its setting', () => {
  const result = fakeResult();
  const page = renderPage(result);
  const [, durable = '', defaults = ''] = page.split(
    /<h2>(?:Durable:|Defaults of|Systems and their)/,
  );
  for (const one of result.measurements) {
    if (one.work === 'latency') continue;
    const rate = formatNumber(one.messagesPerSecond);
    const own = one.setting === 'durable' ? durable : defaults;
    const other = one.setting === 'durable' ? defaults : durable;
    expect(own).toContain(`<b>${rate}</b>`);
    expect(own).toContain(`<td class="number">${rate}</td>`);
    if (one.system !== 'ours') expect(other).not.toContain(`${one.system}, `);
  }
  expect(durable).not.toContain('defaults</span>');
  expect(defaults).toContain('NATS JetStream, defaults');
});

test('goals are said to be reached or missed', () => {
  const page = renderPage(fakeResult());
  expect(page.match(/class="reached"/g)).toHaveLength(1);
  expect(page.match(/class="missed"/g)).toHaveLength(3);
  expect(page).toContain('at least 1.10x');
});

test('machine, date, command, versions and settings are there, and escaped', () => {
  const result = fakeResult();
  const page = renderPage(result);
  expect(page).toContain('A &lt;B&gt; &amp; C');
  expect(page).not.toContain('A <B>');
  expect(page).toContain(result.date);
  expect(page).toContain(result.command);
  for (const { label, version } of result.contenders) {
    expect(page).toContain(label);
    expect(page).toContain(`>${version}<`);
  }
});

test('nothing is loaded from anywhere', () => {
  const page = renderPage(fakeResult(), { growth: [GROWTH] });
  expect(page).not.toMatch(/<script|<link|<img|@import|url\((?!#)|https?:/);
});

test('bars are no longer than their line, whiskers included', () => {
  const widths = [
    ...renderPage(fakeResult(), { growth: [GROWTH] }).matchAll(/(?:width|x[12])="([\d.]+)%"/g),
  ];
  expect(widths.length).toBeGreaterThan(100);
  for (const [, width] of widths) expect(Number(width)).toBeLessThanOrEqual(100);
});

test('growth stands below, with its goals', () => {
  const page = renderPage(fakeResult(), { growth: [GROWTH] });
  const growth = page.split('<h2>What growth costs</h2>')[1] ?? '';
  expect(growth).toContain('push: cost, many to few');
  expect(growth).toContain('at most 1.50');
  expect(growth).toContain('a figure without a goal');
  expect(renderPage(fakeResult())).not.toContain('What growth costs');
});

test('a second run is held to the first one, ratio by ratio', () => {
  const first = fakeResult();
  const changed = (factor: number, from: number) => ({
    ...first,
    comparisons: first.comparisons.map((one, i) =>
      i === from ? { ...one, ratio: one.ratio * factor } : one,
    ),
  });
  const count = first.comparisons.length;
  const within = (factor: number) => repetition(first, changed(factor, 3))[3]?.within;
  expect([0.82, 0.84, 1, 1.19, 1.21].map(within)).toEqual([false, true, true, true, false]);
  expect(countText(repetition(first, changed(1.5, 3)))).toBe(
    `${count - 1} of ${count} ratios within 20 % in a second run`,
  );

  const fewer = { ...first, comparisons: first.comparisons.slice(1) };
  expect(repetition(first, fewer).map((one) => one.within)).toEqual(
    first.comparisons.map((_, i) => i > 0),
  );
  expect(() => repetition({ ...first, comparisons: [] }, first)).toThrow('no ratios');

  const page = renderPage(first, { again: changed(0.5, 0) });
  const section = page.split('<h2>A second run</h2>')[1] ?? '';
  expect(section.match(/class="missed"/g)).toHaveLength(1);
  expect(section.match(/class="reached"/g)).toHaveLength(count - 1);
  expect(section).toContain('100 %');
  expect(renderPage(first)).not.toContain('A second run');
});

test('pieces make one page; ours may stand in two of them, others not', () => {
  const whole = fakeResult();
  const piece = (
    wanted: (one: { readonly system: string; readonly nodes: number }) => boolean,
  ) => ({
    ...whole,
    contenders: whole.contenders.filter(wanted),
    measurements: whole.measurements.filter(wanted),
    comparisons: whole.comparisons.filter(({ peer, nodes }) => wanted({ system: peer, nodes })),
  });
  const durable = piece(({ nodes }) => nodes === 1);
  const three = piece(({ system, nodes }) => nodes === 3 || system === 'ours');
  const both = merged([durable, three]);
  expect(both.measurements).toHaveLength(whole.measurements.length);
  expect(both.contenders).toHaveLength(whole.contenders.length);
  expect(both.comparisons).toHaveLength(whole.comparisons.length);
  expect(both.latencyVerdicts).toEqual(whole.latencyVerdicts);
  expect(() => merged([durable, durable])).toThrow('two of the files have measured nats');
  expect(() => merged([])).toThrow('none of the files');
});

test('the same figures as Markdown', () => {
  const result = fakeResult();
  const text = markdown(result, [GROWTH]);
  for (const { messagesPerSecond, work } of result.measurements) {
    if (work !== 'latency') expect(text).toContain(formatNumber(Math.round(messagesPerSecond)));
  }
  expect(text).toContain('45,000 (0.89x, **missed: at least 0.9x**)');
  expect(text).toContain('20.00 (at most 0.4 ms)');
  expect(text).toContain('| push: cost, many to few | 1.25 ratio | 1.20 to 1.30 | at most 1.5 |');
  for (const line of text.split('\n')) expect(line).toMatch(/^(\|.*\|)?$/);
});
