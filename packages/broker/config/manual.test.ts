// Goal: the operator's manual says of every variable what the program does, and names no other.
// Method: the rows of docs/configuration.md against rows made from the table of variables.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Variable } from './variable.js';
import { ABSENT_VARIABLES, VARIABLES } from './variables.js';

const MANUAL = new URL('../../../docs/configuration.md', import.meta.url);

/**
 * The rows whose first cell names a variable; cells by single spaces, whatever the columns' width.
 */
function manualRows(): string[] {
  const lines = readFileSync(MANUAL, 'utf8').split('\n');
  return lines
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.replace(/ +/g, ' ').trim());
}

function manualRow({ names, kind, meaning }: Variable<unknown>): string {
  const named = names.map((name) => `\`${name}\``).join(', else ');
  const minimum = kind.minimum === null ? '' : String(kind.minimum);
  const cells = [named, kind.label, kind.defaultText, minimum, meaning];
  return `| ${cells.join(' | ')} |`.replace(/ +/g, ' ');
}

const ROWS: readonly Variable<unknown>[] = [...Object.values(VARIABLES), ...ABSENT_VARIABLES];

test.each(ROWS.map((row) => [row.names[0], row] as const))('%s is documented', (_name, row) => {
  expect(manualRows()).toContain(manualRow(row));
});

test('nothing else is', () => {
  const known = ROWS.map(manualRow);
  expect(manualRows().filter((row) => !known.includes(row))).toEqual([]);
});
