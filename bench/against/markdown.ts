// The figures of a page once more as tables in Markdown, for a document that names them.

import { formatNumber } from '../load/report.js';
import { comparisonOf } from './compare.js';
import type { Growth } from './growth-section.js';
import type { AgainstResult, Comparison, Goal, Measurement } from './result.js';
import { SYSTEM_NAMES } from './system-names.js';

export function markdown(result: AgainstResult, growth: readonly Growth[]): string {
  const parts = [rates(result), latencies(result)];
  if (growth.length > 0) parts.push(growths(growth));
  return parts.filter((part) => part !== '').join('\n');
}

/** A row for each load, a column for each system that was put under one of them. */
function rates({ measurements, comparisons }: AgainstResult): string {
  const shown = measurements.filter(({ work }) => work !== 'latency');
  const columns = [...new Set(shown.map(columnOf))];
  const loads = new Map<string, Measurement[]>();
  for (const one of shown) {
    const { work, nodes, payloadBytes, batch } = one;
    const what = work === 'publish' ? 'publish' : 'publish, consume, acknowledge';
    const load = `${what} | ${nodes} | ${payloadBytes} | ${batch}`;
    loads.set(load, [...(loads.get(load) ?? []), one]);
  }
  if (loads.size === 0) return '';
  const rows = [...loads].map(([load, all]) => {
    const cells = columns.map((column) => {
      const found = all.find((one) => columnOf(one) === column);
      return found === undefined ? '' : rateCell(found, comparisons);
    });
    return `| ${load} | ${cells.join(' | ')} |\n`;
  });
  return table(['work', 'nodes', 'bytes', 'batch', ...columns], rows);
}

function columnOf({ system, setting }: Measurement): string {
  return SYSTEM_NAMES[system] + (setting === 'defaults' ? ', defaults' : '');
}

/** The rate, and the ratio of ours to it; bold where a goal was missed. */
function rateCell(one: Measurement, comparisons: readonly Comparison[]): string {
  const found = comparisonOf(one, comparisons);
  const rate = formatNumber(Math.round(one.messagesPerSecond));
  if (found === undefined) return rate;
  const { goal, ratio } = found;
  return `${rate} (${ratio.toFixed(2)}x${goal === null ? '' : `, ${verdict(goal, 'x')}`})`;
}

function latencies({ measurements, latencyVerdicts }: AgainstResult): string {
  const shown = measurements.filter(({ work }) => work === 'latency');
  if (shown.length === 0) return '';
  const rows = shown.map((one) => {
    const { p50Ms, p99Ms } = one.latency;
    const goalOf = (quantile: 'p50Ms' | 'p99Ms') => {
      const found = latencyVerdicts.find(
        (other) => other.nodes === one.nodes && other.quantile === quantile,
      );
      return one.system !== 'ours' || found === undefined ? '' : ` (${verdict(found.goal, ' ms')})`;
    };
    return (
      `| ${columnOf(one)} | ${one.nodes} | ${one.payloadBytes} | ` +
      `${p50Ms.toFixed(2)}${goalOf('p50Ms')} | ${p99Ms.toFixed(2)}${goalOf('p99Ms')} |\n`
    );
  });
  return table(['system', 'nodes', 'bytes', 'p50 ms', 'p99 ms'], rows);
}

function verdict({ bound, value, reached }: Goal, unit: string): string {
  const text = `${bound} ${value}${unit}`;
  return reached ? text : `**missed: ${text}**`;
}

function growths(runs: readonly Growth[]): string {
  const rows = runs.flatMap(({ figures }) =>
    figures.map(({ name, value, unit, target, met, runs: rounds }) => {
      const goal = target === null ? '' : `${target.bound} ${target.value}`;
      const spread = `${formatNumber(Math.min(...rounds))} to ${formatNumber(Math.max(...rounds))}`;
      return `| ${name} | ${formatNumber(value)} ${unit} | ${rounds.length > 1 ? spread : ''} | ${
        met === false ? `**missed: ${goal}**` : goal
      } |\n`;
    }),
  );
  return table(['figure', 'median', 'lowest to highest', 'goal'], rows);
}

function table(columns: readonly string[], rows: readonly string[]): string {
  const head = `| ${columns.join(' | ')} |\n|${' --- |'.repeat(columns.length)}\n`;
  return head + rows.join('');
}
