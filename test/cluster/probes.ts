/**
 * One producer for each node that asks no other: as long as one of them is acknowledged, the
 * cluster takes writes. The other producers cannot tell that, for they wait for consumers, and a
 * client stays a while with a node that does not answer.
 */
import type { HttpClient } from '../process/http-client.js';
import { NodeCaller, type Observe } from '../process/node-caller.js';
import { sleep } from '../process/node-under-test.js';
import type { SeededRandom } from '../seeded-random.js';

export interface ProbesOptions {
  /** May change while the probes run. */
  readonly nodes: readonly HttpClient[];
  readonly random: SeededRandom;
  readonly queue: string;
  readonly requestMsMax: number;
  readonly observe: Observe;
}

const REST_MS = 25;

export class Probes {
  readonly queue: string;
  readonly #options: ProbesOptions;
  readonly #running = new Map<HttpClient, Promise<void>>();
  #probing = true;
  #watching: Promise<void> = Promise.resolve();

  constructor(options: ProbesOptions) {
    this.#options = options;
    this.queue = options.queue;
  }

  start(): void {
    this.#watching = this.#watch();
  }

  async stop(): Promise<void> {
    this.#probing = false;
    await this.#watching;
    await Promise.all(this.#running.values());
  }

  /** A node that comes gets a probe, and that of one that is gone ends. */
  async #watch(): Promise<void> {
    while (this.#probing) {
      for (const node of this.#options.nodes) {
        if (!this.#running.has(node)) this.#running.set(node, this.#probe(node));
      }
      await sleep(REST_MS);
    }
  }

  async #probe(node: HttpClient): Promise<void> {
    const { nodes, random, queue, requestMsMax, observe } = this.#options;
    const caller = new NodeCaller({ nodes: [node], random, requestMsMax, observe });
    const body = JSON.stringify({ items: [{ queue, payload: 0 }] });
    while (this.#probing && nodes.includes(node)) {
      await caller.post('probe', '/api/v1/push', body);
      await sleep(REST_MS);
    }
  }
}
