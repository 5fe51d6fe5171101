// Goal: locks do what the contract says, and no two clients ever hold one
// permit, however their calls mix. Method: the real translation over the engine's planner; single
// cases, then random clients whose key/value calls happen in random order, each grant judged
// against all others that are known.
import type { KvOp, RefusedOutcome } from '@svc/engine';
import { kvJson } from '@svc/engine';
import type { LockOp, LocksView } from '@svc/http';
import type { LockResult } from '@svc/wire';
import { beforeEach, describe, expect, test } from 'vitest';
import { EngineKv } from '../testing/engine-kv.fake.js';
import { Locks } from './locks.js';

const TENANT = '00000000-0000-0000-0000-000000000001';
const NS = 'svc-locks';

let kv: EngineKv;
let fraction: number;
/** On the clock of deadlines. */
let nowMs: number;
let locks: Locks;

beforeEach(() => {
  kv = new EngineKv();
  fraction = 0;
  nowMs = 1000;
  locks = newLocks(() => fraction);
});

const ALLOWED_MS = 30_000;

function newLocks(fractions: () => number): Locks {
  const clock = { nowMs: () => nowMs };
  return new Locks({
    isStandby: () => false,
    kv,
    clock,
    allowedMs: ALLOWED_MS,
    fraction: fractions,
  });
}

type View = LocksView | RefusedOutcome;

/** Begins a call; `outcome` is null until the test has let its key/value calls happen. */
function begin(...ops: readonly LockOp[]): { outcome: View | null } {
  const call: { outcome: View | null } = { outcome: null };
  locks.run(TENANT, ops, {
    gone: false,
    onGone: null,
    send: (outcome) => {
      expect(call.outcome).toBeNull();
      call.outcome = outcome;
      return true;
    },
  });
  return call;
}

function run(...ops: readonly LockOp[]): readonly LockResult[] {
  const call = begin(...ops);
  kv.run();
  if (call.outcome?.kind !== 'locks') throw new Error(`not answered: ${call.outcome?.kind}`);
  return call.outcome.results;
}

function one(op: LockOp): LockResult {
  return run(op)[0] as LockResult;
}

const acquire = (owner: string | null, limit = 1, ttlSeconds = 60, name = 'l'): LockOp => ({
  op: 'acquire',
  name,
  ttlSeconds,
  owner,
  limit,
});
const renew = (token: number, owner: string | null = null, slot = 0, ttlSeconds = 60): LockOp => ({
  op: 'renew',
  name: 'l',
  token,
  ttlSeconds,
  slot,
  owner,
});
const release = (token: number, slot = 0, name = 'l'): LockOp => ({
  op: 'release',
  name,
  token,
  slot,
});
const get = (name = 'l'): LockOp => ({ op: 'get', name });

function tokenOf(result: LockResult): number {
  if (!('token' in result)) throw new Error(`no token: ${JSON.stringify(result)}`);
  return result.token;
}

function put(key: string, json: string): void {
  const guard = { expect: null, required: false };
  const value = kvJson(json);
  const op: KvOp = { op: 'put', namespace: NS, key, value, ttlSeconds: null, ...guard };
  kv.now({ kind: 'kv', tenant: TENANT, ops: [op] });
}

describe('a lock', () => {
  test('is granted with its token and guard', () => {
    const result = one(acquire('w-1'));
    const token = tokenOf(result);
    expect(result).toEqual({
      index: 0,
      op: 'acquire',
      name: 'l',
      acquired: true,
      slot: 0,
      token,
      owner: 'w-1',
      guard: { op: 'check', ns: NS, key: 'l#0', expect: token, required: true },
    });
    expect(kv.calls).toHaveLength(1);
  });

  test('is held against others, who are told by whom', () => {
    one(acquire('w-1'));
    expect(one(acquire('w-2'))).toEqual({
      index: 0,
      op: 'acquire',
      name: 'l',
      acquired: false,
      reason: 'held',
      holders: [{ slot: 0, owner: 'w-1' }],
    });
    expect(one(acquire(null))).toMatchObject({ acquired: false, reason: 'held' });
  });

  test('answers its owner again with the permit it has, and does not prolong it', () => {
    const token = tokenOf(one(acquire('w-1', 1, 60)));
    kv.wallUs += 30_000_000;
    expect(one(acquire('w-1', 1, 60))).toMatchObject({ acquired: true, already: true, token });
    kv.wallUs += 31_000_000;
    expect(one(acquire('w-2'))).toMatchObject({ acquired: true });
  });

  test('without an owner nobody is recognised', () => {
    one(acquire(null));
    expect(one(acquire(null))).toMatchObject({
      acquired: false,
      holders: [{ slot: 0, owner: null }],
    });
  });

  test('is free again when its lifetime ends, under a higher token', () => {
    const first = tokenOf(one(acquire('w-1', 1, 10)));
    kv.wallUs += 9_900_000;
    expect(one(acquire('w-2'))).toMatchObject({ acquired: false });
    kv.wallUs += 200_000;
    expect(tokenOf(one(acquire('w-2')))).toBeGreaterThan(first);
    expect(one(release(first))).toMatchObject({
      released: false,
      reason: 'lost',
      holders: [{ slot: 0, owner: 'w-2' }],
    });
  });
});

