// A queue with a steady load and consumers that wait for it: single pushes in an open loop, and so
// many connections of one group that each hold a pop which waits. How long a push takes, and how
// long a message needs until a consumer has it, both from the moment at which the push was due.

import { type ConnectionListener, HttpConnection, requestBytes } from '../http-connection.js';
import { type OpenLoopResult, runOpenLoop } from '../load/open-loop.js';
import { type LatencySummary, summarize } from '../load/percentiles.js';
import { partitionName, payloadTexts } from '../load/push-requests.js';
import { monotonicMs } from '../load/ticker.js';
import type { NodeProcess } from '../node-process.js';

export interface SteadyPlan {
  readonly queue: string;
  readonly consumers: number;
  readonly pushesPerSecond: number;
  /** The first of them warms up and does not count. */
  readonly seconds: number;
}

export interface SteadyResult {
  readonly push: LatencySummary;
  readonly delivery: LatencySummary;
}

const PARTITIONS = 64;
const PAYLOAD_BYTES = 256;
const PUSH_CONNECTIONS = 32;
const WARM_UP_SECONDS = 1;
const DELIVERED_MS_MAX = 10_000;
const POLL_MS = 10;
const POP_QUERY =
  'consumerGroup=steady&batch=100&partitions=64&wait=true&timeout=30000&autoAck=true';
/** A number in front of each payload says when its push was due. */
const NUMBER = Buffer.from('"number":');

/** Consumers of one queue, each with a pop that waits, as long as they are wanted. */
export class Consumers {
  readonly #request: Buffer;
  readonly #onMessage: (number: number) => void;
  readonly #connections: HttpConnection[] = [];
  #failure: Error | null = null;

  private constructor(queue: string, onMessage: (number: number) => void) {
    this.#request = requestBytes('GET', `/api/v1/pop/queue/${queue}?${POP_QUERY}`);
    this.#onMessage = onMessage;
  }

  static async open(
    node: NodeProcess,
    queue: string,
    count: number,
    onMessage: (number: number) => void,
  ): Promise<Consumers> {
    const consumers = new Consumers(queue, onMessage);
    for (let i = 0; i < count; i += 1) await consumers.#connect(node);
    return consumers;
  }

  throwFailure(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  close(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  async #connect(node: NodeProcess): Promise<void> {
    const listener: ConnectionListener = {
      onAnswer: (status, body) => {
        if (status === 200) this.#read(body);
        else if (status !== 204) this.#fail(new Error(`pop: ${status} ${body.toString('utf8')}`));
        connection.send(this.#request);
      },
      onClosed: (reason) => this.#fail(reason),
    };
    const connection = await HttpConnection.open(node.address, listener);
    this.#connections.push(connection);
    connection.send(this.#request);
  }

  #read(body: Buffer): void {
    for (let at = body.indexOf(NUMBER); at >= 0; at = body.indexOf(NUMBER, at + 1)) {
      const digits = body.toString('latin1', at + NUMBER.length, at + NUMBER.length + 12);
      this.#onMessage(Number.parseInt(digits, 10));
    }
  }

  #fail(reason: Error): void {
    this.#failure ??= reason;
  }
}

/** Pushes of one message, numbered from 0; message `i` goes to partition `i` modulo 64. */
export function numberedPushes(queue: string, count: number): readonly Buffer[] {
  const texts = payloadTexts(PARTITIONS, PAYLOAD_BYTES - '"number":000000,'.length);
  return Array.from({ length: count }, (_, i) => {
    const payload = `{"number":${i},${(texts[i % PARTITIONS] ?? '{}').slice(1)}`;
    const item = `{"queue":"${queue}","partition":"${partitionName(i % PARTITIONS)}"`;
    return requestBytes('POST', '/api/v1/push', `{"items":[${item},"payload":${payload}}]}`);
  });
}

export async function measureSteady(node: NodeProcess, plan: SteadyPlan): Promise<SteadyResult> {
  const { queue, pushesPerSecond } = plan;
  const total = pushesPerSecond * (plan.seconds + WARM_UP_SECONDS);
  const arrivedMs = new Float64Array(total).fill(Number.NaN);
  let missing = total;
  const consumers = await Consumers.open(node, queue, plan.consumers, (number) => {
    arrivedMs[number] = monotonicMs();
    missing -= 1;
  });
  try {
    const result = await runOpenLoop({
      address: node.address,
      connections: PUSH_CONNECTIONS,
      ratePerSecond: pushesPerSecond,
      seconds: plan.seconds + WARM_UP_SECONDS,
      requests: numberedPushes(queue, total),
      expectedStatus: 201,
    });
    await delivered(consumers, () => missing);
    const from = pushesPerSecond * WARM_UP_SECONDS;
    return {
      push: summarize(result.latenciesMs.subarray(from)),
      delivery: summarize(deliveries(result, arrivedMs, pushesPerSecond).subarray(from)),
    };
  } finally {
    consumers.close();
  }
}

async function delivered(consumers: Consumers, missing: () => number): Promise<void> {
  const untilMs = performance.now() + DELIVERED_MS_MAX;
  while (missing() > 0) {
    consumers.throwFailure();
    if (performance.now() > untilMs) throw new Error(`${missing()} messages were not delivered`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function deliveries(
  { firstMs }: OpenLoopResult,
  arrivedMs: Float64Array,
  pushesPerSecond: number,
): Float64Array {
  return arrivedMs.map((atMs, i) => atMs - firstMs - (i * 1000) / pushesPerSecond);
}
