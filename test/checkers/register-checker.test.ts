/**
 * Goal: the checker of registers is silent on every history that a register can have made, whatever
 * the clients were not told, and names each kind of wrong one. Method: random histories of a naive
 * register, with operations that overlap and answers that are lost, of which the effects come late
 * or never; and small histories, in each of which one anomaly is planted.
 */
import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../seeded-random.js';
import type { KvAction, KvAnswer, KvOperation } from './kv-history.js';
import { checkRegisters, type RegisterAnomalyKind } from './register-checker.js';

const GET: KvAction = { op: 'get' };

function put(value: string, expect: number | null = null): KvAction {
  return { op: 'put', value, expect };
}

function incr(delta: number, max: number | null = null): KvAction {
  return { op: 'incr', delta, min: 0, max };
}

function done(value: string | null, version: number): KvAnswer {
  return { applied: true, reason: null, value, version };
}

function lost(reason: string, value: string | null, version: number): KvAnswer {
  return { applied: false, reason, value, version };
}

const MISSING: KvAnswer = { applied: false, reason: null, value: null, version: 0 };

/** From `beganMs`, for 10 ms unless told. */
function at(
  beganMs: number,
  action: KvAction,
  answer: KvOperation['answer'],
  endedMs = beganMs + 10,
): KvOperation {
  return { key: 'k', action, beganMs, endedMs, answer };
}

function kinds(...operations: KvOperation[]): RegisterAnomalyKind[] {
  return [...new Set(checkRegisters(operations).map(({ kind }) => kind))];
}

/** What a register answers, and what it holds then. */
class NaiveRegister {
  value: string | null = null;
  version = 0;

  act(action: KvAction, nextVersion: () => number): KvAnswer {
    const { value, version } = this;
    const exists = value !== null;
    if (action.op === 'get') return exists ? done(value, version) : MISSING;
    if (action.op === 'incr') {
      const result = Number(value ?? 0) + action.delta;
      const isOut = result < (action.min ?? result) || result > (action.max ?? result);
      return isOut ? lost('limit', value ?? '0', version) : this.#store(`${result}`, nextVersion());
    }
    const { expect } = action;
    if (expect === 0 && exists) return lost('exists', value, version);
    if (!exists && (action.op === 'delete' ? expect !== 0 : expect !== null && expect > 0)) {
      return lost('absent', null, 0);
    }
    if (exists && expect !== null && expect !== version) return lost('version', value, version);
    if (action.op === 'put') return this.#store(action.value, nextVersion());
    [this.value, this.version] = [null, 0];
    return done(value, version);
  }

  #store(value: string, version: number): KvAnswer {
    [this.value, this.version] = [value, version];
    return done(value, version);
  }
}

/** Clients one after the other each, at once with the others, on a register and on a counter. */
function randomHistory(random: SeededRandom): KvOperation[] {
  const registers = { k: new NaiveRegister(), counter: new NaiveRegister() };
  let version = 10;
  const nextVersion = () => ++version;
  const known = [0];
  const history: KvOperation[] = [];
  const work: { readonly atMs: number; readonly run: () => void }[] = [];
  for (let client = 0; client < 4; client++) {
    let nowMs = random.between(0, 10);
    for (let i = 0; i < 12; i++) {
      const key = random.chance(0.3) ? 'counter' : 'k';
      const beganMs = nowMs;
      const actMs = beganMs + random.between(1, 30);
      const endedMs = actMs + random.between(1, 30);
      const isUnknown = random.chance(0.2);
      const neverActs = isUnknown && random.chance(0.5);
      const late = isUnknown && random.chance(0.3) ? random.between(30, 200) : 0;
      const value = `"${client}-${i}"`;
      const kind = random.next();
      let action: KvAction = GET;
      work.push({
        atMs: beganMs,
        run: () => {
          const expect = random.chance(0.5) ? null : random.pick(known.slice(-4));
          if (key === 'counter') action = kind < 0.3 ? GET : incr(random.pick([1, 2, -1]), 6);
          else if (kind < 0.4) action = put(value, expect);
          else if (kind < 0.6) action = { op: 'delete', expect };
        },
      });
      work.push({
        atMs: actMs + late,
        run: () => {
          const answer = neverActs ? MISSING : registers[key].act(action, nextVersion);
          if (answer.applied && !isUnknown) known.push(answer.version);
          history.push({ key, action, beganMs, endedMs, answer: isUnknown ? 'unknown' : answer });
        },
      });
      nowMs = endedMs + random.between(0, 10);
    }
  }
  work.sort((a, b) => a.atMs - b.atMs);
  for (const { run } of work) run();
  return history;
}

