// `npm run bench -- --page FILES`: the page of results of `--against`, with results of bench-scale
// below it, and the same figures in Markdown on standard output. The files are what these programs
// wrote.

import { readFileSync, writeFileSync } from 'node:fs';
import type { Growth } from './growth-section.js';
import { markdown } from './markdown.js';
import { merged } from './merged.js';
import { renderPage } from './page.js';
import type { AgainstResult } from './result.js';

type ResultFile =
  | { readonly kind: 'against'; readonly result: AgainstResult }
  | { readonly kind: 'growth'; readonly result: Growth };

/** Writes it beside the first file of `--against`, under the same name; throws without one. */
export function writePage(files: readonly string[]): void {
  const read = files.map((file) => ({ file, ...readResult(file) }));
  const against = read.flatMap((one) => (one.kind === 'against' ? [one.result] : []));
  const growth = read.flatMap((one) => (one.kind === 'growth' ? [one.result] : []));
  const result = merged(against);
  const first = read.find(({ kind }) => kind === 'against')?.file ?? '';
  const page = `${first.replace(/\.json$/, '')}.html`;
  writeFileSync(page, renderPage(result, growth));
  process.stdout.write(`${markdown(result, growth)}\nwritten to ${page}\n`);
}

function readResult(file: string): ResultFile {
  const content: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (typeof content === 'object' && content !== null) {
    if ('comparisons' in content) return { kind: 'against', result: content as AgainstResult };
    if ('figures' in content) return { kind: 'growth', result: content as Growth };
  }
  throw new Error(`--page: ${file} is no result of --against or of bench-scale`);
}
