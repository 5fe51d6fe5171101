// Goal: a node is a member of a group: it elects, replicates and fails over; what was acknowledged
// stays; who cannot be sure says so. Method: whole nodes over simulated disks, one network that the
// test cuts, one clock that it moves.
import { expect, test } from 'vitest';
import { memberId } from '../config/member-id.js';
import { ELECTION_MS, FakeGroup } from '../testing/group.fake.js';
import { LEASE_SECONDS } from '../testing/group-clients.fake.js';

/** The deadline of pushes, and how late it may be noticed. */
const DEADLINE_MS = 30_000;
const CHECK_MS = 250;

function acknowledged(group: FakeGroup, ...ids: readonly string[]): void {
  for (const id of ids) {
    const answers = group.leader().push('q', id);
    group.until(`an answer to ${id}`, () => answers.all.length > 0);
    expect(answers.one).toMatchObject({ kind: 'pushed' });
  }
}

/** Messages in the queue, as a linearizable read says. */
function stored(group: FakeGroup): number {
  const answers = group.leader().queues();
  group.until('a list', () => answers.all.length > 0);
  const list = answers.one;
  if (list.kind !== 'queue-list') throw new Error(list.refusal.error);
  return list.queues[0]?.counts.total ?? 0;
}

test.each([1, 2, 3, 5])('%i nodes elect one leader and replicate', (founders) => {
  const group = new FakeGroup({ founders });
  acknowledged(group, 'a', 'b', 'c');
  group.converge();
  expect(group.leaders.length).toBe(1);
  expect(group.leader().status.configuration.voters.length).toBe(founders);
  expect(stored(group)).toBe(3);
});

test('another node takes over and holds what was acknowledged', () => {
  const group = new FakeGroup({ founders: 3 });
  acknowledged(group, 'a', 'b');
  const first = group.leader();
  first.crash();
  acknowledged(group, 'c');
  expect(group.leader().number).not.toBe(first.number);
  first.start();
  group.converge();
  expect(stored(group)).toBe(3);
});

test('nothing acknowledged is lost when all lose power', () => {
  const group = new FakeGroup({ founders: 3, seed: 5 });
  for (let round = 0; round < 5; round++) {
    acknowledged(group, `a${round}`, `b${round}`);
    for (const machine of group.machines.values()) machine.restart('power');
  }
  group.leader();
  group.converge();
  expect(stored(group)).toBe(10);
});

test('a node that knows no leader holds what it is asked, and says so at the deadline', () => {
  const group = new FakeGroup({ founders: 3 });
  acknowledged(group, 'a');
  group.lost = () => true;
  group.run(5 * ELECTION_MS);
  const answers = group.machine(1).push('q', 'b');
  group.run(DEADLINE_MS - ELECTION_MS);
  expect(answers.all).toEqual([]);
  group.run(2 * ELECTION_MS + CHECK_MS);
  expect(answers.one).toEqual({
    kind: 'refused',
    refusal: { reason: 'no_leader', error: 'no leader is known; retry after' },
  });
});

test('a follower serves reads that show what was acknowledged', () => {
  const group = new FakeGroup({ founders: 3 });
  acknowledged(group, 'a', 'b');
  const leader = group.leader();
  for (const machine of group.machines.values()) {
    const answers = machine.queues();
    if (machine !== leader) expect(answers.all.length).toBe(0);
    group.until('a list', () => answers.all.length > 0);
    expect(answers.one).toMatchObject({ kind: 'queue-list', queues: [{ queue: 'q' }] });
  }
});

test('a leader that was replaced without noticing holds reads and empty pops', () => {
  const group = new FakeGroup({ founders: 3 });
  acknowledged(group, 'a');
  const old = group.leader();
  const first = old.pop('q');
  group.until('a pop', () => first.all.length > 0);
  group.isolate(old.number);
  const read = old.queues();
  const pop = old.pop('q');
  group.run(ELECTION_MS / 2);
  expect(read.all).toEqual([]);
  expect(pop.all).toEqual([]);
  group.run(5 * ELECTION_MS);
  expect(old.leads).toBe(false);
  expect(read.all).toEqual([]);
  expect(pop.all).toEqual([]);
  group.heal();
  group.until('a list', () => read.all.length > 0);
  group.until('nothing', () => pop.all.length > 0);
  expect(read.one).toMatchObject({ kind: 'queue-list' });
  expect(pop.one).toMatchObject({ kind: 'delivered', claims: [] });
});

