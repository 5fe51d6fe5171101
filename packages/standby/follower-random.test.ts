/**
 * Goal: whatever a source and its network do, and whenever a leadership ends, the standby holds the
 * source's entries in order, each once; and once all is well it comes to the source's end.
 * Method: a source of three nodes that are behind each other by chance, whose log has gaps where
 * entries of consensus are; answers arrive piece by piece and break anywhere; leaderships refuse,
 * apply late, and end with what is in flight lost or kept. The model of what must come is the log.
 * A failure names its seed.
 */
import { expect, test } from 'vitest';
import {
  BYTES_MAX,
  ENTRIES_MAX,
  Follower,
  type FollowerPort,
  type MirrorResult,
  type SourcePlace,
  type StandbyLeadership,
} from './follower.js';
import type { ReadRequest } from './read.js';
import { decideRead } from './read.js';
import type { SourceEntry } from './read-answer.js';

const SEEDS = 40;
const STEPS = 1000;
const QUIET_STEPS = 4000;
const SOURCE = 'c-source';
const PIPELINE = 20;
/** What one piece of a socket holds. */
const PIECE_ENTRIES = 5;

class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }
}

/** The log of the source: null stands for an entry of consensus. */
class Source {
  readonly log: { readonly term: number; readonly entry: SourceEntry | null }[] = [];
  readonly entries: SourceEntry[] = [];
  readonly applied = [0, 0, 0];
  #term = 1;

  grow(chance: Chance): void {
    if (chance.below(30) === 0) this.#term++;
    const index = this.log.length + 1;
    const term = this.#term;
    // A few are as large as all that may wait.
    const bytes = chance.below(200) === 0 ? BYTES_MAX : 1 + chance.below(40);
    const body = { length: bytes } as Uint8Array;
    const isOfConsensus = chance.below(4) === 0;
    const entry = isOfConsensus ? null : { index, term, body };
    this.log.push({ term, entry });
    if (entry !== null) this.entries.push(entry);
  }

  catchUp(node: number, chance: Chance): void {
    const applied = this.applied[node] ?? 0;
    this.applied[node] = Math.min(this.log.length, applied + 1 + chance.below(12));
  }

  termAt(index: number): number | null {
    return this.log[index - 1]?.term ?? null;
  }

  entriesAfter(from: number, to: number): SourceEntry[] {
    return this.log.slice(from, to).flatMap(({ entry }) => (entry === null ? [] : [entry]));
  }
}

interface Answering {
  readonly call: number;
  readonly node: number;
  readonly request: ReadRequest;
  isPaused: boolean;
  /** null: its head was not sent yet. */
  entries: SourceEntry[] | null;
  upto: number;
}

class Office implements StandbyLeadership {
  readonly role = { id: 'abcdefgh', sourceCluster: SOURCE as string | null };
  readonly #cluster: Cluster;
  position: SourcePlace;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.position = this.appliedPosition;
  }

  get appliedPosition(): SourcePlace {
    const last = this.#cluster.held.at(-1);
    return { index: last?.index ?? 0, term: last?.term ?? 0 };
  }

  get inFlight() {
    const { flight } = this.#cluster;
    return {
      entries: flight.length,
      bytes: flight.reduce((sum, { body }) => sum + body.length, 0),
    };
  }

  mirror(previous: number, entry: SourceEntry): MirrorResult {
    const { flight, chance, isQuiet } = this.#cluster;
    if (flight.length >= PIPELINE) return { kind: 'full' };
    if (!isQuiet && chance.below(60) === 0) return { kind: 'waits', error: 'upgrade' };
    if (!isQuiet && chance.below(60) === 0) this.#lose();
    if (previous !== this.position.index) return { kind: 'moved' };
    this.position = { index: entry.index, term: entry.term };
    flight.push(entry);
    return { kind: 'proposed' };
  }

  /** What was proposed will not be applied. */
  #lose(): void {
    this.#cluster.flight.length = 0;
    this.position = this.appliedPosition;
  }

  noteSource(): void {
    throw new Error('it is noted');
  }
}

class Cluster implements FollowerPort {
  readonly source = new Source();
  readonly held: SourceEntry[] = [];
  readonly flight: SourceEntry[] = [];
  readonly chance: Chance;
  readonly follower: Follower;
  isQuiet = false;
  #nowMs = 0;
  #office: Office | null = null;
  #answering: Answering[] = [];
  #checked = 0;

  constructor(seed: number) {
    this.chance = new Chance(seed);
    const sources = ['n:0', 'n:1', 'n:2'];
    this.follower = new Follower({ sources, name: null, cluster: 'c-own' }, this);
  }

