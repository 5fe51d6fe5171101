// Goal: each rule of held requests by itself: order and ranks, room, deadlines, doubt, abandoned
// pops, drain and stop. Method: the requests and the sender that sends them, with calls that the
// test answers by hand, a leader that only remembers, and a clock that it moves.
import {
  type Command,
  decodeForwarded,
  encodeAnswer,
  type ForwardedCommand,
  newRequestSession,
  type Outcome,
  type PopCommand,
} from '@svc/engine';
import { beforeEach, expect, test } from 'vitest';
import type { Request } from '../leader/leader.js';
import type { CallDone, CallFailure } from '../peers/calls.js';
import { popOf, pushOf, TENANT } from '../testing/group-clients.fake.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { ForwardSender, type RemoteLeader } from './forward-sender.js';
import type { ClientRequest } from './held-request.js';
import { type OwnLeader, Requests } from './held-requests.js';

interface Sent {
  readonly to: number;
  readonly forwarded: ForwardedCommand;
  readonly done: CallDone;
  isCancelled: boolean;
}

class RememberingLeader implements OwnLeader {
  readonly stopped = false;
  readonly submitted: Request[] = [];
  readonly hurried: Request[] = [];

  submit(request: Request): void {
    this.submitted.push(request);
  }

  hurry(request: Request): void {
    this.hurried.push(request);
  }

  withdraw(request: Request): boolean {
    return request.command.kind === 'pop';
  }
}

const IN_FLIGHT_MAX = 4;
const ACKED: Outcome = { kind: 'acked', items: [] };
const DELETED: Outcome = { kind: 'deleted', existed: true };
const PUSHED: Outcome = { kind: 'pushed', status: Uint8Array.of(0), messageIds: [] };

let clock: MovedClock;
let sent: Sent[];
let remoteLeader: RemoteLeader | null;
let isMember: boolean;
let applied: number;
let requests: Requests;

beforeEach(() => {
  clock = new MovedClock();
  sent = [];
  remoteLeader = null;
  isMember = true;
  applied = 1;
  const sender = new ForwardSender({
    calls: {
      call: (to, _kind, parts, _timeoutMs, done) => {
        const forwarded = decodeForwarded(Buffer.concat(parts), clock.nowMs());
        if (typeof forwarded === 'string') throw new Error(forwarded);
        const one: Sent = { to, forwarded, done, isCancelled: false };
        sent.push(one);
        return {
          cancel: () => {
            one.isCancelled = true;
          },
        };
      },
    },
    session: newRequestSession(1, 2, 3),
    clock,
    inFlightMax: IN_FLIGHT_MAX,
  });
  requests = newRequests(sender);
});

function newRequests(sender: ForwardSender | null): Requests {
  return new Requests({
    clock,
    sender,
    appliedIndex: () => applied,
    remoteLeader: () => remoteLeader,
    isMember: () => isMember,
    admission: null,
    refusal: () => null,
  });
}

const ack: Command = { kind: 'ack', tenant: TENANT, consumerGroup: 'g', items: [] };

function push(text = 'x'): Command {
  return pushOf('q', text, null);
}

function pop(waitMs = 0): PopCommand {
  return popOf('q', waitMs, clock.nowMs() + (waitMs || 5000));
}

/** What a client is told, and what comes after that. */
interface Told {
  readonly request: ClientRequest;
  readonly outcomes: Outcome[];
  readonly late: Outcome[];
}

function ask(command: Command, leftMs = 5000): Told {
  const outcomes: Outcome[] = [];
  const late: Outcome[] = [];
  const request = requests.submit(command, clock.nowMs() + leftMs, (outcome, isLate) => {
    (isLate ? late : outcomes).push(outcome);
  });
  return { request, outcomes, late };
}

function follow(node: number, term = 1): void {
  remoteLeader = { node, term };
  requests.follow();
}

