/**
 * Goal: a group of 1 to 5 nodes elects, replicates, commits and recovers; each rule of README.md
 * shows in a small scene. Method: the real class over fake disks and a fake network; the judge of
 * `testing/judge.ts` checks the promises of consensus after every event.
 */
import { describe, expect, it } from 'vitest';
import { FakeGroup } from './testing/group.fake.js';

function elected(nodes: number): { group: FakeGroup; leader: number } {
  const group = new FakeGroup({ nodes });
  group.passUntil(() => group.leader() !== undefined);
  return { group, leader: group.leader() ?? 0 };
}

describe.each([1, 2, 3, 4, 5])('a group of %i', (nodes) => {
  it('elects one leader, replicates and commits', () => {
    const { group, leader } = elected(nodes);
    for (const text of ['a', 'b', 'c']) {
      expect(group.propose(leader, text)).toMatchObject({ accepted: true });
    }
    group.pass(50);
    const digests = group.ids.map((id) => group.node(id).state.digest);
    expect(new Set(digests).size).toBe(1);
    expect(group.judge.settledIndex).toBe(4);
    expect(group.ids.filter((id) => group.status(id).role === 'leader')).toEqual([leader]);
  });

  it('goes on after all nodes lost power at once', () => {
    const { group, leader } = elected(nodes);
    group.propose(leader, 'a');
    group.pass(50);
    const settled = group.judge.settledIndex;
    for (const id of group.ids) group.crash(id);
    for (const id of group.ids) group.start(id);
    group.passUntil(() => group.leader() !== undefined);
    const next = group.leader() ?? 0;
    expect(group.propose(next, 'b')).toMatchObject({ accepted: true });
    group.pass(50);
    expect(group.judge.settledIndex).toBe(settled + 2);
  });
});
