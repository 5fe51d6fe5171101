// Goal: the leader's end of forwarding: which calls it takes, what it answers, and what becomes of
// a call that nobody waits for. Method: the server over a real leader and planner, a proposer that
// commits at once or when the test says so, and calls that the test makes by hand.
import { crc32 } from 'node:zlib';
import {
  applyEntry,
  type Command,
  DEADLINE_OVER,
  decodeAnswer,
  encodeForwarded,
  MapState,
  newRequestSession,
  type Outcome,
  Planner,
  type PushCommand,
  type Refusal,
  TransactionIndex,
} from '@svc/engine';
import { beforeEach, expect, test } from 'vitest';
import { Leader, type Proposer } from '../leader/leader.js';
import type { CallHandler } from '../peers/calls.js';
import { type GoneReason, ServedCall } from '../peers/served-calls.js';
import { popOf, pushOf, TENANT } from '../testing/group-clients.fake.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { Admission } from './admission.js';
import { ForwardServer } from './forward-server.js';

const TERM = 3;
const session = newRequestSession(2, 3, 4);

let clock: MovedClock;
let state: MapState;
let leader: Leader;
let leading: { office: Leader; term: number } | null;
let entries: { index: number; body: Uint8Array }[];
let handler: CallHandler | null;
let refusal: Refusal | null;
let admission: Admission;
let server: ForwardServer;
let commit: () => void;

beforeEach(() => {
  clock = new MovedClock();
  state = new MapState();
  const transactions = TransactionIndex.load(state);
  entries = [];
  let lastIndex = 0;
  const proposer: Proposer = {
    get nextIndex() {
      return lastIndex + 1;
    },
    accepting: true,
    alone: true,
    propose: (body) => {
      lastIndex++;
      entries.push({ index: lastIndex, body });
      return { index: lastIndex, term: TERM };
    },
    read: (done) => done(true),
  };
  const surroundings = {
    nodeId: 1,
    checksum: crc32,
    newUuid: () => '01a2b3c4-0000-7000-8000-000000000001',
    readLog: () => new Uint8Array(0),
    cipher: null,
  };
  leader = new Leader(new Planner(state, transactions, surroundings), proposer, clock, 8, () => {});
  commit = () => {
    clock.move(1);
    for (const { index, body } of entries.splice(0)) {
      applyEntry(state, transactions, index, body);
      leader.applied(index, TERM);
    }
    clock.move(1);
  };
  leading = { office: leader, term: TERM };
  refusal = null;
  admission = new Admission({
    bytesMax: 10,
    holdMs: 1000,
    forwardedHoldMs: 1000,
    clock,
    fraction: () => 0.5,
  });
  server = new ForwardServer({
    calls: {
      serve: (_kind, taking) => {
        handler = taking;
        return () => {
          handler = null;
        };
      },
    },
    clock,
    leading: () => leading,
    leaderNode: () => (leading === null ? 2 : 1),
    admission,
    refusal: () => refusal,
  });
});

let numbers = 0;

function call(sequence: number, command: Command, term = TERM) {
  const origin = { session, sequence, settledBelow: 0, settled: [] };
  const deadlineMs = clock.nowMs() + 5000;
  const body = Buffer.concat(encodeForwarded({ term, deadlineMs, origin, command }, clock.nowMs()));
  return callWith(body);
}

function callWith(body: Uint8Array) {
  const outcomes: Outcome[] = [];
  let isGone = false;
  const head = { form: 'request', kind: 'command', timeMs: 5000, life: 1 } as const;
  const served = new ServedCall(
    2,
    { ...head, number: numbers++, body },
    clock.nowMs(),
    (_call, _form, parts) => {
      const answer = decodeAnswer(Buffer.concat(parts));
      if (typeof answer === 'string') throw new Error(answer);
      if (!isGone) outcomes.push(answer.outcome);
      return !isGone;
    },
  );
  handler?.(served);
  const gone = (why: GoneReason = 'lost') => {
    isGone = true;
    served.onGone?.(why);
  };
  return { outcomes, gone };
}

const push = (text: string) => pushOf('q', text, null);
const pop = (waitMs: number) => popOf('q', waitMs, clock.nowMs() + (waitMs || 5000));

test('a command is planned, and its outcome goes back when its entry is applied', () => {
  const { outcomes } = call(1, push('x'));
  clock.move(1);
  expect(outcomes).toEqual([]);
  expect(server.waiting).toBe(1);
  commit();
  expect(outcomes).toMatchObject([{ kind: 'pushed', status: Uint8Array.of(0) }]);
  expect(server.waiting).toBe(0);
});

test('a repeated command is done once, before its entry is applied and after it', () => {
  const first = call(1, push('x'));
  const second = call(1, push('x'));
  clock.move(1);
  const third = call(1, push('x'));
  commit();
  const fourth = call(1, push('x'));
  commit();
  const popped = call(2, pop(0));
  commit();
  expect(first.outcomes).toEqual([]);
  expect(second.outcomes.length + third.outcomes.length).toBeGreaterThan(0);
  expect(fourth.outcomes).toMatchObject([{ kind: 'pushed', status: Uint8Array.of(0) }]);
  expect(popped.outcomes).toMatchObject([{ claims: [{ slices: [{ first: 0, last: 0 }] }] }]);
});