/** The open call that was made first. */
function open(): Sent {
  const first = sent.find(({ isCancelled }) => !isCancelled);
  if (first === undefined) throw new Error('nothing was sent');
  return first;
}

/** The outcome rests on entry `index`. */
function end(one: Sent, outcome: Outcome | CallFailure, index = 1): void {
  one.isCancelled = true;
  one.done(typeof outcome === 'string' ? outcome : encodeAnswer({ index, term: 1, outcome }));
}

/** A pop's outcome whose messages stand in entry `index`. */
function popped(index: number): Outcome {
  const slice = { index, position: 0, length: 1, baseOffset: 0, stampUs: 1, first: 0, last: 0 };
  const claim = { queue: 'q', partition: 'p', partitionNumber: 1, deliveryAttempt: 1 };
  const leaseId = '01a2b3c4-0000-7000-8000-000000000001';
  const claims = [{ ...claim, skipped: 0, slices: [slice] }];
  return { kind: 'popped', queue: 'q', consumerGroup: 'g', leaseId, claims, terms: null };
}

const EMPTY: Outcome = {
  kind: 'popped',
  queue: 'q',
  consumerGroup: 'g',
  leaseId: '',
  claims: [],
  terms: null,
};

const kindsSent = () => sent.map(({ forwarded }) => forwarded.command.kind);
const reasons = ({ outcomes }: Told) =>
  outcomes.map((outcome) => (outcome.kind === 'refused' ? outcome.refusal.reason : outcome.kind));

function textOf({ forwarded: { command } }: Sent): string {
  return command.kind === 'push' ? new TextDecoder().decode(command.body) : command.kind;
}

test('held requests go by rank, then in the order they came', () => {
  ask(push('1'));
  ask(pop(1000));
  ask(push('2'));
  ask(ack);
  ask(pop());
  follow(2);
  expect(kindsSent()).toEqual(['ack', 'pop', 'pop', 'push', 'push']);
  expect(sent.map(({ forwarded: { command } }) => command.kind === 'pop' && command.wait)).toEqual([
    false,
    false,
    true,
    false,
    false,
  ]);
  expect(sent.slice(3).map(textOf)).toEqual(['"1"', '"2"']);
});

test('what comes back stands before what came later', () => {
  follow(2);
  const first = ask(push('1'));
  ask(push('2'));
  end(open(), 'unreachable');
  // It waits for its turn at the leader, and later ones wait behind it.
  ask(push('3'));
  expect(sent.map(textOf)).toEqual(['"1"', '"2"']);
  clock.move(20);
  expect(sent.map(textOf)).toEqual(['"1"', '"2"', '"1"', '"3"']);
  const [one, , again] = sent;
  expect(again?.forwarded.origin?.sequence).toBe(one?.forwarded.origin?.sequence);
  end(again as Sent, PUSHED);
  expect(reasons(first)).toEqual(['pushed']);
});

test('what comes back late stands before what came back first', () => {
  follow(2);
  ask(push('1'));
  ask(push('2'));
  end(sent[1] as Sent, 'unreachable');
  end(sent[0] as Sent, 'unreachable');
  clock.move(20);
  expect(sent.slice(2).map(textOf)).toEqual(['"1"', '"2"']);
});

test('a new leader is sent everything again under the same ids', () => {
  follow(2);
  ask(push('1'));
  ask(ack);
  const ids = sent.map(({ forwarded }) => forwarded.origin?.sequence);
  follow(3, 2);
  expect(sent.slice(0, 2).every(({ isCancelled }) => isCancelled)).toBe(true);
  expect(sent.slice(2).map(({ to, forwarded }) => [to, forwarded.term])).toEqual([
    [3, 2],
    [3, 2],
  ]);
  expect(kindsSent().slice(2)).toEqual(['ack', 'push']);
  expect(sent.slice(2).map(({ forwarded }) => forwarded.origin?.sequence)).toEqual(
    [...ids].reverse(),
  );
});

