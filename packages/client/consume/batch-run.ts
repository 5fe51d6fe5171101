/**
 * One popped batch on its way through a handler.
 *
 * What must hold:
 * - Of each partition the messages are settled in their order. When one fails, those behind it in
 *   its partition are not begun and are given back with it; other partitions go on.
 * - When the loop is to end, what was not begun is given back, without a charge to its retries.
 * - A message that does not fit the schema fails like one whose handler threw.
 * - What a handler returned from after the lease was lost has failed too, and is not settled: it is
 *   delivered again, or was already. Where an ack is refused for its lease, the rest of that
 *   partition is not begun.
 * - The program gets arrays of its own: one that it empties has no bearing on what is settled.
 * - Without automatic acks nothing is settled: the callbacks, or the handler, do that.
 */
import type { Message } from '../messages/message.js';
import type { Transport } from '../transport/transport.js';
import type {
  BatchHandler,
  Callbacks,
  ConsumeTerms,
  Handler,
  HandlerContext,
  MessageHandler,
} from './consume-terms.js';
import type { Lease } from './lease.js';
import type { OwedAcks } from './owed-acks.js';
import { checked } from './poll.js';
import { errorText, Settlement } from './settlement.js';

/** How many messages of the batch were completed and how many failed. */
export interface Tally {
  readonly completed: number;
  readonly failed: number;
}

interface Misfit<Data> {
  readonly message: Message<Data>;
  readonly error: unknown;
}

export class BatchRun<Data> {
  readonly #terms: ConsumeTerms;
  readonly #handler: Handler<Data>;
  readonly #callbacks: Callbacks<Data>;
  readonly #lease: Lease;
  readonly #context: HandlerContext;
  readonly #transport: Transport;
  readonly #settlement: Settlement;
  /** Partitions of which nothing more is begun. */
  readonly #held = new Set<string>();
  #completed = 0;
  #failed = 0;

  constructor(
    transport: Transport,
    terms: ConsumeTerms,
    handler: Handler<Data>,
    callbacks: Callbacks<Data>,
    lease: Lease,
  ) {
    this.#terms = terms;
    this.#handler = handler;
    this.#callbacks = callbacks;
    this.#lease = lease;
    this.#context = lease;
    this.#transport = transport;
    this.#settlement = new Settlement(transport, (partitionId) => this.#held.add(partitionId));
  }

  /** `owed` takes what the next pop may carry; null: all is sent when this resolves. */
  async run(messages: readonly Message<Data>[], owed: OwedAcks | null): Promise<Tally> {
    if (this.#handler.kind === 'batch') await this.#runWhole(messages, this.#handler.handle);
    else await this.#runEach(messages, this.#handler.handle);
    if (owed === null) await this.#settlement.done();
    else await this.#settlement.leave(owed);
    return { completed: this.#completed, failed: this.#failed };
  }

  /** All at once, but for messages that do not fit the schema and what is behind them. */
  async #runWhole(messages: readonly Message<Data>[], handle: BatchHandler<Data>): Promise<void> {
    const fits: Message<Data>[] = [];
    const misfits = new Map<string, Misfit<Data>>();
    for (const message of messages) {
      if (misfits.has(message.partitionId)) continue;
      try {
        await checked(message, this.#terms.schema);
        fits.push(message);
      } catch (error) {
        misfits.set(message.partitionId, { message, error });
      }
    }
    const failure =
      fits.length === 0
        ? null
        : await this.#failureOf(fits, () => handle([...fits], this.#context));
    if (failure !== null) await this.#report(fits, failure.error);
    for (const { message, error } of misfits.values()) await this.#report([message], error);
    if (!this.#settles || this.#lease.lost !== null) return;
    // In one step, and so in one call: a message that is given back ends the lease of the others.
    if (failure === null) this.#settlement.settle(fits, true);
    else this.#settlement.settle(fits, false, errorText(failure.error));
    for (const { message, error } of misfits.values()) this.#giveBack(message, messages, error);
  }

  async #runEach(messages: readonly Message<Data>[], handle: MessageHandler<Data>): Promise<void> {
    const begun = new Set<string>();
    for (const [i, message] of messages.entries()) {
      const { partitionId } = message;
      if (this.#held.has(partitionId)) continue;
      if (this.#lease.lost !== null) return;
      if (this.#lease.ending.aborted) {
        // Where the program acknowledges by itself, a partition that was begun is its own affair.
        const kept = this.#settles ? this.#held : begun;
        const rest = messages.slice(i).filter((one) => !kept.has(one.partitionId));
        this.#settlement.settle(rest, 'retry');
        return;
      }
      begun.add(partitionId);
      const failure = await this.#failureOf([message], async () => {
        await checked(message, this.#terms.schema);
        await handle(message, this.#context);
      });
      if (failure === null) {
        if (this.#settles) this.#settlement.settle([message], true);
        continue;
      }
      this.#held.add(partitionId);
      await this.#report([message], failure.error);
      if (this.#settles && this.#lease.lost === null)
        this.#giveBack(message, messages, failure.error);
    }
  }

  /** null: it did not fail. */
  async #failureOf(
    messages: Message<Data>[],
    work: () => unknown,
  ): Promise<{ readonly error: unknown } | null> {
    try {
      await work();
      if (this.#lease.lost !== null) throw this.#lease.lost;
      await this.#callbacks.onSuccess?.([...messages]);
      this.#completed += messages.length;
      return null;
    } catch (error) {
      return { error };
    }
  }

  get #settles(): boolean {
    return this.#terms.autoAck && !this.#hasCallbacks;
  }

  get #hasCallbacks(): boolean {
    return this.#callbacks.onSuccess !== undefined || this.#callbacks.onError !== undefined;
  }

  /** What is behind the message in its partition goes back in the same call. */
  #giveBack(message: Message<Data>, batch: readonly Message<Data>[], error: unknown): void {
    const { partitionId, offset } = message;
    const behind = batch.filter((one) => one.partitionId === partitionId && one.offset > offset);
    this.#settlement.settle([message], false, errorText(error));
    this.#settlement.settle(behind, 'retry');
  }

  async #report(messages: Message<Data>[], error: unknown): Promise<void> {
    const { logger } = this.#transport.settings;
    this.#failed += messages.length;
    if (this.#callbacks.onError === undefined) {
      const [first] = messages;
      const facts = { queue: first?.queue, messages: messages.length, error: errorText(error) };
      logger.warn('a handler failed', facts);
      return;
    }
    try {
      await this.#callbacks.onError([...messages], error);
    } catch (thrown) {
      logger.error('onError of a consume loop threw', { error: errorText(thrown) });
    }
  }
}
