// Goal: whatever nodes do but die, what was pushed is delivered, and stored once: nodes leave and
// come back, links lose what is on them, clients go. Method: three nodes of `ephemeral.fake.ts`,
// random calls at all of them and random moves, from a seed that is printed; at the end all that is
// left is drained, and what clients were told is compared with what they got.
import type { EphemeralMessage } from '@svc/http';
import { expect, test } from 'vitest';
import { type Answered, EphemeralGroup, type Popped } from '../testing/ephemeral.fake.js';
import { seededRandom } from '../testing/recovery.fake.js';

const QUEUE = 'q';
const PARTITIONS = 8;
const RUNS = 12;
const STEPS = 400;

interface Popping {
  readonly node: number;
  readonly answer: Answered<Popped>;
}

class Run {
  readonly random: ReturnType<typeof seededRandom>;
  readonly group: EphemeralGroup;
  readonly pushes = new Map<string, Answered<{ readonly kind: string; readonly code?: string }>>();
  pops: Popping[] = [];
  /** Payload to the deliveries of it, by how many had failed before. */
  readonly received = new Map<string, number[]>();
  #away: number | null = null;
  #payloads = 0;

  constructor(seed: number) {
    this.random = seededRandom(seed);
    this.group = new EphemeralGroup([1, 2, 3], () => this.random.below(2 ** 30) / 2 ** 30);
  }

  get #node(): number {
    const there = [...this.group.nodes.keys()];
    return there[this.random.below(there.length)] ?? 0;
  }

  get #partition(): string {
    return `p${this.random.below(PARTITIONS)}`;
  }

  step(): void {
    const draw = this.random.below(100);
    if (draw < 45) this.#push();
    else if (draw < 85) this.#pop();
    else if (draw < 90) this.pops[this.random.below(this.pops.length)]?.answer.leave();
    else if (draw < 95) this.group.breakLink(this.#node, this.#node);
    else if (draw < 97) this.#move();
    this.group.clock.move(this.random.below(30));
    this.#collect();
  }

  #push(): void {
    const count = 1 + this.random.below(3);
    const texts = Array.from({ length: count }, () => `${this.#payloads++}|`);
    const answer = this.group.push(this.#node, QUEUE, this.#partition, texts);
    for (const text of texts) this.pushes.set(text, answer);
  }

  #pop(): void {
    const node = this.#node;
    const partition = this.random.below(3) === 0 ? null : this.#partition;
    const waits = this.random.below(2) === 0 ? { waitMs: 1 + this.random.below(3000) } : {};
    const batch = 1 + this.random.below(10);
    const answer = this.group.pop(node, { queue: QUEUE, partition, batch, ...waits });
    this.pops.push({ node, answer });
  }

  /** A node leaves, or the one that is away comes back. */
  #move(): void {
    if (this.#away !== null && this.group.nodes.size === 2) {
      this.group.start(this.#away);
      this.#away = null;
    } else if (this.#away === null) {
      const leaves = this.#node;
      this.#away = leaves;
      this.group.leave(leaves);
      // What it gives away, or the answer to that, is lost on its way as often as not.
      if (this.random.below(2) === 0) {
        this.group.clock.move(this.random.below(9));
        const other = this.#node;
        if (this.group.nodes.has(leaves)) this.group.breakLink(leaves, other);
      }
    }
  }

  #collect(): void {
    const left: Popping[] = [];
    for (const popping of this.pops) {
      const { outcome, isGone } = popping.answer;
      if (outcome === null && !isGone) left.push(popping);
      else if (outcome?.kind === 'ephemeral-popped') this.#take(outcome.messages);
    }
    this.pops = left;
  }

  #take(messages: readonly EphemeralMessage[]): void {
    for (const { attempts, bytes, start, end } of messages) {
      const payload = Buffer.from(bytes).toString('utf8', start, end);
      const deliveries = this.received.get(payload) ?? [];
      deliveries.push(attempts);
      this.received.set(payload, deliveries);
    }
    const ids = messages.map(({ id }) => id);
    if (ids.length === 0) return;
    this.group.ack(this.#node, QUEUE, ids, this.random.below(5) === 0 ? 'failed' : 'completed');
  }

  /** All are there again, and everything is read. */
  drain(): void {
    // To leave takes as long as it takes to be taken over from.
    const hasLeft = () => this.#away === null || !this.group.nodes.has(this.#away);
    for (let i = 0; i < 20 && !hasLeft(); i++) this.group.clock.move(1000);
    expect(hasLeft(), 'who leaves is gone in the end').toBe(true);
    if (this.#away !== null) this.group.start(this.#away);
    this.group.clock.move(40_000);
    this.#collect();
    for (let round = 0; round < 12; round++) {
      for (let i = 0; i < PARTITIONS; i++) {
        const answer = this.group.pop(1, { queue: QUEUE, partition: `p${i}`, batch: 10_000 });
        this.pops.push({ node: 1, answer });
      }
      this.group.clock.move(100);
      this.#collect();
      // What was given back as failed comes at once; what is leased elsewhere after five seconds.
      if (round % 4 === 3) this.group.clock.move(6000);
    }
  }

  check(): void {
    expect(this.pops.length, 'pops without an answer').toBe(0);
    expect(this.group.wiped, 'rings that were lost').toEqual([]);
    for (const [payload, { outcome }] of this.pushes) {
      const deliveries = this.received.get(payload) ?? [];
      expect(outcome, `push of ${payload} has no answer`).not.toBeNull();
      if (outcome?.kind === 'ephemeral-pushed') {
        expect(deliveries.length, `${payload} was acknowledged`).toBeGreaterThan(0);
      } else if (outcome?.code === 'owner_moved') {
        expect(deliveries, `${payload} was refused`).toEqual([]);
      }
      const firsts = deliveries.filter((attempts) => attempts === 0);
      expect(firsts.length, `${payload} came ${deliveries}`).toBeLessThanOrEqual(1);
    }
  }
}

const base = Number(process.env.EPHEMERAL_SEED ?? Date.now() % 1_000_000);
test(`what is pushed is delivered, and stored once, seeds from ${base}`, () => {
  let deliveries = 0;
  for (let seed = base; seed < base + RUNS; seed++) {
    try {
      const run = new Run(seed);
      run.group.clock.move(50);
      for (let i = 0; i < STEPS; i++) run.step();
      run.drain();
      run.check();
      deliveries += run.received.size;
    } catch (error) {
      throw new Error(`EPHEMERAL_SEED=${seed}: ${(error as Error).message}`);
    }
  }
  expect(deliveries, 'the runs had something to deliver').toBeGreaterThan(RUNS * 50);
});
