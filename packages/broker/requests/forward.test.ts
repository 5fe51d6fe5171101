// Goal: any node takes any request, whoever leads; what it accepted is done once and answered,
// whatever happens to leaders and connections; claims that reach nobody come back. Method: whole
// nodes over one network that the test cuts, one clock that it moves. Messages carry no transaction
// id, so a request that is done twice is stored twice.
import type { RefusedOutcome } from '@svc/engine';
import type { DeliveredOutcome } from '@svc/http';
import { expect, test } from 'vitest';
import { ELECTION_MS, FakeGroup, type FakeMachine } from '../testing/group.fake.js';
import { type Answers, textsOf } from '../testing/group-clients.fake.js';

function newGroup(seed = 1, environment: Readonly<Record<string, string>> = {}) {
  const group = new FakeGroup({ founders: 3, seed, environment });
  const leader = group.leader();
  wait(group, leader.send('q', 'first'));
  group.converge();
  const followers = [...group.machines.values()].filter((machine) => machine !== leader);
  const [follower, third] = followers;
  if (follower === undefined || third === undefined) throw new Error('no followers');
  return { group, leader, follower, third };
}

function wait<Answer>(
  group: FakeGroup,
  answers: Pick<Answers<Answer>, 'all' | 'one'>,
  msMax = 20_000,
): Answer {
  group.until('an answer', () => answers.all.length > 0, msMax);
  return answers.one;
}

type Popped = Answers<DeliveredOutcome | RefusedOutcome>;

function delivered(group: FakeGroup, answers: Popped, msMax = 20_000): DeliveredOutcome {
  const outcome = wait(group, answers, msMax);
  if (outcome.kind === 'refused') throw new Error(outcome.refusal.error);
  return outcome;
}

/** Everything in the queue, as a pop of the leader and its acks say, in order. */
function drain(group: FakeGroup): string[] {
  const texts: string[] = [];
  for (;;) {
    const popped = delivered(group, group.leader().pop('q', 0, undefined, 100));
    if (popped.claims.length === 0) return texts;
    texts.push(...textsOf(popped));
    wait(group, group.leader().ack(popped));
  }
}

/** A leader that is not `old` and that all but `old` follow. */
function newLeader(group: FakeGroup, old: FakeMachine): FakeMachine {
  group.until('another leader', () => group.leaders.some((machine) => machine !== old));
  const [leader] = group.leaders.filter((machine) => machine !== old);
  return leader as FakeMachine;
}

test('what a client has written through a node, it finds there by position', () => {
  for (let seed = 1; seed <= 5; seed++) {
    const { group, follower, third } = newGroup(seed);
    for (let i = 1; i <= 20; i++) {
      const through = i % 2 === 0 ? follower : third;
      const beganMs = group.nowMs;
      expect(wait(group, through.send('q', `${i}`))).toMatchObject({ kind: 'pushed' });
      expect(group.nowMs - beganMs).toBeLessThan(20);
      expect(through.fetch('q').one).toMatchObject({ entries: [{ highWatermark: i + 1 }] });
    }
  }
});

test('a follower takes what the leader takes, and answers the same', () => {
  const { group, follower, third } = newGroup();
  expect(wait(group, follower.send('q', 'second'))).toMatchObject({ kind: 'pushed' });
  const popped = delivered(group, third.pop('q'));
  expect(textsOf(popped)).toEqual(['first']);
  const acked = wait(group, follower.ack(popped));
  expect(acked).toMatchObject({ kind: 'acked', items: [{ success: true }] });
  expect(textsOf(delivered(group, follower.pop('q')))).toEqual(['second']);
  expect(wait(group, follower.deleteQueue('q'))).toEqual({ kind: 'deleted', existed: true });
  expect(wait(group, follower.deleteQueue('q'))).toEqual({ kind: 'deleted', existed: false });
});