test('calls are left alone while no leader is known: the last one may still answer', () => {
  follow(2);
  const told = ask(push());
  remoteLeader = null;
  requests.follow();
  expect(open().isCancelled).toBe(false);
  const held = ask(push());
  follow(2);
  expect(sent.length).toBe(2);
  end(open(), PUSHED);
  end(open(), PUSHED);
  expect([told, held].map(reasons)).toEqual([['pushed'], ['pushed']]);
});

test('pushes leave room for what drains, and what finds none goes when there is some', () => {
  follow(2);
  for (const text of ['1', '2', '3', '4', '5']) ask(push(text));
  expect(sent.map(textOf)).toEqual(['"1"', '"2"', '"3"']);
  ask(ack);
  expect(kindsSent()).toEqual(['push', 'push', 'push', 'ack']);
  ask(ack);
  ask(pop(1000));
  expect(kindsSent().slice(4)).toEqual(['pop']);
  end(sent[0] as Sent, PUSHED);
  expect(kindsSent().slice(5)).toEqual(['ack']);
  end(sent[3] as Sent, ACKED);
  end(sent[5] as Sent, ACKED);
  expect(sent.slice(6).map(textOf)).toEqual(['"4"']);
});

test('one push of any size goes, and others wait while its bytes are under way', () => {
  follow(2);
  const body = new Uint8Array(80 * 1024 * 1024).fill(32);
  ask({ ...pushOf('q', 'x', null), body });
  ask(push('2'));
  expect(sent.length).toBe(1);
  end(open(), PUSHED);
  expect(sent.slice(1).map(textOf)).toEqual(['"2"']);
});

test('a node that refuses is not asked in a hot loop', () => {
  follow(2);
  const told = ask(push());
  const retry: Outcome = { kind: 'refused', refusal: { reason: 'retry', error: 'no' } };
  for (let i = 0; i < 1000; i++) {
    for (const one of sent.filter(({ isCancelled }) => !isCancelled)) end(one, retry);
    clock.move(1);
  }
  expect(sent.length).toBeGreaterThan(5);
  expect(sent.length).toBeLessThan(20);
  expect(told.outcomes).toEqual([]);
  clock.move(200);
  end(open(), PUSHED);
  expect(reasons(told)).toEqual(['pushed']);
});

test('settled numbers are told, open ones are not', () => {
  follow(2);
  ask(pop(4000));
  ask(push());
  end(sent[1] as Sent, PUSHED);
  ask(ack);
  expect(sent[2]?.forwarded.origin).toMatchObject({ sequence: 3, settledBelow: 1, settled: [2] });
  end(sent[0] as Sent, EMPTY);
  end(sent[2] as Sent, ACKED);
  ask(ack);
  expect(sent[3]?.forwarded.origin).toMatchObject({ sequence: 4, settledBelow: 4, settled: [] });
});

test('a deadline that passes while nobody leads, or at a leader that is silent', () => {
  const held = ask(push(), 1000);
  clock.move(1300);
  expect(reasons(held)).toEqual(['no_leader']);
  follow(2);
  const sentOnce = ask(push(), 1000);
  const drained = ask(ack, 1000);
  clock.move(1300);
  expect([sentOnce, drained].map(reasons)).toEqual([['timeout'], ['timeout']]);
  const moved = ask(push(), 1000);
  follow(3, 2);
  clock.move(1300);
  expect(reasons(moved)).toEqual(['outcome_unknown']);
  expect(sent.every(({ isCancelled }) => isCancelled)).toBe(true);
  expect(requests.idle).toBe(true);
});

