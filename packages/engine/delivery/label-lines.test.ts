// Goal: pops that wait by labels stand once in a line, however many queues have the labels: what a
// new queue costs does not grow with those who wait, what it costs for many groups is spread over
// turns, and the oldest is served first, whatever it waits by. Method: the planner turn by turn;
// what is counted is places in lines and units of work.
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { PopCommand, PushCommand } from '../base/commands/commands.js';
import { groups } from '../base/tables.js';
import { Fifo } from '../base/waiters-fifo.js';
import { LOOKS_PER_UNIT, PRICES, TURN_UNITS } from '../base/work-prices.js';
import { EngineRig, pushCommand, type Request, TENANT } from '../testing/engine.fake.js';
import { SeededRandom } from '../testing/random.fake.js';
import { WAITERS_UNITS_MIN } from './waiters-room.js';

let rig: EngineRig;

beforeEach(() => {
  rig = new EngineRig();
});

/** One command that makes so many queues of the namespace, each with a message. */
function pushToNew(count: number, from: number): PushCommand {
  const one = pushCommand('q', 'p', ['x'], false) as PushCommand;
  const all = Array.from({ length: count }, (_, i) => i);
  return {
    ...one,
    groups: all.map((i) => ({ queue: `n.${from + i}`, partition: 'p' })),
    itemGroup: all,
    transactionIds: all.map(() => null),
    payloadStart: all.map(() => one.payloadStart[0] ?? 0),
    payloadEnd: all.map(() => one.payloadEnd[0] ?? 0),
  };
}

const byLabels = (consumerGroup = 'g') =>
  rig.popCommand({ namespace: 'n', wait: true, consumerGroup, batch: 1, autoAck: true });
const texts = ({ outcome }: Request) => (outcome === null ? null : rig.texts(outcome));
const isDone = ({ outcome }: Request) => outcome !== null;

/** Turns until nothing is to be done at this moment; the most units that one of them took. */
function drain(): number {
  let most = 0;
  while ((rig.planner.nextDueMs() ?? Number.POSITIVE_INFINITY) <= rig.nowMs) {
    rig.turn();
    most = Math.max(most, rig.units);
  }
  return most;
}

/** How often something takes its place in a line while `run` runs. */
function placesTaken(run: () => void): number {
  const push = vi.spyOn(Fifo.prototype, 'push');
  try {
    run();
    return push.mock.calls.length;
  } finally {
    push.mockRestore();
  }
}

describe('places', () => {
  const WAITERS = 300;
  const QUEUES = 40;

  test('a waiter has one, and a new queue none', () => {
    rig.call(pushToNew(QUEUES, 0));
    rig.pop({ namespace: 'n', partitions: QUEUES, autoAck: true });
    drain();
    const waiters: Request[] = [];
    const parked = placesTaken(() => {
      for (let i = 0; i < WAITERS; i++) waiters.push(rig.send(byLabels()));
      rig.turnAll();
    });
    expect(waiters.some(isDone)).toBe(false);
    expect(parked).toBe(WAITERS);
    // Beside those who wait, partitions that become ready stand in lines.
    const joined = placesTaken(() => {
      rig.call(pushToNew(QUEUES, QUEUES));
      drain();
    });
    expect(joined).toBe(QUEUES);
    expect(waiters.map(isDone)).toEqual(waiters.map((_, i) => i < QUEUES));
  });

  test('many groups that wait are registered at new queues in several turns', () => {
    const waiters = Array.from({ length: WAITERS }, (_, i) => rig.send(byLabels(`g${i}`)));
    rig.turnAll();
    rig.call(pushToNew(QUEUES, 0));
    const most = Math.max(rig.units, drain());
    // What joins has room in any case, and so have those that are served.
    const last = PRICES.newGroup + PRICES.pop + PRICES.claim;
    expect(most).toBeLessThan(TURN_UNITS + WAITERS_UNITS_MIN + last);
    expect(rig.rows(groups)).toHaveLength(WAITERS * QUEUES);
    expect(waiters.every(isDone)).toBe(true);
  });

  test('pops that are tried count the queues of their line', () => {
    const queueCount = 10 * LOOKS_PER_UNIT;
    rig.call(pushToNew(queueCount, 0));
    rig.pop({ namespace: 'n', batch: 1000, partitions: queueCount, autoAck: true });
    drain();
    const waiters = Array.from({ length: 10 }, () => rig.send(byLabels()));
    rig.turnAll();
    rig.advance(30_000);
    rig.turn();
    expect(waiters.every(isDone)).toBe(true);
    expect(rig.units).toBe(waiters.length * (PRICES.pop + 10));
  });

  test('a queue that is gone or has other labels before all have joined is joined no more', () => {
    const waiters = Array.from({ length: 2000 }, (_, i) => rig.send(byLabels(`g${i}`)));
    rig.turnAll();
    rig.configure('a', { namespace: 'n' });
    rig.configure('b', { namespace: 'n' });
    rig.configure('a', { namespace: 'other' });
    rig.call({ kind: 'delete-queue', tenant: TENANT, queue: 'b' });
    drain();
    expect(rig.rows(groups).length).toBeLessThan(2000);
    rig.push('a', 'p', ['x']);
    drain();
    expect(waiters.some(isDone)).toBe(false);
  });
});

