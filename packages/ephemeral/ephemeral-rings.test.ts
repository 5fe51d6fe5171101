// Goal: bounds in their order, windows of pops that wait, what idles, ids, and who owns what.
// Method: scenarios by hand over the rings of one node.
import { describe, expect, it, test, vi } from 'vitest';
import { type Allowance, type RingLimits, ringLimits } from './books.js';
import { EphemeralRings, type RingPlace, type RingPop } from './ephemeral-rings.js';
import { formatMessageId, parseMessageId } from './message-id.js';
import { ownerOf } from './owner.js';
import { FakeRoom } from './pop-room.fake.js';
import { QueueGroup } from './queue-group.js';
import { type DeclaredTerms, termsInForce } from './queue-terms.js';
import type { PopEnd, WaitingPop } from './waiting-pop.js';

const CEILINGS = { maxBytes: 1000, maxLength: 100, leaseSeconds: 30, retryLimit: 5 };
const LIMITS = ringLimits(10_000, 300_000, CEILINGS);

interface Setting {
  readonly limits?: Partial<RingLimits>;
  readonly declared?: DeclaredTerms;
  readonly allowance?: Partial<Allowance>;
}

class Rings {
  readonly rings: EphemeralRings;
  nowMs = 0;
  #incarnations = 0;

  constructor({ limits, declared, allowance }: Setting = {}) {
    this.rings = new EphemeralRings({
      limits: { ...LIMITS, ...limits },
      newIncarnation: () => ++this.#incarnations,
      dropped: { bounds: 0, ttl: 0, retry: 0 },
      declaredOf: () => declared ?? null,
      allowanceOf: () => ({ bytesMax: null, queuesMax: null, ...allowance }),
      room: new FakeRoom(),
    });
  }

  push(count: number, size = 1, place: Partial<RingPlace> = {}) {
    const start = Array.from({ length: count }, (_, i) => i * size);
    const payloads = {
      bytes: new Uint8Array(count * size),
      start,
      end: start.map((s) => s + size),
    };
    const names = { tenant: 't', queue: 'q', partition: 'p', ...place };
    return this.rings.push(names, payloads, this.nowMs);
  }

  /** How many came; `waits` while it waits, and a refusal when there is one. */
  pop(asked: Partial<RingPop> = {}): Popping {
    const popping: Popping = { end: null, handle: null, refusal: null };
    const pop: RingPop = {
      tenant: 't',
      queue: 'q',
      partition: 'p',
      group: 'g',
      batch: 100,
      autoAck: false,
      ticket: popping,
      deadlineMs: null,
      ...asked,
      onEnd: (end) => {
        popping.end = end;
      },
    };
    const outcome = this.rings.pop(pop, this.nowMs);
    if (typeof outcome === 'string') popping.refusal = outcome;
    else popping.handle = outcome;
    return popping;
  }

  pass(ms: number): void {
    this.nowMs += ms;
    this.rings.run(this.nowMs);
  }
}

interface Popping {
  end: PopEnd | null;
  handle: WaitingPop | null;
  refusal: string | null;
}

