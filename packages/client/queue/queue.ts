/**
 * A queue as the program holds it. Each step gives a new builder, so that one can be kept and used
 * as the start of others; nothing is sent before the last step.
 */
import { flag, misuse, nameOf, oneOf, refuseUnknown, signalOf, whole } from '../base/checks.js';
import { type Duration, durationMs, durationSeconds } from '../base/durations.js';
import { onAbort } from '../base/on-abort.js';
import { NODE, sleep } from '../base/platform.js';
import type { StandardSchema } from '../base/standard-schema.js';
import type { RunningLoops } from '../consume/consume-loop.js';
import type {
  BatchHandler,
  ConsumeOptions,
  ConsumeTerms,
  Handler,
  MessageHandler,
} from '../consume/consume-terms.js';
import { Consuming } from '../consume/consuming.js';
import { loopEnded } from '../consume/lease.js';
import { messageStream } from '../consume/message-stream.js';
import { checked } from '../consume/poll.js';
import { checkSupervision } from '../consume/supervision.js';
import { type BufferLimits, type BufferOptions, bufferLimits } from '../messages/buffer.js';
import type { Buffers } from '../messages/buffers.js';
import { DeadLetterQuery } from '../messages/dead-letters.js';
import type { Message } from '../messages/message.js';
import { type PopResult, type PopTerms, pop } from '../messages/pop.js';
import {
  fitting,
  type PushItem,
  type PushResult,
  type ReadyItem,
  readyItems,
  sendItems,
} from '../messages/push-items.js';
import { type Buffered, Pushing } from '../messages/pushing.js';
import {
  type Configured,
  checkedOptions,
  configureQueue,
  deleteQueue,
  type QueueNames,
  type QueueOptions,
} from '../messages/queue-options.js';
import type { Transport } from '../transport/transport.js';

/** What the builders of a client share. */
export interface QueueContext {
  readonly transport: Transport;
  readonly buffers: Buffers;
  readonly loops: RunningLoops;
}

interface State {
  readonly queue: string | undefined;
  readonly partition?: string;
  readonly namespace?: string;
  readonly task?: string;
  readonly group?: string;
  readonly schema?: StandardSchema;
  readonly options?: QueueOptions;
  readonly buffer?: BufferLimits;
  readonly batch?: number;
  readonly partitions?: number;
  readonly wait?: boolean;
  readonly waitMs?: number;
  readonly leaseSeconds?: number;
  readonly commitOnDelivery?: boolean;
  readonly subscriptionMode?: string;
  readonly subscriptionFrom?: string;
  readonly conflation?: boolean;
  readonly autopilot?: boolean;
  readonly concurrency?: number;
  readonly limit?: number;
  readonly idleMs?: number;
  readonly autoAck?: boolean;
  /** null: no; undefined: in its usual interval. */
  readonly renewal?: { readonly everyMs: number | undefined } | null;
  readonly each?: boolean;
}

export interface QueueParts {
  readonly context: QueueContext;
  readonly state: State;
}

/** The broker waits no longer. */
const WAIT_MS_MAX = 60_000;
const WAIT_MS = 30_000;
const RENEW_MS = 20_000;
const STOP_MS_MAX = 30_000;
const PARTITIONS_MAX = 64;
const AUTOPILOT_SWITCH = 'SVC_SDK_POP_AUTOPILOT';

export class Queue<
  Out = unknown,
  In = Out,
  Pushed extends readonly PushResult[] | Buffered = PushResult[],
  Each extends boolean = false,
