/** A digest of replicated state, computed row by row, for states of different makes. */
import { createHash } from 'node:crypto';
import { type Key, type State, TABLES } from '@svc/engine';

const FIRST_KEY = '' as Key;
/** Above every key: no table has a key of 600 bytes. */
const LAST_KEY = '\u00ff'.repeat(600) as Key;
const ROWS_PER_READ = 1000;

export function digestOf(state: State): string {
  const hash = createHash('sha256');
  for (const table of TABLES) {
    if (table.local) continue;
    let from = FIRST_KEY;
    for (;;) {
      const rows = state.range(table, from, LAST_KEY, ROWS_PER_READ);
      for (const { key, row } of rows) {
        hash.update(`${table.id}:${key.length}:`);
        hash.update(Buffer.from(key, 'latin1'));
        hash.update(table.encode(row));
      }
      const last = rows[rows.length - 1];
      if (last === undefined || rows.length < ROWS_PER_READ) break;
      from = `${last.key}\0` as Key;
    }
  }
  return hash.digest('hex');
}
