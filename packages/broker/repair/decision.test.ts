/**
 * Goal: a node that lost entries votes on only when it cannot matter. Method: a table of situations
 * in groups of 2 to 5, joint and changing; then every group of up to 5 is played out exhaustively:
 * whoever may hold the lost entry, whoever is silent, the decision to vote on must never be made
 * while the entry is or can become committed with this node's old acknowledgement.
 */
import { configuration, type NodeId, nodeId } from '@svc/raft';
import { describe, expect, test } from 'vitest';
import {
  decideRecord,
  decideTail,
  decideTornTail,
  type Lost,
  type LostTail,
  type PeerWord,
} from './decision.js';

const OWN_TERM = 5;
const ids = (...numbers: number[]): NodeId[] => numbers.map(nodeId);

function word(verdict: PeerWord['verdict'], more: Partial<PeerWord> = {}): PeerWord {
  return { verdict, term: OWN_TERM, lastIndex: 9, lastTerm: 1, led: false, ...more };
}

/** Words of nodes 2, 3, ...; null is silent. */
function lost(voters: number, words: readonly (PeerWord | null)[], more?: Partial<LostTail>) {
  const said = new Map<NodeId, PeerWord>();
  words.forEach((one, i) => {
    if (one !== null) said.set(nodeId(i + 2), one);
  });
  const base: LostTail = {
    self: nodeId(1),
    ownTerm: OWN_TERM,
    configurations: [configuration(ids(1, 2, 3, 4, 5).slice(0, voters))],
    formerVoters: [],
    committed: false,
    words: said,
    index: 10,
    adoptMax: 100,
    patient: false,
  };
  return { ...base, ...more };
}

const NEVER = word('never-had');
const FENCED = word('never-had', { term: OWN_TERM + 1 });

describe('a damaged record that nobody sent', () => {
  test.each([
    ['one voter: nobody can know better', lost(1, []), 'wait'],
    ['two: the other never had it', lost(2, [NEVER]), 'cut'],
    ['three: one of them is silent', lost(3, [FENCED, null]), 'wait'],
    ['three: both never had it', lost(3, [NEVER, NEVER]), 'cut'],
    ['five: two silent', lost(5, [FENCED, FENCED, null, null]), 'wait'],
    [
      'five: one silent, who may lead and get it through',
      lost(5, [NEVER, NEVER, NEVER, null]),
      'wait',
    ],
    [
      'five: one silent, the others in a later term',
      lost(5, [FENCED, FENCED, FENCED, null]),
      'cut',
    ],
    ['a peer that recovers says nothing', lost(3, [NEVER, word('recovering')]), 'wait'],
    ['a peer with damage says nothing', lost(3, [NEVER, word('damaged')]), 'wait'],
    ['given up by the others', lost(3, [word('purged'), NEVER]), 'recover'],
    ['given up by one, the other silent', lost(3, [word('purged'), null]), 'wait'],
    ['a run that fits nobody', lost(3, [word('parted'), word('parted')]), 'recover'],
    ['below the checkpoint', lost(3, [NEVER, NEVER], { committed: true }), 'wait'],
    ['no configuration known', lost(3, [NEVER, NEVER], { configurations: [] }), 'wait'],
  ] as const)('%s', (_, situation, decision) => {
    expect(decideRecord(situation)).toBe(decision);
  });

  test('in a joint configuration needs one half blocked', () => {
    const joint = { ...configuration(ids(1, 2, 3)), outgoing: ids(1, 4, 5) };
    const one = lost(5, [FENCED, FENCED, null, null], { configurations: [joint] });
    expect(decideRecord(one)).toBe('cut');
    const none = lost(5, [FENCED, null, FENCED, null], { configurations: [joint] });
    expect(decideRecord(none)).toBe('wait');
  });

  test('needs every configuration blocked that may be in force', () => {
    const configurations = [configuration(ids(1, 2, 3)), configuration(ids(1, 2, 3, 4))];
    const silent = lost(4, [FENCED, FENCED, null], { configurations });
    expect(decideRecord(silent)).toBe('cut');
    const larger = [configuration(ids(1, 2, 3)), configuration(ids(1, 2, 4, 5))];
    expect(decideRecord(lost(5, [FENCED, FENCED, null, null], { configurations: larger }))).toBe(
      'wait',
    );
  });

  test('waits for a removed leader who may still count the acknowledgement', () => {
    const formerVoters = ids(1, 2, 5);
    expect(decideRecord(lost(3, [NEVER, NEVER], { formerVoters }))).toBe('wait');
    expect(decideRecord(lost(3, [FENCED, FENCED], { formerVoters }))).toBe('cut');
  });

  test('is nothing to a node without a vote', () => {
    const configurations = [configuration(ids(2, 3), ids(1))];
    expect(decideRecord(lost(3, [null, null], { configurations }))).toBe('cut');
  });
});