describe('bounds of a push, the first that refuses', () => {
  test.each<[string, Setting, string | null]>([
    ['all is well', {}, null],
    ['an empty ring by length', { declared: { maxLength: 3 } }, 'ephemeral_too_large'],
    ['an empty ring by bytes', { declared: { maxBytes: 7 } }, 'ephemeral_too_large'],
    ['the tenant by bytes', { allowance: { bytesMax: 7 } }, 'ephemeral_quota_exceeded'],
    ['the tenant by queues', { allowance: { queuesMax: 0 } }, 'ephemeral_quota_exceeded'],
    ['the node by bytes', { limits: { bytesMax: 7 } }, 'ephemeral_unavailable'],
    ['the node by messages', { limits: { messagesMax: 3 } }, 'ephemeral_unavailable'],
    ['the node by places', { limits: { placesMax: 1 } }, 'ephemeral_unavailable'],
    [
      'the ring before the tenant',
      { declared: { maxLength: 3 }, allowance: { bytesMax: 7 } },
      'ephemeral_too_large',
    ],
    [
      'the tenant before the node',
      { allowance: { bytesMax: 7 }, limits: { bytesMax: 7 } },
      'ephemeral_quota_exceeded',
    ],
  ])('%s', (_, setting, refusal) => {
    const rings = new Rings(setting);
    expect(rings.push(4, 2)).toBe(refusal);
    expect(rings.rings.bytes, 'all or nothing').toBe(refusal === null ? 8 : 0);
  });

  it('a ring that is full is told apart from one that is too small', () => {
    const rings = new Rings({ declared: { maxLength: 3, maxBytes: 7 } });
    expect(rings.push(2, 1)).toBeNull();
    expect([rings.push(2, 1), rings.push(3, 1)]).toEqual(['queue_full', 'queue_full']);
    expect([rings.push(4, 1), rings.push(1, 8)]).toEqual(Array(2).fill('ephemeral_too_large'));
    expect(rings.push(1, 6)).toBe('queue_full');
  });

  it('a refused push leaves no queue behind', () => {
    const rings = new Rings({ limits: { bytesMax: 7 } });
    rings.push(4, 2);
    expect([rings.rings.queues, rings.rings.places]).toEqual([0, 0]);
  });

  it('dropOldest makes room in the ring, also of a push that is longer than it', () => {
    const rings = new Rings({ declared: { maxLength: 3, policy: 'dropOldest' } });
    expect(rings.push(2)).toBeNull();
    expect(rings.push(5)).toBeNull();
    expect(rings.rings.messages).toBe(3);
    expect(rings.rings.find('t', 'q')?.drops.bounds).toBe(4);
  });

  it('dropOldest drops nothing when the tenant has no room, and a giant never fits', () => {
    const declared = { maxBytes: 10, policy: 'dropOldest' } as const;
    const rings = new Rings({ declared, allowance: { bytesMax: 8 } });
    expect(rings.push(4, 2)).toBeNull();
    expect(rings.push(1, 9)).toBe('ephemeral_quota_exceeded');
    expect(rings.push(1, 11)).toBe('ephemeral_too_large');
    expect(rings.rings.messages).toBe(4);
    expect(rings.push(1, 2, { partition: 'other' })).toBe('ephemeral_quota_exceeded');
  });

  it('pops that wait are bounded, and so is what their names make', () => {
    const rings = new Rings({ limits: { parkedMax: 3, placesMax: 9 } });
    rings.pop({ deadlineMs: 1000 });
    rings.pop({ deadlineMs: 1000 });
    expect(rings.pop({ deadlineMs: 1000 }).refusal).toBe('ephemeral_unavailable');
    expect(rings.pop({ partition: 'p2' }).refusal).toBeNull();
    expect(rings.pop({ partition: 'p3' }).refusal).toBe('ephemeral_unavailable');
    expect(rings.rings.places).toBeLessThanOrEqual(8);
  });
});

describe('what one tenant takes leaves room for others', () => {
  const limits = { parkedMax: 1000, placesMax: 3000 };
  const TENANTS = ['a', 'b', 'c', 'd'];

  it('of places, whether it names queues, groups or partitions, by pushes or by pops', () => {
    const rings = new Rings({ limits });
    const byPush = (tenant: string, i: number) =>
      rings.push(1, 0, { tenant, queue: `q${i}` }) === null;
    const byGroup = (tenant: string, i: number) =>
      rings.pop({ tenant, group: `g${i}` }).refusal === null;
    const byPartition = (tenant: string, i: number) =>
      rings.pop({ tenant, partition: `p${i}` }).refusal === null;
    const byQueue = (tenant: string, i: number) =>
      rings.pop({ tenant, queue: `q${i}`, partition: null }).refusal === null;
    for (const [at, name] of [byPush, byGroup, byPartition, byQueue].entries()) {
      const tenant = TENANTS[at] ?? '';
      const before = rings.rings.places;
      let named = 0;
      while (named < 3000 && name(tenant, named)) named++;
      const free = 3000 - before;
      const taken = rings.rings.places - before;
      expect(taken, `${name.name}: most of what was free`).toBeGreaterThan(0.7 * free);
      expect(taken, `${name.name}: not all of it`).toBeLessThanOrEqual(0.8 * free);
    }
    expect(rings.push(1, 1, { tenant: 'e' }), 'the next one finds room').toBeNull();
  });

  it('of waiting pops, and gets as many again when they have ended', () => {
    const rings = new Rings({ limits });
    const parked = (tenant: string) => {
      let count = 0;
      const deadlineMs = rings.nowMs + 1000;
      while (rings.pop({ tenant, deadlineMs }).refusal === null) count++;
      return count;
    };
    expect(TENANTS.map(parked)).toEqual([800, 160, 32, 6]);
    rings.pass(1000);
    expect(rings.rings.parked).toBe(0);
    expect(parked('b')).toBe(800);
  });
});