describe('order', () => {
  test('is that of arrival, whatever they wait by', () => {
    rig.configure('a', { namespace: 'n', task: 't' });
    const wait = [{ namespace: 'n' }, { queue: 'a' }, { task: 't' }, { namespace: 'n' }];
    const all = [...wait, ...wait];
    const waiters = all.map((options) => rig.wait({ ...options, batch: 1, autoAck: true }));
    for (let i = 0; i < all.length; i++) {
      rig.push('a', 'p', [`m${i}`]);
      expect(waiters.map(isDone)).toEqual(waiters.map((_, at) => at <= i));
      expect(texts(waiters[i] as Request)).toEqual([`m${i}`]);
    }
  });

  test('is that of arrival at a queue that comes to match too', () => {
    const older = [0, 1].map(() => rig.wait({ namespace: 'n', batch: 1 }));
    const younger = rig.wait({ queue: 'a', batch: 1 });
    rig.configure('a', { namespace: 'n' });
    for (const partition of ['p0', 'p1', 'p2']) rig.push('a', partition, [partition]);
    expect([...older, younger].map(texts)).toEqual([['p0'], ['p1'], ['p2']]);
  });

  test('a new pop does not overtake who waits by the same labels, at queues not joined yet', () => {
    // More than join the first queue in one turn.
    const groupCount = 900;
    const older = Array.from({ length: groupCount }, (_, i) => rig.send(byLabels(`g${i}`)));
    rig.turnAll();
    rig.call(pushToNew(2, 0));
    const at = older.findLastIndex((request) => !isDone(request));
    expect(at).toBe(groupCount - 1);
    const younger = rig.call(byLabels(`g${at}`));
    drain();
    const queuesOf = [older[at], younger].map((request) => {
      const outcome = request?.outcome;
      return outcome?.kind === 'popped' ? outcome.claims.map(({ queue }) => queue) : null;
    });
    expect(queuesOf).toEqual([['n.0'], ['n.1']]);
  });

  test('who leaves lets the others of its line go on', () => {
    const waiters = [0, 1, 2].map(() => rig.wait({ namespace: 'n', batch: 1, autoAck: true }));
    rig.planner.withdraw(waiters[0] as Request);
    rig.configure('a', { namespace: 'n' });
    rig.push('a', 'p', ['x']);
    expect(waiters.map(isDone)).toEqual([false, true, false]);
    rig.planner.withdraw(waiters[2] as Request);
    expect(rig.planner.parked).toBe(0);
    rig.push('a', 'p', ['y']);
    expect(texts(rig.wait({ namespace: 'n' }))).toEqual(['y']);
  });

  test('a group that is deleted answers its line once, and the next pop begins a new one', () => {
    for (const queue of ['a', 'b']) rig.configure(queue, { namespace: 'n' });
    const waiters = [0, 1].map(() => rig.wait({ namespace: 'n' }));
    const deletion = {
      kind: 'delete-group',
      tenant: TENANT,
      changeId: '00000000-0000-4000-8000-000000000001',
      consumerGroup: 'g',
      queue: 'a',
      deleteMetadata: true,
    } as const;
    rig.send(deletion);
    rig.turn();
    drain();
    expect(waiters.map(texts)).toEqual([[], []]);
    const next = rig.wait({ namespace: 'n' });
    rig.push('b', 'p', ['x']);
    expect(texts(next)).toEqual(['x']);
  });
});

