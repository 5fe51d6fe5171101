// Goal: what a member loses comes back from the others, and it says nothing in the meantime that it
// cannot stand for. Method: whole nodes over simulated disks; files and rows are damaged while a
// node is down or runs.
import { expect, test } from 'vitest';
import { RecoveringMarker } from '../directory/recovering-marker.js';
import { ELECTION_MS, FakeGroup, type FakeMachine } from '../testing/group.fake.js';

const SMALL = { SVC_RAFT_SEGMENT_BYTES: '4096', SVC_RAFT_DURABLE_EVERY_MS: '20' };

function acknowledged(group: FakeGroup, ...ids: readonly string[]): void {
  for (const id of ids) {
    const answers = group.leader().push('q', id);
    group.until(`an answer to ${id}`, () => answers.all.length > 0);
    expect(answers.one).toMatchObject({ kind: 'pushed' });
  }
}

function stored(group: FakeGroup): number {
  const answers = group.leader().queues();
  group.until('a list', () => answers.all.length > 0);
  const list = answers.one;
  if (list.kind !== 'queue-list') throw new Error(list.refusal.error);
  return list.queues[0]?.counts.total ?? 0;
}

function many(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${i}`);
}

function aFollower(group: FakeGroup): FakeMachine {
  const leader = group.leader();
  const found = [...group.machines.values()].find((machine) => machine !== leader);
  if (found === undefined) throw new Error('there is no follower');
  return found;
}

function segmentsOf(machine: FakeMachine): string[] {
  return machine.disk.paths().filter((path) => /^\/data\/log\/segment-\d+\.log$/.test(path));
}

/** Flips a bit of the value of the message `id`, wherever it stands. */
function flip(machine: FakeMachine, id: string): void {
  const text = Buffer.from(`"${id}"`);
  for (const path of segmentsOf(machine)) {
    const at = Buffer.from(machine.disk.contents(path)).indexOf(text);
    if (at === -1) continue;
    machine.disk.flipBit(path, at + 1, 3);
    return;
  }
  throw new Error(`${id} stands nowhere`);
}

test('a record that rots while its node is down is repaired before the node takes part', () => {
  const group = new FakeGroup({ founders: 3, environment: SMALL });
  acknowledged(group, ...many('m', 80));
  const odd = aFollower(group);
  expect(segmentsOf(odd).length).toBeGreaterThan(1);
  odd.crash('process');
  // In the last segment, which is read at open, well before its end.
  flip(odd, 'm70');
  odd.start();
  group.until('the repair', () => odd.node?.parts.consensus.status() !== null);
  group.converge();
  expect(odd.parts?.log.isWhole).toBe(true);
  expect(odd.status.recovering).toBe(false);
  expect(stored(group)).toBe(80);
});

test('a node with a damaged log waits until somebody can repair it', () => {
  const group = new FakeGroup({ founders: 3, environment: SMALL });
  acknowledged(group, ...many('m', 80));
  const odd = aFollower(group);
  odd.crash('process');
  flip(odd, 'm70');
  group.isolate(odd.number);
  odd.start();
  group.run(20 * ELECTION_MS);
  expect(odd.node?.parts.consensus.status()).toBeNull();
  expect(odd.node?.repairing).toBe(true);
  group.heal();
  group.converge();
  expect(odd.node?.repairing).toBe(false);
});

test('a lone node refuses a damaged log, with file and offset', () => {
  const group = new FakeGroup({ founders: 1, environment: SMALL });
  acknowledged(group, ...many('m', 80));
  const lone = group.machine(1);
  lone.crash('process');
  flip(lone, 'm70');
  expect(() => lone.start()).toThrow(/segment-\d+\.log at byte \d+/);
});

test('a record that rots while its node runs is repaired, and its node does not campaign', () => {
  const group = new FakeGroup({ founders: 3, environment: SMALL });
  acknowledged(group, ...many('m', 80));
  const odd = aFollower(group);
  // In a sealed segment: nothing but the scrub reads it.
  flip(odd, 'm3');
  group.lost = (from, _to, channel) => channel === 'bulk' && from === odd.number;
  group.until('the scrub', () => odd.parts?.log.isWhole === false, 60_000);
  group.run(10);
  group.isolate(odd.number);
  group.run(20 * ELECTION_MS);
  expect(odd.status.role).toBe('follower');
  expect(odd.status.term).toBe(group.leader().status.term);
  group.heal();
  group.until('the repair', () => odd.parts?.log.isWhole === true, 60_000);
  group.converge();
});

test('a leader with a damaged log hands over', () => {
  const group = new FakeGroup({ founders: 3, environment: SMALL });
  acknowledged(group, ...many('m', 80));
  const old = group.leader();
  flip(old, 'm3');
  group.until('another leader', () => group.leaders.some((other) => other !== old), 60_000);
  group.until('the repair', () => old.parts?.log.isWhole === true, 60_000);
  group.converge();
});

test('a state that cannot be trusted is rebuilt from the log', () => {
  const group = new FakeGroup({ founders: 3, environment: SMALL });
  acknowledged(group, ...many('m', 20));
  group.run(200);
  const odd = aFollower(group);
  odd.parts?.backing.markDamaged('a test says so');
  odd.restart('process');
  group.converge();
  expect(odd.place.names()).toContain('state.damaged-1');
  expect(stored(group)).toBe(20);
});

test('a state that the log cannot rebuild comes from another node, and the log stays', () => {
  const group = new FakeGroup({
    founders: 3,
    purgeStep: 1,
    environment: { ...SMALL, SVC_RAFT_LOG_KEEP: '1' },
  });
  acknowledged(group, ...many('m', 60));
  const deletion = group.leader().deleteQueue('q');
  group.until('the deletion', () => deletion.all.length > 0);
  acknowledged(group, ...many('n', 5));
  const odd = aFollower(group);
  group.until('log space', () => (odd.parts?.log.firstIndex ?? 1) > 1);
  group.run(50);
  const { term } = group.leader().status;
  odd.parts?.backing.markDamaged('a test says so');
  odd.restart('process');
  expect(odd.parts?.stateless).toBe(true);
  // It does not know who the members are, and must not take itself for the only one.
  group.isolate(odd.number);
  group.run(20 * ELECTION_MS);
  expect(odd.status.term).toBe(term);
  expect(odd.leads).toBe(false);
  group.heal();
  acknowledged(group, 'meanwhile');
  group.until('the rows', () => odd.reopened === 1 && odd.node !== null, 60_000);
  group.converge();
  expect(odd.parts?.stateless).toBe(false);
  expect(group.leader().status.term).toBe(term);
  expect(stored(group)).toBe(6);
});

test('a diverged state is marked, moved aside and rebuilt', () => {
  const group = new FakeGroup({ founders: 3, digestEvery: 8, environment: SMALL });
  acknowledged(group, 'a');
  const odd = aFollower(group);
  odd.spoil();
  for (let i = 0; i < 20 && odd.ended === null; i++) {
    acknowledged(group, `m${i}`);
    group.run(20);
  }
  expect(odd.ended).toMatch(/^state_diverged/);
  odd.start();
  acknowledged(group, 'z');
  group.converge();
  expect(odd.place.names()).toContain('state.damaged-1');
});

test('entries lost with the end of the log take the vote along until they are back', () => {
  const group = new FakeGroup({ founders: 3, environment: SMALL });
  acknowledged(group, ...many('m', 80));
  const odd = aFollower(group);
  odd.crash('process');
  // The last segment is gone from a third on: nobody here can tell what stood there.
  const last = segmentsOf(odd).at(-1) as string;
  const bytes = odd.disk.contents(last);
  odd.disk.plant(last, bytes.slice(0, Math.floor(bytes.length / 3)));
  // One of those who could say what stood there is not heard for long; the other one leads.
  const leader = group.leader();
  const third = [...group.machines.values()].find((each) => each !== odd && each !== leader);
  group.lost = (from, to) => [from, to].every((end) => end === odd.number || end === third?.number);
  odd.start();
  group.until('consensus', () => odd.node?.parts.consensus.status() != null, 60_000);
  expect(odd.status.recovering).toBe(true);
  acknowledged(group, 'z');
  group.until('its vote', () => !odd.status.recovering, 60_000);
  group.heal();
  group.converge();
  expect(stored(group)).toBe(81);
  expect(odd.disk.paths()).not.toContain('/data/raft/recovering');
});

test('while the marker stands a node has no vote, and it goes when the node has caught up', () => {
  const group = new FakeGroup({ founders: 3, environment: SMALL });
  acknowledged(group, ...many('m', 5));
  const odd = aFollower(group);
  odd.crash('process');
  const marker = new RecoveringMarker(odd.disk, '/data/raft');
  marker.set();
  group.isolate(odd.number);
  odd.start();
  // Somebody might tell it that nothing is lost.
  group.until('consensus', () => odd.node?.parts.consensus.status() != null);
  group.run(20 * ELECTION_MS);
  expect(odd.status).toMatchObject({ recovering: true, role: 'follower' });
  expect(odd.node?.repairing).toBe(true);
  expect(marker.stands).toBe(true);
  group.heal();
  acknowledged(group, 'z');
  group.until('its vote', () => !odd.status.recovering);
  expect(marker.stands).toBe(false);
  odd.restart('power');
  group.converge();
  expect(odd.status.recovering).toBe(false);
});

test('a log that ends before the state, for no reason that it knows, costs the vote', () => {
  const group = new FakeGroup({ founders: 3, environment: SMALL });
  acknowledged(group, ...many('m', 80));
  const odd = aFollower(group);
  group.run(200);
  const applied = odd.parts?.state.appliedIndex ?? 0;
  // The newest segment with everything in it, and the witness that names it.
  odd.crash('process');
  const [last] = segmentsOf(odd).slice(-1);
  for (const path of [last, '/data/log/witness']) odd.disk.removeSync(path as string);
  odd.start();
  expect(odd.parts?.log.lastIndex).toBeLessThan(applied);
  group.until('consensus', () => odd.node?.parts.consensus.status() != null);
  expect(odd.status.recovering).toBe(true);
  group.until('its vote', () => !odd.status.recovering);
  group.converge();
  expect(odd.node?.repairing).toBe(false);
});

test.each([1, 3, 9])(
  'of two voters, one that is killed after adopting %i entries goes on',
  (count) => {
    const group = new FakeGroup({ founders: 2, environment: SMALL });
    acknowledged(group, ...many('m', 80));
    const odd = aFollower(group);
    const lastIndex = odd.parts?.log.lastIndex ?? 0;
    odd.crash('process');
    const last = segmentsOf(odd).at(-1) as string;
    const bytes = odd.disk.contents(last);
    odd.disk.plant(last, bytes.slice(0, Math.floor(bytes.length / 3)));
    // Alone, the other one leads no more, and cannot again without the vote of this one.
    group.until('nobody leads', () => group.leaders.length === 0);
    odd.start();
    const marker = new RecoveringMarker(odd.disk, '/data/raft');
    const held = () => odd.parts?.log.lastIndex ?? 0;
    group.until('the marker', () => marker.stands);
    const from = held();
    group.until('entries that were taken over', () => held() >= from + count);
    expect(held()).toBeLessThan(lastIndex);
    odd.restart('power');
    expect(marker.stands).toBe(true);
    group.leader();
    group.converge();
    expect(stored(group)).toBe(80);
    expect(marker.stands).toBe(false);
    expect(odd.status.recovering).toBe(false);
  },
);
