// Goal: the ladder of state-surfaces 0.4: order, codes, what each demand ignores, the table of
// tenants, grants that change rates, charges by outcome. Method: the gate alone, over switches and
// grants that the test sets and a clock of its own.
import { newMeters } from '@svc/wire';
import { describe, expect, test } from 'vitest';
import type { Demand } from '../base/demand.js';
import { FakeSurfaces, grantWith } from '../testing/surface-service.fake.js';
import { GATE_DEFAULTS, Gate, type GateOptions } from './gate.js';

const A = '00000000-0000-0000-0000-00000000000a';
const B = '00000000-0000-0000-0000-00000000000b';
const ALL: readonly Demand[] = [
  { kind: 'kv-read' },
  { kind: 'kv-write', rows: 1, bytes: 10 },
  { kind: 'timer-read' },
  { kind: 'timer-write', timers: 1 },
  { kind: 'ephemeral-push', messages: 1 },
  { kind: 'ephemeral' },
];

class Rig {
  nowMs = 0;
  readonly surfaces = new FakeSurfaces();
  readonly meters = newMeters();
  readonly gate: Gate;

  constructor(options: Partial<GateOptions> = {}) {
    this.gate = new Gate({ ...GATE_DEFAULTS, ...options }, this.meters, () => this.nowMs);
    this.gate.follow(this.surfaces);
  }

  /** `passed`, or the code with the seconds to wait. */
  ask(demand: Demand, tenant = A): string {
    const verdict = this.gate.ask(tenant, demand);
    return 'code' in verdict ? `${verdict.code} ${verdict.retryAfterSeconds}` : 'passed';
  }

  /** How many pass before the first that does not, and what that is told. */
  drain(demand: Demand, tenant = A): string {
    for (let passed = 0; ; passed++) {
      const told = this.ask(demand, tenant);
      if (told !== 'passed') return `${passed}, ${told}`;
    }
  }
}

const write = (rows = 1, bytes = 0): Demand => ({ kind: 'kv-write', rows, bytes });
const timers = (count = 1): Demand => ({ kind: 'timer-write', timers: count });
const ON = { kv: true, timersSchedule: true, timersFire: true, ephemeral: true };

describe('switches', () => {
  test.each([
    ['kv', ['kv_disabled 1', 'kv_disabled 1', 'passed', 'passed', 'passed', 'passed']],
    ['timersSchedule', ['passed', 'passed', 'passed', 'timers_disabled 1', 'passed', 'passed']],
    ['timersFire', ['passed', 'passed', 'passed', 'passed', 'passed', 'passed']],
    [
      'ephemeral',
      ['passed', 'passed', 'passed', 'passed', 'ephemeral_disabled 1', 'ephemeral_disabled 1'],
    ],
  ] as const)('%s off', (name, told) => {
    const rig = new Rig();
    rig.surfaces.on = { ...ON, [name]: false };
    expect(ALL.map((demand) => rig.ask(demand))).toEqual(told);
  });

  test('count before everything else', () => {
    const rig = new Rig({ kvNeedsGrant: true, tenantsMax: 0 });
    rig.surfaces.on = { ...ON, kv: false };
    expect(rig.ask(write())).toBe('kv_disabled 1');
  });
});

describe('grants', () => {
  test('are asked for where they are needed', () => {
    const rig = new Rig({ kvNeedsGrant: true, ephemeralNeedsGrant: true });
    expect(ALL.map((demand) => rig.ask(demand))).toEqual(ALL.map(() => 'feature_gated 0'));
    rig.surfaces.grants.set(`kv ${A}`, grantWith({}));
    expect(ALL.map((demand) => rig.ask(demand))).toEqual([
      'passed',
      'passed',
      'passed',
      'passed',
      'feature_gated 0',
      'feature_gated 0',
    ]);
    expect(rig.ask(write(), B)).toBe('feature_gated 0');
  });

  test('one that is not enabled closes the surface, needed or not', () => {
    const rig = new Rig();
    rig.surfaces.grants.set(`ephemeral ${A}`, grantWith({ enabled: false }));
    expect(rig.ask({ kind: 'ephemeral' })).toBe('feature_gated 0');
    expect(rig.ask({ kind: 'kv-read' })).toBe('passed');
  });

  test('that are closed count for what the gateway granted no more than none', () => {
    const rig = new Rig({ kvNeedsGrant: true, kvWrites: { perSecond: 1, burst: 3 } });
    const granted: Demand = { kind: 'kv-write', rows: 1, bytes: 9, isGranted: true };
    expect([rig.ask(write()), rig.ask(granted)]).toEqual(['feature_gated 0', 'passed']);
    for (const closed of [grantWith({ enabled: false }), grantWith({ maxRows: 0 })]) {
      rig.surfaces.grants.set(`kv ${B}`, closed);
      expect(rig.ask(write(), B)).toMatch(/^feature_gated|^kv_quota_exceeded/);
      expect(rig.ask(granted, B)).toBe('passed');
    }
    expect(rig.drain(granted)).toBe('2, rate_limited 1');
    rig.surfaces.grants.set(`kv ${A}`, grantWith({ maxRows: 1 }));
    rig.surfaces.used = { kvRows: 1, kvBytes: 1, timers: 0 };
    rig.nowMs += 2_000;
    expect(rig.ask(granted), 'a cap of an operator').toBe('kv_quota_exceeded 0');
  });

  test('come before the table of tenants', () => {
    const rig = new Rig({ kvNeedsGrant: true, tenantsMax: 0 });
    expect(rig.ask(write())).toBe('feature_gated 0');
  });

  test('lower the horizon of timers, and never raise it', () => {
    const rig = new Rig();
    expect(rig.gate.timerHorizonSeconds(A, 100)).toBe(100);
    rig.surfaces.grants.set(`kv ${A}`, grantWith({ maxTimerHorizonSeconds: 60 }));
    expect(rig.gate.timerHorizonSeconds(A, 100)).toBe(60);
    expect(rig.gate.timerHorizonSeconds(A, 10)).toBe(10);
  });
});

