// The results of runs in a file: a run of the same attack takes the place of the one before it, so
// that a table can be filled one attack at a time.

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describeMachine } from '../report/report.js';
import type { Measured } from './judgement.js';
import { runName } from './table.js';

interface ResultsFile {
  readonly machine: ReturnType<typeof describeMachine>;
  readonly measured: readonly Measured[];
}

export function readResults(file: string): readonly Measured[] {
  const { measured } = JSON.parse(readFileSync(file, 'utf8')) as ResultsFile;
  return measured;
}

export function keepResult(file: string, result: Measured): void {
  const before = existsSync(file) ? readResults(file) : [];
  const others = before.filter((one) => runName(one) !== runName(result));
  const content: ResultsFile = { machine: describeMachine(), measured: [...others, result] };
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.part`, `${JSON.stringify(content, null, 2)}\n`);
  renameSync(`${file}.part`, file);
}