describe('histories of a register', () => {
  it('are right, whatever was not answered', () => {
    for (let seed = 1; seed <= 300; seed++) {
      expect(checkRegisters(randomHistory(new SeededRandom(seed))), `seed ${seed}`).toEqual([]);
    }
  });

  it('are wrong when one answer is another one', () => {
    let found = 0;
    for (let seed = 1; seed <= 100; seed++) {
      const random = new SeededRandom(seed);
      const history = randomHistory(random);
      const told = history.filter(({ answer }) => typeof answer !== 'string' && answer.version > 0);
      const changed = random.pick(told);
      const { answer: before } = changed;
      if (typeof before === 'string') continue;
      const answer = { ...before, version: before.version - 1, value: '"never"' };
      const wrong = history.map((each) => (each === changed ? { ...changed, answer } : each));
      if (checkRegisters(wrong).length > 0) found++;
    }
    expect(found).toBe(100);
  });

  it('may have an effect that nobody was told of, once, since it was asked for', () => {
    const silent = at(0, put('"a"'), 'unknown');
    expect(kinds(silent, at(50, GET, MISSING), at(70, GET, done('"a"', 5)))).toEqual([]);
    expect(kinds(silent, at(50, GET, done('"a"', 5)), at(70, GET, MISSING))).toEqual([
      'not_linearizable',
    ]);
    const removal = at(60, { op: 'delete', expect: null }, 'unknown');
    expect(kinds(silent, at(50, GET, done('"a"', 5)), removal, at(70, GET, MISSING))).toEqual([]);
    expect(kinds(at(0, GET, done('"a"', 5)), at(20, put('"a"'), 'unknown'))).toEqual([
      'not_linearizable',
    ]);
  });

  it('may have counted what nobody was told of, but no more than that', () => {
    const silent = [at(0, incr(1), 'unknown'), at(0, incr(2), 'unknown')];
    expect(kinds(...silent, at(20, incr(1), done('4', 9)))).toEqual([]);
    expect(kinds(...silent, at(20, incr(1), done('3', 9)))).toEqual([]);
    expect(kinds(...silent, at(20, incr(1), done('5', 9)))).toEqual(['not_linearizable']);
    expect(kinds(...silent, at(20, incr(1), done('1', 9)), at(40, GET, done('4', 12)))).toEqual([]);
  });

  it('overlap in any order that fits', () => {
    const first = at(0, put('"a"'), done('"a"', 6), 100);
    const second = at(10, put('"b"'), done('"b"', 5), 90);
    expect(kinds(first, second, at(20, GET, done('"b"', 5)), at(110, GET, done('"a"', 6)))).toEqual(
      [],
    );
  });
});

