// The client that an attack must not disturb: it pushes 200 messages a second, one a call, and asks
// every 50 ms for what there is, acknowledging what it gets. In a cluster its connections are
// spread over all nodes.
//
// Pushes are an open loop: each is timed from the moment at which it was due, so a stall of the
// node counts for every push that was due in it. Polls are closed loops: each request is timed from
// the moment it leaves. A connection that the node closed while nothing was asked on it is opened
// again, as any client does; every other loss, and every answer that is no success, is an error.

import { readPopAnswer } from '../demo/pop-answer.js';
import { percentile } from '../report/percentiles.js';
import { type Address, HttpConnection, requestBytes } from '../rig/http-connection.js';
import { type Elapsed, type Mark, NO_TIME, type Stopwatch } from './stopwatch.js';

const PUSH_INTERVAL_MS = 5;
const PUSH_LANES = 24;
/**
 * Connections that a stall may bring it to: a second's worth of pushes. When all of them wait for
 * answers the stall is measured, and pushes that come due meanwhile are left out: sent afterwards,
 * they would measure this client's own backlog.
 */
const PUSH_LANES_MAX = 200;
const POLL_INTERVAL_MS = 50;
const POLL_LANES = 4;
const PARTITIONS = 16;
const CONNECT_MS_MAX = 5000;
/** Time after which the client gives up an answer. The error counts, and so does the time. */
const ANSWER_MS_MAX = 60_000;
/** Time after the last push within which every push must be answered and its message received. */
const DRAIN_MS_MAX = 20_000;
const ERRORS_SHOWN_MAX = 6;

export const HONEST_QUEUE = 'honest';
const POP =
  `/api/v1/pop/queue/${HONEST_QUEUE}?consumerGroup=honest&batch=200` +
  `&partitions=${PARTITIONS}&leaseSeconds=60`;

export interface Timings {
  readonly count: number;
  readonly p99: Elapsed;
  readonly max: Elapsed;
}

export interface HonestFigures {
  readonly pushes: Timings;
  /** Pushes that were not sent, because too many had no answer. */
  readonly leftOut: number;
  readonly polls: Timings;
  readonly errors: number;
  /** The kinds of error, each with its number. */
  readonly errorTexts: readonly string[];
  /** Pushed with success and not received by the end. */
  readonly undelivered: number;
}

interface HonestAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/** A connection that is opened again after it closed. It carries one request at a time. */
class Lane {
  readonly #address: Address;
  #connection: HttpConnection | null = null;
  #finish: ((answer: HonestAnswer | Error) => void) | null = null;

  constructor(address: Address) {
    this.#address = address;
  }

  /** The answer, or why there is none. */
  async exchange(request: Uint8Array): Promise<HonestAnswer | Error> {
    if (this.#connection === null || this.#connection.closed) {
      try {
        this.#connection = await HttpConnection.open(this.#address, this, CONNECT_MS_MAX);
      } catch (error) {
        return error instanceof Error ? error : new Error(String(error));
      }
    }
    const connection = this.#connection;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#end(new Error('no answer in time')), ANSWER_MS_MAX);
      this.#finish = (answer) => {
        clearTimeout(timer);
        resolve(answer);
      };
      connection.send(request);
    });
  }

  onAnswer(status: number, body: Buffer): void {
    const finish = this.#finish;
    this.#finish = null;
    finish?.({ status, body: Buffer.from(body) });
  }

  onClosed(reason: Error): void {
    const finish = this.#finish;
    this.#finish = null;
    finish?.(reason);
  }

  close(): void {
    this.#end(new Error('no answer until the end'));
  }

  #end(reason: Error): void {
    this.#connection?.destroy();
    this.onClosed(reason);
  }
}

export class HonestClient {
  readonly #free: Lane[];
  readonly #busy = new Set<Lane>();
  readonly #pollers: readonly Lane[];
  readonly #nodes: readonly Address[];
  readonly #stopwatch: Stopwatch;
  readonly #pushTimes: Elapsed[] = [];
  readonly #pollTimes: Elapsed[] = [];
  readonly #errors = new Map<string, number>();
  /** Acknowledged pushes that were not received, and the reverse: either may come first. */
  readonly #stored = new Set<number>();
  readonly #received = new Set<number>();
  #timer: NodeJS.Timeout | null = null;
  #nextDueMs = 0;
  #nextNumber = 0;
  #inFlight = 0;
  #leftOut = 0;
  #isMeasured = false;
  #isPolling = false;
  #polling: Promise<unknown> = Promise.resolve();

  /** The stopwatch is that of the node that leads. */
  constructor(nodes: readonly Address[], stopwatch: Stopwatch) {
    this.#nodes = nodes;
    this.#stopwatch = stopwatch;
    this.#free = lanes(nodes, PUSH_LANES);
    this.#pollers = lanes(nodes, POLL_LANES);
  }

  start(): void {
    this.#nextDueMs = performance.now() + PUSH_INTERVAL_MS;
    this.#timer = setInterval(() => this.#tick(), PUSH_INTERVAL_MS);
    this.#isPolling = true;
    this.#polling = Promise.all(this.#pollers.map((lane) => this.#poll(lane)));
  }

  /** Starts the measurement: every answer that arrives from now on counts. */
  measure(): void {
    this.#leftOut = 0;
    this.#isMeasured = true;
  }

