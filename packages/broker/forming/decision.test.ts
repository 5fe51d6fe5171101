// Goal: a fresh directory founds, adopts, joins or waits exactly when it may. Method: a table of
// situations, each of what a node of the list 1, 2, 3 knows, and what it then does.
import { describe, expect, test } from 'vitest';
import { memberId } from '../config/member-id.js';
import type { Founding } from '../consensus/forming-record.js';
import type { Card } from './card.js';
import { decideForming, type FormingSituation, pledgeAfter } from './decision.js';

const LIST = 'list-1';
const CLUSTER = '11111111-1111-4111-8111-111111111111';
const OTHER = '22222222-2222-4222-8222-222222222222';
/** The incarnation of node N's first directory is N0; that of the next N1. */
const ID = {
  one: memberId(1, 10),
  oneAgain: memberId(1, 11),
  two: memberId(2, 20),
  twoAgain: memberId(2, 21),
  three: memberId(3, 30),
};
const FOUNDING: Founding = { founders: [ID.one, ID.two, ID.three], peers: [] };

function card(node: number, fields: Partial<Card> = {}): Card {
  return {
    node,
    incarnation: node * 10,
    state: 'fresh',
    clusterId: '',
    pledge: node === 1 ? null : ID.one,
    founding: null,
    members: [],
    addresses: [],
    readableVersion: 5,
    listDigest: LIST,
    ...fields,
  };
}

function member(node: number, fields: Partial<Card> = {}): Card {
  const { founders } = FOUNDING;
  const known = { clusterId: CLUSTER, founding: FOUNDING, members: founders };
  return card(node, { state: 'member', ...known, ...fields });
}

function situation(
  node: number,
  cards: readonly Card[],
  fields: Partial<FormingSituation> = {},
): FormingSituation {
  return {
    node,
    incarnation: node * 10,
    pledge: node === 1 ? null : ID.one,
    listDigest: LIST,
    joins: false,
    list: [1, 2, 3],
    cards: new Map(cards.map((each) => [each.node, each])),
    ...fields,
  };
}

