/** Series as tests make them: rows of processes and of queues, and what a reader finds. */
import { ByteWriter } from '@svc/engine';
import { newQueueCounts, type QueueCounts } from '@svc/wire';
import { eachQueueRow } from '../analytics/series-gather.js';
import {
  newProcessCounts,
  PROCESS_GAUGES,
  type ProcessRow,
  processRow,
} from '../analytics/series-process.js';
import { writeRow } from '../analytics/series-queues.js';
import type { QueueBlock, QueueScan, SeriesStore } from '../analytics/series-store.js';

export const EVERYTHING: QueueScan = {
  fromMinute: 0,
  toMinute: Number.MAX_SAFE_INTEGER,
  widthMinutes: 1,
  tenant: null,
  queue: null,
};

export function processAt(minute: number, pushMessages = 0): ProcessRow {
  const counts = { ...newProcessCounts(), pushMessages };
  const gauge = { avg: 2, min: 1, max: 3, last: 2 };
  const gauges = Object.fromEntries(PROCESS_GAUGES.map((name) => [name, gauge]));
  gauges.mapUsedPct = null as never;
  return processRow({ minute, samples: 60, counts, gauges: gauges as never });
}

/** `pushed`: messages by the number of their queue. */
export function blockAt(minute: number, pushed: Readonly<Record<number, number>>): QueueBlock {
  const writer = new ByteWriter(256);
  const rows = Object.entries(pushed);
  for (const [number, pushMessages] of rows) {
    writeRow(writer, Number(number), { ...newQueueCounts(), pushMessages });
  }
  return { minute, rows: rows.length, bytes: writer.finish() };
}

export function finish<Result>(walk: Generator<void, Result>): Result {
  for (;;) {
    const step = walk.next();
    if (step.done === true) return step.value;
  }
}

/** `minute queue` and the messages pushed, ascending. */
export function pushedIn(store: SeriesStore, scan: Partial<QueueScan> = {}): string[] {
  const bytes = finish(store.queueBuckets({ ...EVERYTHING, ...scan }));
  return [...eachQueueRow(bytes)]
    .map(({ minute, number, counts }) => `${minute} ${number}: ${pushedOf(counts)}`)
    .sort();
}

function pushedOf({ pushMessages }: QueueCounts): number {
  return pushMessages;
}
