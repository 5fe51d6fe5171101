/**
 * Goal: the checker of locks is silent on right histories, with lost answers and lifetimes that
 * end, and names each kind of wrong one. Method: one right history of a lock and a semaphore; each
 * test plants one anomaly in it.
 */
import { describe, expect, it } from 'vitest';
import {
  checkLocks,
  type GuardedCommit,
  type LockAnomalyKind,
  type LockCall,
  type LockHistory,
} from './lock-checker.js';

const TTL_MS = 1000;

/** What every call has unless it says otherwise: of a lock with one slot, for 10 ms. */
function call(
  owner: string,
  beganMs: number,
  changes: Partial<LockCall> & Pick<LockCall, 'op' | 'outcome'>,
): LockCall {
  const [slot, token, granted] = [null, null, null];
  const rest = { name: 'l', ttlMs: TTL_MS, limit: 1, endedMs: beganMs + 10, isAhead: false };
  return { ...rest, owner, slot, token, granted, beganMs, ...changes };
}

function acquire(owner: string, beganMs: number, granted: number, slot = 0): LockCall {
  return call(owner, beganMs, { op: 'acquire', outcome: 'granted', granted, slot });
}

function refused(owner: string, beganMs: number): LockCall {
  return call(owner, beganMs, { op: 'acquire', outcome: 'held' });
}

function renew(owner: string, beganMs: number, token: number, granted: number | null): LockCall {
  const outcome = granted === null ? 'lost' : 'granted';
  return call(owner, beganMs, { op: 'renew', outcome, token, granted, slot: 0 });
}

function release(
  owner: string,
  beganMs: number,
  token: number,
  outcome: LockCall['outcome'] = 'released',
): LockCall {
  return call(owner, beganMs, { op: 'release', outcome, token, slot: 0 });
}

function guarded(
  value: string,
  token: number,
  beganMs: number,
  outcome: GuardedCommit['outcome'],
): GuardedCommit {
  return { name: 'l', slot: 0, token, value, beganMs, endedMs: beganMs + 10, outcome };
}

function permit(owner: string, beganMs: number, granted: number, slot: number): LockCall {
  return { ...acquire(owner, beganMs, granted, slot), name: 's', limit: 2 };
}

/**
 * a takes the lock and releases it without an answer; b takes it, renews it, and lets it expire; c
 * takes it over. Of the semaphore, both permits are taken.
 */
const RIGHT: LockHistory = {
  calls: [
    acquire('a', 0, 1),
    refused('b', 100),
    release('a', 200, 1, 'unknown'),
    acquire('b', 300, 5),
    renew('b', 900, 5, 6),
    renew('a', 950, 1, null),
    acquire('c', 1920, 9),
    renew('b', 1960, 6, null),
    release('c', 2200, 9),
    permit('x', 0, 20, 1),
    permit('y', 50, 21, 0),
    { ...refused('z', 100), name: 's', limit: 2 },
  ],
  commits: [
    guarded('a1', 1, 50, 'committed'),
    guarded('b1', 5, 400, 'unknown'),
    guarded('b2', 6, 920, 'committed'),
    guarded('a2', 1, 960, 'guard'),
    guarded('c1', 9, 2100, 'committed'),
    guarded('c2', 9, 2120, 'refused'),
  ],
  stored: ['a1', 'b1', 'b2', 'c1'],
  clockBreaksMs: [],
  earlyMsMax: 20,
  lateMsMax: 20,
  effectUntilMs: (beganMs) => beganMs + 500,
};

function kinds(changes: Partial<LockHistory>): LockAnomalyKind[] {
  return [...new Set(checkLocks({ ...RIGHT, ...changes }).map(({ kind }) => kind))];
}

function withCalls(...calls: LockCall[]): Partial<LockHistory> {
  return { calls: [...RIGHT.calls, ...calls] };
}

function withCommit(commit: GuardedCommit): Partial<LockHistory> {
  return { commits: [...RIGHT.commits, commit] };
}

