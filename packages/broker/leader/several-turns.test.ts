// Goal: what takes several turns, asked of the leader's own node, is begun once and answered
// truly although that leadership ends in the middle: a drop counts all that it removed, a deletion
// says that the queue was there and leaves alone what was made under its name since. Method: whole
// nodes over one network that the test cuts, leaders that change between two turns of the command.
import type { AckItem } from '@svc/engine';
import { expect, test } from 'vitest';
import { FakeGroup, type FakeMachine } from '../testing/group.fake.js';
import { type Answers, pushOf, TENANT } from '../testing/group-clients.fake.js';

/** 500 of them in a turn of a drop; some 1,000 rows of them in a turn of a deletion. */
const LETTERS = 3000;
const IDS = Array.from({ length: LETTERS }, (_, i) => `t${i}`);

function wait<Answer>(group: FakeGroup, answers: Answers<Answer>): Answer {
  group.until('an answer', () => answers.all.length > 0);
  return answers.one;
}

/** A queue whose messages have all died, and fewer entries in flight than its end takes. */
function newGroup(seed: number) {
  const environment = { SVC_RAFT_PIPELINE: '2' };
  const group = new FakeGroup({ founders: 3, seed, environment });
  const leader = group.leader();
  const one = pushOf('q', 'x', null);
  const end = one.body.length;
  const push = {
    ...one,
    itemGroup: IDS.map(() => 0),
    transactionIds: IDS,
    payloadStart: IDS.map(() => 0),
    payloadEnd: IDS.map(() => end),
  };
  wait(group, leader.submit(push));
  const popped = wait(group, leader.pop('q', 0, undefined, LETTERS));
  if (popped.kind === 'refused') throw new Error(popped.refusal.error);
  const partitionId = `${popped.claims[0]?.partitionNumber}`;
  const { leaseId } = popped;
  const items = IDS.map((transactionId): AckItem => {
    return { transactionId, partitionId, leaseId, status: 'dlq', error: null };
  });
  wait(group, leader.submit({ kind: 'ack', tenant: TENANT, consumerGroup: 'g', items }));
  group.converge();
  const others = [...group.machines.values()].filter((machine) => machine !== leader);
  const [follower, third] = others as [FakeMachine, FakeMachine];
  return { group, leader, follower, third };
}

const DROP = {
  kind: 'drop-dead-letters',
  tenant: TENANT,
  target: { kind: 'queue', queue: 'q', group: null },
} as const;
const DELETE = { kind: 'delete-queue', tenant: TENANT, queue: 'q' } as const;

test.each([
  [DROP, { kind: 'dead-letters-dropped', deleted: LETTERS, isDone: true }],
  [DELETE, { kind: 'deleted', existed: true }],
])('$kind is finished by the leader that is handed the term', (command, outcome) => {
  const { group, leader, follower } = newGroup(1);
  const before = leader.status.lastIndex;
  const answers = leader.submit(command);
  group.until('its second entry', () => leader.status.lastIndex >= before + 2);
  leader.transfer(follower.node?.member ?? leader.status.id);
  group.until('another leader', () => follower.leads && !leader.leads);
  expect(answers.all).toEqual([]);
  expect(wait(group, answers)).toEqual(outcome);
  group.converge();
});

test('a drop is counted on when its first leader was cut off, and came back', () => {
  const { group, leader, follower, third } = newGroup(2);
  const before = follower.status.lastIndex;
  const answers = leader.submit(DROP);
  group.until('its second entry', () => follower.status.lastIndex >= before + 2);
  group.isolate(leader.number);
  group.until('another leader', () => follower.leads || third.leads);
  group.heal();
  expect(answers.all).toEqual([]);
  const outcome = { kind: 'dead-letters-dropped', deleted: LETTERS, isDone: true };
  expect(wait(group, answers)).toEqual(outcome);
  group.converge();
});

test('a deletion asked after at the next leader leaves the queue that was made since', () => {
  const { group, leader, follower, third } = newGroup(3);
  // Its entries go out, and nothing says that they came: the pipeline fills and stands.
  group.lost = (_from, to, channel) => to === leader.number && channel === 'consensus';
  const before = follower.status.lastIndex;
  const answers = leader.deleteQueue('q');
  group.until('its second entry', () => follower.status.lastIndex >= before + 2);
  group.isolate(leader.number);
  group.until('another leader', () => follower.leads || third.leads);
  wait(group, third.send('q', 'anew'));
  expect(answers.all).toEqual([]);
  group.heal();
  expect(wait(group, answers)).toEqual({ kind: 'deleted', existed: true });
  group.converge();
  const found = wait(group, third.queues());
  expect(found).toMatchObject({ kind: 'queue-list', queues: [{ queue: 'q' }] });
  expect(third.fetch('q').one).toMatchObject({ entries: [{ highWatermark: 1 }] });
});
