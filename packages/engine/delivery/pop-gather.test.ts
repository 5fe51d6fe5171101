// Goal: `minPopWaitTime` makes a waiting pop stay until it is full or old enough, never longer than
// its own time, and holds nobody and nothing up (pop-gather.ts has the promises).
// Method: the planner driven turn by turn on a clock that only the test moves.
import { beforeEach, describe, expect, test } from 'vitest';
import { cursors, groups } from '../base/tables.js';
import { EngineRig, type PopOptions, type Request } from '../testing/engine.fake.js';

let rig: EngineRig;

beforeEach(() => {
  rig = new EngineRig();
  rig.configure('q', { minPopWaitTime: 1000 });
});

function advance(ms: number): void {
  rig.advance(ms);
  rig.drain();
}

function wait(options: PopOptions = {}): Request {
  return rig.wait({ batch: 3, leaseSeconds: 60, ...options });
}

/** null: not answered yet. */
function texts(request: Request): string[] | null {
  return request.outcome === null ? null : rig.texts(request.outcome);
}

describe('a waiting pop', () => {
  test('gathers until it is old enough', () => {
    rig.push('q', 'p', ['a']);
    const pop = wait();
    advance(500);
    rig.push('q', 'p', ['b']);
    advance(499);
    expect([texts(pop), rig.rows(cursors)]).toEqual([null, []]);
    advance(1);
    expect(texts(pop)).toEqual(['a', 'b']);
  });

  test('and no longer once it is full', () => {
    rig.push('q', 'p', ['a']);
    const pop = wait();
    rig.push('q', 'p', ['b']);
    expect(texts(pop)).toBe(null);
    rig.push('q', 'p', ['c', 'd']);
    expect(texts(pop)).toEqual(['a', 'b', 'c']);
  });

  test('is served at once when it is full on arrival', () => {
    rig.push('q', 'p', ['a', 'b', 'c']);
    expect(texts(wait())).toEqual(['a', 'b', 'c']);
  });

  test('that has waited long enough gets the next message at once', () => {
    const pop = wait();
    advance(1500);
    expect(texts(pop)).toBe(null);
    rig.push('q', 'p', ['a']);
    expect(texts(pop)).toEqual(['a']);
  });

  test('never stays beyond its own time', () => {
    rig.push('q', 'p', ['a']);
    const pop = wait({ timeoutMs: 400 });
    advance(249);
    expect(texts(pop)).toBe(null);
    advance(1);
    expect(texts(pop)).toEqual(['a']);
  });

  test('counts over all partitions that it may take', () => {
    for (const p of ['p1', 'p2', 'p3']) rig.push('q', p, [p]);
    const narrow = wait({ partitions: 2 });
    const other = wait({ consumerGroup: 'other', partitions: 3 });
    expect([texts(narrow), texts(other)]).toEqual([null, ['p1', 'p2', 'p3']]);
    rig.push('q', 'p2', ['more']);
    expect(texts(narrow)).toEqual(['p1', 'p2', 'more']);
  });

  test('by name gathers from its partition', () => {
    rig.push('q', 'p', ['a']);
    rig.push('q', 'other', ['x', 'y', 'z']);
    const pop = wait({ partition: 'p' });
    const missing = wait({ partition: 'missing', consumerGroup: 'h' });
    rig.push('q', 'missing', ['m']);
    rig.push('q', 'p', ['b']);
    expect([texts(pop), texts(missing)]).toEqual([null, null]);
    rig.push('q', 'p', ['c']);
    expect(texts(pop)).toEqual(['a', 'b', 'c']);
    advance(1000);
    expect(texts(missing)).toEqual(['m']);
  });

  test('by name starts where it first looked, as without the option', () => {
    rig.push('q', 'p', ['old']);
    const fresh = { partition: 'p', subscription: { mode: 'new' } } as const;
    const pop = wait(fresh);
    rig.push('q', 'p', ['a']);
    rig.planner.withdraw(pop);
    rig.restart();
    expect(rig.texts(rig.pop({ ...fresh, consumerGroup: 'g' }))).toEqual(['a']);
    expect(rig.rows(groups)).toEqual([]);
  });

  test('commits at delivery and no earlier', () => {
    rig.push('q', 'p', ['a']);
    const pop = wait({ autoAck: true });
    expect(rig.rows(cursors)).toEqual([]);
    advance(1000);
    expect([texts(pop), rig.rows(cursors)]).toMatchObject([['a'], [{ committed: 0 }]]);
  });

  test('sees what the queue shows, when it shows it', () => {
    rig.configure('q', { delayedProcessing: 5 });
    rig.push('q', 'p', ['a', 'b']);
    advance(4500);
    const pop = wait();
    rig.push('q', 'p', ['c']);
    advance(501);
    expect(texts(pop)).toBe(null);
    advance(499);
    expect(texts(pop)).toEqual(['a', 'b']);
  });

  test('that is withdrawn leaves everything to the next', () => {
    rig.push('q', 'p', ['a']);
    const pop = wait();
    expect(rig.planner.withdraw(pop)).toBe(true);
    expect(rig.texts(rig.pop())).toEqual(['a']);
    advance(2000);
    expect(texts(pop)).toBe(null);
  });
});

