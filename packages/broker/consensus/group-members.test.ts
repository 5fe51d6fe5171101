// Goal: members come and go without losing anything: a node joins by the log or by a snapshot, is
// made a voter, is removed, and one that lost its directory is nobody until it is added again.
// Method: whole nodes over simulated disks, an operator who changes the members by hand.
import type { NodeChange } from '@svc/raft';
import { expect, test } from 'vitest';
import { incarnationOf, memberId, nodeNumber } from '../config/member-id.js';
import { ELECTION_MS, FakeGroup, type FakeMachine } from '../testing/group.fake.js';
import type { MemberChangeRefusal } from './consensus.js';

function acknowledged(group: FakeGroup, ...ids: readonly string[]): void {
  for (const id of ids) {
    const answers = group.leader().push('q', id);
    group.until(`an answer to ${id}`, () => answers.all.length > 0);
    expect(answers.one).toMatchObject({ kind: 'pushed' });
  }
}

function stored(group: FakeGroup): number {
  const answers = group.leader().queues();
  group.until('a list', () => answers.all.length > 0);
  const list = answers.one;
  if (list.kind !== 'queue-list') throw new Error(list.refusal.error);
  return list.queues[0]?.counts.total ?? 0;
}

type Result = number | MemberChangeRefusal;

/** Asks the leader; the index of the new configuration, or why not. */
function change(group: FakeGroup, changes: readonly NodeChange[], force = false): Result {
  const results: Result[] = [];
  group.leader().inProcess((node) => {
    const expected = node.parts.group.view()?.membershipIndex ?? 0;
    const added = changes.map(({ node: member }) => {
      const id = nodeNumber(member);
      return { id, raftAddress: `node-${id}:7400`, httpAddress: `node-${id}:6632` };
    });
    node.parts.group.change({ changes, transition: 'auto', added }, expected, force, (result) =>
      results.push(result.accepted ? result.index : result.reason),
    );
  });
  group.until('the change', () => results.length > 0);
  return results[0] as Result;
}

function memberOf(machine: FakeMachine) {
  if (machine.node === null) throw new Error(`machine ${machine.number} is down`);
  return machine.node.member;
}

function voters(group: FakeGroup): number[] {
  return group.leader().status.configuration.voters.map(nodeNumber);
}

test('one node grows to three, and the first may go', () => {
  const group = new FakeGroup({ founders: 1 });
  acknowledged(group, 'a');
  for (const number of [2, 3]) {
    const joined = group.join(number);
    group.run(200);
    expect(joined.status.configuration.voters).toEqual([]);
    // What it holds is nothing that the group ever had.
    expect(joined.fetch('q').one).toMatchObject({ refusal: { reason: 'no_leader' } });
    const list = joined.queues();
    group.until('a refusal', () => list.all.length > 0, 61_000);
    expect(list.one).toMatchObject({ refusal: { reason: 'no_leader' } });
    expect(joined.leads).toBe(false);
    const node = memberOf(joined);
    expect(incarnationOf(node)).toBeGreaterThan(0);
    expect(change(group, [{ type: 'add-voter', node }])).toBe('not_a_learner');
    expect(change(group, [{ type: 'add-learner', node }])).toBeTypeOf('number');
    group.converge();
    expect(change(group, [{ type: 'add-voter', node }])).toBeTypeOf('number');
  }
  acknowledged(group, 'b');
  group.run(1000);
  const fetched = group.machine(3).fetch('q');
  group.until('the messages', () => fetched.all.length > 0);
  expect(fetched.one).toMatchObject({ kind: 'fetched' });
  expect(voters(group)).toEqual([1, 2, 3]);
  expect(group.leader().node?.parts.group.view()).toMatchObject({
    voters: [1, 2, 3],
    members: [1, 2, 3].map((nodeId) => ({ nodeId, raft: `node-${nodeId}:7400`, voter: true })),
  });
  group.machine(1).crash();
  acknowledged(group, 'c');
  expect(stored(group)).toBe(3);
});

test('a learner that is meant to vote is promoted when it has caught up', () => {
  const group = new FakeGroup({ founders: 1 });
  acknowledged(group, 'a', 'b');
  const node = memberOf(group.join(2));
  change(group, [{ type: 'add-learner', node, promote: true }]);
  group.until('the promotion', () => voters(group).length === 2);
  group.converge();
});

