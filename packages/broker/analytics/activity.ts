/**
 * Counts what clients of this node did, as their answers leave: for the node, and for each queue.
 *
 * The job: it stands on the path of every push, pop and ack. A request costs a look-up by the name
 * of its queue or the number of its partition and a few additions; a message of a batch costs a
 * comparison. Nothing is counted where it would be counted twice: not at the leader for another
 * node, not for what was refused.
 *
 * Figures of a queue are kept under its name and belong to the queue of that name that exists now:
 * a name that stands for none is counted for the node alone, and when a queue is deleted its
 * figures of the open bucket go with it, so that the next queue of the name begins with nothing.
 *
 * Entries that are applied, on every node, are counted too (`AppliedEvents`): partitions that come
 * and go, and what retention removes. An entry counts in the bucket that is open when it is
 * applied, since its stamp is of the leader's clock and a round of the cluster old: a bucket may
 * have begun in between. Entries are applied again after a restart and late after an outage, so
 * one that is older than the process, or than `LATE_US` before the open bucket, counts for nothing.
 */
import {
  type AckCommand,
  type AckedOutcome,
  type AckItem,
  type AppliedEvents,
  type Claim,
  type Command,
  findOwnPartition,
  findQueue,
  ITEM_QUEUED,
  type Outcome,
  type PopCommand,
  type PushCommand,
  type PushedOutcome,
  type State,
  type StreamCycleCommand,
  type StreamCycledOutcome,
  type TransactionCommand,
  UNFILED,
} from '@svc/engine';
import type { QueueFigures, QueueMeters } from '@svc/wire';
import type { Clock } from '../system/clock.js';
import { newProcessCounts, type ProcessCounts } from './series-process.js';

const DIGITS = /^\d{1,10}$/;
/** What a commit may take, and clocks of nodes may differ. */
const LATE_US = 10_000_000;

export class Activity implements AppliedEvents {
  readonly queues: QueueMeters;
  readonly #clock: Clock;
  #process: ProcessCounts = newProcessCounts();
  readonly #startedUs: number;
  /** What was stamped before it and is applied counts for nothing. */
  #countedFromUs: number;

  constructor(queues: QueueMeters, clock: Clock) {
    this.queues = queues;
    this.#clock = clock;
    this.#startedUs = clock.wallUs();
    this.#countedFromUs = this.#startedUs;
  }

  /** The counts of the open bucket. */
  get process(): Readonly<ProcessCounts> {
    return this.#process;
  }

  /** Begins a new bucket and gives what the node counted in the one before. */
  rotate(nowUs: number): ProcessCounts {
    const closed = this.#process;
    this.#process = newProcessCounts();
    this.#countedFromUs = Math.max(this.#startedUs, nowUs - LATE_US);
    return closed;
  }

  // --- requests ----------------------------------------------------------------------------------

  /** The outcome of a command that is no pop is given to its client. */
  answered(state: State, command: Command, outcome: Outcome): void {
    if (command.kind === 'push' && outcome.kind === 'pushed') {
      this.#process.pushRequests++;
      this.#pushed(state, command, outcome, null);
    } else if (command.kind === 'ack' && outcome.kind === 'acked') {
      this.#process.ackRequests++;
      this.#acked(state, command, outcome, null);
    } else if (command.kind === 'transaction' && outcome.kind === 'transacted') {
      if (outcome.rollback !== null) return;
      this.#process.transactions++;
      this.#transacted(state, command, outcome.filed, outcome.pushed);
    } else if (command.kind === 'stream-cycle' && outcome.kind === 'stream-cycled') {
      this.#cycled(state, command, outcome);
    }
  }

  /**
   * One slice of a call was answered. `touched` collects the queues of the call, which counts as
   * one request to each of them when it ends.
   */
  sliceAnswered(
    state: State,
    command: Command,
    outcome: Outcome,
    touched: Set<QueueFigures>,
  ): void {
    if (command.kind === 'push' && outcome.kind === 'pushed') {
      this.#pushed(state, command, outcome, touched);
    } else if (command.kind === 'ack' && outcome.kind === 'acked') {
      this.#acked(state, command, outcome, touched);
    }
  }

  slicesEnded(kind: 'push' | 'ack', touched: ReadonlySet<QueueFigures>): void {
    const field = kind === 'push' ? 'pushRequests' : 'ackRequests';
    this.#process[field]++;
    for (const figures of touched) figures[field]++;
  }

