/**
 * Goal: members come and go one change at a time, without a moment in which two majorities could
 * decide. Method: small groups with spare nodes; one leader played by hand for the refusals.
 */
import { describe, expect, it } from 'vitest';
import { configuration, type NodeChange } from './configuration.js';
import { logIndex, nodeId } from './identifiers.js';
import type { RaftSettings } from './options.js';
import type { ConfigurationProposal } from './ready.js';
import { FakeGroup } from './testing/group.fake.js';
import { LoneNode } from './testing/lone.fake.js';

const context = new Uint8Array(0);

function change(
  group: FakeGroup,
  changes: readonly NodeChange[],
  transition: 'auto' | 'joint' | 'joint-manual' = 'auto',
): ConfigurationProposal {
  group.passUntil(() => group.leader() !== undefined);
  const leader = group.leader() ?? 0;
  const { configurationIndex } = group.status(leader);
  // Scenes of what a change does; whether it is wise is asked further below.
  return group
    .raft(leader)
    .proposeConfiguration({ changes, transition, context }, configurationIndex, { force: true });
}

const add = (node: number): NodeChange => ({ type: 'add-voter', node: nodeId(node) });
const learn = (node: number): NodeChange => ({ type: 'add-learner', node: nodeId(node) });
const remove = (node: number): NodeChange => ({ type: 'remove', node: nodeId(node) });

function current(group: FakeGroup): unknown {
  group.passUntil(() => group.leader() !== undefined);
  return group.status(group.leader() ?? 0).configuration;
}

describe('a change', () => {
  it('grows a group of one: learn, then vote', () => {
    const group = new FakeGroup({ nodes: 1, spares: 2 });
    expect(change(group, [learn(2)]).accepted).toBe(true);
    group.pass(50);
    expect(current(group)).toEqual(configuration([nodeId(1)], [nodeId(2)]));
    expect(group.node(2).state.digest).toBe(group.node(1).state.digest);
    // A learner is not counted: its absence stops nothing.
    group.crash(2);
    group.propose(1, 'x');
    group.pass(20);
    const settled = group.judge.settledIndex;
    expect(group.status(1).commit).toBe(group.status(1).lastIndex);
    group.start(2);
    change(group, [add(2), add(3)]);
    group.pass(200);
    expect(current(group)).toEqual(configuration([1, 2, 3].map(nodeId)));
    expect(group.judge.settledIndex).toBeGreaterThan(settled);
    group.crash(1);
    group.passUntil(() => group.leader() !== undefined);
  });

  it('of all members at once goes through a joint configuration', () => {
    const group = new FakeGroup({ nodes: 2, spares: 2 });
    expect(change(group, [add(3), add(4), remove(1), remove(2)]).accepted).toBe(true);
    group.pass(500);
    expect(current(group)).toEqual(configuration([3, 4].map(nodeId)));
    expect([3, 4]).toContain(group.leader());
  });

  it('left by hand stays joint until told', () => {
    const group = new FakeGroup({ nodes: 3, spares: 1 });
    change(group, [add(4), remove(3)], 'joint-manual');
    group.pass(100);
    expect(current(group)).toMatchObject({ voters: [1, 2, 4], outgoing: [1, 2, 3] });
    change(group, []);
    group.pass(100);
    expect(current(group)).toEqual(configuration([1, 2, 4].map(nodeId)));
  });

  it('that removes the leader ends its leadership, and another follows', () => {
    const group = new FakeGroup({ nodes: 3 });
    group.passUntil(() => group.leader() !== undefined);
    const first = group.leader() ?? 0;
    change(group, [remove(first)]);
    group.settle();
    expect(group.status(first).role).toBe('follower');
    group.passUntil(() => ![undefined, first].includes(group.leader()));
    expect(current(group)).toEqual(
      configuration(group.ids.filter((id) => id !== first).map(nodeId)),
    );
  });

  it('whose leader is lost in the joint configuration is finished by the next', () => {
    const group = new FakeGroup({ nodes: 3, spares: 2 });
    group.passUntil(() => group.leader() !== undefined);
    const first = group.leader() ?? 0;
    group.pass(20);
    change(group, [add(4), add(5), remove(first)]);
    group.crash(first);
    group.passUntil(() => group.leader() !== undefined);
    group.start(first);
    group.pass(300);
    expect(current(group)).toMatchObject({ outgoing: [] });
  });
});

