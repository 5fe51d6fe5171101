/**
 * Usage as lines of JSON, for files that outlive the process (gateway 10). A file begins with who
 * wrote it; each other line is a row as it was at that moment, so of one row the greatest counts
 * hold, in whatever order and however often its lines are read.
 *
 *     {"usage":1,"node":"<cluster>/<node>","boot":"5f2c…","writer":"1-5f2c…"}
 *     ["<cluster id>",1795600000000000,"push",12,12,3456,789]
 *
 * A line counts when it is whole: the process may have died while it wrote the last one.
 */
import { later, type MinuteRow, opOf, type Usage } from './usage-rows.js';

export interface FileHead {
  /** The broker's cluster and the node that counted. Files of others are left alone. */
  readonly node: string;
  /** Which process wrote it. */
  readonly boot: string;
  /** The last part of the rows' keys. */
  readonly writer: string;
}

const FORM = 1;

export function headText({ node, boot, writer }: FileHead): string {
  return `${JSON.stringify({ usage: FORM, node, boot, writer })}\n`;
}

/** The part of a row's lines before the counts, which never changes. */
export function lineStart(clusterId: string, minuteUs: number, op: string): string {
  return `[${JSON.stringify(clusterId)},${minuteUs},"${op}",`;
}

export function lineEnd({ msgs, reqs, bytes_in, bytes_out }: Usage): string {
  return `${msgs},${reqs},${bytes_in},${bytes_out}]\n`;
}

/** Null: it is no such file. */
export function readHead(line: string): FileHead | null {
  const value = parsed(line);
  if (typeof value !== 'object' || value === null || !('usage' in value)) return null;
  const { usage, node, boot, writer } = value as { [name: string]: unknown };
  if (usage !== FORM || typeof node !== 'string') return null;
  if (typeof boot !== 'string' || typeof writer !== 'string') return null;
  return { node, boot, writer };
}

/** The rows of a file, each as its greatest line has it. */
export class FileRows {
  readonly #writer: string;
  readonly #rows = new Map<string, MinuteRow>();
  /** Whole lines that are no rows: something else wrote into the file, or the disk did. */
  faults = 0;

  constructor(writer: string) {
    this.#writer = writer;
  }

  take(line: string): void {
    const row = rowOf(line, this.#writer);
    if (row === null) {
      this.faults++;
      return;
    }
    const key = `${row.clusterId}/${row.minuteUs}/${row.op}`;
    const known = this.#rows.get(key);
    this.#rows.set(key, known === undefined ? row : { ...row, ...later(known, row) });
  }

  rows(): MinuteRow[] {
    return [...this.#rows.values()];
  }
}

function rowOf(line: string, writer: string): MinuteRow | null {
  const value = parsed(line);
  if (!Array.isArray(value) || value.length !== 7) return null;
  const [clusterId, minuteUs, opText, ...counts] = value as unknown[];
  const op = opOf(opText);
  if (typeof clusterId !== 'string' || !isCount(minuteUs) || op === null) return null;
  if (!counts.every(isCount)) return null;
  const [msgs = 0, reqs = 0, bytesIn = 0, bytesOut = 0] = counts as number[];
  return { clusterId, minuteUs, op, writer, msgs, reqs, bytes_in: bytesIn, bytes_out: bytesOut };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
