/**
 * The builder of a stream. Each step gives a new one; nothing is sent before `run`. Types let
 * through the orders that make sense, and programs without types are told what to write instead.
 */
import { flag, misuse, nameOf, refuseUnknown } from '../base/checks.js';
import { type Duration, durationMs } from '../base/durations.js';
import { Buffers } from '../messages/buffers.js';
import type { Message } from '../messages/message.js';
import type { PushResult } from '../messages/push-items.js';
import type { Buffered } from '../messages/pushing.js';
import { Queue, type QueueContext, type QueueParts } from '../queue/queue.js';
import { settingsOf } from '../transport/settings.js';
import { Transport } from '../transport/transport.js';
import type { Gate } from './gates.js';
import { aggregator, type Measures, type Reducer, reducer } from './reducers.js';
import { StreamRunner } from './runner.js';
import type { Sink, Step, StepFunction, StreamPlan } from './stream-plan.js';
import {
  type AnyWindowOptions,
  type CronUnit,
  functionOf,
  type StreamContext,
  type WindowKind,
  type WindowOptions,
  type WindowPlan,
  windowOf,
} from './windows.js';

/** What a window puts out when it closes. */
export interface Windowed<Value> {
  readonly key: string;
  /** Since the epoch. */
  readonly windowStart: number;
  readonly windowEnd: number;
  readonly value: Value;
}

type Act<Value, Source, Result> = (
  value: Value,
  context: StreamContext<Source>,
) => Result | Promise<Result>;

type AnyQueue<Out, In> = Queue<Out, In, PushResult[], boolean> | Queue<Out, In, Buffered, boolean>;

/** Where values go on to a sink. */
export interface StreamOutputs<Value, Source> {
  map<Next>(act: Act<Value, Source, Next>): StreamOutputs<Next, Source>;
  filter<Next extends Value>(
    act: (value: Value, context: StreamContext<Source>) => value is Next,
  ): StreamOutputs<Next, Source>;
  filter(act: Act<Value, Source, boolean>): StreamOutputs<Value, Source>;
  flatMap<Next>(act: Act<Value, Source, readonly Next[]>): StreamOutputs<Next, Source>;
  /** Pushes each value, in the commit of what it was made of; into the partition of its source. */
  to(queue: string, options?: SinkOptions<Value, Source>): RunnableStream;
  to<Out>(queue: AnyQueue<Out, Value>, options?: SinkOptions<Value, Source>): RunnableStream;
  /** Called before the commit: a value may come twice, after a failure. */
  foreach(act: Act<Value, Source, unknown>): RunnableStream;
}

export interface Stream<Value> extends StreamOutputs<Value, Message> {
  map<Next>(act: Act<Value, Message, Next>): Stream<Next>;
  filter<Next extends Value>(
    act: (value: Value, context: StreamContext) => value is Next,
  ): Stream<Next>;
  filter(act: Act<Value, Message, boolean>): Stream<Value>;
  flatMap<Next>(act: Act<Value, Message, readonly Next[]>): Stream<Next>;
  /** What windows and gates count by; the name of the partition without. */
  keyBy(act: Act<Value, Message, string | number>): Stream<Value>;
  windowTumbling(
    options: WindowOptions<Value> & { readonly seconds: number },
  ): WindowedStream<Value>;
  windowSliding(
    options: WindowOptions<Value> & { readonly size: Duration; readonly slide: Duration },
  ): WindowedStream<Value>;
  windowSession(options: WindowOptions<Value> & { readonly gap: Duration }): WindowedStream<Value>;
  windowCron(options: WindowOptions<Value> & { readonly every: CronUnit }): WindowedStream<Value>;
  /** Lets messages through in order; the first that it denies waits, and what is behind it. */
  gate(gate: Gate<Value>): StreamOutputs<Value, Message>;
}

export interface WindowedStream<Value> {
  /** Folds the values of a window, from a copy of `initial`; both are JSON. */
  reduce<State>(
    fold: (state: State, value: Value, context: StreamContext) => State | Promise<State>,
    initial: State,
  ): StreamOutputs<Windowed<State>, null>;
  /** A number for each name: `min`, `max` and `avg` are what they say, others are sums. */
  aggregate<Of extends Measures<Value>>(
    measures: Of,
  ): StreamOutputs<Windowed<{ readonly [Name in keyof Of]: number }>, null>;
}

export interface RunnableStream {
  /** Begins; resolves when the stream is registered. */
  run(options: StreamOptions): Promise<StreamRunner>;
}