describe('nobody is held up', () => {
  test('a pop that does not wait takes what is there', () => {
    rig.push('q', 'p', ['a']);
    const pop = wait();
    expect(rig.texts(rig.pop())).toEqual(['a']);
    advance(1000);
    expect(texts(pop)).toBe(null);
    rig.push('q', 'p2', ['b']);
    expect(texts(pop)).toEqual(['b']);
  });

  test('nor one whose time is up', () => {
    rig.push('q', 'p', ['a']);
    const pop = wait();
    const hasty = wait({ timeoutMs: 400 });
    const pinned = wait({ timeoutMs: 400, partition: 'p2' });
    rig.push('q', 'p2', ['b']);
    advance(250);
    expect([texts(pop), texts(hasty), texts(pinned)]).toEqual([null, ['a'], ['b']]);
  });

  test('lines of named partitions do not wait for each other', () => {
    rig.push('q', 'p1', ['a']);
    const first = wait({ partition: 'p1' });
    const second = wait({ partition: 'p2' });
    rig.push('q', 'p2', ['x', 'y', 'z']);
    expect([texts(first), texts(second)]).toEqual([null, ['x', 'y', 'z']]);
  });

  test('those behind are served in their order', () => {
    for (const p of ['p1', 'p2']) rig.push('q', p, [p]);
    const first = wait();
    advance(10);
    const second = wait();
    advance(989);
    expect([texts(first), texts(second)]).toEqual([null, null]);
    advance(1);
    expect([texts(first), texts(second)]).toEqual([['p1'], null]);
    advance(10);
    expect(texts(second)).toEqual(['p2']);
  });

  test('who stands behind one that leaves is looked at by itself', () => {
    rig.push('q', 'p', ['a']);
    const first = wait();
    advance(10);
    const second = wait();
    const third = wait({ batch: 1 });
    const pinned = [wait({ partition: 'p' }), wait({ partition: 'p', batch: 1 })];
    rig.planner.withdraw(second);
    advance(10);
    expect([texts(third), texts(pinned[1] as Request)]).toEqual([null, null]);
    rig.planner.withdraw(first);
    advance(0);
    expect(texts(third)).toEqual(['a']);
    rig.push('q', 'p2', ['b']);
    const [one, two] = [wait({ partition: 'p2' }), wait({ partition: 'p2' })];
    rig.planner.withdraw(one as Request);
    advance(1000);
    expect(texts(two as Request)).toEqual(['b']);
  });

  test('also where the first was served by another queue', () => {
    rig.configure('n.impatient', { namespace: 'n' });
    rig.configure('n.patient', { namespace: 'n', minPopWaitTime: 1000 });
    rig.push('n.patient', 'p', ['a', 'b']);
    const discovery = wait({ namespace: 'n' });
    const behind = wait({ queue: 'n.patient', batch: 1 });
    expect([texts(discovery), texts(behind)]).toEqual([null, null]);
    rig.push('n.impatient', 'p', ['x']);
    expect([texts(discovery), texts(behind)]).toEqual([['x'], ['a']]);
  });

  test('what others take brings the next partition within reach', () => {
    for (const p of ['p1', 'p2']) rig.push('q', p, [p]);
    rig.push('q', 'p3', ['x', 'y']);
    const pop = wait({ partitions: 2 });
    expect(texts(pop)).toBe(null);
    expect(rig.texts(rig.pop({ partition: 'p1' }))).toEqual(['p1']);
    rig.drain();
    expect(texts(pop)).toEqual(['p2', 'x', 'y']);
  });

  test('each waiter is tried a few times, however many appends there are', () => {
    const waiters = Array.from({ length: 100 }, () => wait({ batch: 50 }));
    const before = rig.planner.wakes;
    for (let i = 0; i < 20; i++) rig.push('q', 'p', [`m${i}`]);
    expect(rig.planner.wakes - before).toBe(20);
    expect(waiters.every((pop) => texts(pop) === null)).toBe(true);
  });
});

