// Goal: claims that come in crowds are read and answered within the room that their clients have,
// and given back when there is none. Method: claims over messages in a log that counts what is read
// of it, room that the test sets, a loop that it turns.
import type { Command, PopCommand, PoppedOutcome, RefusedOutcome } from '@svc/engine';
import { type DeliveredOutcome, LoopShare, type Reply } from '@svc/http';
import { DEFAULT_TENANT, newPipelineMeters } from '@svc/wire';
import { beforeEach, expect, test } from 'vitest';
import { PopAnswers } from '../leader/pop-answers.js';
import { MessageReader } from '../reads/message-reader.js';
import { MessageLog, SharedRoom } from '../testing/message-log.fake.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { PopDelivery } from './pop-delivery.js';

const KIB = 1024;
const MIB = 1024 * KIB;
const LONG = `"${'x'.repeat(7 * MIB - 2)}"`;

let clock: MovedClock;
/** Looks at the clock of the loop; between two of them a turn's share passes. */
let looks: number;
let log: MessageLog;
let shared: SharedRoom;
let pops: PopDelivery;
let givenBack: Command[];

beforeEach(() => {
  clock = new MovedClock();
  looks = 0;
  log = new MessageLog();
  shared = new SharedRoom(60 * MIB);
  givenBack = [];
  pops = deliveryOf(8 * MIB);
});

function deliveryOf(pinnedBytesMax: number): PopDelivery {
  const loop = new LoopShare({ nowMs: () => 4 * looks++, soon: (work) => clock.soon(work) });
  return new PopDelivery({
    state: log.state,
    reader: new MessageReader(log.log, null, loop, pinnedBytesMax, () => {}),
    clock,
    loop,
    activity: null,
    pipeline: newPipelineMeters(),
    giveBack: (command) => givenBack.push(command),
  });
}

function commandOf(group: string, batch = 100): PopCommand {
  return {
    kind: 'pop',
    tenant: DEFAULT_TENANT,
    scope: { kind: 'queue', queue: 'q' },
    consumerGroup: group,
    batch,
    partitions: 1,
    autoAck: false,
    wait: false,
    deadlineMs: 30_000,
    leaseSeconds: 30,
    subscription: { mode: 'all' },
    conflation: null,
    autopilot: null,
  };
}

class Client implements Reply<DeliveredOutcome | RefusedOutcome> {
  gone = false;
  onGone = null;
  readonly room = shared.one();
  answer: DeliveredOutcome | RefusedOutcome | null = null;
  /** Bytes that were reserved when the answer was made. */
  reservedBytes = 0;

  send(answer: DeliveredOutcome | RefusedOutcome): boolean {
    if (this.answer !== null) throw new Error('a pop was answered twice');
    this.answer = answer;
    this.reservedBytes = this.room.reservedBytes;
    return !this.gone;
  }
}

/** Pops of so many groups, claimed by another node: without a look at the room here. */
function crowd(groups: number, batch = 100): Client[] {
  const claims = Array.from({ length: groups }, (_, i): [PopCommand, PoppedOutcome] => {
    const command = commandOf(`g${i}`, batch);
    return [command, log.pop(command)];
  });
  return claims.map(([command, outcome]) => {
    const client = new Client();
    pops.deliver(command, outcome, client);
    return client;
  });
}

const answered = (clients: readonly Client[]): number =>
  clients.filter(({ answer }) => answer?.kind === 'delivered').length;

test.each([true, false])(
  'a hundred claims of 7 MB within 60 MiB of room, in memory: %s',
  (isIn) => {
    log.isRecent = isIn;
    log.push('p', [LONG]);
    const clients = crowd(100);
    clock.move(0);
    // Bytes read off the disk count as well (a front releases them when the answer is made).
    const first = isIn ? 8 : 4;
    expect(answered(clients)).toBe(first);
    expect(shared.waiting.length).toBe(100 - first);
    expect(log.reads).toBe(isIn ? 0 : 1);
    for (const client of clients) {
      client.room.release();
      shared.admit();
      clock.move(0);
    }
    expect(answered(clients)).toBe(100);
    for (const { reservedBytes } of clients) expect(reservedBytes).toBeGreaterThanOrEqual(7 * MIB);
    expect(shared.peak).toBeLessThanOrEqual(shared.bytesMax);
    expect([givenBack, pops.idle]).toEqual([[], true]);
  },
);

