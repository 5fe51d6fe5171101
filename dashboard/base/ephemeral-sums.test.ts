// Goal: ephemeral queues of several nodes are one list. Method: as functions, without a page.
import type { EphemeralQueueView } from '@svc/wire';
import { expect, test } from 'vitest';
import { heardPage, sumsOf, whose } from './ephemeral-sums.js';

const row = (queue: string, depth: number, more: Partial<EphemeralQueueView> = {}) => ({
  queue,
  tier: 'implicit' as const,
  depth,
  bytes: depth * 10,
  partitions: 1,
  groups: 2,
  drops: { bounds: 1, ttl: 0, retry: 0 },
  options: {
    maxBytes: 1,
    maxLength: 1,
    policy: 'reject' as const,
    ttlSeconds: 0,
    leaseSeconds: 1,
    retryLimit: 1,
    windowBuffer: null,
  },
  ...more,
});

test('queues are summed over nodes', () => {
  const sums = sumsOf([
    [row('a', 1), row('b', 2)],
    [row('a', 4, { tier: 'declared', groups: 3 })],
    [],
  ]);
  expect(sums).toMatchObject([
    { queue: 'a', tier: 'declared', depth: 5, bytes: 50, partitions: 2, groups: 3 },
    { queue: 'b', tier: 'implicit', depth: 2, bytes: 20, partitions: 1, groups: 2 },
  ]);
  expect(sums[0]?.drops).toEqual({ bounds: 2, ttl: 0, retry: 0 });
});

test('a node that tells anew replaces what it told; a further page comes beside it', () => {
  const first = heardPage([row('gone', 1)], [row('a', 1)], true);
  expect(first.map(({ queue }) => queue)).toEqual(['a']);
  const both = heardPage([row('a', 1), row('b', 1)], [row('b', 7), row('c', 1)], false);
  expect(both.map(({ queue, depth }) => `${queue} ${depth}`)).toEqual(['a 1', 'b 7', 'c 1']);
});

test('the page says whose figures it shows', () => {
  expect(whose([1], [1])).toBe('');
  expect(whose([2, 1, 3], [1, 2, 3])).toContain('over the 3 nodes');
  expect(whose([2], [1, 2, 3])).toContain('Of node 2 alone');
  expect(whose([2], [1, 2, 3])).toContain('nodes 1, 3 did not answer');
});
