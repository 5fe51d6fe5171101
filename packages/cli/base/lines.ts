/** Lines of a stream of texts, without their ends. Input of any length is read piece by piece. */
import { UserError } from './errors.js';

/** As long as a line of NDJSON may be, in UTF-16 units, which are at most its bytes. */
export const LINE_MAX = 16 * 1024 * 1024;

export async function* linesOf(parts: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  let number = 0;
  for await (const part of parts) {
    const lines = (rest + part).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield checked(line, ++number);
    if (rest.length > LINE_MAX) checked(rest, number + 1);
  }
  if (rest !== '') yield checked(rest, number + 1);
}

function checked(line: string, number: number): string {
  if (line.length <= LINE_MAX && Buffer.byteLength(line) <= LINE_MAX) return line;
  throw new UserError(`line ${number} is longer than 16 MiB`);
}

export async function textOf(parts: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const part of parts) text += part;
  return text;
}
