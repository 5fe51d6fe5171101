// Goal: the rules of the turn: answers wait for (index, term), the pipeline is bounded, a
// leadership that ends says what it leaves in flight, a hurried pop waits no longer, and whatever
// keeps a turn from being taken, the loop wakes for it later. Method: a real planner over a map
// state, a proposer that the test commits by hand, a clock it sets; random orders of all of it,
// under seeds that a failure names.
import { crc32 } from 'node:zlib';
import {
  applyEntry,
  type Command,
  MapState,
  type Outcome,
  Planner,
  type PopCommand,
  type PushCommand,
  TransactionIndex,
} from '@svc/engine';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Clock, SystemClock } from '../system/clock.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { seededRandom } from '../testing/recovery.fake.js';
import { Leader, type Request } from './leader.js';

const TENANT = '00000000-0000-0000-0000-000000000001';

/** Time stands still unless the test moves it; work is run by the real loop. */
class HandClock implements Clock {
  readonly #system = new SystemClock();
  readonly soon = this.#system.soon;
  readonly after = this.#system.after;
  readonly every = this.#system.every;
  ms = 1000;

  wallUs(): number {
    return 1_800_000_000_000_000 + this.ms * 1000;
  }

  nowMs(): number {
    return this.ms;
  }
}

/** Takes proposals and holds them until the test says they are committed. */
class HandProposer {
  readonly entries: { index: number; term: number; body: Uint8Array }[] = [];
  term = 1;
  lastIndex = 0;
  refuses = false;
  accepting = true;
  alone = true;
  readonly reads: ((confirmed: boolean) => void)[] = [];

  read(done: (confirmed: boolean) => void): void {
    this.reads.push(done);
  }

  get nextIndex(): number {
    return this.lastIndex + 1;
  }

  propose(body: Uint8Array) {
    if (this.refuses) return null;
    this.lastIndex++;
    const entry = { index: this.lastIndex, term: this.term, body };
    this.entries.push(entry);
    return entry;
  }
}

let state: MapState;
let transactions: TransactionIndex;
let clock: HandClock;
let proposer: HandProposer;
let leader: Leader;

beforeEach(() => {
  state = new MapState();
  transactions = TransactionIndex.load(state);
  clock = new HandClock();
  proposer = new HandProposer();
  leader = leaderBy(clock);
});

afterEach(() => leader.stop());

function leaderBy(time: Clock): Leader {
  let minted = 0;
  const planner = new Planner(state, transactions, {
    nodeId: 1,
    checksum: crc32,
    newUuid: () => `01a2b3c4-0000-7000-8000-${String(++minted).padStart(12, '0')}`,
    readLog: () => new Uint8Array(0),
    cipher: null,
  });
  return new Leader(planner, proposer, time, 2, () => {});
}

function push(id: string | null = null): PushCommand {
  return {
    kind: 'push',
    tenant: TENANT,
    producerSub: null,
    body: new TextEncoder().encode('{}'),
    groups: [{ queue: 'q', partition: 'p' }],
    itemGroup: [0],
    transactionIds: [id],
    payloadStart: [0],
    payloadEnd: [2],
  };
}

function pop(wait: boolean): PopCommand {
  return {
    kind: 'pop',
    tenant: TENANT,
    scope: { kind: 'queue', queue: 'q' },
    consumerGroup: 'g',
    batch: 10,
    partitions: 1,
    autoAck: false,
    wait,
    deadlineMs: clock.ms + 30_000,
    leaseSeconds: 60,
    subscription: { mode: 'all' },
    conflation: null,
    autopilot: null,
  };
}

function submit(command: Command, origin: Request['origin'] = null) {
  const outcomes: Outcome[] = [];
  const request: Request = {
    command,
    origin,
    onOutcome: (outcome) => outcomes.push(outcome),
  };
  leader.submit(request);
  return { request, outcomes };
}

/** Lets the loop take its turns. */
async function turns(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}

function commit(term = proposer.term): void {
  const entry = proposer.entries.shift();
  if (entry === undefined) throw new Error('nothing was proposed');
  applyEntry(state, transactions, entry.index, entry.body);
  leader.applied(entry.index, term);
}

const kinds = (outcomes: readonly Outcome[]) =>
  outcomes.map((o) => (o.kind === 'refused' ? o.refusal.reason : o.kind));

test('an answer waits until its entry is applied', async () => {
  const { outcomes } = submit(push());
  await turns();
  expect(outcomes).toEqual([]);
  commit();
  expect(kinds(outcomes)).toEqual(['pushed']);
});

test('another term at the index while this node leads is a bug', async () => {
  const { outcomes } = submit(push());
  await turns();
  proposer.entries.shift();
  expect(() => leader.applied(1, 2)).toThrow('entry 1 of term 1 applied as 1 of 2');
  expect(outcomes).toEqual([]);
});

