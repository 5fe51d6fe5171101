/**
 * How a follower reads, hands over and leaves holds, event by event (standby-link 5, 8 and 9).
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { entryOf, head, Rig, SOURCE } from './follower.fake.js';
import { BYTES_MAX, ENTRIES_MAX, READ_BYTES, READ_WAIT_MS } from './follower.js';
import { HOLD_EVERY_MS } from './source-nodes.js';

let rig: Rig;

beforeEach(() => {
  rig = new Rig();
});

describe('idle', () => {
  test('it asks nobody before it leads', () => {
    rig.tickAfter(100_000);
    rig.room();
    expect(rig.port.calls).toEqual([]);
    expect(rig.follower.dueMs).toBeNull();
    expect(rig.view).toEqual({
      state: 'idle',
      source: null,
      scanned: 8,
      sourceApplied: 0,
      lagEntries: 0,
      lagMs: 0,
      lastAnswerMs: null,
      entries: 0,
      error: null,
    });
  });

  test('it becomes so from every state, and lets go of all calls', () => {
    const states: (() => void)[] = [
      () => rig.leads(),
      () => rig.follows(),
      () => {
        rig.leads();
        rig.fail('gone');
      },
      () => {
        rig.leads();
        rig.answer({ kind: 'mismatch', term: 9 });
      },
    ];
    for (const reach of states) {
      rig = new Rig();
      reach();
      const open = new Set(rig.port.calls.map(({ call }) => call));
      rig.follower.yield();
      expect(rig.status).toBe('idle');
      expect(rig.follower.dueMs).toBeNull();
      const read = rig.port.last.call;
      // What was answered or failed before is cancelled or done; nothing of it counts any more.
      for (const call of open) {
        rig.follower.answered(call, head(), rig.nowMs);
        rig.follower.entry(call, entryOf(11), rig.nowMs);
        rig.endHold(call);
        rig.follower.failed(call, 'late', rig.nowMs);
      }
      expect([rig.status, rig.port.last.call, rig.office.taken]).toEqual(['idle', read, []]);
    }
  });

  test('the count of entries stays, the rest of the view begins anew', () => {
    rig.leads();
    rig.answerWith([entryOf(11), entryOf(12)]);
    rig.follower.yield();
    expect(rig.view).toMatchObject({ entries: 2, sourceApplied: 0, lastAnswerMs: null });
  });
});

describe('reading', () => {
  test('the first read of a leadership is from its position, and wants an answer at once', () => {
    rig.leads();
    expect(rig.status).toBe('waiting');
    expect(rig.port.reads).toEqual([
      {
        call: 1,
        address: 'a:1',
        request: {
          after: 10,
          afterTerm: 2,
          maxBytes: READ_BYTES,
          waitMs: 0,
          reader: 'standby-5e1f09c2',
          holdOnly: false,
          holdAfter: 8,
        },
      },
    ]);
  });

  test('the configured name is the name of the reader', () => {
    rig = new Rig(['a:1'], 'elsewhere');
    rig.leads();
    expect(rig.port.last.request.reader).toBe('elsewhere');
  });

  test('one read follows the other, each from the last entry, and is held at the source', () => {
    rig.leads();
    rig.answerWith([entryOf(11), entryOf(14, 3)], { index: 20, term: 4 });
    expect(rig.office.taken).toEqual([11, 14]);
    expect(rig.port.last.request).toMatchObject({ after: 20, afterTerm: 4, waitMs: READ_WAIT_MS });
    expect(rig.view).toMatchObject({ state: 'following', scanned: 20, entries: 2 });
  });

  test('an entry is handed over while the answer is under way', () => {
    rig.leads();
    rig.answer();
    expect(rig.status).toBe('waiting');
    rig.entry(entryOf(11));
    expect(rig.office.taken).toEqual([11]);
    expect(rig.status).toBe('following');
  });

  test('an entry before a head is nothing', () => {
    rig.leads();
    rig.entry(entryOf(11));
    rig.end(11, 2);
    expect(rig.office.taken).toEqual([]);
    expect(rig.port.reads).toHaveLength(1);
  });

  test('a source that answers at once and says nothing is asked again after a while', () => {
    rig.follows();
    rig.answerWith([]);
    expect(rig.port.reads).toHaveLength(2);
    expect(rig.follower.dueMs).toBe(rig.nowMs + 100);
    rig.tickAfter(100);
    expect(rig.port.reads).toHaveLength(3);
    // One that was held is followed by the next at once.
    rig.nowMs += READ_WAIT_MS;
    rig.answerWith([]);
    expect(rig.port.reads).toHaveLength(4);
  });

  test('a source that ends with entries of consensus is asked from there, and waits', () => {
    rig.follows();
    rig.answerWith([], { index: 13, term: 3 });
    // However far it says that it goes: it may say so at once for ever.
    expect(rig.follower.dueMs).toBe(rig.nowMs + 100);
    rig.tickAfter(100);
    expect(rig.port.last.request).toMatchObject({ after: 13, afterTerm: 3, waitMs: READ_WAIT_MS });
    rig.answerWith([entryOf(14, 3)]);
    expect(rig.office.taken).toEqual([14]);
    // Unless the leadership is elsewhere by then.
    rig.office.position = { index: 9, term: 2 };
    rig.answerWith([], { index: 15, term: 3 });
    rig.tickAfter(100);
    expect(rig.port.last.request).toMatchObject({ after: 9, afterTerm: 2 });
  });

  test.each([
    [entryOf(10), 'entry 10 follows entry 10'],
    [entryOf(12, 1), 'entry 12 of term 1 follows one of term 2'],
  ])('entries out of order are not read', (entry, why) => {
    rig.leads();
    rig.answer();
    rig.entry(entry);
    expect(rig.office.taken).toEqual([]);
    expect(rig.status).toBe(`waiting: a source entry was not read: ${why}`);
    expect(rig.port.log).toEqual(['cancel 1']);
  });

  test('the lag is what the source had applied and is not covered', () => {
    rig.follows();
    rig.answer({ applied: 30 });
    rig.nowMs += 40;
    rig.entry(entryOf(12));
    expect(rig.view).toMatchObject({
      scanned: 12,
      sourceApplied: 30,
      lagEntries: 18,
      lagMs: 2000,
      lastAnswerMs: 40,
    });
    rig.end(31, 2, 31);
    expect(rig.view).toMatchObject({ scanned: 31, sourceApplied: 31, lagEntries: 0, lagMs: 0 });
  });

  test('before the first entry there is no age', () => {
    rig.leads();
    rig.answer();
    const start = { index: 0, stampUs: 0 };
    expect(rig.follower.view(rig.nowMs, 9_000_000, start)).toMatchObject({
      lagEntries: 50 - 10,
      lagMs: 0,
    });
  });
});

describe('a leadership that is full', () => {
  const full = () => ({ kind: 'full' }) as const;

  test('keeps what was read, and takes it when it has room', () => {
    rig.follows();
    rig.office.answer = full;
    rig.answerWith([entryOf(11), entryOf(12)], { index: 15, term: 2 });
    expect(rig.view).toMatchObject({ entries: 0, scanned: 10 });
    rig.room();
    expect(rig.office.taken).toEqual([]);
    rig.office.answer = null;
    rig.room();
    expect(rig.office.taken).toEqual([11, 12]);
    expect(rig.view.scanned).toBe(15);
  });

  test('the next answer is read beside what waits, from the last entry received', () => {
    rig.follows();
    rig.office.answer = full;
    rig.answerWith([entryOf(11), entryOf(12)]);
    expect(rig.port.last.request).toMatchObject({ after: 12, afterTerm: 2 });
    rig.answer();
    rig.entry(entryOf(13));
    rig.office.answer = null;
    rig.room();
    expect(rig.office.taken).toEqual([11, 12, 13]);
  });

  test.each([
    ['entries', { entries: ENTRIES_MAX - 3, bytes: 0 }],
    ['bytes', { entries: 0, bytes: BYTES_MAX - 3 }],
  ])(
    'reading pauses at the bound of %s, what is in flight counted, until all is handed over',
    (_, inFlight) => {
      rig.follows();
      rig.office.answer = full;
      rig.office.inFlight = inFlight;
      const { call } = rig.port.last;
      rig.follower.answered(call, head(), rig.nowMs);
      for (const index of [11, 12]) rig.follower.entry(call, entryOf(index), rig.nowMs);
      expect(rig.port.log).toEqual([]);
      rig.follower.entry(call, entryOf(13), rig.nowMs);
      // What the socket had read already.
      rig.follower.entry(call, entryOf(14), rig.nowMs);
      expect(rig.port.log).toEqual([`pause ${call}`]);
      rig.office.answer = ({ index }) => (index < 14 ? null : { kind: 'full' });
      rig.room();
      expect(rig.port.log).toEqual([`pause ${call}`]);
      rig.office.answer = null;
      rig.room();
      expect(rig.port.log).toEqual([`pause ${call}`, `resume ${call}`]);
      expect(rig.office.taken).toEqual([11, 12, 13, 14]);
    },
  );

  test('no other answer is begun at the bound', () => {
    rig.follows();
    rig.office.answer = full;
    rig.office.inFlight = { entries: ENTRIES_MAX, bytes: 0 };
    rig.answerWith([entryOf(11)]);
    const reads = rig.port.reads.length;
    rig.tickAfter(60_000);
    expect(rig.port.reads).toHaveLength(reads);
    rig.office.answer = null;
    rig.room();
    expect(rig.port.reads).toHaveLength(reads + 1);
  });

  test('room inside of a hand-over hands nothing over twice', () => {
    rig.follows();
    rig.office.answer = () => {
      rig.room();
      return null;
    };
    rig.answerWith([entryOf(11), entryOf(12)]);
    expect(rig.office.taken).toEqual([11, 12]);
  });

  test('a leadership that ends as it takes an entry gets no other', () => {
    rig.follows();
    const { call } = rig.port.last;
    rig.office.answer = full;
    rig.follower.answered(call, head(), rig.nowMs);
    for (const index of [11, 12, 13]) rig.follower.entry(call, entryOf(index), rig.nowMs);
    rig.office.answer = () => {
      rig.follower.yield();
      return null;
    };
    rig.room();
    expect(rig.office.taken).toEqual([11]);
    expect(rig.status).toBe('idle');
  });
});

describe('holds', () => {
  const heldAt = () => rig.port.holds.map(({ address }) => address);

  test('the nodes that are not read hear of the standby every five seconds', () => {
    rig.leads();
    expect(heldAt()).toEqual(['b:1', 'c:1']);
    expect(rig.port.holds[0]?.request).toEqual({
      after: 8,
      afterTerm: 2,
      maxBytes: READ_BYTES,
      waitMs: 0,
      reader: 'standby-5e1f09c2',
      holdOnly: true,
      holdAfter: 8,
    });
    for (const { call } of rig.port.holds) {
      rig.follower.answered(call, head(), rig.nowMs);
      rig.endHold(call);
    }
    expect(rig.status).toBe('waiting');
    rig.answerWith([]);
    rig.office.appliedPosition = { index: 10, term: 2 };
    expect(rig.follower.dueMs).toBe(rig.nowMs + HOLD_EVERY_MS);
    rig.tickAfter(READ_WAIT_MS);
    rig.answerWith([entryOf(11)]);
    rig.tickAfter(HOLD_EVERY_MS - READ_WAIT_MS);
    expect(heldAt()).toEqual(['b:1', 'c:1', 'b:1', 'c:1']);
    expect(rig.port.holds.at(-1)?.request.after).toBe(10);
  });

  test('one that is under way is not repeated, and its failure is nothing', () => {
    rig.leads();
    rig.answerWith([]);
    const [first] = rig.port.holds;
    rig.follower.failed(first?.call ?? 0, 'refused', rig.nowMs);
    expect(rig.status).toBe('following');
    rig.tickAfter(HOLD_EVERY_MS);
    // The node that is read, too: its read lasts longer than a hold may be silent.
    expect(heldAt()).toEqual(['b:1', 'c:1', 'a:1', 'b:1']);
  });

  test('while it waits, they go on', () => {
    rig.leads();
    rig.fail('refused');
    for (const { call } of rig.port.holds) rig.endHold(call);
    rig.tickAfter(HOLD_EVERY_MS);
    expect(heldAt().length).toBeGreaterThan(2);
  });

  test('a node that is ahead for a while takes the place of one that has nothing new', () => {
    rig.follows();
    const hear = (applied: number) => {
      const call = rig.port.holds.findLast(({ address }) => address === 'b:1')?.call ?? 0;
      rig.follower.answered(call, head({ applied }), rig.nowMs);
      rig.endHold(call, applied);
    };
    hear(70);
    expect(rig.port.last.address).toBe('a:1');
    rig.tickAfter(HOLD_EVERY_MS);
    hear(90);
    expect(rig.port.last.address).toBe('b:1');
    expect(rig.status).toBe('following');
    expect(rig.port.last.request.after).toBe(10);
  });

  test('a read that brings something is not given up for it, unless it is slow', () => {
    rig.follows();
    const hear = (applied: number) => {
      const call = rig.port.holds.findLast(({ address }) => address === 'b:1')?.call ?? 0;
      rig.follower.answered(call, head({ applied }), rig.nowMs);
      rig.endHold(call, applied);
      rig.tickAfter(HOLD_EVERY_MS);
    };
    rig.answer({ applied: 60 });
    for (let i = 0; i < 9; i++) hear(70 + i);
    expect(rig.port.last.address).toBe('a:1');
    rig.follower.slow(rig.port.last.call);
    hear(80);
    expect(rig.port.last.address).toBe('b:1');
  });

  test('a node of another cluster, or one that was ahead for a moment, does not', () => {
    rig.follows();
    const holdOfB = () => rig.port.holds.findLast(({ address }) => address === 'b:1')?.call ?? 0;
    for (const clusterId of ['c-else', SOURCE]) {
      rig.follower.answered(holdOfB(), head({ clusterId, applied: 70 }), rig.nowMs);
      rig.endHold(holdOfB(), 70);
      rig.tickAfter(HOLD_EVERY_MS);
    }
    rig.answer({ applied: 80 });
    rig.follower.answered(holdOfB(), head({ applied: 90 }), rig.nowMs);
    expect(rig.port.last.address).toBe('a:1');
  });
});
