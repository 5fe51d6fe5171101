// Goal: an operator moves leadership from any node, is answered by the leader that follows, and a
// target that cannot lead costs nobody anything. Method: whole nodes over simulated disks and a
// network that a test cuts; the routes' own calls.
import type { MembershipChange } from '@svc/http';
import { describe, expect, test } from 'vitest';
import { ELECTION_MS, FakeGroup } from '../testing/group.fake.js';
import {
  acknowledged,
  answerOf,
  changed,
  follower,
  lastIndex,
  refused,
} from '../testing/membership-calls.fake.js';

const transfer = (to: number): MembershipChange => ({ kind: 'transfer', node: to });
const LEARNER: MembershipChange = {
  kind: 'add-learner',
  node: 4,
  raftAddress: 'node-4:7400',
  httpAddress: 'node-4:6632',
};

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
