/**
 * A worker of a stream: it pops, runs a cycle for each partition of the batch, and closes windows
 * of partitions that have no more messages.
 *
 * What must hold:
 * - Everything that works on the state of a partition does so alone: cycle and flush of one
 *   partition take turns (`#alone`). Partitions do not wait for one another.
 * - What is kept of a partition between cycles is used only if the batch begins right behind the
 *   last one, so that nobody else has committed messages since. Otherwise, and after any failure,
 *   it is read again. (Another worker may have closed windows: their ids refuse the cycle then.)
 * - No lease fences a flush, so it closes only windows that no message will fall into. They end
 *   before some moment; at a later one, by the clock of the broker, the partition had no message
 *   that was not acknowledged. Times of messages only grow, so whatever comes later is of a later
 *   time. (A message has its time before anybody sees it: `UNSEEN_MS` lie between.) The state is
 *   read after that, so it does not matter who worked on the partition before.
 *   Windows by event time are not flushed: only events tell that there will be no more.
 *
 * The clock of the broker is known by the ids of leases, which are UUIDs of version 7. From the
 * last one on it goes by the clock here that nobody sets, and is too late by what that answer took.
 */
import { onAbort } from '../base/on-abort.js';
import { sleep } from '../base/platform.js';
import type { RunningLoops } from '../consume/consume-loop.js';
import { Lease } from '../consume/lease.js';
import { poll } from '../consume/poll.js';
import { errorText } from '../consume/settlement.js';
import type { Message } from '../messages/message.js';
import type { PopTerms } from '../messages/pop.js';
import type { Transport } from '../transport/transport.js';
import { Cycle, NO_METRICS, type StreamMetrics } from './cycle.js';
import { PartitionState } from './partition-state.js';
import { type Place, StreamCalls } from './stream-calls.js';
import { type StreamPlan, shapeOf } from './stream-plan.js';
import type { WindowPlan } from './windows.js';

export interface RunTerms {
  readonly queryId: string;
  readonly reset: boolean;
  readonly pop: PopTerms;
  readonly signal: AbortSignal | undefined;
  readonly onError:
    | ((error: unknown, where: { readonly partition: string }) => unknown)
    | undefined;
}

interface Partition {
  readonly name: string;
  readonly id: string;
  /** null: it has to be read. */
  state: PartitionState | null;
  /** Up to this offset the state is of. */
  offset: number;
  /** What ends first, when the state is not kept; -Infinity: it is not known. */
  endMs: number;
  failures: number;
  /** Messages of one commit. */
  messagesMax: number;
  /** Resolves when the last one that works on it is done. */
  busy: Promise<unknown>;
}

const RENEW_MS = 20_000;
/** Longer than most pops wait. */
const STOP_MS = 1500;
const PAUSE_MS = 1000;
const PAUSE_MS_MAX = 30_000;
/** Clocks are taken to differ by no more until a lease was seen. */
const AHEAD_MS = 10_000;
/** A commit of the broker is taken to last no longer. */
const UNSEEN_MS = 1000;
/** Rows that are kept between cycles: some 300 bytes each, with what is put beside them. */
const ROWS_MAX = 200_000;
/** And partitions that have none. */
const PARTITIONS_MAX = 10_000;
/** Partitions that are flushed at a time. */
const FLUSHES_MAX = 8;

/** A stream that runs. */
export class StreamRunner {
  /** By which the broker knows it. */
  readonly id: string;
  /** Resolves when it was stopped; rejects with what ended it. */
  readonly ended: Promise<void>;
  readonly #transport: Transport;
  readonly #plan: StreamPlan;
  readonly #terms: RunTerms;
  readonly #calls: StreamCalls;
  readonly #ending = new AbortController();
  readonly #popEnding = new AbortController();
  /** By id; the one that was used last is the last. */
  readonly #partitions = new Map<string, Partition>();
  readonly #metrics = { ...NO_METRICS };
  /** The time of the broker less `upMs`, at least; null: no lease was seen. */
  #brokerMs: number | null = null;
  #cancelFlush: () => void = () => undefined;
  #flushing: Promise<void> = Promise.resolve();
  /** Batches that wait to be given back. */
  readonly #givingBack = new Set<Promise<void>>();
  #isAdopted = false;

  /** Use `start`. */
  private constructor(
    id: string,
    transport: Transport,
    plan: StreamPlan,
    terms: RunTerms,
    calls: StreamCalls,
  ) {
    this.id = id;
    this.#transport = transport;
    this.#plan = plan;
    this.#terms = terms;
    this.#calls = calls;
    this.ended = this.#run();
    // It may be looked at late, or never.
    this.ended.catch(() => undefined);
  }