describe('a semaphore', () => {
  test('grants as many permits as its limit', () => {
    const slots = ['a', 'b', 'c'].map((owner) => one(acquire(owner, 3)));
    expect(slots.map((result) => 'slot' in result && result.slot)).toEqual([0, 1, 2]);
    expect(one(acquire('d', 3))).toMatchObject({
      reason: 'held',
      holders: [
        { slot: 0, owner: 'a' },
        { slot: 1, owner: 'b' },
        { slot: 2, owner: 'c' },
      ],
    });
  });

  test('takes a free slot at random', () => {
    fraction = 0.99;
    expect(one(acquire('a', 4))).toMatchObject({ slot: 3 });
    expect(one(acquire('b', 4))).toMatchObject({ slot: 2 });
    fraction = 0.5;
    expect(one(acquire('c', 4))).toMatchObject({ slot: 1 });
  });

  test('finds the permit of an owner', () => {
    fraction = 0.99;
    const token = tokenOf(one(acquire('a', 4)));
    expect(one(acquire('a', 4))).toMatchObject({ already: true, slot: 3, token });
  });

  test('who states a smaller limit sees only slots below it', () => {
    fraction = 0.99;
    one(acquire('a', 4));
    expect(one(acquire('b', 2))).toMatchObject({ acquired: true, slot: 1 });
    expect(one(acquire('c', 2))).toMatchObject({ acquired: true, slot: 0 });
    expect(one(acquire('d', 2))).toMatchObject({
      reason: 'held',
      holders: [
        { slot: 0, owner: 'c' },
        { slot: 1, owner: 'b' },
      ],
    });
  });

  test('who loses each race is told so after four tries', () => {
    let rival = 0;
    kv.before = ({ ops }) => {
      const [op] = ops;
      if (op?.op === 'putIfAbsent') put(op.key, `{"owner":"rival-${rival++}"}`);
    };
    expect(one(acquire('a', 8))).toMatchObject({
      acquired: false,
      reason: 'contended',
      holders: [
        { slot: 0, owner: 'rival-0' },
        { slot: 1, owner: 'rival-1' },
        { slot: 2, owner: 'rival-2' },
      ],
    });
    expect(rival).toBe(4);
    expect(kv.calls).toHaveLength(8);
  });

  test('a try that was lost is made again', () => {
    let isFirst = true;
    kv.before = ({ ops }) => {
      if (ops[0]?.op === 'putIfAbsent' && isFirst) put(ops[0].key, '{"owner":"rival"}');
      if (ops[0]?.op === 'putIfAbsent') isFirst = false;
    };
    expect(one(acquire('a', 8))).toMatchObject({ acquired: true, slot: 1 });
  });
});

describe('renewing', () => {
  test('prolongs, under a new token; the earlier one ends', () => {
    const first = tokenOf(one(acquire('w-1', 1, 10)));
    kv.wallUs += 8_000_000;
    const result = one(renew(first, null, 0, 10));
    const second = tokenOf(result);
    expect(second).toBeGreaterThan(first);
    expect(result).toMatchObject({ renewed: true, slot: 0, guard: { expect: second } });
    kv.wallUs += 8_000_000;
    expect(one(acquire('w-2'))).toMatchObject({ acquired: false });
    expect(one(renew(first))).toMatchObject({
      renewed: false,
      reason: 'lost',
      holders: [{ slot: 0, owner: 'w-1' }],
    });
    expect(one(release(first))).toMatchObject({ released: false });
    expect(one(release(second))).toMatchObject({ released: true });
  });

  test('by the owner works with a token that a lost answer left behind', () => {
    const first = tokenOf(one(acquire('w-1')));
    one(renew(first));
    expect(one(renew(first, 'w-1'))).toMatchObject({ renewed: true });
    expect(one(renew(first, 'w-2'))).toMatchObject({ renewed: false });
  });

  test('of what ended is lost', () => {
    const token = tokenOf(one(acquire('w-1', 1, 10)));
    kv.wallUs += 10_000_001;
    expect(one(renew(token, 'w-1'))).toMatchObject({ renewed: false, holders: [] });
  });

  test('keeps since when it was acquired', () => {
    const token = tokenOf(one(acquire('w-1')));
    const [first] = holdersOf(one(get()));
    kv.wallUs += 5_000_000;
    const second = tokenOf(one(renew(token)));
    kv.wallUs += 5_000_000;
    one(renew(second));
    const [last] = holdersOf(one(get()));
    expect(first?.since).toBe(first?.renewedAt);
    expect(last?.since).toBe(first?.since);
    expect(Date.parse(last?.renewedAt ?? '') - Date.parse(last?.since ?? '')).toBe(10_000);
    expect(Date.parse(last?.expiresAt ?? '') - Date.parse(last?.renewedAt ?? '')).toBe(60_000);
  });

  test('looks once more when the row changed meanwhile', () => {
    const token = tokenOf(one(acquire('w-1')));
    let changes = 0;
    kv.before = ({ ops }) => {
      if (ops[0]?.op === 'put' && changes++ === 0) put('l#0', '{"owner":"w-1"}');
    };
    expect(one(renew(token, 'w-1'))).toMatchObject({ renewed: true });
    expect(changes).toBe(2);
  });

  test('and only once', () => {
    const token = tokenOf(one(acquire('w-1')));
    kv.before = ({ ops }) => {
      if (ops[0]?.op === 'put') put('l#0', '{"owner":"w-1"}');
    };
    expect(one(renew(token, 'w-1'))).toMatchObject({
      renewed: false,
      holders: [{ slot: 0, owner: 'w-1' }],
    });
  });
});