describe('a lost tail', () => {
  test('is taken over from the most complete log', () => {
    const short = word('have', { lastIndex: 12, lastTerm: 3 });
    const longer = word('have', { lastIndex: 14, lastTerm: 3 });
    const newer = word('have', { lastIndex: 11, lastTerm: 4 });
    expect(decideTail(lost(3, [short, longer]))).toEqual({ kind: 'adopt', from: 3, lastIndex: 14 });
    expect(decideTail(lost(3, [newer, longer]))).toEqual({ kind: 'adopt', from: 2, lastIndex: 11 });
  });

  test('is nothing when the most complete log has another or no entry there', () => {
    const stale = word('have', { lastIndex: 14, lastTerm: 3 });
    const newer = word('never-had', { lastIndex: 9, lastTerm: 4 });
    expect(decideTail(lost(3, [stale, newer]))).toEqual({ kind: 'cut' });
    const committed = { committed: true };
    expect(decideTail(lost(3, [stale, newer], committed))).toEqual({ kind: 'recover' });
  });

  test('is left to a leader when one is there and somebody is silent', () => {
    const led = word('have', { led: true });
    expect(decideTail(lost(3, [led, null]))).toEqual({ kind: 'wait' });
    expect(decideTail(lost(3, [led, null], { patient: true }))).toEqual({ kind: 'recover' });
    expect(decideTail(lost(3, [NEVER, null], { patient: true }))).toEqual({ kind: 'wait' });
  });

  test('is left to a leader when the others are far ahead', () => {
    const far = word('have', { lastIndex: 1000 });
    expect(decideTail(lost(2, [far]))).toEqual({ kind: 'recover' });
  });

  test('that power interrupted waits for silent peers only so long', () => {
    expect(decideTornTail(lost(3, [NEVER, null]))).toEqual({ kind: 'wait' });
    expect(decideTornTail(lost(3, [NEVER, null], { patient: true }))).toEqual({ kind: 'cut' });
    expect(decideTornTail(lost(3, [], { patient: true }))).toEqual({ kind: 'cut' });
    const held = lost(3, [word('have', { lastIndex: 10 }), null], { patient: true });
    expect(decideTornTail(held)).toEqual({ kind: 'adopt', from: 2, lastIndex: 10 });
  });
});

/**
 * Every way in which voters 2..n can stand to the lost entry: they hold it or not, answer or not,
 * and are in a later term or not. The entry is dangerous when its holders, this node's old
 * acknowledgement and all who may still acknowledge it in its term make a quorum and one of the
 * holders leads (any holder may) or when it is committed already.
 */
test('nobody votes on who may still matter, in groups of up to five', () => {
  let votesOn = 0;
  for (let voters = 2; voters <= 5; voters++) {
    for (let code = 0; code < 8 ** (voters - 1); code++) {
      const peers = Array.from({ length: voters - 1 }, (_, i) => {
        const bits = Math.floor(code / 8 ** i) % 8;
        return { holds: (bits & 1) > 0, speaks: (bits & 2) > 0, later: (bits & 4) > 0 };
      });
      const words = peers.map(({ holds, speaks, later }) => {
        if (!speaks) return null;
        return word(holds ? 'have' : 'never-had', { term: OWN_TERM + (later ? 1 : 0) });
      });
      const quorum = Math.floor(voters / 2) + 1;
      const holders = peers.filter(({ holds }) => holds).length;
      const mayFollow = peers.filter(({ holds, later }) => !holds && !later).length;
      const leaderLeft = peers.some(({ holds, later }) => holds && !later);
      const dangerous = 1 + holders >= quorum || (leaderLeft && 1 + holders + mayFollow >= quorum);
      const situation: Lost = lost(voters, words, { patient: true });
      if (decideRecord(situation) !== 'cut') continue;
      votesOn++;
      expect([voters, code, dangerous]).toEqual([voters, code, false]);
    }
  }
  expect(votesOn).toBeGreaterThan(50);
});
