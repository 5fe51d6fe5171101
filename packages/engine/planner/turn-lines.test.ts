// Goal: what a turn costs is bounded, small commands go before wide ones, wide ones take turns, and
// after a heavy one those who waited get their answers first. Method: the planner over rows in
// memory; what is looked at is units of work and the order of answers, and never time.
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { AckCommand, PushCommand } from '../base/commands/commands.js';
import { type KvCall, kvJson } from '../base/commands/kv.js';
import type { TransactionCommand } from '../base/commands/transaction.js';
import { cursors } from '../base/tables.js';
import {
  ATOMIC_UNITS_MAX,
  PRICES,
  SLICE_BYTES,
  SLICE_UNITS,
  SMALL_UNITS,
  TURN_UNITS,
  WIDE_BYTES_IN_FLIGHT,
} from '../base/work-prices.js';
import { timers } from '../state/timers/tables.js';
import { EngineRig, pushCommand, type Request, TENANT, utf8 } from '../testing/engine.fake.js';
import { scheduleOf, timerCall } from '../testing/timers.fake.js';
import { WidePace } from './turn-lines.js';

let rig: EngineRig;

beforeEach(() => {
  rig = new EngineRig();
});

const NEW = PRICES.append + PRICES.newPartition;
/** New partitions that are a slice. */
const SLICE = Math.floor(SLICE_UNITS / (NEW + PRICES.item));

/** A message for each of `count` partitions of a queue. */
function wide(queue: string, count: number, from = 0): PushCommand {
  const one = pushCommand(queue, 'p', ['x'], false) as PushCommand;
  const all = Array.from({ length: count }, (_, i) => i);
  return {
    ...one,
    groups: all.map((i) => ({ queue, partition: `p${from + i}` })),
    itemGroup: all,
    transactionIds: all.map(() => null),
    payloadStart: all.map(() => one.payloadStart[0] ?? 0),
    payloadEnd: all.map(() => one.payloadEnd[0] ?? 0),
  };
}

function acks(count: number): AckCommand {
  const items = Array.from({ length: count }, (_, i) => ({
    transactionId: 'x',
    partitionId: String(1_000_000 + i),
    leaseId: '',
    status: 'completed' as const,
    error: null,
  }));
  return { kind: 'ack', tenant: TENANT, consumerGroup: 'g', items };
}

function transaction(parts: Partial<TransactionCommand>): TransactionCommand {
  const nothing = { acks: [], pushes: null, traceIds: null, positions: [], kv: null, timers: null };
  return { kind: 'transaction', tenant: TENANT, ...nothing, flaw: null, ...parts };
}

function positions(
  count: number,
  partition: (i: number) => string,
  group: (i: number) => string = () => 'g',
  offset = 1,
): TransactionCommand {
  return transaction({
    positions: Array.from({ length: count }, (_, i) => ({
      queue: 'q',
      consumerGroup: group(i),
      partition: partition(i),
      offset,
      metadata: null,
      subscription: { mode: 'all' },
    })),
  });
}

const small = () => rig.send(pushCommand('small', 'p', ['x'], false));
const isDone = ({ outcome }: Request) => outcome !== null;

describe('units', () => {
  test('names that are made are counted when they are made', () => {
    rig.call(wide('q', 100));
    expect(rig.units).toBe(100 * (NEW + PRICES.item) + PRICES.newQueue + PRICES.command);
    rig.call(wide('q', 100));
    expect(rig.units).toBe(100 * (PRICES.append + PRICES.item) + PRICES.command);
  });

  test('single pushes that make partitions end a turn too', () => {
    const requests = Array.from({ length: 2000 }, (_, i) =>
      rig.send(pushCommand('q', `p${i}`, ['x'], false)),
    );
    let turns = 0;
    for (; !requests.every(isDone); turns++) {
      rig.turn();
      expect(rig.units).toBeLessThanOrEqual(TURN_UNITS + NEW + PRICES.newQueue + PRICES.item);
    }
    expect(turns).toBe(Math.ceil((2000 * (NEW + PRICES.item + PRICES.command)) / TURN_UNITS));
  });

  test('ten clients with slices of new partitions: each turn has one, and they go round', () => {
    const slices = Array.from({ length: 10 }, (_, client) => rig.send(wide(`q${client}`, SLICE)));
    for (let turn = 0; turn < 10; turn++) {
      const one = small();
      rig.turn();
      expect(isDone(one)).toBe(true);
      expect(rig.units).toBeLessThan(2 * TURN_UNITS);
      expect(slices.map(isDone)).toEqual(slices.map((_, client) => client <= turn));
    }
  });

  test('slices of acknowledgements and of pushes take turns', () => {
    const drains = [rig.send(acks(750)), rig.send(acks(750))];
    const fills = [rig.send(wide('a', SLICE)), rig.send(wide('b', SLICE))];
    rig.turn();
    const again = rig.send(acks(750));
    const order: string[] = [];
    for (let turn = 0; turn < 4; turn++) {
      rig.turn();
      order.push([...drains, ...fills, again].map((one) => (isDone(one) ? '1' : '0')).join(''));
      expect(rig.units).toBeLessThan(2 * TURN_UNITS);
    }
    expect(order).toEqual(['11000', '11100', '11110', '11111']);
  });
});

