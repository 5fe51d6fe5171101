/**
 * Goal: a read sees everything that was visible when it began, from a leader that was one then.
 * Method: one leader whose peers the test plays; small groups for the way through a follower.
 */
import { describe, expect, it } from 'vitest';
import { logIndex, nodeId, term } from './identifiers.js';
import type { Message } from './messages.js';
import { FakeGroup } from './testing/group.fake.js';
import { LoneNode } from './testing/lone.fake.js';

const LEASE = { checkQuorum: true, preVote: true, reads: 'lease' } as const;

function leader(settings: ConstructorParameters<typeof LoneNode>[0] = {}): LoneNode {
  const node = new LoneNode({ ...settings, settings: { ...settings?.settings, preVote: false } });
  node.lead([2]);
  for (const from of [2, 3]) node.acknowledge(from, 1);
  node.drain();
  return node;
}

function heartbeats(messages: readonly Message[]): readonly Message[] {
  return messages.filter((message) => message.type === 'heartbeat');
}

function reply(node: LoneNode, from: number, round: number, sentMs = 0): void {
  const envelope = { from: nodeId(from), to: nodeId(1), term: node.raft.status().term };
  node.step({ type: 'heartbeat-response', ...envelope, round, sentMs, lost: 0 });
}

function roundOf(messages: readonly Message[]): number {
  const [first] = heartbeats(messages);
  return first?.type === 'heartbeat' ? first.round : 0;
}

describe('a read by quorum', () => {
  it('waits for one round, which serves all that wait', () => {
    const node = leader();
    for (let i = 0; i < 3; i++) expect(node.raft.readIndex(node.nowMs).accepted).toBe(true);
    const sent = node.drain();
    expect(heartbeats(sent).length).toBe(2);
    expect(node.readStates).toEqual([]);
    reply(node, 2, roundOf(sent));
    node.drain();
    expect(node.readStates.map((state) => state.index)).toEqual([1, 1, 1]);
  });

  it('is not served by a round that began before it', () => {
    const node = leader();
    node.raft.readIndex(node.nowMs);
    const first = roundOf(node.drain());
    node.raft.readIndex(node.nowMs);
    node.drain();
    reply(node, 2, first);
    const second = node.drain();
    expect(node.readStates.length).toBe(1);
    expect(roundOf(second)).toBeGreaterThan(first);
    reply(node, 3, roundOf(second));
    node.drain();
    expect(node.readStates.length).toBe(2);
  });

  it('whose round is lost rides on the next heartbeat', () => {
    const node = leader();
    node.raft.readIndex(node.nowMs);
    node.drain();
    node.pass(10);
    reply(node, 2, roundOf(node.drain()));
    node.drain();
    expect(node.readStates.length).toBe(1);
  });

  it('waits until the leader has committed in its own term', () => {
    const node = new LoneNode({ terms: [1], hardState: { term: 1, commit: 1 } });
    node.lead([2]);
    node.raft.readIndex(node.nowMs);
    node.drain();
    reply(node, 2, 1);
    node.drain();
    expect(node.readStates).toEqual([]);
    node.acknowledge(2, 2);
    reply(node, 2, roundOf(node.drain()));
    node.drain();
    expect(node.readStates.map((state) => state.index)).toEqual([2]);
  });

  it('ends without an answer when the leadership does', () => {
    const node = leader();
    const ticket = node.raft.readIndex(node.nowMs);
    node.drain();
    const envelope = { from: nodeId(2), to: nodeId(1), term: term(9) };
    node.step({ type: 'append-response', ...envelope, index: logIndex(0), life: 0 });
    node.drain();
    expect(node.readStates).toEqual([{ id: ticket.accepted ? ticket.id : 0, index: undefined }]);
  });

  it('is refused without a leader, and when too many wait', () => {
    const alone = new LoneNode();
    expect(alone.raft.readIndex(0)).toEqual({ accepted: false, reason: 'no_leader' });
    const node = leader({ settings: { readsMax: 1 } });
    node.raft.readIndex(node.nowMs);
    expect(node.raft.readIndex(node.nowMs)).toEqual({ accepted: false, reason: 'too_many_reads' });
  });
});

describe('a read by lease', () => {
  it('is answered at once while a quorum answered lately, counted from when it was asked', () => {
    const node = leader({ settings: LEASE });
    node.pass(10);
    const beat = heartbeats(node.drain())[0];
    expect(beat).toMatchObject({ sentMs: 10 });
    node.pass(20);
    reply(node, 2, 1, 10);
    node.drain();
    node.raft.readIndex(node.nowMs);
    node.sendOnly();
    expect(node.readStates.length).toBe(1);
    // 10 + 100 - 10: the lease ends before the promise of the peer can.
    node.raft.readIndex(99);
    node.sendOnly();
    expect(node.readStates.length).toBe(2);
    node.raft.readIndex(100);
    node.sendOnly();
    expect(node.readStates.length).toBe(2);
  });

  it('is over, for the whole term, once the leader has asked another to campaign', () => {
    const node = leader({ settings: LEASE });
    node.pass(10);
    node.drain();
    reply(node, 2, 1, 10);
    node.raft.transferLeader(nodeId(2));
    node.sendOnly();
    node.raft.readIndex(node.nowMs);
    node.sendOnly();
    expect(node.readStates).toEqual([]);
  });
});

describe('a read at a follower', () => {
  it('goes to the leader and back', () => {
    const group = new FakeGroup({ nodes: 3 });
    group.passUntil(() => group.leader() !== undefined);
    const lead = group.leader() ?? 0;
    const other = group.ids.find((id) => id !== lead) ?? 0;
    group.pass(20);
    const id = group.read(other) ?? 0;
    group.settle();
    expect(group.node(other).readAnswers.get(id)).toBe(group.status(lead).commit);
  });

  it('whose question is lost is given up after an election timeout', () => {
    const group = new FakeGroup({ nodes: 3 });
    group.passUntil(() => group.leader() !== undefined);
    const lead = group.leader() ?? 0;
    const other = group.ids.find((id) => id !== lead) ?? 0;
    group.pass(20);
    group.network.cut(nodeId(other), nodeId(lead));
    const id = group.read(other) ?? 0;
    group.pass(110);
    expect(group.node(other).readAnswers.has(id)).toBe(true);
    expect(group.node(other).readAnswers.get(id)).toBeUndefined();
  });

  it('ids of one life do not meet the answers of another', () => {
    const lives = [0.25, 0.75].map((random) => {
      const node = new LoneNode({ hardState: { term: 1 }, random });
      const envelope = { from: nodeId(2), to: nodeId(1), term: term(1) };
      node.step({ type: 'heartbeat', ...envelope, commit: logIndex(0), round: 1, sentMs: 0 });
      const ticket = node.raft.readIndex(0);
      return { node, envelope, id: ticket.accepted ? ticket.id : 0 };
    });
    const [before, after] = lives;
    if (before === undefined || after === undefined) throw new Error('two lives');
    const answer = { type: 'read-response', ...after.envelope, index: logIndex(7) } as const;
    after.node.step({ ...answer, id: before.id });
    after.node.drain();
    expect(after.node.readStates).toEqual([]);
    after.node.step({ ...answer, id: after.id });
    after.node.drain();
    expect(after.node.readStates).toEqual([{ id: after.id, index: 7 }]);
  });
});