  read(call: number, address: string, request: ReadRequest): void {
    const applied = this.held.at(-1)?.index ?? 0;
    expect(request.holdAfter).toBe(applied);
    const node = Number(address.slice(2));
    this.#answering.push({ call, node, request, isPaused: false, entries: null, upto: 0 });
  }

  pause(call: number): void {
    for (const one of this.#answering) if (one.call === call) one.isPaused = true;
  }

  resume(call: number): void {
    for (const one of this.#answering) if (one.call === call) one.isPaused = false;
  }

  cancel(call: number): void {
    // What is on its way already may arrive all the same.
    if (this.chance.below(2) === 0) {
      this.#answering = this.#answering.filter((one) => one.call !== call);
    }
  }

  step(): void {
    const { chance, source, follower } = this;
    const draw = chance.below(100);
    if (draw < 15) {
      this.#nowMs += chance.below(300);
      if ((follower.dueMs ?? Number.POSITIVE_INFINITY) <= this.#nowMs) follower.tick(this.#nowMs);
    } else if (draw < 25) {
      if (!this.isQuiet) for (let i = chance.below(8); i >= 0; i--) source.grow(chance);
    } else if (draw < 40) source.catchUp(chance.below(3), chance);
    else if (draw < 75) this.#answerSome();
    else if (draw < 90) this.#apply();
    else if (!this.isQuiet) this.#disturb();
    this.#check();
  }

  /** A leadership, if there is none. */
  lead(): void {
    if (this.#office !== null) return;
    this.#office = new Office(this);
    this.follower.lead(this.#office, this.#nowMs);
  }

  #disturb(): void {
    const { chance, follower, flight } = this;
    const one = this.#answering[chance.below(Math.max(1, this.#answering.length))];
    if (chance.below(3) === 0) {
      if (this.#office === null) {
        this.lead();
        return;
      }
      // The first few of what is in flight are in the log of the next leader.
      this.#office = null;
      this.held.push(...flight.splice(0, chance.below(flight.length + 1)));
      flight.length = 0;
      follower.yield();
    } else if (one !== undefined) {
      this.#answering = this.#answering.filter((other) => other !== one);
      follower.failed(one.call, 'cut', this.#nowMs);
    }
  }

  #apply(): void {
    if (this.flight.length === 0) return;
    this.held.push(...this.flight.splice(0, 1 + this.chance.below(this.flight.length)));
    this.follower.room(this.#nowMs);
  }

  #answerSome(): void {
    const { chance, source, follower } = this;
    const one = this.#answering[chance.below(Math.max(1, this.#answering.length))];
    if (one === undefined || one.isPaused) return;
    const { call, request, node } = one;
    const applied = source.applied[node] ?? 0;
    if (one.entries === null) {
      const view = { applied, purged: 0, termAt: (index: number) => source.termAt(index) };
      const decision = decideRead(request, view);
      if (decision.kind !== 'entries') throw new Error(`the source said ${decision.kind}`);
      one.entries = source.entriesAfter(decision.from, decision.to);
      one.upto = decision.to;
      const head = { kind: 'entries', clusterId: SOURCE, purged: 0, term: null } as const;
      follower.answered(call, { ...head, applied }, this.#nowMs);
      return;
    }
    for (const entry of one.entries.splice(0, 1 + chance.below(PIECE_ENTRIES))) {
      if (this.#answering.includes(one)) follower.entry(call, entry, this.#nowMs);
    }
    if (one.entries.length > 0 || chance.below(2) === 0) return;
    if (!this.#answering.includes(one)) return;
    this.#answering = this.#answering.filter((other) => other !== one);
    follower.ended(
      call,
      { upto: one.upto, term: source.termAt(one.upto) ?? 0, applied },
      this.#nowMs,
    );
  }

  #check(): void {
    const { entries } = this.source;
    const { length } = this.held;
    // What is held needs no second look.
    for (; this.#checked < length; this.#checked++) {
      expect(this.held[this.#checked]).toBe(entries[this.#checked]);
    }
    for (const [at, entry] of this.flight.entries()) expect(entry).toBe(entries[length + at]);
    const { queued } = this.follower;
    if (queued.entries > ENTRIES_MAX + PIECE_ENTRIES) throw new Error('too many entries wait');
  }

  get isComplete(): boolean {
    return this.held.length === this.source.entries.length && this.follower.state === 'following';
  }
}

test(`${SEEDS} sources are followed to their end, in order and once`, () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    try {
      const cluster = new Cluster(seed);
      for (let step = 0; step < STEPS; step++) cluster.step();
      cluster.isQuiet = true;
      cluster.lead();
      let left = QUIET_STEPS;
      while (!cluster.isComplete && left-- > 0) cluster.step();
      expect(cluster.isComplete).toBe(true);
      expect(cluster.held.length).toBeGreaterThan(20);
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
    }
  }
});
