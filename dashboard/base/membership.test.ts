// Goal: what a change of the members will do is said right, worst cases among it.
// Method: tables of seats; `3 votes` means that node 3 votes and answers.
import { expect, test } from 'vitest';
import { type MemberChange, seatsOf, toldOf } from './membership.js';

const seats = (text: string) =>
  seatsOf(
    text.split(', ').map((one) => ({
      nodeId: Number(one[0]),
      role: one.includes('learns') ? 'learner' : 'voter',
      reachable: !one.includes('silent'),
    })),
    1,
  );

test.each<[MemberChange, number, string, RegExp]>([
  ['remove', 3, '1 votes, 2 votes, 3 votes', /for good.*Then 2 nodes vote, and none that answers/],
  ['remove', 3, '1 votes, 2 votes, 3 silent', /Then 2 nodes vote, and none that answers may fail/],
  ['remove', 2, '1 votes, 2 votes, 3 silent', /Then 2 nodes vote, of which 1 answers: no majority/],
  ['remove', 1, '1 votes, 2 votes, 3 votes, 4 votes', /It leads.*3 nodes vote, and 1 of them may/],
  ['remove', 1, '1 votes', /last that votes/],
  ['remove', 4, '1 votes, 4 learns', /has no vote: nothing else/],
  ['promote', 4, '1 votes, 4 learns', /Then 2 nodes vote, and none.*even number/],
  ['promote', 4, '1 votes, 2 votes, 4 learns', /Then 3 nodes vote, and 1 of them may fail\.$/],
  [
    'promote',
    4,
    '1 votes, 2 silent, 4 learns',
    /Then 3 nodes vote, and none that answers may fail/,
  ],
  ['transfer', 2, '1 votes, 2 votes', /^Node 2 leads from then on/],
])('%s node %i of %s', (change, nodeId, text, expected) => {
  const all = seats(text);
  const node = all.find((seat) => seat.nodeId === nodeId);
  expect(node && toldOf(change, node, all).join(' ')).toMatch(expected);
});
