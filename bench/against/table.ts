// The result as tables for people.

import { formatNumber, renderTable } from '../load/report.js';
import { comparisonOf } from './compare.js';
import { leftOutOf } from './page.js';
import type { AgainstResult, Comparison, Measurement } from './result.js';

const RIGHT_ALIGNED = new Set([
  'payload',
  'batch',
  'messages/s',
  'lowest to highest',
  'ratio',
  'p50 ms',
  'p99 ms',
  'server us',
]);

const RATE_COLUMNS = ['work', 'nodes', 'payload', 'batch', 'system', 'messages/s'].concat([
  'lowest to highest',
  'server us',
  'ratio',
  'of rounds',
  'target',
  '',
]);

const LATENCY_COLUMNS = ['nodes', 'system', 'messages/s', 'p50 ms', 'p99 ms', 'server us'];

export function renderTables(result: AgainstResult): string {
  const { measurements, comparisons, contenders, latencyVerdicts } = result;
  const rates = measurements.filter((one) => one.work !== 'latency');
  const latencies = measurements.filter((one) => one.work === 'latency');
  const parts = [
    contenders
      .map((one) => `${nameOf(one)}, ${nodesText(one.nodes)}, ${one.version}: ${one.label}`)
      .join('\n'),
  ];
  if (rates.length > 0) {
    const rows = rates.map((one) => rateRow(one, comparisonOf(one, comparisons)));
    parts.push(renderTable(RATE_COLUMNS, rows, RIGHT_ALIGNED));
  }
  if (latencies.length > 0) {
    parts.push(
      `single publishes, ${result.ratePerSecond}/s, from the moment each was due:\n` +
        renderTable(LATENCY_COLUMNS, latencies.map(latencyRow), RIGHT_ALIGNED),
    );
  }
  const verdicts = latencyVerdicts.map(
    ({ nodes, quantile, value, goal }) =>
      `ours, ${nodesText(nodes)}, ${quantile.slice(0, 3)} ${formatNumber(value)} ms: ` +
      `at most ${goal.value} ms ${goal.reached ? 'reached' : 'MISSED'}`,
  );
  if (verdicts.length > 0) parts.push(verdicts.join('\n'));
  const leftOut = leftOutOf(result).map((text) => `left out: ${text}`);
  if (leftOut.length > 0) parts.push(leftOut.join('\n'));
  return parts.join('\n\n');
}

function nameOf({ system, setting }: Pick<Measurement, 'system' | 'setting'>): string {
  return system === 'ours' ? system : `${system}, ${setting}`;
}

function nodesText(nodes: number): string {
  return nodes === 1 ? '1 node' : `${nodes} nodes`;
}

function rateRow(measured: Measurement, compared: Comparison | undefined): readonly string[] {
  const rates = measured.rounds.map((round) => round.messagesPerSecond);
  const goal = compared?.goal ?? null;
  return [
    measured.work,
    `${measured.nodes}`,
    `${measured.payloadBytes}`,
    `${measured.batch}`,
    nameOf(measured),
    formatNumber(measured.messagesPerSecond),
    `${formatNumber(Math.min(...rates))} to ${formatNumber(Math.max(...rates))}`,
    formatNumber(measured.serverMicrosecondsPerMessage),
    compared === undefined ? '' : compared.ratio.toFixed(2),
    compared === undefined ? '' : compared.ratios.map((ratio) => ratio.toFixed(2)).join(' '),
    goal === null ? '' : `${goal.bound} ${goal.value}`,
    goal === null ? '' : goal.reached ? 'reached' : 'MISSED',
  ];
}

function latencyRow(measured: Measurement): readonly string[] {
  return [
    `${measured.nodes}`,
    nameOf(measured),
    formatNumber(measured.messagesPerSecond),
    measured.latency.p50Ms.toFixed(3),
    measured.latency.p99Ms.toFixed(3),
    formatNumber(measured.serverMicrosecondsPerMessage),
  ];
}
