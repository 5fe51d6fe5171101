/**
 * Goal: ephemeral queues do what the contract says of them under any sequence of calls: each group
 * gets everything in order, leases and attempts count, drops are counted, moves lose nothing, and
 * what is counted as memory is what is there.
 * Method: random pushes, pops (also ones that wait), acks, moves and time against the naive model
 * of `rings-model.fake.ts`, which is told every answer; after each call all sums are taken anew.
 */
import { describe, expect, it } from 'vitest';
import { type DropCounts, ringLimits } from './books.js';
import type { CarriedRing } from './carried-ring.js';
import { Chance } from './chance.fake.js';
import { EphemeralRings, type RingPlace, type RingPop } from './ephemeral-rings.js';
import type { Delivered } from './group-cursor.js';
import { FakeRoom } from './pop-room.fake.js';
import { type DeclaredTerms, type QueueTerms, termsInForce } from './queue-terms.js';
import { ModelQueue } from './rings-model.fake.js';
import type { PopEnd, WaitingPop } from './waiting-pop.js';

const TENANT = 't';
const QUEUE = 'q';
const CEILINGS = { maxBytes: 400, maxLength: 30, leaseSeconds: 30, retryLimit: 5 };
const RUNS = 50;
const STEPS = 120;

interface Held {
  readonly group: string;
  readonly message: Delivered;
  readonly payload: string;
}

class Run {
  readonly random: Chance;
  readonly dropped: DropCounts = { bounds: 0, ttl: 0, retry: 0 };
  readonly model = new ModelQueue();
  readonly rings: EphemeralRings;
  declared: DeclaredTerms | null = null;
  terms: QueueTerms = termsInForce(null, CEILINGS);
  nowMs = 1000;
  held: Held[] = [];
  waiting = new Map<WaitingPop, RingPop>();
  #incarnation = 0;
  #payloads = 0;

  readonly room = new FakeRoom();
  /** Room for answers is short. */
  readonly isScarce: boolean;

  constructor(seed: number) {
    this.random = new Chance(seed);
    this.isScarce = seed % 2 === 0;
    this.rings = new EphemeralRings({
      limits: ringLimits(1_000_000, 0, CEILINGS),
      newIncarnation: () => ++this.#incarnation,
      dropped: this.dropped,
      declaredOf: () => this.declared,
      allowanceOf: () => ({ bytesMax: null, queuesMax: null }),
      room: this.room,
    });
  }

  step(): void {
    if (this.isScarce) this.room.bytesFor = () => this.random.below(1500);
    if (this.isScarce) this.room.isSpent = () => this.random.below(3) === 0;
    this.#step();
    // Trying the told pops again is enough: after it no pop waits beside messages.
    while (this.room.told.size > 0)
      this.room.free((ticket) => this.rings.retry(ticket, this.nowMs));
    this.check();
  }