test('what a former leader had in hand is done once, elsewhere', () => {
  const group = new FakeGroup({ founders: 3, environment: { SVC_RAFT_PIPELINE: '1' } });
  acknowledged(group, 'a');
  const old = group.leader();
  group.isolate(old.number);
  const proposed = old.push('q', 'b');
  group.run(2);
  const waiting = old.push('q', 'c');
  group.run(5 * ELECTION_MS);
  expect([...proposed.all, ...waiting.all]).toEqual([]);
  acknowledged(group, 'd');
  group.heal();
  // The entry in doubt was replaced: its index carries the new leader's term.
  group.until('answers', () => proposed.all.length > 0 && waiting.all.length > 0);
  expect(proposed.one).toMatchObject({ kind: 'pushed' });
  expect(waiting.one).toMatchObject({ kind: 'pushed' });
  group.converge();
  expect(stored(group)).toBe(4);
});

test('what a former leader proposed and others committed has the outcome it was given', () => {
  const group = new FakeGroup({ founders: 3 });
  acknowledged(group, 'a');
  const old = group.leader();
  // The entry goes out, and no acknowledgement comes back.
  group.lost = (_from, to) => to === old.number;
  const answers = old.push('q', 'b');
  group.until('another leader', () => group.leaders.some((machine) => machine !== old));
  expect(answers.all).toEqual([]);
  group.heal();
  group.until('an answer', () => answers.all.length > 0);
  expect(answers.one).toMatchObject({ kind: 'pushed', status: Uint8Array.of(0) });
  expect(stored(group)).toBe(2);
});

test('a pause of the network that ends in time is answered inside the same term', () => {
  const group = new FakeGroup({ founders: 3 });
  acknowledged(group, 'a');
  const leader = group.leader();
  const { term } = leader.status;
  group.isolate(leader.number);
  const answers = ['b', 'c', 'd'].map((id) => leader.push('q', id));
  group.run(ELECTION_MS / 2);
  expect(answers.every(({ all }) => all.length === 0)).toBe(true);
  group.heal();
  group.until('answers', () => answers.every(({ all }) => all.length > 0));
  for (const answer of answers) expect(answer.one).toMatchObject({ kind: 'pushed' });
  expect(leader.status.term).toBe(term);
  acknowledged(group, 'e');
});

test('a leader that sends but cannot hear gives up, and the others go on', () => {
  const group = new FakeGroup({ founders: 3 });
  acknowledged(group, 'a');
  const old = group.leader();
  group.lost = (_from, to) => to === old.number;
  group.until('another leader', () => group.leaders.some((machine) => machine !== old));
  expect(old.leads).toBe(false);
  acknowledged(group, 'b');
});

test('a leader whose disk hangs is replaced', () => {
  const group = new FakeGroup({ founders: 3 });
  acknowledged(group, 'a');
  const old = group.leader();
  old.disk.stalled = true;
  const doubtful = old.push('q', 'b');
  group.until('another leader', () => group.leaders.some((machine) => machine !== old));
  expect(old.leads).toBe(false);
  acknowledged(group, 'c');
  old.disk.stalled = false;
  group.until('an answer', () => doubtful.all.length > 0);
  expect(doubtful.one).toMatchObject({ kind: 'pushed' });
  group.converge();
});

test('a disk that loses a write ends its node, and the others go on', () => {
  const group = new FakeGroup({ founders: 3 });
  acknowledged(group, 'a');
  const old = group.leader();
  old.disk.failNext('fdatasync', 'EIO', '/log/');
  old.push('q', 'b');
  group.until('the end', () => old.ended !== null);
  acknowledged(group, 'c');
  old.start();
  group.converge();
});

