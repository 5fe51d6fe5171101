// Goal: whoever names a delivery policy is told of it by any empty answer, also one that a node
// gives by itself. Method: a node alone over simulated disks, with a pop parked while it drains.
import type { RefusedOutcome } from '@svc/engine';
import type { DeliveredOutcome } from '@svc/http';
import { expect, test } from 'vitest';
import { FakeGroup } from '../testing/group.fake.js';
import { Answers, popOf } from '../testing/group-clients.fake.js';

test('a pop that waits while the node is being stopped', () => {
  const group = new FakeGroup({ founders: 1 });
  group.until('a leader', () => group.leader().node !== null);
  const { node } = group.leader();
  if (node === null) throw new Error('no node');
  const { broker, requests } = node.parts;
  const pop = (conflation: boolean | null): Answers<DeliveredOutcome | RefusedOutcome> => {
    const answers = new Answers<DeliveredOutcome | RefusedOutcome>();
    const deadlineMs = broker.monotonicMs() + 20_000;
    broker.pop({ ...popOf('q', 20_000, deadlineMs), conflation }, answers);
    group.run(500);
    return answers;
  };
  const [last, other, silent] = [pop(true), pop(false), pop(null)];
  expect([last, other, silent].map(({ all }) => all)).toEqual([[], [], []]);
  requests.drain();
  group.run(500);
  const told = { conflation: true, autopilot: null };
  expect(last.one).toMatchObject({ claims: [], terms: { ...told, conflationConflict: false } });
  expect(other.one).toMatchObject({ claims: [], terms: { ...told, conflationConflict: true } });
  expect(silent.one).toMatchObject({ claims: [], terms: null });
});
