/**
 * Goal: a crash at any step leaves the old state or the whole new one, what was received is not
 * received again, and nothing is left lying about. Method: one table of cases against stores on
 * LMDB and in memory; each scenario runs once for every step at which it can be cut off, and is
 * then taken up again by the next life until it has reached its end.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LOCAL_TABLES } from '@svc/engine';
import {
  type Applied,
  type Backing,
  type BackingRow,
  checksummedRow,
  DamageError,
  DiskError,
  RealDisk,
} from '@svc/storage';
import { SimulatedBacking } from '@svc/storage/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SimulatedPlace } from '../testing/state-store-simulated.js';
import {
  DAMAGED_KEPT_MAX,
  type Incoming,
  SnapshotError,
  type StatePlace,
  StateStore,
} from './state-store.js';
import { LmdbPlace } from './state-store-lmdb.js';

const IDENTITY = new Uint8Array(16).fill(5);
const LOCAL = String.fromCharCode(LOCAL_TABLES[0] ?? 0);

/** A failure that is reported where the call has returned already. */
class Crash extends DiskError {
  constructor() {
    super('CRASH', 'end', 'the process', 'for the test');
  }
}

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'state-store-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

/** Counts the steps of a process; shared by the processes of one machine. */
class Steps {
  /** Until the process ends; Infinity: it does not. */
  left = Number.POSITIVE_INFINITY;

  take = (): void => {
    this.left--;
    if (this.left < 0) throw new Crash();
  };
}

/** What outlives a process, and the processes on it. */
interface Machine {
  readonly steps: Steps;
  readonly place: StatePlace;
  newStore(): StateStore;
  endProcess(): Promise<void>;
  /** Damages the state, which is not open. */
  damage(): void;
  names(): readonly string[];
}

function lmdbMachine(): Machine {
  const steps = new Steps();
  let opened: Backing[] = [];
  const stores = new LmdbPlace({
    disk: new RealDisk(),
    directory,
    mapBytes: 2 ** 30,
    report: () => {},
    onChange: steps.take,
  });
  const place: StatePlace = {
    names: () => stores.names(),
    open: (name, identity) => {
      const backing = stores.open(name, identity);
      opened.push(backing);
      return backing;
    },
    close: (backing, done) => stores.close(backing, done),
    rename: (from, to) => stores.rename(from, to),
    remove: (name) => stores.remove(name),
    pathOf: (name) => stores.pathOf(name),
  };
  return {
    steps,
    place,
    newStore: () => new StateStore(place),
    endProcess: async () => {
      for (const backing of opened) await backing.close();
      opened = [];
    },
    damage: () => {
      const path = join(directory, 'state', 'state.mdb');
      const bytes = readFileSync(path);
      bytes.fill(0xff, 0, 8192);
      writeFileSync(path, bytes);
    },
    names: () => readdirSync(directory).sort(),
  };
}

function simulatedMachine(): Machine {
  const steps = new Steps();
  const defer = (run: () => void) => void setImmediate(run);
  const place = new SimulatedPlace({ seed: 1, defer, onChange: steps.take });
  return {
    steps,
    place,
    newStore: () => new StateStore(place),
    endProcess: () => {
      place.crash();
      return Promise.resolve();
    },
    damage: () => place.store('state')?.markDamaged('for the test'),
    names: () => [...place.names()].sort(),
  };
}

/** What another node sends: rows and the name of the snapshot that they are. */
interface Snapshot {
  readonly rows: readonly BackingRow[];
  readonly name: Applied;
}

async function snapshotOf(index: number, count: number): Promise<Snapshot> {
  const source = new SimulatedBacking({
    seed: index,
    localTables: LOCAL_TABLES,
    defer: (run) => void setImmediate(run),
  });
  const transaction = source.begin();
  for (let i = 0; i < count; i++) {
    const key = `${i % 3 === 0 ? LOCAL : '\x07'}${index} ${i}`;
    transaction.put(
      key,
      checksummedRow(key, new Uint8Array(Buffer.from('content '.repeat(i % 9)))),
    );
  }
  await new Promise((resolve) => transaction.commit({ index, term: 2 }, resolve));
  const view = source.snapshot();
  const rows = view?.rows(null, 1e9)?.rows ?? [];
  expect(rows.length).toBe(count);
  return { rows, name: source.applied };
}

function contentOf(backing: Backing): readonly BackingRow[] {
  return backing.range('\x01', null, 1e6, false).map(({ key, value }) => {
    return { key, value: new Uint8Array(value) };
  });
}

const write = (incoming: Incoming, rows: readonly BackingRow[]) =>
  new Promise<Error | null>((resolve) => incoming.write(rows, resolve));
