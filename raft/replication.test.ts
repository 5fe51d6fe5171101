/**
 * Goal: what a leader sends, when it commits, how it finds where logs meet, and when it steps down.
 * Method: one leader whose peers the test plays; small groups where both sides matter.
 */
import { describe, expect, it } from 'vitest';
import { type LogIndex, logIndex, nodeId, term } from './identifiers.js';
import type { AppendRequest, Message } from './messages.js';
import { FakeGroup } from './testing/group.fake.js';
import { entriesOf, LoneNode } from './testing/lone.fake.js';

const BYTES = new Uint8Array(10);

function appends(messages: readonly Message[], to: number): readonly AppendRequest[] {
  const found: AppendRequest[] = [];
  for (const message of messages) {
    if (message.type === 'append' && message.to === to) found.push(message);
  }
  return found;
}

function leader(settings: ConstructorParameters<typeof LoneNode>[0] = {}): LoneNode {
  const node = new LoneNode(settings);
  node.lead([2]);
  expect(node.raft.status().role).toBe('leader');
  return node;
}

/** Both peers hold the leader's own first entry. */
function settled(settings: ConstructorParameters<typeof LoneNode>[0] = {}): LoneNode {
  const node = leader(settings);
  const { lastIndex } = node.raft.status();
  for (const from of [2, 3]) node.acknowledge(from, lastIndex);
  node.drain();
  return node;
}

/** Forty entries, read from the storage one by one: peer 2 has all, peer 3 says it has none. */
function leaderOfLaggard(): LoneNode {
  const settings = { tailBytesMax: 0, appendBytesMax: 1 };
  const node = leader({ terms: Array.from({ length: 40 }, () => 1), settings });
  const { id: to, term: ofTerm, lastIndex } = node.raft.status();
  node.acknowledge(2, lastIndex);
  node.drain();
  const empty = { hintIndex: logIndex(0), hintTerm: term(0), life: 0, lost: 0 } as const;
  const envelope = { from: nodeId(3), to, term: ofTerm } as const;
  const rejectedIndex = logIndex(lastIndex - 1);
  node.step({ type: 'append-rejection', ...envelope, rejectedIndex, ...empty });
  return node;
}

describe('the tail', () => {
  it('keeps what is to be applied, so that nothing is read back between write and commit', () => {
    const node = settled({ settings: { tailBytesMax: 0, tailUnappliedBytesMax: 1000 } });
    const { index } = node.raft.propose(new Uint8Array(900)) as { readonly index: LogIndex };
    node.drain();
    node.disk.cold = true;
    node.acknowledge(2, index);
    node.drain();
    expect(node.raft.status().applied).toBe(index);
    // It is handed out, and not kept any longer.
    expect(node.raft.isCatchingUp(logIndex(index - 1))).toBe(true);
  });

  it('but no more of that than its bound', () => {
    const node = settled({ settings: { tailBytesMax: 0, tailUnappliedBytesMax: 1000 } });
    const { lastIndex } = node.raft.status();
    for (let i = 0; i < 3; i++) node.raft.propose(new Uint8Array(900));
    node.drain();
    node.acknowledge(2, lastIndex + 3);
    node.disk.cold = true;
    expect(() => node.drain()).toThrow('storage has no entry');
  });
});

describe('commit', () => {
  it('needs the leader of the entry: copies of an old term are not counted', () => {
    // The scene of the Raft paper's figure 8: entry 2 of term 2 reaches a majority in term 4.
    const node = leader({ terms: [1, 2], hardState: { term: 3 } });
    node.acknowledge(2, 2);
    node.acknowledge(3, 2);
    expect(node.raft.status().commit).toBe(0);
    node.acknowledge(2, 3);
    expect(node.raft.status()).toMatchObject({ commit: 3, term: 4 });
  });

  it('counts the own disk, which may be the last', () => {
    const node = settled({ voters: [1, 2] });
    node.raft.propose(BYTES);
    node.sendOnly();
    node.acknowledge(2, 2);
    expect(node.raft.status().commit).toBe(1);
    node.sync();
    expect(node.raft.status().commit).toBe(2);
  });

  it('may run ahead of the own disk, apply may not', () => {
    const node = settled();
    node.raft.propose(BYTES);
    node.sendOnly();
    node.acknowledge(2, 2);
    node.acknowledge(3, 2);
    node.sendOnly();
    expect(node.raft.status().commit).toBe(2);
    expect(node.committed.length).toBe(1);
    node.drain();
    expect(node.committed.length).toBe(2);
  });

  it('makes a leader known upward only after an entry of its own term is applied', () => {
    const node = leader();
    expect(node.raft.status()).toMatchObject({ role: 'leader', leading: false });
    node.acknowledge(2, 1);
    node.drain();
    expect(node.raft.status().leading).toBe(true);
  });

  it('of one voter needs no peer', () => {
    const node = new LoneNode({ voters: [1] });
    node.pass(100);
    node.drain();
    expect(node.raft.propose(BYTES)).toEqual({ accepted: true, index: 2, term: 1 });
    expect(node.sendOnly()).toEqual([]);
    expect(node.raft.status().commit).toBe(1);
    node.drain();
    expect(node.raft.status()).toMatchObject({ commit: 2, applied: 2 });
  });
});

