// Goal: a node's own picture and the list of the members say what is so, an unknown figure is null,
// who does not answer has a row all the same, and a load balancer that looks at /health sends
// nothing to a node that cannot serve. Method: whole nodes over simulated disks, a network that a
// test cuts; garbage as answers of another node.
import type { RaftMembersAnswer } from '@svc/wire';
import { describe, expect, test } from 'vitest';
import type { Node } from '../node/node.js';
import { ELECTION_MS, FakeGroup, type FakeMachine } from '../testing/group.fake.js';

function acknowledged(group: FakeGroup, id: string): void {
  const answers = group.leader().push('q', id);
  group.until(`an answer to ${id}`, () => answers.all.length > 0);
  expect(answers.one).toMatchObject({ kind: 'pushed' });
}

function nodeOf(machine: FakeMachine): Node {
  if (machine.node === null) throw new Error(`machine ${machine.number} is down`);
  return machine.node;
}

function membersAt(group: FakeGroup, machine: FakeMachine): RaftMembersAnswer {
  const answers = machine.raftMembers();
  group.until('the members', () => answers.all.length > 0, 1600);
  const { one } = answers;
  if (one.kind === 'refused') throw new Error(one.refusal.error);
  return one.answer;
}

function followersOf(group: FakeGroup): [FakeMachine, FakeMachine] {
  const leader = group.leader();
  const [one, other] = [...group.machines.values()].filter((machine) => machine !== leader);
  return [one as FakeMachine, other as FakeMachine];
}

describe('the members', () => {
  test('as every node shows them, each with its own block and the leader’s figures', () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    group.converge();
    const leader = group.leader();
    const { lastIndex, term } = leader.status;
    for (const machine of group.machines.values()) {
      const answer = membersAt(group, machine);
      const { members, clusterId, ...rest } = answer;
      expect(clusterId).toMatch(/^c-[0-9a-f]{6}$/);
      expect(rest).toEqual({
        engine: 'raft',
        leaderId: leader.number,
        term,
        self: machine.number,
        voters: 3,
      });
      expect(members.map(({ nodeId }) => nodeId)).toEqual([1, 2, 3]);
      for (const member of members) {
        const { nodeId } = member;
        const isLeader = nodeId === leader.number;
        expect(member).toEqual({
          nodeId,
          hostname: expect.any(String),
          raftAddr: `node-${nodeId}:7400`,
          httpAddr: `node-${nodeId}:6632`,
          role: 'voter',
          state: isLeader ? 'leader' : 'follower',
          local: nodeId === machine.number,
          reachable: true,
          leaderId: leader.number,
          term,
          lastLogIndex: lastIndex,
          committedIndex: lastIndex,
          appliedIndex: lastIndex,
          durableIndex: expect.any(Number),
          inflight: 0,
          proposals: 0,
          log: { files: 1, bytes: expect.any(Number) },
          store: expect.objectContaining({ mapUsedPct: null }),
          version: '2.1.0',
          uptimeSeconds: expect.any(Number),
          error: null,
          matchIndex: lastIndex,
          heartbeatAgeMs: isLeader ? null : expect.any(Number),
          lagEntries: 0,
          host: {
            rssBytes: expect.any(Number),
            anonBytes: expect.any(Number),
            cpuPct: expect.any(Number),
            memoryLimitBytes: expect.any(Number),
            // The disk of this group is simulated.
            diskUsedPct: null,
            diskGatePct: expect.any(Number),
          },
          rates: { pushedPerSecond: 0, deliveredPerSecond: 0, ackedPerSecond: 0 },
        });
      }
    }
  });

  test('who does not answer, has no leader to tell of it, or is another than was added', () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    const [down, wiped] = followersOf(group);
    down.crash();
    const { members } = membersAt(group, wiped);
    expect(members.find(({ nodeId }) => nodeId === down.number)).toEqual({
      nodeId: down.number,
      role: 'voter',
      state: 'unreachable',
      local: false,
      reachable: false,
      raftAddr: `node-${down.number}:7400`,
      httpAddr: `node-${down.number}:6632`,
      hostname: null,
      error: `node ${down.number} did not answer within 1500 ms`,
      matchIndex: expect.any(Number),
      heartbeatAgeMs: expect.any(Number),
      lagEntries: expect.any(Number),
    });
    group.lost = (from, to) => from === wiped.number || to === wiped.number;
    const alone = membersAt(group, wiped).members;
    expect(alone.map(({ matchIndex, lagEntries }) => [matchIndex, lagEntries])).toEqual(
      [1, 2, 3].map(() => [null, null]),
    );
    group.heal();
    down.start();
    wiped.wipe();
    group.run(10 * ELECTION_MS);
    const row = membersAt(group, group.leader()).members.find(
      ({ nodeId }) => nodeId === wiped.number,
    );
    expect(row).toMatchObject({ state: 'unreachable', reachable: false });
    expect(row?.error).toMatch(/runs on another data directory .* remove the member and add/);
  });

  test('one round of questions serves all who ask meanwhile', () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    // What nodes ask each other when they begin to serve.
    group.run(500);
    const [asked] = followersOf(group);
    let calls = 0;
    group.lost = (_, __, channel) => {
      if (channel === 'calls') calls++;
      return false;
    };
    const answers = Array.from({ length: 50 }, () => asked.raftMembers());
    group.until('all answers', () => answers.every(({ all }) => all.length === 1), 1600);
    expect(calls).toBe(2);
  });
});

