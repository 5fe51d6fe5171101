/**
 * Goal: whatever shows values of the key/value store has room for its answer before anything is
 * planned, calls that write and transactions too. Method: room that the test sets; commands are
 * counted when they are handed on, on a node of one for transactions.
 */
import { type KvCall, type KvOp, kvAnswerBytes, kvJson, MapState, type Outcome } from '@svc/engine';
import { LoopShare } from '@svc/http';
import { expect, test, vi } from 'vitest';
import { StateReads } from '../reads/state-reads.js';
import { FakeGroup } from '../testing/group.fake.js';
import { SharedRoom } from '../testing/message-log.fake.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { KvRequests } from './kv-requests.js';

const MIB = 1024 * 1024;
const TENANT = '00000000-0000-0000-0000-000000000000';
const LONG = kvJson(`"${'x'.repeat(65_000)}"`);
const SHORT = kvJson('1');

const place = (i: number) => ({ namespace: 'n', key: `k${i}` });

function put(i: number, value = SHORT, expect: number | null = null): KvOp {
  return { op: 'put', ...place(i), value, ttlSeconds: null, expect, required: false };
}

function ops(count: number, make: (i: number) => KvOp): readonly KvOp[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

const remove = (i: number): KvOp => {
  return { op: 'delete', ...place(i), expect: null, required: false };
};
const count = (i: number): KvOp => {
  const more = { min: null, max: null, ttlSeconds: null, required: false };
  return { op: 'incr', ...place(i), delta: '1', ...more };
};
const check = (i: number): KvOp => ({ op: 'check', ...place(i), expect: 1, required: false });
const get = (i: number): KvOp => ({ op: 'get', ...place(i) });

test.each([
  ['an echo', ops(64, (i) => put(i, LONG)), 64 * 65_002, 64 * 66_000],
  ['short puts', ops(64, (i) => put(i)), 64, 64 * 1000],
  ['what a put that loses shows', ops(64, (i) => put(i, SHORT, 7)), 64 * 65_536, 64 * 66_500],
  ['what was deleted', ops(256, remove), 256 * 65_536, 256 * 66_500],
  ['counters', ops(64, count), 64 * 65_536, 64 * 66_500],
  ['checks', ops(64, check), 64 * 65_536, 64 * 66_500],
  ['gets, which have no bound in common', ops(256, get), 256 * 65_536, 256 * 66_500],
  [
    'pages',
    [{ op: 'getPrefix', namespace: 'n', prefix: 'k', after: '', limit: 1000, keysOnly: false }],
    4 * MIB,
    5 * MIB,
  ] as const,
])('%s: the bound of the answer', (_, asked, least, most) => {
  const bytes = kvAnswerBytes({ kind: 'kv', tenant: TENANT, ops: asked });
  expect(bytes).toBeGreaterThanOrEqual(least);
  expect(bytes).toBeLessThanOrEqual(most);
});

class Answers {
  gone = false;
  onGone: (() => void) | null = null;
  readonly outcomes: Outcome[] = [];
  readonly room: ReturnType<SharedRoom['one']>;

  constructor(shared: SharedRoom) {
    this.room = shared.one();
  }

  send(outcome: Outcome): boolean {
    this.outcomes.push(outcome);
    return true;
  }
}

function newReads(clock: MovedClock): StateReads {
  const source = {
    stateless: false,
    leadsAlone: true,
    isLed: true,
    isMember: () => true,
    read: () => undefined,
  };
  return new StateReads(source, clock, new LoopShare(clock), 1000, (error) => {
    throw error;
  });
}

const call = (asked: readonly KvOp[]): KvCall => ({ kind: 'kv', tenant: TENANT, ops: asked });

test('sixty pages of long values are read as there is room for what they show', () => {
  const shared = new SharedRoom(30 * MIB);
  const clock = new MovedClock();
  const state = new MapState();
  const range = vi.spyOn(state, 'range');
  const requests = { submit: () => {} };
  const kv = new KvRequests({ state, reads: newReads(clock), clock, allowedMs: 1000, requests });
  const page: KvOp = {
    op: 'getPrefix',
    namespace: 'n',
    prefix: 'k',
    after: '',
    limit: 1000,
    keysOnly: false,
  };
  const bytes = kvAnswerBytes(call([page]));
  const fits = Math.floor((30 * MIB) / bytes);
  const all = Array.from({ length: 60 }, () => {
    const answers = new Answers(shared);
    kv.call(call([page]), answers);
    return answers;
  });
  expect([shared.used, shared.waiting.length]).toEqual([fits * bytes, 60 - fits]);
  expect(range.mock.calls.length).toBe(fits);
  for (const { room } of all) {
    room.release();
    shared.admit();
  }
  const answered = all.filter(({ outcomes }) => outcomes.length === 1).length;
  expect([answered, shared.peak]).toEqual([60, fits * bytes]);
});

test('calls that write are planned as there is room for what they answer', () => {
  const shared = new SharedRoom(30 * MIB);
  const clock = new MovedClock();
  const reads = newReads(clock);
  let planned = 0;
  const requests = { submit: () => planned++ };
  const kv = new KvRequests({ state: new MapState(), reads, clock, allowedMs: 1000, requests });
  const large = Array.from({ length: 20 }, () => {
    const answers = new Answers(shared);
    kv.call(call(ops(64, (i) => put(i, LONG))), answers);
    return answers;
  });
  expect([planned, shared.waiting.length]).toEqual([7, 13]);
  kv.call(call([put(0)]), new Answers(shared));
  expect(planned, 'a short one needs none').toBe(8);
  for (const { room } of large) {
    room.release();
    shared.admit();
  }
  expect([planned, shared.waiting.length]).toEqual([21, 0]);
  expect(shared.peak).toBeLessThanOrEqual(30 * MIB);
});

test('a transaction waits for the room of what its operations show', () => {
  const group = new FakeGroup({ founders: 1, seed: 1 });
  const shared = new SharedRoom(6 * MIB);
  const transact = () => {
    const answers = new Answers(shared);
    const nothing = { acks: [], pushes: null, traceIds: null, positions: [], timers: null };
    const kv: KvCall = { kind: 'kv', tenant: TENANT, ops: [put(99), ...ops(63, get)] };
    const command = { kind: 'transaction', tenant: TENANT, ...nothing, kv, flaw: null } as const;
    group.leader().inProcess(({ broker }) => broker.submit(command, answers));
    return answers;
  };
  const [first, second] = [transact(), transact()];
  group.run(100);
  expect([first.outcomes.length, second.outcomes.length, shared.waiting.length]).toEqual([1, 0, 1]);
  first.room.release();
  shared.admit();
  group.run(100);
  expect(second.outcomes.map(({ kind }) => kind)).toEqual(['transacted']);
});
