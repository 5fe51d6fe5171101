// Goal: what clients do is counted once, for the queue that it was done to, and what was refused
// or belongs to nobody is not. Method: a planner over a map state gives real outcomes; the activity
// is handed commands and outcomes as the broker does it.
import { crc32 } from 'node:zlib';
import {
  type AckItem,
  AppliedFigures,
  applyEntry,
  type Command,
  MapState,
  type Outcome,
  Planner,
  type PoppedOutcome,
  type PushCommand,
  TransactionIndex,
  UNFILED,
} from '@svc/engine';
import { type QueueFigures, QueueMeters } from '@svc/wire';
import { beforeEach, expect, test } from 'vitest';
import { popOf, TENANT } from '../testing/group-clients.fake.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { Activity } from './activity.js';

const OTHER_TENANT = '00000000-0000-0000-0000-000000000002';

let clock: MovedClock;
let state: MapState;
let planner: Planner;
let activity: Activity;
let transactions: TransactionIndex;
let index: number;

beforeEach(() => {
  clock = new MovedClock();
  state = new MapState();
  transactions = TransactionIndex.load(state);
  index = 0;
  let minted = 0;
  const entries = new Map<number, Uint8Array>();
  planner = new Planner(state, transactions, {
    nodeId: 1,
    checksum: crc32,
    newUuid: () => `01a2b3c4-0000-7000-8000-${String(++minted).padStart(12, '0')}`,
    readLog: ({ index: at, position, length }) =>
      (entries.get(at) ?? new Uint8Array(0)).subarray(position, position + length),
    cipher: null,
  });
  bodies = entries;
  activity = new Activity(new QueueMeters(), clock);
});

let bodies: Map<number, Uint8Array>;

function plan(command: Command): Outcome {
  const ticket = {};
  planner.enqueue(command, ticket);
  index++;
  const turn = planner.turn({ index, wallUs: clock.wallUs(), nowMs: clock.nowMs() });
  if (turn.body === null) index--;
  else {
    bodies.set(index, turn.body);
    const onFailure = (error: unknown) => {
      throw error;
    };
    const figures = new AppliedFigures({ events: activity, onFailure });
    const observer = { appended: () => {}, figures };
    applyEntry(state, transactions, index, turn.body, observer);
    planner.applied(index);
  }
  const answer = turn.answers.find((each) => each.ticket === ticket);
  if (answer === undefined) throw new Error(`${command.kind} was not answered`);
  return answer.outcome;
}

/** As the broker does it. */
function call(command: Command): Outcome {
  const outcome = plan(command);
  if (command.kind !== 'pop') activity.answered(state, command, outcome);
  else if (outcome.kind === 'popped' && outcome.claims.length > 0) {
    activity.popped(state, command, outcome.claims);
  } else activity.poppedNothing(state, command);
  return outcome;
}

/** Items as `queue/partition id`; the same id twice is a duplicate. */
function pushOf(...items: readonly string[]): PushCommand {
  const places = items.map((item) => item.split(/[/ ]/));
  const names = [...new Set(places.map(([queue, partition]) => `${queue}/${partition}`))];
  const groups = names.map((name) => {
    const [queue = '', partition = ''] = name.split('/');
    return { queue, partition };
  });
  return {
    kind: 'push',
    tenant: TENANT,
    producerSub: null,
    body: new TextEncoder().encode('{}'),
    groups,
    itemGroup: places.map(([queue, partition]) => names.indexOf(`${queue}/${partition}`)),
    transactionIds: places.map(([, , id]) => id ?? null),
    payloadStart: items.map(() => 0),
    payloadEnd: items.map(() => 2),
  };
}

function pop(queue: string, batch: number): PoppedOutcome {
  const command = { ...popOf(queue, 0, clock.ms + 1000), batch, partitions: 8 };
  const outcome = call(command);
  if (outcome.kind !== 'popped') throw new Error('a pop was refused');
  return outcome;
}

function acksOf(outcome: PoppedOutcome, ids: readonly string[], status: AckItem['status']) {
  const [claim] = outcome.claims;
  return ids.map((transactionId) => ({
    transactionId,
    partitionId: `${claim?.partitionNumber}`,
    leaseId: outcome.leaseId,
    status,
    error: null,
  }));
}

