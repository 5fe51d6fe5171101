/**
 * Pops, handles and settles until told to end.
 *
 * `concurrency` workers each take a batch, work on it, and take the next. They share a limit, an
 * idle time and an end. What a pop is answered decides what comes next:
 *
 * | Answer | Then |
 * | --- | --- |
 * | messages | they are handled |
 * | none | the next pop at once, since the call waited |
 * | 429 | the transport waits and asks again, without an end |
 * | no connection, no answer, 5xx | after a second the next pop |
 * | any other 4xx | the loop ends and rejects: asking again gives the same |
 *
 * A pop carries the acknowledgements of the worker's batch before (`owed-acks.ts`).
 *
 * The end (signal, `close`, limit, idle, an error of one worker) lets handlers that run finish and
 * settles what they did. A pop that waits is ended; messages of one that is answered about then are
 * given back.
 */
import { onAbort } from '../base/on-abort.js';
import type { Message } from '../messages/message.js';
import type { Transport } from '../transport/transport.js';
import { BatchRun } from './batch-run.js';
import type { Callbacks, ConsumeOptions, ConsumeTerms, Handler } from './consume-terms.js';
import { Lease, loopEnded } from './lease.js';
import { OwedAcks } from './owed-acks.js';
import { Pace } from './pace.js';
import { pause, poll } from './poll.js';
import { type Busy, Supervision } from './supervision.js';

/** The loops of a client, which `close` ends. */
export type RunningLoops = Set<{ stop(): Promise<void> }>;

export class ConsumeLoop<Data> {
  readonly #transport: Transport;
  readonly #terms: ConsumeTerms;
  readonly #handler: Handler<Data>;
  readonly #callbacks: Callbacks<Data>;
  readonly #ending = new AbortController();
  /** Messages that were taken, or that a pop under way may take. */
  #reserved = 0;
  #activeMs: number;
  /** null: the program says how many messages a batch has, or the broker. */
  readonly #pace: Pace | null;
  #workers = 0;
  #completed = 0;
  #failed = 0;
  #lastCompletedMs: number | null = null;
  readonly #inflightSinceMs = new Set<{ readonly ms: number }>();

  constructor(
    transport: Transport,
    terms: ConsumeTerms,
    handler: Handler<Data>,
    callbacks: Callbacks<Data>,
  ) {
    this.#transport = transport;
    this.#terms = terms;
    this.#handler = handler;
    this.#callbacks = callbacks;
    this.#pace = terms.isPaced ? new Pace() : null;
    this.#activeMs = transport.platform.nowMs();
  }

  /** No more messages are begun. */
  end(): void {
    this.#ending.abort(loopEnded());
  }

  /** Resolves when all workers are at their end; rejects when one met what ends the loop. */
  async run({ signal, supervision }: ConsumeOptions): Promise<void> {
    const end = () => this.end();
    if (signal?.aborted) end();
    const forget = onAbort(signal, end);
    const shown =
      supervision === undefined
        ? null
        : new Supervision(this.#transport, this.#terms, supervision, () => this.#busy());
    const workers = Array.from({ length: this.#terms.concurrency }, () => this.#work());
    const ended = await Promise.allSettled(workers);
    forget();
    await shown?.stop();
    const broken = ended.find(({ status }) => status === 'rejected');
    if (broken?.status === 'rejected') throw broken.reason;
  }

  async #work(): Promise<void> {
    this.#workers++;
    const owed = new OwedAcks(this.#transport);
    try {
      while (!this.#ending.signal.aborted && (await this.#turn(owed)));
    } catch (error) {
      this.end();
      throw error;
    } finally {
      await owed.send();
      this.#workers--;
    }
  }

  /** One pop with all that follows; false: there is nothing more to do. */
  async #turn(owed: OwedAcks): Promise<boolean> {
    const { idleMs, limit, pop: terms } = this.#terms;
    const restMs = idleMs - (this.#transport.platform.nowMs() - this.#activeMs);
    if (restMs <= 0) {
      await owed.send();
      // Another worker may be on a message for longer than the idle time.
      if (this.#inflightSinceMs.size === 0) this.end();
      else await pause(this.#transport, this.#ending.signal);
      return true;
    }
    const batch = this.#pace?.batch ?? terms.batch ?? Number.POSITIVE_INFINITY;
    const most = Math.min(batch, limit - this.#reserved);
    if (most <= 0) return false;
    this.#reserved += Number.isFinite(most) ? most : 0;
    const asked = {
      ...terms,
      batch: Number.isFinite(most) ? most : undefined,
      waitMs: Math.ceil(Math.min(terms.waitMs, restMs)),
    };
    const messages = await poll<Data>(this.#transport, asked, this.#ending.signal, owed);
    this.#reserved += messages.length - (Number.isFinite(most) ? most : 0);
    if (messages.length > 0) await this.#handle(messages, owed);
    return this.#reserved < limit || this.#inflightSinceMs.size > 0;
  }

  async #handle(messages: readonly Message<Data>[], owed: OwedAcks): Promise<void> {
    const { renewMs } = this.#terms;
    const since = { ms: this.#transport.platform.nowMs() };
    this.#inflightSinceMs.add(since);
    const lease = new Lease(this.#transport, messages, this.#ending.signal, renewMs);
    const run = new BatchRun(this.#transport, this.#terms, this.#handler, this.#callbacks, lease);
    // A lease that is renewed is renewed until its acks have their verdicts.
    const { completed, failed } = await run.run(messages, renewMs === null ? owed : null);
    lease.end();
    this.#inflightSinceMs.delete(since);
    this.#activeMs = this.#transport.platform.nowMs();
    this.#pace?.handled(messages.length, this.#activeMs - since.ms);
    this.#completed += completed;
    this.#failed += failed;
    if (completed > 0) this.#lastCompletedMs = this.#activeMs;
  }

  #busy(): Busy {
    const oldest = [...this.#inflightSinceMs].reduce(
      (least, { ms }) => Math.min(least, ms),
      Number.POSITIVE_INFINITY,
    );
    return {
      desired: this.#terms.concurrency,
      running: this.#workers,
      busy: this.#inflightSinceMs.size,
      completed: this.#completed,
      failed: this.#failed,
      lastCompletedMs: this.#lastCompletedMs,
      oldestInflightMs: Number.isFinite(oldest) ? oldest : null,
    };
  }
}
