// Goal: the limits of a plan hold to the token, and memory is for clusters in use (gateway 6).
// Method: tables, and random calls beside buckets that are counted otherwise.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LIMITS, type PlanLimits } from '../base/access.js';
import type { ClusterView } from '../base/cluster-view.js';
import { Admission } from './admission.js';
import { ClusterLimits } from './cluster-limits.js';
import { type Denial, isDenial, type ParkedSlot } from './limits.js';
import { PushBlocks } from './push-blocks.js';

const UNLIMITED = Object.fromEntries(LIMITS.map((name) => [name, null])) as unknown as PlanLimits;

function clusterOf(limits: Partial<PlanLimits>, id = 'c'): ClusterView {
  return {
    ...{ id, slug: id, tenantId: 't', tenantSlug: 't', brokerTenant: `broker-${id}`, cellId: 'l' },
    ...{ status: 'active', planCode: 'free' },
    features: { streams: true, traces: true, kv: true, timers: true, ephemeral: true },
    limits: { ...UNLIMITED, ...limits },
  };
}

function limitsOf(parkedMax = 5_000): { limits: ClusterLimits; blocks: PushBlocks } {
  const blocks = new PushBlocks();
  const options = { blocks, admission: new Admission(), batchItemsMax: 10_000, parkedMax };
  return { limits: new ClusterLimits(options), blocks };
}

describe('requests', () => {
  const free = clusterOf({ max_req_per_sec: 5, req_burst: 25 });

  test('have a burst, then a rate, and are told when to come again', () => {
    const { limits } = limitsOf();
    for (let i = 0; i < 25; i++) expect(limits.request(free, 0)).toBeNull();
    const refusal = {
      ...{ status: 429, code: 'rate_limited' },
      ...{ error: 'too many requests for the plan', retryAfterS: 1 },
    };
    expect(limits.request(free, 0)).toEqual({ refusal, shadowable: true });
    expect(limits.request(free, 200)).toBeNull();
    expect(limits.request(free, 200)).not.toBeNull();
  });

  test.each<[string, Partial<PlanLimits>, number, number | null]>([
    ['no rate', { max_req_per_sec: null, req_burst: 1 }, 1_000, null],
    ['no burst', { max_req_per_sec: 5 }, 10, 1],
    ['a burst of its own', { max_req_per_sec: 5, req_burst: 3 }, 3, 1],
    ['a slow rate', { max_req_per_sec: 1, req_burst: 2 }, 2, 1],
    ['a rate of 0', { max_req_per_sec: 0, req_burst: 2 }, 2, 60],
    ['a rate and a burst of 0', { max_req_per_sec: 0 }, 0, 60],
  ])('with %s', (_what, plan, burst, retryAfterS) => {
    const { limits } = limitsOf();
    const cluster = clusterOf(plan);
    for (let i = 0; i < burst; i++) expect(limits.request(cluster, 0)).toBeNull();
    expect(limits.request(cluster, 0)?.refusal.retryAfterS ?? null).toBe(retryAfterS);
  });

  test('of one cluster are not those of another', () => {
    const { limits } = limitsOf();
    const one = clusterOf({ max_req_per_sec: 1, req_burst: 1 }, 'one');
    limits.request(one, 0);
    expect(limits.request(one, 0)).not.toBeNull();
    expect(limits.request({ ...one, id: 'other' }, 0)).toBeNull();
  });

  test('go by the plan in force, from one to the next', () => {
    const { limits } = limitsOf();
    for (let i = 0; i < 25; i++) limits.request(free, 0);
    expect(limits.request(clusterOf({ max_req_per_sec: null }), 0)).toBeNull();
    expect(limits.request(clusterOf({ max_req_per_sec: 1_000 }), 10)).toBeNull();
  });
});

describe('messages', () => {
  const plan = clusterOf({ max_msgs_per_sec: 20, msgs_burst: 100 });

  test('are all taken or none', () => {
    const { limits } = limitsOf();
    expect(limits.messages(plan, 90, 0)).toBeNull();
    expect(limits.messages(plan, 50, 0)?.refusal.retryAfterS).toBe(2);
    expect(limits.messages(plan, 10, 0)).toBeNull();
  });

  test('that never fit are said to', () => {
    const { limits } = limitsOf();
    const denial = limits.messages(plan, 101, 0);
    expect(denial?.refusal.error).toBe(
      "101 messages at once are more than the plan's burst of 100: send fewer",
    );
    expect(limits.messages(plan, 100, 0)).toBeNull();
  });

  test('that were delivered are owed, and the wait is a minute at most', () => {
    const { limits } = limitsOf();
    limits.delivered(plan, 5_100, 0);
    expect(limits.messages(plan, 1, 0)?.refusal.retryAfterS).toBe(60);
    expect(limits.messages(plan, 1, 249_000)?.refusal.retryAfterS).toBe(2);
    expect(limits.messages(plan, 1, 250_050)).toBeNull();
  });

  test('are let through as a count of tokens says', () => {
    const call = fc.record({ restMs: fc.nat(3_000), count: fc.integer({ min: 1, max: 120 }) });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 100 }), (calls) => {
        const { limits } = limitsOf();
        // In fiftieths of a millisecond's share, so that all numbers are whole.
        let shares = 100_000;
        let nowMs = 0;
        for (const { restMs, count } of calls) {
          nowMs += restMs;
          shares = Math.min(100_000, shares + restMs * 20);
          const passes = count * 1_000 <= shares;
          const denial = limits.messages(plan, count, nowMs);
          expect(denial === null).toBe(passes);
          if (passes) shares -= count * 1_000;
          else {
            const waitS = Math.ceil((count * 1_000 - shares) / 20_000);
            expect(denial?.refusal.retryAfterS).toBe(Math.min(60, Math.max(1, waitS)));
          }
        }
      }),
      { numRuns: 100 },
    );
  });
});