describe('flow', () => {
  it('hands every entry to the disk once, with several appends under way', () => {
    const node = settled();
    node.raft.propose(BYTES);
    const first = node.raft.ready();
    node.raft.propose(BYTES);
    const second = node.raft.ready();
    expect(first.entries.map((entry) => entry.index)).toEqual([2]);
    expect(second.entries.map((entry) => entry.index)).toEqual([3]);
    expect(second.afterDurable).toMatchObject([
      { type: 'append-response', to: 1, index: 3 },
      { type: 'append-durable', index: 3 },
    ]);
    expect(node.raft.hasReady()).toBe(false);
  });

  it('probes with one append until the peer answers, then streams', () => {
    const node = leader();
    node.raft.propose(BYTES);
    node.raft.propose(BYTES);
    expect(appends(node.drain(), 2)).toEqual([]);
    node.acknowledge(2, 1);
    const [append] = appends(node.drain(), 2);
    expect(append?.entries.map((entry) => entry.index)).toEqual([2, 3]);
    node.raft.propose(BYTES);
    node.raft.propose(BYTES);
    expect(appends(node.drain(), 2).length).toBe(2);
  });

  it('stops at the window and goes on as it empties', () => {
    const node = settled({ settings: { inFlightMessagesMax: 2 } });
    for (let i = 0; i < 4; i++) node.raft.propose(BYTES);
    const sent = appends(node.drain(), 2);
    expect(sent.map((append) => append.entries.length)).toEqual([1, 1]);
    node.acknowledge(2, 2);
    const more = appends(node.drain(), 2);
    expect(more.map((append) => append.entries.map((entry) => entry.index))).toEqual([[4, 5]]);
  });

  it('reads two appends from the storage for an acknowledgement, whatever the window', () => {
    const node = leaderOfLaggard();
    const { lastIndex } = node.raft.status();
    expect(node.raft.isCatchingUp(logIndex(3))).toBe(true);
    expect(node.raft.isCatchingUp(lastIndex)).toBe(false);
    const counts: number[] = [];
    const waiting = [...appends(node.drain(), 3)];
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      node.acknowledge(3, next.previousIndex + next.entries.length);
      const sent = appends(node.drain(), 3).filter(({ entries }) => entries.length > 0);
      counts.push(sent.length);
      waiting.push(...sent);
    }
    expect(node.raft.status().peers.find((peer) => peer.id === 3)?.match).toBe(lastIndex);
    expect(Math.max(...counts)).toBe(2);
  });

  it('reads nothing from the storage for a proposal while an acknowledgement is awaited', () => {
    const node = leaderOfLaggard();
    node.drain();
    node.acknowledge(3, 1);
    expect(appends(node.drain(), 3).length).toBe(2);
    node.raft.propose(BYTES);
    const messages = node.drain();
    expect(appends(messages, 2).length).toBe(1);
    expect(appends(messages, 3)).toEqual([]);
    node.acknowledge(3, 2);
    expect(appends(node.drain(), 3).length).toBe(2);
    // Nothing is on its way any more that an acknowledgement could come of.
    const { lastIndex } = node.raft.status();
    node.acknowledge(3, lastIndex);
    node.drain();
    node.raft.propose(BYTES);
    expect(appends(node.drain(), 3).map(({ entries }) => entries.length)).toEqual([1]);
  });

  it('a heartbeat reply goes on with a laggard whose parts were lost, up to the commit', () => {
    const node = leaderOfLaggard();
    node.drain();
    node.acknowledge(3, 1);
    expect(appends(node.drain(), 3).length).toBe(2);
    const { id: to, term: ofTerm } = node.raft.status();
    for (let round = 0; round < 3; round++) {
      node.raft.propose(BYTES);
      node.drain();
      node.acknowledge(2, node.raft.status().lastIndex);
      expect(appends(node.drain(), 3)).toEqual([]);
    }
    const { lastIndex } = node.raft.status();
    const envelope = { from: nodeId(3), to, term: ofTerm };
    node.pass(10);
    node.drain();
    node.step({ type: 'heartbeat-response', ...envelope, round: 1, sentMs: 0, lost: 0 });
    expect(appends(node.drain(), 3)).toMatchObject([{ previousIndex: 3, commit: lastIndex }]);
    const hint = { hintIndex: logIndex(1), hintTerm: term(1), life: 0, lost: 0 } as const;
    node.step({ type: 'append-rejection', ...envelope, rejectedIndex: logIndex(3), ...hint });
    let told = 0;
    const waiting = [...appends(node.drain(), 3)];
    expect(waiting[0]?.previousIndex).toBe(1);
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const end = next.previousIndex + next.entries.length;
      told = Math.min(next.commit, end);
      node.acknowledge(3, end);
      waiting.push(...appends(node.drain(), 3));
    }
    expect(told).toBe(lastIndex);
  });

  it('after everything in a full window was lost, a heartbeat reply finds it out', () => {
    const node = settled({ settings: { inFlightMessagesMax: 1 } });
    node.raft.propose(BYTES);
    node.raft.propose(BYTES);
    node.pass(10);
    node.drain();
    const envelope = { from: nodeId(2), to: nodeId(1), term: term(1) };
    node.step({ type: 'heartbeat-response', ...envelope, round: 1, sentMs: 0, lost: 0 });
    const [empty] = appends(node.drain(), 2);
    expect(empty).toMatchObject({ previousIndex: 2, entries: [] });
    node.step({
      type: 'append-rejection',
      ...envelope,
      rejectedIndex: logIndex(2),
      hintIndex: logIndex(1),
      hintTerm: term(1),
      life: 0,
      lost: 0,
    });
    const [again] = appends(node.drain(), 2);
    expect(again?.entries.map((entry) => entry.index)).toEqual([2, 3]);
  });

  it('cuts appends by bytes, and refuses when too much waits for commit', () => {
    const node = settled({ settings: { appendBytesMax: 60, uncommittedBytesMax: 25 } });
    expect(node.raft.proposeAll([BYTES, BYTES]).accepted).toBe(true);
    expect(node.raft.propose(BYTES)).toEqual({ accepted: false, reason: 'uncommitted_full' });
    node.drain();
    node.acknowledge(2, 3);
    node.drain();
    expect(node.raft.propose(BYTES).accepted).toBe(true);
    node.drain();
    node.acknowledge(2, 4);
    node.drain();
    // One proposal is always taken when none waits, however large.
    expect(node.raft.propose(new Uint8Array(1000)).accepted).toBe(true);
  });

  it('tells a commit once, to those whose known commit is lower', () => {
    const node = settled();
    node.raft.propose(BYTES);
    node.drain();
    node.acknowledge(2, 2);
    const told = node.drain();
    expect(appends(told, 2)).toMatchObject([{ entries: [], commit: 2 }]);
    expect(appends(told, 3)).toMatchObject([{ entries: [], commit: 2 }]);
    node.acknowledge(3, 2);
    expect(node.drain()).toEqual([]);
  });
});

