/**
 * Goal: a node that lost acknowledged entries costs no committed one, whatever arrives late, and
 * votes again as soon as that is safe. Method: one node played by hand from either side; small
 * groups in the order of events that each part of the rule is there for.
 */
import { describe, expect, it } from 'vitest';
import { logIndex, nodeId, term } from './identifiers.js';
import type { AppendRequest, Message } from './messages.js';
import { ELECTION_MS, FakeGroup } from './testing/group.fake.js';
import { entriesOf, LoneNode } from './testing/lone.fake.js';

const BYTES = new Uint8Array(1);

function appends(messages: readonly Message[], to: number): readonly AppendRequest[] {
  return messages.filter((one): one is AppendRequest => one.type === 'append' && one.to === to);
}

describe('a follower that recovers', () => {
  /** It had acknowledged more in term 3, and has (1, 1) to (2, 3) left. */
  function recovering(): { node: LoneNode; life: number } {
    const node = new LoneNode({
      terms: [1, 3],
      hardState: { term: 3, vote: 2, commit: 1 },
      recovering: true,
      random: 0.25,
    });
    node.step(append(1, 1, []));
    const [rejection] = node.drain();
    const life = rejection?.type === 'append-rejection' ? rejection.lost : 0;
    return { node, life };
  }

  function append(
    previousIndex: number,
    commit: number,
    terms: readonly number[],
    life = 0,
    ofTerm = 3,
    previousTerm = [0, 1, 3, 3][previousIndex] ?? ofTerm,
  ): Message {
    return {
      type: 'append',
      from: nodeId(2),
      to: nodeId(1),
      term: term(ofTerm),
      previousIndex: logIndex(previousIndex),
      previousTerm: term(previousTerm),
      entries: entriesOf(previousIndex + 1, terms),
      commit: logIndex(commit),
      life,
    };
  }

  it('tells of its loss even where the logs meet', () => {
    const { node, life } = recovering();
    expect(life).toBeGreaterThan(0);
    node.step(append(2, 2, [], 0));
    const meeting = { rejectedIndex: 2, hintIndex: 2, hintTerm: 3 };
    expect(node.drain()).toMatchObject([
      { type: 'append-rejection', ...meeting, life: 0, lost: life },
    ]);
    expect(node.raft.status()).toMatchObject({ recovering: true, commit: 1 });
  });

  it('votes again when its disk holds what the leader had committed by then', () => {
    const { node, life } = recovering();
    node.step(append(2, 4, [3, 3, 3], life));
    node.sendOnly();
    expect(node.raft.status()).toMatchObject({ lastIndex: 5, recovering: true });
    node.sync();
    expect(node.raft.status().recovering).toBe(false);
    const { softState } = node.raft.ready();
    expect(softState).toMatchObject({ recovering: false });
  });

  it('waits for a commit index that it has not reached', () => {
    const { node, life } = recovering();
    node.step(append(2, 4, [3], life));
    node.drain();
    expect(node.raft.status().recovering).toBe(true);
    node.step(append(3, 9, [3], life));
    node.drain();
    expect(node.raft.status().recovering).toBe(false);
  });

  it('trusts no commit index of an earlier term', () => {
    const { node, life } = recovering();
    // A new leader that has committed nothing of its own may know less than was committed.
    node.step(append(2, 2, [], 0, 4), append(2, 2, [4], life, 4));
    node.drain();
    expect(node.raft.status()).toMatchObject({ lastIndex: 3, recovering: true });
    node.step(append(3, 3, [], life, 4, 4));
    node.drain();
    expect(node.raft.status().recovering).toBe(false);
  });

  it('begins anew with the leader of a new term', () => {
    const { node, life } = recovering();
    node.step(append(2, 4, [3], life), append(3, 3, [4], 0, 4));
    expect(node.drain().filter(({ type }) => type === 'append-rejection')).toHaveLength(1);
    // What the leader of term 3 had named is reached in term 4: that says nothing any more.
    node.step(append(3, 0, [4], life, 4));
    node.drain();
    expect(node.raft.status()).toMatchObject({ lastIndex: 4, recovering: true });
    node.step(append(4, 4, [], life, 4));
    node.drain();
    expect(node.raft.status().recovering).toBe(false);
  });

  it('obeys no leader that wants to hand over to it', () => {
    const { node } = recovering();
    node.step({ type: 'timeout-now', from: nodeId(2), to: nodeId(1), term: term(3) });
    expect(node.raft.status()).toMatchObject({ role: 'follower', term: 3 });
  });
});

