/**
 * Goal: a message that cannot be changes nothing, is counted by its reason, and never throws; one
 * that was true once does no harm. Method: a table of what each rule is for; a running group that
 * is fed its own messages again, late, and with absurd numbers in them, under the judge.
 */
import { describe, expect, it } from 'vitest';
import { configuration } from './configuration.js';
import type { Entry } from './entry.js';
import { logIndex, nodeId, term } from './identifiers.js';
import { type DropReason, REFUSED_REASONS, TERM_JUMP_MAX, TERM_MAX } from './intake.js';
import type { Message } from './messages.js';
import type { Raft } from './raft.js';
import { Chance } from './testing/chance.js';
import { FakeGroup } from './testing/group.fake.js';
import { entriesOf, LoneNode } from './testing/lone.fake.js';

const envelope = { from: nodeId(2), to: nodeId(1), term: term(2) };
const place = (index: number, ofTerm: number) => ({
  lastIndex: logIndex(index),
  lastTerm: term(ofTerm),
});

const append = (entries: readonly Entry[], change: object = {}): Message => ({
  type: 'append',
  ...envelope,
  previousIndex: logIndex(2),
  previousTerm: term(1),
  entries,
  commit: logIndex(2),
  life: 0,
  ...change,
});

const snapshot = (change: object): Message => ({
  type: 'snapshot',
  ...envelope,
  life: 0,
  snapshot: {
    index: logIndex(9),
    term: term(2),
    configuration: configuration([1, 2].map(nodeId)),
    configurationIndex: logIndex(1),
    manifest: new Uint8Array(0),
    ...change,
  },
});

const entry = (index: number, ofTerm: number, change: Partial<Entry> = {}): Entry => ({
  index: logIndex(index),
  term: term(ofTerm),
  type: 'normal',
  data: new Uint8Array(0),
  ...change,
});

const badConfiguration = { type: 'configuration', data: Uint8Array.of(1, 2, 3) } as const;
const heartbeat = { type: 'heartbeat', ...envelope, commit: logIndex(0), round: 1, sentMs: 0 };

/** To a follower of node 2 in term 2, with entries (1, 1) and (2, 1). */
const TO_FOLLOWER: readonly (readonly [string, Message, DropReason])[] = [
  ['for another', { ...append([]), to: nodeId(3) }, 'wrong_receiver'],
  ['from itself', { ...append([]), from: nodeId(1) }, 'impossible_sender'],
  ['from nobody', { ...append([]), from: nodeId(0) }, 'malformed'],
  ['of a second leader', { ...append([]), from: nodeId(3) }, 'second_leader'],
  ['of a leader of term 0', { ...append([]), term: term(0) }, 'malformed'],
  ['with half a term', { ...append([]), term: term(2.5) }, 'malformed'],
  ['with no term', { ...append([]), term: term(Number.NaN) }, 'malformed'],
  [
    'of a term out of reach',
    {
      type: 'vote-request',
      ...envelope,
      term: term(TERM_JUMP_MAX + 3),
      ...place(9, 2),
      forced: true,
    },
    'term_out_of_reach',
  ],
  ['with an entry too far', append([entry(4, 2)]), 'bad_entries'],
  ['with an entry twice', append([entry(3, 2), entry(3, 2)]), 'bad_entries'],
  ['with terms that fall', append([entry(3, 2), entry(4, 1)]), 'bad_entries'],
  ['with a term below the previous', append([entry(3, 0)]), 'bad_entries'],
  ['with an entry of a later term', append([entry(3, 3)]), 'bad_entries'],
  ['with an unreadable configuration', append([entry(3, 2, badConfiguration)]), 'bad_entries'],
  ['after an entry of a later term', append([], { previousTerm: term(3) }), 'malformed'],
  ['after an entry without a term', append([], { previousTerm: term(0) }), 'malformed'],
  ['with a commit index of -1', append([], { commit: logIndex(-1) }), 'malformed'],
  ['with all committed', append([], { commit: Number.MAX_SAFE_INTEGER }), 'malformed'],
  ['with no round', { ...heartbeat, round: Number.NaN } as Message, 'malformed'],
  ['with no time', { ...heartbeat, sentMs: Number.POSITIVE_INFINITY } as Message, 'malformed'],
  ['of an empty snapshot', snapshot({ index: logIndex(0), term: term(0) }), 'malformed'],
  ['of a snapshot of a later term', snapshot({ term: term(3) }), 'malformed'],
  ['without voters', snapshot({ configuration: configuration([]) }), 'bad_configuration'],
  ['from the future', snapshot({ configurationIndex: logIndex(10) }), 'bad_configuration'],
  [
    'with entries of the term that is asked for',
    { type: 'vote-request', ...envelope, term: term(3), ...place(9, 3), forced: true },
    'malformed',
  ],
  [
    'with entries without a term',
    { type: 'pre-vote-request', ...envelope, term: term(3), ...place(9, 0) },
    'malformed',
  ],
  [
    'granting what was not asked',
    { type: 'vote-response', ...envelope, term: term(3), granted: true },
    'not_asked',
  ],
  [
    'acknowledging in a term that never led',
    { type: 'append-response', ...envelope, term: term(3), index: logIndex(1), life: 0 },
    'not_asked',
  ],
  ['asking a later self', { type: 'read-request', ...envelope, term: term(3), id: 1 }, 'not_asked'],
  [
    'reporting from elsewhere',
    {
      type: 'append-durable',
      ...envelope,
      sequence: 1,
      index: logIndex(2),
      entryTerm: term(1),
      snapshotIndex: logIndex(0),
    },
    'impossible_sender',
  ],
  [
    'reporting a write that never began',
    {
      type: 'append-durable',
      ...envelope,
      from: nodeId(1),
      sequence: 99,
      index: logIndex(2),
      entryTerm: term(1),
      snapshotIndex: logIndex(0),
    },
    'not_asked',
  ],
];

