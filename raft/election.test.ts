/**
 * Goal: who campaigns, who votes, and what must be on disk first. Method: one node whose peers,
 * disk and clock the test plays, message by message; where two sides matter, a small group.
 */
import { describe, expect, it } from 'vitest';
import { logIndex, nodeId, term } from './identifiers.js';
import type { Message } from './messages.js';
import { FakeGroup } from './testing/group.fake.js';
import { LoneNode } from './testing/lone.fake.js';

const to = nodeId(1);

function voteRequest(from: number, ofTerm: number, lastIndex: number, lastTerm: number): Message {
  return {
    type: 'vote-request',
    from: nodeId(from),
    to,
    term: term(ofTerm),
    lastIndex: logIndex(lastIndex),
    lastTerm: term(lastTerm),
    forced: false,
  };
}

function heartbeat(from: number, ofTerm: number): Message {
  const envelope = { from: nodeId(from), to, term: term(ofTerm) };
  return { type: 'heartbeat', ...envelope, commit: logIndex(0), round: 1, sentMs: 0 };
}

describe('a vote', () => {
  it('leaves only after the disk has it', () => {
    const node = new LoneNode();
    node.step(voteRequest(2, 1, 0, 0));
    expect(node.sendOnly()).toEqual([]);
    expect(node.sync()).toMatchObject([{ type: 'vote-response', to: 2, granted: true }]);
    expect(node.disk.hardState).toMatchObject({ term: 1, vote: 2 });
  });

  it('is given once a term, also across a restart', () => {
    const node = new LoneNode({ hardState: { term: 2, vote: 2 } });
    node.step(voteRequest(3, 2, 9, 1), voteRequest(2, 2, 9, 1));
    expect(node.drain()).toMatchObject([
      { to: 3, granted: false },
      { to: 2, granted: true },
    ]);
  });

  it.each([
    [2, 1, false],
    [3, 1, false],
    [1, 2, false],
    [2, 2, true],
    [1, 3, true],
  ])('for a log that ends at (%i, %i) against (2, 2) is %s', (lastIndex, lastTerm, granted) => {
    const node = new LoneNode({ terms: [1, 2] });
    node.step(voteRequest(2, 5, lastIndex, lastTerm));
    expect(node.drain()).toMatchObject([{ type: 'vote-response', granted }]);
  });

  it('is refused while a leader is heard, unless that leader asked for it', () => {
    const node = new LoneNode({ settings: { checkQuorum: true } });
    node.step(heartbeat(2, 1));
    node.drain();
    node.step(voteRequest(3, 2, 0, 0));
    expect(node.drain()).toEqual([]);
    expect(node.raft.status().term).toBe(1);
    node.step({ ...voteRequest(3, 2, 0, 0), forced: true } as Message);
    expect(node.drain()).toMatchObject([{ granted: true, term: 2 }]);
  });

  it('comes from no node that lost its log', () => {
    const node = new LoneNode({ recovering: true });
    node.step(voteRequest(2, 1, 0, 0));
    node.pass(500);
    node.raft.campaign();
    expect(node.drain()).toEqual([]);
    expect(node.raft.status()).toMatchObject({ role: 'follower', vote: 0, recovering: true });
  });
});

describe('a promise under lease reads', () => {
  const settings = { checkQuorum: true, preVote: true, reads: 'lease' } as const;

  it('counts from the next reading of the clock, not from a stale one', () => {
    const node = new LoneNode({ settings });
    // The host was stopped for long; the heartbeat is handled before the clock is read.
    node.step(heartbeat(2, 1));
    node.drain();
    node.nowMs = 5000;
    node.raft.tick(5000);
    node.raft.tick(5099);
    node.step(voteRequest(3, 2, 0, 0));
    expect(node.raft.status().term).toBe(1);
    // The promise is over at 5,100 ms. By its running time the leader may live for longer.
    for (let nowMs = 5100; nowMs < 5200; nowMs += 10) node.raft.tick(nowMs);
    node.step(voteRequest(3, 2, 0, 0));
    expect(node.raft.status().term).toBe(2);
  });

  it('may have been given before a restart', () => {
    const node = new LoneNode({ settings, hardState: { term: 1 } });
    node.step(voteRequest(3, 2, 0, 0));
    expect(node.raft.status().term).toBe(1);
    node.pass(100);
    node.step(voteRequest(3, 2, 0, 0));
    expect(node.raft.status()).toMatchObject({ term: 2, vote: 3 });
  });
});

