/**
 * The stores that a node has for its state: the one it works with, one that is being received from
 * another node, and those that were found damaged. Each is a backing of its own under a name, which
 * is a directory's where stores are on disk.
 *
 * | Name                | What it is |
 * | ------------------- | ---------- |
 * | `state`             | the one in use |
 * | `state.incoming-*`  | rows of a snapshot, as many as have arrived; the name says of which |
 * | `state.received`    | a snapshot that is complete and verified |
 * | `state.previous`    | the one that a snapshot replaces, until it is replaced |
 * | `state.damaged-<n>` | found damaged and kept for inspection |
 *
 * What must hold: at every moment a crash leaves one `state`, or the means to have it; it is either
 * the old one or a complete snapshot. Every step below is one change of a name, durable when it
 * returns, and may be repeated.
 *
 * Whether a received snapshot is to be installed is the host's decision, which it makes durable
 * before it reopens: `install` does not ask again.
 */
import {
  type Applied,
  type Backing,
  type BackingRow,
  DamageError,
  DiskError,
  openRow,
} from '@svc/storage';

export const CURRENT = 'state';
const RECEIVED = 'state.received';
const PREVIOUS = 'state.previous';
const INCOMING = /^state\.incoming-(\d+)-(\d+)-([0-9a-f]{16})-([0-9a-f]{16})$/;
const INCOMING_PREFIX = 'state.incoming-';
const DAMAGED = /^state\.damaged-(\d+)$/;
/** Each may be as large as the state; older ones are removed. */
export const DAMAGED_KEPT_MAX = 2;
/** What every implementation can hold as a key; the engine's own limit is far below. */
const KEY_BYTES_MAX = 1978;

/** Where stores live. All is done when a call returns, and durable; errors are thrown. */
export interface StatePlace {
  /** Names of all stores, those half removed too, in no particular order. */
  names(): readonly string[];
  /** Creates it when it is missing. Throws DamageError when it cannot be trusted. */
  open(name: string, identity: Uint8Array): Backing;
  close(backing: Backing, done: () => void): void;
  /** No store has the name `to`. */
  rename(from: string, to: string): void;
  /** A crash may leave it in part. */
  remove(name: string): void;
  /** For messages. */
  pathOf(name: string): string;
}

export type SnapshotProblem =
  | 'snapshot_row_damaged'
  | 'snapshot_out_of_order'
  | 'snapshot_rows_differ';

/** What arrived is not the snapshot that its name promises. It has to be received anew. */
export class SnapshotError extends Error {
  readonly code: SnapshotProblem;

  constructor(code: SnapshotProblem, what: string) {
    super(what);
    this.name = 'SnapshotError';
    this.code = code;
  }
}

type Done = (error: Error | null) => void;

/** A snapshot that is being received. One call at a time: the next after `done`. */
export interface Incoming {
  /** Names the snapshot: two with equal names have the same rows. */
  readonly name: Applied;
  /** Rows up to this key are durable; null: none. */
  readonly lastKey: string | null;
  /** The next rows, in ascending order; `done` when they are durable. */
  write(rows: readonly BackingRow[], done: Done): void;
  /** All rows were written: verifies that they are those of the snapshot. */
  finish(done: Done): void;
}

export class StateStore {
  readonly #place: StatePlace;
  #identity: Uint8Array | null = null;
  #incoming: IncomingStore | null = null;

  constructor(place: StatePlace) {
    this.#place = place;
  }

  // --- opening -----------------------------------------------------------------------------------

  /**
   * Puts the received snapshot in the place of the state, when the host has decided so; also what a
   * crash left of that. Before `open`. False when there is no such snapshot: it was installed
   * before.
   */
  install(): boolean {
    const names = new Set(this.#place.names());
    if (!names.has(RECEIVED)) return false;
    if (names.has(CURRENT)) {
      if (names.has(PREVIOUS)) this.#place.remove(PREVIOUS);
      this.#place.rename(CURRENT, PREVIOUS);
    }
    this.#place.rename(RECEIVED, CURRENT);
    return true;
  }

  /** Opens the state; creates an empty one. Throws DamageError when it cannot be trusted. */
  open(identity: Uint8Array): Backing {
    this.#identity = identity;
    this.#incoming = null;
    this.#sweep();
    return this.#place.open(CURRENT, identity);
  }

  /** Removes what interrupted steps left; a snapshot that is being received stays. */
  #sweep(): void {
    const names = new Set(this.#place.names());
    // The state was on its way out when the process ended, and its successor was not decided on.
    if (!names.has(CURRENT) && names.has(PREVIOUS)) this.#place.rename(PREVIOUS, CURRENT);
    else if (names.has(PREVIOUS)) this.#place.remove(PREVIOUS);
    if (names.has(RECEIVED)) this.#place.remove(RECEIVED);
    for (const name of this.#incomingNames().slice(1)) this.#place.remove(name);
    this.#removeOldDamaged();
  }

  /** Keeps a damaged state under another name, which is returned as a path. It is not open. */
  moveAside(): string {
    const last = this.#damagedNumbers().at(-1) ?? 0;
    const name = `state.damaged-${last + 1}`;
    this.#place.rename(CURRENT, name);
    this.#removeOldDamaged();
    return this.#place.pathOf(name);
  }

  #removeOldDamaged(): void {
    const numbers = this.#damagedNumbers();
    for (const number of numbers.slice(0, Math.max(0, numbers.length - DAMAGED_KEPT_MAX))) {
      this.#place.remove(`state.damaged-${number}`);
    }
  }

  /** Ascending. */
  #damagedNumbers(): number[] {
    return this.#place
      .names()
      .map((name) => Number(DAMAGED.exec(name)?.[1] ?? 0))
      .filter((number) => number > 0)
      .sort((a, b) => a - b);
  }

