// Goal: an operator moves leadership from any node, is answered by the leader that follows, and a
// target that cannot lead costs nobody anything. Method: whole nodes over simulated disks and a
// network that a test cuts; the routes' own calls.
import type { MembershipChange, MembershipRefused, MembershipView } from '@svc/http';
import type { Membership, MembershipErrorCode } from '@svc/wire';
import { describe, expect, test } from 'vitest';
import { ELECTION_MS, FakeGroup, type FakeMachine } from './group.fake.js';
import type { Answers } from './group-clients.fake.js';

type Answer = MembershipView | MembershipRefused;

const transfer = (to: number): MembershipChange => ({ kind: 'transfer', node: to });
const LEARNER: MembershipChange = {
  kind: 'add-learner',
  node: 4,
  raftAddress: 'node-4:7400',
  httpAddress: 'node-4:6632',
};

function answerOf(group: FakeGroup, answers: Answers<Answer>): Answer {
  group.until('an answer', () => answers.all.length > 0, 60_000);
  return answers.one;
}

function changed(group: FakeGroup, at: FakeMachine, change: MembershipChange): Membership {
  const answer = answerOf(group, at.changeMembership(change));
  if (answer.kind !== 'membership') throw new Error(`${answer.code}: ${answer.error}`);
  return answer.membership;
}

function refused(
  group: FakeGroup,
  at: FakeMachine,
  change: MembershipChange,
): [MembershipErrorCode, string] {
  const answer = answerOf(group, at.changeMembership(change));
  if (answer.kind === 'membership') throw new Error('it was not refused');
  return [answer.code, answer.error];
}

function follower(group: FakeGroup): FakeMachine {
  const leader = group.leader();
  const other = [...group.machines.values()].find((one) => one !== leader && one.node !== null);
  if (other === undefined) throw new Error('everybody leads');
  return other;
}

function acknowledged(group: FakeGroup, id: string): void {
  const answers = group.leader().push('q', id);
  group.until(`an answer to ${id}`, () => answers.all.length > 0);
  expect(answers.one).toMatchObject({ kind: 'pushed' });
}

/** The last entry of the leader's log, once nothing moves. */
function lastIndex(group: FakeGroup): number {
  group.run(5 * ELECTION_MS);
  return group.leader().status.lastIndex;
}

describe('a transfer of leadership', () => {
  test('is asked of any node and answered by the next leader; repeated it does nothing', () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    for (let round = 0; round < 3; round++) {
      const old = group.leader();
      const target = follower(group).number;
      const asked = [1, 2, 3].find((number) => ![old.number, target].includes(number)) ?? 0;
      const at = group.machine([old.number, target, asked][round] ?? 0);
      const { term } = old.status;
      const view = changed(group, at, transfer(target));
      expect(view).toMatchObject({ leader: target, term: term + 1, voters: [1, 2, 3] });
      const before = lastIndex(group);
      expect(changed(group, at, transfer(target))).toMatchObject({
        leader: target,
        term: term + 1,
      });
      expect(lastIndex(group)).toBe(before);
      acknowledged(group, `b${round}`);
    }
  });

  test('goes to a voter that could lead, and to nobody else', () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    group.join(4);
    group.run(200);
    changed(group, group.leader(), LEARNER);
    group.converge();
    const leader = group.leader();
    const dead = follower(group);
    expect(refused(group, dead, transfer(4))[0]).toBe('not_a_voter');
    expect(refused(group, leader, transfer(9))).toEqual([
      'not_a_voter',
      'node 9 is not a voter: only a voter can lead',
    ]);
    expect(refused(group, leader, transfer(0))[0]).toBe('bad_request');
    dead.crash();
    group.run(10 * ELECTION_MS);
    const { number, status } = group.leader();
    expect(refused(group, group.machine(number), transfer(dead.number))).toEqual([
      'learner_behind',
      `node ${dead.number} has not answered the leader lately`,
    ]);
    expect(group.leader().number).toBe(number);
    expect(group.leader().status.term).toBe(status.term);
    acknowledged(group, 'b');
  });

  test('runs beside no change of the members, and one that nobody takes over ends in time', () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    const leader = group.leader();
    const target = follower(group);
    group.isolate(target.number);
    const answers = leader.changeMembership(transfer(target.number), 300);
    expect(refused(group, leader, { kind: 'remove', node: target.number })[0]).toBe('in_flight');
    expect(answerOf(group, answers)).toMatchObject({
      code: 'timeout',
      error: `node ${target.number} has not taken over; it may still complete`,
    });
    expect(group.leader()).toBe(leader);
    group.heal();
    group.run(5000);
    acknowledged(group, 'b');
    expect(changed(group, leader, transfer(leader.number)).leader).toBe(leader.number);
  });
});
