// `npm run bench -- --page FILES`: the page of a result of `--against`, with results of bench-scale
// below it. The files are what these programs wrote.

import { readFileSync, writeFileSync } from 'node:fs';
import type { Growth } from './growth-section.js';
import { renderPage } from './page.js';
import type { AgainstResult } from './result.js';

type ResultFile =
  | { readonly kind: 'against'; readonly result: AgainstResult }
  | { readonly kind: 'growth'; readonly result: Growth };

/** Writes it beside the file of `--against`, under the same name; throws when there is not one. */
export function writePage(files: readonly string[]): void {
  const read = files.map((file) => ({ file, ...readResult(file) }));
  const against = read.filter((one) => one.kind === 'against');
  const [first] = against;
  if (first === undefined || against.length > 1) {
    throw new Error(`--page: ${against.length} of the files are results of --against, not one`);
  }
  const growth = read.flatMap((one) => (one.kind === 'growth' ? [one.result] : []));
  const page = `${first.file.replace(/\.json$/, '')}.html`;
  writeFileSync(page, renderPage(first.result, growth));
  process.stdout.write(`written to ${page}\n`);
}

function readResult(file: string): ResultFile {
  const content: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (typeof content === 'object' && content !== null) {
    if ('comparisons' in content) return { kind: 'against', result: content as AgainstResult };
    if ('figures' in content) return { kind: 'growth', result: content as Growth };
  }
  throw new Error(`--page: ${file} is no result of --against or of bench-scale`);
}