describe('a change is refused', () => {
  function leader(): LoneNode {
    const node = new LoneNode();
    node.lead([2]);
    for (const from of [2, 3]) node.acknowledge(from, 1);
    node.drain();
    return node;
  }
  const propose = (node: LoneNode, changes: readonly NodeChange[], index: number): unknown =>
    node.raft.proposeConfiguration({ changes, transition: 'auto', context }, logIndex(index), {
      force: true,
    });

  it('when the caller looked at another configuration', () => {
    const node = leader();
    expect(propose(node, [add(4)], 3)).toEqual({
      accepted: false,
      reason: 'membership_changed',
    });
    expect(node.raft.status().lastIndex).toBe(1);
  });

  it('while an earlier one is not applied; an empty entry stands in its place', () => {
    const node = leader();
    expect(propose(node, [add(4)], 0)).toEqual({ accepted: true, index: 2, term: 1 });
    const pending = { accepted: false, reason: 'in_flight' };
    expect(propose(node, [add(5)], 0)).toEqual(pending);
    node.drain();
    expect(node.raft.status()).toMatchObject({ lastIndex: 3, configurationIndex: 0 });
    node.acknowledge(2, 3);
    node.drain();
    expect(node.raft.status()).toMatchObject({ applied: 3, configurationIndex: 2 });
    expect(node.committed.map((entry) => entry.type)).toEqual([
      'normal',
      'configuration',
      'normal',
    ]);
    expect(propose(node, [add(5)], 2)).toMatchObject({ accepted: true });
  });

  it('by a new leader until it has applied what it found in its log', () => {
    const node = new LoneNode({ terms: [1, 1], hardState: { term: 1 } });
    node.lead([2]);
    expect(propose(node, [add(4)], 0)).toMatchObject({ reason: 'in_flight' });
    node.acknowledge(2, 4);
    node.drain();
    expect(propose(node, [add(4)], 0)).toMatchObject({ accepted: true });
  });

  it('when nobody would be left, or there is nothing to leave', () => {
    const node = leader();
    expect(propose(node, [remove(1), remove(2), remove(3)], 0)).toMatchObject({
      reason: 'last_voter',
    });
    expect(propose(node, [], 0)).toMatchObject({ reason: 'nothing_to_leave' });
  });

  it('at a node that does not lead', () => {
    const node = new LoneNode();
    expect(propose(node, [add(4)], 0)).toEqual({ accepted: false, reason: 'not_leader' });
  });
});

it('entries that a removed leader alone holds do not keep the rest from electing', () => {
  // 1 and 2 lead together; 2 is removed by itself and stops before 1 knows. 1 still needs the vote
  // of 2, whose log is longer.
  const group = new FakeGroup({ nodes: 2, seed: 5 });
  group.passUntil(() => group.leader() !== undefined);
  const leader = group.leader() ?? 0;
  const other = leader === 1 ? 2 : 1;
  group.pass(20);
  change(group, [remove(leader)]);
  group.propose(leader, 'together');
  group.handleReady(group.node(leader));
  group.syncAll(group.node(leader));
  for (const message of group.network.receive(group.nowMs)) group.deliver(message);
  group.handleReady(group.node(other));
  group.syncAll(group.node(other));
  // This entry is only at the leader.
  group.propose(leader, 'alone');
  group.network.cut(nodeId(leader), nodeId(other));
  group.settle();
  group.pass(50);
  group.crash(leader);
  group.start(leader);
  group.network.heal();
  group.passUntil(() => group.leader() === other);
  expect(current(group)).toEqual(configuration([nodeId(other)]));
});

describe('a change that is not forced', () => {
  /** Voters 1 to 3, learner 4; all entries but the newest three are at 2 and 4. */
  function leader(settings: Partial<RaftSettings> = {}): LoneNode {
    const node = new LoneNode({ learners: [4], settings: { promoteMaxLag: 2, ...settings } });
    node.lead([2]);
    node.acknowledge(2, 1);
    node.acknowledge(4, 1);
    node.drain();
    for (let i = 0; i < 3; i++) node.raft.propose(context);
    node.drain();
    return node;
  }
  const propose = (node: LoneNode, change: NodeChange, force = false): unknown =>
    node.raft.proposeConfiguration(
      { changes: [change], transition: 'auto', context },
      logIndex(0),
      { force },
    );
  const refused = (reason: string): unknown => ({ accepted: false, reason });

  it('takes a voter only after it has learnt', () => {
    const node = leader();
    expect(propose(node, add(5))).toEqual(refused('not_a_learner'));
    expect(propose(node, add(4))).toEqual(refused('learner_behind'));
    expect(node.raft.status().lastIndex).toBe(4);
    node.acknowledge(4, 2);
    expect(propose(node, add(4))).toMatchObject({ accepted: true });
  });

  it('takes no learner for a voter that has fallen silent', () => {
    const node = leader({ liveWithinMs: 50 });
    node.acknowledge(4, 4);
    node.pass(50);
    node.acknowledge(2, 4);
    expect(propose(node, add(4))).toEqual(refused('learner_behind'));
    expect(propose(node, add(4), true)).toMatchObject({ accepted: true });
  });

  it('leaves a majority that lives', () => {
    const node = leader();
    // 3 never answered: 1 and 2 carry the group, and 1 alone could not.
    expect(propose(node, remove(2))).toEqual(refused('no_quorum'));
    expect(propose(node, remove(3))).toMatchObject({ accepted: true });
    const other = leader();
    expect(propose(other, remove(2), true)).toMatchObject({ accepted: true });
  });

  it('needs a majority of the old voters, too', () => {
    const node = leader({ liveWithinMs: 50 });
    node.pass(50);
    node.acknowledge(4, 4);
    const changes = [remove(2), remove(3), add(4)];
    const change = { changes, transition: 'auto', context } as const;
    expect(node.raft.proposeConfiguration(change, logIndex(0))).toEqual(refused('no_quorum'));
  });
});