describe('checkLocks', () => {
  it('is silent on a right history', () => {
    expect(kinds({})).toEqual([]);
    expect(kinds({ stored: ['a1', 'b2', 'c1'] })).toEqual([]);
  });

  it('finds two owners of one permit', () => {
    expect(kinds(withCalls(acquire('d', 2050, 10)))).toContain('two_owners');
    expect(kinds(withCalls(permit('z', 500, 30, 1)))).toEqual(['two_owners']);
    const theirs = { ...renew('z', 500, 19, 30), name: 's', slot: 1 };
    expect(kinds(withCalls(theirs))).toEqual(['two_owners']);
    expect(kinds(withCalls(permit('z', 985, 30, 1)))).toEqual([]);
    expect(kinds({ ...withCalls(permit('z', 500, 30, 1)), clockBreaksMs: [400] })).toEqual([]);
  });

  it('finds two owners when the second one asked before the first had its answer', () => {
    const [first, second] = [permit('p', 3000, 40, 0), permit('q', 3005, 41, 0)];
    expect(kinds(withCalls(first, { ...second, endedMs: 3030 }))).toEqual(['two_owners']);
    expect(kinds(withCalls(first, { ...second, endedMs: 4000 }))).toEqual([]);
  });

  it('knows that a renewal that was given up may act on the next permit of its owner', () => {
    const [first, second] = [permit('p', 3000, 40, 0), permit('q', 3500, 41, 0)];
    const givenUp = { ...renew('p', 2600, 39, null), name: 's', outcome: 'unknown' } as const;
    expect(kinds(withCalls(givenUp, first, second))).toEqual([]);
    expect(kinds(withCalls({ ...givenUp, outcome: 'refused' }, first, second))).toEqual([
      'two_owners',
    ]);
    // It began so long ago that it acts no more, or is of another owner.
    expect(kinds(withCalls({ ...givenUp, beganMs: 2400, endedMs: 2410 }, first, second))).toEqual([
      'two_owners',
    ]);
    expect(kinds(withCalls({ ...givenUp, owner: 'o' }, first, second))).toEqual(['two_owners']);
  });

  it('finds more permits than the limit', () => {
    expect(kinds(withCalls(permit('z', 500, 30, 2)))).toEqual(['over_limit']);
  });

  it('finds a token that is given twice, and one that falls', () => {
    expect(kinds(withCalls(acquire('d', 4000, 20)))).toEqual(['token_twice']);
    expect(kinds(withCalls(acquire('d', 4000, 4)))).toEqual(['token_order']);
  });

  it('finds a guard that held after the permit had moved on', () => {
    const stored = [...RIGHT.stored.slice(0, 2), 'late', ...RIGHT.stored.slice(2)];
    const moved = { ...withCommit(guarded('late', 5, 930, 'committed')), stored };
    expect(kinds(moved)).toEqual(['guarded_after_moved']);
    expect(kinds({ ...withCommit(guarded('late', 5, 905, 'committed')), stored })).toEqual([]);
  });

  it('finds a guard that held after a release, or after the lifetime', () => {
    const stored = [...RIGHT.stored, 'late'];
    expect(kinds({ ...withCommit(guarded('late', 9, 2300, 'committed')), stored })).toEqual([
      'guarded_after_moved',
    ]);
    const kept = {
      calls: RIGHT.calls.filter(({ op, owner }) => op !== 'release' || owner !== 'c'),
    };
    const late = { ...withCommit(guarded('late', 9, 3000, 'committed')), stored };
    expect(kinds({ ...kept, ...late })).toEqual(['guarded_after_moved']);
    expect(kinds({ ...kept, ...late, clockBreaksMs: [2500] })).toEqual([]);
  });

  it('finds guarded messages in another order than their tokens', () => {
    expect(kinds({ stored: ['a1', 'b2', 'b1', 'c1'] })).toEqual(['guard_order']);
  });

  it('finds the message of a guard that did not hold, one that is lost, and one too many', () => {
    expect(kinds({ stored: ['a1', 'a2', 'b1', 'b2', 'c1'] })).toEqual(['rolled_back_output']);
    expect(kinds({ stored: ['a1', 'b1', 'c1'] })).toEqual(['output_lost']);
    expect(kinds({ stored: [...RIGHT.stored, 'c1'] })).toEqual(['committed_twice']);
  });

  it('finds a holder that is told that it is none', () => {
    expect(kinds(withCommit(guarded('b3', 6, 930, 'guard')))).toEqual(['valid_guard_refused']);
    expect(kinds(withCommit(guarded('b3', 5, 905, 'guard')))).toEqual([]);
    expect(kinds(withCalls(renew('c', 2050, 9, null)))).toEqual(['valid_renew_lost']);
    expect(kinds(withCalls(release('c', 2050, 9, 'lost')))).toEqual(['valid_release_lost']);
    expect(kinds(withCalls(release('b', 2050, 6, 'lost')))).toEqual([]);
    const atAhead = { isAhead: true };
    expect(kinds(withCalls({ ...renew('c', 2050, 9, null), ...atAhead }))).toEqual([]);
    const released = { ...release('c', 2050, 9, 'lost'), ...atAhead };
    expect(kinds(withCalls(released))).toEqual(['valid_release_lost']);
  });

  it('finds a permit that is held by nobody', () => {
    expect(kinds(withCalls(refused('d', 2230)))).toEqual(['held_by_nobody']);
    expect(kinds(withCalls({ ...refused('z', 1100), name: 's', limit: 2 }))).toEqual([
      'held_by_nobody',
    ]);
    const unseen = call('q', 600, { op: 'acquire', outcome: 'unknown', name: 's', limit: 2 });
    const both = [unseen, { ...unseen, owner: 'r' }];
    const late = { ...refused('z', 1100), name: 's', limit: 2 };
    expect(kinds(withCalls(...both, late))).toEqual([]);
    const later = { ...late, beganMs: 2200, endedMs: 2210 };
    expect(kinds(withCalls(...both, later))).toEqual(['held_by_nobody']);
    const effectUntilMs = (beganMs: number) => beganMs + 1500;
    expect(kinds({ ...withCalls(...both, later), effectUntilMs })).toEqual([]);
  });
});