describe('a leader whose follower lost entries', () => {
  /** Entries 1 to 4, all at 2 as well, none at 3. */
  function leading(acknowledged = 4): LoneNode {
    const node = new LoneNode();
    node.lead([2]);
    node.acknowledge(2, 1);
    for (let i = 0; i < 3; i++) node.raft.propose(BYTES);
    node.drain();
    if (acknowledged > 1) node.acknowledge(2, acknowledged);
    node.drain();
    return node;
  }

  const loss = (life: number, lost: number): Message => ({
    type: 'append-rejection',
    from: nodeId(2),
    to: nodeId(1),
    term: term(1),
    rejectedIndex: logIndex(4),
    hintIndex: logIndex(1),
    hintTerm: term(1),
    life,
    lost,
  });
  const peer = (node: LoneNode): unknown => node.raft.status().peers[1];

  it('takes the match back, keeps the commit index, and begins where the logs meet', () => {
    const node = leading();
    expect(peer(node)).toMatchObject({ match: 4, state: 'replicate' });
    node.step(loss(0, 77));
    expect(peer(node)).toMatchObject({ match: 0, next: 2, state: 'probe', inFlightMessages: 0 });
    expect(node.raft.status().commit).toBe(4);
    const [append] = appends(node.drain(), 2);
    expect(append).toMatchObject({ previousIndex: 1, life: 77, commit: 4 });
    expect(append?.entries).toHaveLength(3);
    node.acknowledge(2, 4, 77);
    node.raft.propose(BYTES);
    node.drain();
    node.acknowledge(2, 5, 77);
    expect(node.raft.status().commit).toBe(5);
  });

  it('does not count an acknowledgement that was given before', () => {
    const node = leading(1);
    node.step(loss(0, 77));
    node.drain();
    node.acknowledge(2, 4, 0);
    expect(node.raft.status().commit).toBe(1);
    expect(node.raft.counters().old_life).toBe(1);
    node.acknowledge(2, 4, 77);
    expect(node.raft.status().commit).toBe(4);
  });

  it('takes an old tale of a loss for no news', () => {
    const node = leading(1);
    node.step(loss(0, 77), loss(77, 88), loss(0, 77));
    node.drain();
    node.acknowledge(2, 4, 77);
    expect(node.raft.status().commit).toBe(1);
    node.acknowledge(2, 4, 88);
    expect(node.raft.status().commit).toBe(4);
  });

  it('waits for nothing that was in flight to the former life', () => {
    const node = new LoneNode({ settings: { inFlightMessagesMax: 2 } });
    node.lead([2]);
    node.acknowledge(2, 1);
    for (let i = 0; i < 3; i++) node.raft.propose(BYTES);
    node.drain();
    expect(peer(node)).toMatchObject({ inFlightMessages: 2, paused: true });
    node.step({ ...loss(0, 77), rejectedIndex: logIndex(3) } as Message);
    const [append] = appends(node.drain(), 2);
    expect(append).toMatchObject({ previousIndex: 1, life: 77 });
    node.acknowledge(2, 4, 77);
    expect(peer(node)).toMatchObject({ match: 4, state: 'replicate', inFlightMessages: 0 });
  });

  it('does not hand over to it', () => {
    const node = leading(1);
    node.raft.transferLeader(nodeId(2));
    node.step(loss(0, 77));
    expect(node.raft.status().transferTarget).toBe(0);
  });
});