describe('a window', () => {
  const declared = { windowBuffer: { ms: 20, count: 3 } };

  it('holds a waiting pop until it has `count`', () => {
    const rings = new Rings({ declared });
    const pop = rings.pop({ deadlineMs: 1000 });
    rings.push(2);
    expect(pop.end).toBeNull();
    rings.push(1);
    expect(pop.end).toHaveLength(3);
  });

  it('or its batch, or its milliseconds from the first message on, or its own deadline', () => {
    const rings = new Rings({ declared });
    const small = rings.pop({ batch: 2, deadlineMs: 1000 });
    rings.push(2);
    expect(small.end).toHaveLength(2);
    const late = rings.pop({ deadlineMs: 1000 });
    rings.pass(500);
    rings.push(1);
    rings.pass(19);
    expect(late.end).toBeNull();
    rings.pass(1);
    expect(late.end).toHaveLength(1);
    const short = rings.pop({ deadlineMs: rings.nowMs + 5 });
    rings.push(1);
    rings.pass(5);
    expect(short.end).toHaveLength(1);
  });

  it('holds nothing: who does not wait takes what lies there', () => {
    const rings = new Rings({ declared });
    const waiting = rings.pop({ deadlineMs: 1000 });
    rings.push(2);
    expect(rings.pop().end).toHaveLength(2);
    rings.pass(30);
    expect(waiting.end).toBeNull();
    rings.push(1);
    expect(waiting.end, 'its window begins anew').toBeNull();
    rings.pass(20);
    expect(waiting.end).toHaveLength(1);
  });

  it('when who gathers gives up, the next one gets its turn at once', () => {
    const rings = new Rings({ declared });
    const first = rings.pop({ deadlineMs: 1000 });
    const second = rings.pop({ batch: 2, deadlineMs: 1000 });
    rings.push(2);
    expect([first.end, second.end]).toEqual([null, null]);
    if (first.handle !== null) rings.rings.cancel(first.handle, rings.nowMs);
    expect(second.end).toHaveLength(2);
  });
});

describe('what idles', () => {
  it('an implicit queue that is empty and unpolled is collected, with all its places', () => {
    const rings = new Rings();
    rings.push(1);
    rings.pop({ autoAck: true });
    rings.pass(299_999);
    expect(rings.rings.queues).toBe(1);
    rings.pass(300_000);
    expect([rings.rings.queues, rings.rings.places]).toEqual([0, 0]);
    expect(rings.rings.nextDueMs).toBe(Number.POSITIVE_INFINITY);
  });

  it('not one with messages, or that somebody waits for, or that is declared', () => {
    for (const [setting, use] of [
      [{}, (rings: Rings) => rings.push(1)],
      [{}, (rings: Rings) => rings.pop({ deadlineMs: 10_000_000 })],
      [{ declared: {} }, (rings: Rings) => rings.pop()],
      [{ limits: { implicitIdleMs: 0 } }, (rings: Rings) => rings.pop()],
    ] as const) {
      const rings = new Rings(setting);
      use(rings);
      rings.pass(2_000_000);
      expect(rings.rings.queues).toBe(1);
    }
  });

  it('rings that nobody names any more go from a queue that is used', () => {
    const rings = new Rings();
    for (let i = 0; i < 50; i++) rings.pop({ partition: `p${i}`, autoAck: true });
    for (let i = 0; i < 10; i++) {
      rings.pass(100_000);
      rings.push(1, 1, { partition: 'used' });
    }
    expect(rings.rings.find('t', 'q')?.rings.size).toBe(1);
  });
});

test('bytes and messages that tenants share leave room for others', () => {
  const shared = { bytesMax: 1_000, messagesMax: 1_000, sharesBytes: true };
  const large = { ...CEILINGS, maxBytes: 10_000, maxLength: 10_000 };
  const rings = new Rings({ limits: { ...LIMITS, ...shared, ceilings: large } });
  const fill = (tenant: string, size: number) => {
    for (;;) {
      const refusal = rings.push(1, size, { tenant });
      if (refusal !== null) return [refusal, rings.rings.bytesOf(tenant)];
    }
  };
  // What one takes is four times what it leaves, so two take four ninths each at last.
  expect(fill('a', 10)).toEqual(['ephemeral_unavailable', 800]);
  expect(fill('b', 10)).toEqual(['ephemeral_unavailable', 160]);
  expect(fill('c', 10)).toEqual(['ephemeral_unavailable', 30]);
  const alone = new Rings({ limits: { ...LIMITS, ...shared, sharesBytes: false } });
  for (let i = 0; i < 100; i++) expect(alone.push(1, 10, { queue: `q${i}` })).toBeNull();
  const many = new Rings({
    limits: { ...LIMITS, ...shared, bytesMax: 1_000_000, messagesMax: 100, ceilings: large },
  });
  expect([many.push(80), many.push(1)]).toEqual([null, 'ephemeral_unavailable']);
  expect(many.push(16, 1, { tenant: 'b' })).toBeNull();
});