test('a follower adds one round trip to a push', () => {
  const { group, leader, follower } = newGroup();
  const timeOf = (machine: FakeMachine) => {
    const beganMs = group.nowMs;
    wait(group, machine.send('q', 'x'));
    return group.nowMs - beganMs;
  };
  const own = Array.from({ length: 50 }, () => timeOf(leader)).sort((a, b) => a - b);
  const forwarded = Array.from({ length: 50 }, () => timeOf(follower)).sort((a, b) => a - b);
  // The network takes 0.5 to 1 ms each way.
  expect((forwarded[25] ?? 0) - (own[25] ?? 0)).toBeLessThan(2);
});

test('a long poll on a follower is served by a push elsewhere', () => {
  const { group, follower, third } = newGroup();
  const poll = follower.pop('other', 10_000);
  group.run(2500);
  expect(poll.all).toEqual([]);
  wait(group, third.send('other', 'x'));
  expect(textsOf(delivered(group, poll))).toEqual(['x']);
});

test('an empty long poll ends in its time on a follower too', () => {
  const { group, follower } = newGroup();
  const beganMs = group.nowMs;
  const popped = delivered(group, follower.pop('empty', 3000));
  expect(popped.claims).toEqual([]);
  expect(group.nowMs - beganMs).toBeGreaterThan(2000);
  expect(group.nowMs - beganMs).toBeLessThan(3000);
});

test('what is asked while nobody leads is held, and done when somebody does', () => {
  const { group, leader, follower } = newGroup();
  leader.crash();
  const answers = ['a', 'b', 'c'].map((text) => follower.send('q', text));
  const poll = follower.pop('empty', 20_000);
  group.run(ELECTION_MS / 2);
  expect(answers.flatMap(({ all }) => all)).toEqual([]);
  newLeader(group, leader);
  for (const each of answers) expect(wait(group, each)).toMatchObject({ kind: 'pushed' });
  wait(group, follower.send('empty', 'd'));
  expect(textsOf(delivered(group, poll))).toEqual(['d']);
  expect(drain(group).sort()).toEqual(['a', 'b', 'c', 'first']);
});

test('a leader that dies between commit and answer: its outcome is found, not repeated', () => {
  const { group, leader, follower } = newGroup();
  group.lost = (from, _to, channel) => from === leader.number && channel === 'answers';
  const push = follower.send('q', 'second');
  const pop = follower.pop('q');
  group.run(20);
  expect([...push.all, ...pop.all]).toEqual([]);
  expect(follower.status.commit).toBe(leader.status.commit);
  const committed = leader.status.lastIndex;
  leader.crash();
  newLeader(group, leader);
  group.heal();
  expect(wait(group, push)).toMatchObject({ kind: 'pushed', status: Uint8Array.of(0) });
  expect(textsOf(delivered(group, pop))).toEqual(['first']);
  expect(follower.status.lastIndex).toBeLessThan(committed + 4);
  wait(group, group.leader().ack(delivered(group, pop)));
  expect(drain(group)).toEqual(['second']);
});

test('a leader that dies before the commit: the request goes to the next one', () => {
  const { group, leader, follower } = newGroup();
  group.lost = (from, _to, channel) => from === leader.number && channel !== 'control';
  const push = follower.send('q', 'second');
  group.run(10);
  expect(leader.status.lastIndex).toBeGreaterThan(follower.status.lastIndex);
  leader.crash();
  newLeader(group, leader);
  group.heal();
  expect(wait(group, push)).toMatchObject({ kind: 'pushed' });
  expect(drain(group)).toEqual(['first', 'second']);
});

test('calls and answers that are lost without a word are repeated, and done once', () => {
  const { group, follower } = newGroup(7);
  group.lost = (_from, _to, channel) =>
    (channel === 'calls' || channel === 'answers') && group.random() < 0.3;
  const texts = Array.from({ length: 40 }, (_, i) => `t${i}`);
  const answers = texts.map((text) => follower.send('q', text));
  for (const each of answers) expect(wait(group, each)).toMatchObject({ kind: 'pushed' });
  group.heal();
  expect(drain(group).sort()).toEqual(['first', ...texts].sort());
});

