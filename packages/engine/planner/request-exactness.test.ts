/**
 * Goal: whatever the order of commits, changes of leaders, copies of requests that are lost,
 * repeated and delayed, and answers that are lost, each request id has its effects at most once,
 * exactly once when it was answered so, and one outcome.
 *
 * Method: random runs. Senders number their requests, send copies to the leader of the moment, send
 * them again when they hear nothing, and settle what was answered. Copies stay in the network and
 * come again at any later time; a leader refuses those meant for another term, as nodes do. The
 * model is naive: how often each text was stored, which offsets each pop was given, which numbers
 * of one counter each call was told, and all outcomes that were given to each id.
 */
import { expect, test } from 'vitest';
import { type Command, DEADLINE_OVER, type Outcome } from '../base/commands/commands.js';
import { type KvCall, kvText } from '../base/commands/kv.js';
import type { Rollback } from '../base/commands/transaction.js';
import { kvKey, kvRows } from '../state/kv/tables.js';
import { newRequestSession, type RequestOrigin } from '../state/request-id.js';
import { popCommand, pushCommand, TENANT } from '../testing/engine.fake.js';
import { SeededRandom } from '../testing/random.fake.js';
import { type Copy, RequestGroup } from '../testing/request-group.fake.js';
import { positionOf, transactionCommand } from '../testing/transaction.fake.js';

const SEEDS = 50;
const STEPS = 260;
const WINDOW_MS = 60_000;
/** Its sender gives a request up after this time; the window is longer. */
const GIVE_UP_MS = 40_000;

interface Given {
  readonly term: number;
  readonly outcome: Outcome;
}

interface Call {
  readonly sequence: number;
  readonly text: string;
  readonly command: (isOver: boolean) => Command;
  readonly given: Given[];
  untilMs: number;
  answer: Outcome | null;
  gaveUp: boolean;
  settled: boolean;
}

interface NetworkCopy {
  readonly call: Call;
  readonly origin: RequestOrigin;
  readonly term: number;
  readonly command: Command;
}

class Sender {
  readonly calls: Call[] = [];
  readonly session: RequestOrigin['session'];
  #untold: number[] = [];

  constructor(number: number) {
    this.session = newRequestSession(number, 3, number);
  }

  settle(call: Call): void {
    call.settled = true;
    this.#untold.push(call.sequence);
  }

  /** The id of a call, with what is settled; some of it may be told once and lost. */
  origin(call: Call, random: SeededRandom): RequestOrigin {
    const settledBelow = this.calls.find((one) => !one.settled)?.sequence ?? call.sequence;
    const settled = this.#untold.filter((one) => one !== call.sequence);
    if (random.below(3) > 0) this.#untold = this.#untold.filter((one) => one === call.sequence);
    const { session } = this;
    const { sequence } = call;
    return { session, sequence, settledBelow: Math.min(settledBelow, sequence), settled };
  }
}

