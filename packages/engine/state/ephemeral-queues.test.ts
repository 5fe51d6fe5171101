// Goal: what is declared of ephemeral queues is stored as it was sent, within the tenant's
// allowance, and a deletion reaches every node, whether there was a row or not. Method: plans over
// a state in maps, and effects there and back through their bytes.
import { expect, test } from 'vitest';
import { ByteReader, ByteWriter } from '../base/bytes.js';
import type { EphemeralCommand } from '../base/commands/ephemeral.js';
import { type GrantRow, grantKey, grants } from '../base/grants.js';
import { MapState } from '../base/map-state.js';
import type { Draft } from '../draft/draft.js';
import { planEphemeral, purgeEphemeral } from '../features/ephemeral/plan.js';
import { PURGED_ROWS } from '../features/job.js';
import { readEffect, writeEffect } from './effects.js';
import {
  applyEphemeralEffect,
  declaredOptions,
  declaredQueues,
  type EphemeralQueueEffect,
} from './ephemeral-queues.js';

const TENANT = '00000000-0000-0000-0000-000000000001';
const OTHER = '00000000-0000-0000-0000-000000000002';

class Planned {
  readonly state = new MapState();
  readonly effects: EphemeralQueueEffect[] = [];

  get draft(): Draft {
    const emit = (effect: EphemeralQueueEffect) => {
      const w = new ByteWriter(64);
      writeEffect(w, effect);
      const read = readEffect(new ByteReader(w.finish())) as EphemeralQueueEffect;
      this.effects.push(read);
      applyEphemeralEffect(this.state, read);
    };
    return { state: this.state, emit } as unknown as Draft;
  }

  configure(queue: string, options = '{}', tenant = TENANT) {
    return planEphemeral(this.draft, { kind: 'ephemeral-configure', tenant, queue, options });
  }

  delete(queue: string) {
    const command: EphemeralCommand = { kind: 'ephemeral-delete', tenant: TENANT, queue };
    return planEphemeral(this.draft, command);
  }
}

test('options are kept as they were sent, and replaced as a whole', () => {
  const planned = new Planned();
  const options = '{ "maxLength":1e1 }';
  expect(planned.configure('ü', options)).toEqual({
    kind: 'ephemeral-configured',
    isOverQuota: false,
  });
  expect(declaredOptions(planned.state, TENANT, 'ü')).toBe(options);
  planned.configure('ü', options);
  expect(planned.effects, 'the same again writes nothing').toHaveLength(1);
  planned.configure('ü', '{"ttlSeconds":5}');
  planned.configure('b', '{}', OTHER);
  expect(declaredQueues(planned.state, TENANT, '', 9)).toEqual([
    { queue: 'ü', options: '{"ttlSeconds":5}' },
  ]);
});

test('a deletion is an effect also of a queue that nobody declared', () => {
  const planned = new Planned();
  planned.configure('q');
  expect(planned.delete('q')).toEqual({ kind: 'ephemeral-deleted', wasDeclared: true });
  expect(planned.delete('q')).toEqual({ kind: 'ephemeral-deleted', wasDeclared: false });
  expect(planned.effects.slice(1)).toEqual(
    [1, 2].map(() => ({ kind: 'ephemeral-queue', tenant: TENANT, queue: 'q', options: null })),
  );
  expect(declaredOptions(planned.state, TENANT, 'q')).toBeUndefined();
});

test('no more queues than were granted, but those there are can be declared anew', () => {
  const planned = new Planned();
  const grant = { enabled: true, maxQueues: 2 } as GrantRow;
  planned.state.put(grants, grantKey(TENANT, 'ephemeral'), grant);
  const over = ['a', 'b', 'c', 'a'].map((queue) => {
    const outcome = planned.configure(queue, `{"maxLength":${planned.effects.length}}`);
    return outcome.kind === 'ephemeral-configured' && outcome.isOverQuota;
  });
  expect(over).toEqual([false, false, true, false]);
});

test('a purge goes in steps, and ends with whatever nodes hold of the tenant', () => {
  const planned = new Planned();
  for (let i = 0; i <= PURGED_ROWS; i++) planned.configure(`q${1000 + i}`);
  planned.configure('a', '{}', OTHER);
  const step = { draft: planned.draft, tenant: TENANT, partitionsDeleted: 0 };
  const next = purgeEphemeral({ ...step, next: '' });
  expect(next).toBe(`${TENANT}q${1000 + PURGED_ROWS - 1}\0`);
  expect(
    planned.effects.some(({ queue }) => queue === ''),
    'not yet',
  ).toBe(false);
  expect(purgeEphemeral({ ...step, next: next ?? '' })).toBeNull();
  expect(planned.effects.at(-1)).toMatchObject({ tenant: TENANT, queue: '', options: null });
  expect(declaredQueues(planned.state, TENANT, '', 9)).toEqual([]);
  expect(declaredQueues(planned.state, OTHER, '', 9)).toHaveLength(1);
});
