// The end of a run in a table and a sentence.

import { renderTable } from '../report/report.js';
import type { GroupResult } from './ledger.js';
import type { DemoResult } from './run-demo.js';

const COLUMNS = [
  'queue',
  'group',
  'sent',
  'acknowledged',
  'delivered',
  'redelivered',
  'lost',
  'duplicated',
  'out of order',
  'altered',
  'messages/s',
] as const;

export function renderResult(result: DemoResult): string {
  const rows = result.verdicts.map((row) => cells(row, result.seconds));
  const table = renderTable(COLUMNS, rows, new Set(COLUMNS.slice(2)));
  const kills = `${result.kills} ${result.kills === 1 ? 'kill' : 'kills'}`;
  const verdict = result.clean
    ? 'Nothing lost, nothing duplicated, nothing out of order, every payload byte-identical.'
    : `The promise was not shown to hold:\n${result.complaints.join('\n')}`;
  return `${table}\n\n${result.seconds.toFixed(1)} s with ${kills} by SIGKILL. ${verdict}`;
}

function cells(row: GroupResult, seconds: number): readonly string[] {
  const numbers = [
    row.sent,
    row.acknowledged,
    row.delivered,
    row.redelivered,
    row.lost,
    row.duplicated,
    row.outOfOrder,
    row.altered,
    Math.round(row.delivered / seconds),
  ];
  return [row.queue, row.group, ...numbers.map((number) => number.toLocaleString('en-US'))];
}
