/**
 * Goal: the state behaves as a sorted map would, through freezes, commits and crashes, and a crash
 * returns to exactly one applied position. Method: random puts, deletions, ranges and checkpoints
 * beside a naive map on the simulated backing, with the commit at a random point of its way at
 * every step; the same on LMDB without crashes; directed cases for the promises around it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Key, Table } from '@svc/engine';
import { describe, expect, test } from 'vitest';
import { DamageError } from '../disk/faults.js';
import { RealDisk } from '../disk/real.js';
import { SeededRandom } from '../testing/random.js';
import { SimulatedBacking } from '../testing/simulated-backing.js';
import type { Backing } from './backing.js';
import { Checkpoint } from './checkpoint.js';
import { openLmdb } from './lmdb/lmdb.js';

interface Row {
  readonly text: string;
}

function table(id: number, local = false): Table<unknown> {
  const typed: Table<Row> = {
    id,
    name: `table ${id}`,
    local,
    encode: (row) => new Uint8Array(Buffer.from(row.text, 'latin1')),
    decode: (bytes) => ({ text: Buffer.from(bytes).toString('latin1') }),
  };
  return typed as unknown as Table<unknown>;
}

const ROWS = table(1);
const OTHER = table(255);
const LOCAL = table(9, true);
const TABLES = [OTHER, ROWS, LOCAL];
const key = (text: string) => text as Key;

class Fixture {
  readonly backing: SimulatedBacking;
  readonly cleanRowsMax: number;
  readonly random: SeededRandom;
  readonly failures: Error[] = [];
  #waiting: (() => void)[] = [];
  state: Checkpoint;

  constructor(seed: number) {
    this.backing = new SimulatedBacking({
      seed,
      localTables: [9],
      defer: (run) => this.#waiting.push(run),
    });
    this.random = new SeededRandom(seed);
    // Some keep what they have stored, some nothing of it, some only what is little.
    this.cleanRowsMax = [100, 0, 2][seed % 3] ?? 0;
    this.state = this.open();
  }

  open(): Checkpoint {
    return new Checkpoint({
      backing: this.backing,
      tables: TABLES,
      onFailure: (error) => this.failures.push(error),
      defer: (run) => this.#waiting.push(run),
      cleanRowsMax: this.cleanRowsMax,
    });
  }

  step(): void {
    this.#waiting.shift()?.();
  }

  settle(): void {
    while (this.#waiting.length > 0) this.step();
  }

  crash(): void {
    this.#waiting = [];
    this.backing.crash();
    this.state = this.open();
  }

  checkpoint(index: number): void {
    let done = false;
    this.state.checkpoint(index, 1, index, () => {
      done = true;
    });
    this.settle();
    expect(done).toBe(true);
  }
}

type Model = Map<string, string>;

function modelRange(model: Model, from: string, to: string, limit: number, reverse: boolean) {
  const keys = [...model.keys()].filter((each) => each >= from && each < to).sort();
  if (reverse) keys.reverse();
  return keys.slice(0, limit).map((each) => ({ key: each, row: { text: model.get(each) } }));
}

function randomKey(random: SeededRandom): Key {
  const length = random.between(0, 2);
  const codes = Array.from({ length }, () => random.below(5) * 63);
  return String.fromCharCode(...codes, random.below(4)) as Key;
}

/** One change or read, the same on both. */
function operate(state: Checkpoint, model: Model, random: SeededRandom, tag: string): void {
  const choice = random.below(10);
  const at = randomKey(random);
  if (choice < 4) {
    state.put(ROWS, at, { text: tag });
    model.set(at, tag);
  } else if (choice < 6) {
    state.delete(ROWS, at);
    model.delete(at);
  } else if (choice < 8) {
    const row = state.get(ROWS, at) as Row | undefined;
    expect(row?.text).toBe(model.get(at));
  } else {
    const to = randomKey(random);
    const limit = random.between(1, 12);
    const reverse = random.chance(0.5);
    const found = state.range(ROWS, at, to, limit, reverse);
    expect(found).toEqual(modelRange(model, at, to, limit, reverse));
  }
}