/** Random pops by labels and by queue, queues that come, go and change labels; no pop gathers. */
class Crowd {
  readonly rig = new EngineRig();
  readonly #random: SeededRandom;
  readonly #waiting: { pop: PopCommand; request: Request }[] = [];
  /** Messages of each queue, and which groups have which. */
  readonly #queues = new Map<string, { labels: [string, string]; pushed: number }>();
  readonly #taken = new Map<string, number>();
  #made = 0;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
  }

  step(): void {
    const dice = this.#random.below(100);
    const queue = `q${this.#random.below(6)}`;
    if (dice < 45) this.#wait(queue);
    else if (dice < 65) this.#push(queue);
    else if (dice < 75) this.#label(queue);
    else if (dice < 80) this.#delete(queue);
    else if (dice < 85) this.#withdraw();
    else if (dice < 90) this.#pushMany();
    else if (dice < 97) this.rig.turn();
    else this.#drain();
  }

  finish(): void {
    this.#drain();
    for (const { request } of this.#waiting.splice(0)) {
      expect(this.rig.planner.withdraw(request)).toBe(true);
    }
    expect(this.rig.planner.parked).toBe(0);
  }

  #label(queue: string): void {
    const labels: [string, string] = [`n${this.#random.below(2)}`, `t${this.#random.below(2)}`];
    this.rig.configure(queue, { namespace: labels[0], task: labels[1] });
    this.#queues.set(queue, { labels, pushed: this.#queues.get(queue)?.pushed ?? 0 });
    this.#drain();
  }

  #push(queue: string): void {
    if (!this.#queues.has(queue)) this.#label(queue);
    const known = this.#queues.get(queue);
    if (known === undefined) return;
    known.pushed++;
    this.rig.send(pushCommand(queue, `p${this.#random.below(4)}`, ['x'], false));
  }

  /** More new queues than the groups that wait can join in one turn. */
  #pushMany(): void {
    const command = pushToNew(40, this.#made);
    this.#made += 40;
    this.rig.send(command);
    for (const { queue } of command.groups) {
      this.#queues.set(queue, { labels: ['n', queue.slice(2)], pushed: 1 });
    }
  }

  #wait(queue: string): void {
    const namespaces = ['n', 'n0', 'n1', undefined];
    const namespace = namespaces[this.#random.below(4)];
    const task = this.#random.below(2) === 0 ? `t${this.#random.below(2)}` : undefined;
    const isNamed = namespace === undefined && task === undefined;
    const scope = isNamed ? { queue } : { namespace: namespace ?? '', task: task ?? '' };
    if (isNamed && !this.#queues.has(queue)) return;
    const consumerGroup = `g${this.#random.below(20)}`;
    const options = { ...scope, consumerGroup, batch: 1, autoAck: true, wait: true };
    const pop = this.rig.popCommand({ ...options, timeoutMs: 1e9 });
    this.#waiting.push({ pop, request: this.rig.send(pop) });
  }

  #withdraw(): void {
    this.rig.turn();
    this.#settle();
    const at = this.#random.below(this.#waiting.length + 1);
    const one = this.#waiting[at];
    if (one === undefined || !this.rig.planner.withdraw(one.request)) return;
    this.#waiting.splice(at, 1);
  }

  #delete(queue: string): void {
    if (!this.#queues.has(queue)) return;
    this.#drain();
    this.rig.call({ kind: 'delete-queue', tenant: TENANT, queue });
    this.#queues.delete(queue);
    for (let group = 0; group < 20; group++) this.#taken.delete(`g${group} ${queue}`);
    this.#drain();
  }

  #drain(): void {
    while (this.rig.planner.busy || this.rig.planner.nextDueMs() === 0) this.rig.turn();
    this.#settle();
    for (const { pop } of this.#waiting) {
      for (const [name, { labels, pushed }] of this.#queues) {
        if (!isFor(pop, name, labels)) continue;
        const taken = this.#taken.get(`${pop.consumerGroup} ${name}`) ?? 0;
        expect(pushed - taken, `left for ${pop.consumerGroup} in ${name}`).toBe(0);
      }
    }
  }

  /** Older pops are served first among those that wait for the same. */
  #settle(): void {
    const left = this.#waiting.splice(0);
    const lines = new Set<string>();
    for (const one of left) {
      const { pop, request } = one;
      const line = JSON.stringify([pop.consumerGroup, pop.scope]);
      if (request.outcome === null) {
        lines.add(line);
        this.#waiting.push(one);
        continue;
      }
      const { outcome } = request;
      if (outcome.kind !== 'popped') throw new Error(`a pop was answered ${outcome.kind}`);
      for (const { queue } of outcome.claims) {
        expect(lines.has(line), `${line} was overtaken`).toBe(false);
        const key = `${pop.consumerGroup} ${queue}`;
        this.#taken.set(key, (this.#taken.get(key) ?? 0) + 1);
      }
    }
  }
}

function isFor({ scope }: PopCommand, queue: string, [namespace, task]: [string, string]): boolean {
  if (scope.kind !== 'discovery') return scope.queue === queue;
  const isNamespace = (scope.namespace ?? '') === '' || scope.namespace === namespace;
  return isNamespace && ((scope.task ?? '') === '' || scope.task === task);
}

test('random pops and queues: nobody waits for what is there, and nobody is overtaken', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const crowd = new Crowd(seed);
    for (let step = 0; step < 150; step++) crowd.step();
    crowd.finish();
  }
});
