/**
 * Goal: a follower keeps what is committed, replaces only what differs, and acknowledges only what
 * its disk holds. Method: one follower whose leader and disk the test plays.
 */
import { describe, expect, it } from 'vitest';
import { logIndex, nodeId, term } from './identifiers.js';
import type { Message } from './messages.js';
import { entriesOf, LoneNode } from './testing/lone.fake.js';

function append(
  ofTerm: number,
  previousIndex: number,
  previousTerm: number,
  terms: readonly number[],
  commit = 0,
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
    life: 0,
  };
}

describe('an append', () => {
  it('is acknowledged when the disk has it', () => {
    const node = new LoneNode();
    node.step(append(1, 0, 0, [1, 1]));
    expect(node.sendOnly()).toEqual([]);
    expect(node.sync()).toMatchObject([{ type: 'append-response', to: 2, index: 2 }]);
  });

  it('that comes late does not cut what followed it', () => {
    const node = new LoneNode();
    node.step(append(1, 0, 0, [1, 1, 1]), append(1, 0, 0, [1]));
    expect(node.raft.status().lastIndex).toBe(3);
  });

  it('replaces from the first difference on', () => {
    const node = new LoneNode({ terms: [1, 1, 1, 1] });
    node.step(append(2, 1, 1, [1, 2]));
    node.drain();
    expect([1, 2, 3, 4].map((i) => node.disk.term(logIndex(i)))).toEqual([1, 1, 2, undefined]);
  });

  it('commits no further than it vouches for', () => {
    // Entry 2 is of a lost leader: that the group committed up to 2 says nothing about it.
    const node = new LoneNode({ terms: [1, 1] });
    node.step(append(2, 1, 1, [], 2));
    expect(node.raft.status().commit).toBe(1);
  });

  it('below the commit index is answered with the commit index', () => {
    const node = new LoneNode({ terms: [1, 1], hardState: { term: 1, commit: 2 } });
    node.step(append(1, 0, 0, [1]));
    expect(node.drain()).toMatchObject([{ type: 'append-response', index: 2 }]);
  });

  it.each([
    // Own terms, previous index and term asked for, expected hint.
    [[1, 1], 5, 1, 2, 1],
    [[1, 2, 2, 2], 4, 1, 1, 1],
    [[1, 3, 3], 3, 2, 1, 1],
    [[2, 2], 2, 1, 0, 0],
  ])(
    'onto %j after (%i, %i) is rejected with hint (%i, %i)',
    (terms, index, at, hint, hintTerm) => {
      const node = new LoneNode({ terms });
      node.step(append(9, index, at, [9]));
      expect(node.drain()).toMatchObject([
        { type: 'append-rejection', rejectedIndex: index, hintIndex: hint, hintTerm },
      ]);
    },
  );

  it('of an old term is answered with the own term, or not at all', () => {
    const silent = new LoneNode({ hardState: { term: 3 } });
    silent.step(append(2, 0, 0, [2]));
    expect(silent.drain()).toEqual([]);
    const node = new LoneNode({ hardState: { term: 3 }, settings: { checkQuorum: true } });
    node.step(append(2, 0, 0, [2]));
    expect(node.drain()).toMatchObject([{ type: 'append-response', term: 3, index: 0 }]);
  });
});

describe('the disk runs behind', () => {
  it('a report about replaced entries does not count for what replaced them', () => {
    const node = new LoneNode();
    // The entries of term 1 reach the disk in term 2, whose leader then replaces the second.
    node.step(append(1, 0, 0, [1, 1]), append(2, 0, 0, []));
    const first = node.raft.ready();
    node.step(append(2, 1, 1, [2]));
    const second = node.raft.ready();
    for (const message of first.afterDurable) if (message.to === 1) node.step(message);
    expect(node.raft.status().durableIndex).toBe(0);
    for (const message of second.afterDurable) if (message.to === 1) node.step(message);
    expect(node.raft.status().durableIndex).toBe(2);
  });

  it('nor does one asked for in an earlier term, even if the numbers look the same', () => {
    const node = new LoneNode();
    node.step(append(1, 0, 0, [1, 1]));
    const first = node.raft.ready();
    // Another leader cuts entry 2, a third one restores an entry (2, 1): not the one written above.
    node.step(append(2, 1, 1, [2]));
    node.raft.ready();
    node.step(append(3, 1, 1, [1]));
    const third = node.raft.ready();
    for (const message of first.afterDurable) if (message.to === 1) node.step(message);
    expect(node.raft.status().durableIndex).toBe(0);
    for (const message of third.afterDurable) if (message.to === 1) node.step(message);
    expect(node.raft.status().durableIndex).toBe(2);
  });

  it('what is committed but not on the own disk is not applied', () => {
    const node = new LoneNode();
    node.step(append(1, 0, 0, [1, 1], 2));
    node.sendOnly();
    expect(node.raft.status()).toMatchObject({ commit: 2, applied: 0 });
    node.drain();
    expect(node.raft.status().applied).toBe(2);
  });

  it('a commit index that outlived the entries is cut to the log at a restart', () => {
    const node = new LoneNode({ terms: [1, 1], hardState: { term: 1, commit: 9 } });
    expect(node.raft.status().commit).toBe(2);
  });
});

describe('a heartbeat', () => {
  const heartbeat = (commit: number): Message => ({
    type: 'heartbeat',
    from: nodeId(2),
    to: nodeId(1),
    term: term(1),
    commit: logIndex(commit),
    round: 7,
    sentMs: 42,
  });

  it('moves the commit index and returns its round and time', () => {
    const node = new LoneNode({ terms: [1, 1] });
    node.step(heartbeat(1));
    expect(node.drain()).toMatchObject([{ type: 'heartbeat-response', round: 7, sentMs: 42 }]);
    expect(node.raft.status().commit).toBe(1);
  });

  it('claims nothing beyond the log of a node that lost entries', () => {
    const node = new LoneNode({ terms: [1] });
    node.step(heartbeat(5));
    expect(node.raft.status().commit).toBe(0);
  });
});

it('a second leader of one term is not listened to', () => {
  const node = new LoneNode();
  node.lead([2]);
  node.step(append(1, 0, 0, [1, 1, 1], 3));
  expect(node.raft.status()).toMatchObject({ role: 'leader', commit: 0, lastIndex: 1 });
  const follower = new LoneNode();
  follower.step(append(1, 0, 0, [1]), { ...append(1, 0, 0, [1, 1]), from: nodeId(3) });
  expect(follower.raft.status()).toMatchObject({ leader: 2, lastIndex: 1 });
  expect([node, follower].map(({ raft }) => raft.counters().second_leader)).toEqual([1, 1]);
});
