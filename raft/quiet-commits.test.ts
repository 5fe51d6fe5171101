/**
 * Goal: with `quietCommits` a commit index rides on the next append, or leaves when the host says
 * so, once; and a follower answers at once only what tells its leader something. Method: one leader
 * whose peers the test plays, one follower whose leader the test plays, and a leader that probes a
 * follower which has everything.
 */
import { describe, expect, it } from 'vitest';
import { logIndex, nodeId, term } from './identifiers.js';
import type { AppendRequest, Message } from './messages.js';
import { entriesOf, LoneNode } from './testing/lone.fake.js';

const settings = { quietCommits: true } as const;
const BYTES = new Uint8Array(10);

function sent(messages: readonly Message[]): readonly string[] {
  return messages.map((message) => {
    if (message.type === 'append') {
      return `${message.to}: ${message.entries.length} entries, commit ${message.commit}`;
    }
    return message.type === 'append-response' ? `has ${message.index}` : message.type;
  });
}

describe('a leader', () => {
  /** Peers 2 and 3 hold all entries, and know of none that it is committed. */
  function withEntry(): LoneNode {
    const node = new LoneNode({ settings });
    node.lead([2]);
    for (const from of [2, 3]) node.acknowledge(from, 1);
    node.raft.tellCommit();
    node.drain();
    node.raft.propose(BYTES);
    node.drain();
    return node;
  }

  it('tells of a commit with the next append, and not once more', () => {
    const node = withEntry();
    node.acknowledge(2, 2);
    expect([node.raft.commitUntold, sent(node.drain())]).toEqual([true, []]);
    node.raft.propose(BYTES);
    node.raft.tellCommit();
    expect(sent(node.drain())).toEqual(['2: 1 entries, commit 2', '3: 1 entries, commit 2']);
    expect(node.raft.commitUntold).toBe(false);
  });

  it('tells of it when the host says so, whoever was the last to acknowledge', () => {
    const node = withEntry();
    node.acknowledge(2, 2);
    node.acknowledge(3, 2);
    expect(sent(node.drain())).toEqual([]);
    node.raft.tellCommit();
    expect(sent(node.drain())).toEqual(['2: 0 entries, commit 2', '3: 0 entries, commit 2']);
    node.raft.tellCommit();
    expect(sent(node.drain())).toEqual([]);
  });

  it('has nothing to tell when it is the only member', () => {
    const node = new LoneNode({ voters: [1], settings });
    node.pass(100);
    node.drain();
    node.raft.propose(BYTES);
    node.drain();
    expect(node.raft.status().commit).toBe(2);
    expect(node.raft.commitUntold).toBe(false);
  });
});

describe('a follower', () => {
  function append(previousIndex: number, terms: readonly number[], commit: number): AppendRequest {
    return {
      type: 'append',
      from: nodeId(2),
      to: nodeId(1),
      term: term(1),
      previousIndex: logIndex(previousIndex),
      previousTerm: term(previousIndex > 0 ? 1 : 0),
      entries: entriesOf(previousIndex + 1, terms),
      commit: logIndex(commit),
      life: 0,
    };
  }

  it('answers with its next tick what only carries a commit index', () => {
    const node = new LoneNode({ settings });
    node.step(append(0, [1], 0));
    expect(sent(node.drain())).toEqual(['has 1']);
    node.step(append(1, [], 1));
    expect(sent(node.drain())).toEqual([]);
    expect(node.raft.status()).toMatchObject({ commit: 1, applied: 1 });
    node.pass(10);
    expect(sent(node.drain())).toEqual(['has 1']);
    node.pass(10);
    expect(sent(node.drain())).toEqual([]);
  });

  it('leaves such an answer out when one that says more has gone', () => {
    const node = new LoneNode({ settings });
    node.step(append(0, [1], 0));
    node.drain();
    node.step(append(1, [], 1), append(1, [1], 1));
    expect(sent(node.drain())).toEqual(['has 2']);
    node.pass(10);
    expect(sent(node.drain())).toEqual([]);
  });

  it('answers at once what brings entries, though it has them', () => {
    const node = new LoneNode({ settings });
    node.step(append(0, [1], 0));
    node.drain();
    node.step(append(0, [1], 0));
    expect(sent(node.drain())).toEqual(['has 1']);
  });

  it('answers at once the first time that it is asked in a term', () => {
    const node = new LoneNode({ terms: [1], settings });
    node.step(append(1, [], 0));
    expect(sent(node.drain())).toEqual(['has 1']);
    node.step({ ...append(1, [], 1), from: nodeId(3), term: term(2) });
    expect(sent(node.drain())).toEqual(['has 1']);
  });

  it('that lost entries answers at once until it holds them again', () => {
    const node = new LoneNode({ terms: [1], settings, recovering: true });
    const first = append(1, [], 0);
    node.step(first);
    const [rejection] = node.drain();
    const life = rejection?.type === 'append-rejection' ? rejection.lost : 0;
    expect(life).toBeGreaterThan(0);
    for (let i = 0; i < 2; i++) {
      node.step({ ...first, life });
      expect(sent(node.drain())).toEqual(['has 1']);
    }
  });
});

it('a leader that lost its connection finds a follower that has everything within a tick', () => {
  const leader = new LoneNode({ settings });
  leader.lead([2]);
  const follower = new LoneNode({ id: 2, settings });
  const exchange = (messages: readonly Message[]) => {
    let open = messages.filter(({ to }) => to === 2);
    while (open.length > 0) {
      follower.step(...open);
      leader.step(...follower.drain().filter(({ to }) => to === 1));
      open = leader.drain().filter(({ to }) => to === 2);
    }
  };
  leader.raft.propose(BYTES);
  // Messages that it sent as it was elected are lost.
  leader.pass(10);
  exchange(leader.drain());
  leader.raft.tellCommit();
  exchange(leader.drain());
  const stateOf = () => leader.raft.status().peers.find(({ id }) => id === 2)?.state;
  expect(stateOf()).toBe('replicate');
  leader.raft.reportUnreachable(nodeId(2));
  leader.pass(10);
  exchange(leader.drain());
  expect(stateOf()).toBe('probe');
  follower.pass(10);
  leader.step(...follower.drain().filter(({ to }) => to === 1));
  expect(stateOf()).toBe('replicate');
});