const finish = (incoming: Incoming) =>
  new Promise<Error | null>((resolve, reject) => {
    try {
      incoming.finish((error) => (error instanceof Crash ? reject(error) : resolve(error)));
    } catch (error) {
      reject(error);
    }
  });
const receive = (store: StateStore, name: Applied) =>
  new Promise<Incoming>((resolve) => store.receive(name, resolve));

describe.each([
  ['LMDB', lmdbMachine],
  ['simulated', simulatedMachine],
])('on %s', (_name, newMachine) => {
  let machine: Machine;
  /** The host's own durable decision to install what was received. */
  let decided = false;
  let old: Snapshot;
  let fresh: Snapshot;

  beforeEach(async () => {
    machine = newMachine();
    decided = false;
    old = await snapshotOf(5, 40);
    fresh = await snapshotOf(20, 300);
  });

  /** The rows of `snapshot` become the state, as if its entries had been applied. */
  async function fill(backing: Backing, snapshot: Snapshot): Promise<void> {
    const transaction = backing.begin();
    for (const { key, value } of snapshot.rows) transaction.put(key, value);
    await new Promise((resolve) => transaction.commit(snapshot.name, resolve));
    expect(backing.applied).toEqual(snapshot.name);
  }

  async function withOldState(): Promise<void> {
    await fill(machine.newStore().open(IDENTITY), old);
    await machine.endProcess();
  }

  /** One life: installs if it was decided, else receives on. True when the new state is in use. */
  async function live(portion: number): Promise<boolean> {
    const store = machine.newStore();
    if (decided) store.install();
    const backing = store.open(IDENTITY);
    const isNew = backing.applied.index === fresh.name.index;
    expect(backing.applied).toEqual(isNew ? fresh.name : old.name);
    expect(contentOf(backing)).toEqual(isNew ? fresh.rows : old.rows);
    expect(isNew).toBe(decided);
    if (isNew) return true;
    const incoming = store.received() ?? (await receive(store, fresh.name));
    expect(incoming.name).toEqual(fresh.name);
    const { lastKey } = incoming;
    const left = fresh.rows.filter(({ key }) => lastKey === null || key > lastKey);
    expect(await write(incoming, left.slice(0, portion))).toBeNull();
    machine.steps.take();
    if (left.length > portion) return false;
    expect(await finish(incoming)).toBeNull();
    decided = true;
    return false;
  }

  test('a snapshot is received over many lives, and takes the place of the state', async () => {
    await withOldState();
    let lives = 0;
    while (!(await live(100))) {
      lives++;
      await machine.endProcess();
    }
    expect(lives).toBe(3);
    expect(machine.names()).toEqual(['state']);
    await machine.endProcess();
  });

  test('a crash at any step is taken up again', async () => {
    let crashes = 0;
    for (let steps = 0; ; steps++) {
      rmSync(directory, { recursive: true });
      directory = mkdtempSync(join(tmpdir(), 'state-store-'));
      machine = newMachine();
      decided = false;
      await withOldState();
      machine.steps.left = steps;
      let crashed = false;
      for (let isNew = false; !isNew; ) {
        try {
          isNew = await live(150);
        } catch (error) {
          if (!(error instanceof Crash)) throw new Error(`cut at step ${steps}`, { cause: error });
          crashed = true;
          machine.steps.left = Number.POSITIVE_INFINITY;
        }
        await machine.endProcess();
      }
      expect(machine.names()).toEqual(['state']);
      if (!crashed) break;
      crashes++;
    }
    expect(crashes).toBeGreaterThanOrEqual(8);
  });

  test('rows that are damaged, out of order or missing are refused', async () => {
    const store = machine.newStore();
    store.open(IDENTITY);
    expect(store.received()).toBeNull();
    const incoming = await receive(store, fresh.name);
    expect(await write(incoming, fresh.rows.slice(0, 100))).toBeNull();
    const problem = async (rows: readonly BackingRow[]) => {
      const error = await write(incoming, rows);
      return error instanceof SnapshotError ? error.code : error;
    };
    expect(await problem(fresh.rows.slice(50, 60))).toBe('snapshot_out_of_order');
    const [row] = fresh.rows.slice(100);
    if (row === undefined) throw new Error('there is a row');
    const flipped = row.value.slice();
    flipped[5] = (flipped[5] ?? 0) ^ 4;
    expect(await problem([{ key: row.key, value: flipped }])).toBe('snapshot_row_damaged');
    expect(await problem([{ key: `${row.key}x`, value: row.value }])).toBe('snapshot_row_damaged');
    const long = `${row.key}${'x'.repeat(2000)}`;
    expect(await problem([{ key: long, value: checksummedRow(long, new Uint8Array(1)) }])).toBe(
      'snapshot_row_damaged',
    );
    expect(await write(incoming, fresh.rows.slice(100, 299))).toBeNull();
    expect(await finish(incoming)).toMatchObject({ code: 'snapshot_rows_differ' });
    expect(await write(incoming, fresh.rows.slice(299))).toBeNull();
    expect(await finish(incoming)).toBeNull();
    await machine.endProcess();
  });

  test('another snapshot begins anew; one without rows is one too', async () => {
    await withOldState();
    const store = machine.newStore();
    store.open(IDENTITY);
    const first = await receive(store, fresh.name);
    expect(await write(first, fresh.rows.slice(0, 100))).toBeNull();
    const other = await snapshotOf(30, 0);
    const second = await receive(store, other.name);
    expect(second.lastKey).toBeNull();
    expect(store.received()).toBe(second);
    expect(await finish(second)).toBeNull();
    await machine.endProcess();
    const next = machine.newStore();
    expect(next.install()).toBe(true);
    const backing = next.open(IDENTITY);
    expect([backing.applied, contentOf(backing)]).toEqual([other.name, []]);
    expect(next.received()).toBeNull();
    expect(machine.names()).toEqual(['state']);
    await machine.endProcess();
    expect(machine.newStore().install()).toBe(false);
  });

  test('a snapshot that nobody decided to install goes', async () => {
    await withOldState();
    const store = machine.newStore();
    store.open(IDENTITY);
    const incoming = await receive(store, fresh.name);
    expect(await write(incoming, fresh.rows)).toBeNull();
    expect(await finish(incoming)).toBeNull();
    await machine.endProcess();
    expect(machine.names()).toEqual(['state', 'state.received']);
    const backing = machine.newStore().open(IDENTITY);
    expect(backing.applied).toEqual(old.name);
    expect(machine.names()).toEqual(['state']);
    await machine.endProcess();
  });

  test('one snapshot after the other is completed in one life; the last one counts', async () => {
    await withOldState();
    const store = machine.newStore();
    store.open(IDENTITY);
    for (const snapshot of [old, await snapshotOf(15, 30), fresh]) {
      const incoming = await receive(store, snapshot.name);
      // A snapshot that nobody decided to install is deleted before the next one takes room.
      expect(machine.names().filter((name) => name === 'state.received')).toEqual([]);
      expect(await write(incoming, snapshot.rows)).toBeNull();
      expect(await finish(incoming)).toBeNull();
      expect(machine.names()).toEqual(['state', 'state.received']);
    }
    await machine.endProcess();
    const next = machine.newStore();
    expect(next.install()).toBe(true);
    const backing = next.open(IDENTITY);
    expect([backing.applied, contentOf(backing)]).toEqual([fresh.name, fresh.rows]);
    await machine.endProcess();
  });

  test('names: what is renamed is there, and its new name is free', async () => {
    const { place } = machine;
    for (const name of ['state', 'state.received'])
      place.close(place.open(name, IDENTITY), () => {});
    await machine.endProcess();
    const codeOf = (run: () => void) => {
      try {
        run();
        return 'no error';
      } catch (error) {
        return error instanceof DiskError ? error.code : String(error);
      }
    };
    expect(codeOf(() => place.rename('state.received', 'state'))).toBe('ENOTEMPTY');
    expect(codeOf(() => place.rename('state.previous', 'state.damaged-1'))).toBe('ENOENT');
    place.remove('state.previous');
    place.remove('state');
    place.rename('state.received', 'state');
    expect([...place.names()]).toEqual(['state']);
  });

  test('a damaged state is moved aside and kept, only so many of them', async () => {
    const kept: string[] = [];
    for (let round = 1; round <= DAMAGED_KEPT_MAX + 2; round++) {
      await withOldState();
      machine.damage();
      const store = machine.newStore();
      expect(() => store.open(IDENTITY)).toThrow(DamageError);
      kept.push(store.moveAside().split('/').at(-1) ?? '');
      const backing = store.open(IDENTITY);
      expect(backing.applied.index).toBe(0);
      await machine.endProcess();
      expect(machine.names()).toEqual(['state', ...kept.slice(-DAMAGED_KEPT_MAX)].sort());
      // The next round begins with the state that is there.
    }
    expect(kept).toEqual([1, 2, 3, 4].map((number) => `state.damaged-${number}`));
  });

  test('a marked state is refused by the next opening', async () => {
    await withOldState();
    const backing = machine.newStore().open(IDENTITY);
    backing.markDamaged('its digest is not that of the others');
    await machine.endProcess();
    expect(() => machine.newStore().open(IDENTITY)).toThrow(/digest is not that of the others/);
    await machine.endProcess();
  });
});