test('what arrives together is one entry; the pipeline holds the rest', async () => {
  const first = [submit(push()), submit(push()), submit(push())];
  await turns();
  expect(proposer.entries).toHaveLength(1);
  submit(push());
  await turns();
  expect(proposer.entries).toHaveLength(2);
  const held = submit(push());
  await turns();
  expect(proposer.entries).toHaveLength(2);
  commit();
  expect(first.flatMap(({ outcomes }) => kinds(outcomes))).toEqual(['pushed', 'pushed', 'pushed']);
  await turns();
  expect(proposer.entries).toHaveLength(2);
  commit();
  commit();
  expect(kinds(held.outcomes)).toEqual(['pushed']);
});

test('what falls due while the pipeline is full is looked at once there is room', async () => {
  const parked = submit({ ...pop(true), deadlineMs: clock.ms + 100 });
  await turns();
  commit();
  const other = { ...push(), groups: [{ queue: 'other', partition: 'p' }] };
  submit(other);
  await turns();
  submit(other);
  await turns();
  expect(proposer.entries).toHaveLength(2);
  clock.ms += 100;
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(parked.outcomes).toEqual([]);
  commit();
  commit();
  await expect.poll(() => kinds(parked.outcomes)).toEqual(['popped']);
});

test('the pipeline is bounded in bytes too', async () => {
  const body = new Uint8Array(64 * 1024 * 1024).fill(0x20);
  body[0] = 0x31;
  submit({ ...push(), body, payloadStart: [0], payloadEnd: [body.length] });
  await turns();
  const held = submit(push());
  await turns();
  expect(proposer.entries.length).toBe(1);
  commit();
  await turns();
  commit();
  expect(kinds(held.outcomes)).toEqual(['pushed']);
});

test('a verdict without effects waits for what is in flight', async () => {
  submit(push('a'));
  await turns();
  const duplicate = submit(push('a'));
  await turns();
  expect(proposer.entries).toHaveLength(1);
  expect(duplicate.outcomes).toEqual([]);
  commit();
  expect(kinds(duplicate.outcomes)).toEqual(['pushed']);
});

test('a parked pop is served by a push in the entry that stores the message', async () => {
  submit(push());
  await turns();
  commit();
  const drained = submit(pop(false));
  await turns();
  commit();
  expect(kinds(drained.outcomes)).toEqual(['popped']);
  const parked = submit({ ...pop(true), consumerGroup: 'h' });
  await turns();
  while (proposer.entries.length > 0) commit();
  expect(kinds(parked.outcomes)).toEqual(['popped']);
});

test('a refused proposal ends the leadership, and answers nothing', async () => {
  proposer.refuses = true;
  const one = submit(push());
  await turns();
  expect(leader.stopped).toBe(true);
  const late = submit(push());
  await turns();
  expect([...one.outcomes, ...late.outcomes]).toEqual([]);
  expect(leader.stop()).toEqual([]);
});

test('a leadership that ends names what it proposed, without verdicts after it', async () => {
  const first = submit(push('a'));
  await turns();
  const verdict = submit(push('a'));
  await turns();
  const queued = submit(push());
  const proposed = leader.stop();
  expect(proposed).toMatchObject([{ index: 1, term: 1, answers: [{ ticket: first.request }] }]);
  await turns();
  expect([first, verdict, queued].flatMap(({ outcomes }) => outcomes)).toEqual([]);
});

test('a hurried pop ends where it stands: parked, queued, or with what it claimed', async () => {
  const empty = { ...pop(true), scope: { kind: 'queue', queue: 'empty' } } as const;
  const parked = submit(empty);
  await turns();
  while (proposer.entries.length > 0) commit();
  expect(parked.outcomes).toEqual([]);
  leader.hurry(parked.request);
  expect(parked.outcomes).toMatchObject([{ kind: 'popped', claims: [] }]);
  const queued = submit(empty);
  leader.hurry(queued.request);
  expect(queued.outcomes).toEqual([]);
  await turns();
  expect(queued.outcomes).toMatchObject([{ kind: 'popped', claims: [] }]);
  submit(push());
  const claiming = submit({ ...pop(true) });
  leader.hurry(claiming.request);
  await turns();
  while (proposer.entries.length > 0) commit();
  expect(claiming.outcomes).toMatchObject([{ kind: 'popped', claims: [{ queue: 'q' }] }]);
});