const SITUATIONS: readonly [string, FormingSituation, object][] = [
  ['alone in its list', situation(1, [], { list: [1] }), { kind: 'found', founders: [ID.one] }],
  [
    'alone in its list, and to join',
    situation(1, [], { list: [1], joins: true }),
    { kind: 'wait', for: [] },
  ],
  [
    'the lowest, all fresh and pledged to it',
    situation(1, [card(2), card(3)]),
    { kind: 'found', founders: FOUNDING.founders },
  ],
  [
    'the lowest, one silent',
    situation(1, [card(2)]),
    { kind: 'wait', for: [{ node: 3, why: 'silent' }] },
  ],
  [
    'the lowest, one pledged to nobody and one to its former life',
    situation(1, [card(2, { pledge: null }), card(3)], { incarnation: 11 }),
    {
      kind: 'wait',
      for: [
        { node: 2, why: 'not_pledged' },
        { node: 3, why: 'not_pledged' },
      ],
    },
  ],
  [
    'the lowest, one with another list',
    situation(1, [card(2, { listDigest: 'list-2' }), card(3)]),
    { kind: 'wait', for: [{ node: 2, why: 'list_differs' }] },
  ],
  [
    'the lowest, one that waits to be added',
    situation(1, [card(2, { state: 'joining' }), card(3)]),
    { kind: 'wait', for: [{ node: 2, why: 'joining' }] },
  ],
  [
    'the lowest, told never to found',
    situation(1, [card(2), card(3)], { joins: true }),
    {
      kind: 'wait',
      for: [
        { node: 2, why: 'silent' },
        { node: 3, why: 'silent' },
      ],
    },
  ],
  [
    'not the lowest, all fresh',
    situation(2, [card(1), card(3)]),
    { kind: 'wait', for: [{ node: 1, why: 'lowest' }] },
  ],
  [
    'not the lowest, which is silent',
    situation(2, [card(3)]),
    { kind: 'wait', for: [{ node: 1, why: 'silent' }] },
  ],
  [
    'not the lowest, which has another list',
    situation(2, [card(1, { listDigest: 'list-2' }), card(3)]),
    { kind: 'wait', for: [{ node: 1, why: 'list_differs' }] },
  ],
  [
    'one of the founders, and pledged to the one that founded',
    situation(2, [member(1)]),
    { kind: 'adopt', clusterId: CLUSTER, founding: FOUNDING },
  ],
  [
    'one of the founders, told so by another one than the founder, which is gone',
    situation(2, [member(3)]),
    { kind: 'adopt', clusterId: CLUSTER, founding: FOUNDING },
  ],
  [
    'one of the founders, to join: it was one before it was told to',
    situation(2, [member(1)], { joins: true }),
    { kind: 'adopt', clusterId: CLUSTER, founding: FOUNDING },
  ],
  [
    'one of the founders, but pledged to a later life of the lowest, which is still fresh',
    situation(2, [card(1, { incarnation: 11 }), member(3)], { pledge: ID.oneAgain }),
    { kind: 'wait', for: [{ node: 1, why: 'lowest' }] },
  ],
  [
    'the same, and that life cannot be asked',
    situation(2, [member(3)], { pledge: ID.oneAgain }),
    { kind: 'wait', for: [{ node: 1, why: 'lowest' }] },
  ],
  [
    'the same, and that life waits to be added to the cluster',
    situation(2, [card(1, { incarnation: 11, state: 'joining', clusterId: CLUSTER }), member(3)], {
      pledge: ID.oneAgain,
    }),
    { kind: 'adopt', clusterId: CLUSTER, founding: FOUNDING },
  ],
  [
    'the same, but the life that waits is a third one',
    situation(2, [card(1, { incarnation: 12, state: 'joining', clusterId: CLUSTER }), member(3)], {
      pledge: ID.oneAgain,
    }),
    { kind: 'wait', for: [{ node: 1, why: 'lowest' }] },
  ],
  [
    'the lowest came back with an empty directory',
    situation(1, [member(2), member(3)], { incarnation: 11 }),
    { kind: 'join', clusterId: CLUSTER, formerLife: ID.one },
  ],
  [
    'the lowest came back empty, and one founder has not adopted yet',
    situation(1, [card(2), member(3)], { incarnation: 11 }),
    { kind: 'join', clusterId: CLUSTER, formerLife: ID.one },
  ],
  [
    'another one came back with an empty directory',
    situation(2, [member(1), member(3)], { incarnation: 21, pledge: null }),
    { kind: 'join', clusterId: CLUSTER, formerLife: ID.two },
  ],
  [
    'a node that the cluster never knew',
    situation(4, [member(1)], { list: [1, 2, 3, 4], pledge: null }),
    { kind: 'join', clusterId: CLUSTER, formerLife: null },
  ],
  [
    'a node that waits for its cluster, which its former life has left',
    situation(2, [member(1, { members: [ID.one, ID.three] })], { incarnation: 21, joins: true }),
    { kind: 'join', clusterId: CLUSTER, formerLife: null },
  ],
  [
    'it was added already: its own id is a member, and no founder',
    situation(2, [member(1, { members: [ID.one, ID.twoAgain, ID.three] })], { incarnation: 21 }),
    { kind: 'join', clusterId: CLUSTER, formerLife: null },
  ],
  [
    'members of two clusters',
    situation(1, [member(2), member(3, { clusterId: OTHER })]),
    {
      kind: 'wait',
      for: [
        { node: 2, why: 'other_cluster' },
        { node: 3, why: 'other_cluster' },
      ],
    },
  ],
  [
    'others wait for a cluster of which nobody is left',
    situation(1, [card(2, { state: 'joining', clusterId: CLUSTER }), card(3)]),
    { kind: 'wait', for: [{ node: 2, why: 'joining' }] },
  ],
];

test.each(SITUATIONS)('%s', (_name, known, decision) => {
  expect(decideForming(known)).toEqual(decision);
});

describe('a pledge', () => {
  const lowest = card(1, { incarnation: 11 });
  test('goes to whoever the lowest is now', () => {
    expect(pledgeAfter(situation(2, [], { pledge: null }), lowest)).toBe(ID.oneAgain);
    expect(pledgeAfter(situation(2, []), lowest)).toBe(ID.oneAgain);
    expect(pledgeAfter(situation(2, []), card(1))).toBeNull();
  });
  test('is given to no other node, to no other list, and to nobody who cannot found', () => {
    const none = { pledge: null };
    expect(pledgeAfter(situation(2, [], none), card(3))).toBeNull();
    expect(pledgeAfter(situation(2, [], none), { ...lowest, listDigest: 'x' })).toBeNull();
    expect(pledgeAfter(situation(2, [], none), { ...lowest, state: 'joining' })).toBeNull();
    expect(pledgeAfter(situation(2, [], { ...none, joins: true }), lowest)).toBeNull();
  });
});