class Run {
  readonly group = new RequestGroup(WINDOW_MS);
  readonly random: SeededRandom;
  readonly senders = [1, 2, 3].map((number) => new Sender(number));
  network: NetworkCopy[] = [];
  #elapsedMs = 0;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
  }

  step(): void {
    const { group, random } = this;
    const dice = random.below(100);
    if (dice < 18) this.#newCall();
    else if (dice < 34) this.#repeat();
    else if (dice < 62) this.deliver();
    else if (dice < 76) group.turn();
    else if (dice < 90) group.apply();
    else if (dice < 93) this.elect();
    else if (dice < 96) this.#settle();
    else this.#advance();
  }

  /** Everything that is wanted gets through in the end. */
  heal(): void {
    for (let rounds = 0; rounds < 50; rounds++) {
      const open = this.#open();
      if (open.length === 0) break;
      for (const [sender, call] of open) this.#send(sender, call);
      while (this.network.length > 0) this.deliver(false, false);
      this.group.settleDown();
      // Polls that wait end.
      this.group.advance(6000);
      this.group.turn();
      this.group.settleDown();
    }
    expect(this.#open().map(([, call]) => call.text)).toEqual([]);
  }

  elect(): void {
    this.group.elect(this.random.below(this.group.inFlight + 1));
  }

  /** One copy arrives, and may come again; its answer may be lost. */
  deliver(mayStay = true, mayLose = true): void {
    const { group, random } = this;
    const at = random.below(this.network.length);
    const copy = this.network[at];
    if (copy === undefined) return;
    if (!mayStay || random.below(2) === 0) this.network.splice(at, 1);
    if (copy.term !== group.term) return;
    const { call, origin, term } = copy;
    const isLost = mayLose && random.below(4) === 0;
    const made: Copy = group.send(copy.command, origin, (outcome) => {
      if (isSettled(outcome)) return;
      call.given.push({ term, outcome });
      if (!isLost && !call.gaveUp) call.answer ??= outcome;
    });
    if (mayLose && random.below(30) === 0) group.planner.withdraw(made);
  }

  #newCall(): void {
    const { random } = this;
    const sender = this.senders[random.below(this.senders.length)] as Sender;
    const sequence = sender.calls.length + 1;
    const text = `${this.senders.indexOf(sender)}.${sequence}`;
    const command = this.#newCommand(text);
    const untilMs = this.#elapsedMs + GIVE_UP_MS;
    const fate = { untilMs, answer: null, gaveUp: false, settled: false };
    const call: Call = { sequence, text, command, given: [], ...fate };
    sender.calls.push(call);
    this.#send(sender, call);
  }

  #newCommand(text: string): (isOver: boolean) => Command {
    const dice = this.random.below(9);
    if (dice === 8) return () => INCR;
    if (dice < 3) return pushOf(text);
    if (dice === 3) return transactionOf(text, false);
    if (dice === 4) return transactionOf(text, true);
    return popOf(this.group, dice === 5);
  }

  #open(): [Sender, Call][] {
    return this.senders.flatMap((sender) =>
      sender.calls
        .filter((call) => call.answer === null && !call.gaveUp)
        .map((call): [Sender, Call] => [sender, call]),
    );
  }

  #repeat(): void {
    const open = this.#open();
    const [sender, call] = open[this.random.below(open.length)] ?? [];
    if (sender !== undefined && call !== undefined) this.#send(sender, call);
  }

  #send(sender: Sender, call: Call): void {
    const origin = sender.origin(call, this.random);
    // Now and then a pop's sender only wants to know what became of it.
    const command = call.command(this.random.below(10) === 0);
    this.network.push({ call, origin, term: this.group.term, command });
  }

  #settle(): void {
    for (const sender of this.senders) {
      for (const call of sender.calls) {
        if (call.answer !== null && !call.settled && this.random.below(2) === 0)
          sender.settle(call);
      }
    }
  }

  #advance(): void {
    const ms = [10, 1000, 25_000][this.random.below(3)] ?? 0;
    this.#elapsedMs += ms;
    this.group.advance(ms);
    for (const [sender, call] of this.#open()) {
      if (call.untilMs > this.#elapsedMs) continue;
      call.gaveUp = true;
      sender.settle(call);
    }
  }
}

function pushOf(text: string): () => Command {
  return () => pushCommand('q', 'p', [text], false);
}

/** One that fails names a queue that there never is. */
function transactionOf(text: string, fails: boolean): () => Command {
  const positions = fails ? [positionOf('missing', 'p', 0)] : [];
  const command = transactionCommand({ pushes: [['q', 'p', null]], positions });
  const push = pushCommand('q', 'p', [text], false);
  return () => (push.kind === 'push' ? { ...command, pushes: push } : command);
}

/** Counts up, and reads what it has made of the counter. */
const INCR: KvCall = {
  kind: 'kv',
  tenant: TENANT,
  ops: [
    {
      op: 'incr',
      namespace: 'n',
      key: 'k',
      delta: '1',
      min: null,
      max: null,
      ttlSeconds: null,
      required: false,
    },
    { op: 'getMany', namespace: 'n', keys: ['k'] },
  ],
};

function countOf(outcome: Outcome): number | null {
  if (outcome.kind !== 'kv') return null;
  const [counted, read] = outcome.results;
  const value = counted?.kind === 'judged' ? counted.value : null;
  expect(read).toMatchObject({ kind: 'many', rows: [{ value }] });
  return value === null ? 0 : Number(kvText(value));
}

function popOf(group: RequestGroup, wait: boolean): (isOver: boolean) => Command {
  const options = { batch: 2, autoAck: true, wait, leaseSeconds: null, timeoutMs: 5000 };
  return (isOver) => {
    const command = popCommand(group.nowMs, options);
    return isOver ? { ...command, deadlineMs: DEADLINE_OVER } : command;
  };
}

function isSettled(outcome: Outcome): boolean {
  return outcome.kind === 'refused';
}

function offsetsOf(outcome: Outcome): number[] {
  if (outcome.kind !== 'popped') return [];
  return outcome.claims.flatMap(({ slices }) =>
    slices.flatMap(({ first, last }) =>
      Array.from({ length: last - first + 1 }, (_, i) => first + i),
    ),
  );
}