test('who does not lead, or leads in another term, has done nothing and says who does', () => {
  const old = call(1, push('x'), TERM - 1);
  expect(old.outcomes).toMatchObject([{ refusal: { reason: 'retry', leader: 1 } }]);
  leading = null;
  const elsewhere = call(2, push('x'));
  expect(elsewhere.outcomes).toEqual([
    {
      kind: 'refused',
      refusal: { reason: 'retry', error: 'not the leader; retry against 2', leader: 2 },
    },
  ]);
  clock.move(1);
  expect(entries).toEqual([]);
});

test('a leadership that ends sends everybody on', () => {
  const calls = [call(1, push('x')), call(2, pop(4000))];
  clock.move(1);
  leading = null;
  server.endLeadership();
  for (const { outcomes } of calls) {
    expect(outcomes).toMatchObject([{ refusal: { reason: 'retry' } }]);
  }
  expect(server.waiting).toBe(0);
});

test('a parked pop whose way back is gone claims nothing; asked again, it is parked again', () => {
  const first = call(1, pop(4000));
  clock.move(1);
  first.gone();
  call(2, push('x'));
  commit();
  const other = call(3, pop(0));
  commit();
  expect(other.outcomes).toMatchObject([{ claims: [{ deliveryAttempt: 1 }] }]);
  const again = call(1, pop(4000));
  commit();
  expect([...first.outcomes, ...again.outcomes]).toEqual([]);
  expect(server.waiting).toBe(1);
});

test('a parked pop whose call ran out of time keeps its place for its repetition', () => {
  const first = call(1, pop(8000));
  clock.move(1);
  const other = call(2, pop(8000));
  clock.move(1);
  first.gone('deadline');
  expect(server.waiting).toBe(1);
  const again = call(1, pop(8000));
  call(3, push('x'));
  commit();
  expect(again.outcomes).toMatchObject([{ claims: [{ partition: 'p' }] }]);
  expect(other.outcomes).toEqual([]);
});

test('a parked pop whose call ran out of time and is not repeated claims nothing', () => {
  const first = call(1, pop(8000));
  clock.move(1);
  first.gone('deadline');
  clock.move(2100);
  call(2, push('x'));
  commit();
  const other = call(3, pop(0));
  commit();
  expect(other.outcomes).toMatchObject([{ claims: [{ deliveryAttempt: 1 }] }]);
});

test('a pop without time says what it claimed, or nothing, and claims no more', () => {
  call(1, push('x'));
  commit();
  const claiming = call(2, pop(0));
  clock.move(1);
  claiming.gone();
  const fate = call(2, { ...pop(0), deadlineMs: DEADLINE_OVER });
  commit();
  expect(fate.outcomes).toMatchObject([{ kind: 'popped', claims: [{ partition: 'p' }] }]);
  const parked = call(3, popOf('empty', 4000, clock.nowMs() + 4000));
  clock.move(1);
  parked.gone();
  const nothing = call(3, { ...pop(0), deadlineMs: DEADLINE_OVER });
  commit();
  expect(nothing.outcomes).toMatchObject([{ kind: 'popped', claims: [] }]);
});

test('what has an outcome gets it, whatever is refused now', () => {
  const first = call(1, push('x'));
  commit();
  refusal = { reason: 'storage_full', error: 'full' };
  const repeated = call(1, push('x'));
  const fresh = call(2, push('y'));
  commit();
  expect(first.outcomes).toMatchObject([{ kind: 'pushed' }]);
  expect(repeated.outcomes).toMatchObject([{ kind: 'pushed' }]);
  expect(fresh.outcomes).toEqual([{ kind: 'refused', refusal }]);
});

test('pushes wait for room, and leave it with their outcome or their way back', () => {
  const [first, second, third] = [
    call(1, push('123456')),
    call(2, push('123456')),
    call(3, push('123456')),
  ];
  clock.move(1);
  expect(admission.bytes).toBe(8);
  second?.gone();
  commit();
  expect(first?.outcomes).toMatchObject([{ kind: 'pushed' }]);
  commit();
  expect(third?.outcomes).toMatchObject([{ kind: 'pushed' }]);
  expect(second?.outcomes).toEqual([]);
  expect(admission.bytes).toBe(0);
  expect(admission.waiting).toBe(0);
});

test('a transaction that pushes waits for room too; one that does not goes straight on', () => {
  const rest = { acks: [], traceIds: null, positions: [], kv: null, timers: null, flaw: null };
  const transaction = (pushes: PushCommand | null): Command => {
    return { kind: 'transaction', tenant: TENANT, pushes, ...rest };
  };
  const first = call(1, push('123456'));
  const second = call(2, transaction(push('123456')));
  const third = call(3, transaction(null));
  clock.move(1);
  expect(admission.bytes).toBe(8);
  expect(admission.waiting).toBe(1);
  commit();
  expect(first.outcomes).toMatchObject([{ kind: 'pushed' }]);
  expect(third.outcomes).toMatchObject([{ kind: 'transacted', rollback: null, pushed: null }]);
  commit();
  const pushed = { kind: 'pushed', status: Uint8Array.of(0) };
  expect(second.outcomes).toMatchObject([{ kind: 'transacted', rollback: null, pushed }]);
  expect(admission.bytes).toBe(0);
});

test('bytes that are no command are refused, and stopped it serves nothing', () => {
  expect(callWith(Uint8Array.of(9, 9, 9)).outcomes).toMatchObject([
    { refusal: { reason: 'internal' } },
  ]);
  const waiting = call(1, pop(4000));
  clock.move(1);
  server.stop();
  expect(handler).toBe(null);
  expect(waiting.outcomes).toMatchObject([{ refusal: { reason: 'retry' } }]);
});