describe('/health', () => {
  const health = (machine: FakeMachine) => nodeOf(machine).broker.health();

  test('is healthy where clients can be served, with every figure', () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    group.converge();
    const machines = [...group.machines.values()];
    group.until('health', () => machines.every((one) => health(one).status === 'healthy'));
    const leader = group.leader();
    const { lastIndex, term } = leader.status;
    for (const machine of machines) {
      expect(health(machine)).toEqual({
        status: 'healthy',
        engine: 'raft',
        version: '2.1.0',
        raft: {
          role: machine === leader ? 'leader' : 'follower',
          leader: true,
          term,
          applied: lastIndex,
          commit: lastIndex,
          lag: 0,
          storageReady: true,
          clusterVersion: 5,
          kinds: 5,
          apply: { failure: null, skipped: [] },
        },
      });
    }
  });

  test.each(['leader', 'follower', 'learner'])('a %s that is cut off settles', (role) => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    const machine = role === 'leader' ? group.leader() : followersOf(group)[0];
    const cut = role === 'learner' ? group.join(4) : machine;
    if (role === 'learner') {
      group.run(200);
      const [raftAddress, httpAddress] = ['node-4:7400', 'node-4:6632'];
      const change = { kind: 'add-learner', node: 4, raftAddress, httpAddress } as const;
      const answers = group.leader().changeMembership(change);
      group.until('the learner', () => answers.all.length > 0);
      group.converge();
    }
    group.until('health', () => health(cut).status === 'healthy');
    expect(health(cut).raft.role).toBe(role);
    group.isolate(cut.number);
    group.run(Math.max(1000, 2 * ELECTION_MS) + 100);
    expect(health(cut)).toMatchObject({ status: 'settling', raft: { leader: false } });
    expect(cut.status.leader).toBe(0);
    group.heal();
    group.until('health again', () => health(cut).status === 'healthy');
  });

  test('who waits to be added, and who was removed, settles', () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    const joined = group.join(4);
    group.run(200);
    const waiting = { role: 'learner', leader: false, term: 0 };
    expect(health(joined)).toMatchObject({ status: 'settling', raft: waiting });
    const [gone] = followersOf(group);
    const answers = group.leader().changeMembership({ kind: 'remove', node: gone.number });
    group.until('the removal', () => answers.all.length > 0);
    group.run(ELECTION_MS);
    expect(health(gone)).toMatchObject({ status: 'settling', raft: { role: 'learner' } });
  });

  test('who is far behind its leader settles until it has caught up', () => {
    const group = new FakeGroup({
      founders: 3,
      environment: { SVC_RAFT_READY_LAG_ENTRIES: '5', SVC_RAFT_READY_LAG_MS: '300' },
    });
    acknowledged(group, 'a');
    const [behind] = followersOf(group);
    group.until('health', () => health(behind).status === 'healthy');
    group.lost = (_, to, channel) => to === behind.number && channel === 'consensus';
    for (let i = 0; i < 20; i++) acknowledged(group, `m${i}`);
    group.run(1500);
    const { status, raft } = health(behind);
    expect([status, raft.leader]).toEqual(['settling', true]);
    expect(raft.lag).toBeGreaterThan(300);
    group.heal();
    group.until('health again', () => health(behind).status === 'healthy');
    expect(health(behind).raft.lag).toBe(0);
  });

  test('who stops says so first, hands over at once, and never leads again', async () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    const leader = group.leader();
    const node = nodeOf(leader);
    const retired = node.retire();
    expect(health(leader)).toMatchObject({ status: 'settling', raft: { role: 'stopped' } });
    expect(node.broker.raftStatus().state).toBe('shutdown');
    const startedMs = group.nowMs;
    await group.finish('the hand-over', retired);
    expect(group.nowMs - startedMs).toBeLessThan(ELECTION_MS);
    expect(leader.leads).toBe(false);
    acknowledged(group, 'b');
  });

  test.each([1, 2, 3, 4, 5, 6])('who stops is never elected again (seed %i)', async (seed) => {
    const group = new FakeGroup({ founders: 3, seed });
    acknowledged(group, 'a');
    const stopping = group.leader();
    await group.finish('the hand-over', nodeOf(stopping).retire());
    group.converge();
    group.leader().crash();
    // Left to chance it would win every other election against the one that is left with it.
    expect(group.leader()).not.toBe(stopping);
    acknowledged(group, 'b');
  });

  test('who found no space takes no part, says why, and is no longer ready', () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    const [halted] = followersOf(group);
    nodeOf(halted).halt(new Error('the volume is full'));
    expect(health(halted)).toMatchObject({
      status: 'settling',
      raft: { role: 'stopped', storageReady: false },
    });
    expect(nodeOf(halted).broker.raftStatus()).toMatchObject({
      state: 'shutdown',
      error: expect.stringMatching(/^the volume is full; .*start the node again$/),
    });
    acknowledged(group, 'b');
  });

  test('all three may stop at once, and none of them hangs', async () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    const startedMs = group.nowMs;
    const [leader, ...others] = [group.leader(), ...followersOf(group)];
    const stops = [leader, ...others].map((machine) => machine.stop());
    await Promise.all(stops);
    expect(group.nowMs - startedMs).toBeLessThan(10_000);
  });
});

test('whatever another node answers, the list is made', () => {
  const seed = Number(process.env.SVC_SEED ?? Date.now() % 2 ** 31);
  console.log(`seed ${seed}`);
  const group = new FakeGroup({ founders: 3, seed });
  acknowledged(group, 'a');
  const [asked, other] = followersOf(group);
  const block = JSON.stringify({ member: other.node?.member, block: {}, host: {} });
  const pieces = ['', '{', 'null', '[]', '{"member":1}', block, block.slice(0, -3), '\u0000'];
  let round = 0;
  const calls = other.calls;
  calls?.serve('block', (call) => {
    const text = pieces[round % pieces.length] ?? '';
    const at = Math.floor(group.random() * (text.length + 1));
    const noise = round < pieces.length ? text : text.slice(0, at) + text.slice(at + 1);
    call.answer([Buffer.from(noise)]);
  });
  for (round = 0; round < 100; round++) {
    const row = membersAt(group, asked).members.find(({ nodeId }) => nodeId === other.number);
    expect(row).toMatchObject({
      state: 'unreachable',
      error: `what node ${other.number} answers is no report of a member`,
    });
  }
});
