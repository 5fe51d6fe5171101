/**
 * Rows of the series of queues as bytes: in memory, in the file and on the way to another node they
 * are the same.
 *
 *     row := queue number | which columns are not 0 | their values, by the numbers of the columns
 *
 * All are numbers from 0 to 2^53 in as few bytes as they need (LEB128). A quiet queue has three or
 * four columns that are not 0, so a row takes about 15 bytes and not 170.
 */
import type { ByteWriter, GuardedReader } from '@svc/engine';
import { newQueueCounts, QUEUE_COLUMNS, type QueueColumn, type QueueCounts } from '@svc/wire';

export interface QueueSeriesRow {
  /** The number of the queue; never used for another one. */
  readonly number: number;
  readonly counts: QueueCounts;
}

const LAG_MAX = QUEUE_COLUMNS.indexOf('lagMsMax');

export function addCounts(to: QueueCounts, counts: Readonly<QueueCounts>): void {
  for (let i = 0; i < QUEUE_COLUMNS.length; i++) {
    const column = QUEUE_COLUMNS[i] as QueueColumn;
    if (i !== LAG_MAX) to[column] += counts[column];
    else if (counts.lagMsMax > to.lagMsMax) to.lagMsMax = counts.lagMsMax;
  }
}

/** Fractions are rounded. */
export function writeRow(w: ByteWriter, number: number, counts: Readonly<QueueCounts>): void {
  let mask = 0;
  for (let i = 0; i < QUEUE_COLUMNS.length; i++) {
    if (counts[QUEUE_COLUMNS[i] as QueueColumn] >= 0.5) mask |= 1 << i;
  }
  w.varint(number);
  w.varint(mask);
  for (let i = 0; i < QUEUE_COLUMNS.length; i++) {
    if ((mask & (1 << i)) === 0) continue;
    const value = Math.round(counts[QUEUE_COLUMNS[i] as QueueColumn]);
    w.varint(Math.min(value, Number.MAX_SAFE_INTEGER));
  }
}

/** Means nothing if the reader has refused. */
export function readRow(r: GuardedReader): QueueSeriesRow {
  const row = { number: r.varint(), counts: newQueueCounts() };
  readCounts(r, row.counts);
  return row;
}

/** What follows the number of a row, added to `counts`. */
export function readCounts(r: GuardedReader, counts: QueueCounts): void {
  const mask = r.varint();
  for (let i = 0; mask >>> i !== 0 && i < QUEUE_COLUMNS.length; i++) {
    if ((mask & (1 << i)) === 0) continue;
    const value = r.varint();
    const column = QUEUE_COLUMNS[i] as QueueColumn;
    if (i !== LAG_MAX) counts[column] += value;
    else if (value > counts.lagMsMax) counts.lagMsMax = value;
  }
  if (mask >= 2 ** QUEUE_COLUMNS.length) r.refuse();
}

/** The same, passed over. */
export function skipCounts(r: GuardedReader): void {
  let left = r.within(0, 2 ** QUEUE_COLUMNS.length - 1);
  for (; left !== 0; left &= left - 1) r.varint();
}
