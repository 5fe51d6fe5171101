// Goal: an operator can add, promote and remove nodes at any node of the cluster, is told exactly
// why something is refused, and may repeat everything; nothing is written when nothing changes.
// Method: whole nodes over simulated disks and a network that a test cuts; the routes' own calls.
import type { MembershipChange } from '@svc/http';
import type { MembershipErrorCode } from '@svc/wire';
import { describe, expect, test } from 'vitest';
import { ELECTION_MS, FakeGroup, type FakeMachine } from '../testing/group.fake.js';
import {
  acknowledged,
  answerOf,
  changed,
  follower,
  lastIndex,
  refused,
} from '../testing/membership-calls.fake.js';

function add(node: number): MembershipChange {
  const [raftAddress, httpAddress] = [`node-${node}:7400`, `node-${node}:6632`];
  return { kind: 'add-learner', node, raftAddress, httpAddress };
}

const promote = (nodes: number[], force = false): MembershipChange => {
  return { kind: 'promote', nodes, force };
};
const setVoters = (nodes: number[], force = false): MembershipChange => {
  return { kind: 'set-voters', nodes, force };
};
const remove = (node: number): MembershipChange => ({ kind: 'remove', node });

describe('growing and shrinking', () => {
  test('a node is added, promoted and removed through any node; repeating writes nothing', () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    const joined = group.join(4);
    group.run(200);
    for (const at of [follower(group), group.leader()]) {
      const before = lastIndex(group);
      const view = changed(group, at, add(4));
      expect(view).toMatchObject({ voters: [1, 2, 3], learners: [4], source: 'leader' });
      expect(lastIndex(group)).toBe(before + (at.leads ? 0 : 1));
    }
    group.converge();
    for (const at of [follower(group), joined, group.leader()]) {
      const view = changed(group, at, promote([4]));
      expect(view).toMatchObject({ voters: [1, 2, 3, 4], learners: [], joint: null });
    }
    const before = lastIndex(group);
    const gone = [1, 2, 3].find((number) => !group.machine(number).leads) ?? 0;
    const left = [1, 2, 3, 4].filter((number) => number !== gone);
    for (const at of [joined, group.leader()]) {
      expect(changed(group, at, remove(gone))).toMatchObject({ voters: left, learners: [] });
    }
    expect(lastIndex(group)).toBe(before + 1);
    acknowledged(group, 'b');
  });

  test('one voter grows to three and their addresses survive joint steps', () => {
    const group = new FakeGroup({ founders: 1 });
    acknowledged(group, 'a');
    group.join(2);
    group.join(3);
    group.run(200);
    changed(group, group.machine(1), add(2));
    changed(group, group.machine(1), add(3));
    group.converge();
    const view = changed(group, group.machine(1), promote([2, 3]));
    expect(view).toMatchObject({ voters: [1, 2, 3], joint: null, changeInFlight: false });
    const { members } = view;
    expect(members.map(({ nodeId, raft }) => [nodeId, raft])).toEqual([
      [1, 'node-1:7400'],
      [2, 'node-2:7400'],
      [3, 'node-3:7400'],
    ]);
    group.machine(1).crash();
    acknowledged(group, 'b');
  });

  test('PUT voters swaps a voter for a learner in one step and drops who is not named', () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    group.join(4);
    group.run(200);
    changed(group, group.leader(), add(4));
    group.converge();
    const gone = [1, 2, 3].find((number) => !group.machine(number).leads) ?? 0;
    const left = [1, 2, 3, 4].filter((number) => number !== gone);
    const view = changed(group, follower(group), setVoters(left));
    expect(view).toMatchObject({ voters: left, learners: [], joint: null });
    expect(view.members.map(({ raft }) => raft)).toEqual(left.map((id) => `node-${id}:7400`));
    const before = lastIndex(group);
    expect(changed(group, group.leader(), setVoters(left))).toMatchObject({ voters: left });
    expect(lastIndex(group)).toBe(before);
  });

  test('a leader that is removed hands over first, and the answer comes from the next one', () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    const old = group.leader();
    const left = [1, 2, 3].filter((number) => number !== old.number);
    const { term } = old.status;
    const startedMs = group.nowMs;
    expect(changed(group, old, remove(old.number))).toMatchObject({
      voters: left,
      term: term + 1,
      source: 'leader',
    });
    expect(group.nowMs - startedMs).toBeLessThan(ELECTION_MS);
    expect(group.leaders.map(({ number }) => left.includes(number))).toEqual([true]);
    acknowledged(group, 'b');
  });

  test('a wiped voter is removed, added and promoted again under its number', () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    const wiped = follower(group);
    const before = wiped.node?.member;
    wiped.wipe();
    group.run(10 * ELECTION_MS);
    const { number } = wiped;
    expect(refused(group, group.leader(), add(number))).toEqual([
      'already_voter',
      `node ${number} is already a voter`,
    ]);
    changed(group, group.leader(), remove(number));
    expect(changed(group, group.leader(), add(number))).toMatchObject({ learners: [number] });
    expect(wiped.node?.member).not.toBe(before);
    group.converge();
    changed(group, group.leader(), promote([number]));
    acknowledged(group, 'b');
    group.converge();
  });

  test('a learner that lost its directory is replaced when it is added again', () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    const joined = group.join(4);
    group.run(200);
    changed(group, group.leader(), add(4));
    group.converge();
    joined.wipe();
    group.run(3000);
    changed(group, group.leader(), add(4));
    group.converge();
    expect(joined.status.configuration.learners).toEqual([joined.node?.member]);
  });
});