function holdersOf(result: LockResult) {
  return result.op === 'get' ? result.holders : [];
}

describe('releasing and looking', () => {
  test('what is not there', () => {
    expect(one(release(7))).toEqual({
      index: 0,
      op: 'release',
      name: 'l',
      released: false,
      reason: 'lost',
      slot: 0,
      holders: [],
    });
    expect(one(get())).toEqual({ index: 0, op: 'get', name: 'l', held: false, holders: [] });
  });

  test('shows all permits by slot, the expired left out', () => {
    for (const owner of Array.from({ length: 12 }, (_, i) => `w-${i}`)) one(acquire(owner, 12));
    const token = tokenOf(one(acquire('w-3', 12)));
    one(release(token, 3));
    const result = one(get());
    const holders = holdersOf(result);
    expect(holders.map(({ slot }) => slot)).toEqual([0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(holders[3]).toMatchObject({ owner: 'w-4' });
    kv.wallUs += 60_000_001;
    expect(one(get())).toMatchObject({ held: false, holders: [] });
  });

  test('rows that are no permits are nothing', () => {
    for (const key of ['l#x', 'l#01', 'l#1024', 'l#', 'l']) put(key, '{"owner":"a"}');
    expect(one(get())).toMatchObject({ held: false });
    for (const [slot, json] of ['7', 'null', '[1]', '{"owner":5}'].entries())
      put(`l#${slot}`, json);
    expect(one(get())).toMatchObject({ held: true });
    expect(holdersOf(one(get())).map(({ owner }) => owner)).toEqual([null, null, null, null]);
    expect(holdersOf(one(get()))[0]).toMatchObject({ expiresAt: null });
  });

  test('all 1,024 permits of a semaphore, over more than one page', () => {
    for (let slot = 0; slot < 1024; slot++) put(`l#${slot}`, '{"owner":"a"}');
    expect(holdersOf(one(get())).map(({ slot }) => slot)).toEqual(
      Array.from({ length: 1024 }, (_, slot) => slot),
    );
  });
});

describe('a call of several operations', () => {
  test('writes once, and reads once before if one of them has to look', () => {
    run(acquire('w', 1, 60, 'a'), acquire('w', 1, 60, 'b'), release(1, 0, 'c'));
    expect(kv.calls).toHaveLength(1);
    kv.calls.length = 0;
    const results = run(
      acquire('x', 1, 60, 'a'),
      acquire('w', 1, 60, 'd'),
      acquire('w', 5, 60, 'e'),
      get('b'),
      renew(1),
    );
    expect(kv.calls).toHaveLength(2);
    expect(results.map(({ index, op }) => [index, op])).toEqual([
      [0, 'acquire'],
      [1, 'acquire'],
      [2, 'acquire'],
      [3, 'get'],
      [4, 'renew'],
    ]);
    expect(results.map((result) => 'acquired' in result && result.acquired)).toEqual([
      false,
      true,
      true,
      false,
      false,
    ]);
  });

  test('has one deadline for all its steps', () => {
    const call = begin(acquire('a', 4));
    const deadlineMs = nowMs + ALLOWED_MS;
    nowMs += 20_000;
    expect(kv.waiting.map((one) => one.deadlineMs)).toEqual([deadlineMs]);
    kv.step();
    expect(kv.waiting.map((one) => one.deadlineMs)).toEqual([deadlineMs]);
    kv.step();
    expect(call.outcome).toMatchObject({ kind: 'locks' });
  });

  test('begins no step when its deadline has passed', () => {
    const call = begin(acquire('a', 4));
    nowMs += ALLOWED_MS;
    kv.step();
    expect(kv.waiting).toEqual([]);
    expect(call.outcome).toMatchObject({ kind: 'refused', refusal: { reason: 'timeout' } });
    expect(one(get())).toMatchObject({ held: false });
  });

  test('ends with the refusal of any of its steps', () => {
    const refusal: RefusedOutcome = {
      kind: 'refused',
      refusal: { reason: 'timeout', error: 'the request deadline elapsed' },
    };
    const call = begin(acquire('a', 4));
    kv.step();
    kv.refusal = refusal;
    kv.run();
    expect(call.outcome).toEqual(refusal);
  });
});

/** Numbers below 2^32 from a seed. */
function generator(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Above all versions of the test. */
const WRONG_TOKEN = 1_000_000_000;

interface Held {
  readonly owner: string;
  readonly token: number;
  readonly untilUs: number;
}

/**
 * The known state of all permits. Answers come in the very step in which the last key/value call
 * happened, so it is exact.
 */
class Permits {
  readonly seen = { granted: 0, already: 0, renewed: 0, released: 0, held: 0, lost: 0 };
  readonly #held = new Map<string, Held>();
  readonly #lastToken = new Map<string, number>();

  /** Only one's own: who knows another's token may use it. */
  tokenOf(owner: string, key: string): number {
    const permit = this.#held.get(key);
    return permit?.owner === owner ? permit.token : WRONG_TOKEN;
  }

  judge(op: LockOp, result: LockResult, owner: string): void {
    if (op.op === 'acquire' && result.op === 'acquire' && result.acquired) {
      const { key } = result.guard;
      if (result.already === true) {
        this.seen.already++;
        expect(this.#held.get(key)).toMatchObject({ owner, token: result.token });
      } else {
        this.seen.granted++;
        this.#grant(key, owner, result.token, op.ttlSeconds);
      }
    } else if (op.op === 'renew' && result.op === 'renew' && result.renewed) {
      this.seen.renewed++;
      expect(this.#held.get(result.guard.key)?.untilUs).toBeGreaterThan(kv.wallUs - 2);
      this.#grant(result.guard.key, owner, result.token, op.ttlSeconds);
    } else if (op.op === 'release' && result.op === 'release' && result.released) {
      this.seen.released++;
      const key = `${op.name}#${op.slot}`;
      expect(this.#held.get(key)).toMatchObject({ owner, token: op.token });
      this.#held.delete(key);
    } else if (result.op === 'acquire') this.seen.held++;
    else this.seen.lost++;
  }

  #grant(key: string, owner: string, token: number, ttlSeconds: number): void {
    const before = this.#held.get(key);
    const isFree = before === undefined || before.untilUs <= kv.wallUs || before.owner === owner;
    expect(isFree, `${key} is ${JSON.stringify(before)}`).toBe(true);
    expect(token).toBeGreaterThan(this.#lastToken.get(key) ?? 0);
    this.#lastToken.set(key, token);
    this.#held.set(key, { owner, token, untilUs: kv.wallUs + ttlSeconds * 1_000_000 });
  }
}

function randomOp(random: (below: number) => number, owner: string, permits: Permits): LockOp {
  const name = `n${random(3)}`;
  const limit = name === 'n0' ? 1 : 3;
  const slot = random(limit);
  const token = permits.tokenOf(owner, `${name}#${slot}`);
  const ttlSeconds = 1 + random(4);
  switch (random(4)) {
    case 0:
      return { op: 'renew', name, token, ttlSeconds, slot, owner };
    case 1:
      return { op: 'release', name, token, slot };
    default:
      return { op: 'acquire', name, ttlSeconds, owner, limit };
  }
}

test('no permit is ever given twice', () => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`seed ${seed}`);
  const random = generator(seed);
  locks = newLocks(() => random(1000) / 1000);
  const permits = new Permits();
  const busy = new Set<string>();
  for (let step = 0; step < 4000; step++) {
    kv.wallUs += random(300_000);
    const owner = `w-${random(6)}`;
    if (!busy.has(owner)) {
      const op = randomOp(random, owner, permits);
      busy.add(owner);
      locks.run(TENANT, [op], {
        gone: false,
        onGone: null,
        send: (outcome) => {
          busy.delete(owner);
          if (outcome.kind === 'locks') permits.judge(op, outcome.results[0] as LockResult, owner);
          return true;
        },
      });
    }
    kv.step(random(kv.waiting.length));
  }
  for (const [what, count] of Object.entries(permits.seen)) {
    expect(count, what).toBeGreaterThan(20);
  }
});
