// Goal: the soft gate of allowances (state-surfaces 5.3): what is under way counts, what was
// refunded does not, and a release needs the measurement to fall. Method: measurements and a clock
// that the test sets.
import { describe, expect, test } from 'vitest';
import { type Amounts, type Caps, CHARGE_WINDOW_MS, type Charge, Occupancy } from './occupancy.js';

const BANDS = { releasePct: 90, hotPct: 80 };
const FREE: Caps = { rows: null, bytes: null, timers: null };
const NOTHING: Amounts = { rows: 0, bytes: 0, timers: 0 };

class Rig {
  nowMs = 0;
  measured: Amounts = NOTHING;
  caps: Caps = { ...FREE, rows: 100 };
  readonly occupancy = new Occupancy(0);

  rows(rows: number, bytes = 0): Charge | null {
    const asked = { rows, bytes, timers: 0 };
    const told = this.occupancy.admit(this.measured, this.caps, asked, BANDS, this.nowMs);
    return typeof told === 'string' ? null : told;
  }

  settle(charge: Charge | null): void {
    if (charge !== null) this.occupancy.settle(charge);
  }
}

describe('admission', () => {
  test('up to the cap, and not beyond', () => {
    const rig = new Rig();
    rig.measured = { ...NOTHING, rows: 40 };
    expect(rig.rows(60)).not.toBeNull();
    expect(rig.rows(1)).toBeNull();
  });

  test('what is under way counts until its outcome is known', () => {
    const rig = new Rig();
    const first = rig.rows(60);
    expect(rig.rows(60)).toBeNull();
    rig.settle(first);
    expect(rig.rows(60)).not.toBeNull();
  });

  test('a call that adds nothing always passes', () => {
    const rig = new Rig();
    rig.measured = { ...NOTHING, rows: 1000 };
    expect(rig.rows(0)).not.toBeNull();
    expect(rig.rows(1)).toBeNull();
    expect(rig.rows(0)).not.toBeNull();
  });

  test('each resource has its own cap', () => {
    const rig = new Rig();
    rig.caps = { rows: null, bytes: 10, timers: null };
    expect(rig.rows(1_000_000, 10)).not.toBeNull();
    expect(rig.rows(1, 1)).toBeNull();
    expect(rig.rows(1, 0)).not.toBeNull();
  });

  test('a refused call is charged nothing, of no resource', () => {
    const rig = new Rig();
    rig.caps = { rows: 100, bytes: 10, timers: null };
    expect(rig.rows(90, 11)).toBeNull();
    expect(rig.rows(10, 1)).not.toBeNull();
  });
});

test('names the resource that is full', () => {
  const occupancy = new Occupancy(0);
  const caps = { rows: 5, bytes: 5, timers: 5 };
  const admit = (asked: Partial<Amounts>) =>
    occupancy.admit(NOTHING, caps, { ...NOTHING, ...asked }, BANDS, 0);
  expect(admit({ rows: 1, timers: 6 })).toBe('timers');
  expect(admit({ bytes: 6, timers: 6 })).toBe('bytes');
});

describe('release', () => {
  test('only when the measurement is in the band', () => {
    const rig = new Rig();
    rig.measured = { ...NOTHING, rows: 100 };
    expect(rig.rows(1)).toBeNull();
    rig.measured = { ...NOTHING, rows: 91 };
    expect(rig.rows(1)).toBeNull();
    rig.measured = { ...NOTHING, rows: 90 };
    expect(rig.rows(1)).not.toBeNull();
    rig.measured = { ...NOTHING, rows: 95 };
    expect(rig.rows(1)).not.toBeNull();
  });

  test('a refund releases nothing above the band', () => {
    const rig = new Rig();
    rig.measured = { ...NOTHING, rows: 95 };
    const charge = rig.rows(5);
    expect(rig.rows(1)).toBeNull();
    rig.settle(charge);
    expect(rig.rows(1)).toBeNull();
  });

  test('a cap that is lifted does', () => {
    const rig = new Rig();
    rig.measured = { ...NOTHING, rows: 100 };
    expect(rig.rows(1)).toBeNull();
    rig.caps = { ...FREE, rows: null };
    expect(rig.rows(1)).not.toBeNull();
  });
});

describe('charges that are never settled', () => {
  test('count for one to two windows', () => {
    const rig = new Rig();
    rig.nowMs = CHARGE_WINDOW_MS / 2;
    expect(rig.rows(60)).not.toBeNull();
    rig.nowMs = 2 * CHARGE_WINDOW_MS - 1;
    expect(rig.rows(60)).toBeNull();
    rig.nowMs = 2 * CHARGE_WINDOW_MS;
    expect(rig.rows(60)).not.toBeNull();
  });

  test('and end after a long silence', () => {
    const rig = new Rig();
    expect(rig.rows(60)).not.toBeNull();
    rig.nowMs = 1e9;
    expect(rig.rows(60)).not.toBeNull();
  });

  test('one settled after its window takes nothing from others', () => {
    const rig = new Rig();
    const old = rig.rows(60);
    rig.nowMs = 2 * CHARGE_WINDOW_MS;
    expect(rig.rows(60)).not.toBeNull();
    rig.settle(old);
    expect(rig.rows(60)).toBeNull();
  });

  test('one settled in the window after its own is given back', () => {
    const rig = new Rig();
    const charge = rig.rows(60);
    rig.nowMs = CHARGE_WINDOW_MS;
    expect(rig.rows(60)).toBeNull();
    rig.settle(charge);
    expect(rig.rows(60)).not.toBeNull();
  });
});

test('hot from the watermark on', () => {
  const rig = new Rig();
  rig.measured = { ...NOTHING, rows: 79 };
  rig.rows(0);
  expect(rig.occupancy.isHot).toBe(false);
  rig.measured = { ...NOTHING, rows: 80 };
  rig.rows(0);
  expect(rig.occupancy.isHot).toBe(true);
});