function runSeed(seed: number): void {
  const fixture = new Fixture(seed);
  const { random } = fixture;
  let model: Model = new Map();
  const history = new Map<number, Model>([[0, new Map()]]);
  let applied = 0;
  let durable = 0;
  for (let turn = 0; turn < 150; turn++) {
    const { state } = fixture;
    for (let i = random.below(6); i > 0; i--) operate(state, model, random, `${turn}.${i}`);
    applied++;
    history.set(applied, new Map(model));
    if (!state.busy && random.chance(0.2)) {
      const index = applied;
      state.checkpoint(index, 1, index + random.below(3), () => {
        durable = index;
      });
    }
    if (random.chance(0.6)) fixture.step();
    if (random.chance(0.03)) {
      fixture.crash();
      const found = fixture.state.appliedIndex;
      expect(found).toBeGreaterThanOrEqual(durable);
      model = new Map(history.get(found));
      applied = found;
      const all = fixture.state.range(ROWS, key(''), key('\xff'.repeat(5)), 1e6);
      expect(all).toEqual(modelRange(model, '', '\xff'.repeat(5), 1e6, false));
    }
  }
  fixture.settle();
  expect(fixture.failures).toEqual([]);
}

test('random changes, checkpoints and crashes agree with a map', () => {
  for (let seed = 1; seed <= 300; seed++) {
    try {
      runSeed(seed);
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  }
});

test('the same on LMDB, with restarts', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'checkpoint-'));
  const open = () => {
    const backing: Backing = openLmdb({
      disk: new RealDisk(),
      directory,
      identity: new Uint8Array(16),
      localTables: [9],
    });
    const onFailure = (error: Error) => {
      throw error;
    };
    return new Checkpoint({ backing, tables: TABLES, onFailure });
  };
  try {
    const random = new SeededRandom(6);
    const model: Model = new Map();
    let state = open();
    for (let index = 1; index <= 40; index++) {
      for (let i = 0; i < 100; i++) operate(state, model, random, `${index}.${i}`);
      const stored = new Promise<void>((resolve) => state.checkpoint(index, 1, index, resolve));
      for (let i = 0; i < 100; i++) operate(state, model, random, `${index}+${i}`);
      await stored;
      for (let i = 0; i < 100; i++) operate(state, model, random, `${index}-${i}`);
      if (index % 10 !== 0) continue;
      const digest = state.stateDigest();
      await new Promise<void>((resolve) => state.checkpoint(index, 2, index, resolve));
      expect(state.stateDigest()).toBe(digest);
      await state.close();
      state = open();
      expect([state.appliedIndex, state.appliedTerm]).toEqual([index, 2]);
      expect(state.stateDigest()).toBe(digest);
    }
    await state.close();
  } finally {
    rmSync(directory, { recursive: true });
  }
});