> {
  readonly #context: QueueContext;
  readonly #state: State;

  constructor(context: QueueContext, state: State) {
    this.#context = context;
    this.#state = state;
  }

  /** What a stream needs of its queues; null: it is none. */
  static parts(queue: unknown): QueueParts | null {
    if (typeof queue !== 'object' || queue === null || !(#state in queue)) return null;
    return { context: queue.#context, state: queue.#state };
  }

  /** What a loop over this queue asks for. */
  static popTerms(queue: Queue): PopTerms {
    return queue.#popTerms('run');
  }

  /** Push and pop this partition alone. */
  partition(name: string): Queue<Out, In, Pushed, Each> {
    return this.#with({ partition: nameOf(name, 'partition') });
  }

  /** A label: of the queue that `create` makes, or of the queues that a nameless one pops. */
  namespace(name: string): Queue<Out, In, Pushed, Each> {
    return this.#with({ namespace: nameOf(name, 'namespace') });
  }

  task(name: string): Queue<Out, In, Pushed, Each> {
    return this.#with({ task: nameOf(name, 'task') });
  }

  /** The consumer group that pops; without one consumers share the queue. */
  group(name: string): Queue<Out, In, Pushed, Each> {
    return this.#with({ group: nameOf(name, 'group') });
  }

  /** The options that `create` sends. */
  config(options: QueueOptions): Queue<Out, In, Pushed, Each> {
    return this.#with({ options: checkedOptions(options) });
  }

  /** Creates the queue, or changes the options that are named. */
  async create(): Promise<Configured> {
    return configureQueue(
      this.#context.transport,
      this.#names('create'),
      this.#state.options ?? {},
    );
  }

  /** Deletes the queue with all that belongs to it; false: there surely was none. */
  async delete(): Promise<boolean> {
    return deleteQueue(this.#context.transport, this.#names('delete').queue);
  }

  /** Pushes that follow are collected, and leave in batches. */
  buffer(options: BufferOptions = {}): Queue<Out, In, Buffered, Each> {
    return this.#with({ buffer: bufferLimits(options) });
  }

  /** Stores the items; or takes them into the buffer, waiting for room. */
  push(items: PushItem<In> | readonly PushItem<In>[]): Pushing<Pushed> {
    const { buffer } = this.#state;
    // Now: the program may change what it gave as soon as it has the promise.
    const ready = this.#ready(items);
    if (ready instanceof Promise) ready.catch(() => undefined);
    if (buffer === undefined) {
      const send = async () => sendItems(this.#context.transport, await ready);
      return new Pushing(send, []) as unknown as Pushing<Pushed>;
    }
    const added = this.#buffered(ready, buffer);
    const send = (): Buffered | Promise<Buffered> => {
      if (typeof added === 'number') return { buffered: true, count: added };
      return added.then((count) => ({ buffered: true, count }));
    };
    return new Pushing(send, { buffered: true, count: 0 }) as unknown as Pushing<Pushed>;
  }

  /** Sends what the buffer of this queue holds; rejects when a batch failed, which is kept. */
  async flushBuffer(): Promise<void> {
    await this.#context.buffers.flush(this.#names('flushBuffer').queue);
  }

  /** Messages of a pop: 1. */
  batch(messages: number): Queue<Out, In, Pushed, Each> {
    return this.#with({ batch: whole(messages, 'batch') });
  }

  /** Partitions that a pop may take messages of: 1, at most 64. */
  partitions(partitions: number): Queue<Out, In, Pushed, Each> {
    return this.#with({ partitions: whole(partitions, 'partitions', 1, PARTITIONS_MAX) });
  }

  /** Whether a pop waits for messages: true. */
  wait(wait: boolean): Queue<Out, In, Pushed, Each> {
    return this.#with({ wait: flag(wait, 'wait') });
  }

  /** How long a pop waits: 30 s, at most 60. */
  timeoutMillis(time: Duration): Queue<Out, In, Pushed, Each> {
    const waitMs = durationMs(time, 'timeoutMillis');
    if (waitMs <= WAIT_MS_MAX) return this.#with({ waitMs });
    throw new TypeError(`timeoutMillis is ${waitMs}: the broker waits ${WAIT_MS_MAX} ms at most`);
  }

  /** The lease of a pop, instead of the queue's own. */
  leaseTime(time: Duration): Queue<Out, In, Pushed, Each> {
    return this.#with({ leaseSeconds: durationSeconds(time, 'leaseTime') });
  }

  /** A pop acknowledges at the delivery: nothing is delivered twice, and a crash loses messages. */
  commitOnDelivery(commit = true): Queue<Out, In, Pushed, Each> {
    return this.#with({ commitOnDelivery: flag(commit, 'commitOnDelivery') });
  }

  /** Where a new group begins: `all`, or `new` messages alone. */
  subscriptionMode(mode: 'all' | 'new'): Queue<Out, In, Pushed, Each> {
    return this.#with({ subscriptionMode: oneOf(mode, 'subscriptionMode', ['all', 'new']) });
  }

  /** Where a new group begins: `now`, a Date or an ISO time. */
  subscriptionFrom(time: 'now' | Date | string): Queue<Out, In, Pushed, Each> {
    const text = time instanceof Date && !Number.isNaN(+time) ? time.toISOString() : String(time);
    if (text === 'now' || !Number.isNaN(Date.parse(text))) {
      return this.#with({ subscriptionFrom: text });
    }
    throw misuse('subscriptionFrom', text, "'now', a Date or an ISO time");
  }

  /** Only the newest message of each partition. */
  conflation(conflation = true): Queue<Out, In, Pushed, Each> {
    return this.#with({ conflation: flag(conflation, 'conflation') });
  }

  /** The broker chooses `batch` and `partitions`, where they are not named. */
  autopilot(autopilot = true): Queue<Out, In, Pushed, Each> {
    return this.#with({ autopilot: flag(autopilot, 'autopilot') });
  }

  async pop(): Promise<Message<Out>[]> {
    return (await this.popResult()).messages;
  }

  /** The messages, and what the autopilot chose. */
  async popResult(): Promise<PopResult<Out>> {
    const { transport } = this.#context;
    const result = await pop<Out>(transport, this.#popTerms('pop'));
    for (const message of result.messages) {
      await checked(message, this.#state.schema).catch((error) => message.refuseData(error));
    }
    return result;
  }

  /** The dead letters of the queue; of one group with `group`. */
  dlq(group?: string): DeadLetterQuery<Out> {
    const named = group === undefined ? this.#state.group : nameOf(group, 'group');
    return new DeadLetterQuery(this.#context.transport, this.#names('dlq').queue, named);
  }

  /** Batches that are worked on at a time: 1. */
  concurrency(batches: number): Queue<Out, In, Pushed, Each> {
    return this.#with({ concurrency: whole(batches, 'concurrency') });
  }

  /** The loop ends after so many messages. */
  limit(messages: number): Queue<Out, In, Pushed, Each> {
    return this.#with({ limit: whole(messages, 'limit') });
  }

  /** The loop ends when nothing came for so long. */
  idleMillis(time: Duration): Queue<Out, In, Pushed, Each> {
    return this.#with({ idleMs: durationMs(time, 'idleMillis', 1) });
  }

  /** Whether a loop acknowledges what its handler returned from, and what it threw at: true. */
  autoAck(ack: boolean): Queue<Out, In, Pushed, Each> {
    return this.#with({ autoAck: flag(ack, 'autoAck') });
  }

  /** Renews the lease of a batch while its handler works: every 20 s, or third of `leaseTime`. */
  renewLease(enabled = true, interval?: Duration): Queue<Out, In, Pushed, Each> {
    const what = 'the interval of renewLease';
    const everyMs = interval === undefined ? undefined : durationMs(interval, what, 100);
    return this.#with({ renewal: flag(enabled, 'renewLease') ? { everyMs } : null });
  }

  /** The handler gets one message at a time, instead of a batch. */
  each(): Queue<Out, In, Pushed, true> {
    return this.#with({ each: true });
  }

  /** Handles messages until it is told to end. It begins at once, and is awaited for its end. */
  consume(
    handler: Each extends true ? MessageHandler<Out> : BatchHandler<Out>,
    options: ConsumeOptions = {},
  ): Consuming<Out> {
    if (typeof handler !== 'function') {
      const form = this.#state.each ? 'async (message) => { ... }' : 'async (messages) => { ... }';
      throw misuse('the handler of consume', handler, `consume(${form})`);
    }
    refuseUnknown(options, 'signal supervision', 'consume');
    signalOf(options.signal);
    const terms = this.#consumeTerms('consume');
    if (options.supervision !== undefined) {
      checkSupervision(options.supervision, terms.concurrency);
    }
    const { transport, loops } = this.#context;
    const kind = this.#state.each ? 'each' : 'batch';
    return new Consuming(
      transport,
      loops,
      terms,
      { kind, handle: handler } as Handler<Out>,
      options,
    );
  }

  /** One message after the other; each is completed when the next one is asked for. */
  async *messages(
    options: Pick<ConsumeOptions, 'signal'> = {},
  ): AsyncGenerator<Message<Out>, void, undefined> {
    refuseUnknown(options, 'signal', 'messages');
    const signal = signalOf(options.signal);
    const terms = this.#consumeTerms('messages');
    const { transport, loops } = this.#context;
    const ending = new AbortController();
    const end = () => ending.abort(loopEnded());
    if (signal?.aborted) end();
    const forget = onAbort(signal, end);
    let settle: () => void = () => undefined;
    const left = new Promise<void>((resolve) => {
      settle = resolve;
    });
    const stop = async () => {
      end();
      // The body of a loop may never come back, or be what waits here.
      const limit = new AbortController();
      left.then(() => limit.abort());
      await sleep(transport.platform, STOP_MS_MAX, limit.signal).catch(() => undefined);
    };
    const loop = { stop };
    loops.add(loop);
    try {
      yield* messageStream<Out>(transport, terms, ending.signal);
    } finally {
      settle();
      loops.delete(loop);
      forget();
    }
  }

  /**
   * A program pushes one message at a time into a buffer: where nothing is waited for, no promise
   * is made.
   */
  #buffered(
    ready: readonly ReadyItem[] | Promise<readonly ReadyItem[]>,
    limits: BufferLimits,
  ): number | Promise<number> {
    try {
      return this.#context.buffers.of(this.#names('push').queue, limits).add(ready);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** A promise where the schema is asked, and of what is wrong. */
  #ready(items: unknown): readonly ReadyItem[] | Promise<readonly ReadyItem[]> {
    try {
      const { queue } = this.#names('push');
      const { partition, schema } = this.#state;
      const nowMs = this.#context.transport.platform.nowMs();
      const ready = readyItems(items, { queue, partition, nowMs });
      return schema === undefined ? ready : fitting(ready, schema);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #names(step: string): QueueNames {
    const { queue, namespace, task } = this.#state;
    if (queue !== undefined) return { queue, namespace, task };
    throw new TypeError(`${step} needs the name of a queue: write client.queue('orders').${step}`);
  }

  #popTerms(step: string): PopTerms {
    const { queue, partition, namespace, task, group, conflation } = this.#state;
    const { batch, partitions, waitMs = WAIT_MS, wait = true, commitOnDelivery } = this.#state;
    if (queue === undefined && namespace === undefined && task === undefined) {
      const form = `client.queue('orders').${step}, or client.queue().namespace('billing').${step}`;
      throw new TypeError(`${step} needs a queue, or the labels of some: write ${form}`);
    }
    if (queue === undefined && partition !== undefined) {
      throw new TypeError(`${step} of a partition needs its queue: write client.queue('orders')`);
    }
    if (conflation === true && (group === undefined || commitOnDelivery === true)) {
      throw new TypeError(
        group === undefined
          ? "conflation needs a consumer group: write group('name')"
          : 'conflation and commitOnDelivery exclude each other: leave one of them out',
      );
    }
    const autopilot = this.#state.autopilot === true && NODE?.env?.[AUTOPILOT_SWITCH] !== 'off';
    return {
      queue,
      partition,
      namespace,
      task,
      group,
      conflation,
      batch: batch ?? (autopilot ? undefined : 1),
      partitions,
      wait,
      waitMs,
      leaseSeconds: this.#state.leaseSeconds,
      commitOnDelivery: commitOnDelivery ?? false,
      subscriptionMode: this.#state.subscriptionMode,
      subscriptionFrom: this.#state.subscriptionFrom,
      autopilot,
    };
  }

  #consumeTerms(step: string): ConsumeTerms {
    const pop = this.#popTerms(step);
    if (pop.commitOnDelivery) {
      throw new TypeError(`${step} acknowledges by itself: leave commitOnDelivery out, or use pop`);
    }
    if (!pop.wait) {
      throw new TypeError(`${step} waits for messages: leave wait(false) out; idleMillis ends it`);
    }
    const { schema, concurrency = 1, limit = Infinity, idleMs = Infinity } = this.#state;
    const { autoAck = true, batch, each = false } = this.#state;
    const renewMs = this.#renewMs();
    const isPaced = each && batch === undefined && !pop.autopilot;
    return { pop, isPaced, schema, concurrency, limit, idleMs, autoAck, renewMs };
  }

  /** A lease that is over before its first renewal is lost each time. */
  #renewMs(): number | null {
    const { renewal = null, leaseSeconds = Number.POSITIVE_INFINITY } = this.#state;
    if (renewal === null) return null;
    const { everyMs = Math.min(RENEW_MS, (leaseSeconds * 1000) / 3) } = renewal;
    if (everyMs < leaseSeconds * 1000) return everyMs;
    const text = `renewLease is every ${everyMs} ms, and leaseTime ${leaseSeconds} s`;
    throw new TypeError(`${text}: write an interval that is shorter, a third of it or so`);
  }

  #with<NextPushed extends readonly PushResult[] | Buffered, NextEach extends boolean>(
    change: Partial<State>,
  ): Queue<Out, In, NextPushed, NextEach> {
    return new Queue(this.#context, { ...this.#state, ...change });
  }
}
