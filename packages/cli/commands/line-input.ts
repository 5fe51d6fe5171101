/** Payloads from `--data`, a file or standard input: one JSON value a line. */
import { createReadStream } from 'node:fs';
import { UserError } from '../base/errors.js';
import { parseExact } from '../base/exact-json.js';
import { linesOf, textOf } from '../base/lines.js';
import type { Run } from '../command/run.js';

export interface Line {
  readonly number: number;
  /** As it was written, without white space around it. */
  readonly text: string;
  readonly value: unknown;
}

/** Blank lines are passed over. */
export async function* linesGiven(run: Run, file = run.given.text('file')): AsyncGenerator<Line> {
  const data = run.given.text('data');
  if (data !== undefined && file !== undefined) {
    throw new UserError('--data and --file exclude each other');
  }
  // A payload on the command line may be written over several lines.
  const lines = data === undefined ? linesOf(partsOf(run, file ?? '-')) : [data];
  let number = 0;
  for await (const line of lines) {
    number++;
    const text = line.trim();
    const at = data === undefined ? `line ${number}` : '--data';
    if (text !== '') yield { number, text, value: jsonOf(text, at) };
  }
}

/** `-` is the input. */
export async function* partsOf(run: Run, file: string): AsyncGenerator<string> {
  if (file === '-') {
    if (run.world.input.isTerminal) await run.note('reading the input; Ctrl-D ends it');
    yield* run.world.input.parts();
    return;
  }
  try {
    for await (const part of createReadStream(file, { encoding: 'utf8' })) yield part as string;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new UserError(`cannot read ${file}: ${(error as Error).message}`);
  }
}

export async function fileText(run: Run, file: string): Promise<string> {
  return textOf(partsOf(run, file));
}

function jsonOf(text: string, at: string): unknown {
  try {
    return parseExact(text);
  } catch (error) {
    const hint = /^\w/.test(text) ? ' (a text is written \'"text"\')' : '';
    throw new UserError(`${at} is no JSON: ${(error as Error).message}${hint}`);
  }
}

/** The last may have fewer. */
export async function* batchesOf<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
