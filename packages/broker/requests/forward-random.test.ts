/**
 * Goal: a request that any node took is done at most once, and exactly once when its client was
 * told so, over partitions, lost, repeated and overtaking frames, crashes and changes of leaders.
 *
 * Method: random runs of three whole nodes. Clients push texts without transaction ids, so that
 * what is done twice is stored twice, and take messages with automatic acks, so that a pop that is
 * done twice consumes for nobody. In the end the network heals, everybody has an answer, and what
 * is stored and what was delivered is compared with the answers.
 */
import type { RefusedOutcome } from '@svc/engine';
import type { DeliveredOutcome, SubmittedOutcome } from '@svc/http';
import { expect, test } from 'vitest';
import { FakeGroup, type FakeMachine } from '../testing/group.fake.js';
import { Answers, popOf, textsOf } from '../testing/group-clients.fake.js';
import { seededRandom } from '../testing/recovery.fake.js';

const SEEDS = 12;
const STEPS = 160;
/** Refusals that say "not done". */
const NOT_DONE = ['no_leader', 'overloaded', 'storage_full'];

interface Push {
  readonly text: string;
  readonly answers: Answers<SubmittedOutcome>;
  /** Its node went down with it. */
  lost: boolean;
}

interface Pop {
  readonly answers: Answers<DeliveredOutcome | RefusedOutcome>;
  lost: boolean;
}

class Run {
  readonly group: FakeGroup;
  readonly pushes: Push[] = [];
  readonly pops: Pop[] = [];
  readonly #random: ReturnType<typeof seededRandom>;
  readonly #owner = new Map<Push | Pop, FakeMachine>();

  constructor(seed: number) {
    this.group = new FakeGroup({ founders: 3, seed });
    this.#random = seededRandom(seed);
    this.#makeUnruly();
    this.group.leader();
  }

  /** Frames of calls come late, twice, or not at all. */
  #makeUnruly(): void {
    const { group } = this;
    const random = this.#random;
    const deliver = group.deliver.bind(group);
    group.deliver = (from, to, channel, frame) => {
      const isCall = channel === 'calls' || channel === 'answers';
      if (isCall && random.below(25) === 0) return;
      deliver(from, to, channel, frame);
      if (isCall && random.below(6) === 0) {
        const lateMs = random.below(random.below(2) === 0 ? 30 : 4000);
        group.after(lateMs, () => deliver(from, to, channel, frame));
      }
    };
  }

  step(): void {
    const { group } = this;
    const dice = this.#random.below(100);
    if (dice < 45) this.#push();
    else if (dice < 65) this.#pop();
    else if (dice < 90) group.run(this.#random.below(250));
    else if (dice < 94) this.#cut();
    else if (dice < 97) this.#crash();
    else this.#transfer();
  }

  heal(): void {
    const { group } = this;
    group.heal();
    for (const machine of group.machines.values()) if (machine.node === null) machine.start();
    const open = () =>
      [...this.pushes, ...this.pops].filter(({ answers, lost }) => !lost && !answers.all.length);
    group.until('an answer to everybody', () => open().length === 0, 90_000);
    group.converge();
  }

  #push(): void {
    const machine = this.#machine();
    if (machine === null) return;
    const text = `t${this.pushes.length}`;
    const push: Push = { text, answers: machine.send('q', text), lost: false };
    this.pushes.push(push);
    this.#owner.set(push, machine);
  }

  #pop(): void {
    const machine = this.#machine();
    if (machine === null) return;
    const pop = { answers: take(machine, this.#random.below(2) * 300), lost: false };
    this.pops.push(pop);
    this.#owner.set(pop, machine);
  }

  #machine(): FakeMachine | null {
    const machine = this.group.machine(1 + this.#random.below(3));
    return machine.node === null ? null : machine;
  }

  /** Apart for a moment, in one direction or in both. */
  #cut(): void {
    const { group } = this;
    const inside = 1 + this.#random.below(3);
    const isOneWay = this.#random.below(3) === 0;
    group.lost = (from, to) => (isOneWay ? from === inside : (from === inside) !== (to === inside));
    group.after(50 + this.#random.below(900), () => group.heal());
  }

  #crash(): void {
    const machine = this.#machine();
    if (machine === null) return;
    machine.crash('process');
    for (const [one, owner] of this.#owner) {
      if (owner === machine && one.answers.all.length === 0) one.lost = true;
    }
    this.group.after(50 + this.#random.below(500), () => {
      if (machine.node === null) machine.start();
    });
  }

  #transfer(): void {
    const leader = this.group.leaders[0];
    const target = this.#machine();
    if (leader === undefined || target === null || leader === target) return;
    const member = target.node?.member;
    if (member !== undefined) leader.transfer(member);
  }
}

