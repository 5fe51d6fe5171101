/**
 * Goal: whoever counts what is applied is told each thing once, with the queue that it happened to
 * and why. Method: a planner over an applied state; the observer notes what it hears.
 */
import { expect, test } from 'vitest';
import type { OptionChanges } from '../base/commands/commands.js';
import { EngineRig, TENANT } from '../testing/engine.fake.js';
import type { AppliedEvents } from './applied-events.js';

/** A rig, and what its observer heard: tenants and stamps are checked and left out. */
function observed(changes: OptionChanges): { rig: EngineRig; heard: string[] } {
  const retention = { intervalMs: 1000, batchAppends: 1000 };
  const rig = new EngineRig(undefined, { retention });
  const heard: string[] = [];
  const note = (tenant: string, text: string, stampUs: number | null) => {
    expect(tenant).toBe(TENANT);
    if (stampUs !== null) expect(stampUs).toBeGreaterThanOrEqual(1_800_000_000_000_000);
    heard.push(text);
  };
  const events: AppliedEvents = {
    queueDeleted: (tenant, queue) => note(tenant, `deleted ${queue}`, null),
    partitionCreated: (tenant, queue, atUs) => note(tenant, `created in ${queue}`, atUs),
    partitionDeleted: (tenant, queue, atUs) => note(tenant, `dropped from ${queue}`, atUs),
    trimmed: (tenant, queue, messages, cause, atUs) =>
      note(tenant, `trimmed ${messages} of ${queue} by ${cause}`, atUs),
  };
  rig.events = events;
  rig.configure('q', changes);
  expect(heard.splice(0)).toEqual(['created in q']);
  return { rig, heard };
}

function wait(rig: EngineRig, seconds: number): void {
  for (let i = 0; i < seconds; i++) {
    rig.advance(1000);
    rig.turn();
  }
}

test('partitions that come, and a queue that goes', () => {
  const { rig, heard } = observed({});
  rig.push('q', 'p', ['a', 'b']);
  rig.push('q', 'p', ['c']);
  rig.push('q', 'r', ['d']);
  rig.call({ kind: 'delete-queue', tenant: TENANT, queue: 'q' });
  wait(rig, 3);
  expect(heard).toEqual(['created in q', 'created in q', 'deleted q']);
});

test.each<[string, OptionChanges]>([
  ['age', { retentionEnabled: true, retentionSeconds: 5 }],
  ['wait', { maxWaitTimeSeconds: 5 }],
])('messages that go by %s', (cause, changes) => {
  const { rig, heard } = observed(changes);
  rig.push('q', 'p', ['a', 'b', 'c']);
  wait(rig, 10);
  expect(heard).toEqual(['created in q', `trimmed 3 of q by ${cause}`]);
});

test('the rule that reaches further gives the reason', () => {
  const both = { retentionEnabled: true, retentionSeconds: 50, maxWaitTimeSeconds: 5 };
  const { rig, heard } = observed(both);
  rig.push('q', 'p', ['a']);
  wait(rig, 10);
  expect(heard).toContain('trimmed 1 of q by wait');
});

test('what was read goes for another reason than what is merely old, also in one look', () => {
  const rules = { retentionEnabled: true, retentionSeconds: 8, completedRetentionSeconds: 3 };
  const { rig, heard } = observed(rules);
  rig.push('q', 'p', ['old']);
  for (let i = 0; i < 6; i++) rig.advance(1000);
  rig.push('q', 'p', ['read']);
  rig.pop({ queue: 'q', partition: 'p', autoAck: true, batch: 2 });
  rig.advance(4000);
  wait(rig, 3);
  expect(heard).toContain('trimmed 1 of q by age');
  expect(heard).toContain('trimmed 1 of q by read');
});

test('who plans tells nobody: an entry in flight has not happened', () => {
  const { rig, heard } = observed({});
  rig.lag = 2;
  rig.push('q', 'p', ['a']);
  expect(heard).toEqual([]);
  rig.push('q', 'r', ['b']);
  rig.push('q', 's', ['c']);
  expect(heard).toEqual(['created in q']);
});