  /** A pop was answered with nothing. */
  poppedNothing(state: State, { tenant, scope }: PopCommand): void {
    this.#process.popRequests++;
    this.#process.popEmpty++;
    if (scope.kind === 'discovery') return;
    const figures = this.figuresOf(state, tenant, scope.queue);
    if (figures === null) return;
    figures.popRequests++;
    figures.popEmpty++;
  }

  /** Its messages have gone to the client. */
  popped(state: State, command: PopCommand, claims: readonly Claim[]): void {
    const nowUs = this.#clock.wallUs();
    const process = this.#process;
    process.popRequests++;
    let before: QueueFigures | null = null;
    for (const claim of claims) {
      const figures = this.figuresOf(state, command.tenant, claim.queue);
      // Claims of one queue stand together.
      if (figures !== null && figures !== before) figures.popRequests++;
      before = figures;
      let messages = 0;
      let lagMsSum = 0;
      let lagMsMax = 0;
      for (const { first, last, stampUs } of claim.slices) {
        const lagMs = Math.max(0, (nowUs - stampUs) / 1000);
        messages += last - first + 1;
        lagMsSum += lagMs * (last - first + 1);
        if (lagMs > lagMsMax) lagMsMax = lagMs;
      }
      process.popMessages += messages;
      process.lagMsSum += lagMsSum;
      if (lagMsMax > process.lagMsMax) process.lagMsMax = lagMsMax;
      if (figures === null) continue;
      figures.popMessages += messages;
      figures.lagMsSum += lagMsSum;
      if (lagMsMax > figures.lagMsMax) figures.lagMsMax = lagMsMax;
      figures.conflated += claim.skipped;
    }
  }

  /** A pop that waits was seen when parked pops were sampled. */
  sawParked(state: State, { tenant, scope }: PopCommand): void {
    if (scope.kind === 'discovery') return;
    const figures = this.figuresOf(state, tenant, scope.queue);
    if (figures !== null) figures.parkedSum++;
  }

  /** `touched`: the queues of one transaction; null: it is a call of its own. */
  #pushed(
    state: State,
    { tenant, groups, itemGroup }: PushCommand,
    { status }: PushedOutcome,
    touched: Set<QueueFigures> | null,
  ): void {
    const only = groups.length === 1 ? groups[0] : undefined;
    if (only !== undefined) {
      let queued = 0;
      for (let i = 0; i < status.length; i++) if (status[i] === ITEM_QUEUED) queued++;
      const figures = this.figuresOf(state, tenant, only.queue);
      this.#process.pushMessages += queued;
      if (figures === null) return;
      figures.pushMessages += queued;
      if (touched === null) figures.pushRequests++;
      else touched.add(figures);
      return;
    }
    const byGroup = groups.map(({ queue }) => this.figuresOf(state, tenant, queue));
    for (const figures of new Set(byGroup)) {
      if (figures === null) continue;
      if (touched === null) figures.pushRequests++;
      else touched.add(figures);
    }
    for (let i = 0; i < status.length; i++) {
      if (status[i] !== ITEM_QUEUED) continue;
      this.#process.pushMessages++;
      const figures = byGroup[itemGroup[i] ?? 0] ?? null;
      if (figures !== null) figures.pushMessages++;
    }
  }

  /** What the leader has left open is answered later, and counted then. */
  #acked(
    state: State,
    { tenant, items }: AckCommand,
    outcome: AckedOutcome,
    touched: Set<QueueFigures> | null,
  ): void {
    const acks = new AckCounter(this, this.#process, state, tenant, touched);
    for (let i = 0; i < items.length; i++) {
      const verdict = outcome.items[i];
      if (verdict?.error === UNFILED) continue;
      const isDone = verdict?.success === true && items[i]?.status === 'completed';
      acks.count(items[i] as AckItem, isDone, verdict?.dlq === true);
    }
  }

  #transacted(
    state: State,
    { tenant, acks, pushes }: TransactionCommand,
    filed: readonly number[],
    pushed: PushedOutcome | null,
  ): void {
    const touched = new Set<QueueFigures>();
    if (pushes !== null && pushed !== null) this.#pushed(state, pushes, pushed, touched);
    const counter = new AckCounter(this, this.#process, state, tenant, touched);
    const dead = new Set(filed);
    for (let i = 0; i < acks.length; i++) {
      const ack = acks[i] as AckItem;
      counter.count(ack, ack.status === 'completed', dead.has(i));
    }
    for (const figures of touched) figures.transactions++;
  }

  /** A push of what it emits, and an ack of as many messages as it says. */
  #cycled(
    state: State,
    { tenant, pushes }: StreamCycleCommand,
    { verdict }: StreamCycledOutcome,
  ): void {
    if (verdict.result !== 'committed') return;
    const { queue, pushed, ack } = verdict;
    if (pushes !== null && pushed !== null) {
      this.#process.pushRequests++;
      this.#pushed(state, pushes, pushed, null);
    }
    if (ack === null) return;
    this.#process.ackRequests++;
    this.#process.ackSuccess += ack.count;
    const figures = this.figuresOf(state, tenant, queue);
    if (figures === null) return;
    figures.ackRequests++;
    figures.ackSuccess += ack.count;
  }

  /** null: there is no queue of that name, or too many are counted already. */
  figuresOf(state: State, tenant: string, queue: string): QueueFigures | null {
    const known = this.queues.known(tenant, queue);
    if (known !== undefined) return known;
    return findQueue(state, tenant, queue) === undefined ? null : this.queues.of(tenant, queue);
  }

  // --- what is applied ---------------------------------------------------------------------------

  queueDeleted(tenant: string, queue: string): void {
    this.queues.forget(tenant, queue);
  }

  partitionCreated(tenant: string, queue: string, stampUs: number): void {
    const figures = this.#applied(tenant, queue, stampUs);
    if (figures !== null) figures.partitionsCreated++;
  }

  partitionDeleted(tenant: string, queue: string, stampUs: number): void {
    const figures = this.#applied(tenant, queue, stampUs);
    if (figures !== null) figures.partitionsDeleted++;
  }

  trimmed(
    tenant: string,
    queue: string,
    messages: number,
    cause: 'age' | 'read' | 'wait',
    stampUs: number,
  ): void {
    const figures = this.#applied(tenant, queue, stampUs);
    if (figures === null) return;
    figures.trims++;
    if (cause === 'age') figures.agedMessages += messages;
    else if (cause === 'read') figures.readMessages += messages;
    else figures.waitedMessages += messages;
  }

  #applied(tenant: string, queue: string, stampUs: number): QueueFigures | null {
    return stampUs < this.#countedFromUs ? null : this.queues.of(tenant, queue);
  }
}