test('a bridge between two halves does not keep a leader that reaches only it', () => {
  const group = new FakeGroup({ founders: 5 });
  acknowledged(group, 'a');
  const old = group.leader().number;
  const [bridge, ...others] = [1, 2, 3, 4, 5].filter((number) => number !== old);
  group.lost = (from, to) => (from === old && to !== bridge) || (to === old && from !== bridge);
  group.until('a leader of the majority', () =>
    group.leaders.some(({ number }) => others.includes(number) || number === bridge),
  );
  acknowledged(group, 'b');
});

test('one after the other, every node restarts under load', () => {
  const group = new FakeGroup({ founders: 3, seed: 9 });
  let sent = 0;
  for (const machine of group.machines.values()) {
    acknowledged(group, `m${sent++}`, `m${sent++}`);
    machine.restart('power');
    acknowledged(group, `m${sent++}`);
  }
  group.converge();
  expect(stored(group)).toBe(sent);
});

test('a new leader waits for a lease of another node, whatever its clock says', () => {
  const group = new FakeGroup({ founders: 3 });
  acknowledged(group, 'a');
  const old = group.leader();
  const claimed = old.pop('q');
  group.until('a claim', () => claimed.all.length > 0);
  const claimedMs = group.nowMs;
  // As far ahead as the grace of 500 ms allows for.
  for (const machine of group.machines.values()) if (machine !== old) machine.skewUs = 450_000;
  old.crash();
  for (;;) {
    const again = group.leader().pop('q');
    group.until('an answer', () => again.all.length > 0);
    const answer = again.one;
    if (answer.kind === 'delivered' && answer.claims.length > 0) break;
    group.run(20);
  }
  expect(group.nowMs - claimedMs).toBeGreaterThanOrEqual(LEASE_SECONDS * 1000);
  expect(group.nowMs - claimedMs).toBeLessThan(LEASE_SECONDS * 1000 + 1000);
});

test('a leader that comes back waits for its own lease too: others moved the stamps', () => {
  const group = new FakeGroup({ founders: 3 });
  acknowledged(group, 'a');
  const first = group.leader();
  const claimed = first.pop('q');
  group.until('a claim', () => claimed.all.length > 0);
  const claimedMs = group.nowMs;
  for (const machine of group.machines.values()) if (machine !== first) machine.skewUs = 450_000;
  const second = [...group.machines.values()].find((machine) => machine !== first);
  if (second === undefined) throw new Error('there is no other machine');
  first.transfer(memberId(second.number, 0));
  group.until('the transfer', () => second.leads && !first.leads);
  // Its stamp is ahead of the first one's clock.
  const stamped = second.push('other', 'b');
  group.until('an answer', () => stamped.all.length > 0);
  second.transfer(memberId(first.number, 0));
  group.until('the transfer back', () => first.leads && !second.leads);
  for (;;) {
    const again = first.pop('q');
    group.until('an answer', () => again.all.length > 0);
    const answer = again.one;
    if (answer.kind === 'delivered' && answer.claims.length > 0) break;
    group.run(20);
  }
  expect(group.nowMs - claimedMs).toBeGreaterThanOrEqual(LEASE_SECONDS * 1000);
});

test('leases end by the monotonic clock: a leap of the wall clock ends none early', () => {
  const group = new FakeGroup({ founders: 3 });
  acknowledged(group, 'a');
  const leader = group.leader();
  const claimed = leader.pop('q');
  group.until('a claim', () => claimed.all.length > 0);
  leader.skewUs = 300_000_000;
  group.run(LEASE_SECONDS * 1000 - 100);
  const early = leader.pop('q');
  group.until('an answer', () => early.all.length > 0);
  expect(early.one).toMatchObject({ kind: 'delivered', claims: [] });
  group.run(200);
  const late = leader.pop('q');
  group.until('an answer', () => late.all.length > 0);
  expect(late.one).toMatchObject({ kind: 'delivered', claims: [{ queue: 'q' }] });
});

