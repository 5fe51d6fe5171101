// Goal: a node may be told to stop at any moment of its life and ends in bounded time with every
// caller answered; what was acknowledged stays, and the others go on. Method: whole nodes over
// simulated disks; the stop falls into an election, a hand-over, a transfer of a snapshot, a change
// of the members, and at random times under load, from a printed seed.
import type { SubmittedOutcome } from '@svc/http';
import { describe, expect, test } from 'vitest';
import { ELECTION_MS, FakeGroup, type FakeMachine } from '../testing/group.fake.js';
import type { Answers } from '../testing/group-clients.fake.js';

function acknowledged(group: FakeGroup, ...ids: readonly string[]): void {
  for (const id of ids) {
    const answers = group.leader().push('q', id);
    group.until(`an answer to ${id}`, () => answers.all.length > 0);
    expect(answers.one).toMatchObject({ kind: 'pushed' });
  }
}

function followersOf(group: FakeGroup): readonly FakeMachine[] {
  const leader = group.leader();
  return [...group.machines.values()].filter((one) => one !== leader && one.node !== null);
}

/** Counts the pushes that were answered, and those that were acknowledged. */
class Pushes {
  readonly #sent: { readonly id: string; readonly answers: Answers<SubmittedOutcome> }[] = [];

  send(machine: FakeMachine): void {
    const id = `m${this.#sent.length}`;
    this.#sent.push({ id, answers: machine.push('q', id) });
  }

  get unanswered(): number {
    return this.#sent.filter(({ answers }) => answers.all.length === 0).length;
  }

  get acknowledged(): number {
    return this.#sent.filter(({ answers }) => answers.all[0]?.kind === 'pushed').length;
  }
}

function stored(group: FakeGroup): number {
  const answers = group.leader().queues();
  group.until('a list', () => answers.all.length > 0);
  const list = answers.one;
  if (list.kind !== 'queue-list') throw new Error(list.refusal.error);
  return list.queues[0]?.counts.total ?? 0;
}

test('a leader under load: what is in flight and what comes is done by the next one', async () => {
  const group = new FakeGroup({ founders: 3 });
  acknowledged(group, 'a');
  const pushes = new Pushes();
  const old = group.leader();
  for (let i = 0; i < 20; i++) {
    for (const machine of group.machines.values()) pushes.send(machine);
    group.run(1);
  }
  const startedMs = group.nowMs;
  const stopped = old.node?.retire() ?? Promise.resolve();
  for (let i = 0; i < 20; i++) {
    for (const machine of group.machines.values()) pushes.send(machine);
    group.run(1);
  }
  await group.finish('the hand-over', stopped);
  expect(group.nowMs - startedMs).toBeLessThan(2 * ELECTION_MS);
  await old.stop();
  group.until('all answers', () => pushes.unanswered === 0);
  expect(pushes.acknowledged).toBe(120);
  expect(stored(group)).toBe(121);
});

describe('a stop falls into', () => {
  test('an election', async () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    const [one, other] = followersOf(group);
    const old = group.leader();
    const pushes = new Pushes();
    if (one === undefined || other === undefined) throw new Error('no followers');
    old.crash();
    pushes.send(one);
    group.run(1.5 * ELECTION_MS);
    const startedMs = group.nowMs;
    await one.stop();
    // Two of three voters are gone: its push could not be stored any more.
    expect(group.nowMs - startedMs).toBeLessThan(10_000);
    expect(pushes.unanswered).toBe(0);
    old.start();
    acknowledged(group, 'b');
  });

  test('a hand-over to a node that stops, too', async () => {
    const group = new FakeGroup({ founders: 3 });
    acknowledged(group, 'a');
    const [one, other] = followersOf(group);
    const old = group.leader();
    const startedMs = group.nowMs;
    await Promise.all([old.stop(), one?.stop()]);
    expect(group.nowMs - startedMs).toBeLessThan(10_000);
    expect(other?.node).not.toBeNull();
    old.start();
    acknowledged(group, 'b');
  });

  test('the transfer of a snapshot, at either end', async () => {
    const group = new FakeGroup({
      founders: 3,
      purgeStep: 1,
      environment: {
        SVC_RAFT_SEGMENT_BYTES: '4096',
        SVC_RAFT_LOG_KEEP: '1',
        SVC_RAFT_DURABLE_EVERY_MS: '20',
      },
    });
    acknowledged(group, ...Array.from({ length: 60 }, (_, i) => `m${i}`));
    const gone = group.leader().deleteQueue('q');
    group.until('the deletion', () => gone.all.length > 0);
    acknowledged(group, 'after');
    group.until('log space', () => (group.leader().parts?.log.firstIndex ?? 1) > 1);
    const joined = group.join(4);
    group.run(200);
    const [raftAddress, httpAddress] = ['node-4:7400', 'node-4:6632'];
    const change = { kind: 'add-learner', node: 4, raftAddress, httpAddress } as const;
    let frames = 0;
    group.lost = (_, to, channel) => {
      if (to === 4 && channel === 'bulk') frames++;
      return false;
    };
    group.leader().changeMembership(change);
    group.until('rows on their way', () => frames > 0);
    await joined.stop();
    joined.start();
    group.until('rows on their way again', () => frames > 2);
    await group.leader().stop();
    group.until('the snapshot', () => joined.reopened > 0 && joined.node !== null, 60_000);
    acknowledged(group, 'more');
    group.converge();
  });

  test('a change of the members: it is done, or can be asked for again', async () => {
    for (const delayMs of [0, 1, 2, 3, 5]) {
      const group = new FakeGroup({ founders: 5, seed: delayMs + 1 });
      acknowledged(group, 'a');
      const leader = group.leader();
      const [asked, removed] = followersOf(group);
      if (asked === undefined || removed === undefined) throw new Error('no followers');
      const change = { kind: 'remove', node: removed.number } as const;
      const answers = asked.changeMembership(change);
      group.run(delayMs);
      await leader.stop();
      group.until('an answer', () => answers.all.length > 0);
      expect(answers.one).toMatchObject({ kind: 'membership' });
      expect(group.leader().node?.parts.group.view()?.voters).not.toContain(removed.number);
    }
  });
});

test('stops at random times, one after the other, lose nothing that was acknowledged', async () => {
  const seed = Number(process.env.SVC_SEED ?? Date.now() % 2 ** 31);
  console.log(`seed ${seed}`);
  const group = new FakeGroup({ founders: 3, seed });
  acknowledged(group, 'a');
  const pushes = new Pushes();
  for (let round = 0; round < 12; round++) {
    const running = [...group.machines.values()];
    const stopping = running[Math.floor(group.random() * 3)] as FakeMachine;
    const retired = stopping.node?.retire() ?? Promise.resolve();
    for (let i = 0; i < 5; i++) {
      for (const machine of running) pushes.send(machine);
      group.run(3 * group.random());
    }
    await group.finish('the hand-over', retired);
    await stopping.stop();
    group.run(ELECTION_MS * group.random());
    stopping.start();
    group.until('all answers', () => pushes.unanswered === 0, 61_000);
    group.leader();
  }
  expect(pushes.acknowledged).toBe(180);
  expect(stored(group)).toBe(181);
  group.converge();
});