/** Counts the acks of one call; those of one partition, which mostly stand together, at once. */
class AckCounter {
  readonly #activity: Activity;
  readonly #process: ProcessCounts;
  readonly #state: State;
  readonly #tenant: string;
  readonly #touched: Set<QueueFigures> | null;
  /** The queues whose request is counted: the first, and the others if there are any. */
  #first: QueueFigures | null = null;
  #others: Set<QueueFigures> | null = null;
  #partitionId = '';
  #figures: QueueFigures | null = null;

  constructor(
    activity: Activity,
    process: ProcessCounts,
    state: State,
    tenant: string,
    touched: Set<QueueFigures> | null,
  ) {
    this.#activity = activity;
    this.#process = process;
    this.#state = state;
    this.#tenant = tenant;
    this.#touched = touched;
  }

  count({ partitionId }: AckItem, isDone: boolean, isDead: boolean): void {
    if (partitionId !== this.#partitionId) this.#moveTo(partitionId);
    const figures = this.#figures;
    if (isDone) this.#process.ackSuccess++;
    else this.#process.ackFailed++;
    if (isDead) this.#process.deadLetters++;
    if (figures === null) return;
    if (isDone) figures.ackSuccess++;
    else figures.ackFailed++;
    if (isDead) figures.deadLetters++;
  }

  #moveTo(partitionId: string): void {
    this.#partitionId = partitionId;
    const figures = this.#find(partitionId);
    this.#figures = figures;
    if (figures === null || figures === this.#first) return;
    if (this.#first === null) this.#first = figures;
    else {
      this.#others ??= new Set();
      if (this.#others.has(figures)) return;
      this.#others.add(figures);
    }
    if (this.#touched === null) figures.ackRequests++;
    else this.#touched.add(figures);
  }

  /** null: no partition, or another tenant's. */
  #find(partitionId: string): QueueFigures | null {
    if (!DIGITS.test(partitionId)) return null;
    const number = Number(partitionId);
    const { queues } = this.#activity;
    const known = queues.ofPartition(number);
    if (known !== null) return known.tenant === this.#tenant ? known : null;
    const found = findOwnPartition(this.#state, this.#tenant, number);
    if (found === undefined) return null;
    const figures = this.#activity.figuresOf(this.#state, this.#tenant, found.queue.name);
    if (figures !== null) queues.knowPartition(number, figures);
    return figures;
  }
}