test('a transfer moves leadership, loses nothing, and one that fails leaves no flag behind', () => {
  const group = new FakeGroup({ founders: 3 });
  acknowledged(group, 'a');
  const first = group.leader();
  const [second, third] = [...group.machines.values()].filter((machine) => machine !== first);
  if (second === undefined || third === undefined) throw new Error('three machines');
  group.lost = (_from, to) => to === second.number;
  first.transfer(memberId(second.number, 0));
  const waiting = first.push('q', 'b');
  group.run(ELECTION_MS / 2);
  expect(waiting.all).toEqual([]);
  group.until('an answer', () => waiting.all.length > 0, 3 * ELECTION_MS);
  expect(waiting.one).toMatchObject({ kind: 'pushed' });
  expect(first.leads).toBe(true);
  first.transfer(memberId(third.number, 0));
  group.until('the transfer', () => third.leads && !first.leads, ELECTION_MS);
  group.heal();
  acknowledged(group, 'c');
  group.converge();
});

test('a leader that is stopped hands over at once', async () => {
  const group = new FakeGroup({ founders: 3 });
  acknowledged(group, 'a');
  const old = group.leader();
  const answer = old.push('q', 'b');
  const startedMs = group.nowMs;
  await old.stop();
  expect(group.nowMs - startedMs).toBeLessThan(ELECTION_MS);
  expect(group.leaders.length).toBe(1);
  expect(answer.one).toMatchObject({ kind: 'pushed' });
  acknowledged(group, 'c');
  old.start();
  group.converge();
});

test('a leader that halts while it hands over leads no more, and asks nobody else', async () => {
  const group = new FakeGroup({ founders: 3 });
  acknowledged(group, 'a');
  const old = group.leader();
  group.lost = () => true;
  const stopped = old.stop();
  old.inProcess((node) => {
    expect(node.parts.group.leading()).not.toBeNull();
    node.halt(new Error('no space'));
    expect(node.parts.group.leading()).toBeNull();
  });
  const startedMs = group.nowMs;
  await stopped;
  expect(group.nowMs - startedMs).toBeLessThan(ELECTION_MS);
});

test('the last node of a dead group stops too, once its clients have answers', async () => {
  const group = new FakeGroup({ founders: 3 });
  acknowledged(group, 'a');
  const last = group.leader();
  for (const machine of group.machines.values()) if (machine !== last) machine.crash();
  const answer = last.push('q', 'b');
  const startedMs = group.nowMs;
  await last.stop();
  expect(answer.one).toMatchObject({ refusal: { reason: 'outcome_unknown' } });
  expect(group.nowMs - startedMs).toBeLessThan(5000);
});

test('all nodes stop one after the other, and start again with everything', async () => {
  const group = new FakeGroup({ founders: 3 });
  acknowledged(group, 'a', 'b');
  for (const machine of group.machines.values()) await machine.stop();
  for (const machine of group.machines.values()) machine.start();
  group.leader();
  group.converge();
  expect(stored(group)).toBe(2);
});

test('a node whose rows differ from what a majority has says so and ends', () => {
  const group = new FakeGroup({ founders: 3, digestEvery: 8 });
  acknowledged(group, 'a');
  const leader = group.leader();
  const odd = [...group.machines.values()].find((machine) => machine !== leader);
  odd?.spoil();
  for (let i = 0; i < 20 && odd?.ended === null; i++) {
    acknowledged(group, `m${i}`);
    group.run(20);
  }
  expect(odd?.ended).toMatch(/^state_diverged: the state of node \d after entry 8|16|24/);
  expect(leader.ended).toBeNull();
});

test('states are compared at equal entries, and equal ones end nobody', () => {
  const group = new FakeGroup({ founders: 3, digestEvery: 4 });
  for (let i = 0; i < 40; i++) acknowledged(group, `m${i}`);
  group.run(1000);
  for (const { ended } of group.machines.values()) expect(ended).toBeNull();
});
