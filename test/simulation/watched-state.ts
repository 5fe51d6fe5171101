/**
 * The state that committed entries make of an empty one, with a look at what leaves it, at what
 * moves within the log, and at versions: the rules of retention, of relocation and of fencing, told
 * once more, in the simplest way, by the rows as they stand when it happens.
 *
 * - An append goes because its queue was deleted, because it is older than a rule says that goes by
 *   age alone, or because it is older than `completedRetentionSeconds` and every cursor of its
 *   partition is above it, where a registered group without a cursor row reads from its start
 *   point. Ages are by the stamp of the entry that removes it.
 * - An append that moves is the same bytes in the entry that it moves to.
 * - A key/value row is put with a version above all that any row of the store ever had, whatever
 *   was removed, expired or purged since.
 */
import {
  type AppendRow,
  type CursorRow,
  type GroupRow,
  type Key,
  type KeyedRow,
  type KvRow,
  MapState,
  type PartitionRow,
  type QueueRow,
  readMeta,
  type State,
  TABLES,
  type Table,
} from '@svc/engine';
import { Violation } from './violation.js';

function tableOf<Row>(name: string): Table<Row> {
  return TABLES.find((table) => table.name === name) as unknown as Table<Row>;
}

const appends = tableOf<AppendRow>('appends');
const cursors = tableOf<CursorRow>('cursors');
const groups = tableOf<GroupRow>('groups');
const kvRows = tableOf<KvRow>('kvRows');
const partitions = tableOf<PartitionRow>('partitions');
const queues = tableOf<QueueRow>('queues');

const NO_BYTES = new Uint8Array(0);

export class WatchedState implements State {
  readonly #rows = new MapState();
  readonly #body: (index: number) => Uint8Array | undefined;
  trimmed = 0;
  moved = 0;
  #kvVersion = 0;

  constructor(body: (index: number) => Uint8Array | undefined) {
    this.#body = body;
  }

  get<Row>(table: Table<Row>, key: Key): Row | undefined {
    return this.#rows.get(table, key);
  }

  range<Row>(
    table: Table<Row>,
    from: Key,
    to: Key,
    limit: number,
    reverse?: boolean,
  ): KeyedRow<Row>[] {
    return this.#rows.range(table, from, to, limit, reverse);
  }

  put<Row>(table: Table<Row>, key: Key, row: Row): void {
    if (table.id === appends.id) this.#lookAtMove(key, row as unknown as AppendRow);
    if (table.id === kvRows.id) this.#lookAtVersion(row as unknown as KvRow);
    this.#rows.put(table, key, row);
  }

  delete<Row>(table: Table<Row>, key: Key): void {
    if (table.id === appends.id) this.#lookAtTrim(key);
    this.#rows.delete(table, key);
  }

  #lookAtVersion({ version }: KvRow): void {
    if (version <= this.#kvVersion) {
      throw new Violation('version_used', `a row has version ${version} after ${this.#kvVersion}`);
    }
    this.#kvVersion = version;
  }

  #lookAtMove(key: Key, after: AppendRow): void {
    const before = this.#rows.get(appends, key);
    if (before === undefined) return;
    this.moved++;
    const [old, moved] = [this.#bytesOf(before), this.#bytesOf(after)];
    if (old.length > 0 && Buffer.compare(old, moved) === 0) return;
    throw new Violation(
      'moved_changed',
      `the append of entry ${before.index} is not the same in entry ${after.index}`,
    );
  }

  #bytesOf({ index, position, length }: AppendRow): Uint8Array {
    return (this.#body(index) ?? NO_BYTES).subarray(position, position + length);
  }

  #lookAtTrim(key: Key): void {
    const row = this.#rows.get(appends, key);
    const partition = this.#rows.get(partitions, key.slice(0, 4) as Key);
    const queueKey = numberedKey(partition?.queue ?? 0);
    const queue = this.#rows.get(queues, queueKey);
    if (row === undefined || partition === undefined || queue === undefined) return;
    this.trimmed++;
    const { options } = queue;
    const older = (seconds: number) =>
      seconds > 0 && row.stampUs < readMeta(this).stampUs - seconds * 1_000_000;
    if (older(options.maxWaitTimeSeconds)) return;
    if (options.retentionEnabled && older(options.retentionSeconds)) return;
    const wasRead = this.#lowest(partition, queueKey) >= offsetIn(key) + row.count - 1;
    if (options.retentionEnabled && older(options.completedRetentionSeconds) && wasRead) return;
    throw new Violation(
      'trimmed_early',
      `partition ${partition.number} of ${queue.name} lost what was appended at ${row.stampUs}`,
    );
  }

  /** -1 where any group has read nothing, or none is known. */
  #lowest(partition: PartitionRow, queueKey: Key): number {
    const rows = this.#under(cursors, numberedKey(partition.number));
    const named = new Set(rows.map(({ key }) => key.slice(4)));
    const places = rows.map(({ row }) => row.committed);
    for (const { key, row } of this.#under(groups, queueKey)) {
      if (!named.has(key.slice(4)) && row.subscription.mode === 'all') return -1;
    }
    return places.length === 0 ? -1 : Math.min(...places);
  }

  #under<Row>(table: Table<Row>, prefix: Key): KeyedRow<Row>[] {
    return this.#rows.range(table, prefix, `${prefix}${'\xff'.repeat(500)}` as Key, 100_000);
  }
}

function numberedKey(number: number): Key {
  return String.fromCharCode(...[24, 16, 8, 0].map((shift) => (number >>> shift) & 255)) as Key;
}

function offsetIn(key: Key): number {
  let offset = 0;
  for (let at = 4; at < 10; at++) offset = offset * 256 + key.charCodeAt(at);
  return offset;
}
