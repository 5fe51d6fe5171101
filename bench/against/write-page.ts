// `npm run bench -- --page FILES [--again FILES]`: the page of results of `--against`, with results
// of bench-scale below it, and the same figures in Markdown on standard output. The files are what
// these programs wrote. Those of `--again` are a second run of the same: every ratio is held to the
// one of the first run, and the exit code is 1 when one of them differs by more than promised.

import { readFileSync, writeFileSync } from 'node:fs';
import { renderTable } from '../load/report.js';
import type { Growth } from './growth-section.js';
import { markdown } from './markdown.js';
import { merged } from './merged.js';
import { loadOf, renderPage } from './page.js';
import { countText, type Repeated, repetition } from './repetition.js';
import type { AgainstResult } from './result.js';

type ResultFile =
  | { readonly kind: 'against'; readonly result: AgainstResult }
  | { readonly kind: 'growth'; readonly result: Growth };

/** Writes it beside the first file of `--against`, under the same name; throws without one. */
export function writePage(files: readonly string[], againFiles: readonly string[]): void {
  const read = files.map((file) => ({ file, ...readResult(file) }));
  const growth = read.flatMap((one) => (one.kind === 'growth' ? [one.result] : []));
  const result = merged(comparisonsAmong(read));
  const first = read.find(({ kind }) => kind === 'against')?.file ?? '';
  const page = `${first.replace(/\.json$/, '')}.html`;
  if (againFiles.length === 0) writeFileSync(page, renderPage(result, { growth }));
  else {
    const again = merged(comparisonsAmong(againFiles.map(readResult)));
    const repeated = repetition(result, again);
    writeFileSync(page, renderPage(result, { growth, again }));
    process.stdout.write(`${repeatedTable(repeated)}\n\n${countText(repeated)}\n\n`);
    if (repeated.some(({ within }) => !within)) process.exitCode = 1;
  }
  process.stdout.write(`${markdown(result, growth)}\nwritten to ${page}\n`);
}

/** Those that differ most first. */
function repeatedTable(all: readonly Repeated[]): string {
  const rows = [...all]
    .sort((left, right) => right.difference - left.difference)
    .map(({ first, second, difference, within }) => [
      loadOf(first),
      first.ratio.toFixed(2),
      second === null ? 'not measured' : second.ratio.toFixed(2),
      second === null ? '' : `${(difference * 100).toFixed(0)} %`,
      within ? '' : 'BEYOND',
    ]);
  const columns = ['ratio of rates', 'first run', 'second run', 'difference', ''];
  return renderTable(columns, rows, new Set(columns.slice(1, 4)));
}

function comparisonsAmong(files: readonly ResultFile[]): readonly AgainstResult[] {
  return files.flatMap((one) => (one.kind === 'against' ? [one.result] : []));
}

function readResult(file: string): ResultFile {
  const content: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (typeof content === 'object' && content !== null) {
    if ('comparisons' in content) return { kind: 'against', result: content as AgainstResult };
    if ('figures' in content) return { kind: 'growth', result: content as Growth };
  }
  throw new Error(`--page: ${file} is no result of --against or of bench-scale`);
}
