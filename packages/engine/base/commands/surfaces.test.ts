// Goal: switches and grants are replicated state (state-surfaces 5.1, 5.2): set by commands, kept
// over leaders, and their commands travel between nodes. Method: the engine's rig, whose rows pass
// through their form; the codecs forth and back, whole and cut short.
import { expect, test } from 'vitest';
import { decodeForwarded, encodeForwarded } from '../../forwarding/command-codec.js';
import { decodeAnswer, encodeAnswer } from '../../forwarding/outcome-codec.js';
import { EngineRig, TENANT } from '../../testing/engine.fake.js';
import { type GrantRow, grantOf } from '../grants.js';
import { switchesOf } from '../switches.js';
import type { Command, Outcome } from './commands.js';
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

const COMMANDS: readonly Command[] = [
  { kind: 'set-switches', tenant: TENANT, changes: {} },
  { kind: 'set-switches', tenant: TENANT, changes: { kv: false, ephemeral: true } },
  {
    kind: 'set-switches',
    tenant: TENANT,
    changes: { kv: true, timersSchedule: false, timersFire: true, ephemeral: false },
  },
  { kind: 'set-grant', tenant: TENANT, surface: 'streams', grant: { ...NONE, enabled: false } },
  {
    kind: 'set-grant',
    tenant: TENANT,
    surface: 'ephemeral',
    grant: { ...NONE, maxRows: 0, maxQueries: Number.MAX_SAFE_INTEGER },
  },
  { kind: 'purge-tenant', tenant: TENANT },
];

test.each(COMMANDS)('%j travels', (command) => {
  const forwarded = { term: 3, deadlineMs: 500, origin: null, command };
  const [bytes = new Uint8Array()] = encodeForwarded(forwarded, 100);
  expect(decodeForwarded(bytes, 100)).toEqual(forwarded);
  const cut = bytes.subarray(0, bytes.length - 1);
  expect(decodeForwarded(cut, 100)).toBe('content');
});

const OUTCOMES: readonly Outcome[] = [
  { kind: 'switches-set', switches: ON },
  { kind: 'switches-set', switches: { ...ON, kv: false, ephemeral: false } },
  { kind: 'grant-set' },
  { kind: 'tenant-purged', partitionsDeleted: 12_345 },
];

test.each(OUTCOMES)('%j travels back', (outcome) => {
  const answer = { index: 7, term: 2, outcome };
  expect(decodeAnswer(encodeAnswer(answer))).toEqual(answer);
});