function rollbackOf(outcome: Outcome): Rollback | null {
  return outcome.kind === 'transacted' ? outcome.rollback : null;
}

function stores(outcome: Outcome): boolean {
  return outcome.kind === 'pushed' || (outcome.kind === 'transacted' && outcome.pushed !== null);
}

function hasEffects(outcome: Outcome): boolean {
  return stores(outcome) || offsetsOf(outcome).length > 0 || outcome.kind === 'kv';
}

/** One outcome in each term, and one for good once it has had effects. */
function checkOutcomes(where: readonly unknown[], given: readonly Given[]): void {
  for (let i = 1; i < given.length; i++) {
    const [before, now] = [given[i - 1] as Given, given[i] as Given];
    if (before.term !== now.term && !hasEffects(before.outcome)) continue;
    expect([...where, now.outcome]).toEqual([...where, before.outcome]);
  }
}

function check(seed: number, run: Run): void {
  const calls = run.senders.flatMap((sender) => sender.calls);
  const stored = run.group.stored();
  const taken = new Map<number, string>();
  const counted = new Map<number, string>();
  for (const call of calls) {
    const where = [seed, call.text];
    checkOutcomes(where, call.given);
    const copies = stored.filter((text) => text === call.text).length;
    const wasPushed = call.given.some(({ outcome }) => stores(outcome));
    const wasRolledBack = call.given.some(({ outcome }) => rollbackOf(outcome) !== null);
    const isRight = copies <= (wasRolledBack ? 0 : 1) && (!wasPushed || copies === 1);
    expect([...where, isRight]).toEqual([...where, true]);
    const counts = new Set(call.given.map(({ outcome }) => countOf(outcome)));
    for (const count of counts) {
      if (count === null) continue;
      expect([...where, counted.get(count)]).toEqual([...where, undefined]);
      counted.set(count, call.text);
    }
    const offsets = new Set(call.given.flatMap(({ outcome }) => offsetsOf(outcome)));
    for (const offset of offsets) {
      expect([...where, taken.get(offset)]).toEqual([...where, undefined]);
      taken.set(offset, call.text);
    }
  }
  // Numbers that nobody was told of are of calls that were given up.
  const lostCounts = calls.filter((call) => call.gaveUp && call.command(false) === INCR).length;
  const counter = run.group.planner.state.get(kvRows, kvKey(TENANT, 'n', 'k'));
  const total = counter === undefined ? 0 : Number(kvText(counter.value));
  const untold = total - counted.size;
  expect([seed, untold >= 0 && untold <= lostCounts]).toEqual([seed, true]);
  // What no pop was given was taken by one that was given up, two at most by each.
  const lost = calls.filter((call) => call.gaveUp && call.command(false).kind === 'pop').length;
  const last = Math.max(-1, ...taken.keys());
  expect([seed, last + 1 - taken.size <= lost * 2]).toEqual([seed, true]);
}

test('random runs give each id one effect and one outcome', () => {
  const seen = {
    counted: 0,
    pushed: 0,
    popped: 0,
    committed: 0,
    rolledBack: 0,
    repeated: 0,
    terms: 0,
  };
  for (let seed = 0; seed < SEEDS; seed++) {
    const run = new Run(seed);
    for (let step = 0; step < STEPS; step++) run.step();
    run.heal();
    run.elect();
    run.heal();
    check(seed, run);
    seen.terms += run.group.term;
    for (const call of run.senders.flatMap((sender) => sender.calls)) {
      if (call.answer?.kind === 'pushed') seen.pushed++;
      else if (call.answer !== null && stores(call.answer)) seen.committed++;
      if (call.answer !== null && rollbackOf(call.answer) !== null) seen.rolledBack++;
      if (call.answer !== null && offsetsOf(call.answer).length > 0) seen.popped++;
      if (call.answer?.kind === 'kv') seen.counted++;
      if (call.given.length > 1) seen.repeated++;
    }
  }
  // The runs are about something.
  expect(seen.pushed).toBeGreaterThan(SEEDS * 6);
  expect(seen.counted).toBeGreaterThan(SEEDS * 2);
  expect(seen.committed).toBeGreaterThan(SEEDS * 2);
  expect(seen.rolledBack).toBeGreaterThan(SEEDS * 2);
  expect(seen.popped).toBeGreaterThan(SEEDS * 3);
  expect(seen.repeated).toBeGreaterThan(SEEDS * 3);
  expect(seen.terms).toBeGreaterThan(SEEDS * 5);
});
