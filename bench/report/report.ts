// The results as a table for people and as JSON for programs.

import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { checkoutRoot } from '../rig/checkout.js';
import { type Figure, meets } from './figure.js';

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly kernel: string;
  readonly node: string;
}

export function describeMachine(): Machine {
  const all = cpus();
  return {
    processor: all[0]?.model ?? 'unknown',
    cores: all.length,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    kernel: `${process.platform} ${release()}`,
    node: process.version,
  };
}

const COLUMNS = ['figure', 'value', 'unit', 'target', '', 'runs', 'note'] as const;
const RIGHT_ALIGNED = new Set<string>(['value']);

export function renderFigures(figures: readonly Figure[]): string {
  const rows = figures.map((measured) => {
    const { target } = measured;
    return [
      measured.name,
      formatNumber(measured.value),
      measured.unit,
      target === null ? '' : `${target.bound} ${formatNumber(target.value)}`,
      target === null ? '' : meets(measured, target) ? 'met' : 'MISSED',
      measured.runs.length > 1 ? measured.runs.map(formatNumber).join(' ') : '',
      measured.note,
    ];
  });
  return renderTable(COLUMNS, rows, RIGHT_ALIGNED);
}

/** Columns as wide as their widest cell, two spaces between them. */
export function renderTable(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
  rightAligned: ReadonlySet<string>,
): string {
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...rows.map((row) => (row[index] ?? '').length)),
  );
  const line = (cells: readonly string[]): string =>
    columns
      .map((column, index) => {
        const cell = cells[index] ?? '';
        const width = widths[index] ?? 0;
        return rightAligned.has(column) ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd();
  const rule = widths.map((width) => '-'.repeat(width));
  return [line(columns), line(rule), ...rows.map(line)].join('\n');
}

export function formatNumber(value: number): string {
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : 2;
  return value.toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

/** What a program measured, with what it was asked for. */
export interface Results {
  /** The file is named after it when it has no name of its own. */
  readonly kind: string;
  readonly options: { readonly jsonFile: string | undefined };
  readonly startedAt: Date;
  /** For the file. */
  readonly measured: readonly object[];
  /** For people. */
  readonly table: string;
}

/** Writes the results to their file, and the table to standard output. */
export function report({ kind, options, startedAt, measured, table }: Results): void {
  const machine = describeMachine();
  const date = startedAt.toISOString();
  const name = `${kind}-${date.replaceAll(':', '-').slice(0, 19)}.json`;
  const file = options.jsonFile ?? join(checkoutRoot(), 'bench', 'results', name);
  const command = `npm run bench -- ${process.argv.slice(2).join(' ')}`.trim();
  mkdirSync(dirname(file), { recursive: true });
  const content = { date, command, machine, options, measured };
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
  process.stdout.write(
    `\n${machine.processor}, ${machine.cores} cores, ${machine.memoryGib} GiB, ` +
      `${machine.kernel}, Node ${machine.node}, ${date}\n\n${table}\n\nwritten to ${file}\n`,
  );
}
