// Goal: pops of ephemeral queues that wait in a crowd for one push are answered within the room
// that there is, in turns of the loop, and each of them once. Method: rings behind their own room
// and turns, with answers whose readers the test lets read.
import { EphemeralRings, type PopEnd, ringLimits } from '@svc/ephemeral';
import { beforeEach, expect, test } from 'vitest';
import { SharedRoom } from '../testing/message-log.fake.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { EphemeralAnswers } from './answers.js';

const MIB = 1024 * 1024;
const CEILINGS = { maxBytes: 64 * MIB, maxLength: 100_000, leaseSeconds: 30, retryLimit: 5 };

let clock: MovedClock;
let shared: SharedRoom;
let rings: EphemeralRings;

beforeEach(() => {
  clock = new MovedClock();
  shared = new SharedRoom(30 * MIB);
  const answers = new EphemeralAnswers(clock, (ticket) => rings.retry(ticket, clock.nowMs()));
  let minted = 0;
  rings = new EphemeralRings({
    limits: ringLimits(256 * MIB, 0, CEILINGS),
    newIncarnation: () => ++minted,
    dropped: { bounds: 0, ttl: 0, retry: 0 },
    declaredOf: () => null,
    allowanceOf: () => ({ bytesMax: null, queuesMax: null }),
    room: answers,
  });
});

class Client {
  readonly room: ReturnType<SharedRoom['one']> | undefined;
  end: PopEnd | null = null;

  constructor(group: string, room: ReturnType<SharedRoom['one']> | undefined) {
    this.room = room;
    const pop = { tenant: 't', queue: 'q', partition: null, group, batch: 1000, autoAck: true };
    const onEnd = (end: PopEnd) => {
      expect(this.end).toBeNull();
      this.end = end;
    };
    const deadlineMs = clock.nowMs() + 60_000;
    rings.pop({ ...pop, ticket: this, deadlineMs, onEnd }, clock.nowMs());
  }

  read(): void {
    if (this.end !== null) this.room?.release();
  }
}

function push(): void {
  const start = Array.from({ length: 100 }, (_, i) => i * 10_000);
  const end = start.map((at) => at + 10_000);
  const place = { tenant: 't', queue: 'q', partition: 'p' };
  const payloads = { bytes: new Uint8Array(1_000_000), start, end };
  expect(rings.push(place, payloads, clock.nowMs())).toBeNull();
}

const answered = (clients: readonly Client[]) => clients.filter(({ end }) => end !== null).length;

test('a megabyte to each of 500 groups: two in a turn, and 30 MiB at most', () => {
  const clients = Array.from({ length: 500 }, (_, i) => new Client(`g${i}`, shared.one()));
  push();
  expect(answered(clients)).toBe(2);
  let before = 2;
  for (let turns = 0; turns < 1000 && before < 500; turns++) {
    if (before < 30) expect(shared.waiting).toEqual([]);
    clock.move(0);
    // A turn of the clock runs all that is due at once: what came of it is what had room.
    expect(shared.used).toBeLessThanOrEqual(30 * MIB);
    for (const client of clients) client.read();
    shared.admit();
    const now = answered(clients);
    expect(now).toBeGreaterThan(before);
    before = now;
  }
  expect(shared.peak).toBeGreaterThan(20 * MIB);
  // A pop with room for a part of it takes that part.
  const counts = clients.map(({ end }) => end?.length ?? 0);
  expect(counts.filter((count) => count === 100).length).toBeGreaterThan(400);
  expect(Math.min(...counts)).toBeGreaterThan(0);
  expect([rings.parked, shared.waiting.length]).toEqual([0, 0]);
});

test('pops of other nodes take turns as well', () => {
  const clients = Array.from({ length: 10 }, (_, i) => new Client(`g${i}`, undefined));
  push();
  expect(answered(clients)).toBe(2);
  clock.move(0);
  expect(answered(clients)).toBe(10);
});

test('readers that take nothing hold what there is, and the others wait without messages', () => {
  const clients = Array.from({ length: 100 }, (_, i) => new Client(`g${i}`, shared.one()));
  push();
  clock.move(1000);
  // Thirty have all of it, and one what is left.
  expect(answered(clients)).toBe(31);
  expect([rings.parked, clock.pending]).toEqual([69, 0]);
  clock.move(60_000);
  rings.run(clock.nowMs());
  expect(clients.filter(({ end }) => end === 'no-room')).toHaveLength(69);
});
