// Goal: a fetch that waits reads nothing before it can be enough, reads nothing twice to learn that
// it is not, misses no append, and holds room before it reads. Method: messages in a log that
// counts what is read of it, a clock that the test moves, and room that it sets.
import type { RefusedOutcome } from '@svc/engine';
import { type FetchedOutcome, type FetchRequest, LoopShare, type Reply } from '@svc/http';
import { DEFAULT_TENANT } from '@svc/wire';
import { beforeEach, expect, test } from 'vitest';
import { MessageLog, SharedRoom } from '../testing/message-log.fake.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { Fetches } from './fetch.js';
import { MessageReader } from './message-reader.js';

const KIB = 1024;
const LONG = `"${'x'.repeat(100 * KIB - 2)}"`;

let clock: MovedClock;
let log: MessageLog;
let fetches: Fetches;
let shared: SharedRoom;
/** The time that the work for a fetch takes. */
let fetchMs: number;

beforeEach(() => {
  fetchMs = 0;
  clock = new MovedClock();
  log = new MessageLog();
  shared = new SharedRoom(1024 * KIB);
  // Nothing is kept of what was read.
  const reader = new MessageReader(log.log, null, new LoopShare(clock), 0, () => {});
  fetches = new Fetches(log.state, reader, clock, new LoopShare(clock));
  log.onAppended = (partition, bytes) => fetches.appended(partition, bytes);
});

class Asked implements Reply<FetchedOutcome | RefusedOutcome> {
  gone = false;
  onGone: (() => void) | null = null;
  readonly room = shared.one();
  answer: FetchedOutcome | RefusedOutcome | null = null;

  send(answer: FetchedOutcome | RefusedOutcome): boolean {
    if (this.answer !== null) throw new Error('a fetch was answered twice');
    this.answer = answer;
    clock.ms += fetchMs;
    return true;
  }

  /** Offsets of each entry, or why it was refused. */
  get shown() {
    if (this.answer?.kind !== 'fetched') return this.answer?.refusal.reason ?? null;
    return this.answer.entries.map(({ batches }) =>
      batches.flatMap(({ baseOffset, first, last }) =>
        Array.from({ length: last - first + 1 }, (_, i) => baseOffset + first + i),
      ),
    );
  }
}

function fetch(minBytes: number, options: Partial<FetchRequest> = {}): Asked {
  const asked = new Asked();
  const maxWaitMs = options.maxWaitMs ?? 30_000;
  const entry = { queue: 'q', partition: 'p', offset: 0, maxBytes: 8 * 1024 * KIB };
  const request = { tenant: DEFAULT_TENANT, entries: [entry], maxWaitMs, minBytes, ...options };
  fetches.fetch({ ...request, deadlineMs: clock.nowMs() + maxWaitMs }, asked);
  clock.move(0);
  return asked;
}

function push(payloads: readonly string[], partition = 'p'): void {
  log.push(partition, payloads);
}

test('while the sum of what was appended is too little nothing is read', () => {
  shared.bytesMax = 4096 * KIB;
  push([LONG]);
  const asked = fetch(1000 * KIB);
  for (let i = 0; i < 8; i++) {
    push([LONG]);
    clock.move(0);
  }
  clock.move(3000);
  expect([log.reads, asked.answer, shared.peak]).toEqual([0, null, 0]);
  push([LONG]);
  expect([log.reads, asked.answer]).toEqual([0, null]);
  clock.move(0);
  expect([log.reads, asked.shown]).toEqual([10, [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]]);
});

test('applying an append does nothing but count it', () => {
  push(['0']);
  const entry = { queue: 'q', partition: 'p', offset: 1, maxBytes: 10 };
  const all = Array.from({ length: 10 }, () => fetch(1, { entries: [entry] }));
  push(['1']);
  expect([log.reads, all.filter(({ answer }) => answer !== null)]).toEqual([0, []]);
  clock.move(0);
  expect(all.map(({ shown }) => shown)).toEqual(all.map(() => [[1]]));
});

test('what was read and is too little is not read again', () => {
  push(['1', '2', '3']);
  // The append is longer than its payloads, so it looks like enough.
  const asked = fetch(20);
  expect([log.reads, asked.answer, shared.used]).toEqual([1, null, 0]);
  for (let reads = 2; asked.answer === null; reads++) {
    push(['4']);
    clock.move(0);
    expect(asked.answer === null ? log.reads : reads).toBeLessThanOrEqual(reads);
  }
  // Each append once to learn its payloads, and all of them for the answer.
  const appends = log.readBytes;
  expect(asked.shown).toEqual([Array.from({ length: 20 }, (_, i) => i)]);
  expect(log.reads).toBeLessThanOrEqual(2 * 18);
  expect(appends).toBeGreaterThan(0);
});

test('an entry that has all it asked for is not woken by more', () => {
  push([LONG, LONG]);
  const entry = { queue: 'q', partition: 'p', offset: 0, maxBytes: 150 * KIB };
  push([LONG]);
  const asked = fetch(200 * KIB, { entries: [entry] });
  const { reads } = log;
  for (let i = 0; i < 10; i++) {
    push([LONG]);
    clock.move(0);
  }
  expect([log.reads, asked.answer]).toEqual([reads, null]);
  clock.move(30_001);
  expect(asked.shown).toEqual([[0]]);
});