test('a lease is as long as the terms say at the moment', () => {
  const rings = new Rings();
  rings.push(1);
  rings.pop();
  rings.rings.declare('t', 'q', { leaseSeconds: 2 }, rings.nowMs);
  rings.pass(2000);
  expect(rings.pop().end).toMatchObject([{ attempts: 1 }]);
});

test('an answer has at most 8 MiB, and one message whatever its size', () => {
  const large = { maxBytes: 2 ** 30, maxLength: 100, leaseSeconds: 30, retryLimit: 5 };
  const rings = new Rings({ limits: ringLimits(2 ** 30, 0, large) });
  rings.push(3, 5 * 2 ** 20);
  rings.push(1, 9 * 2 ** 20, { partition: 'giant' });
  expect(rings.pop().end).toHaveLength(1);
  expect(rings.pop({ partition: 'giant' }).end).toHaveLength(1);
});

test.each([
  ['e:9f3a1c:room-7:41', { incarnation: 0x9f3a1c, partition: 'room-7', sequence: 41 }],
  ['e:1:a:b::-3', { incarnation: 1, partition: 'a:b:', sequence: -3 }],
  ['e:1::0', { incarnation: 1, partition: '', sequence: 0 }],
  ['', null],
  ['e:', null],
  ['e:1:2', null],
  ['e:G:p:1', null],
  ['e:1:p:1.5', null],
  ['f:1:p:1', null],
  ['e:1234567890abcdef:p:1', null],
  [`e:1:${'ü'.repeat(256)}:1`, { incarnation: 1, partition: 'ü'.repeat(256), sequence: 1 }],
  [`e:1:${'ü'.repeat(256)}u:1`, null],
])('the id %s', (text, id) => {
  expect(parseMessageId(text)).toEqual(id);
  if (id === null) return;
  expect(formatMessageId(id.incarnation, id.partition, id.sequence)).toBe(text);
});

test('owners: an even share each, and only what was its own moves when a node goes', () => {
  const shares = new Map<number, number>();
  for (let i = 0; i < 3000; i++) {
    const owner = ownerOf('t', 'q', `p${i}`, [1, 2, 3]);
    shares.set(owner, (shares.get(owner) ?? 0) + 1);
    expect(ownerOf('t', 'q', `p${i}`, [3, 1, 2])).toBe(owner);
    if (owner !== 2) expect(ownerOf('t', 'q', `p${i}`, [1, 3])).toBe(owner);
  }
  for (const [node, share] of shares) {
    expect(share, `node ${node}`).toBeGreaterThan(850);
    expect(share, `node ${node}`).toBeLessThan(1150);
  }
  expect(ownerOf('t', 'q', 'p', [])).toBe(0);
});

test('terms in force are held within what the broker allows', () => {
  expect(termsInForce(null, CEILINGS)).toEqual({
    maxBytes: 1000,
    maxLength: 100,
    policy: 'reject',
    ttlSeconds: 0,
    leaseSeconds: 30,
    retryLimit: 5,
    windowBuffer: null,
  });
  expect(
    termsInForce(
      { maxBytes: 0, maxLength: 1e9, leaseSeconds: 0, windowBuffer: { ms: 1e9, count: 0 } },
      CEILINGS,
    ),
  ).toMatchObject({
    maxBytes: 1,
    maxLength: 100,
    leaseSeconds: 1,
    windowBuffer: { ms: 300_000, count: 1 },
  });
});

test('pops that wait for partitions by name look at no other, however many wait', () => {
  const rings = new Rings();
  const others = 300;
  rings.pop({ partition: 'theirs' });
  rings.push(1, 1, { partition: 'theirs' });
  const looks = vi.spyOn(QueueGroup.prototype, 'longestWaiting');
  const waiting = Array.from({ length: others }, (_, i) =>
    rings.pop({ partition: `p${i}`, deadlineMs: 1000 }),
  );
  rings.nowMs = 1000;
  rings.rings.run(rings.nowMs);
  expect(waiting.every(({ end }) => end !== null)).toBe(true);
  // Once when it comes, when it is due, and when it has gone.
  expect(looks.mock.calls.length).toBeLessThanOrEqual(3 * others);
  looks.mockRestore();
});