const rejection = (rejected: number, hint: number, hintTerm: number): Message => ({
  type: 'append-rejection',
  ...envelope,
  rejectedIndex: logIndex(rejected),
  hintIndex: logIndex(hint),
  hintTerm: term(hintTerm),
  life: 0,
  lost: 0,
});

/** To the leader of term 2, whose log ends at 3, at time 0 before its first heartbeat. */
const TO_LEADER: readonly (readonly [string, Message, DropReason])[] = [
  [
    'beyond its log',
    { type: 'append-response', ...envelope, index: logIndex(4), life: 0 },
    'beyond_log',
  ],
  ['that rejects beyond its log', rejection(4, 1, 1), 'beyond_log'],
  ['with a hint above what it rejects', rejection(2, 3, 1), 'malformed'],
  ['with a hint of a later term', rejection(2, 1, 3), 'malformed'],
  ['with a hint of a term at nothing', rejection(2, 0, 1), 'malformed'],
  [
    'of a round to come',
    { type: 'heartbeat-response', ...envelope, round: 1, sentMs: 0, lost: 0 },
    'not_asked',
  ],
  [
    'of a time to come',
    { type: 'heartbeat-response', ...envelope, round: 0, sentMs: 1, lost: 0 },
    'not_asked',
  ],
  ['of another leader', append(entriesOf(3, [2])), 'second_leader'],
  [
    'of nobody it knows',
    { type: 'append-response', ...envelope, from: nodeId(9), index: logIndex(3), life: 0 },
    'unknown_sender',
  ],
  [
    'that asks for a read, of nobody it knows',
    { type: 'read-request', ...envelope, from: nodeId(9), id: 1 },
    'unknown_sender',
  ],
];

/** All that can be seen of a node. */
function picture(raft: Raft): string {
  return JSON.stringify([raft.status(), raft.hasReady()]);
}

describe('a message is dropped', () => {
  it.each(TO_FOLLOWER)('%s, by a follower', (_, message, reason) => {
    const node = new LoneNode({ terms: [1, 1], hardState: { term: 2 } });
    node.step(append([]));
    node.drain();
    const before = picture(node.raft);
    node.step(message);
    expect(node.raft.counters()).toMatchObject({ [reason]: 1 });
    expect(picture(node.raft)).toBe(before);
  });

  it.each(TO_LEADER)('%s, by a leader', (_, message, reason) => {
    const node = new LoneNode({ terms: [1, 1], hardState: { term: 1 } });
    node.lead([3]);
    const before = picture(node.raft);
    node.step(message);
    expect(node.raft.counters()).toMatchObject({ [reason]: 1 });
    expect(picture(node.raft)).toBe(before);
  });
});