describe('where logs meet', () => {
  // The columns: terms of the leader's log, terms of the follower's, appends needed to meet.
  it.each([
    [[1, 1, 1, 4, 4], [1, 1, 1, 2, 2, 2, 3, 3, 3], 2],
    [[1, 2, 3, 4, 5, 6], [1, 2], 2],
    [[1, 1, 1, 1, 1, 1], [], 2],
    [[1, 3, 3, 3, 3, 3], [1, 2, 2, 2, 2, 2], 2],
    [[1, 2, 2, 2, 2, 2], [1, 1, 1, 1, 1, 1], 2],
  ])('leader %j, follower %j: %i appends', (leading, following, needed) => {
    const lead = new LoneNode({ terms: leading, hardState: { term: 9 } });
    const follow = new LoneNode({ id: 2, terms: following, hardState: { term: 9 } });
    lead.lead([3]);
    // The append that left with the election.
    const last = leading.length;
    let messages: readonly Message[] = [
      {
        type: 'append',
        from: nodeId(1),
        to: nodeId(2),
        term: term(10),
        previousIndex: logIndex(last),
        previousTerm: term(leading[last - 1] ?? 0),
        entries: entriesOf(last + 1, [10]),
        commit: logIndex(0),
        life: 0,
      },
    ];
    let tries = 0;
    while (messages.length > 0) {
      tries += appends(messages, 2).length;
      follow.step(...messages);
      lead.step(...follow.drain());
      messages = appends(lead.drain(), 2).filter((append) => append.entries.length > 0);
    }
    expect(tries).toBe(needed);
    const terms = [...leading, 10];
    expect(terms.map((_, i) => follow.disk.term(logIndex(i + 1)))).toEqual(terms);
    expect(follow.raft.status().lastIndex).toBe(terms.length);
  });
});