function take(machine: FakeMachine, waitMs: number): Pop['answers'] {
  const answers = new Answers<DeliveredOutcome | RefusedOutcome>();
  machine.inProcess(({ broker }) => {
    const deadlineMs = broker.monotonicMs() + (waitMs > 0 ? waitMs : 5000);
    broker.pop({ ...popOf('q', waitMs, deadlineMs), autoAck: true }, answers);
  });
  return answers;
}

function texts(answers: readonly (DeliveredOutcome | RefusedOutcome)[]): string[] {
  return answers.flatMap((one) => (one.kind === 'delivered' ? textsOf(one) : []));
}

/** Everything that is stored, as the leader has it. */
function stored(group: FakeGroup): string[] {
  const found: string[] = [];
  for (;;) {
    const answers = group.leader().fetch('q', 'p', found.length);
    group.until('a fetch', () => answers.all.length > 0);
    const [entry] = answers.one.kind === 'fetched' ? answers.one.entries : [];
    const before = found.length;
    for (const batch of entry?.batches ?? []) {
      for (let i = batch.first; i <= batch.last; i++) {
        const payload = batch.bytes.subarray(batch.payloadStart[i], batch.payloadEnd[i]);
        found.push(JSON.parse(new TextDecoder().decode(payload)) as string);
      }
    }
    if (found.length === before) return found;
  }
}

function check(seed: number, run: Run): void {
  const all = stored(run.group);
  for (const { text, answers } of run.pushes) {
    const copies = all.filter((one) => one === text).length;
    const [answer] = answers.all;
    const where = [seed, text, answer];
    expect([...where, answers.all.length <= 1]).toEqual([...where, true]);
    if (answer?.kind === 'pushed') expect([...where, copies]).toEqual([...where, 1]);
    const isDenied = answer?.kind === 'refused' && NOT_DONE.includes(answer.refusal.reason);
    if (isDenied) expect([...where, copies]).toEqual([...where, 0]);
    else expect([...where, copies <= 1]).toEqual([...where, true]);
  }
  const delivered = run.pops.flatMap(({ answers }) => texts(answers.all));
  const twice = delivered.filter((text, i) => delivered.indexOf(text) !== i);
  expect([seed, twice]).toEqual([seed, []]);
  // The messages that are left, and those that went to pops that were not told of it.
  const left: string[] = [];
  for (;;) {
    const answers = take(run.group.leader(), 0);
    run.group.until('the rest', () => answers.all.length > 0);
    const found = texts(answers.all);
    if (found.length === 0) break;
    left.push(...found);
  }
  const seen = new Set([...delivered, ...left]);
  expect([seed, seen.size]).toEqual([seed, delivered.length + left.length]);
  const untold = run.pops.filter(({ answers, lost }) => lost || answers.all[0]?.kind === 'refused');
  const missing = all.filter((text) => !seen.has(text));
  expect([seed, missing.length <= untold.length, missing, untold.length]).toEqual([
    seed,
    true,
    missing,
    untold.length,
  ]);
}

test.each(Array.from({ length: SEEDS }, (_, i) => i + 1))('seed %i', (seed) => {
  const run = new Run(seed);
  for (let step = 0; step < STEPS; step++) run.step();
  run.heal();
  check(seed, run);
  const done = run.pushes.filter(({ answers }) => answers.all[0]?.kind === 'pushed').length;
  expect([seed, done > run.pushes.length / 4]).toEqual([seed, true]);
});