test('a parked pop is parked again at the next leader with the time it has left', () => {
  const { group, leader, follower, third } = newGroup();
  const beganMs = group.nowMs;
  const polls = [leader, follower, third].map((machine) => machine.pop('empty', 5000));
  group.run(2000);
  leader.transfer(follower.node?.member ?? leader.status.id);
  newLeader(group, leader);
  wait(group, third.send('empty', 'x'));
  const served = () => polls.filter(({ all }) => all.length > 0);
  group.until('a delivery', () => served().length > 0);
  const [first] = served();
  wait(group, third.ack(delivered(group, first as Popped)));
  for (const poll of polls) delivered(group, poll);
  expect(polls.flatMap((poll) => textsOf(delivered(group, poll)))).toEqual(['x']);
  expect(group.nowMs - beganMs).toBeGreaterThan(4000);
  expect(group.nowMs - beganMs).toBeLessThan(5000);
});

test('a pop whose client goes is withdrawn where it is parked', () => {
  const { group, leader, follower, third } = newGroup();
  const poll = follower.pop('empty', 20_000);
  group.run(50);
  poll.leave();
  group.run(50);
  const other = third.pop('empty', 20_000);
  group.run(50);
  wait(group, leader.send('empty', 'x'));
  const popped = delivered(group, other);
  expect(textsOf(popped)).toEqual(['x']);
  expect(popped.claims[0]?.deliveryAttempt).toBe(1);
  expect(poll.all).toEqual([]);
});

test.each([0, 0.6, 1.2, 2])(
  'a claim that meets nobody is given back (client gone after %d ms)',
  (ms) => {
    const { group, follower, third } = newGroup();
    const pop = follower.pop('q');
    group.run(ms);
    pop.leave();
    group.run(20);
    const again = delivered(group, third.pop('q', 1000));
    expect(textsOf(again)).toEqual(['first']);
    expect(again.claims[0]?.deliveryAttempt).toBe(1);
  },
);

test('a claim whose client goes while its leader dies is given back at the next one', () => {
  const { group, leader, follower, third } = newGroup();
  group.lost = (from, _to, channel) => from === leader.number && channel === 'answers';
  const pop = follower.pop('q');
  group.run(20);
  pop.leave();
  leader.crash();
  newLeader(group, leader);
  group.heal();
  group.run(500);
  const again = delivered(group, third.pop('q', 1000));
  expect(textsOf(again)).toEqual(['first']);
  expect(again.claims[0]?.deliveryAttempt).toBe(1);
});

test('a follower that lags gives a claim back that it cannot read in time', () => {
  const { group, leader, follower, third } = newGroup();
  group.lost = (_from, to, channel) => to === follower.number && channel === 'consensus';
  wait(group, leader.ack(delivered(group, leader.pop('q'))));
  wait(group, third.send('q', 'second'));
  const pop = follower.pop('q', 2000);
  const outcome = wait(group, pop);
  expect(outcome).toEqual({
    kind: 'refused',
    refusal: {
      reason: 'retry',
      error: `not the leader; retry against ${leader.number}`,
      leader: leader.number,
    },
  });
  // The lease is over by now: whoever comes before the claim is given back counts a second attempt.
  group.run(20);
  const again = delivered(group, third.pop('q', 1000));
  expect(textsOf(again)).toEqual(['second']);
  expect(again.claims[0]?.deliveryAttempt).toBe(1);
});

test('a follower that lags a little waits for its own log', () => {
  const { group, leader, follower } = newGroup();
  wait(group, leader.ack(delivered(group, leader.pop('q'))));
  group.lost = (_from, to, channel) => to === follower.number && channel === 'consensus';
  wait(group, leader.send('q', 'second'));
  const pop = follower.pop('q', 2000);
  group.run(20);
  expect(pop.all).toEqual([]);
  group.heal();
  expect(textsOf(delivered(group, pop))).toEqual(['second']);
});