it('a rejection of what was acknowledged is not answered, or it would go on for ever', () => {
  const node = settled();
  node.raft.reportUnreachable(nodeId(2));
  node.raft.propose(BYTES);
  expect(appends(node.drain(), 2)).toMatchObject([{ previousIndex: 1 }]);
  const envelope = { from: nodeId(2), to: nodeId(1), term: term(1), life: 0, lost: 0 };
  const hint = { hintIndex: logIndex(0), hintTerm: term(0) };
  node.step({ type: 'append-rejection', ...envelope, rejectedIndex: logIndex(1), ...hint });
  expect(node.drain()).toEqual([]);
});

it('entries that storage has not at hand are sent after a later heartbeat reply', () => {
  const node = new LoneNode({ terms: [1, 1, 1], hardState: { term: 1 } });
  node.lead([2]);
  node.disk.cold = true;
  const envelope = { from: nodeId(2), to: nodeId(1), term: term(2) };
  const hint = { hintIndex: logIndex(0), hintTerm: term(0), life: 0, lost: 0 };
  node.step({ type: 'append-rejection', ...envelope, rejectedIndex: logIndex(3), ...hint });
  expect(appends(node.drain(), 2)).toMatchObject([{ previousIndex: 0, entries: [] }]);
  node.disk.cold = false;
  node.pass(10);
  node.drain();
  node.step({ type: 'heartbeat-response', ...envelope, round: 1, sentMs: 0, lost: 0 });
  const [append] = appends(node.drain(), 2);
  expect(append?.entries.map((entry) => entry.index)).toEqual([1, 2, 3, 4]);
});

describe('stepping down', () => {
  it('without answers of a quorum for an election timeout', () => {
    const node = settled({ settings: { checkQuorum: true } });
    // What was heard before the first check counts for it.
    node.pass(100);
    expect(node.raft.status().role).toBe('leader');
    node.pass(100);
    expect(node.raft.status()).toMatchObject({ role: 'follower', term: 1, leader: 0 });
  });

  it('when its own append hangs, and it does not campaign until that ends', () => {
    const node = settled();
    node.raft.propose(BYTES);
    node.sendOnly();
    node.pass(100);
    expect(node.raft.status()).toMatchObject({ role: 'follower', appendStuck: true });
    node.pass(1000);
    expect(node.raft.status()).toMatchObject({ role: 'follower', term: 1 });
    node.drain();
    node.pass(100);
    expect(node.raft.status().role).toBe('candidate');
  });

  it('not while its append gets on, nor for one that waited behind another', () => {
    const node = settled();
    node.raft.propose(BYTES);
    node.sendOnly();
    for (let part = 0; part < 5; part++) {
      node.pass(90);
      node.raft.appendMoved();
    }
    node.raft.propose(BYTES);
    node.sendOnly();
    node.pass(90);
    expect(node.raft.status()).toMatchObject({ role: 'leader', appendStuck: false });
    // The first one is durable now; the second has been waiting since, and is written from here on.
    for (const message of node.disk.sync()) node.raft.step(message);
    node.pass(90);
    expect(node.raft.status()).toMatchObject({ role: 'leader', appendStuck: false });
    node.pass(10);
    expect(node.raft.status()).toMatchObject({ role: 'follower', appendStuck: true });
  });

  it('not for an append whose end the host had no time to read', () => {
    const node = settled();
    node.raft.propose(BYTES);
    node.sendOnly();
    node.pass(50);
    node.raft.tick(node.nowMs + 90);
    expect(node.raft.status()).toMatchObject({ role: 'leader', appendStuck: false });
  });

  it('for a hung disk although each tick comes late', () => {
    const node = settled();
    node.raft.propose(BYTES);
    node.sendOnly();
    for (let tick = 1; tick <= 10; tick++) node.raft.tick(node.nowMs + 90 * tick);
    expect(node.raft.status().role).toBe('leader');
    node.raft.tick(node.nowMs + 990);
    expect(node.raft.status()).toMatchObject({ role: 'follower', appendStuck: true });
  });

  it('when its own append fails: it ends before the index can be used again', () => {
    const node = settled();
    node.raft.propose(BYTES);
    node.sendOnly();
    node.raft.appendFailed();
    expect(node.raft.ready()).toMatchObject({
      softState: { role: 'follower', leading: false },
      entries: [],
      messages: [],
      afterDurable: [],
    });
    expect(node.raft.propose(BYTES)).toEqual({ accepted: false, reason: 'append_failed' });
    node.acknowledge(2, 2);
    node.pass(1000);
    expect(node.raft.hasReady()).toBe(false);
    expect(node.raft.status()).toMatchObject({ role: 'follower', commit: 1, appendFailed: true });
  });

  it('when its clock goes back', () => {
    const node = settled({ settings: { checkQuorum: true } });
    node.pass(20);
    node.raft.tick(node.nowMs - 1);
    expect(node.raft.status().role).toBe('follower');
  });

  it('not while its host stands, however often the clock is read on the way', () => {
    const node = settled({ settings: { checkQuorum: true } });
    node.pass(190);
    // Many long requests in one turn, each with a read: the answers of the others lie unread.
    for (let read = 1; read <= 50; read++) node.raft.readIndex(node.nowMs + 90 * read);
    node.raft.tick(node.nowMs + 5000);
    expect(node.raft.status().role).toBe('leader');
    node.raft.tick(node.nowMs + 5010);
    expect(node.raft.status().role).toBe('follower');
  });

  it('and until then its peers are not dead, nor is a transfer given up', () => {
    const node = settled({ settings: { checkQuorum: true, liveWithinMs: 100 } });
    node.raft.transferLeader(nodeId(2));
    node.pass(90);
    node.raft.tick(node.nowMs + 5000);
    expect(node.raft.status()).toMatchObject({ transferTarget: 2 });
    expect(node.raft.status().peers.filter(({ live }) => live).length).toBeGreaterThan(1);
  });

  it('a leader that sends but cannot hear is replaced', () => {
    const group = new FakeGroup({ nodes: 3 });
    group.passUntil(() => group.leader() !== undefined);
    const deaf = group.leader() ?? 0;
    for (const id of group.ids) if (id !== deaf) group.network.cut(nodeId(id), nodeId(deaf));
    group.passUntil(() => ![undefined, deaf].includes(group.leader()));
  });

  it('a leader with a hung disk is replaced', () => {
    const group = new FakeGroup({ nodes: 3 });
    group.passUntil(() => group.leader() !== undefined);
    const hung = group.leader() ?? 0;
    group.node(hung).diskHangs = true;
    group.propose(hung, 'x');
    group.passUntil(() => ![undefined, hung].includes(group.leader()));
  });
});