describe('pops by labels', () => {
  const QUEUES = 2000;
  const scope = { kind: 'discovery', namespace: null, task: null } as const;
  const byLabels = (consumerGroup: string) =>
    rig.send({ ...rig.popCommand({ consumerGroup, autoAck: true }), scope });

  beforeEach(() => {
    const one = wide('q', QUEUES);
    rig.call({ ...one, groups: one.groups.map((_, i) => ({ queue: `q${i}`, partition: 'p' })) });
    const first = byLabels('known');
    while (!isDone(first) || rig.planner.nextDueMs() === 0) rig.turn();
  });

  test('count the queues that they look at, and stand behind small pops', () => {
    const pops = Array.from({ length: 8 }, () => byLabels('known'));
    const each = Math.floor(TURN_UNITS / (QUEUES * PRICES.matchedQueue + PRICES.pop));
    // The first turn is the rest after that in which the group was registered.
    for (let turn = 0; !pops.every(isDone); turn++) {
      const one = rig.send(rig.popCommand({ queue: 'q1', consumerGroup: 'other' }));
      rig.turn();
      expect(isDone(one)).toBe(true);
      expect(rig.units).toBeLessThan(TURN_UNITS + PRICES.pop + PRICES.claim);
      expect(pops.filter(isDone)).toHaveLength(Math.min(pops.length, turn * each));
    }
  });

  test('count the queues that their group begins to read', () => {
    byLabels('fresh');
    rig.turn();
    expect(rig.units).toBeGreaterThan(QUEUES * PRICES.newGroup);
  });
});

