/** The client: what a program begins with. */
import { type Admin, adminOf } from './admin/admin.js';
import { flag, instantMs, nameOf, refuseUnknown } from './base/checks.js';
import type { Duration } from './base/durations.js';
import { durationSeconds } from './base/durations.js';
import { shown } from './base/errors.js';
import { NODE, type Platform } from './base/platform.js';
import type { StandardSchema } from './base/standard-schema.js';
import {
  type Acked,
  type AckOptions,
  type AckResult,
  type AckStatus,
  ack,
  type Leased,
  type RenewResult,
  renew,
} from './messages/acks.js';
import type { BufferStats, Unsent } from './messages/buffer.js';
import { Buffers } from './messages/buffers.js';
import { Queue, type QueueContext } from './queue/queue.js';
import { type EphemeralQueue, ephemeralOf } from './surfaces/ephemeral.js';
import { type Kv, kvOf } from './surfaces/kv.js';
import { type Lock, type LockOptions, Locks, type SemaphoreOptions } from './surfaces/lock.js';
import { type TimerBuilder, timerOf } from './surfaces/timer.js';
import { Transaction } from './transactions/transaction.js';
import { type ClientOptions, settingsOf } from './transport/settings.js';
import { path, Transport, withQuery } from './transport/transport.js';

export interface ClosedClient {
  /** What could not be sent in time, and what the broker refused: empty when all was stored. */
  readonly unsent: readonly Unsent[];
}

export interface QueueSettings<Out, In> {
  /** Checks payloads before they are pushed, and makes `data` of what is consumed. */
  readonly schema?: StandardSchema<In, Out>;
}

const FLUSH_MS_MAX = 30_000;
const RENEW_SECONDS = 60;
const SIGNALS = ['SIGINT', 'SIGTERM'];

export class Client {
  /** Management: one method for each route. */
  readonly admin: Admin;
  readonly #transport: Transport;
  readonly #context: QueueContext;
  readonly #locks: Locks;
  readonly #forgetSignals: () => void;
  #closing: Promise<ClosedClient> | null = null;

