// Goal: a push of more than a slice, through whole nodes: each message is stored once and the
// answer is that of one call, although leaders change between its slices; a client that goes, a
// node that stops and a deadline end it between two. Method: a group over a network that the test
// cuts, and what a node's log and its answers show.
import type { PushCommand } from '@svc/engine';
import { expect, test } from 'vitest';
import { FakeGroup, type FakeMachine } from '../testing/group.fake.js';
import { type Answers, pushOf } from '../testing/group-clients.fake.js';

/** Three slices of new partitions. */
const PARTITIONS = 400;
const NAMES = Array.from({ length: PARTITIONS }, (_, i) => `p${i}`);

function widePush(names: readonly string[] = NAMES): PushCommand {
  const one = pushOf('q', 'x', null);
  const end = one.body.length;
  return {
    ...one,
    groups: names.map((partition) => ({ queue: 'q', partition })),
    itemGroup: names.map((_, i) => i),
    transactionIds: names.map(() => null),
    payloadStart: names.map(() => 0),
    payloadEnd: names.map(() => end),
  };
}

function wait<Answer>(group: FakeGroup, answers: Answers<Answer>): Answer {
  group.until('an answer', () => answers.all.length > 0);
  return answers.one;
}

function newGroup(seed: number) {
  const group = new FakeGroup({ founders: 3, seed });
  const leader = group.leader();
  const others = [...group.machines.values()].filter((machine) => machine !== leader);
  const [follower, third] = others as [FakeMachine, FakeMachine];
  return { group, leader, follower, third };
}

function expectOnce(group: FakeGroup, machine: FakeMachine): void {
  group.converge();
  const each = { partitions: PARTITIONS, messages: PARTITIONS };
  expect(queueOf(group, machine)).toMatchObject(each);
}

function queueOf(group: FakeGroup, machine: FakeMachine) {
  const found = wait(group, machine.queues());
  if (found.kind !== 'queue-list') throw new Error(found.kind);
  const [queue] = found.queues;
  return { partitions: queue?.partitions ?? 0, messages: queue?.counts.total ?? 0 };
}

test.each(['leader', 'follower'] as const)('asked of the %s, it is answered as one', (role) => {
  const all = newGroup(1);
  const before = all.leader.status.lastIndex;
  const outcome = wait(all.group, all[role].submit(widePush()));
  expect(outcome).toMatchObject({ kind: 'pushed', status: new Uint8Array(PARTITIONS) });
  expect(all.leader.status.lastIndex - before).toBeGreaterThanOrEqual(3);
  expectOnce(all.group, all.third);
});

test.each(['leader', 'follower'] as const)('asked of the %s, the leader hands over', (role) => {
  const { group, leader, follower, third } = newGroup(2);
  const before = leader.status.lastIndex;
  const answers = (role === 'leader' ? leader : follower).submit(widePush());
  group.until('its second entry', () => leader.status.lastIndex >= before + 2);
  leader.transfer(third.node?.member ?? leader.status.id);
  group.until('another leader', () => third.leads && !leader.leads);
  expect(answers.all).toEqual([]);
  expect(wait(group, answers)).toMatchObject({ status: new Uint8Array(PARTITIONS) });
  expectOnce(group, third);
});

test('the leader is cut off in the middle', () => {
  const { group, leader, follower, third } = newGroup(3);
  const before = leader.status.lastIndex;
  const answers = leader.submit(widePush());
  group.until('its second entry', () => leader.status.lastIndex >= before + 2);
  group.isolate(leader.number);
  group.until('another leader', () => follower.leads || third.leads);
  group.heal();
  expect(wait(group, answers)).toMatchObject({ status: new Uint8Array(PARTITIONS) });
  expectOnce(group, third);
});

test('a client that has gone gets no more of it done', () => {
  const { group, leader } = newGroup(4);
  const before = leader.status.lastIndex;
  const answers = leader.submit(widePush());
  group.until('its second entry', () => leader.status.lastIndex >= before + 2);
  answers.leave();
  group.until('the end', () => answers.all.length > 0);
  group.converge();
  const { partitions } = queueOf(group, leader);
  expect(partitions).toBeGreaterThan(0);
  expect(partitions).toBeLessThan(PARTITIONS);
});

test('a slice that meets its deadline ends it, 503', () => {
  const { group, leader } = newGroup(5);
  const before = leader.status.lastIndex;
  const answers = leader.submit(widePush());
  group.until('its second entry', () => leader.status.lastIndex >= before + 2);
  group.lost = () => true;
  group.until('an answer', () => answers.all.length > 0, 60_000);
  expect(answers.one).toMatchObject({ kind: 'refused' });
});
