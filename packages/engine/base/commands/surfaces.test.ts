// Goal: switches and grants are replicated state (state-surfaces 5.1, 5.2): set by commands, kept
// over leaders. Method: the engine's rig, whose rows pass through their form.
import { expect, test } from 'vitest';
import { EngineRig, TENANT } from '../../testing/engine.fake.js';
import { type GrantRow, grantOf } from '../grants.js';
import { switchesOf } from '../switches.js';
import type { SwitchChanges } from './surfaces.js';

const ON = { kv: true, timersSchedule: true, timersFire: true, ephemeral: true };

function set(rig: EngineRig, changes: SwitchChanges): unknown {
  return rig.call({ kind: 'set-switches', tenant: TENANT, changes }).outcome;
}

test('without a word everything is on', () => {
  expect(switchesOf(new EngineRig().state)).toEqual(ON);
});

test('what is named changes, the rest stays, and a new leader finds it', () => {
  const rig = new EngineRig();
  expect(set(rig, { kv: false })).toEqual({
    kind: 'switches-set',
    switches: { ...ON, kv: false },
  });
  set(rig, { ephemeral: false, timersFire: false });
  rig.restart();
  const now = { ...ON, kv: false, ephemeral: false, timersFire: false };
  expect(switchesOf(rig.planner.state)).toEqual(now);
  expect(set(rig, { kv: true })).toMatchObject({ switches: { ...now, kv: true } });
});

test('to set what is set writes nothing', () => {
  const rig = new EngineRig();
  set(rig, { kv: false });
  const before = rig.entries;
  set(rig, { kv: false });
  set(rig, {});
  expect(rig.entries).toBe(before);
});

const NONE: GrantRow = {
  enabled: true,
  maxRows: null,
  maxBytes: null,
  maxTimers: null,
  maxTimerHorizonSeconds: null,
  maxReadsPerSecond: null,
  maxWritesPerSecond: null,
  maxQueues: null,
  maxMessagesPerSecond: null,
  maxQueries: null,
};

test('a grant is kept by tenant and kind, and replaced as a whole', () => {
  const rig = new EngineRig();
  const grant: GrantRow = { ...NONE, maxRows: 0, maxBytes: Number.MAX_SAFE_INTEGER };
  const command = { kind: 'set-grant', tenant: TENANT, surface: 'kv' } as const;
  expect(rig.call({ ...command, grant }).outcome).toEqual({ kind: 'grant-set' });
  rig.restart();
  expect(grantOf(rig.state, TENANT, 'kv')).toEqual(grant);
  expect(grantOf(rig.state, TENANT, 'ephemeral')).toBeUndefined();
  expect(grantOf(rig.state, 'ffffffff-0000-4000-8000-000000000001', 'kv')).toBeUndefined();
  const before = rig.entries;
  rig.call({ ...command, grant });
  expect(rig.entries).toBe(before);
  rig.call({ ...command, grant: { ...NONE, enabled: false } });
  expect(grantOf(rig.state, TENANT, 'kv')).toEqual({ ...NONE, enabled: false });
});