describe('a candidate', () => {
  it('asks for votes only when its term, its vote and its log are durable', () => {
    const node = new LoneNode();
    node.raft.campaign();
    expect(node.sendOnly()).toEqual([]);
    expect(node.sync()).toMatchObject([
      { type: 'vote-request', to: 2, term: 1 },
      { type: 'vote-request', to: 3, term: 1 },
    ]);
    expect(node.disk.hardState).toMatchObject({ term: 1, vote: 1 });
  });

  it('raises no term before a majority would vote for it', () => {
    const node = new LoneNode({ settings: { preVote: true } });
    node.pass(100);
    const asked = node.drain();
    expect(asked.map((message) => message.type)).toEqual(['pre-vote-request', 'pre-vote-request']);
    expect(node.raft.status()).toMatchObject({ role: 'pre-candidate', term: 0 });
    const grant = { type: 'pre-vote-response', to, granted: true } as const;
    node.step({ ...grant, from: nodeId(3), term: term(1) });
    expect(node.raft.status()).toMatchObject({ role: 'candidate', term: 1 });
  });

  it('adopts the term of a pre-vote rejection', () => {
    const node = new LoneNode({ settings: { preVote: true } });
    node.pass(100);
    node.drain();
    const rejection = { type: 'pre-vote-response', to, granted: false } as const;
    node.step({ ...rejection, from: nodeId(3), term: term(7) });
    expect(node.raft.status()).toMatchObject({ role: 'follower', term: 7 });
  });

  it('becomes a follower when a quorum rejects it', () => {
    const node = new LoneNode();
    node.raft.campaign();
    node.drain();
    for (const from of [2, 3]) {
      const envelope = { from: nodeId(from), to, term: term(1) };
      node.step({ type: 'vote-response', ...envelope, granted: false });
    }
    expect(node.raft.status().role).toBe('follower');
  });

  it('waits while a committed configuration is not applied', () => {
    const group = new FakeGroup({ nodes: 3 });
    group.passUntil(() => group.leader() !== undefined);
    const leader = group.leader() ?? 0;
    const other = group.ids.find((id) => id !== leader) ?? 0;
    const change = { type: 'remove', node: nodeId(other) } as const;
    const { configurationIndex } = group.status(leader);
    group
      .raft(leader)
      .proposeConfiguration(
        { changes: [change], transition: 'auto', context: new Uint8Array(0) },
        configurationIndex,
      );
    group.pass(30);
    // Its checkpoint is empty, so after a restart it has yet to learn that it was removed.
    group.crash(other);
    group.start(other);
    expect(group.status(other).configuration.voters).toContain(other);
    expect(group.status(other).commit).toBeGreaterThan(0);
    group.raft(other).campaign();
    expect(group.status(other).role).toBe('follower');
  });
});

it('a preferred leader campaigns first', () => {
  const node = new LoneNode({ settings: { campaignDelayMs: 300 } });
  node.pass(390);
  expect(node.raft.status().role).toBe('follower');
  node.pass(10);
  expect(node.raft.status().role).toBe('candidate');
});

it('a node that was cut off does not depose the leader when it returns', () => {
  const group = new FakeGroup({ nodes: 3 });
  group.passUntil(() => group.leader() !== undefined);
  const leader = group.leader() ?? 0;
  const { term: before } = group.status(leader);
  const other = group.ids.find((id) => id !== leader) ?? 0;
  group.cutOff(other);
  group.pass(1000);
  group.network.heal();
  group.pass(300);
  expect(group.status(leader)).toMatchObject({ role: 'leader', term: before });
});