  /** `platform` is for tests: where the client takes network, clock and chance from. */
  constructor(options: string | readonly string[] | ClientOptions, platform?: Platform) {
    const settings = settingsOf(options);
    this.#transport = new Transport(settings, platform);
    this.admin = adminOf(this.#transport);
    this.#locks = new Locks(this.#transport);
    const buffers = new Buffers(this.#transport);
    this.#context = { transport: this.#transport, buffers, loops: new Set() };
    this.#forgetSignals = settings.handleSignals ? this.#handleSignals() : () => undefined;
  }

  /** A queue by its name; without one, all queues with the labels that are named next. */
  queue<Out = unknown, In = Out>(name?: string, settings: QueueSettings<Out, In> = {}) {
    const queue = name === undefined ? undefined : nameOf(name, 'the name of a queue');
    refuseUnknown(settings, 'schema', 'queue');
    const { schema } = settings;
    if (schema !== undefined && typeof schema?.['~standard']?.validate !== 'function') {
      const text = `schema is ${shown(schema)}`;
      throw new TypeError(`${text}: write a validator of the Standard Schema shape`);
    }
    const checked = schema === undefined ? {} : { schema: schema as StandardSchema };
    return new Queue<Out, In>(this.#context, { queue, ...checked });
  }

  transaction(): Transaction {
    return new Transaction(this.#transport);
  }

  /** A namespace of the key/value store. */
  kv(namespace: string): Kv {
    return kvOf(this.#transport, namespace);
  }

  /** `timer('mail').key('remind:1').delay('2h').payload({ ... }).schedule()`. */
  timer(queue: string): TimerBuilder {
    return timerOf(this.#transport, queue);
  }

  /** What one holder at a time has; `acquire()` gets it. */
  lock(name: string, options?: LockOptions): Lock {
    return this.#locks.lock(name, options);
  }

  /** A lock that so many may hold. */
  semaphore(name: string, permits: number, options?: SemaphoreOptions): Lock {
    return this.#locks.semaphore(name, permits, options);
  }

  /** A queue in the memory of a node. */
  ephemeral(queue: string): EphemeralQueue {
    return ephemeralOf(this.#transport, queue);
  }

  /** `true` is `completed`, `false` is `failed`; what the broker said of each, in order. */
  ack(message: Acked, status?: AckStatus, options?: AckOptions): Promise<AckResult>;
  ack(messages: readonly Acked[], status?: AckStatus, options?: AckOptions): Promise<AckResult[]>;
  async ack(
    given: Acked | readonly Acked[],
    status: AckStatus = true,
    options: AckOptions = {},
  ): Promise<AckResult | AckResult[]> {
    const results = await ack(this.#transport, [given].flat() as Acked[], status, options);
    return Array.isArray(given) ? results : (results[0] as AckResult);
  }

  /** Lengthens the lease of a message, or of its id: 60 s from now on without `time`. */
  renew(lease: Leased, time?: Duration): Promise<RenewResult>;
  renew(leases: readonly Leased[], time?: Duration): Promise<RenewResult[]>;
  async renew(
    given: Leased | readonly Leased[],
    time: Duration = `${RENEW_SECONDS}s`,
  ): Promise<RenewResult | RenewResult[]> {
    const seconds = durationSeconds(time, 'the time of renew');
    const results = await renew(this.#transport, [given].flat() as Leased[], seconds);
    return Array.isArray(given) ? results : (results[0] as RenewResult);
  }

  /** Deletes a consumer group at every queue; with `deleteMetadata` its start points too. */
  async deleteConsumerGroup(group: string, deleteMetadata = true): Promise<void> {
    flag(deleteMetadata, 'deleteMetadata');
    const at = withQuery(path`/api/v1/consumer-groups/${group}`, { deleteMetadata });
    await this.#transport.call({ method: 'DELETE', path: at, repeat: 'any' });
  }

  /** Another start point for the partitions that the group has not met. */
  async updateConsumerGroupTimestamp(group: string, time: Date | string): Promise<void> {
    const ms = instantMs(time, 'the time of a group');
    // A text may have more digits than a Date holds.
    const timestamp = typeof time === 'string' ? time : new Date(ms).toISOString();
    await this.#transport.call({
      method: 'POST',
      path: path`/api/v1/consumer-groups/${group}/subscription`,
      body: JSON.stringify({ subscriptionTimestamp: timestamp }),
      repeat: 'any',
    });
  }

  /** Sends what all buffers hold; rejects when a batch failed, which is kept. */
  async flushAllBuffers(): Promise<void> {
    await this.#context.buffers.flushAll();
  }

  getBufferStats(): BufferStats[] {
    return this.#context.buffers.stats();
  }

  /**
   * Ends the loops when their handlers have finished, releases the locks and sends what the buffers
   * hold within 30 s, and says what could not be sent. Calls that come later are refused. Called
   * again it gives the same.
   */
  close(): Promise<ClosedClient> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<ClosedClient> {
    this.#forgetSignals();
    await Promise.allSettled([...this.#context.loops].map((loop) => loop.stop()));
    const limit = new AbortController();
    const cancel = this.#transport.platform.after(FLUSH_MS_MAX, () => limit.abort());
    const [unsent] = await Promise.all([
      this.#context.buffers.close(limit.signal),
      this.#locks.releaseAll(limit.signal),
    ]);
    cancel();
    this.#transport.close();
    for (const { queue, items, error } of unsent) {
      const facts = { queue, messages: items.length, error: String(error) };
      this.#transport.settings.logger.error('messages were not sent before the end', facts);
    }
    return { unsent };
  }

  /** The signal ends the process as it would have, once the client is closed. */
  #handleSignals(): () => void {
    const acts = SIGNALS.map((signal) => {
      const act = () => void this.close().then(() => NODE?.kill(NODE.pid ?? 0, signal));
      NODE?.once(signal, act);
      return () => NODE?.off(signal, act);
    });
    return () => {
      for (const forget of acts) forget();
    };
  }
}