describe('the table of tenants', () => {
  test('denies and never evicts', () => {
    const rig = new Rig({ tenantsMax: 1 });
    expect(rig.ask({ kind: 'kv-read' }, A)).toBe('passed');
    expect(rig.ask({ kind: 'kv-read' }, B)).toBe('kv_unavailable 1');
    expect(rig.ask(timers(), B)).toBe('kv_unavailable 1');
    rig.nowMs = 1e9;
    expect(rig.ask({ kind: 'kv-read' }, B)).toBe('kv_unavailable 1');
    expect(rig.ask({ kind: 'kv-read' }, A)).toBe('passed');
  });

  test('has room for whoever has a grant', () => {
    const rig = new Rig({ tenantsMax: 1 });
    rig.ask({ kind: 'kv-read' }, A);
    rig.surfaces.grants.set(`kv ${B}`, grantWith({}));
    expect(rig.ask({ kind: 'kv-read' }, B)).toBe('passed');
  });

  test('of ephemeral queues is another', () => {
    const rig = new Rig({ tenantsMax: 1 });
    rig.ask({ kind: 'kv-read' }, A);
    expect(rig.ask({ kind: 'ephemeral' }, B)).toBe('passed');
    expect(rig.ask({ kind: 'ephemeral' }, A)).toBe('ephemeral_unavailable 1');
  });
});

describe('tokens', () => {
  test('reads and writes have buckets of their own', () => {
    const rig = new Rig();
    expect(rig.drain(write())).toBe('200, rate_limited 1');
    expect(rig.drain({ kind: 'kv-read' })).toBe('400, rate_limited 1');
  });

  test('locks and timers share those of key/value', () => {
    const rig = new Rig();
    expect(rig.drain(timers())).toBe('200, rate_limited 1');
    expect(rig.ask(write())).toBe('rate_limited 1');
    expect(rig.drain({ kind: 'timer-read' })).toBe('400, rate_limited 1');
    expect(rig.ask({ kind: 'kv-read' })).toBe('rate_limited 1');
  });

  test('tenants do not share', () => {
    const rig = new Rig();
    rig.drain(write(), A);
    expect(rig.drain(write(), B)).toBe('200, rate_limited 1');
  });

  test('come back with time', () => {
    const rig = new Rig();
    rig.drain(write());
    rig.nowMs = 50;
    expect(rig.drain(write())).toBe('5, rate_limited 1');
  });

  test('a granted rate replaces the standard, with its burst', () => {
    const rig = new Rig();
    const limits = { maxWritesPerSecond: 3, maxReadsPerSecond: 1000 };
    rig.surfaces.grants.set(`kv ${A}`, grantWith(limits));
    expect(rig.drain(write())).toBe('6, rate_limited 1');
    expect(rig.drain({ kind: 'kv-read' })).toBe('2000, rate_limited 1');
  });

  test('a rate of nothing is no matter of waiting', () => {
    const rig = new Rig();
    rig.surfaces.grants.set(`kv ${A}`, grantWith({ maxWritesPerSecond: 0 }));
    expect(rig.ask(write())).toBe('kv_quota_exceeded 0');
    expect(rig.ask(timers())).toBe('timers_quota_exceeded 0');
  });

  test('each message of an ephemeral push costs one, other calls none', () => {
    const rig = new Rig();
    expect(rig.ask({ kind: 'ephemeral-push', messages: 10_000 })).toBe('passed');
    expect(rig.ask({ kind: 'ephemeral-push', messages: 1 })).toBe('rate_limited 1');
    expect(rig.ask({ kind: 'ephemeral-push', messages: 10_000 })).toBe('rate_limited 2');
    expect(rig.ask({ kind: 'ephemeral' })).toBe('passed');
  });
});