function ack(items: readonly AckItem[]): void {
  call({ kind: 'ack', tenant: TENANT, consumerGroup: 'g', items });
}

function of(queue: string): Partial<QueueFigures> {
  const figures = activity.queues.known(TENANT, queue);
  if (figures === undefined) return {};
  const counted = Object.entries(figures).filter(([, value]) => value !== 0);
  const { tenant: _, queue: __, partitionsCreated: ___, ...rest } = Object.fromEntries(counted);
  return rest;
}

test('a push of one queue, of several, and duplicates', () => {
  call(pushOf('a/p 1', 'a/p 2'));
  expect(of('a')).toEqual({ pushRequests: 1, pushMessages: 2 });
  call(pushOf('a/p 1', 'a/q 3', 'b/p 4', 'a/p 5'));
  expect(of('a')).toEqual({ pushRequests: 2, pushMessages: 4 });
  expect(of('b')).toEqual({ pushRequests: 1, pushMessages: 1 });
  expect(activity.process).toMatchObject({ pushRequests: 2, pushMessages: 5 });
});

test('a pop by the age of what it delivers, and one that finds nothing', () => {
  call(pushOf('a/p 1'));
  clock.move(100);
  call(pushOf('a/p 2'));
  clock.move(100);
  pop('a', 5);
  const { lagMsSum = 0, lagMsMax = 0, ...rest } = of('a');
  expect(rest).toEqual({ pushRequests: 2, pushMessages: 2, popRequests: 1, popMessages: 2 });
  expect([Math.round(lagMsSum), Math.round(lagMsMax)]).toEqual([300, 200]);
  pop('a', 5);
  expect(of('a')).toMatchObject({ popRequests: 2, popEmpty: 1 });
  expect(activity.process).toMatchObject({ popRequests: 2, popMessages: 2, popEmpty: 1 });
});

test('a pop of a queue that does not exist leaves nothing of its name', () => {
  const scope = { kind: 'partition', queue: 'none', partition: 'p' } as const;
  call({ ...popOf('none', 0, clock.ms + 1000), scope });
  expect(activity.queues.known(TENANT, 'none')).toBeUndefined();
  expect(activity.process).toMatchObject({ popRequests: 1, popEmpty: 1 });
});

test('acks that complete, fail, file a dead letter, and are refused', () => {
  call(pushOf('a/p 1', 'a/p 2', 'a/p 3'));
  const popped = pop('a', 3);
  ack([...acksOf(popped, ['1'], 'completed'), ...acksOf(popped, ['2'], 'dlq')]);
  expect(of('a')).toMatchObject({ ackRequests: 1, ackSuccess: 1, ackFailed: 1, deadLetters: 1 });
  ack([
    ...acksOf(popped, ['3'], 'failed'),
    { ...acksOf(popped, ['3'], 'completed')[0], leaseId: 'wrong' } as AckItem,
    { transactionId: 'x', partitionId: '999', leaseId: '', status: 'completed', error: null },
    { transactionId: 'x', partitionId: 'p', leaseId: '', status: 'completed', error: null },
  ]);
  expect(of('a')).toMatchObject({ ackRequests: 2, ackSuccess: 1, ackFailed: 3, deadLetters: 1 });
  expect(activity.process).toMatchObject({ ackRequests: 2, ackSuccess: 1, ackFailed: 5 });
});

test('an ack of two queues is a request of each, once', () => {
  call(pushOf('a/p 1', 'a/p 2', 'b/p 3'));
  const [a, b] = [pop('a', 2), pop('b', 1)];
  const [one, two] = acksOf(a, ['1', '2'], 'completed');
  ack([one, ...acksOf(b, ['3'], 'completed'), two] as AckItem[]);
  expect([of('a').ackRequests, of('b').ackRequests]).toEqual([1, 1]);
  expect([of('a').ackSuccess, of('b').ackSuccess]).toEqual([2, 1]);
});

