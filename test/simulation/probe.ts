/**
 * What a cluster at rest owes its clients within a moment, whichever machine they ask: a pop that
 * waits is served as soon as a message comes, wherever that message came in; and what a client that
 * has gone had claimed is given back at once, attempt included, not when its lease ends.
 *
 * It is asked for at the end of a run, when no fault is left: what came before has had every chance
 * to confuse who waits where.
 */
import type { DeliveredOutcome, SubmittedOutcome } from '@svc/http';
import type { SeededRandom } from '../seeded-random.js';
import { pushCommand, TENANT } from './client-messages.js';
import type { Cluster } from './cluster.js';
import { DirectReply } from './direct-reply.js';
import type { SimulatedLoop } from './simulated-loop.js';
import { Violation } from './violation.js';

/** A moment: several times what a forwarded request takes on the slowest simulated network. */
const SOON_MS = 1500;
/** Longer than a probe, so that nothing but a push, or a claim given back, can end a wait. */
const WAIT_MS = 10 * SOON_MS;
const PARKED_MS = 100;
const GONE_WITHIN_MS = 12;

type Popped = DeliveredOutcome | { readonly kind: 'refused' };

export class Probe {
  readonly #cluster: Cluster;
  readonly #loop: SimulatedLoop;
  readonly #random: SeededRandom;
  #round = 0;
  /** Runs the simulation until the condition holds; false when that took longer. */
  readonly #until: (done: () => boolean, withinMs: number) => boolean;

  constructor(
    cluster: Cluster,
    loop: SimulatedLoop,
    random: SeededRandom,
    until: (done: () => boolean, withinMs: number) => boolean,
  ) {
    this.#cluster = cluster;
    this.#loop = loop;
    this.#random = random;
    this.#until = until;
  }

  /**
   * False: a process ended meanwhile, of a failure that was laid for its disk before, so that
   * nothing was learnt.
   */
  run(): boolean {
    this.#round++;
    const starts = this.#cluster.starts;
    try {
      this.#ask();
    } catch (error) {
      if (error instanceof Violation && this.#cluster.starts > starts) return false;
      throw error;
    }
    return true;
  }

  #ask(): void {
    const machines = this.#cluster.voters;
    const parked = machines.map((machine) => {
      return { machine, reply: this.#pop(machine, `awake-${machine}`) };
    });
    this.#until(() => false, PARKED_MS);
    this.#push(this.#random.pick(machines));
    for (const { machine, reply } of parked) {
      if (this.#until(() => reply.answer !== null, SOON_MS) && received(reply.answer)) continue;
      throw new Violation('asleep', `a pop that waits on machine ${machine} was not woken`);
    }
    for (const machine of machines) this.#giveBack(machine, this.#random.pick(machines));
  }

  #giveBack(machine: number, other: number): void {
    const group = `gone-${machine}`;
    const left = this.#pop(machine, group);
    this.#until(() => left.answer !== null, this.#random.next() * GONE_WITHIN_MS);
    // It was served sooner than it could go: the claim is its own.
    if (left.answer !== null) return;
    left.leave();
    const next = this.#pop(other, group);
    this.#until(() => next.answer !== null, SOON_MS);
    const attempt = received(next.answer);
    if (attempt === 1) return;
    throw new Violation(
      'not_given_back',
      `machine ${machine}: what a client that has gone had claimed comes to the next one ` +
        `${attempt === 0 ? 'too late' : `as attempt ${attempt}`}`,
    );
  }

  #pop(machine: number, consumerGroup: string): DirectReply<Popped> {
    const reply = new DirectReply<Popped>();
    const target = this.#cluster.machine(machine);
    target.enter(() => {
      const { broker } = target;
      const deadlineMs = (broker?.monotonicMs() ?? 0) + WAIT_MS;
      const scope = { kind: 'partition', queue: this.#queue, partition: '0' } as const;
      const wants = { batch: 1, partitions: 1, autoAck: false, wait: true, leaseSeconds: 60 };
      const subscription = { mode: 'all' } as const;
      const ordinary = { subscription, conflation: null, autopilot: null } as const;
      const common = { kind: 'pop', tenant: TENANT, scope, consumerGroup, ...ordinary } as const;
      broker?.pop({ ...common, ...wants, deadlineMs }, reply);
    });
    return reply;
  }

  /** What an earlier round left behind must not be met. */
  get #queue(): string {
    return `probe.${this.#round}`;
  }

  #push(machine: number): void {
    const reply = new DirectReply<SubmittedOutcome>();
    const message = { value: 'probe', partition: '0', transactionId: null, payload: '{}' };
    const target = this.#cluster.machine(machine);
    target.enter(() => target.broker?.submit(pushCommand(this.#queue, [message]), reply));
    if (this.#until(() => reply.answer !== null, SOON_MS) && reply.answer?.kind === 'pushed')
      return;
    throw new Violation(
      'unserved',
      `machine ${machine} answered a push at rest with ${reply.answer?.kind ?? 'nothing'} ` +
        `by ${this.#loop.nowMs.toFixed(0)}`,
    );
  }
}

/** The attempt of the first claim; 0 when nothing was received. */
function received(answer: Popped | null): number {
  if (answer === null || answer.kind === 'refused') return 0;
  return answer.claims[0]?.deliveryAttempt ?? 0;
}