describe('the option', () => {
  test('lowered or switched off acts on who waits', () => {
    rig.push('q', 'p', ['a']);
    const pop = wait();
    const pinned = wait({ partition: 'p2' });
    rig.push('q', 'p2', ['b']);
    rig.configure('q', { minPopWaitTime: 0 });
    expect([texts(pop), texts(pinned)]).toEqual([['a'], ['b']]);
  });

  test('raised does too', () => {
    rig.push('q', 'p', ['a']);
    const pop = wait();
    rig.configure('q', { minPopWaitTime: 3000 });
    advance(2999);
    expect(texts(pop)).toBe(null);
    advance(1);
    expect(texts(pop)).toEqual(['a']);
  });

  test('is known to the next leader', () => {
    rig.push('q', 'p', ['a']);
    rig.restart(2);
    const pop = wait();
    expect(texts(pop)).toBe(null);
    advance(1000);
    expect(texts(pop)).toEqual(['a']);
  });

  test('of the least patient queue counts in a discovery', () => {
    rig.configure('n.impatient', { namespace: 'n' });
    rig.configure('n.patient', { namespace: 'n', minPopWaitTime: 1000 });
    rig.push('n.patient', 'p', ['a']);
    const pop = wait({ namespace: 'n' });
    expect(texts(pop)).toBe(null);
    rig.push('n.impatient', 'p', ['b']);
    expect(texts(pop)).toEqual(['b']);
  });

  test('of a patient queue does not hold up the line of another', () => {
    rig.configure('n.patient', { namespace: 'n', minPopWaitTime: 1000 });
    rig.configure('n.impatient', { namespace: 'n' });
    rig.push('n.patient', 'p', ['a']);
    const discovery = wait({ namespace: 'n' });
    const behind = wait({ queue: 'n.impatient' });
    expect([texts(discovery), texts(behind)]).toEqual([null, null]);
    rig.push('n.impatient', 'p', ['b']);
    expect([texts(discovery), texts(behind)]).toEqual([['a'], ['b']]);
  });

  test('fills a conflating pop by partitions', () => {
    const last = { conflation: true, partitions: 2, batch: 10 };
    rig.push('q', 'p1', ['a', 'b']);
    const pop = wait(last);
    rig.push('q', 'p1', ['c']);
    expect(texts(pop)).toBe(null);
    rig.push('q', 'p2', ['d']);
    expect(texts(pop)).toEqual(['c', 'd']);
  });

  test('does not count what is leased or sealed', () => {
    rig.push('q', 'p1', ['a', 'b', 'c']);
    rig.pop({ batch: 3 });
    rig.push('q', 'p2', ['d']);
    const pop = wait();
    expect(texts(pop)).toBe(null);
    advance(1000);
    expect(texts(pop)).toEqual(['d']);
  });
});