describe('what applies as a whole', () => {
  test('100,000 new partitions are refused, and nothing is written', () => {
    const pushes = wide('q', 100_000);
    const request = rig.call(transaction({ pushes }));
    expect(request.outcome).toMatchObject({
      kind: 'refused',
      refusal: { reason: 'too_large', error: expect.stringContaining('send it in') },
    });
    expect(rig.entries).toBe(0);
    expect(rig.units).toBeLessThan(TURN_UNITS);
  });

  test('what costs too much by its items alone is refused without a look at its names', () => {
    const get = vi.spyOn(rig.state, 'get');
    const pushes = wide('q', 100_000);
    expect(rig.call(transaction({ pushes })).outcome).toMatchObject({ kind: 'refused' });
    expect(get.mock.calls.length).toBeLessThan(100);
  });

  test('what costs too much by the names that it makes is refused as well', () => {
    const count = Math.ceil(ATOMIC_UNITS_MAX / (NEW + PRICES.item));
    expect(count * (PRICES.append + PRICES.item)).toBeLessThan(ATOMIC_UNITS_MAX);
    const request = rig.call(transaction({ pushes: wide('q', count) }));
    expect(request.outcome).toMatchObject({ refusal: { reason: 'too_large' } });
    expect(rig.entries).toBe(0);
  });

  test('what fits is applied, in a turn of its own', () => {
    const count = Math.floor(ATOMIC_UNITS_MAX / (NEW + PRICES.item)) - 10;
    const request = rig.call(transaction({ pushes: wide('q', count) }));
    expect(request.outcome).toMatchObject({ kind: 'transacted', rollback: null });
    expect(rig.units).toBeLessThanOrEqual(ATOMIC_UNITS_MAX + 2 * PRICES.command);
  });

  describe('the rows of many positions are read before', () => {
    const POSITIONS = 16_384;
    const READS = Math.ceil(POSITIONS / Math.floor(SLICE_UNITS / PRICES.positionRows));
    const many = () =>
      positions(
        POSITIONS,
        (i) => `p${i % 128}`,
        (i) => `g${i >> 7}`,
      );

    test('a slice in each turn, and small commands go on meanwhile', () => {
      rig.call(wide('q', 128));
      const request = rig.send(many());
      for (let turn = 1; turn < READS; turn++) {
        const one = small();
        rig.turn();
        expect([isDone(one), isDone(request)]).toEqual([true, false]);
        expect(rig.units).toBeLessThan(TURN_UNITS + SMALL_UNITS);
      }
      rig.turn();
      expect(request.outcome).toMatchObject({ kind: 'transacted', rollback: null });
      expect(rig.units).toBeLessThan(POSITIONS * PRICES.position + TURN_UNITS);
    });

    test('so it is where the transaction pushes too, and what drains takes turns with it', () => {
      rig.call(wide('q', 128));
      const pushes = pushCommand('q', 'p0', ['x'], false) as PushCommand;
      const request = rig.send({ ...many(), pushes });
      const drains = Array.from({ length: 3 }, () => rig.send(acks(750)));
      for (let turn = 1; turn < READS + 3; turn++) {
        rig.turn();
        expect(isDone(request)).toBe(false);
        expect(rig.units).toBeLessThan(2 * TURN_UNITS);
      }
      expect(drains.every(isDone)).toBe(true);
      rig.turn();
      expect(request.outcome).toMatchObject({ kind: 'transacted', rollback: null });
    });

    test('it is judged by what is there when it is planned', () => {
      rig.call(wide('q', 128));
      const request = rig.send(many());
      rig.turn();
      rig.send({ kind: 'delete-queue', tenant: TENANT, queue: 'q' });
      for (let turn = 1; turn < READS; turn++) rig.turn();
      expect(request.outcome).toMatchObject({ rollback: { reason: 'queue_not_found' } });
    });
  });

  test('the cursor of a position is looked up once to plan it, and once to apply it', () => {
    const COUNT = 500;
    rig.call(wide('q', COUNT));
    const get = vi.spyOn(rig.state, 'get');
    const looks = () => get.mock.calls.filter(([table]) => table.id === cursors.id).length;
    for (const offset of [1, 2]) {
      get.mockClear();
      const request = rig.call(positions(COUNT, (i) => `p${i}`, undefined, offset));
      expect(request.outcome).toMatchObject({ kind: 'transacted', rollback: null });
      expect(rig.rows(cursors)).toHaveLength(COUNT);
      expect(looks()).toBe(2 * COUNT);
    }
  });

  test('positions that make their partitions are counted as such', () => {
    rig.call(wide('q', 1));
    const request = rig.send(positions(16_384, (i) => `new${i}`));
    while (!isDone(request)) rig.turn();
    expect(request.outcome).toMatchObject({ refusal: { reason: 'too_large' } });
    const fits = rig.call(positions(500, (i) => `new${i}`));
    expect(fits.outcome).toMatchObject({ kind: 'transacted', rollback: null });
  });

  test('between two heavy ones, those who waited for the first are answered', () => {
    rig.call(wide('q', 1));
    rig.lag = 2;
    const heavy = [0, 1].map((i) => rig.send(positions(500, (at) => `${i}-${at}`)));
    rig.turn();
    const waited = small();
    const log: string[] = [];
    for (let turn = 0; turn < 4; turn++) {
      rig.turn();
      log.push([heavy[1], waited].map((one) => (one && isDone(one) ? '1' : '0')).join(''));
      // From the third turn on, everything planned is applied.
      if (turn === 1) rig.lag = 0;
    }
    expect(log).toEqual(['01', '01', '01', '11']);
  });
});

describe('the rest after a heavy turn', () => {
  const HEAVY = 3 * TURN_UNITS;

  test('it lasts until the entry and those planned beside it are applied', () => {
    const pace = new WidePace();
    expect(pace.begin(true)).toBe(true);
    pace.end(7, HEAVY, 0);
    expect(pace.begin(false)).toBe(false);
    pace.end(8, 10, 0);
    pace.applied(7);
    expect(pace.open).toBe(false);
    pace.applied(8);
    expect(pace.open).toBe(true);
  });

  test('small commands that have come meanwhile go before the next one, once', () => {
    const pace = new WidePace();
    pace.begin(false);
    pace.end(7, HEAVY, 0);
    pace.applied(7);
    expect(pace.begin(true)).toBe(false);
    pace.end(8, 10, 0);
    expect(pace.begin(true)).toBe(false);
    pace.end(9, 10, 0);
    pace.applied(8);
    expect(pace.begin(true)).toBe(true);
  });

  test('a heavy turn that changes nothing is followed by the small ones too', () => {
    const pace = new WidePace();
    pace.begin(false);
    pace.end(0, HEAVY, 0);
    expect(pace.begin(true)).toBe(false);
    pace.end(0, 10, 0);
    expect(pace.begin(true)).toBe(true);
  });

  test('nothing waits where nobody else is there', () => {
    const pace = new WidePace();
    pace.begin(false);
    pace.end(7, HEAVY, 0);
    pace.applied(7);
    expect(pace.begin(false)).toBe(true);
  });

  test('wide commands wait while much of them is in flight', () => {
    const pace = new WidePace();
    for (const index of [1, 2]) {
      expect(pace.begin(true)).toBe(true);
      pace.end(index, 10, WIDE_BYTES_IN_FLIGHT / 2);
    }
    expect([pace.open, pace.begin(true)]).toEqual([false, false]);
    pace.end(3, 10, 0);
    pace.applied(1);
    expect(pace.open).toBe(true);
  });
});

