// Goal: a node shows nothing older than what was answered before it was asked, from the first
// moment of its start on. Method: a whole node over a simulated disk is started anew and asked at
// every step of its start; most of what was answered is behind its last checkpoint.
import { expect, test } from 'vitest';
import { FakeGroup, type FakeMachine } from '../testing/group.fake.js';

const STEP_MS = 0.2;
const CHECKPOINT_MS = 2500;

function acknowledged(group: FakeGroup, id: string): void {
  const answers = group.leader().push('q', id);
  group.until(`an answer to ${id}`, () => answers.all.length > 0);
  expect(answers.one).toMatchObject({ kind: 'pushed' });
}

/** Messages in the queue as each of the reads told that were asked while `ms` passed. */
function totals(group: FakeGroup, machine: FakeMachine, ms: number): number[] {
  const asked: ReturnType<FakeMachine['queues']>[] = [];
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    asked.push(machine.queues());
    group.run(STEP_MS);
  }
  return asked.flatMap(({ all }) =>
    all.flatMap((list) => (list.kind === 'queue-list' ? [list.queues[0]?.counts.total ?? 0] : [])),
  );
}

test('a sole voter shows nothing before it has applied what it had committed', () => {
  const group = new FakeGroup({ founders: 1 });
  acknowledged(group, 'a');
  group.run(CHECKPOINT_MS);
  for (const id of ['b', 'c']) acknowledged(group, id);
  const machine = group.machine(1);
  machine.restart('process');
  const told = totals(group, machine, 100);
  expect(told.length).toBeGreaterThan(0);
  expect(new Set(told)).toEqual(new Set([3]));
});