  #incomingNames(): string[] {
    return this.#place
      .names()
      .filter((name) => name.startsWith(INCOMING_PREFIX))
      .sort();
  }

  // --- receiving ---------------------------------------------------------------------------------

  /** What has arrived of a snapshot, in this life or in one before; null when nothing has. */
  received(): Incoming | null {
    if (this.#incoming !== null) return this.#incoming;
    const [directory] = this.#incomingNames();
    if (directory === undefined) return null;
    const name = parseName(directory);
    if (name === null) return null;
    try {
      this.#incoming = this.#open(name);
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
      this.#place.remove(directory);
      return null;
    }
    return this.#incoming;
  }

  /**
   * Begins to receive a snapshot; what has arrived of any other, or of this one, goes. So does one
   * that is complete: had the host decided to install it, it would not receive another. Its name
   * has to be free, and the room is for two stores, not three.
   */
  receive(name: Applied, done: (incoming: Incoming) => void): void {
    const begin = () => {
      for (const left of this.#incomingNames()) this.#place.remove(left);
      if (this.#place.names().includes(RECEIVED)) this.#place.remove(RECEIVED);
      this.#incoming = this.#open(name);
      done(this.#incoming);
    };
    const before = this.#incoming;
    this.#incoming = null;
    if (before === null) begin();
    else before.close(begin);
  }

  /** Before the process, or this node in it, ends in order. */
  close(done: () => void): void {
    const incoming = this.#incoming;
    this.#incoming = null;
    if (incoming === null) done();
    else incoming.close(done);
  }

  #open(name: Applied): IncomingStore {
    if (this.#identity === null) throw new TypeError('a snapshot is received after `open`');
    const directory = formatName(name);
    const backing = this.#place.open(directory, this.#identity);
    return new IncomingStore(name, backing, this.#place, (done) => {
      this.#incoming = null;
      try {
        this.#place.rename(directory, RECEIVED);
      } catch (error) {
        if (!(error instanceof DiskError)) throw error;
        done(error);
        return;
      }
      done(null);
    });
  }
}

class IncomingStore implements Incoming {
  readonly name: Applied;
  readonly #backing: Backing;
  readonly #place: StatePlace;
  readonly #onComplete: (done: Done) => void;
  #lastKey: string | null;

  constructor(
    name: Applied,
    backing: Backing,
    place: StatePlace,
    onComplete: (done: Done) => void,
  ) {
    this.name = name;
    this.#backing = backing;
    this.#place = place;
    this.#onComplete = onComplete;
    this.#lastKey = backing.range('\x01', null, 1, true)[0]?.key ?? null;
  }

  get lastKey(): string | null {
    return this.#lastKey;
  }

  write(rows: readonly BackingRow[], done: Done): void {
    const problem = this.#problemOf(rows);
    if (problem !== null) {
      done(problem);
      return;
    }
    const transaction = this.#backing.begin();
    for (const { key, value } of rows) transaction.put(key, value);
    transaction.commit(this.name, (error) => {
      if (error === null) this.#lastKey = rows.at(-1)?.key ?? this.#lastKey;
      done(error);
    });
  }

  #problemOf(rows: readonly BackingRow[]): SnapshotError | null {
    let last = this.#lastKey ?? '';
    for (const { key, value } of rows) {
      const hex = Buffer.from(key, 'latin1').toString('hex');
      if (key <= last || key < '\x01') {
        return new SnapshotError(
          'snapshot_out_of_order',
          `the row under key ${hex} comes too late`,
        );
      }
      if (key.length > KEY_BYTES_MAX || openRow(key, value) === null) {
        return new SnapshotError('snapshot_row_damaged', `the row under key ${hex} is damaged`);
      }
      last = key;
    }
    return null;
  }

  finish(done: Done): void {
    const { digest, localDigest, index, term } = this.#backing.applied;
    const isSame = digest === this.name.digest && localDigest === this.name.localDigest;
    if (!isSame) {
      const what =
        `the rows that arrived have the digests ${digest} and ${localDigest}, ` +
        `not ${this.name.digest} and ${this.name.localDigest}`;
      done(new SnapshotError('snapshot_rows_differ', what));
      return;
    }
    // A snapshot without rows has not said yet what it contains.
    if (index === this.name.index && term === this.name.term) this.#complete(done);
    else this.write([], (error) => (error === null ? this.#complete(done) : done(error)));
  }

  #complete(done: Done): void {
    this.close(() => this.#onComplete(done));
  }

  close(done: () => void): void {
    this.#place.close(this.#backing, done);
  }
}

function formatName({ index, term, digest, localDigest }: Applied): string {
  return `${INCOMING_PREFIX}${index}-${term}-${digest}-${localDigest}`;
}

function parseName(directory: string): Applied | null {
  const [, index, term, digest, localDigest] = INCOMING.exec(directory) ?? [];
  if (digest === undefined || localDigest === undefined) return null;
  return { index: Number(index), term: Number(term), digest, localDigest };
}