test('what this node proposed waits until its entry or another stands there', () => {
  const leader = new RememberingLeader();
  requests.lead(leader);
  const [mine, theirs, queued] = [ask(push('1')), ask(push('2')), ask(push('3'))];
  const answersOf = ({ request }: Told) => [{ ticket: request, outcome: PUSHED }];
  requests.endLeadership([
    { index: 5, term: 1, answers: answersOf(mine) },
    { index: 6, term: 1, answers: answersOf(theirs) },
  ]);
  follow(2, 2);
  expect(sent.map(textOf)).toEqual(['"3"']);
  requests.applied(4, 1);
  expect(mine.outcomes).toEqual([]);
  requests.applied(5, 1);
  expect(reasons(mine)).toEqual(['pushed']);
  requests.applied(6, 2);
  expect(theirs.outcomes).toEqual([]);
  expect(sent.map(textOf)).toEqual(['"3"', '"2"']);
  end(sent[1] as Sent, PUSHED);
  end(sent[0] as Sent, PUSHED);
  expect([theirs, queued].map(reasons)).toEqual([['pushed'], ['pushed']]);
});

test('an entry of a later term before it settles the doubt; an index not told of does not', () => {
  requests.lead(new RememberingLeader());
  const [first, second] = [ask(push('1')), ask(push('2'))];
  requests.endLeadership([
    { index: 5, term: 1, answers: [{ ticket: first.request, outcome: PUSHED }] },
    { index: 6, term: 1, answers: [{ ticket: second.request, outcome: PUSHED }] },
  ]);
  follow(2, 2);
  requests.applied(5, 2);
  expect(sent.map(textOf)).toEqual(['"1"', '"2"']);
  const skipped = ask(push('3'));
  requests.lead(new RememberingLeader());
  requests.endLeadership([]);
  requests.lead(new RememberingLeader());
  const third = ask(push('4'));
  requests.endLeadership([
    { index: 8, term: 3, answers: [{ ticket: third.request, outcome: PUSHED }] },
  ]);
  requests.applied(9, 3);
  expect(reasons(third)).toEqual(['outcome_unknown']);
  expect(skipped.outcomes).toEqual([]);
});

test('what stays in doubt until its deadline is told so', () => {
  requests.lead(new RememberingLeader());
  const told = ask(push(), 1000);
  const { request } = told;
  const answers = [{ ticket: request, outcome: PUSHED }];
  requests.endLeadership([{ index: 5, term: 1, answers }]);
  clock.move(1300);
  expect(reasons(told)).toEqual(['outcome_unknown']);
  requests.applied(5, 1);
  expect(told.outcomes.length).toBe(1);
  expect(requests.idle).toBe(true);
});

test('what was sent elsewhere is planned here under its id when this node leads', () => {
  follow(2);
  ask(push('1'));
  ask(ack);
  const id = sent[0]?.forwarded.origin?.sequence;
  const leader = new RememberingLeader();
  requests.lead(leader);
  expect(leader.submitted.map(({ command }) => command.kind)).toEqual(['ack', 'push']);
  expect(leader.submitted[1]?.origin?.sequence).toBe(id);
  // With an id it need not wait for its entry: the next leader knows it.
  remoteLeader = { node: 3, term: 3 };
  const answers = [{ ticket: leader.submitted[1] as Request, outcome: PUSHED }];
  requests.endLeadership([{ index: 5, term: 2, answers }]);
  expect(sent.slice(2).map(textOf)).toEqual(['ack', '"1"']);
  expect(sent[3]?.forwarded.origin?.sequence).toBe(id);
});

const several: Command = { kind: 'delete-queue', tenant: TENANT, queue: 'q' };

test('what takes several turns is known by an id from its first leader on', () => {
  const leader = new RememberingLeader();
  requests.lead(leader);
  const told = ask(several);
  for (const command of [ack, push(), pop()]) ask(command);
  const [id, ...others] = leader.submitted.map(({ origin }) => origin?.sequence ?? 0);
  expect([id, ...others]).toEqual([1, 0, 0, 0]);
  // An entry that answers it may be in flight: the next leader is asked all the same.
  const answers = [{ ticket: told.request, outcome: DELETED }];
  remoteLeader = { node: 3, term: 3 };
  requests.endLeadership([{ index: 5, term: 2, answers }]);
  const again = sent.find(({ forwarded }) => forwarded.command.kind === several.kind);
  expect(again?.forwarded.origin?.sequence).toBe(id);
  end(again as Sent, DELETED);
  expect(reasons(told)).toEqual(['deleted']);
  // It is settled: nobody keeps what became of it.
  ask(several);
  expect(sent[sent.length - 1]?.forwarded.origin).toMatchObject({ settled: [] });
  expect(sent[sent.length - 1]?.forwarded.origin?.settledBelow).toBeGreaterThan(id as number);
});