test('a call in slices is one request of each queue, and what is left open counts later', () => {
  const pushes = new Set<QueueFigures>();
  for (const slice of [pushOf('a/p 1', 'a/p 2'), pushOf('a/p 3', 'b/p 4')]) {
    activity.sliceAnswered(state, slice, plan(slice), pushes);
  }
  activity.slicesEnded('push', pushes);
  expect([of('a').pushRequests, of('a').pushMessages]).toEqual([1, 3]);
  expect([of('b').pushRequests, of('b').pushMessages]).toEqual([1, 1]);
  const acks = new Set<QueueFigures>();
  const items = acksOf(pop('a', 3), ['1', '2', '3'], 'completed');
  const verdict = { leaseReleased: false, dlq: false, noop: false };
  const answer = (which: readonly AckItem[], open: number) => {
    const command: Command = { kind: 'ack', tenant: TENANT, consumerGroup: 'g', items: which };
    const verdicts = which.map((_, i) =>
      i < open
        ? { ...verdict, success: false, error: UNFILED }
        : { ...verdict, success: true, error: null },
    );
    activity.sliceAnswered(state, command, { kind: 'acked', items: verdicts }, acks);
  };
  answer(items, 2);
  answer(items.slice(0, 2), 0);
  activity.slicesEnded('ack', acks);
  expect(of('a')).toMatchObject({ ackRequests: 1, ackSuccess: 3 });
  expect(activity.process).toMatchObject({ pushRequests: 1, ackRequests: 1, ackFailed: 0 });
});

test("another tenant's partition is not counted for its queue", () => {
  call(pushOf('a/p 1'));
  const popped = pop('a', 1);
  const items = acksOf(popped, ['1'], 'completed');
  call({ kind: 'ack', tenant: OTHER_TENANT, consumerGroup: 'g', items });
  expect(of('a').ackRequests).toBeUndefined();
  ack(items);
  call({ kind: 'ack', tenant: OTHER_TENANT, consumerGroup: 'g', items });
  expect(of('a')).toMatchObject({ ackRequests: 1, ackSuccess: 1 });
  expect(of('a').ackFailed).toBeUndefined();
});

test('what a conflating group passes over', () => {
  call(pushOf('a/p 1', 'a/p 2', 'a/p 3'));
  call({ ...popOf('a', 0, clock.ms + 1000), conflation: true });
  expect(of('a')).toMatchObject({ popMessages: 1, conflated: 2 });
});

test('a queue that is deleted takes its figures with it', () => {
  call(pushOf('a/p 1', 'a/p 2'));
  const popped = pop('a', 1);
  const ticket = {};
  planner.enqueue({ kind: 'delete-queue', tenant: TENANT, queue: 'a' }, ticket);
  call(pushOf('other/p 1'));
  expect(of('a')).toEqual({});
  ack(acksOf(popped, ['1'], 'completed'));
  call(pushOf('a/p 9'));
  expect(of('a')).toEqual({ pushRequests: 1, pushMessages: 1 });
});

test('what is applied counts in a bucket that has just begun, and not when it is old', () => {
  const startedUs = clock.wallUs();
  const trimmedAt = (stampUs: number) => activity.trimmed(TENANT, 'q', 5, 'read', stampUs);
  trimmedAt(startedUs - 1);
  activity.rotate(startedUs + 1_000_000);
  trimmedAt(startedUs - 1);
  expect(of('q')).toEqual({});
  call(pushOf('q/p 1'));
  trimmedAt(startedUs);
  expect(activity.queues.known(TENANT, 'q')?.partitionsCreated).toBe(1);
  expect(of('q')).toMatchObject({ trims: 1, readMessages: 5 });
  activity.rotate(startedUs + 60_000_000);
  trimmedAt(startedUs + 49_999_999);
  trimmedAt(startedUs + 50_000_000);
  expect(of('q')).toMatchObject({ trims: 2, readMessages: 10 });
});

test('beyond the bound of queues the node is counted all the same', () => {
  const queues = new QueueMeters();
  for (let i = 0; i < 100_000; i++) queues.of(TENANT, `q${i}`);
  expect(queues.of(TENANT, 'more')).toBeNull();
  expect([queues.of(TENANT, 'q7')?.queue, queues.missed]).toEqual(['q7', 1]);
  activity = new Activity(queues, clock);
  call(pushOf('a/p 1'));
  expect(activity.process.pushMessages).toBe(1);
  expect(queues.rotate().length).toBe(100_000);
  call(pushOf('a/p 2'));
  expect(of('a')).toMatchObject({ pushMessages: 1 });
});
