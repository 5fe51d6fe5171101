// Goal: a pop whose answer finds no room claims nothing, costs no turn anything until there is
// room, and keeps its place; nobody behind it waits for ever. Method: groups that wait at one
// queue, a room that the test sets, and counts of claims, entries and tries.
import { beforeEach, expect, test } from 'vitest';
import { EngineRig, type Request } from '../testing/engine.fake.js';
import type { Outcome } from './commands/commands.js';
import { MESSAGE_ANSWER_BYTES, POP_BYTES_MAX } from './delivery-limits.js';
import { ANSWERS_FULL, type PopRoom } from './pop-room.js';
import { cursors } from './tables.js';

const LONG = 'x'.repeat(10_000);

/** Counts reserved bytes as a rim would. */
class Room implements PopRoom {
  freeBytes = 0;
  claims = 0;
  takenBytes = 0;
  readonly starving: { readonly ticket: object; readonly bytes: number }[] = [];

  bytesFor(): number {
    return this.freeBytes;
  }

  claimed(_: object, bytes: number): void {
    this.claims++;
    this.takenBytes += bytes;
    this.freeBytes -= bytes;
  }

  starved(ticket: object, bytes: number): void {
    this.starving.push({ ticket, bytes });
  }
}

let rig: EngineRig;
let room: Room;

beforeEach(() => {
  rig = new EngineRig();
  room = new Room();
  rig.popRoom = room;
  rig.restart();
});

function leases(): number {
  return rig.rows(cursors).filter(({ lease }) => lease !== null).length;
}

function waitAs(group: string, options: Parameters<EngineRig['wait']>[0] = {}): Request {
  return rig.wait({ consumerGroup: group, ...options });
}

function messagesOf(outcome: Outcome | null): number {
  return outcome?.kind === 'popped' ? rig.messages(outcome).length : 0;
}

function push(partition: string, payloads: readonly string[]): void {
  rig.push('q', partition, payloads, false);
}

test('a hundred groups and one push: claims go as far as the room, and no further', () => {
  const parked = Array.from({ length: 100 }, (_, i) => waitAs(`g${i}`));
  room.freeBytes = 35_000;
  push('p', [LONG]);
  const bytesEach = room.takenBytes / room.claims;
  expect(room.claims).toBe(3);
  expect(bytesEach).toBeGreaterThan(10_000 + MESSAGE_ANSWER_BYTES);
  expect([leases(), rig.planner.parked, room.freeBytes >= 0]).toEqual([3, 97, true]);
  // Nothing is looked at again, and nothing is due, before there is room.
  const [wakes, { entries }] = [rig.planner.wakes, rig];
  for (let i = 0; i < 5; i++) rig.turn();
  expect([rig.planner.wakes, rig.entries, rig.planner.busy]).toEqual([wakes, entries, false]);
  expect(rig.planner.nextDueMs()).toBeGreaterThan(rig.nowMs);
  expect(room.starving.length).toBe(97);
  for (let left = 97; left > 0; left -= 1) {
    room.freeBytes = bytesEach;
    rig.planner.roomFreed();
    rig.turn();
    expect(rig.planner.parked).toBe(left - 1);
  }
  expect(parked.map(({ outcome }) => messagesOf(outcome))).toEqual(Array(100).fill(1));
});

test('without any room nothing is claimed, with autoAck neither', () => {
  for (const autoAck of [false, true]) waitAs(`g${autoAck}`, { autoAck });
  push('p', [LONG]);
  expect([room.claims, leases(), rig.planner.parked]).toEqual([0, 0, 2]);
  expect(rig.rows(cursors).every(({ committed }) => committed === -1)).toBe(true);
});

test('further appends do not wake who has no room', () => {
  waitAs('g');
  push('p', [LONG]);
  const { wakes } = rig.planner;
  for (let i = 0; i < 10; i++) push(`p${i}`, ['short']);
  expect([rig.planner.wakes, room.claims]).toEqual([wakes, 0]);
});