test('what takes several turns and finds no leader again may have been done', () => {
  requests.lead(new RememberingLeader());
  const told = ask(several, 1000);
  requests.endLeadership([]);
  clock.move(1300);
  expect(reasons(told)).toEqual(['outcome_unknown']);
});

test('what takes several turns is not begun again for a client that was answered', () => {
  requests.lead(new RememberingLeader());
  const told = ask(several, 1000);
  clock.move(1300);
  expect(reasons(told)).toEqual(['timeout']);
  requests.endLeadership([]);
  const next = new RememberingLeader();
  requests.lead(next);
  expect([next.submitted, requests.idle]).toEqual([[], true]);
});

test('a node alone gives no ids', () => {
  requests = newRequests(null);
  const leader = new RememberingLeader();
  requests.lead(leader);
  ask(several);
  expect(leader.submitted.map(({ origin }) => origin)).toEqual([null]);
});

test('a pop whose client goes asks for what it claimed, and that comes late', () => {
  follow(2);
  const told = ask(pop(4000), 4000);
  requests.abandon(told.request);
  expect(sent.map(({ isCancelled }) => isCancelled)).toEqual([true, false]);
  const again = open().forwarded;
  expect(again.command).toMatchObject({ kind: 'pop', deadlineMs: Number.NEGATIVE_INFINITY });
  expect(again.origin?.sequence).toBe(sent[0]?.forwarded.origin?.sequence);
  end(open(), 'unreachable');
  clock.move(20);
  end(open(), popped(9));
  expect(told.outcomes).toEqual([]);
  expect(told.late).toMatchObject([{ kind: 'popped' }]);
  expect(requests.idle).toBe(true);
});

test('a pop whose client goes before it was sent claims nothing, and is not asked after', () => {
  const told = ask(pop(4000), 4000);
  requests.abandon(told.request);
  follow(2);
  expect(sent).toEqual([]);
  expect([...told.outcomes, ...told.late]).toEqual([]);
});

test('a pop that ran out of time is answered, asked after, and at last forgotten', () => {
  follow(2);
  const told = ask(pop(1000), 1000);
  clock.move(3500);
  expect(reasons(told)).toEqual(['timeout']);
  expect(open().forwarded.command).toMatchObject({ deadlineMs: Number.NEGATIVE_INFINITY });
  end(open(), 'timeout');
  clock.move(61_000);
  expect(requests.idle).toBe(true);
  expect(sent.every(({ isCancelled }) => isCancelled)).toBe(true);
});

test('what was written is answered when it is applied here; what was acked, at once', () => {
  follow(2);
  const pushed = ask(push());
  end(open(), PUSHED, 7);
  const acked = ask(ack);
  end(open(), ACKED, 8);
  expect([reasons(pushed), reasons(acked)]).toEqual([[], ['acked']]);
  requests.applied(6, 1);
  expect(reasons(pushed)).toEqual([]);
  requests.applied(7, 1);
  expect(reasons(pushed)).toEqual(['pushed']);
});

test('what was written is told at the deadline, and when the node stops, in any case', () => {
  follow(2);
  const late = ask(push(), 1000);
  end(open(), PUSHED, 7);
  clock.move(2000);
  expect(reasons(late)).toEqual(['pushed']);
  const stopped = ask(push());
  end(open(), PUSHED, 7);
  requests.stop();
  expect(reasons(stopped)).toEqual(['pushed']);
});

