// Goal: a reader that follows `next` and asks again since the first `safeTime` of its last round
// learns of every record, whatever is written, created and deleted meanwhile; pages are what the
// contract says; a call's walk is bounded. Method: tables over a small state; then random writers
// and a reader that interleave at every pause of the walk, against the list of all that was
// written.
import { describe, expect, test } from 'vitest';
import type { State } from '../base/state.js';
import { readMeta } from '../state/apply.js';
import { findPartition, findQueue } from '../state/catalog.js';
import { EngineRig, TENANT } from '../testing/engine.fake.js';
import { walked } from '../testing/page.fake.js';
import { SeededRandom } from '../testing/random.fake.js';
import { type ChangedEntry, type ChangedPage, changedPartitions } from './changed-partitions.js';

const ENTRY: ChangedEntry = { queue: 'q', sinceUs: null, after: null, limit: 1000 };
const WALKED_MAX = 1000;

function ask(rig: EngineRig, entries: readonly Partial<ChangedEntry>[], walkedMax = WALKED_MAX) {
  const whole = entries.map((entry) => ({ ...ENTRY, ...entry }));
  return walked(changedPartitions(rig.state, TENANT, whole, walkedMax));
}

function names(page: ChangedPage | undefined): string[] {
  return page?.kind === 'page' ? page.partitions.map(({ name }) => name) : [`${page?.kind}`];
}

function next(page: ChangedPage | undefined): string | null {
  return page?.kind === 'page' ? page.next : 'no page';
}

/** Partitions p1..p5 of `q`, written in the order p1..p5, p2; stamps rise. */
function fiveWritten(): EngineRig {
  const rig = new EngineRig();
  for (const name of ['p1', 'p2', 'p3', 'p4', 'p5', 'p2']) {
    rig.advance(1);
    rig.push('q', name, ['x', 'y'], false);
  }
  return rig;
}

describe('pages', () => {
  test('in the order of creation, with where each ends and when it was written', () => {
    const rig = fiveWritten();
    const { safeUs, pages } = ask(rig, [{}]);
    expect(safeUs).toBe(readMeta(rig.state).stampUs);
    expect(names(pages[0])).toEqual(['p1', 'p2', 'p3', 'p4', 'p5']);
    expect(pages[0]).toMatchObject({
      partitions: [{}, { name: 'p2', lastOffset: 3, logStart: 0, lastWriteUs: safeUs }, {}, {}, {}],
      next: null,
    });
  });

  test('`next` exactly when the page is full, also at the end', () => {
    const rig = fiveWritten();
    const first = ask(rig, [{ limit: 2 }]).pages[0];
    expect(names(first)).toEqual(['p1', 'p2']);
    const second = ask(rig, [{ limit: 3, after: next(first) }]).pages[0];
    expect(names(second)).toEqual(['p3', 'p4', 'p5']);
    const third = ask(rig, [{ limit: 3, after: next(second) }]).pages[0];
    expect(names(third)).toEqual([]);
    expect([next(second), next(third)]).toEqual([expect.stringMatching(/^p\|\d+$/), null]);
    expect(next(ask(rig, [{ limit: 6 }]).pages[0])).toBeNull();
  });

  test('`since` is inclusive, to the microsecond', () => {
    const rig = fiveWritten();
    const lastUs = readMeta(rig.state).stampUs;
    expect(names(ask(rig, [{ sinceUs: lastUs }]).pages[0])).toEqual(['p2']);
    expect(names(ask(rig, [{ sinceUs: lastUs + 1 }]).pages[0])).toEqual([]);
  });

  test('a partition that was never written counts from its creation', () => {
    const rig = new EngineRig();
    rig.configure('q', {});
    const createdUs = readMeta(rig.state).stampUs;
    const [page] = ask(rig, [{ sinceUs: createdUs }]).pages;
    const expected = { name: 'Default', lastOffset: -1, logStart: 0, lastWriteUs: createdUs };
    expect(page).toMatchObject({ partitions: [expected] });
    expect(names(ask(rig, [{ sinceUs: createdUs + 1 }]).pages[0])).toEqual([]);
  });

  test.each<[string | null, string[] | string]>([
    [null, ['p1', 'p2', 'p3', 'p4', 'p5']],
    ['', ['p1', 'p2', 'p3', 'p4', 'p5']],
    ['p|0', ['p1', 'p2', 'p3', 'p4', 'p5']],
    ['p|000', ['p1', 'p2', 'p3', 'p4', 'p5']],
    ['p|4294967295', []],
    [`p|${'9'.repeat(400)}`, []],
    ['p|', 'bad-cursor'],
    ['p|-1', 'bad-cursor'],
    ['p|1 ', 'bad-cursor'],
    ['P|1', 'bad-cursor'],
    ['n|p1', 'bad-cursor'],
    ['t|1', 'bad-cursor'],
    ['5', 'bad-cursor'],
  ])('cursor %j', (after, expected) => {
    const { pages } = ask(fiveWritten(), [{ after }]);
    expect(names(pages[0])).toEqual(typeof expected === 'string' ? [expected] : expected);
  });

  test('entries stand alone; the queue is looked at first', () => {
    const rig = fiveWritten();
    const { pages } = ask(rig, [{ queue: 'none', after: 'bad' }, { after: 'bad' }, { limit: 1 }]);
    expect(pages.map((page) => page.kind)).toEqual(['unknown-queue', 'bad-cursor', 'page']);
  });
});