describe('occupancy', () => {
  function capped(limits: Parameters<typeof grantWith>[0]): Rig {
    const rig = new Rig();
    rig.surfaces.grants.set(`kv ${A}`, grantWith(limits));
    return rig;
  }

  test('refuses what would go beyond the allowance, by its kind', () => {
    const rig = capped({ maxRows: 10, maxBytes: 100, maxTimers: 5 });
    rig.surfaces.used = { kvRows: 9, kvBytes: 95, timers: 5 };
    expect(rig.ask(write(2, 0))).toBe('kv_quota_exceeded 0');
    expect(rig.ask(timers())).toBe('timers_quota_exceeded 0');
    expect(rig.ask({ kind: 'kv-read' })).toBe('passed');
    expect(rig.ask(write(0, 0))).toBe('passed');
    expect(rig.ask(timers(0))).toBe('passed');
  });

  test('what passed is held against the allowance until it is settled', () => {
    const rig = capped({ maxRows: 10 });
    const first = rig.gate.ask(A, write(6));
    expect(rig.ask(write(6))).toBe('kv_quota_exceeded 0');
    if ('settle' in first) first.settle({ kind: 'kv' });
    expect(rig.ask(write(6))).toBe('passed');
  });

  test.each(['timeout', 'outcome_unknown'])('a call that ends in %s stays charged', (reason) => {
    const rig = capped({ maxRows: 10 });
    const first = rig.gate.ask(A, write(6));
    if ('settle' in first) first.settle({ kind: 'refused', refusal: { reason } });
    expect(rig.ask(write(6))).toBe('kv_quota_exceeded 0');
  });

  test('a call that was refused is refunded', () => {
    const rig = capped({ maxRows: 10 });
    const first = rig.gate.ask(A, write(6));
    if ('settle' in first) {
      first.settle({ kind: 'refused', refusal: { reason: 'storage_full' } });
      // Said twice it counts once.
      first.settle({ kind: 'refused', refusal: { reason: 'storage_full' } });
    }
    expect(rig.ask(write(10))).toBe('passed');
    expect(rig.ask(write(1))).toBe('kv_quota_exceeded 0');
  });

  test('the figures count tenants with a cap', () => {
    const rig = capped({ maxRows: 10 });
    expect(rig.gate.quotaFigures()).toEqual({ tenants: 0, ageMs: null, hot: 0 });
    rig.surfaces.used = { kvRows: 8, kvBytes: 0, timers: 0 };
    rig.ask(write(), B);
    rig.ask(write(), A);
    rig.nowMs = 250;
    expect(rig.gate.quotaFigures()).toEqual({ tenants: 1, ageMs: 250, hot: 1 });
  });
});

describe('a transaction', () => {
  const transaction = (rows: number, count: number): Demand => {
    return { kind: 'transaction', hasKv: rows > 0, rows, bytes: 0, timers: count };
  };

  test('is asked for grant and allowance', () => {
    const rig = new Rig({ kvNeedsGrant: true });
    expect(rig.ask(transaction(1, 0))).toBe('feature_gated 0');
    rig.surfaces.grants.set(`kv ${A}`, grantWith({ maxRows: 2, maxTimers: 2 }));
    expect(rig.ask(transaction(1, 1))).toBe('passed');
    expect(rig.ask(transaction(2, 1))).toBe('kv_quota_exceeded 0');
    expect(rig.ask(transaction(0, 2))).toBe('timers_quota_exceeded 0');
    expect(rig.ask(transaction(0, 0))).toBe('passed');
  });

  test('and for nothing else', () => {
    const rig = new Rig({ tenantsMax: 0 });
    for (let i = 0; i < 1000; i++) expect(rig.ask(transaction(1, 1))).toBe('passed');
  });

  test('leaves it to the leader to say that a surface is paused, which comes first', () => {
    const rig = new Rig({ kvNeedsGrant: true });
    rig.surfaces.on = { ...ON, kv: false };
    expect(rig.ask(transaction(1, 0))).toBe('passed');
    expect(rig.ask(transaction(0, 1))).toBe('feature_gated 0');
    rig.surfaces.on = { ...ON, timersSchedule: false };
    expect(rig.ask(transaction(1, 1))).toBe('passed');
    expect(rig.ask(transaction(1, 0))).toBe('feature_gated 0');
  });
});

test('before anything is served, nothing is asked', () => {
  const rig = new Rig({ kvNeedsGrant: true });
  rig.gate.follow(null);
  expect(rig.ask(write())).toBe('passed');
});