test('large answers do not stand in one turn of the loop', () => {
  log.isRecent = true;
  log.push('p', [LONG]);
  const clients = crowd(5);
  expect(answered(clients)).toBe(1);
  const turns: number[] = [];
  for (; clock.pending > 0; turns.push(answered(clients))) clock.next();
  expect(turns).toEqual([1, 2, 3, 4, 5]);
});

test('small answers are made at once', () => {
  log.isRecent = true;
  log.push('p', ['1', '2', '3']);
  const clients = crowd(100);
  expect(answered(clients)).toBe(100);
  expect(pops.idle).toBe(true);
});

test('without room for too long claims are given back', () => {
  log.push('p', [LONG]);
  shared.bytesMax = MIB;
  const clients = crowd(2);
  clock.move(0);
  for (const { admit } of shared.waiting) admit(false);
  expect(clients.map(({ answer }) => answer?.kind)).toEqual(['refused', 'refused']);
  expect(givenBack.map(({ kind }) => kind)).toEqual(['give-back', 'give-back']);
  expect([log.reads, shared.used, pops.idle]).toEqual([0, 0, true]);
});

test('a client that goes while its claim waits gets it given back', () => {
  log.push('p', [LONG]);
  shared.bytesMax = MIB;
  const [client] = crowd(1);
  if (client === undefined) throw new Error('no client');
  client.gone = true;
  shared.waiting[0]?.admit(false);
  expect([givenBack.length, log.reads]).toEqual([1, 0]);
});

test('a message far longer than the average of its append waits for its own room', () => {
  log.isRecent = true;
  log.push('p', [LONG, ...Array(700).fill('1')]);
  shared.bytesMax = 20 * MIB;
  const clients = crowd(10, 1);
  clock.move(0);
  const sizes = clients.map(({ answer }) => (answer === null ? 0 : 1));
  expect(sizes.filter((size) => size > 0).length).toBe(2);
  expect(shared.peak).toBeLessThanOrEqual(shared.bytesMax);
  expect(shared.waiting.every(({ bytes }) => bytes >= 7 * MIB)).toBe(true);
});

test('a stopped node gives back what stands in line', () => {
  log.isRecent = true;
  log.push('p', [LONG]);
  crowd(5);
  pops.stop();
  clock.move(0);
  expect([givenBack.length, pops.idle]).toEqual([4, true]);
});

test('claims whose entries the log gives up while they wait are given back', () => {
  pops = deliveryOf(0);
  log.push('p', [LONG]);
  const clients = crowd(100);
  clock.move(0);
  const before = answered(clients);
  log.giveUpBefore(1000);
  for (const client of clients) {
    client.room.release();
    shared.admit();
    clock.move(0);
  }
  expect(answered(clients)).toBe(before);
  const refused = clients.flatMap(({ answer }) => (answer?.kind === 'refused' ? [answer] : []));
  expect(refused.map(({ refusal }) => refusal.reason)).toEqual(
    Array.from({ length: 100 - before }, () => 'internal'),
  );
  expect([givenBack.length, pops.idle]).toEqual([100 - before, true]);
});

test('room that was given to a parked pop and not claimed into is free after the turn', () => {
  const answers = new PopAnswers();
  const ticket = { room: shared.one() };
  let tries = 0;
  answers.onRoom = () => tries++;
  answers.starved(ticket, 7 * MIB);
  expect(shared.used).toBe(0);
  shared.admit();
  expect([tries, shared.used]).toEqual([1, 7 * MIB]);
  answers.turned();
  expect(shared.used).toBe(0);
  answers.starved(ticket, 7 * MIB);
  shared.admit();
  answers.claimed(ticket, 3 * MIB);
  answers.turned();
  expect(shared.used).toBe(3 * MIB);
  expect(answers.bytesFor({})).toBe(Number.POSITIVE_INFINITY);
  // The next leadership is not this one.
  ticket.room.release();
  answers.starved(ticket, 7 * MIB);
  answers.stop();
  shared.admit();
  expect([tries, shared.used]).toEqual([2, 0]);
});