export interface SinkOptions<Value, Source> {
  /** The partition of a value, or of all. */
  readonly partition?: string | Act<Value, Source, string>;
}

export interface StreamOptions {
  /** The name of the stream: its state and its place in the source belong to it. */
  readonly queryId: string;
  /** The broker, unless the source is a queue of a client. */
  readonly url?: string | readonly string[];
  readonly bearerToken?: string;
  /** Messages of a pop: 200. */
  readonly batchSize?: number;
  /** Partitions of a pop, which are worked on side by side: 4. */
  readonly maxPartitions?: number;
  /** How long a pop waits: 1 s. */
  readonly maxWaitMillis?: Duration;
  /** `streams.<queryId>` */
  readonly consumerGroup?: string;
  /** Drops the state of a stream of this name whose operators were others. */
  readonly reset?: boolean;
  readonly signal?: AbortSignal;
  /** Called with what a cycle failed by; the stream goes on. */
  readonly onError?: (error: unknown, where: { readonly partition: string }) => unknown;
}

const RUN_OPTIONS =
  'queryId url bearerToken batchSize maxPartitions maxWaitMillis consumerGroup reset signal ' +
  'onError';
const QUERY_ID = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,199}$/;
/** Steps of a queue that mean something to a stream; the rest belongs into `run`. */
const SOURCE_STEPS =
  'queue partition namespace task group schema options leaseSeconds subscriptionMode ' +
  'subscriptionFrom';

interface Draft {
  readonly source: { readonly queue: string } & Partial<QueueParts>;
  readonly before: readonly Step[];
  readonly window?: WindowPlan;
  readonly reducer?: Reducer;
  readonly gate?: Gate<unknown>;
  readonly after: readonly Step[];
}

class StreamBuilder {
  readonly #draft: Draft;

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  map(act: StepFunction) {
    return this.#step('map', act);
  }

  filter(act: StepFunction) {
    return this.#step('filter', act);
  }

  flatMap(act: StepFunction) {
    return this.#step('flatMap', act);
  }

  keyBy(act: StepFunction) {
    const { window, gate } = this.#draft;
    if (window ?? gate) throw new TypeError('keyBy stands behind what it is for: write it before');
    return this.#step('keyBy', act);
  }

  windowTumbling(options: AnyWindowOptions) {
    return this.#windowed('windowTumbling', options);
  }

  windowSliding(options: AnyWindowOptions) {
    return this.#windowed('windowSliding', options);
  }

  windowSession(options: AnyWindowOptions) {
    return this.#windowed('windowSession', options);
  }

  windowCron(options: AnyWindowOptions) {
    return this.#windowed('windowCron', options);
  }

  reduce(fold: Reducer['fold'], initial: unknown) {
    return this.#reduced('reduce', () => reducer(fold, initial));
  }

  aggregate(measures: Measures<never>) {
    return this.#reduced('aggregate', () => aggregator(measures));
  }