test.each<[string, Partial<PlanLimits>, number, number, string | null]>([
  ['at its caps', { max_payload_bytes: 10, max_batch_items: 5 }, 5, 10, null],
  ['with too many', { max_batch_items: 5 }, 6, 1, 'batch of 6 items exceeds cap of 5'],
  ['of no plan', {}, 10_001, 1, 'batch of 10001 items exceeds cap of 10000'],
  [
    'with a large one',
    { max_payload_bytes: 10 },
    5,
    11,
    'item 3: payload of 11 bytes exceeds cap of 10',
  ],
])('a batch %s', (_what, plan, items, bytes, error) => {
  const denial = limitsOf().limits.sizes(clusterOf(plan), items, { bytes, index: 3 });
  const refusal = { status: 413, code: 'payload_too_large', error };
  expect(denial).toEqual(error === null ? null : { refusal, shadowable: false });
});

test.each<[readonly number[], string | null]>([
  [[100], null],
  [[0, -5], null],
  [[50, 101], "a retention of 101 s is above the plan's 100 s"],
])('a retention of %j', (seconds, error) => {
  const { limits } = limitsOf();
  const denial = limits.retention(clusterOf({ max_retention_seconds: 100 }), seconds);
  expect(denial?.refusal.error ?? null).toBe(error);
  expect(limits.retention(clusterOf({}), seconds)).toBeNull();
});

describe('pops that wait', () => {
  function slotOf(result: ParkedSlot | Denial): ParkedSlot {
    if (isDenial(result)) throw new Error(result.refusal.error);
    return result;
  }

  test('have places by plan and by node, each given back once', () => {
    const { limits } = limitsOf(3);
    const [one, other] = [clusterOf({ max_parked_pops: 2 }, 'one'), clusterOf({}, 'other')];
    for (const cluster of [one, other]) limits.request(cluster, 0);
    const first = slotOf(limits.park(one));
    slotOf(limits.park(one));
    expect(limits.park(one)).toEqual({
      refusal: {
        ...{ status: 429, code: 'rate_limited', error: 'too many pops wait already' },
        retryAfterS: 5,
      },
      shadowable: true,
    });
    slotOf(limits.park(other));
    expect(isDenial(limits.park(other))).toBe(true);
    first.release();
    first.release();
    expect(limits.parked).toBe(2);
    slotOf(limits.park(other));
    expect(isDenial(limits.park(one))).toBe(true);
  });
});

describe('memory', () => {
  const plan = { max_req_per_sec: 1, req_burst: 10, max_msgs_per_sec: 1, msgs_burst: 10 };

  test('of a cluster ends ten minutes after its last request', () => {
    const { limits } = limitsOf();
    for (let i = 0; i < 10_000; i++) limits.request(clusterOf(plan, `c${i}`), 0);
    expect(limits.active()).toHaveLength(10_000);
    limits.request(clusterOf(plan, 'last'), 599_000);
    expect(limits.active()).toHaveLength(10_001);
    limits.request(clusterOf(plan, 'last'), 720_000);
    expect(limits.active().map(({ id }) => id)).toEqual(['last']);
  });

  test('stays where something would be forgiven or lost', () => {
    const { limits, blocks } = limitsOf();
    const ids = ['debt', 'parked', 'blocked', 'idle'];
    for (const id of ids) limits.request(clusterOf(plan, id), 0);
    limits.delivered(clusterOf(plan, 'debt'), 10_000, 0);
    limits.park(clusterOf(plan, 'parked'));
    blocks.measured('blocked', 2, 1);
    limits.request(clusterOf(plan, 'now'), 3_600_000);
    expect(
      limits
        .active()
        .map(({ id }) => id)
        .sort(),
    ).toEqual(['blocked', 'debt', 'now', 'parked']);
  });
});

test('a block of storage begins above the cap and ends at 90 % of it', () => {
  const { limits, blocks } = limitsOf();
  const steps: [number, number | null, string | null][] = [
    [100, 100, null],
    [101, 100, 'storage'],
    [91, 100, 'storage'],
    [90, 100, null],
    [1, 0, 'storage'],
    [0, 0, null],
    [5, 1, 'storage'],
    [5, null, null],
  ];
  for (const [bytes, max, block] of steps) {
    blocks.measured('c', bytes, max);
    expect(limits.pushBlock('c')).toBe(block);
  }
  blocks.counted('c', 5, 5);
  expect(limits.pushBlock('c')).toBe('monthly');
  blocks.measured('c', 2, 1);
  expect(limits.pushBlock('c')).toBe('storage');
  blocks.forget('c');
  expect(limits.pushBlock('c')).toBeNull();
});
