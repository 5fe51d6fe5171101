/** A read transaction of the library that is held while a snapshot is sent. */
import type { RootDatabase } from 'lmdb';
import {
  type Applied,
  type BackingRow,
  type BackingView,
  VIEW_COMMITS_MAX,
  VIEW_ROWS_MAX,
  type ViewPortion,
} from '../backing.js';

type Transaction = ReturnType<RootDatabase['useReadTransaction']>;

/** The first key that a row can have. */
const FIRST_KEY = '\x01';

export class LmdbView implements BackingView {
  readonly applied: Applied;
  readonly #database: RootDatabase<Buffer, string>;
  readonly #transaction: Transaction;
  readonly #onReleased: (view: LmdbView) => void;
  #commits = 0;
  #released = false;

  constructor(
    database: RootDatabase<Buffer, string>,
    transaction: Transaction,
    applied: Applied,
    onReleased: (view: LmdbView) => void,
  ) {
    this.#database = database;
    this.#transaction = transaction;
    this.applied = applied;
    this.#onReleased = onReleased;
  }

  rows(after: string | null, bytesMax: number): ViewPortion | null {
    if (this.#released) return null;
    const range = this.#database.getRange({
      start: after === null ? FIRST_KEY : `${after}\0`,
      transaction: this.#transaction,
    });
    const rows: BackingRow[] = [];
    let bytes = 0;
    for (const { key, value } of range) {
      bytes += key.length + value.length;
      if (rows.length === VIEW_ROWS_MAX || (rows.length > 0 && bytes > bytesMax)) {
        return { rows, isLast: false };
      }
      rows.push({ key, value });
    }
    return { rows, isLast: true };
  }

  /** A transaction was committed that this view does not show. */
  grewOlder(): void {
    this.#commits++;
    if (this.#commits >= VIEW_COMMITS_MAX) this.release();
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#transaction.done();
    this.#onReleased(this);
  }
}
