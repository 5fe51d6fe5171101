// Goal: pops take messages only into room that there is for their answers, and those that wait are
// answered in turns. Method: rings beside room that the test makes and takes away.
import { beforeEach, describe, expect, test } from 'vitest';
import { ringLimits } from './books.js';
import { EphemeralRings } from './ephemeral-rings.js';
import { FakeRoom } from './pop-room.fake.js';
import { ANSWER_BYTES } from './pop-room.js';
import type { PopEnd, WaitingPop } from './waiting-pop.js';

const CEILINGS = {
  maxBytes: 100_000_000,
  maxLength: 100_000,
  leaseSeconds: 30,
  retryLimit: 5,
};

let room: FakeRoom;
let rings: EphemeralRings;
let nowMs: number;

beforeEach(() => {
  room = new FakeRoom();
  nowMs = 0;
  let minted = 0;
  rings = new EphemeralRings({
    limits: ringLimits(200_000_000, 0, CEILINGS),
    newIncarnation: () => ++minted,
    dropped: { bounds: 0, ttl: 0, retry: 0 },
    declaredOf: () => null,
    allowanceOf: () => ({ bytesMax: null, queuesMax: null }),
    room,
  });
});

interface Popping {
  readonly ticket: object;
  readonly handle: WaitingPop | null;
  /** How many messages came, or how it ended; null while it waits. */
  readonly end: () => number | string | null;
}

function pop(group: string, waitMs: number | null, batch = 100): Popping {
  const ends: PopEnd[] = [];
  const ticket = {};
  const handle = rings.pop(
    {
      tenant: 't',
      queue: 'q',
      partition: null,
      group,
      batch,
      autoAck: true,
      ticket,
      deadlineMs: waitMs === null ? null : nowMs + waitMs,
      onEnd: (end) => ends.push(end),
    },
    nowMs,
  );
  if (typeof handle === 'string') throw new Error(handle);
  const end = () => {
    expect(ends.length).toBeLessThanOrEqual(1);
    const [only] = ends;
    return only === undefined ? null : typeof only === 'string' ? only : only.length;
  };
  return { ticket, handle, end };
}

function push(count: number, bytes: number): void {
  const start = Array.from({ length: count }, (_, i) => i * bytes);
  const payloads = {
    bytes: new Uint8Array(count * bytes),
    start,
    end: start.map((at) => at + bytes),
  };
  const place = { tenant: 't', queue: 'q', partition: 'p' };
  expect(rings.push(place, payloads, nowMs)).toBeNull();
}

const retry = (ticket: object) => rings.retry(ticket, nowMs);

test('one push of a megabyte is answered to five hundred groups in turns', () => {
  const waiting = Array.from({ length: 500 }, (_, i) => pop(`g${i}`, 60_000));
  room.isSpent = () => room.claims.reduce((sum, { bytes }) => sum + bytes, 0) >= 1_000_000;
  push(100, 10_000);
  expect(waiting.filter(({ end }) => end() !== null)).toHaveLength(1);
  expect(room.told.size).toBe(499);
  expect(rings.parked).toBe(499);
  room.free(retry);
  expect(waiting.map(({ end }) => end())).toEqual(waiting.map(() => 100));
});

describe('without room', () => {
  const ONE = 1000 + ANSWER_BYTES;

  test('a pop takes what fits, and says what it takes', () => {
    push(10, 1000);
    room.bytesFor = () => 3 * ONE + 1;
    const { end, ticket } = pop('g', null);
    expect(end()).toBe(3);
    expect(room.claims).toEqual([{ ticket, bytes: 3 * ONE }]);
  });

  test('one that does not wait ends so, and nothing is taken', () => {
    pop('g', null);
    push(2, 1000);
    room.bytesFor = () => ONE - 1;
    expect(pop('g', null).end()).toBe('no-room');
    room.bytesFor = () => 2 * ONE;
    expect(pop('g', null).end()).toBe(2);
  });

  test('one that waits stays first in its group, and takes all when it is told', () => {
    const first = pop('g', 1000, 2);
    const second = pop('g', 1000, 2);
    const other = pop('h', 1000);
    room.bytesFor = (ticket) => (ticket === other.ticket ? 10 * ONE : 0);
    push(3, 1000);
    expect([first.end(), second.end(), other.end()]).toEqual([null, null, 3]);
    expect([...room.told]).toEqual([[first.ticket, ONE]]);
    room.free(retry);
    expect([first.end(), second.end()]).toEqual([2, 1]);
  });

  test('when it goes, the next of its group is tried', () => {
    const first = pop('g', 1000);
    const second = pop('g', 1000);
    room.bytesFor = (ticket) => (ticket === first.ticket ? 0 : 10 * ONE);
    push(1, 1000);
    expect(second.end()).toBeNull();
    if (first.handle !== null) rings.cancel(first.handle, nowMs);
    expect(second.end()).toBe(1);
    retry(first.ticket);
    expect(first.end()).toBeNull();
  });

  test('its time is up: it ends so; with room by then, and without messages, as it would', () => {
    const starved = pop('g', 1000);
    const late = pop('h', 1000);
    const robbed = pop('i', 1000);
    room.bytesFor = () => 0;
    push(1, 1000);
    room.bytesFor = (ticket) => (ticket === starved.ticket ? 0 : 10 * ONE);
    expect(pop('i', null).end()).toBe(1);
    nowMs = 1000;
    rings.run(nowMs);
    expect([starved.end(), late.end(), robbed.end()]).toEqual(['no-room', 1, 0]);
    expect(rings.parked).toBe(0);
  });

  test('put off, its time is up: it is answered all the same', () => {
    const waiting = pop('g', 1000);
    room.isSpent = () => true;
    push(1, 1000);
    expect(waiting.end()).toBeNull();
    nowMs = 1000;
    rings.run(nowMs);
    expect(waiting.end()).toBe(1);
  });
});