test('while leadership is handed over nothing is refused', () => {
  const { group, leader, follower, third } = newGroup();
  const answers: Pick<Answers<unknown>, 'all' | 'one'>[] = [];
  const texts: string[] = [];
  leader.transfer(third.node?.member ?? leader.status.id);
  for (let i = 0; i < 30; i++) {
    for (const machine of [leader, follower, third]) {
      texts.push(`${i} ${machine.number}`);
      answers.push(machine.send('q', `${i} ${machine.number}`));
    }
    group.run(0.5);
  }
  expect(newLeader(group, leader)).toBe(third);
  for (const each of answers) expect(wait(group, each)).toMatchObject({ kind: 'pushed' });
  expect(drain(group).sort()).toEqual(['first', ...texts].sort());
});

test('what one client was answered stands before what it asked next, on every node', () => {
  const { group, leader } = newGroup(3);
  const machines = [...group.machines.values()];
  for (let i = 0; i < 60; i++) {
    if (i === 20) leader.transfer(machines[1]?.node?.member as never);
    if (i === 40) group.leader().restart('process');
    const machine = machines.filter(({ node }) => node !== null)[i % 3] as FakeMachine;
    expect(wait(group, machine.send('q', `${i}`))).toMatchObject({ kind: 'pushed' });
  }
  const texts = Array.from({ length: 60 }, (_, i) => `${i}`);
  expect(drain(group)).toEqual(['first', ...texts]);
});

test('linearizable reads are held through an election', () => {
  const { group, leader, follower } = newGroup();
  leader.crash();
  const read = follower.queues();
  group.run(ELECTION_MS / 2);
  expect(read.all).toEqual([]);
  expect(wait(group, read)).toMatchObject({ kind: 'queue-list', queues: [{ queue: 'q' }] });
});

test.each(['leader', 'follower'])(
  'a %s that is stopped fails no request, its own or others',
  async (what) => {
    const { group, leader, follower, third } = newGroup();
    const stopping = what === 'leader' ? leader : follower;
    const staying = what === 'leader' ? [follower, third] : [leader, third];
    const answers: Pick<Answers<unknown>, 'all' | 'one'>[] = [];
    const texts: string[] = [];
    const answeredMs: number[] = [];
    let pushing = true;
    let isStopping = false;
    const push = (machine: FakeMachine) => {
      const text = `m${texts.length}`;
      texts.push(text);
      const answer = machine.send('q', text);
      answers.push(answer);
      answer.onAnswer = () => answeredMs.push(group.nowMs);
      group.after(5, () => {
        // Its listener closes first; what it has taken by then it answers.
        if (pushing) push(isStopping && machine === stopping ? third : machine);
      });
    };
    for (const machine of [stopping, ...staying]) push(machine);
    const own = stopping.pop('none', 20_000);
    const others = staying.map((machine) => machine.pop('none', 20_000));
    group.run(100);
    const doomed = stopping.node;
    isStopping = true;
    await stopping.stop();
    expect(doomed?.idle).toBe(true);
    group.run(100);
    pushing = false;
    for (const each of answers) expect(wait(group, each)).toMatchObject({ kind: 'pushed' });
    const gaps = answeredMs.map((ms, i) => ms - (answeredMs[i - 1] ?? ms));
    expect(Math.max(...gaps)).toBeLessThan(ELECTION_MS / 2);
    expect(delivered(group, own).claims).toEqual([]);
    expect(others.flatMap(({ all }) => all)).toEqual([]);
    wait(group, third.send('none', 'x'));
    group.until('a delivery', () => others.some(({ all }) => all.length > 0));
    expect(drain(group).sort()).toEqual(['first', ...texts].sort());
  },
);
