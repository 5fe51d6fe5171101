/**
 * Tables. Columns are declared in one text, `NAME=path` each, and those that only `wide` shows come
 * after a bar: `QUEUE=queue PENDING=messages.pending LAG=maxTimeLag:seconds | TASK=task`.
 * Numbers are grouped by commas but for those that name something (`:plain`): these are typed anew.
 */
import { onOneLine } from '../base/one-line.js';
import { humanSeconds } from '../base/times.js';

interface Column {
  readonly head: string;
  readonly path: readonly string[];
  readonly kind: string | undefined;
}

export interface TableOptions {
  readonly wide: boolean;
  readonly headers: boolean;
  readonly color: boolean;
  readonly nowMs: number;
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const CELL_MAX = 80;

export function tableText(
  rows: readonly unknown[],
  columns: string,
  options: TableOptions,
): string {
  const shown = columnsOf(columns, options.wide);
  const cells = rows.map((row) => shown.map((column) => cellOf(row, column, options.nowMs)));
  const lines = options.headers ? [shown.map(({ head }) => head), ...cells] : cells;
  const widths = shown.map((_, i) =>
    lines.reduce((widest, line) => Math.max(widest, width(line[i] ?? '')), 0),
  );
  const texts = lines.map((line) =>
    line
      .map((cell, i) => cell + ' '.repeat((widths[i] ?? 0) - width(cell)))
      .join('   ')
      .trimEnd(),
  );
  const [head = '', ...rest] = texts;
  const first = options.headers && options.color ? `\u001b[1m${head}\u001b[0m` : head;
  return lines.length === 0 ? '' : `${[first, ...rest].join('\n')}\n`;
}

function columnsOf(columns: string, wide: boolean): readonly Column[] {
  const [narrow = '', more = ''] = columns.split(' | ');
  const named = `${narrow} ${wide ? more : ''}`.trim().split(/\s+/);
  return named.map((column) => {
    const [head = '', rest = ''] = column.split('=');
    const [path = '', kind] = rest.split(':');
    return { head, path: path.split('.'), kind };
  });
}

function cellOf(row: unknown, { path, kind }: Column, nowMs: number): string {
  const value = path.reduce<unknown>((at, name) => {
    return typeof at === 'object' && at !== null
      ? (at as Readonly<Record<string, unknown>>)[name]
      : undefined;
  }, row);
  if (kind === 'seconds' && typeof value === 'number') return humanSeconds(value);
  if (kind === 'plain' && typeof value === 'number') return String(value);
  return cellText(value, nowMs);
}

function cellText(value: unknown, nowMs: number): string {
  if (value === null || value === undefined || value === '') return '-';
  if (typeof value === 'number') return numberText(value);
  if (Array.isArray(value)) return String(value.length);
  if (typeof value === 'object') return `{${Object.keys(value).join(',')}}`;
  if (typeof value === 'string' && TIME.test(value)) return ageText(Date.parse(value), nowMs);
  return shortened(onOneLine(String(value)));
}

function numberText(value: number): string {
  if (!Number.isInteger(value)) return String(Math.round(value * 1000) / 1000);
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

function ageText(ms: number, nowMs: number): string {
  const seconds = Math.round((nowMs - ms) / 1000);
  return seconds < 0 ? `in ${humanSeconds(-seconds)}` : `${humanSeconds(seconds)} ago`;
}

function shortened(text: string): string {
  const characters = [...text];
  return characters.length <= CELL_MAX ? text : `${characters.slice(0, CELL_MAX - 1).join('')}…`;
}

function width(text: string): number {
  return [...text].length;
}