test('a hurried pop by labels that waits for a turn of wide commands ends in it', async () => {
  const queues = Array.from({ length: 1600 }, (_, i) => ({ queue: `q${i}`, partition: 'p' }));
  const all = queues.map((_, i) => i);
  const nulls = all.map(() => null);
  const [start, end] = [all.map(() => 0), all.map(() => 2)];
  const places = { groups: queues, itemGroup: all, transactionIds: nulls };
  submit({ ...push(), ...places, payloadStart: start, payloadEnd: end });
  await turns();
  commit();
  const scope = { kind: 'discovery', namespace: null, task: null } as const;
  const byLabels = { ...pop(true), scope, subscription: { mode: 'new' } } as const;
  const known = submit(byLabels);
  await turns();
  while (proposer.entries.length > 0) commit();
  leader.withdraw(known.request);
  // So many bytes in flight that no further wide command is planned.
  const body = new Uint8Array(9 * 1024 * 1024).fill(0x20);
  body[0] = 0x31;
  const other = '00000000-0000-0000-0000-000000000002';
  submit({ ...push(), tenant: other, body, payloadEnd: [body.length] });
  await turns();
  const waiting = submit(byLabels);
  await turns();
  leader.hurry(waiting.request);
  await turns();
  expect(proposer.entries).toHaveLength(1);
  commit();
  await turns();
  expect(waiting.outcomes).toMatchObject([{ kind: 'popped', claims: [] }]);
});

test('a withdrawn pop claims nothing', async () => {
  submit(push());
  await turns();
  commit();
  submit(pop(false));
  await turns();
  commit();
  const parked = submit(pop(true));
  await turns();
  expect(leader.withdraw(parked.request)).toBe(true);
  expect(leader.withdraw(parked.request)).toBe(false);
  submit(push());
  await turns();
  while (proposer.entries.length > 0) commit();
  expect(parked.outcomes).toEqual([]);
});

test('in a group a verdict without effects waits for the word of a quorum', async () => {
  submit(push('a'));
  await turns();
  commit();
  proposer.alone = false;
  const [one, other] = [submit(push('a')), submit(push('a'))];
  await turns();
  expect(one.outcomes).toEqual([]);
  expect(proposer.reads.length).toBe(1);
  expect(leader.idle).toBe(false);
  proposer.reads.shift()?.(true);
  expect([one, other].map(({ outcomes }) => kinds(outcomes))).toEqual([['pushed'], ['pushed']]);
  expect(leader.idle).toBe(true);
  const unconfirmed = submit(push('a'));
  await turns();
  proposer.reads.shift()?.(false);
  expect(unconfirmed.outcomes).toEqual([]);
  // It is judged again while this node leads.
  await expect.poll(() => proposer.reads.length).toBeGreaterThan(0);
  proposer.reads.shift()?.(true);
  expect(kinds(unconfirmed.outcomes)).toEqual(['pushed']);
});

test('while leadership is handed over commands wait, and go on if it fails', async () => {
  submit(push());
  await turns();
  commit();
  proposer.accepting = false;
  const waiting = submit(push());
  await turns();
  expect(proposer.entries).toEqual([]);
  expect(waiting.outcomes).toEqual([]);
  proposer.accepting = true;
  leader.resume();
  await turns();
  commit();
  expect(kinds(waiting.outcomes)).toEqual(['pushed']);
});

/** Another leader, in a world of its own whose time stands still. */
function restartedAt(time: MovedClock): void {
  leader.stop();
  state = new MapState();
  transactions = TransactionIndex.load(state);
  proposer = new HandProposer();
  leader = leaderBy(time);
}

test('whatever keeps turns from being taken, nothing that waits is forgotten', () => {
  for (let seed = 1; seed <= 100; seed++) {
    const random = seededRandom(seed);
    const time = new MovedClock();
    restartedAt(time);
    const waiting = [submit(push())];
    const steps = [
      () => waiting.push(submit(push())),
      () => waiting.push(submit({ ...pop(true), batch: 1, leaseSeconds: 1 })),
      () => {
        const { request } = waiting[random.below(waiting.length)] as (typeof waiting)[0];
        if (request.command.kind === 'pop') leader.hurry(request);
      },
      () => {
        proposer.alone = random.chance(0.7);
      },
      () => {
        proposer.accepting = random.chance(0.7);
        if (proposer.accepting) leader.resume();
      },
      () => time.move(random.below(3000)),
      () => proposer.entries.length > 0 && commit(),
      () => proposer.reads.shift()?.(true),
    ];
    for (let step = 0; step < 60; step++) {
      steps[random.below(steps.length)]?.();
      if (random.chance(0.7)) time.move(0);
    }
    proposer.accepting = true;
    leader.resume();
    // Enough for all pops, one after the other: each waits until the lease before it is over.
    for (const _ of [...waiting]) waiting.push(submit(push()));
    for (let i = 0; i < 60; i++) {
      time.move(1000);
      while (proposer.reads.length > 0) proposer.reads.shift()?.(true);
      while (proposer.entries.length > 0) commit();
    }
    expect(
      waiting.filter(({ outcomes }) => outcomes.length !== 1),
      `seed ${seed}`,
    ).toEqual([]);
  }
});