  static async start(
    transport: Transport,
    loops: RunningLoops,
    plan: StreamPlan,
    terms: RunTerms,
  ): Promise<StreamRunner> {
    const { queryId, reset, signal, pop } = terms;
    signal?.throwIfAborted();
    const calls = new StreamCalls(transport, plan.queue, pop.group ?? '');
    const { sink } = plan;
    const query = {
      name: queryId,
      source_queue: plan.queue,
      sink_queue: sink.kind === 'queue' ? sink.queue : undefined,
      config_hash: shapeOf(plan),
      reset,
    };
    const id = await calls.register(query);
    const runner = new StreamRunner(id, transport, plan, terms, calls);
    loops.add(runner);
    const end = () => void runner.stop().catch(() => undefined);
    if (signal?.aborted) end();
    const forgetSignal = onAbort(signal, end);
    const forget = () => {
      loops.delete(runner);
      forgetSignal();
    };
    runner.ended.then(forget, forget);
    return runner;
  }

  /**
   * Takes no more messages; resolves when what was begun is committed or given back. A pop that
   * waits is let be for a moment: the broker may be answering it, and what it answers to a closed
   * connection is leased until the lease ends.
   */
  async stop(): Promise<void> {
    this.#ending.abort();
    const { platform } = this.#transport;
    const cancel = platform.after(STOP_MS, () => this.#popEnding.abort());
    await this.ended.finally(cancel);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  metrics(): Readonly<StreamMetrics> {
    return { ...this.#metrics };
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    const { window } = this.#plan;
    if (window?.idleFlushMs) this.#flushLater(window);
    try {
      while (!signal.aborted) {
        const messages = await poll(this.#transport, this.#terms.pop, this.#popEnding.signal);
        this.#noteClock(messages);
        const batches = new Map<string, Message[]>();
        for (const message of messages) {
          const batch = batches.get(message.partitionId);
          if (batch === undefined) batches.set(message.partitionId, [message]);
          else batch.push(message);
        }
        const { leaseSeconds = Infinity } = this.#terms.pop;
        const partMs = Math.min(RENEW_MS, (leaseSeconds * 1000) / 3);
        // What a gate denies comes again when the lease ends: it is not made longer.
        const isFixed = this.#plan.gate !== null;
        const lease = new Lease(this.#transport, messages, signal, isFixed ? null : partMs);
        const untilMs = isFixed ? this.#nowMs() + partMs : Infinity;
        const works = [...batches.values()].map((batch) => this.#work(batch, lease, untilMs));
        const ended = await Promise.allSettled(works);
        lease.end();
        const broken = ended.find(({ status }) => status === 'rejected');
        if (broken?.status === 'rejected') throw broken.reason;
        this.#forget();
      }
    } catch (error) {
      this.#report(error, '');
      throw error;
    } finally {
      this.#ending.abort();
      this.#cancelFlush();
      await this.#flushing;
      await Promise.all(this.#givingBack);
    }
  }

  /** All messages are of one partition. Rejects with what ends the stream. */
  async #work(messages: readonly Message[], lease: Lease, untilMs: number): Promise<void> {
    const [first] = messages as [Message];
    const partition = this.#partitionOf(first.partition, first.partitionId);
    this.#partitions.delete(partition.id);
    this.#partitions.set(partition.id, partition);
    await this.#alone(partition, async () => {
      try {
        await this.#commit(messages, partition, lease, untilMs);
        partition.failures = 0;
        partition.messagesMax = Infinity;
      } catch (error) {
        this.#failed(error, partition, first, messages.length);
      }
    });
  }

  async #commit(
    messages: readonly Message[],
    partition: Partition,
    lease: Lease,
    untilMs: number,
  ): Promise<void> {
    const [first] = messages as [Message];
    const kept = first.offset === partition.offset + 1 ? partition.state : null;
    // Until the cycle is through, the state is worth nothing to anybody else.
    partition.state = null;
    const state = kept ?? (await this.#read(first.partitionId));
    const cycle = this.#cycle(first, partition, state);
    try {
      const isDone = await cycle.run(messages, partition.messagesMax, lease, untilMs);
      // Another worker may go on behind a message that a gate denied.
      this.#keep(partition, state, messages[cycle.acked - 1]?.offset ?? first.offset - 1);
      if (!isDone) await this.#calls.giveBack(first).catch(() => undefined);
    } catch (error) {
      const isStale = kept !== null && cycle.acked === 0;
      if (!isStale || this.#calls.failureOf(error)?.code !== 'duplicate') throw error;
      // Another worker has closed windows since.
      await this.#commit(messages, partition, lease, untilMs);
    }
  }

  #failed(error: unknown, partition: Partition, place: Place, messages: number): void {
    const { code = '', status = 0 } = this.#calls.failureOf(error) ?? {};
    if (status === 401 || status === 403) throw error;
    this.#report(error, partition.name);
    partition.failures++;
    // It may have been applied, and have left windows open.
    partition.endMs = -Infinity;
    const most = Math.min(partition.messagesMax, messages);
    const isCut = code === 'too_large' && most > 1;
    if (isCut) partition.messagesMax = most >> 1;
    // What would fail again waits, and holds its lease meanwhile.
    const laterMs = Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** (partition.failures - 1));
    const given = sleep(this.#transport.platform, isCut ? 0 : laterMs, this.#ending.signal)
      .catch(() => undefined)
      .then(() => this.#calls.giveBack(place))
      // Then it comes again when its lease ends.
      .catch(() => undefined)
      .finally(() => this.#givingBack.delete(given));
    this.#givingBack.add(given);
  }

  #flushLater(window: WindowPlan): void {
    if (this.#ending.signal.aborted) return;
    this.#cancelFlush = this.#transport.platform.after(window.idleFlushMs, () => {
      this.#flushing = this.#flush(window)
        .catch((error) => this.#report(error, ''))
        .then(() => this.#flushLater(window));
    });
  }

  async #flush(window: WindowPlan): Promise<void> {
    if (!this.#isAdopted) {
      // Workers that died may have left windows open in partitions that get no more messages.
      const left = await this.#calls.partitions(PARTITIONS_MAX);
      for (const { name, id } of left) this.#partitionOf(name, id);
      this.#isAdopted = true;
    }
    const nowMs = this.#nowMs() - UNSEEN_MS;
    const ripe = [...this.#partitions.values()].filter(
      ({ state, endMs }) => (state?.nextEndMs ?? endMs) + window.graceMs <= nowMs,
    );
    if (ripe.length === 0) return;
    const drained = await this.#calls.drained();
    const idle = ripe.filter(({ name }) => drained.has(name)).values();
    const flushNext = async () => {
      for (const partition of idle) {
        if (this.#ending.signal.aborted) return;
        await this.#alone(partition, () => this.#flushOne(window, partition, nowMs));
      }
    };
    await Promise.all(Array.from({ length: FLUSHES_MAX }, flushNext));
  }

  async #flushOne(window: WindowPlan, partition: Partition, nowMs: number): Promise<void> {
    const place = { partitionId: partition.id, leaseId: '' };
    const { offset } = partition;
    try {
      const state = await this.#read(partition.id);
      partition.state = null;
      await this.#cycle(place, partition, state).flush(window, nowMs);
      this.#keep(partition, state, offset);
    } catch (error) {
      // Another worker did the same. The next flush finds what is left.
      const { code, status } = this.#calls.failureOf(error) ?? {};
      if (code !== 'duplicate') this.#report(error, partition.name);
      // Its queue was deleted.
      if (status === 404) this.#partitions.delete(partition.id);
    }
  }

  #cycle(place: Place, partition: Partition, state: PartitionState): Cycle {
    const site = {
      plan: this.#plan,
      calls: this.#calls,
      metrics: this.#metrics,
      nowMs: () => this.#nowMs(),
    };
    return new Cycle(site, place, partition.name, state);
  }

  async #read(partitionId: string): Promise<PartitionState> {
    const { window, gate } = this.#plan;
    const tag = window?.tag ?? 'gate';
    const isStateless = window === null && gate === null;
    const rows = isStateless ? [] : await this.#calls.state(partitionId);
    return new PartitionState(rows, tag, window !== null && window.gapMs !== null);
  }

  #keep(partition: Partition, state: PartitionState, offset: number): void {
    partition.state = state;
    partition.offset = offset;
    partition.endMs = state.nextEndMs;
  }

  #partitionOf(name: string, id: string): Partition {
    const known = this.#partitions.get(id);
    if (known !== undefined) return known;
    const endMs = -Infinity;
    const messagesMax = Infinity;
    const fresh = { state: null, offset: -1, endMs, failures: 0, messagesMax };
    const partition = { name, id, ...fresh, busy: Promise.resolve() };
    this.#partitions.set(id, partition);
    return partition;
  }

  /** Rows of the partitions that were used last are kept; of others, when something ends there. */
  #forget(): void {
    let rows = 0;
    let kept = 0;
    for (const partition of [...this.#partitions.values()].reverse()) {
      rows += partition.state?.size ?? 0;
      if (++kept > PARTITIONS_MAX || rows > ROWS_MAX) partition.state = null;
      const isOpen = this.#plan.window?.idleFlushMs && partition.endMs < Infinity;
      if (kept > PARTITIONS_MAX && !isOpen) this.#partitions.delete(partition.id);
    }
  }

  /** Runs `act` when all that was asked before has been done to the partition. */
  async #alone(partition: Partition, act: () => Promise<void>): Promise<void> {
    const turn = partition.busy.then(act);
    partition.busy = turn.catch(() => undefined);
    await turn;
  }

  #report(error: unknown, partition: string): void {
    this.#metrics.errors++;
    const facts = { stream: this.#terms.queryId, partition, error: errorText(error) };
    this.#transport.settings.logger.error('a stream met an error', facts);
    const told = async () => this.#terms.onError?.(error, { partition });
    told().catch((thrown) => {
      this.#transport.settings.logger.error('onError failed', { error: errorText(thrown) });
    });
  }

  #nowMs(): number {
    const { platform } = this.#transport;
    if (this.#brokerMs === null) return platform.nowMs() - AHEAD_MS;
    return Math.floor(platform.upMs() + this.#brokerMs);
  }

  #noteClock([message]: readonly Message[]): void {
    if (message === undefined || message.leaseId[14] !== '7') return;
    const atMs = Number.parseInt(message.leaseId.slice(0, 8) + message.leaseId.slice(9, 13), 16);
    this.#brokerMs = atMs - this.#transport.platform.upMs();
  }
}