test('a pop takes what there is room for, and leaves the rest', () => {
  push('p', Array(10).fill('message'));
  room.freeBytes = 3 * (MESSAGE_ANSWER_BYTES + 50);
  const first = rig.pop({ autoAck: true });
  expect(messagesOf(first)).toBe(3);
  room.freeBytes = POP_BYTES_MAX;
  expect(messagesOf(rig.pop({ autoAck: true }))).toBe(7);
});

test('one that does not wait is refused, parked or not, and one whose time is up', () => {
  push('p', [LONG]);
  expect(rig.call(rig.popCommand({})).outcome).toBe(ANSWERS_FULL);
  const pinned = rig.call(rig.popCommand({ partition: 'p', consumerGroup: 'h' }));
  expect(pinned.outcome).toBe(ANSWERS_FULL);
  const parked = waitAs('g', { timeoutMs: 1_000 });
  expect(rig.call(rig.popCommand({})).outcome).toBe(ANSWERS_FULL);
  rig.advance(1_001);
  rig.turn();
  expect([parked.outcome, rig.planner.parked, leases()]).toEqual([ANSWERS_FULL, 0, 0]);
});

test.each(['the first leaves', 'the time of the first is up'])('%s: the next is tried', (how) => {
  const first = waitAs('g', { timeoutMs: 1_000 });
  const second = waitAs('g');
  push('p', [LONG]);
  expect(room.starving.map(({ ticket }) => ticket)).toEqual([first]);
  room.freeBytes = POP_BYTES_MAX;
  if (how === 'the first leaves') rig.planner.withdraw(first);
  else rig.advance(1_001);
  rig.turn();
  rig.turn();
  const got = [first, second].map(({ outcome }) => messagesOf(outcome));
  expect(got).toEqual(how === 'the first leaves' ? [0, 1] : [1, 0]);
  expect(rig.planner.parked).toBe(how === 'the first leaves' ? 0 : 1);
});

test('a pop of one partition keeps its place', () => {
  push('p', ['short']);
  room.freeBytes = POP_BYTES_MAX;
  rig.pop({ autoAck: true });
  room.freeBytes = 0;
  const pinned = waitAs('g', { partition: 'p' });
  push('p', [LONG]);
  expect([pinned.outcome, room.claims]).toEqual([null, 1]);
  room.freeBytes = POP_BYTES_MAX;
  rig.planner.roomFreed();
  rig.turn();
  expect(messagesOf(pinned.outcome)).toBe(1);
});

test('a discovery pop without room at one queue is served when there is room', () => {
  rig.configure('q1', { namespace: 'n' });
  rig.configure('q2', { namespace: 'n' });
  const waiting = waitAs('g', { namespace: 'n' });
  rig.push('q1', 'p', [LONG]);
  rig.push('q2', 'p', [LONG]);
  expect([waiting.outcome, room.claims]).toEqual([null, 0]);
  room.freeBytes = POP_BYTES_MAX;
  rig.planner.roomFreed();
  rig.turn();
  expect(messagesOf(waiting.outcome)).toBe(1);
});

test('a deleted queue and a deleted group answer those without room', () => {
  const atQueue = waitAs('g');
  push('p', [LONG]);
  rig.call({ kind: 'delete-queue', tenant: rig.popCommand({}).tenant, queue: 'q' });
  for (let i = 0; i < 3; i++) rig.turn();
  expect(atQueue.outcome).toMatchObject({ kind: 'popped', claims: [] });
  rig.planner.roomFreed();
  rig.turn();
  expect([rig.planner.parked, room.claims]).toEqual([0, 0]);
});

test('whose answer is not counted here claims all that a pop may', () => {
  room.freeBytes = Number.POSITIVE_INFINITY;
  push('p', Array(10).fill('message'));
  expect(messagesOf(rig.pop())).toBe(10);
});