describe('a learner that was added to become a voter', () => {
  const promised = (node: number): NodeChange => ({ ...learn(node), promote: true });

  it('becomes one by itself, one at a time', () => {
    const group = new FakeGroup({ nodes: 1, spares: 3 });
    change(group, [promised(2), promised(3), learn(4)]);
    group.pass(500);
    expect(current(group)).toEqual(configuration([1, 2, 3].map(nodeId), [nodeId(4)]));
    const changes = group.network.sent
      .filter((one) => one.type === 'append' && one.to === 2)
      .flatMap((one) => (one.type === 'append' ? one.entries : []))
      .filter((entry) => entry.type === 'configuration');
    // Joint and its end, then each of the two.
    expect(new Set(changes.map((entry) => entry.index)).size).toBe(4);
  });

  it('does so under the next leader, too', () => {
    const group = new FakeGroup({ nodes: 3, spares: 1 });
    group.passUntil(() => group.leader() !== undefined);
    const first = group.leader() ?? 0;
    group.crash(4);
    change(group, [promised(4)]);
    group.pass(50);
    group.crash(first);
    group.passUntil(() => group.leader() !== undefined);
    expect(current(group)).toMatchObject({ promoting: [4] });
    group.start(4);
    group.start(first);
    group.pass(200);
    expect(current(group)).toEqual(configuration([1, 2, 3, 4].map(nodeId)));
  });

  it('waits until it has caught up, for ever where the switch is off', () => {
    for (const autoPromote of [true, false]) {
      const group = new FakeGroup({
        nodes: 1,
        spares: 1,
        settings: { autoPromote, promoteMaxLag: 3 },
      });
      group.passUntil(() => group.leader() !== undefined);
      group.network.cut(nodeId(2), nodeId(1));
      change(group, [promised(2)]);
      for (let i = 0; i < 10; i++) group.propose(1, 'x');
      group.pass(300);
      expect(current(group)).toMatchObject({ voters: [1], promoting: [2] });
      group.network.heal();
      group.pass(300);
      expect(group.status(1).peers[1]?.match).toBe(group.status(1).lastIndex);
      expect(current(group)).toMatchObject({ voters: autoPromote ? [1, 2] : [1] });
    }
  });

  it('never while a change of an operator is under way, and never against one', () => {
    const node = new LoneNode({ voters: [1, 2], learners: [4, 5] });
    node.lead([2]);
    for (const from of [2, 4, 5]) node.acknowledge(from, 1);
    node.drain();
    const propose = (changes: readonly NodeChange[], index: number): unknown =>
      node.raft.proposeConfiguration({ changes, transition: 'auto', context }, logIndex(index));
    expect(propose([promised(4)], 0)).toMatchObject({ index: 2 });
    for (const from of [2, 4, 5]) node.acknowledge(from, 2);
    node.drain();
    expect(propose([remove(5)], 2)).toMatchObject({ index: 3 });
    node.pass(20);
    expect(node.raft.status().lastIndex).toBe(3);
    node.acknowledge(2, 3);
    node.drain();
    node.pass(10);
    expect(node.raft.status()).toMatchObject({ lastIndex: 4, configurationIndex: 3 });
    node.acknowledge(2, 4);
    node.acknowledge(4, 4);
    node.drain();
    expect(node.raft.status().configuration).toMatchObject({ voters: [1, 2, 4], promoting: [] });
    // A change that was prepared before the promotion is refused.
    expect(propose([remove(4)], 3)).toMatchObject({ reason: 'membership_changed' });
  });
});

describe('a leader that is removed', () => {
  it('stays, without taking proposals, where stepping down is switched off', () => {
    const group = new FakeGroup({ nodes: 3, settings: { stepDownOnRemoval: false } });
    group.passUntil(() => group.leader() !== undefined);
    const leader = group.leader() ?? 0;
    change(group, [remove(leader)]);
    group.pass(50);
    expect(group.status(leader)).toMatchObject({ role: 'leader', leading: false });
    expect(group.propose(leader, 'x')).toMatchObject({ reason: 'not_leader' });
  });
});
