/** What the clients of one surface have in common on real processes. */
import type { HttpClient } from '../process/http-client.js';
import { NodeCaller, type Observe, type Reply } from '../process/node-caller.js';
import { sleep } from '../process/node-under-test.js';
import type { SeededRandom } from '../seeded-random.js';

export interface LoadPartOptions {
  /** One for each node; may change while the load runs. */
  readonly nodes: readonly HttpClient[];
  readonly random: SeededRandom;
  /** Begins the names of all that it stores. */
  readonly name: string;
  readonly requestMsMax: number;
  /** A client rests up to so long between two things that it does. */
  readonly restMsMax: number;
  readonly observe?: Observe;
}

export interface LoadPart {
  /** All that it stores into. */
  readonly queues: readonly string[];
  /** How many things it did, for whoever reads what a run came to. */
  readonly size: number;
  start(): void;
  /** Begins nothing new, and comes to its end; all nodes are well. */
  finish(): Promise<void>;
  /** Ends the clients as soon as their requests have ended. */
  abandon(): Promise<void>;
  /** Returns the anomalies; `nodes` are all that run. Called after `finish`. */
  judge(nodes: readonly HttpClient[]): Promise<readonly Finding[]>;
}

export interface Finding {
  readonly kind: string;
  readonly text: string;
}

/** The loops of some clients: each does one thing after the other until they are to end. */
export class Loops {
  readonly #options: LoadPartOptions;
  readonly #running: Promise<void>[] = [];
  #ended = false;

  constructor(options: LoadPartOptions) {
    this.#options = options;
  }

  get ended(): boolean {
    return this.#ended;
  }

  caller(): NodeCaller {
    const { nodes, random, requestMsMax, observe } = this.#options;
    return new NodeCaller({ nodes, random: random.fork(), requestMsMax, observe });
  }

  run(step: (caller: NodeCaller) => Promise<void>): void {
    const caller = this.caller();
    this.#running.push(this.#loop(() => step(caller)));
  }

  async end(): Promise<void> {
    this.#ended = true;
    await Promise.all(this.#running);
  }

  async #loop(step: () => Promise<void>): Promise<void> {
    const { random, restMsMax } = this.#options;
    while (!this.#ended) {
      await step();
      await sleep(random.between(0, restMsMax));
    }
  }
}

/** The parsed body of an answer; null where there is none. */
export function bodyOf<Body>(reply: Reply): Body | null {
  if (reply.kind !== 'answer') return null;
  return JSON.parse(reply.answer.text) as Body;
}

/** Nothing was done, for certain. */
export function wasRefused({ kind }: Reply): boolean {
  return kind === 'refused' || kind === 'not-sent';
}
