/** What the counts kept beside append rows must say, counted from the rows themselves. */
import { ageKey, appendKeyOffset, numberKey, numberRange, stretchKey } from '../base/keys.js';
import type { AppendRow, LogUseRow, PartitionRow } from '../base/rows.js';
import type { Key, KeyedRow, State } from '../base/state.js';
import { appends, logUse, oldestAppends, partitions, queues } from '../base/tables.js';
import { STRETCH_ENTRIES } from '../state/log-use.js';

const FIRST_KEY = '' as Key;
const LAST_KEY = '\xff'.repeat(20) as Key;
const ALL = 1_000_000;

/** Every difference, in words; empty when all is right. */
export function wrongCounts(state: State): string[] {
  const wrong: string[] = [];
  const used = new Map<Key, LogUseRow>();
  for (const { row } of state.range(appends, FIRST_KEY, LAST_KEY, ALL)) {
    const key = stretchKey(Math.floor(row.index / STRETCH_ENTRIES));
    const known = used.get(key) ?? { appends: 0, bytes: 0 };
    used.set(key, { appends: known.appends + 1, bytes: known.bytes + row.length });
  }
  compare(wrong, 'logUse', [...used], state.range(logUse, FIRST_KEY, LAST_KEY, ALL));
  const ages: [Key, true][] = [];
  for (const { row } of state.range(partitions, FIRST_KEY, LAST_KEY, ALL)) {
    const [from, to] = numberRange(row.number);
    const own = state.range(appends, from, to, ALL);
    if (state.get(queues, numberKey(row.queue)) === undefined) continue;
    checkPartition(wrong, row, own);
    const [oldest] = own;
    if (oldest !== undefined) ages.push([ageKey(row.queue, oldest.row.stampUs, row.number), true]);
  }
  const kept = state.range(oldestAppends, FIRST_KEY, LAST_KEY, ALL).filter(({ key }) => {
    const queue = key.slice(0, 4) as Key;
    return state.get(queues, queue) !== undefined;
  });
  compare(wrong, 'oldestAppends', ages, kept);
  return wrong;
}

function checkPartition(wrong: string[], row: PartitionRow, own: KeyedRow<AppendRow>[]): void {
  let next = row.logStart;
  let bytes = 0;
  for (const one of own) {
    if (appendKeyOffset(one.key) !== next) wrong.push(`partition ${row.number}: gap at ${next}`);
    next += one.row.count;
    bytes += one.row.length;
  }
  const counted = [next, own.length, bytes].join(' ');
  const said = [row.nextOffset, row.appends, row.retainedBytes].join(' ');
  if (counted !== said) wrong.push(`partition ${row.number}: ${said}, but it is ${counted}`);
}

function compare(
  wrong: string[],
  table: string,
  expected: readonly (readonly [Key, unknown])[],
  actual: readonly KeyedRow<unknown>[],
): void {
  const wanted = expected.map(([key, row]) => JSON.stringify([key, row])).sort();
  const found = actual.map(({ key, row }) => JSON.stringify([key, row])).sort();
  if (wanted.join() !== found.join()) wrong.push(`${table}: ${found} instead of ${wanted}`);
}
