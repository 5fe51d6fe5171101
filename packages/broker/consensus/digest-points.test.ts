// Goal: a node learns that its state is not what a majority has, from digests at the same entry and
// from nothing less. Method: digests told by hand, in the orders in which a network brings them.
import { nodeId } from '@svc/raft';
import { expect, test } from 'vitest';
import { DigestPoints } from './digest-points.js';

const [A, B, C, D, E] = [1, 2, 3, 4, 5].map(nodeId) as [
  ReturnType<typeof nodeId>,
  ReturnType<typeof nodeId>,
  ReturnType<typeof nodeId>,
  ReturnType<typeof nodeId>,
  ReturnType<typeof nodeId>,
];

test('two of three against one, whichever comes last', () => {
  const late = new DigestPoints(A, () => [A, B, C]);
  expect(late.tell(B, 8, 'x')).toBeNull();
  expect(late.tell(C, 8, 'x')).toBeNull();
  expect(late.tell(A, 8, 'y')).toEqual({ index: 8, own: 'y', majority: 'x' });
  const early = new DigestPoints(A, () => [A, B, C]);
  expect(early.tell(A, 8, 'y')).toBeNull();
  expect(early.tell(B, 8, 'x')).toBeNull();
  expect(early.tell(C, 8, 'x')).toEqual({ index: 8, own: 'y', majority: 'x' });
});

test('the majority itself hears nothing of it', () => {
  const points = new DigestPoints(A, () => [A, B, C]);
  points.tell(A, 8, 'x');
  expect(points.tell(B, 8, 'y')).toBeNull();
  expect(points.tell(C, 8, 'x')).toBeNull();
});

test('other entries, repeated words, learners and minorities prove nothing', () => {
  const points = new DigestPoints(A, () => [A, B, C, D]);
  points.tell(A, 8, 'y');
  expect(points.tell(B, 16, 'x')).toBeNull();
  expect(points.tell(C, 16, 'x')).toBeNull();
  expect(points.tell(B, 8, 'x')).toBeNull();
  expect(points.tell(B, 8, 'x')).toBeNull();
  expect(points.tell(E, 8, 'x')).toBeNull();
  expect(points.tell(C, 8, 'x')).toBeNull();
  expect(points.tell(D, 8, 'x')).not.toBeNull();
});

test('a learner is told by the voters', () => {
  const points = new DigestPoints(E, () => [A, B, C]);
  points.tell(A, 8, 'x');
  points.tell(B, 8, 'x');
  expect(points.tell(E, 8, 'y')).not.toBeNull();
});

test('what is remembered is bounded, by member and by members', () => {
  const points = new DigestPoints(A, () => [A, B, C]);
  points.tell(A, 1, 'y');
  points.tell(B, 1, 'x');
  for (let index = 2; index < 100; index++) points.tell(B, index, 'x');
  expect(points.tell(C, 1, 'x')).toBeNull();
  points.tell(A, 99, 'y');
  points.keepOnly([A, C]);
  expect(points.tell(C, 99, 'x')).toBeNull();
});