  /** Stops pushing, then waits for the missing answers and for the messages that were pushed. */
  async stop(): Promise<void> {
    if (this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
    const untilMs = performance.now() + DRAIN_MS_MAX;
    while (this.#inFlight + this.#stored.size > 0) {
      if (performance.now() > untilMs) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    this.#isPolling = false;
    if (this.#inFlight > 0) for (const lane of this.#busy) lane.close();
    await Promise.race([this.#polling, new Promise((resolve) => setTimeout(resolve, 2000))]);
  }

  close(): void {
    for (const lane of [...this.#free, ...this.#busy, ...this.#pollers]) lane.close();
  }

  figures(): HonestFigures {
    const errors = [...this.#errors].sort((one, other) => other[1] - one[1]);
    return {
      pushes: timingsOf(this.#pushTimes),
      leftOut: this.#leftOut,
      polls: timingsOf(this.#pollTimes),
      errors: errors.reduce((sum, [, times]) => sum + times, 0),
      errorTexts: errors.slice(0, ERRORS_SHOWN_MAX).map(([text, times]) => `${times} x ${text}`),
      undelivered: this.#stored.size,
    };
  }

  /** Lanes are used in turn, so that none is idle for long. */
  #tick(): void {
    const nowMs = performance.now();
    for (; this.#nextDueMs <= nowMs; this.#nextDueMs += PUSH_INTERVAL_MS) {
      const lane = this.#free.shift() ?? this.#oneMore();
      if (lane === null) this.#leftOut += 1;
      else void this.#push(lane, this.#stopwatch.mark(this.#nextDueMs));
    }
  }

  #oneMore(): Lane | null {
    const address = this.#nodes[this.#busy.size % this.#nodes.length];
    if (this.#busy.size >= PUSH_LANES_MAX || address === undefined) return null;
    return new Lane(address);
  }

  async #push(lane: Lane, due: Mark): Promise<void> {
    const number = this.#nextNumber;
    this.#nextNumber += 1;
    this.#inFlight += 1;
    this.#busy.add(lane);
    const item = { queue: HONEST_QUEUE, partition: `p${number % PARTITIONS}`, payload: { number } };
    const body = JSON.stringify({ items: [item] });
    const answer = await lane.exchange(requestBytes('POST', '/api/v1/push', body));
    this.#pushed(due, answer, number);
    this.#inFlight -= 1;
    this.#busy.delete(lane);
    this.#free.push(lane);
  }

  #pushed(due: Mark, answer: HonestAnswer | Error, number: number): void {
    if (answer instanceof Error || answer.status !== 201) this.#failed('push', answer);
    else if (!this.#received.delete(number)) this.#stored.add(number);
    if (this.#isMeasured) this.#pushTimes.push(this.#stopwatch.since(due));
  }

  async #poll(lane: Lane): Promise<void> {
    while (this.#isPolling) {
      const dueMs = performance.now() + POLL_INTERVAL_MS;
      const popped = await this.#timed(lane, 'GET', POP, undefined);
      if (popped !== null) await this.#settle(lane, popped);
      const waitMs = dueMs - performance.now();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }

  /** Acknowledges the popped messages. */
  async #settle(lane: Lane, { body, status }: HonestAnswer): Promise<void> {
    if (status !== 200) return;
    const messages = readPopAnswer(body);
    if (messages.length === 0) return;
    const acknowledgments = messages.map(({ transactionId, partitionId, leaseId }) => ({
      transactionId,
      partitionId,
      leaseId,
      status: 'completed',
    }));
    const ack = JSON.stringify({ consumerGroup: 'honest', acknowledgments });
    const acked = await this.#timed(lane, 'POST', '/api/v1/ack/batch', ack);
    if (acked === null) return;
    if (acked.body.includes('"success":false')) this.#failed('ack', acked);
    for (const { data } of messages) {
      const { number } = JSON.parse(data.toString('utf8')) as { readonly number: number };
      if (!this.#stored.delete(number)) this.#received.add(number);
    }
  }

  /**
   * Sends one request and times it. null: the answer is no success, and was counted as an error.
   */
  async #timed(
    lane: Lane,
    method: string,
    path: string,
    body: string | undefined,
  ): Promise<HonestAnswer | null> {
    const sent = this.#stopwatch.mark();
    const answer = await lane.exchange(requestBytes(method, path, body));
    if (this.#isMeasured && this.#isPolling) this.#pollTimes.push(this.#stopwatch.since(sent));
    if (!(answer instanceof Error) && answer.status < 300) return answer;
    this.#failed(method === 'GET' ? 'pop' : 'ack', answer);
    return null;
  }

  #failed(what: string, answer: HonestAnswer | Error): void {
    if (!this.#isMeasured) return;
    const why =
      answer instanceof Error
        ? answer.message
        : `${answer.status} ${answer.body.toString('utf8', 0, 80)}`;
    const text = `${what}: ${why}`;
    this.#errors.set(text, (this.#errors.get(text) ?? 0) + 1);
  }
}

function timingsOf(times: readonly Elapsed[]): Timings {
  if (times.length === 0) return { count: 0, p99: NO_TIME, max: NO_TIME };
  const sorted = Float64Array.from(times, ({ ms }) => ms).sort();
  const quiet = Float64Array.from(times, ({ quietMs }) => quietMs).sort();
  const at = (fraction: number) => ({
    ms: percentile(sorted, fraction),
    quietMs: percentile(quiet, fraction),
  });
  return { count: times.length, p99: at(0.99), max: at(1) };
}

function lanes(nodes: readonly Address[], count: number): Lane[] {
  return Array.from({ length: count }, (_, index) => {
    const node = nodes[index % nodes.length];
    if (node === undefined) throw new Error('there is no node to ask');
    return new Lane(node);
  });
}
