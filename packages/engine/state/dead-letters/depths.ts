/** How many dead letters each queue has, for whoever watches the whole cluster. */
import type { Tenant } from '../../base/commands/commands.js';
import { numberInKey, numberKey, numberRange } from '../../base/keys.js';
import type { State } from '../../base/state.js';
import { queues } from '../../base/tables.js';
import { deadLetterCounts } from './tables.js';

export interface DeadLetterDepth {
  readonly tenant: Tenant;
  readonly queue: string;
  /** > 0. */
  readonly count: number;
}

/** Rows read at a stretch: some 2 us each. */
const ROWS_PER_READ = 256;

/** Dead letters of a queue that may be gone. */
export interface QueueDeadLetters {
  readonly number: number;
  readonly count: number;
}

/**
 * All queues that have dead letters, in the order of their creation, each once; null between reads
 * of the state, which may change then.
 */
export function* deadLetterQueues(state: State): Generator<QueueDeadLetters | null> {
  let from = numberKey(0);
  let number = 0;
  let count = 0;
  for (;;) {
    const rows = state.range(deadLetterCounts, from, numberKey(0xffff_ffff), ROWS_PER_READ);
    for (const { key, row } of rows) {
      const next = numberInKey(key);
      if (next !== number && count > 0) yield { number, count };
      count = next === number ? count + row : row;
      number = next;
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_PER_READ) break;
    from = `${last.key}\0` as typeof from;
    yield null;
  }
  if (count > 0) yield { number, count };
}

/** null: the queue is gone. */
export function namedDepth(
  state: State,
  { number, count }: QueueDeadLetters,
): DeadLetterDepth | null {
  const row = state.get(queues, numberKey(number));
  return row === undefined ? null : { tenant: row.tenant, queue: row.name, count };
}

/** null: the queue has none, or is gone. Its groups that have some are few. */
export function deadLetterDepth(state: State, number: number): DeadLetterDepth | null {
  let [from, to] = numberRange(number);
  let count = 0;
  for (;;) {
    const rows = state.range(deadLetterCounts, from, to, ROWS_PER_READ);
    for (const { row } of rows) count += row;
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_PER_READ) break;
    from = `${last.key}\0` as typeof from;
  }
  return count === 0 ? null : namedDepth(state, { number, count });
}