it('terms do not run out by one message, and nobody campaigns when they have', () => {
  const node = new LoneNode();
  const ask = (ofTerm: number): Message => ({
    type: 'vote-request',
    ...envelope,
    term: term(ofTerm),
    ...place(0, 0),
    forced: false,
  });
  node.step(ask(Number.MAX_SAFE_INTEGER));
  expect(node.raft.status().term).toBe(0);
  node.step(ask(TERM_JUMP_MAX));
  expect(node.raft.status().term).toBe(TERM_JUMP_MAX);
  const last = new LoneNode({ hardState: { term: TERM_MAX } });
  last.pass(500);
  expect(last.raft.status()).toMatchObject({ role: 'follower', term: TERM_MAX });
});

const ABSURD: readonly number[] = [
  Number.NaN,
  -1,
  0.5,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  Number.MAX_SAFE_INTEGER,
  2 ** 53,
  1e300,
  -0.1,
];
/** A wrong sender or a small lie could be true: those are for the transport to prove. */
const NUMBERS = [
  'to',
  'term',
  'lastIndex',
  'lastTerm',
  'previousIndex',
  'previousTerm',
  'commit',
  'index',
  'rejectedIndex',
  'hintIndex',
  'hintTerm',
  'round',
  'sentMs',
  'id',
  'target',
  'life',
  'lost',
  'sequence',
  'entryTerm',
  'snapshotIndex',
  'configurationIndex',
];

function absurd(message: Message, chance: Chance): Message {
  const number = () => chance.pick(ABSURD) ?? 0;
  const names = Object.keys(message).filter((name) => NUMBERS.includes(name));
  const changed = { ...message, [chance.pick(names) ?? 'to']: number() } as Message;
  if (changed.type === 'append' && changed.entries.length > 0 && chance.hits(0.5)) {
    const place = chance.between(0, changed.entries.length - 1);
    const name = chance.pick(['index', 'term']) ?? 'term';
    const entries = changed.entries.map((one, i) =>
      i === place ? { ...one, [name]: number() } : one,
    );
    return { ...message, entries } as Message;
  }
  if (changed.type === 'snapshot' && chance.hits(0.5)) {
    const name = chance.pick(['index', 'term', 'configurationIndex']) ?? 'index';
    return { ...message, snapshot: { ...changed.snapshot, [name]: number() } } as Message;
  }
  return changed;
}

it.each([1, 2, 3, 4, 5, 6, 7, 8])('a group under forgery keeps every promise (seed %i)', (seed) => {
  const chance = new Chance(seed);
  const group = new FakeGroup({ nodes: 3, seed, keepEntries: chance.between(3, 20) });
  group.network.weather = { ...group.network.weather, lossProbability: 0.02, delayMsMax: 10 };
  group.forgers = true;
  let refused = 0;
  for (let round = 0; round < 400; round++) {
    group.pass(chance.between(1, 10), 5);
    const leader = group.leader();
    if (leader !== undefined) {
      group.propose(leader, `p${round}`);
      group.read(leader);
    }
    if (chance.hits(0.02)) group.crash(chance.between(1, 3));
    for (const id of group.ids) {
      if (group.node(id).raft === undefined && chance.hits(0.2)) group.start(id);
    }
    for (let i = 0; i < 10; i++) {
      const sent = group.network.sent;
      const old = sent[Math.max(0, sent.length - 1 - chance.between(0, 300))];
      const { raft } = group.node(old?.to ?? 1);
      if (old === undefined || raft === undefined) continue;
      if (chance.hits(0.3)) raft.step(old);
      const before = [picture(raft), sum(raft)];
      raft.step(absurd(old, chance));
      if (sum(raft) === before[1]) continue;
      refused++;
      expect(picture(raft)).toBe(before[0]);
    }
  }
  expect(refused).toBeGreaterThan(1000);
  // Old messages of a leader that is gone may hold up the next election, but leave nothing behind.
  for (const id of group.ids) if (group.node(id).raft === undefined) group.start(id);
  const settled = group.judge.settledIndex;
  group.passUntil(() => {
    const leader = group.leader();
    if (leader !== undefined) group.propose(leader, 'after');
    return group.judge.settledIndex > settled + 10;
  });
});

function sum(raft: Raft): number {
  const counters = raft.counters();
  return REFUSED_REASONS.reduce((total, reason) => total + counters[reason], 0);
}