describe('refusals', () => {
  const group = new FakeGroup({ founders: 3, environment: { SVC_RAFT_PROMOTE_MAX_LAG: '5' } });
  acknowledged(group, 'a');

  test.each<[string, MembershipChange, MembershipErrorCode, string]>([
    ['a node 0', remove(0), 'bad_request', 'node ids start at 1'],
    ['a negative node', promote([-1]), 'bad_request', 'node ids start at 1'],
    ['a large node', setVoters([1, 2 ** 40]), 'bad_request', 'node ids end at 2097151'],
    ['no node', promote([]), 'bad_request', 'ids names no node'],
    [
      'no port',
      { kind: 'add-learner', node: 4, raftAddress: 'x', httpAddress: 'y:1' },
      'bad_request',
      'raft address `x` is not host:port',
    ],
    [
      'port 0',
      { kind: 'add-learner', node: 4, raftAddress: 'x:1', httpAddress: 'y:0' },
      'bad_request',
      'http address `y:0` is not host:port',
    ],
    ['a voter', add(3), 'already_voter', 'node 3 is already a voter'],
    [
      "another node's address",
      { kind: 'add-learner', node: 9, raftAddress: 'node-2:7400', httpAddress: 'y:1' },
      'address_mismatch',
      'the raft address node-2:7400 belongs to node 2',
    ],
    ['no voter', setVoters([]), 'last_voter', 'a cluster needs at least one voter'],
    [
      'a stranger as voter',
      setVoters([1, 2, 9], true),
      'not_a_member',
      'node 9 is not a member: add it as a learner',
    ],
    [
      'a stranger promoted',
      promote([9], true),
      'not_a_learner',
      'node 9 is not a learner: add it as one first',
    ],
  ])('%s', (_, change, code, text) => {
    for (const at of group.machines.values()) {
      const before = lastIndex(group);
      expect(refused(group, at, change)).toEqual([code, text]);
      expect(lastIndex(group)).toBe(before);
    }
  });

  test('the last voter of a cluster of one', () => {
    const one = new FakeGroup({ founders: 1 });
    acknowledged(one, 'a');
    expect(refused(one, one.machine(1), remove(1))).toEqual([
      'last_voter',
      'a cluster needs at least one voter',
    ]);
  });

  test('a learner at other addresses, one that lags, one that is silent; force promotes it', () => {
    const own = new FakeGroup({ founders: 3, environment: { SVC_RAFT_PROMOTE_MAX_LAG: '5' } });
    acknowledged(own, 'a');
    const joined = own.join(4);
    own.run(200);
    changed(own, own.leader(), add(4));
    own.converge();
    const moved = { ...add(4), raftAddress: 'elsewhere:1' } as MembershipChange;
    expect(refused(own, own.leader(), moved)).toEqual([
      'address_mismatch',
      'node 4 is a learner at node-4:7400 and node-4:6632; remove it before it is added elsewhere',
    ]);
    own.lost = (_, to, channel) => to === 4 && channel === 'consensus';
    for (let i = 0; i < 10; i++) acknowledged(own, `m${i}`);
    const [code, text] = refused(own, own.leader(), promote([4]));
    expect(code).toBe('learner_behind');
    expect(text).toMatch(/^node 4 is \d+ entries behind \(at most 5\)$/);
    joined.crash();
    own.run(20 * ELECTION_MS);
    for (const change of [promote([4]), setVoters([1, 2, 3, 4])]) {
      expect(refused(own, own.leader(), change)).toEqual([
        'learner_behind',
        'node 4 has not answered the leader lately',
      ]);
    }
    expect(changed(own, own.leader(), promote([4], true))).toMatchObject({ voters: [1, 2, 3, 4] });
  });

  test('a change that would leave no living majority, forced or not', () => {
    const own = new FakeGroup({ founders: 3 });
    acknowledged(own, 'a');
    const [dead, other] = [1, 2, 3].filter((number) => !own.machine(number).leads);
    own.machine(dead as number).crash();
    own.run(20 * ELECTION_MS);
    for (const force of [false, true]) {
      const two = [own.leader().number, dead as number].sort();
      const [code, text] = refused(own, own.leader(), setVoters(two, force));
      expect(code).toBe('no_quorum');
      expect(text).toBe(`1 of the voters ${two.join(', ')} are alive, and 2 are needed`);
    }
    expect(changed(own, own.leader(), remove(dead as number))).toMatchObject({
      voters: [own.leader().number, other as number].sort(),
    });
  });

  test('a second change while one runs', () => {
    const own = new FakeGroup({ founders: 3 });
    acknowledged(own, 'a');
    const leader = own.leader();
    const first = leader.changeMembership(add(7), 2000);
    const second = leader.changeMembership(remove(follower(own).number));
    expect(answerOf(own, second)).toMatchObject({
      code: 'in_flight',
      error: 'another membership change is running on this leader; retry once it answers',
    });
    expect(answerOf(own, first)).toMatchObject({
      code: 'timeout',
      error: 'node 7 does not answer at node-7:7400; nothing was changed',
    });
    changed(own, leader, remove(follower(own).number));
  });

  test.each<[string, object, MembershipErrorCode, RegExp]>([
    ['of another number', { node: 5 }, 'address_mismatch', /node 5 answers at node-4:7400$/],
    [
      'of another cluster',
      { clusterId: '11111111-1111-4111-8111-111111111111', state: 'member' },
      'address_mismatch',
      /holds data of another cluster \(1{8}-/,
    ],
    [
      'that is too old',
      { readableVersion: 4 },
      'learner_behind',
      /it reads data version 4, this cluster writes 5: upgrade/,
    ],
  ])('a node %s', (_, says, code, text) => {
    const own = new FakeGroup({ founders: 1 });
    acknowledged(own, 'a');
    own.join(4).saysInstead = says;
    own.run(200);
    const [found, error] = refused(own, own.leader(), add(4));
    expect(found).toBe(code);
    expect(error).toMatch(text);
    expect(own.leader().node?.parts.group.view()?.learners).toEqual([]);
  });
});

describe('a joint membership', () => {
  /** Node 4 is to take the place of a follower; nobody leaves the joint membership by himself. */
  function joint(transition: 'joint' | 'joint-manual'): readonly [FakeGroup, number[]] {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    const joined = group.join(4);
    group.run(200);
    changed(group, group.leader(), add(4));
    group.converge();
    const gone = follower(group);
    const left = [1, 2, 3, 4].filter((number) => number !== gone.number);
    group.leader().inProcess((node) => {
      const changes = [
        { type: 'add-voter', node: joined.node?.member ?? node.member },
        { type: 'remove', node: gone.node?.member ?? node.member },
      ] as const;
      const index = node.parts.group.view()?.membershipIndex ?? 0;
      node.parts.group.change({ changes, transition, added: [] }, index, false, () => {});
    });
    return [group, left];
  }

  test('is shown, and only PUT voters with the last set finishes it', () => {
    const [group, left] = joint('joint-manual');
    const joinedAt = () => group.leader().node?.parts.group.view()?.joint ?? null;
    group.until('the joint membership', () => joinedAt() !== null);
    const [raft, http] = ['node-9:7400', 'node-9:6632'];
    for (const at of [group.leader(), follower(group)]) {
      const view = answerOf(group, at.membership());
      expect(view).toMatchObject({
        membership: { joint: [[1, 2, 3], left], voters: left, changeInFlight: true },
      });
      const others: MembershipChange[] = [
        { kind: 'add-learner', node: 9, raftAddress: raft, httpAddress: http },
        promote([4]),
        setVoters([1, 2, 3]),
        remove(9),
      ];
      for (const change of others) {
        expect(refused(group, at, change)).toEqual([
          'in_flight',
          `the membership is joint: only PUT voters with ${left.join(', ')} finishes the change ` +
            'that is under way',
        ]);
      }
    }
    expect(changed(group, follower(group), setVoters([...left].reverse()))).toMatchObject({
      joint: null,
      voters: left,
      members: left.map((id) => ({ nodeId: id, raft: `node-${id}:7400` })),
    });
    const before = lastIndex(group);
    changed(group, group.leader(), setVoters(left));
    expect(lastIndex(group)).toBe(before);
  });

  test('that is about to be left is waited for', () => {
    const [group, left] = joint('joint');
    const leader = group.leader();
    group.until('it', () => leader.node?.parts.group.view()?.joint !== null);
    const answers = leader.changeMembership(setVoters(left));
    expect(answerOf(group, answers)).toMatchObject({ membership: { joint: null, voters: left } });
  });
});

describe('when leaders come and go', () => {
  test('a change waits for a leader, and is told when none comes', () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    const old = group.leader();
    const asked = follower(group);
    old.crash();
    const view = changed(group, asked, remove(old.number));
    expect(view.voters).not.toContain(old.number);
    group.isolate(asked.number);
    group.run(10 * ELECTION_MS);
    const startedMs = group.nowMs;
    expect(refused(group, asked, add(9))).toEqual(['retry', 'no leader is known; retry after']);
    expect(group.nowMs - startedMs).toBeLessThan(6000);
    expect(refused(group, asked, add(9), 500)[0]).toBe('retry');
  });

  test('a leader that cannot be asked', () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    const asked = follower(group);
    const { number } = group.leader();
    group.lost = (from, to, channel) =>
      (from === asked.number || to === asked.number) && /calls|answers/.test(channel);
    expect(refused(group, asked, add(9), 3000)).toEqual([
      'timeout',
      `the leader (node ${number}) does not answer; the change may still complete`,
    ]);
    const view = answerOf(group, asked.membership());
    expect(view).toMatchObject({ membership: { source: 'follower', leader: number } });
  });

  test('a change outlives the leader that began with it', () => {
    const group = new FakeGroup({ founders: 5 });
    acknowledged(group, 'a');
    const old = group.leader();
    const [asked, third] = [...group.machines.values()].filter((one) => one !== old);
    // It writes the change down and can tell nobody.
    group.lost = (from, _, channel) => from === old.number && channel !== 'control';
    const answers = (asked as FakeMachine).changeMembership(remove((third as FakeMachine).number));
    group.run(20);
    group.isolate(old.number);
    const answer = answerOf(group, answers);
    expect(answer).toMatchObject({ kind: 'membership' });
    group.heal();
    group.run(20 * ELECTION_MS);
    const left = [1, 2, 3, 4, 5].filter((number) => number !== (third as FakeMachine).number);
    expect(group.leader().node?.parts.group.view()?.voters).toEqual(left);
  });

  test('a leader that stops while it asks a node: the next one goes on asking', async () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    const old = group.leader();
    const asked = follower(group);
    const answers = asked.changeMembership(add(7), 6000);
    group.run(500);
    await old.stop();
    acknowledged(group, 'b');
    const answer = answerOf(group, answers);
    expect(answer).toMatchObject({
      code: 'timeout',
      error: 'node 7 does not answer at node-7:7400; nothing was changed',
    });
    const second = asked.changeMembership(add(7), 30_000);
    group.run(500);
    group.join(7);
    expect(answerOf(group, second)).toMatchObject({ membership: { learners: [7] } });
  });

  test('who stops sends those who wait for a leader elsewhere', async () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    const asked = follower(group);
    group.isolate(asked.number);
    group.run(10 * ELECTION_MS);
    const startedMs = group.nowMs;
    const answers = asked.changeMembership(add(7), 60_000);
    await asked.stop();
    expect(answers.one).toMatchObject({ code: 'retry' });
    expect(group.nowMs - startedMs).toBeLessThan(4000);
  });

  test('the picture without a leader ages, and its members are not live any more', () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    const asked = follower(group);
    const seen = answerOf(group, asked.membership());
    expect(seen).toMatchObject({
      membership: {
        nodeId: group.leader().number,
        source: 'leader',
        viewAgeMs: 0,
        voters: [1, 2, 3],
        membershipCommitted: true,
        changeInFlight: false,
        liveWithinMs: 1000,
        promoteMaxLag: 1000,
      },
    });
    if (seen.kind !== 'membership') throw new Error(seen.error);
    const { lastLogIndex: last } = seen.membership;
    expect(seen.membership.members).toEqual(
      [1, 2, 3].map((nodeId) => ({
        nodeId,
        voter: true,
        raft: `node-${nodeId}:7400`,
        http: `node-${nodeId}:6632`,
        matched: last,
        lag: 0,
        lastAckMs: expect.any(Number),
        live: true,
      })),
    );
    group.isolate(asked.number);
    group.run(5000);
    const alone = answerOf(group, asked.membership());
    expect(alone).toMatchObject({
      membership: { nodeId: asked.number, source: 'follower', leader: null, voters: [1, 2, 3] },
    });
    if (alone.kind !== 'membership') throw new Error(alone.error);
    expect(alone.membership.members.map(({ live }) => live)).toEqual([false, false, false]);
    expect(alone.membership.members[0]?.lastAckMs).toBeGreaterThan(4000);
  });

  test('two operators at two nodes: one change at a time, and both happen in the end', () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    group.join(4);
    group.join(5);
    group.run(200);
    const nodes = [...group.machines.values()].slice(0, 3);
    for (let round = 0; round < 20; round++) {
      const [one, other] = [nodes[round % 3], nodes[(round + 1) % 3]] as [FakeMachine, FakeMachine];
      const change = (node: number) => (round % 2 === 0 ? add(node) : remove(node));
      const answers = [one.changeMembership(change(4)), other.changeMembership(change(5))];
      const codes = answers.map((each) => {
        const answer = answerOf(group, each);
        return answer.kind === 'membership' ? 'done' : answer.code;
      });
      expect(['done', 'in_flight', 'membership_changed']).toEqual(expect.arrayContaining(codes));
      changed(group, one, change(4));
      changed(group, one, change(5));
      const learners = round % 2 === 0 ? [4, 5] : [];
      expect(group.leader().node?.parts.group.view()?.learners).toEqual(learners);
    }
  });
});
