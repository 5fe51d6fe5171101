/**
 * Goal: a peer whose entries are gone is offered a snapshot, keeps its place while it fetches it,
 * and goes on by the log whatever becomes of the offer. Method: one leader and one follower played
 * by hand, with logs that begin late.
 */
import { describe, expect, it } from 'vitest';
import { configuration } from './configuration.js';
import { logIndex, nodeId, term } from './identifiers.js';
import type { Message, SnapshotRequest } from './messages.js';
import type { PeerStatus } from './ready.js';
import { LoneNode } from './testing/lone.fake.js';

const BYTES = new Uint8Array(1);

function snapshotOf(index: number, ofTerm = 1): SnapshotRequest['snapshot'] {
  return {
    index: logIndex(index),
    term: term(ofTerm),
    configuration: configuration([1, 2, 3].map(nodeId)),
    configurationIndex: logIndex(0),
    manifest: new Uint8Array(4),
  };
}

/** Node 1 leads term 1; its log begins at 4 and ends at 5; node 2 has nothing. */
function leading(settings: object = {}): LoneNode {
  const node = new LoneNode({ settings: { checkQuorum: true, ...settings } });
  node.lead([3]);
  for (let i = 0; i < 4; i++) node.raft.propose(BYTES);
  node.drain();
  node.acknowledge(3, 5);
  node.drain();
  node.disk.compact(logIndex(3));
  node.disk.newestSnapshot = snapshotOf(3);
  return node;
}

/** A heartbeat leaves, and comes back from those named; returns what was sent then. */
function beat(node: LoneNode, from: readonly number[]): readonly Message[] {
  node.pass(10);
  const sent = [...node.drain()];
  const { id: to, term: ofTerm } = node.raft.status();
  const round = sent.find((one) => one.type === 'heartbeat')?.round ?? 0;
  for (const peer of from) {
    const envelope = { from: nodeId(peer), to, term: ofTerm };
    node.step({ type: 'heartbeat-response', ...envelope, round, sentMs: node.nowMs, lost: 0 });
    sent.push(...node.drain());
  }
  return sent;
}

function peer(node: LoneNode, id: number): PeerStatus | undefined {
  return node.raft.status().peers.find((one) => one.id === id);
}

function offered(node: LoneNode): LoneNode {
  const envelope = { from: nodeId(2), to: nodeId(1), term: term(1) };
  node.step({
    type: 'append-rejection',
    ...envelope,
    rejectedIndex: logIndex(0),
    hintIndex: logIndex(0),
    hintTerm: term(0),
    life: 0,
    lost: 0,
  });
  beat(node, [2, 3]);
  expect(peer(node, 2)).toMatchObject({ state: 'snapshot', match: 0, next: 4 });
  return node;
}

const offers = (messages: readonly Message[]): number =>
  messages.filter((one) => one.type === 'snapshot').length;

describe('a peer that fetches a snapshot', () => {
  it('is sent nothing else, is not dead, and keeps its leader', () => {
    const node = offered(leading({ snapshotRepeatMs: Number.POSITIVE_INFINITY }));
    const sent: Message[] = [];
    // Only it answers: with the leader it is the majority.
    for (let i = 0; i < 100; i++) sent.push(...beat(node, [2]));
    expect(sent.filter((one) => one.to === 2 && one.type !== 'heartbeat')).toEqual([]);
    expect(node.raft.status().role).toBe('leader');
    expect(peer(node, 2)).toMatchObject({ state: 'snapshot', live: true });
    expect(peer(node, 3)).toMatchObject({ live: false });
  });

  it('is offered it again when it is silent about it, as long as it lives', () => {
    const node = offered(leading({ snapshotRepeatMs: 50 }));
    const sent: Message[] = [];
    for (let i = 0; i < 20; i++) sent.push(...beat(node, [2, 3]));
    expect(offers(sent)).toBe(4);
    expect(peer(node, 2)?.state).toBe('snapshot');
    const later: Message[] = [];
    for (let i = 0; i < 20; i++) later.push(...beat(node, [3]));
    expect(offers(later)).toBe(0);
  });

  it('goes on by the log with any answer that reaches it', () => {
    const node = offered(leading());
    node.acknowledge(2, 3);
    const [append] = node.drain().filter((one) => one.type === 'append');
    expect(append).toMatchObject({ to: 2, previousIndex: 3 });
    expect(peer(node, 2)).toMatchObject({ state: 'replicate', match: 3 });
    // An older log than the leader's first entry does not.
    const other = offered(leading());
    other.acknowledge(2, 2);
    expect(peer(other, 2)).toMatchObject({ state: 'snapshot', match: 2 });
  });

  it('is probed after a report, and offered again when that fails', () => {
    const node = offered(leading());
    node.raft.reportSnapshot(nodeId(2), 'failed');
    expect(offers(beat(node, [2]))).toBe(1);
    node.raft.reportSnapshot(nodeId(2), 'sent');
    const [append] = beat(node, [2]).filter((one) => one.type === 'append');
    expect(append).toMatchObject({ previousIndex: 3 });
  });
});

describe('an offer', () => {
  const offer = (index: number, change: object = {}): SnapshotRequest => ({
    type: 'snapshot',
    from: nodeId(2),
    to: nodeId(1),
    term: term(2),
    snapshot: snapshotOf(index),
    life: 0,
    ...change,
  });

  it('is worth its state only to a node that lacks what it stands for', () => {
    const node = new LoneNode({ terms: [1, 1, 1], hardState: { term: 2, commit: 1 } });
    expect(node.raft.needsSnapshot(offer(1))).toBe(false);
    expect(node.raft.needsSnapshot(offer(3))).toBe(false);
    expect(node.raft.needsSnapshot(offer(3, { snapshot: snapshotOf(3, 2) }))).toBe(true);
    expect(node.raft.needsSnapshot(offer(4))).toBe(true);
    expect(node.raft.needsSnapshot(offer(4, { term: term(1) }))).toBe(false);
  });

  it('that is not needed is answered with where the log stands', () => {
    const node = new LoneNode({ terms: [1, 1, 1], hardState: { term: 2, commit: 1 } });
    node.step(offer(1));
    expect(node.drain()).toMatchObject([{ type: 'append-response', index: 1 }]);
    node.step(offer(3));
    expect(node.drain()).toMatchObject([{ type: 'append-response', index: 3 }]);
  });

  it('to a node that recovers is answered with its loss, and taken when that is known', () => {
    const node = new LoneNode({ recovering: true, random: 0.25, hardState: { term: 2 } });
    expect(node.raft.needsSnapshot(offer(4))).toBe(false);
    node.step(offer(4));
    const [rejection] = node.drain();
    const life = rejection?.type === 'append-rejection' ? rejection.lost : 0;
    expect(rejection).toMatchObject({ type: 'append-rejection', rejectedIndex: 4, hintIndex: 0 });
    expect(node.raft.needsSnapshot(offer(4, { life }))).toBe(true);
    node.step(offer(4, { life }));
    expect(node.drain()).toMatchObject([{ type: 'append-response', index: 4, life }]);
    // Where it ends says nothing about how much is committed.
    expect(node.raft.status()).toMatchObject({ commit: 4, recovering: true });
  });
});