describe('the bound of a call', () => {
  test('a walk that meets it ends early with a `next` that leads on', () => {
    const rig = fiveWritten();
    const lastUs = readMeta(rig.state).stampUs;
    const found: string[] = [];
    let after: string | null = null;
    let calls = 0;
    do {
      const [page] = ask(rig, [{ sinceUs: lastUs, after }], 2).pages;
      found.push(...names(page));
      after = next(page);
      calls++;
    } while (after !== null);
    expect([found, calls]).toEqual([['p2'], 3]);
  });

  test('it is one for all entries, and none of them is told that it has seen everything', () => {
    const rig = fiveWritten();
    const { pages } = ask(rig, [{}, {}, { after: 'p|2' }], 7);
    expect(pages.map(names)).toEqual([['p1', 'p2', 'p3', 'p4', 'p5'], ['p1', 'p2'], []]);
    expect(pages.map(next)).toEqual([null, expect.stringMatching(/^p\|/), 'p|2']);
  });
});

describe('nothing is missed for good', () => {
  test.each([1, 2, 3, 4, 5, 6])('seed %i', (seed) => {
    const random = new SeededRandom(seed);
    const rig = new EngineRig();
    rig.lag = 1;
    const written: { id: string; name: string; offset: number; stampUs: number }[] = [];
    /** The last offset of each partition that the reader was told of, by uuid. */
    const seen = new Map<string, number>();
    let sinceUs: number | null = null;

    function write(): void {
      const dice = random.below(60);
      if (dice === 0) rig.call({ kind: 'delete-queue', tenant: TENANT, queue: 'q' });
      const name = `p${random.below(12)}`;
      rig.push('q', name, ['x'], false);
      const { id, nextOffset, lastStampUs } = partitionOf(rig.planner.state, name);
      written.push({ id, name, offset: nextOffset - 1, stampUs: lastStampUs });
      if (dice < 30) rig.advance(random.below(3));
    }

    /** All pages of what changed; null when the queue went away meanwhile. */
    function round(): number | null {
      let firstSafeUs: number | null = null;
      let after: string | null = null;
      do {
        const entry = { ...ENTRY, sinceUs, after, limit: 1 + random.below(4) };
        const walk = changedPartitions(rig.state, TENANT, [entry], 3);
        let step = walk.next();
        while (step.done !== true) {
          if (random.below(2) === 0) write();
          step = walk.next();
        }
        firstSafeUs ??= step.value.safeUs;
        const [page] = step.value.pages;
        if (page?.kind !== 'page') return null;
        for (const { id, lastOffset } of page.partitions) seen.set(id, lastOffset);
        after = page.next;
      } while (after !== null);
      return firstSafeUs;
    }

    let judged = 0;
    for (let i = 0; i < 60; i++) {
      write();
      const safeUs = round();
      if (safeUs === null) continue;
      sinceUs = safeUs;
      for (const { id, name, offset, stampUs } of written) {
        if (stampUs > safeUs || partitionOf(rig.state, name).id !== id) continue;
        expect(seen.get(id) ?? -1, `round ${i}, ${name} at ${offset}`).toBeGreaterThanOrEqual(
          offset,
        );
        judged++;
      }
    }
    expect(judged).toBeGreaterThan(100);
  });

  function partitionOf(state: State, name: string) {
    const queue = findQueue(state, TENANT, 'q');
    const partition = queue && findPartition(state, queue.number, name);
    return partition ?? { id: '', nextOffset: 0, lastStampUs: 0 };
  }
});