describe('commands with many bytes', () => {
  const value = kvJson(`"${'x'.repeat(65_000)}"`);
  const puts = (name: string, count: number): KvCall => ({
    kind: 'kv',
    tenant: TENANT,
    ops: Array.from({ length: count }, (_, i) => {
      const place = { namespace: 'n', key: `${name}${i}` };
      return { op: 'put', ...place, value, ttlSeconds: null, expect: null, required: false };
    }),
  });

  test('small ones do not stand behind them', () => {
    const large = Array.from({ length: 20 }, (_, i) => rig.send(puts(`k${i}-`, 8)));
    const one = small();
    rig.turn();
    expect([isDone(one), large.filter(isDone).length]).toEqual([true, 8]);
    expect(rig.entryBytes).toBeLessThanOrEqual(SLICE_BYTES + 8 * 66_000);
  });

  test('what is planned and not applied of them is bounded, and small ones go on', () => {
    rig.lag = 100;
    const large = Array.from({ length: 6 }, (_, i) => rig.send(puts(`k${i}-`, 64)));
    for (let turn = 0; turn < 10; turn++) {
      const one = small();
      rig.turn();
      expect(isDone(one)).toBe(true);
    }
    const bytes = large.filter(isDone).length * 64 * 65_000;
    expect(bytes).toBeLessThanOrEqual(WIDE_BYTES_IN_FLIGHT + SLICE_BYTES);
    expect(bytes).toBeGreaterThanOrEqual(WIDE_BYTES_IN_FLIGHT - SLICE_BYTES);
  });

  test('while the store is behind they wait, without a turn for them, and small ones go on', () => {
    rig.mayTakeWide = false;
    const large = rig.send(puts('k', 8));
    for (let turn = 0; turn < 5; turn++) {
      const one = small();
      rig.turn();
      expect([isDone(one), isDone(large)]).toEqual([true, false]);
    }
    expect(rig.planner.busy).toBe(false);
    rig.mayTakeWide = true;
    expect(rig.planner.busy).toBe(true);
    rig.turn();
    expect(isDone(large)).toBe(true);
  });

  test('small ones go on while timers with long payloads fire', () => {
    const payload = new Uint8Array(utf8(`"${'x'.repeat(100_000)}"`));
    const ops = Array.from({ length: 100 }, (_, i) => {
      return scheduleOf(`k${i}`, { delayMs: 0, payload });
    });
    rig.call(timerCall(ops));
    rig.advance(1);
    const one = small();
    rig.turn();
    expect(isDone(one)).toBe(true);
    expect(rig.rows(timers).length).toBeGreaterThan(50);
  });

  test('what a call finds is counted by its bytes', () => {
    rig.call(puts('k', 64));
    const place = { namespace: 'n', key: 'c' };
    const incr = { op: 'incr', ...place, delta: '1', min: null, max: null } as const;
    const gets = Array.from({ length: 64 }, (_, i) => {
      return { op: 'get', namespace: 'n', key: `k${i}` } as const;
    });
    const ops = [{ ...incr, ttlSeconds: null, required: false }, ...gets];
    rig.call({ kind: 'kv', tenant: TENANT, ops });
    expect(rig.units).toBeGreaterThanOrEqual(65 * PRICES.key + 64 * 63 * PRICES.kibibyte);
  });
});

test('timers that make partitions stop firing when three quarters of a turn are spent', () => {
  const ops = Array.from({ length: 256 }, (_, i) => {
    return scheduleOf(`k${i}`, { delayMs: 0, partition: `p${i}` });
  });
  rig.call(timerCall(ops));
  rig.advance(1);
  const one = NEW + PRICES.item + PRICES.itemId + PRICES.timer;
  const FIRING = (TURN_UNITS * 3) / 4;
  let turns = 0;
  for (; rig.rows(timers).length > 0; turns++) {
    rig.turn();
    expect(rig.units).toBeLessThanOrEqual(FIRING + one + PRICES.newQueue);
  }
  expect(turns).toBeGreaterThanOrEqual(Math.floor((256 * one) / FIRING));
});