it('the bridge: two halves that only see each other through one node still work', () => {
  const group = new FakeGroup({ nodes: 5 });
  group.passUntil(() => group.leader() !== undefined);
  // 3 sees everybody; {1, 2} and {4, 5} do not see each other.
  for (const one of [1, 2]) {
    for (const other of [4, 5]) group.network.cutBoth(nodeId(one), nodeId(other));
  }
  const before = group.judge.settledIndex;
  group.passUntil(() => {
    const leader = group.leader();
    if (leader !== undefined) group.propose(leader, 'x');
    return group.judge.settledIndex > before + 10;
  });
});

it('the bridge: three nodes in a line keep a leader', () => {
  const group = new FakeGroup({ nodes: 3 });
  group.network.cutBoth(nodeId(1), nodeId(3));
  group.passUntil(() => {
    const leader = group.leader();
    if (leader !== undefined) group.propose(leader, 'x');
    return group.judge.settledIndex > 10;
  });
});

describe('a leader that is forgotten', () => {
  it('no longer keeps this node from voting, until it is heard again', () => {
    const node = new LoneNode({ settings: { checkQuorum: true } });
    node.step(heartbeat(2, 1), voteRequest(3, 2, 0, 0));
    expect(node.raft.status()).toMatchObject({ term: 1, leader: 2 });
    expect(node.raft.counters().lease).toBe(1);
    expect(node.raft.forgetLeader()).toEqual({ accepted: true });
    expect(node.raft.status().leader).toBe(0);
    node.step(heartbeat(2, 1), voteRequest(3, 2, 0, 0));
    expect(node.raft.status()).toMatchObject({ term: 1, leader: 2 });
    node.raft.forgetLeader();
    node.step(voteRequest(3, 2, 0, 0));
    expect(node.raft.status()).toMatchObject({ term: 2, vote: 3 });
  });

  it('may still count on this node under lease reads, and cannot forget itself', () => {
    const lease = new LoneNode({ settings: { checkQuorum: true, reads: 'lease' } });
    lease.step(heartbeat(2, 1));
    expect(lease.raft.forgetLeader()).toEqual({ accepted: false, reason: 'lease_reads' });
    expect(lease.raft.status().leader).toBe(2);
    const leader = new LoneNode();
    leader.lead([2]);
    expect(leader.raft.forgetLeader()).toEqual({ accepted: false, reason: 'leading' });
    expect(leader.raft.status().role).toBe('leader');
  });
});

it('a node that its host takes out of elections votes, but is not elected', () => {
  const node = new LoneNode();
  node.raft.setElectable(false);
  node.pass(500);
  node.step({ type: 'timeout-now', from: nodeId(2), to, term: term(1) });
  expect(node.raft.status()).toMatchObject({ role: 'follower', term: 1 });
  node.step(voteRequest(3, 2, 0, 0));
  expect(node.raft.status().vote).toBe(3);
  node.raft.setElectable(true);
  node.pass(100);
  expect(node.raft.status().role).toBe('candidate');
});

it('a granted pre-vote for an older term does not count', () => {
  const node = new LoneNode({ settings: { preVote: true }, hardState: { term: 4 } });
  node.pass(100);
  node.drain();
  const grant = { type: 'pre-vote-response', from: nodeId(3), to, granted: true } as const;
  // Asked for when this node was at term 3.
  node.step({ ...grant, term: term(4) });
  expect(node.raft.status().role).toBe('pre-candidate');
  node.step({ ...grant, term: term(5) });
  expect(node.raft.status().role).toBe('candidate');
});

it('a node that never campaigns tells a leader of an older term all the same', () => {
  const recovering = new LoneNode({ recovering: true, hardState: { term: 3 } });
  const mending = new LoneNode({ hardState: { term: 3 } });
  mending.raft.setElectable(false);
  for (const node of [recovering, mending]) {
    node.step(heartbeat(2, 2));
    expect(node.drain()).toMatchObject([{ type: 'append-response', term: 3, index: 0 }]);
  }
});
