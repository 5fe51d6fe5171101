// Open loop: requests leave at scheduled moments, whether or not earlier ones were answered, and
// a latency runs from the scheduled moment to the answer. A stall of the node therefore counts
// for every request that was due in it; a closed loop would have sent one and waited.

import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { type Address, HttpConnection } from '../http-connection.js';
import { LoadFailedError } from './closed-loop.js';
import { monotonicMs, type TickerPlan } from './ticker.js';

export interface OpenLoopPlan {
  readonly address: Address;
  /** Connections to use; a request that finds none free waits, and its latency runs. */
  readonly connections: number;
  readonly ratePerSecond: number;
  readonly seconds: number;
  /** Requests, sent in turn. */
  readonly requests: readonly Uint8Array[];
  readonly expectedStatus: number;
}

export interface OpenLoopResult {
  /** Moment for which the first request was scheduled, on the clock of `monotonicMs`. */
  readonly firstMs: number;
  /** From the scheduled moment to the answer, in the order of schedule. */
  readonly latenciesMs: Float64Array;
  /** From the scheduled moment to the moment the request left: the share of this program. */
  readonly latenessMs: Float64Array;
}

/** Calls `tick` about when the plan says; returns what ends it. */
export type StartTicker = (
  plan: TickerPlan,
  tick: () => void,
  failed: (reason: Error) => void,
) => () => Promise<unknown>;

const LEAD_MS = 100;
const DRAIN_TIMEOUT_MS = 30_000;
const POLL_MS = 10;

class OpenLoopClient {
  connection: HttpConnection | null = null;
  current = -1;
  readonly #run: OpenLoopRun;

  constructor(run: OpenLoopRun) {
    this.#run = run;
  }

  onAnswer(status: number, body: Buffer): void {
    this.#run.answered(this, status, body);
  }

  onClosed(reason: Error): void {
    this.#run.fail(reason);
  }
}

class OpenLoopRun {
  readonly #plan: OpenLoopPlan;
  readonly #intervalMs: number;
  readonly #total: number;
  readonly #latenciesMs: Float64Array;
  readonly #latenessMs: Float64Array;
  readonly #clients: OpenLoopClient[] = [];
  /** Used in turn: a connection that is never used is closed by the node after some seconds. */
  readonly #free: OpenLoopClient[] = [];
  #firstMs = 0;
  #nextIndex = 0;
  #answers = 0;
  #failure: Error | null = null;

  constructor(plan: OpenLoopPlan) {
    this.#plan = plan;
    this.#intervalMs = 1000 / plan.ratePerSecond;
    this.#total = Math.floor(plan.ratePerSecond * plan.seconds);
    this.#latenciesMs = new Float64Array(this.#total);
    this.#latenessMs = new Float64Array(this.#total);
  }

  async run(startTicker: StartTicker): Promise<OpenLoopResult> {
    let endTicker = async (): Promise<unknown> => undefined;
    try {
      await this.#connect();
      this.#firstMs = monotonicMs() + LEAD_MS;
      endTicker = startTicker(
        { firstMs: this.#firstMs, intervalMs: this.#intervalMs, ticks: this.#total },
        () => this.sendDue(),
        (reason) => this.fail(reason),
      );
      await this.#finish();
      return {
        firstMs: this.#firstMs,
        latenciesMs: this.#latenciesMs,
        latenessMs: this.#latenessMs,
      };
    } finally {
      for (const client of this.#clients) {
        client.connection?.destroy();
      }
      await endTicker();
    }
  }

  /** Sends what is due, as far as connections are free. */
  sendDue(): void {
    const now = monotonicMs();
    while (this.#nextIndex < this.#total) {
      const scheduledMs = this.#firstMs + this.#nextIndex * this.#intervalMs;
      const client = scheduledMs <= now ? this.#free.shift() : undefined;
      if (client === undefined) {
        return;
      }
      this.#send(client, now - scheduledMs);
    }
  }

  answered(client: OpenLoopClient, status: number, body: Buffer): void {
    if (status !== this.#plan.expectedStatus) {
      throw new LoadFailedError(`answer ${status}: ${body.toString('utf8', 0, 300)}`);
    }
    const scheduledMs = this.#firstMs + client.current * this.#intervalMs;
    this.#latenciesMs[client.current] = monotonicMs() - scheduledMs;
    this.#answers += 1;
    this.#free.push(client);
    this.sendDue();
  }

  fail(reason: Error): void {
    this.#failure ??= reason;
  }

  async #connect(): Promise<void> {
    for (let index = 0; index < this.#plan.connections; index += 1) {
      const client = new OpenLoopClient(this);
      client.connection = await HttpConnection.open(this.#plan.address, client);
      this.#clients.push(client);
      this.#free.push(client);
    }
  }

  #send(client: OpenLoopClient, latenessMs: number): void {
    const request = this.#plan.requests[this.#nextIndex % this.#plan.requests.length];
    client.current = this.#nextIndex;
    this.#latenessMs[this.#nextIndex] = latenessMs;
    this.#nextIndex += 1;
    client.connection?.send(request ?? new Uint8Array());
  }

  async #finish(): Promise<void> {
    const deadlineMs = this.#firstMs + this.#plan.seconds * 1000 + DRAIN_TIMEOUT_MS;
    while (this.#answers < this.#total) {
      if (this.#failure !== null) {
        throw new LoadFailedError(this.#failure.message, { cause: this.#failure });
      }
      if (monotonicMs() > deadlineMs) {
        throw new LoadFailedError(`${this.#total - this.#answers} answers did not come`);
      }
      await sleep(POLL_MS);
    }
  }
}

/** Runs the plan to its last answer. */
export function runOpenLoop(
  plan: OpenLoopPlan,
  startTicker: StartTicker = startWorkerTicker,
): Promise<OpenLoopResult> {
  return new OpenLoopRun(plan).run(startTicker);
}

function startWorkerTicker(
  plan: TickerPlan,
  tick: () => void,
  failed: (reason: Error) => void,
): () => Promise<unknown> {
  const worker = new Worker(new URL('./ticker.js', import.meta.url), { workerData: plan });
  worker.on('message', tick);
  worker.on('error', failed);
  return () => worker.terminate();
}