test('a joining node takes over a snapshot when the log does not reach back', () => {
  const group = new FakeGroup({
    founders: 3,
    purgeStep: 1,
    environment: {
      SVC_RAFT_SEGMENT_BYTES: '4096',
      SVC_RAFT_LOG_KEEP: '1',
      SVC_RAFT_DURABLE_EVERY_MS: '20',
    },
  });
  acknowledged(group, ...Array.from({ length: 60 }, (_, i) => `m${i}`));
  consumed(group);
  group.until('log space', () => (group.leader().parts?.log.firstIndex ?? 1) > 1);
  const joined = group.join(4);
  const node = memberOf(joined);
  change(group, [{ type: 'add-learner', node }]);
  group.until('the snapshot', () => joined.reopened === 1 && joined.node !== null);
  group.converge();
  expect(joined.parts?.log.firstIndex).toBeGreaterThan(1);
  expect(memberOf(joined)).toBe(node);
  expect(change(group, [{ type: 'add-voter', node }])).toBeTypeOf('number');
  acknowledged(group, 'more');
  joined.restart('power');
  group.converge();
  expect(joined.reopened).toBe(1);
  expect(joined.node?.repairing).toBe(false);
});

/** Lets go of the queue, so that the entries behind it are dead. */
function consumed(group: FakeGroup): void {
  const answers = group.leader().deleteQueue('q');
  group.until('the deletion', () => answers.all.length > 0);
  expect(answers.one).toMatchObject({ kind: 'deleted' });
  acknowledged(group, 'after');
}

test('a voter that comes back empty is nobody until it is removed and added', () => {
  const group = new FakeGroup({ founders: 3 });
  acknowledged(group, 'a', 'b');
  const wiped = group.machine(group.leader().number === 3 ? 2 : 3);
  const former = memberOf(wiped);
  wiped.wipe();
  expect(memberOf(wiped)).not.toBe(former);
  expect(nodeNumber(memberOf(wiped))).toBe(wiped.number);
  group.run(10 * ELECTION_MS);
  expect(wiped.status.lastIndex).toBe(0);
  expect(wiped.status.vote).toBe(0);
  // Two of three voters are left, and both are needed.
  const other = [...group.machines.values()].find((machine) => machine !== wiped && !machine.leads);
  other?.crash();
  const unheard = group.leader().push('q', 'c');
  group.until('the deadline', () => unheard.all.length > 0, 61_000);
  expect(unheard.one).toMatchObject({ kind: 'refused' });
  other?.start();
  group.leader();
  const node = memberOf(wiped);
  expect(change(group, [{ type: 'remove', node: former }])).toBeTypeOf('number');
  expect(change(group, [{ type: 'add-learner', node }])).toBeTypeOf('number');
  group.converge();
  expect(change(group, [{ type: 'add-voter', node }])).toBeTypeOf('number');
  acknowledged(group, 'd');
  group.converge();
});

test('a change names the configuration that was looked at, and one runs at a time', () => {
  const group = new FakeGroup({ founders: 3 });
  acknowledged(group, 'a');
  const results: Result[] = [];
  const note = (result: { accepted: boolean; reason?: MemberChangeRefusal; index?: number }) =>
    results.push(result.reason ?? result.index ?? 0);
  const leader = group.leader();
  const node = memberId([1, 2, 3].find((number) => number !== leader.number) ?? 0, 0);
  const remove = { changes: [{ type: 'remove', node }], transition: 'auto', added: [] } as const;
  leader.inProcess((each) => {
    each.parts.group.change(remove, 77, false, note);
    each.parts.group.change(remove, each.parts.group.view()?.membershipIndex ?? 0, false, note);
    each.parts.group.change(remove, each.parts.group.view()?.membershipIndex ?? 0, false, note);
  });
  expect(results).toEqual(['membership_changed', 'in_flight']);
  group.until('the change', () => results.length === 3);
  expect(results[2]).toBeTypeOf('number');
  expect(voters(group).length).toBe(2);
});

test('a leader that is removed steps down when its log is committed', () => {
  const group = new FakeGroup({ founders: 3 });
  acknowledged(group, 'a');
  const old = group.leader();
  expect(change(group, [{ type: 'remove', node: memberOf(old) }])).toBeTypeOf('number');
  group.until('another leader', () => group.leaders.some((machine) => machine !== old));
  acknowledged(group, 'b');
  expect(voters(group)).not.toContain(old.number);
});

test('who comes back finds its members in its checkpoint, whatever happened since', () => {
  const group = new FakeGroup({
    founders: 3,
    environment: { SVC_RAFT_DURABLE_EVERY_MS: '20' },
  });
  acknowledged(group, 'a');
  const away = group.machine(group.leader().number === 3 ? 2 : 3);
  away.crash();
  const node = memberOf(group.join(4));
  change(group, [{ type: 'add-learner', node }]);
  group.run(500);
  change(group, [{ type: 'add-voter', node }]);
  group.run(500);
  for (const machine of group.machines.values()) if (machine !== away) machine.restart('power');
  acknowledged(group, 'b');
  expect(voters(group)).toEqual([1, 2, 3, 4]);
  away.start();
  group.converge();
  expect(away.status.configuration.voters.length).toBe(4);
});