describe('anomalies of a register', () => {
  const written = at(0, put('"a"'), done('"a"', 5));

  it('a stale read', () => {
    const next = at(20, put('"b"'), done('"b"', 6));
    expect(kinds(written, next, at(40, GET, done('"a"', 5)))).toEqual(['not_linearizable']);
    expect(kinds(written, at(20, GET, MISSING))).toEqual(['not_linearizable']);
  });

  it('an acknowledged write that is gone, and a removed row that is there', () => {
    expect(kinds(written, at(20, put('"b"', 0), done('"b"', 6)))).toEqual(['not_linearizable']);
    const removal = at(20, { op: 'delete', expect: 5 }, done('"a"', 5));
    expect(kinds(written, removal, at(40, GET, done('"a"', 5)))).toEqual(['not_linearizable']);
  });

  it('reads that go back while a write is under way', () => {
    const slow = at(20, put('"b"'), done('"b"', 6), 200);
    const [one, other] = [at(40, GET, done('"b"', 6)), at(60, GET, done('"a"', 5))];
    expect(kinds(written, slow, one, other)).toEqual(['not_linearizable']);
    expect(
      kinds(written, slow, { ...one, beganMs: 60, endedMs: 70 }, at(40, GET, done('"a"', 5))),
    ).toEqual([]);
  });

  it('two winners of one version, and two creations', () => {
    const rivals = (expect: number) => [
      at(20, put('"x"', expect), done('"x"', 6), 40),
      at(20, put('"y"', expect), done('"y"', 7), 40),
    ];
    expect(kinds(written, ...rivals(5))).toContain('two_winners');
    expect(kinds(...rivals(0))).toContain('two_winners');
    const removal = at(0, { op: 'delete', expect: null }, 'unknown', 100);
    expect(kinds(...rivals(0), removal)).toEqual([]);
  });

  it('a precondition that held and was refused, or did not and was met', () => {
    expect(kinds(written, at(20, put('"b"', 5), lost('version', '"a"', 5)))).toEqual([
      'not_linearizable',
    ]);
    expect(kinds(written, at(20, put('"b"', 4), done('"b"', 6)))).toEqual(['not_linearizable']);
    expect(kinds(written, at(20, put('"b"', 0), lost('absent', null, 0)))).toEqual([
      'not_linearizable',
    ]);
  });

  it('a counter past its bounds, a lost count, and a count that is forgotten', () => {
    const two = at(0, incr(2, 2), done('2', 5));
    expect(kinds(two, at(20, incr(1, 2), done('3', 6)))).toContain('out_of_bounds');
    expect(kinds(two, at(20, incr(1, 2), lost('limit', '2', 5)))).toEqual([]);
    expect(kinds(two, at(20, incr(1, 3), lost('limit', '2', 5)))).toEqual(['not_linearizable']);
    expect(kinds(two, at(20, incr(1, 9), done('1', 6)))).toEqual(['not_linearizable']);
    expect(kinds(two, at(20, incr(1), done('3', 6)), at(20, incr(1), done('3', 7)))).toEqual([
      'not_linearizable',
    ]);
  });

  it('a version that is used again, falls after a removal, or is out of time', () => {
    const other = { ...at(20, put('"b"'), done('"b"', 5)), key: 'other' };
    expect(kinds(written, other)).toEqual(['version_twice']);
    const removal = at(20, { op: 'delete', expect: null }, done('"a"', 5));
    const again = at(40, put('"c"'), done('"c"', 4));
    expect(kinds(written, removal, again)).toEqual(['version_order', 'not_linearizable']);
    const slow = { ...at(15, put('"c"'), done('"c"', 4), 60), key: 'other' };
    expect(kinds(written, slow)).toEqual(['version_order']);
    expect(kinds(written, { ...slow, beganMs: 5 })).toEqual([]);
  });

  it('a value that was refused, or that nobody wrote', () => {
    expect(kinds(at(0, put('"a"'), 'refused'), at(20, GET, done('"a"', 5)))).toContain(
      'refused_read',
    );
    expect(kinds(at(20, GET, done('"z"', 5)))).toEqual(['not_linearizable']);
  });

  it('a search that is given up is no success', () => {
    expect(checkRegisters([written, at(20, GET, done('"a"', 5))], 1)).toMatchObject([
      { kind: 'undecided' },
    ]);
  });
});
