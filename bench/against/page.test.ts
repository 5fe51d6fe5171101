/**
 * Goal: the page shows every figure of a result, keeps what is durable apart from what is not, and
 * needs nothing but itself. Method: a result of invented figures, and the text of its page.
 */
import { expect, test } from 'vitest';
import { formatNumber } from '../load/report.js';
import type { Growth } from './growth-section.js';
import { renderPage } from './page.js';
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
  const page = renderPage(fakeResult(), [GROWTH]);
  expect(page).not.toMatch(/<script|<link|<img|@import|url\((?!#)|https?:/);
});

test('bars are no longer than their line, whiskers included', () => {
  const widths = [...renderPage(fakeResult(), [GROWTH]).matchAll(/(?:width|x[12])="([\d.]+)%"/g)];
  expect(widths.length).toBeGreaterThan(100);
  for (const [, width] of widths) expect(Number(width)).toBeLessThanOrEqual(100);
});

test('growth stands below, with its goals', () => {
  const page = renderPage(fakeResult(), [GROWTH]);
  const growth = page.split('<h2>What growth costs</h2>')[1] ?? '';
  expect(growth).toContain('push: cost, many to few');
  expect(growth).toContain('at most 1.50');
  expect(growth).toContain('a figure without a goal');
  expect(renderPage(fakeResult())).not.toContain('What growth costs');
});