describe('a checkpoint', () => {
  test('keeps what changes while it is written for the next one', () => {
    const fixture = new Fixture(1);
    const { state } = fixture;
    state.put(ROWS, key('a'), { text: 'old' });
    state.put(ROWS, key('b'), { text: 'old' });
    state.checkpoint(1, 1, 1, () => {});
    expect(state.busy).toBe(true);
    state.put(ROWS, key('a'), { text: 'new' });
    state.delete(ROWS, key('b'));
    fixture.settle();
    expect(state.busy).toBe(false);
    expect(state.get(ROWS, key('a'))).toEqual({ text: 'new' });
    expect(state.get(ROWS, key('b'))).toBeUndefined();
    fixture.crash();
    expect(fixture.state.get(ROWS, key('a'))).toEqual({ text: 'old' });
    expect(fixture.state.get(ROWS, key('b'))).toEqual({ text: 'old' });
  });

  test('is a cache of what it has stored, unless that is much', () => {
    const fixture = new Fixture(3);
    const { state, cleanRowsMax } = fixture;
    const row = { text: 'a' };
    for (const [index, count] of [cleanRowsMax, cleanRowsMax + 1].entries()) {
      for (let i = 0; i < count; i++) state.put(ROWS, key(`${index}/${i}`), row);
      fixture.checkpoint(index + 1);
      const found = state.get(ROWS, key(`${index}/0`));
      expect(found).toEqual(row);
      expect(found === row).toBe(count <= cleanRowsMax);
    }
  });

  test('holds all of an overlay or nothing, however many portions it takes', () => {
    for (let steps = 0; steps < 20; steps++) {
      const fixture = new Fixture(steps + 1);
      for (let i = 0; i < 3000; i++) fixture.state.put(ROWS, key(`${i}`), { text: `${i}` });
      fixture.state.checkpoint(7, 1, 7, () => {});
      for (let i = 0; i < steps; i++) fixture.step();
      fixture.crash();
      const rows = fixture.state.range(ROWS, key(''), key('\xff'), 1e6).length;
      expect([0, 3000]).toContain(rows);
      expect(fixture.state.appliedIndex).toBe(rows === 0 ? 0 : 7);
    }
  });

  test('never passes the durable log, never goes back, one at a time', () => {
    const fixture = new Fixture(1);
    expect(() => fixture.state.checkpoint(5, 1, 4, () => {})).toThrow(/durable log/);
    fixture.checkpoint(5);
    expect(() => fixture.state.checkpoint(4, 1, 9, () => {})).toThrow(/go back/);
    fixture.state.checkpoint(6, 1, 6, () => {});
    expect(() => fixture.state.checkpoint(7, 1, 7, () => {})).toThrow(/one checkpoint/);
  });

  test('of no changes moves the applied position', () => {
    const fixture = new Fixture(1);
    fixture.checkpoint(5);
    fixture.crash();
    expect(fixture.state.appliedIndex).toBe(5);
  });

  test('that fails is reported once and done never runs', () => {
    const fixture = new Fixture(1);
    fixture.backing.failNextCommit('EIO');
    fixture.state.put(ROWS, key('a'), { text: 'x' });
    fixture.state.checkpoint(1, 1, 1, () => expect.unreachable());
    fixture.settle();
    expect(fixture.failures.length).toBe(1);
    expect(() => fixture.state.checkpoint(2, 1, 2, () => {})).toThrow(/after a failure/);
    expect(fixture.state.get(ROWS, key('a'))).toEqual({ text: 'x' });
  });

  test('a flipped bit in a stored row is named, not decoded', () => {
    const fixture = new Fixture(1);
    fixture.state.put(ROWS, key('abc'), { text: 'hello' });
    fixture.checkpoint(1);
    for (let at = 0; at < 9; at++) {
      fixture.backing.flipBit('\x01abc', at, at % 8);
      fixture.state = fixture.open();
      expect(() => fixture.state.get(ROWS, key('abc'))).toThrow(DamageError);
      expect(() => fixture.state.range(ROWS, key(''), key('z'), 9)).toThrow(/616263/);
      fixture.backing.flipBit('\x01abc', at, at % 8);
    }
    fixture.state = fixture.open();
    expect(fixture.state.get(ROWS, key('abc'))).toEqual({ text: 'hello' });
  });

  test('a value under the key of another row is not taken for it', () => {
    const fixture = new Fixture(1);
    fixture.state.put(ROWS, key('abc'), { text: 'hello' });
    fixture.checkpoint(1);
    const transaction = fixture.backing.begin();
    transaction.put('\x01abd', fixture.backing.get('\x01abc') ?? new Uint8Array(0));
    transaction.commit({ index: 1, term: 1 }, () => {});
    fixture.settle();
    expect(() => fixture.state.get(ROWS, key('abd'))).toThrow(/616264/);
  });

  test('ranges pass over many hidden rows, one key a beginning of the next', () => {
    const fixture = new Fixture(1);
    const keys = Array.from({ length: 200 }, (_, i) => key('\0'.repeat(i)));
    for (const each of keys) fixture.state.put(ROWS, each, { text: `${each.length}` });
    fixture.checkpoint(1);
    for (let hidden = 0; hidden < 199; hidden++) {
      const [first] = fixture.state.range(ROWS, key(''), key('\xff'), 1);
      expect(first?.key.length).toBe(hidden);
      fixture.state.delete(ROWS, keys[hidden] ?? key(''));
    }
    fixture.checkpoint(2);
    for (const each of keys) fixture.state.put(ROWS, each, { text: 'again' });
    fixture.checkpoint(3);
    for (let shown = 199; shown > 0; shown--) {
      const [last] = fixture.state.range(ROWS, key(''), key('\xff'), 1, true);
      expect(last?.key.length).toBe(shown);
      fixture.state.delete(ROWS, keys[shown] ?? key(''));
    }
  });

  test('refuses rows of a table that it does not know', () => {
    const fixture = new Fixture(1);
    fixture.state.put(table(77), key('a'), { text: 'x' });
    expect(() => fixture.checkpoint(1)).toThrow(/table 77/);
  });
});