test.each([false, true])(
  'an append while it reads is not missed, counted then: %s',
  (isCounted) => {
    push(['1', '2', '3']);
    log.isSlow = true;
    const asked = fetch(4);
    expect(log.reading).toBe(1);
    push(['4', '5']);
    if (isCounted) clock.move(0);
    log.answerReads();
    clock.move(0);
    expect(log.reading).toBeGreaterThan(0);
    for (let i = 0; i < 3; i++) {
      log.answerReads();
      clock.move(0);
    }
    expect(asked.shown).toEqual([[0, 1, 2, 3, 4]]);
  },
);

test('a partition that comes to be is found', () => {
  const asked = fetch(1, { entries: [{ queue: 'q', partition: 'new', offset: 0, maxBytes: 10 }] });
  expect(asked.shown).toEqual([[]]);
  push(['0']);
  const later = fetch(1, { entries: [{ queue: 'q', partition: 'new', offset: 0, maxBytes: 10 }] });
  push(['1'], 'new');
  expect(later.answer).toBe(null);
  clock.move(1001);
  expect(later.shown).toEqual([[0]]);
});

test('forty fetches of old data read no more than there is room for, one after the other', () => {
  for (let i = 0; i < 4; i++) push([LONG]);
  const asked = Array.from({ length: 40 }, () => fetch(1, { maxWaitMs: 0 }));
  // Each takes 400 KiB of the log and makes as much of an answer.
  expect(asked.filter(({ answer }) => answer !== null).length).toBe(1);
  expect([log.reads, shared.waiting.length]).toEqual([4, 39]);
  for (const { room } of asked) {
    room.release();
    shared.admit();
    clock.move(0);
  }
  expect(asked.map(({ shown }) => shown)).toEqual(asked.map(() => [[0, 1, 2, 3]]));
  expect(shared.peak).toBeLessThanOrEqual(shared.bytesMax);
});

test('without room for too long it is refused, and nothing was read', () => {
  push([LONG]);
  shared.bytesMax = 10;
  const asked = fetch(1);
  shared.waiting[0]?.admit(false);
  expect([asked.shown, log.reads, shared.used]).toEqual(['overloaded', 0, 0]);
});

test('its time ends it with what there is, and so does the end of the node', () => {
  push(['1']);
  const [first, second] = [fetch(1000, { maxWaitMs: 500 }), fetch(1000)];
  clock.move(501);
  expect([first.shown, second.answer]).toEqual([[[0]], null]);
  fetches.stop();
  expect(second.shown).toEqual([[0]]);
});

test('a client that has gone costs nothing more', () => {
  push(['0'], 'other');
  const asked = fetch(1);
  asked.gone = true;
  asked.onGone?.();
  push(['1']);
  clock.move(5000);
  expect([log.reads, asked.answer]).toEqual([0, null]);
});

/** Fetches that arrive in one turn of the loop. */
function fetchAtOnce(count: number): Asked[] {
  shared.bytesMax = 16 * 1024 * KIB;
  push(['1']);
  const entries = [{ queue: 'q', partition: 'p', offset: 0, maxBytes: 10 }];
  return Array.from({ length: count }, () => {
    const asked = new Asked();
    const about = { tenant: DEFAULT_TENANT, entries, maxWaitMs: 0, minBytes: 1 };
    fetches.fetch({ ...about, deadlineMs: clock.nowMs() }, asked);
    return asked;
  });
}

function answered(all: readonly Asked[]): number {
  return all.filter(({ answer }) => answer !== null).length;
}

test('fetches that come at once share the four milliseconds of a turn', () => {
  fetchMs = 0.5;
  const all = fetchAtOnce(64);
  const perTurn = [answered(all)];
  while (answered(all) < 64) {
    const before = answered(all);
    clock.next();
    perTurn.push(answered(all) - before);
  }
  // The immediates of the turn that brought them have nothing left.
  expect(perTurn).toEqual([8, 0, 8, 8, 8, 8, 8, 8, 8]);
});

test('fetches that wait for one append share the turns in the same way', () => {
  push(['1']);
  const entry = { queue: 'q', partition: 'p', offset: 1, maxBytes: 10 };
  const all = Array.from({ length: 20 }, () => fetch(1, { entries: [entry] }));
  fetchMs = 1;
  push(['2']);
  // The first turn is that which adds up what was appended.
  const perTurn: number[] = [];
  while (answered(all) < 20) {
    const before = answered(all);
    clock.next();
    perTurn.push(answered(all) - before);
  }
  expect(perTurn).toEqual([4, 0, 4, 4, 4, 4]);
});

test('fetches in the line: one that has gone is left out, and a stop answers all', () => {
  fetchMs = 5;
  const all = fetchAtOnce(40);
  expect(answered(all)).toBe(1);
  const gone = all[1] as Asked;
  gone.gone = true;
  gone.onGone?.();
  for (let turn = 0; turn < 3; turn++) clock.next();
  expect([gone.answer, answered(all)]).toEqual([null, 3]);
  fetches.stop();
  expect(all.map(({ answer }) => answer?.kind ?? null)).toEqual([
    'fetched',
    null,
    ...Array.from({ length: 38 }, () => 'fetched'),
  ]);
  clock.move(0);
});