test('messages are read when their entry is applied here, in time or not at all', () => {
  follow(2);
  applied = 5;
  const [here, soon, never] = [ask(pop()), ask(pop()), ask(pop())];
  end(sent[0] as Sent, popped(5));
  end(sent[1] as Sent, popped(7));
  end(sent[2] as Sent, popped(8));
  expect(reasons(here)).toEqual(['popped']);
  expect(soon.outcomes).toEqual([]);
  requests.applied(7, 1);
  expect(reasons(soon)).toEqual(['popped']);
  clock.move(5300);
  expect(never.outcomes).toMatchObject([
    { refusal: { reason: 'retry', error: 'not the leader; retry against 2', leader: 2 } },
  ]);
  expect(never.late).toMatchObject([{ kind: 'popped' }]);
});

test('drained, no pop waits any more, wherever it is', () => {
  const held = ask(pop(4000));
  follow(2);
  remoteLeader = null;
  const sentOff = held;
  requests.drain();
  expect(open().forwarded.command).toMatchObject({ deadlineMs: Number.NEGATIVE_INFINITY });
  end(open(), EMPTY);
  expect(reasons(sentOff)).toEqual(['popped']);
  const late = ask(pop(4000));
  expect(open().forwarded.command).toMatchObject({ wait: false });
  end(open(), EMPTY);
  expect(reasons(late)).toEqual(['popped']);
});

test('drained, what waits for a leader does not wait for long', () => {
  const [held, before] = [ask(push(), 30_000), ask(pop(20_000), 20_000)];
  requests.drain();
  expect(reasons(before)).toEqual(['popped']);
  clock.move(3000);
  expect(held.outcomes).toEqual([]);
  clock.move(1500);
  expect(reasons(held)).toEqual(['no_leader']);
  expect(requests.idle).toBe(true);
});

test('who is no member does not hold what nobody will come for', () => {
  isMember = false;
  expect(reasons(ask(push()))).toEqual(['no_leader']);
  isMember = true;
  const held = ask(push());
  expect(held.outcomes).toEqual([]);
  isMember = false;
  clock.move(300);
  expect(reasons(held)).toEqual(['no_leader']);
});

test('the number of held requests is bounded', () => {
  const answers = Array.from({ length: 65_536 }, () => ask(push()));
  expect(answers.flatMap(({ outcomes }) => outcomes)).toEqual([]);
  expect(reasons(ask(push()))).toEqual(['no_leader']);
  // A claim that is given back is owed.
  const owed: Outcome[] = [];
  requests.submit(ack, clock.nowMs() + 5000, (outcome) => owed.push(outcome), null, true);
  expect(owed).toEqual([]);
  clock.move(5300);
  expect(reasons(ask(push()))).toEqual([]);
});

test('stopped, it answers everything and leaves nothing behind', () => {
  follow(2);
  const forwarded = ask(push());
  const pending = ask(pop(4000));
  remoteLeader = null;
  requests.lead(new RememberingLeader());
  requests.endLeadership([]);
  const late = ask(ack);
  requests.stop();
  expect([forwarded, pending, late].map(reasons)).toEqual([
    ['outcome_unknown'],
    ['no_leader'],
    ['no_leader'],
  ]);
  expect(sent.every(({ isCancelled }) => isCancelled)).toBe(true);
  expect(clock.pending).toBe(0);
  expect(reasons(ask(push()))).toEqual(['no_leader']);
});

test.each([
  [4 * 1024 * 1024, ['outcome_unknown'], 2],
  [1000, [], 3],
])('a push of %d bytes that two leaders did not finish', (bytes, ends, leaders) => {
  const told = ask(push('x'.repeat(bytes)));
  for (const node of [2, 3, 4]) follow(node, node);
  expect(reasons(told)).toEqual(ends);
  expect(sent.length).toBe(leaders);
});