describe('the state digest', () => {
  test('depends on rows and not on where they are, leaving local tables out', () => {
    const a = new Fixture(1);
    const b = new Fixture(2);
    const empty = a.state.stateDigest();
    for (let i = 0; i < 2500; i++) {
      a.state.put(ROWS, key(`${i}`), { text: `${i}` });
      b.state.put(ROWS, key(`${2499 - i}`), { text: `${2499 - i}` });
      if (i % 900 === 0) a.checkpoint(i + 1);
    }
    b.state.put(LOCAL, key('mine'), { text: 'own' });
    b.state.put(ROWS, key('gone'), { text: 'x' });
    b.state.delete(ROWS, key('gone'));
    expect(a.state.stateDigest()).toBe(b.state.stateDigest());
    expect(a.state.stateDigest()).not.toBe(empty);
    a.checkpoint(3000);
    b.checkpoint(3000);
    expect(a.state.digest).toBe(b.state.digest);
    expect(a.backing.applied.localDigest).not.toBe(b.backing.applied.localDigest);
    a.state.put(OTHER, key(''), { text: '' });
    expect(a.state.stateDigest()).not.toBe(b.state.stateDigest());
    expect(a.state.digest).toBe(b.state.digest);
    a.checkpoint(3001);
    expect(a.state.digest).not.toBe(b.state.digest);
  });
});

test('where rows change fast, a checkpoint is written as fast', () => {
  const fixture = new Fixture(1);
  const { state } = fixture;
  for (let i = 0; i < 10_000; i++) state.put(ROWS, key(`${i}`), { text: 'before' });
  let done = false;
  state.checkpoint(1, 1, 1, () => {
    done = true;
  });
  let turns = 0;
  for (; !done; turns++) {
    for (let i = 0; i < 1000; i++) state.put(ROWS, key(`${turns}-${i}`), { text: 'meanwhile' });
    fixture.step();
  }
  expect(state.changedRows).toBeLessThanOrEqual(10_000 + 2000);
});

test.each([false, true])('what passes deletions reads keys and no rows, reverse %s', (reverse) => {
  const fixture = new Fixture(1);
  const { backing, state } = fixture;
  const count = 5000;
  const name = (i: number) => key(`k${i}`.padStart(9, '0'));
  for (let i = 0; i < count; i++) state.put(ROWS, name(i), { text: `${i}` });
  fixture.checkpoint(1);
  const live = [1500, 1501, 3000];
  for (let i = 0; i < count; i++) if (!live.includes(i)) state.delete(ROWS, name(i));
  let read = 0;
  const { range, get } = backing;
  backing.range = (...asked) => {
    const rows = range.apply(backing, asked);
    read += rows.length;
    return rows;
  };
  backing.get = (asked) => {
    read++;
    return get.call(backing, asked);
  };
  const expected = live.map((i) => ({ key: name(i), row: { text: `${i}` } }));
  if (reverse) expected.reverse();
  const limit = 10;
  expect(state.range(ROWS, key(''), key('\xff'), limit, reverse)).toEqual(expected);
  expect(read, 'rows that were read').toBeLessThan(2 * limit + live.length);
  read = 0;
  expect(state.range(OTHER, key(''), key('\xff'), 1)).toEqual([]);
  expect(state.range(ROWS, name(1500), key('\xff'), 1)).toEqual([expected[reverse ? 2 : 0]]);
  expect(read, 'nothing behind the last one').toBeLessThan(12);
});