  #step(): void {
    const draw = this.random.below(100);
    if (draw < 30) this.push();
    else if (draw < 50) this.pop(false);
    else if (draw < 60) this.pop(true);
    else if (draw < 80) this.ack();
    else if (draw < 90) this.pass();
    else if (draw < 93) this.cancel();
    else if (draw < 95) this.move();
    else if (draw < 98) this.declare();
    else this.reset();
  }

  get #partition(): string {
    return `p${this.random.below(3)}`;
  }

  get #group(): string {
    return `g${this.random.below(3)}`;
  }

  push(): void {
    const partition = this.#partition;
    const count = 1 + this.random.below(6);
    const texts = Array.from({ length: count }, () => this.#newPayload());
    const bytes = Buffer.from(texts.join(','));
    const start: number[] = [];
    let at = 0;
    for (const text of texts) {
      start.push(at);
      at += text.length + 1;
    }
    const end = start.map((from, i) => from + (texts[i] ?? '').length);
    const expected = this.model.push(this.terms, partition, texts, this.nowMs);
    const refusal = this.rings.push(
      { tenant: TENANT, queue: QUEUE, partition },
      { bytes, start, end },
      this.nowMs,
    );
    expect(refusal, 'refusal of a push').toBe(expected);
  }

  #newPayload(): string {
    return `${this.#payloads++}`.padEnd(3 + this.random.below(60), 'x');
  }

  pop(waits: boolean): void {
    const partition = this.random.below(2) === 0 ? null : this.#partition;
    const group = this.#group;
    const batch = 1 + this.random.below(8);
    const autoAck = this.random.below(4) === 0;
    this.model.pass(this.terms, this.nowMs);
    this.model.open(group, partition);
    const expected = Math.min(batch, this.model.available(group, partition));
    let end: PopEnd | null = null;
    const pop: RingPop = {
      tenant: TENANT,
      queue: QUEUE,
      partition,
      group,
      batch,
      autoAck,
      ticket: {},
      deadlineMs: waits ? this.nowMs + 1 + this.random.below(50_000) : null,
      onEnd: (given) => {
        end = given;
        this.#ended(pop, given);
      },
    };
    const handle = this.rings.pop(pop, this.nowMs);
    expect(typeof handle, 'a pop is not refused').not.toBe('string');
    if (handle !== null && typeof handle !== 'string') {
      if (this.room.told.size === 0) expect(expected, 'waits beside messages').toBe(0);
      this.waiting.set(handle, pop);
      return;
    }
    if (!this.isScarce) expect((end as PopEnd | null)?.length, 'messages of a pop').toBe(expected);
  }

  #ended(pop: RingPop, end: PopEnd): void {
    for (const [handle, waiting] of this.waiting) if (waiting === pop) this.waiting.delete(handle);
    if (end === 'moved' || end === 'no-room') return;
    this.model.popped(pop.group, pop.autoAck, end, this.nowMs);
    for (const message of end) {
      if (pop.autoAck) continue;
      const payload = String.fromCharCode(...message.bytes.subarray(message.start, message.end));
      this.held.push({ group: pop.group, message, payload });
    }
  }

  ack(): void {
    const picked = this.held.filter(() => this.random.below(3) === 0);
    const [first] = picked;
    if (first === undefined) return;
    const own = picked.filter(({ group }) => group === first.group);
    // What was acked stays for a later call now and then: then it is unknown or stale.
    if (this.random.below(4) > 0) this.held = this.held.filter((held) => !own.includes(held));
    this.model.pass(this.terms, this.nowMs);
    this.rings.run(this.nowMs);
    const verdicts = own.map(() => this.random.below(3) > 0);
    const expected = own.map(({ group, message, payload }, i) => {
      const ring = this.rings.find(TENANT, QUEUE)?.ring(message.partition);
      if (ring?.incarnation !== message.incarnation) return 'stale';
      return this.model.ack(this.terms, group, message.partition, payload, verdicts[i] === true);
    });
    this.model.acked();
    const items = own.map(({ message }, i) => ({
      id: message,
      verdict: verdicts[i] === true ? ('completed' as const) : ('failed' as const),
    }));
    expect(this.rings.ack(TENANT, QUEUE, first.group, items, this.nowMs)).toEqual(expected);
  }

  pass(): void {
    this.nowMs += this.random.below(10) === 0 ? 40_000 : this.random.below(4000);
    // First the model: what comes back is given to whoever waits, in the same call.
    this.model.pass(this.terms, this.nowMs);
    this.rings.run(this.nowMs);
    for (const [handle, { deadlineMs }] of this.waiting) {
      expect(deadlineMs ?? 0, `${handle.partition} is over`).toBeGreaterThan(this.nowMs);
    }
  }

  cancel(): void {
    const [first] = this.waiting.keys();
    if (first === undefined) return;
    this.waiting.delete(first);
    this.model.pass(this.terms, this.nowMs);
    this.rings.cancel(first, this.nowMs);
  }

  /** To another node and back, with a push meanwhile: what comes back stands in front. */
  move(): void {
    const partition = this.#partition;
    this.model.pass(this.terms, this.nowMs);
    const staysHere = (place: RingPlace) => place.partition !== partition;
    const gone = [...this.rings.detach(staysHere, 'Default', () => this.nowMs)].flat();
    const before = this.rings.bytes;
    this.model.moved(partition);
    const back = gone.map((ring): CarriedRing => structuredClone(ring));
    const pushed = back.length > 0 ? this.#pushMeanwhile(partition) : 0;
    for (const ring of gone) this.rings.landed(ring);
    for (const ring of back) expect(this.rings.adopt(ring, this.nowMs)).toBe(true);
    expect(this.rings.bytes, 'bytes of rings that move').toBe(before + pushed);
    this.model.acked();
  }

  /** Its bytes. Who waits would get it before what is still on its way. */
  #pushMeanwhile(partition: string): number {
    const payload = this.#newPayload();
    if (this.waiting.size > 0 || this.terms.policy !== 'reject') return 0;
    if (this.model.push(this.terms, partition, [payload], this.nowMs) !== null) return 0;
    const payloads = { bytes: Buffer.from(payload), start: [0], end: [payload.length] };
    const place = { tenant: TENANT, queue: QUEUE, partition };
    expect(this.rings.push(place, payloads, this.nowMs)).toBeNull();
    return payload.length;
  }

  declare(): void {
    this.model.pass(this.terms, this.nowMs);
    this.rings.run(this.nowMs);
    this.declared = {
      maxLength: 5 + this.random.below(30),
      policy: this.random.below(2) === 0 ? 'reject' : 'dropOldest',
      ttlSeconds: this.random.below(3) * 10,
      leaseSeconds: 1 + this.random.below(20),
      retryLimit: 1 + this.random.below(4),
    };
    this.terms = termsInForce(this.declared, CEILINGS);
    this.model.pass(this.terms, this.nowMs);
    this.rings.declare(TENANT, QUEUE, this.declared, this.nowMs);
  }

  reset(): void {
    this.model.pass(this.terms, this.nowMs);
    expect(this.rings.reset(TENANT, QUEUE, this.nowMs)).toBe(this.model.reset());
  }

  check(): void {
    const queue = this.rings.find(TENANT, QUEUE);
    expect(this.rings.bytes, 'bytes').toBe(this.model.bytes);
    expect(this.rings.messages, 'messages').toBe(this.model.length);
    expect(queue?.bytes ?? 0, 'bytes of the queue').toBe(this.model.bytes);
    expect(this.dropped, 'drops').toEqual(this.model.drops);
    expect(this.rings.parked, 'pops that wait').toBe(this.waiting.size);
    if (queue === null) return;
    let places = 1 + queue.groups.size;
    for (const ring of queue.rings.values()) {
      places += 1 + ring.cursors.size;
      for (const [group, cursor] of ring.cursors) {
        const modelled = this.model.rings.get(ring.partition)?.cursors.get(group);
        expect(cursor.skipped, `skipped of ${group} in ${ring.partition}`).toBe(modelled?.skipped);
        const pending = modelled?.states.filter((state) => state !== 'settled').length;
        expect(cursor.pending, `pending of ${group} in ${ring.partition}`).toBe(pending);
      }
    }
    expect(this.rings.places, 'places').toBe(places);
    for (const [{ partition }, { group }] of this.waiting) {
      expect(this.model.available(group, partition), 'waits beside messages').toBe(0);
    }
  }
}

describe('ephemeral rings', () => {
  const base = Number(process.env.RINGS_SEED ?? Date.now() % 1_000_000);
  it(`does what the model does, seeds from ${base}`, () => {
    for (let seed = base; seed < base + RUNS; seed++) {
      const run = new Run(seed);
      let step = 0;
      try {
        for (; step < STEPS; step++) run.step();
      } catch (error) {
        throw new Error(`RINGS_SEED=${seed}, step ${step}: ${(error as Error).message}`);
      }
    }
  });
});