describe('a group of 3 in which a follower loses entries', () => {
  /** The leader, the follower that will lose entries, and a third that is cut off from here on. */
  function cast(): { group: FakeGroup; leader: number; loser: number; third: number } {
    const group = new FakeGroup({ nodes: 3, settings: { appendBytesMax: 1, preVote: false } });
    group.passUntil(() => group.leader() !== undefined);
    const leader = group.leader() ?? 0;
    group.propose(leader, 'all');
    group.pass(50);
    const [loser = 0, third = 0] = group.ids.filter((id) => id !== leader);
    group.cutOff(third);
    return { group, leader, loser, third };
  }

  /** A heartbeat's time, in which every message goes one way. */
  function crawl(group: FakeGroup): void {
    group.nowMs += 10;
    for (const node of group.nodes.values()) {
      node.raft?.tick(group.nowMs);
      group.handleReady(node);
      group.syncAll(node);
    }
    for (const message of group.network.receive(group.nowMs)) group.deliver(message);
  }

  /** The leader is lost; the other two see each other. */
  function without(group: FakeGroup, leader: number): void {
    group.crash(leader);
    group.network.heal();
  }

  it('nobody is elected who lacks what it helped to commit, and later it is as before', () => {
    const { group, leader, loser } = cast();
    group.propose(leader, 'two of three');
    group.settle();
    const settled = group.judge.settledIndex;
    group.crash(loser);
    group.lose(loser, settled - 1);
    without(group, leader);
    group.start(loser);
    group.pass(20 * ELECTION_MS);
    expect(group.leader()).toBeUndefined();
    group.start(leader);
    group.passUntil(() => group.leader() !== undefined);
    group.passUntil(() => !group.status(loser).recovering);
    expect(group.status(loser).durableIndex).toBeGreaterThanOrEqual(settled);
    group.crash(group.leader() ?? 0);
    group.passUntil(() => group.leader() !== undefined);
  });

  it('an append of before the loss does not end the recovery', () => {
    const { group, leader, loser, third } = cast();
    group.node(leader).diskHangs = true;
    group.propose(leader, 'late at the leader');
    group.settle();
    const { lastIndex } = group.status(leader);
    group.crash(loser);
    group.lose(loser, lastIndex - 1);
    group.start(loser);
    // An append that the follower had once, and which fits what it has left.
    const delayed = group.network.sent.findLast(
      (one) =>
        one.type === 'append' && one.to === loser && one.entries.length === 0 && one.commit > 0,
    );
    expect(delayed).toMatchObject({ previousIndex: lastIndex - 1, commit: lastIndex - 1 });
    group.network.cutBoth(nodeId(leader), nodeId(loser));
    if (delayed !== undefined) group.deliver(delayed);
    group.settle();
    // Only now the leader's own disk makes a majority, with what the follower has lost.
    group.node(leader).diskHangs = false;
    group.settle();
    expect(group.judge.settledIndex).toBe(lastIndex);
    without(group, leader);
    group.pass(20 * ELECTION_MS);
    expect([group.leader(), group.status(third).lastIndex]).toEqual([undefined, lastIndex - 1]);
  });

  it('an acknowledgement of before the loss commits nothing after it', () => {
    const { group, leader, loser, third } = cast();
    group.propose(leader, 'first');
    group.settle();
    const before = group.network.sent.length;
    group.network.cut(nodeId(loser), nodeId(leader));
    group.propose(leader, 'second');
    group.settle();
    const { lastIndex } = group.status(leader);
    const delayed = group.network.sent
      .slice(before)
      .find((one) => one.type === 'append-response' && one.index === lastIndex);
    group.crash(loser);
    group.lose(loser, lastIndex - 2);
    group.network.heal();
    group.cutOff(third);
    group.start(loser);
    // It tells of its loss, is sent one entry, and recovers without the second.
    for (let i = 0; i < 100 && group.status(loser).recovering; i++) crawl(group);
    group.network.cutBoth(nodeId(leader), nodeId(loser));
    expect(group.status(loser).lastIndex).toBe(lastIndex - 1);
    if (delayed !== undefined) group.deliver(delayed);
    group.settle();
    without(group, leader);
    group.passUntil(() => group.leader() !== undefined);
    expect(group.judge.settledIndex).toBeLessThanOrEqual(lastIndex);
  });
});