  gate(gate: Gate<unknown>) {
    const form = 'gate(tokenBucketGate({ ... }))';
    if (typeof gate !== 'function') throw misuse('the gate', gate, form);
    this.#refuseSecond('gate');
    if (this.#draft.before.some(({ kind }) => kind === 'flatMap')) {
      throw new TypeError('a gate lets messages through: write flatMap behind gate');
    }
    return new StreamBuilder({ ...this.#draft, gate });
  }

  to(queue: unknown, options: SinkOptions<never, never> = {}): RunnableStream {
    refuseUnknown(options, 'partition', 'to');
    const { queue: name, state } = queueOf(queue, 'to');
    const { partition = state?.partition } = options;
    if (partition !== undefined && typeof partition !== 'function') nameOf(partition, 'partition');
    const sink = { queue: name, partition: partition as StepFunction, schema: state?.schema };
    return this.#ended('to', { kind: 'queue', ...sink });
  }

  foreach(act: StepFunction): RunnableStream {
    return this.#ended('foreach', { kind: 'foreach', act: functionOf(act, 'foreach') });
  }

  run(): never {
    throw new TypeError('the values of a stream go somewhere: write to(queue) or foreach(act)');
  }

  #step(kind: Step['kind'], act: StepFunction): StreamBuilder {
    this.#refuseUnreduced(kind);
    const { window, gate, before, after } = this.#draft;
    const step = { kind, act: functionOf(act, kind) };
    const isAfter = window !== undefined || gate !== undefined;
    const steps = isAfter ? { after: [...after, step] } : { before: [...before, step] };
    return new StreamBuilder({ ...this.#draft, ...steps });
  }

  #windowed(kind: WindowKind, options: AnyWindowOptions): StreamBuilder {
    this.#refuseSecond(kind);
    return new StreamBuilder({ ...this.#draft, window: windowOf(kind, options) });
  }

  #reduced(name: string, made: () => Reducer): StreamBuilder {
    if (this.#draft.window === undefined || this.#draft.reducer !== undefined) {
      throw new TypeError(`${name} needs a window: write windowTumbling({ seconds: 60 }).${name}`);
    }
    return new StreamBuilder({ ...this.#draft, reducer: made() });
  }

  #refuseSecond(name: string): void {
    if (this.#draft.window === undefined && this.#draft.gate === undefined) return;
    throw new TypeError(
      `${name} is a second window or gate: write to(queue), and a stream from that queue`,
    );
  }

  #refuseUnreduced(name: string): void {
    if (this.#draft.window === undefined || this.#draft.reducer !== undefined) return;
    throw new TypeError(`${name} needs what the window comes to: write reduce or aggregate before`);
  }

  #ended(name: string, sink: Sink): RunnableStream {
    this.#refuseUnreduced(name);
    const { source, before, window = null, reducer = null, gate = null, after } = this.#draft;
    const { queue, state: { schema } = {} } = source;
    const plan = { queue, schema, before, window, reducer, gate, after, sink };
    return { run: (options) => run(plan, source, options) };
  }
}

async function run(
  plan: StreamPlan,
  source: Draft['source'],
  options: StreamOptions,
): Promise<StreamRunner> {
  refuseUnknown(options, RUN_OPTIONS, 'run');
  const { queryId, url, bearerToken, signal, onError } = options;
  if (typeof queryId !== 'string' || !QUERY_ID.test(queryId)) {
    const form = 'a text of letters, digits and . _ : / - such as "orders.sums"';
    throw misuse('queryId', queryId, form);
  }
  if (onError !== undefined) functionOf(onError, 'onError');
  const isOwn = url === undefined && bearerToken === undefined;
  const owner = isOwn ? source.context : url && contextOf(url, bearerToken);
  if (!owner) {
    throw new TypeError("run needs a broker: write url, or Stream.from(client.queue('orders'))");
  }
  const { queue, state } = source;
  const popped = new Queue(owner, { ...state, queue })
    .group(options.consumerGroup ?? state?.group ?? `streams.${queryId}`)
    .batch(options.batchSize ?? 200)
    .partitions(options.maxPartitions ?? 4)
    .timeoutMillis(durationMs(options.maxWaitMillis ?? 1000, 'maxWaitMillis', 10));
  const pop = Queue.popTerms(popped);
  const reset = flag(options.reset ?? false, 'reset');
  const terms = { queryId, reset, pop, signal, onError };
  const runner = await StreamRunner.start(owner.transport, owner.loops, plan, terms);
  if (url !== undefined) {
    const close = () => owner.transport.close();
    runner.ended.then(close, close);
  }
  return runner;
}

function contextOf(url: string | readonly string[], bearerToken?: string): QueueContext {
  const settings = settingsOf({ urls: [url].flat(), ...(bearerToken && { bearerToken }) });
  const transport = new Transport(settings);
  return { transport, buffers: new Buffers(transport), loops: new Set() };
}

function queueOf(queue: unknown, what: string): Draft['source'] {
  if (typeof queue === 'string') return { queue: nameOf(queue, `the queue of ${what}`) };
  const parts = Queue.parts(queue);
  const name = parts?.state.queue;
  if (parts === null || name === undefined) {
    throw misuse(`the queue of ${what}`, queue, `${what}(client.queue('orders')), or its name`);
  }
  return { queue: name, ...parts };
}

function from<Out, In>(queue: AnyQueue<Out, In>): Stream<Out>;
function from<Value = unknown>(queue: string): Stream<Value>;
function from(queue: unknown): unknown {
  const what = 'Stream.from';
  const source = queueOf(queue, what);
  const other = Object.keys(source.state ?? {}).find(
    (step) => !SOURCE_STEPS.split(' ').includes(step),
  );
  if (other !== undefined) {
    throw new TypeError(`${what} takes a queue without ${other}: leave it out, or see run`);
  }
  return new StreamBuilder({ source, before: [], after: [] });
}

/** `Stream.from(client.queue('orders')).map(...).to(client.queue('totals')).run({ ... })`. */
export const Stream = { from };