describe('transfer', () => {
  it('hands over when the target has everything, without waiting for a timeout', () => {
    const group = new FakeGroup({ nodes: 3 });
    group.passUntil(() => group.leader() !== undefined);
    const from = group.leader() ?? 0;
    const target = group.ids.find((id) => id !== from) ?? 0;
    expect(group.raft(from).transferLeader(nodeId(target))).toEqual({ accepted: true });
    group.settle();
    expect(group.leader()).toBe(target);
  });

  it('refuses proposals meanwhile, and gives up after an election timeout', () => {
    const node = settled();
    node.raft.propose(BYTES);
    node.raft.transferLeader(nodeId(3));
    expect(node.raft.propose(BYTES)).toEqual({ accepted: false, reason: 'transferring' });
    node.pass(100);
    expect(node.raft.propose(BYTES).accepted).toBe(true);
  });

  it('leaves no flag behind when leadership ends in between', () => {
    const node = settled();
    node.raft.transferLeader(nodeId(3));
    const envelope = { from: nodeId(2), to: nodeId(1), term: term(5) };
    node.step({ type: 'append-response', ...envelope, index: logIndex(0), life: 0 });
    node.lead([2]);
    expect(node.raft.status()).toMatchObject({ role: 'leader', transferTarget: 0, term: 6 });
    expect(node.raft.propose(BYTES).accepted).toBe(true);
  });
});

describe('snapshots', () => {
  it('bring a node back whose entries are gone, and heartbeats do not disturb', () => {
    const group = new FakeGroup({ nodes: 3, keepEntries: 2 });
    group.passUntil(() => group.leader() !== undefined);
    const lead = group.leader() ?? 0;
    const behind = group.ids.find((id) => id !== lead) ?? 0;
    group.crash(behind);
    for (let i = 0; i < 20; i++) {
      group.propose(lead, `x${i}`);
      group.pass(10);
    }
    group.start(behind);
    group.pass(100);
    expect(group.network.sent.filter((message) => message.type === 'snapshot').length).toBe(1);
    expect(group.node(behind).state.digest).toBe(group.node(lead).state.digest);
    const peer = group.status(lead).peers.find(({ id }) => id === behind);
    expect(peer?.state).toBe('replicate');
  });
});
