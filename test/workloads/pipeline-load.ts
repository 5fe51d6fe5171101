/**
 * Workload 5 (pipeline) on real processes: pop one input, then a transaction of its
 * acknowledgement, a result without an id of its own, and a count. An attempt without an answer is
 * followed by another one under the same lease, now and then.
 */
import { checkPipeline, type PipelineAttempt } from '../checkers/pipeline-checker.js';
import type { HttpClient } from '../process/http-client.js';
import type { NodeCaller } from '../process/node-caller.js';
import { readPartitions } from '../process/partition-reader.js';
import type { SeededRandom } from '../seeded-random.js';
import { InputLoad, inputName, popInputs, type TakenInput } from './input-load.js';
import {
  bodyOf,
  type Finding,
  type LoadPart,
  type LoadPartOptions,
  Loops,
  wasRefused,
} from './load-part.js';

const WORKERS = 2;
const GROUP = 'pipe';
const COUNTER = 'done';

/** The answer of a transaction: whether it committed, and what the counter is then. */
interface CountedAnswer {
  readonly success: boolean;
  readonly results: readonly { readonly type?: string; readonly value?: unknown }[];
}

export class PipelineLoad implements LoadPart {
  readonly queues: readonly string[];
  readonly #inputs: InputLoad;
  readonly #loops: Loops;
  readonly #random: SeededRandom;
  readonly #results: string;
  readonly #namespace: string;
  readonly #attempts: PipelineAttempt[] = [];

  constructor(options: LoadPartOptions) {
    this.#inputs = new InputLoad(options, `${options.name}.in`);
    this.#loops = new Loops(options);
    this.#random = options.random.fork();
    this.#results = `${options.name}.out`;
    this.#namespace = options.name;
    this.queues = [this.#inputs.queue, this.#results];
  }

  get size(): number {
    return this.#attempts.length;
  }

  start(): void {
    this.#inputs.start();
    for (let i = 0; i < WORKERS; i++) this.#loops.run((caller) => this.#work(caller));
  }

  async finish(): Promise<void> {
    await this.#inputs.finish(GROUP);
    await this.#loops.end();
  }

  async abandon(): Promise<void> {
    await Promise.all([this.#inputs.abandon(), this.#loops.end()]);
  }

  async judge([node]: readonly HttpClient[]): Promise<readonly Finding[]> {
    if (node === undefined) throw new Error('no node is running');
    const path = `/api/v1/kv/${this.#namespace}/${COUNTER}`;
    const answer = await node.get(path);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    const { value = 0 } = JSON.parse(answer.text) as { readonly value?: number };
    const inputs = await readPartitions(node, this.#inputs.partitions);
    const places = this.#inputs.partitions.map((place) => place.replace('.in/', '.out/'));
    const outputs = await readPartitions(node, places);
    return checkPipeline({
      inputs: inputs.map(inputName),
      attempts: this.#attempts,
      outputs: outputs.map(inputName),
      counter: value,
    });
  }

  async #work(caller: NodeCaller): Promise<void> {
    const [input] = await popInputs(caller, this.#inputs.queue, GROUP, 1);
    if (input === undefined) return;
    if (this.#random.chance(0.1)) await this.#attempt(caller, input, true);
    const outcome = await this.#attempt(caller, input, false);
    const isOpen = outcome === 'unknown' || outcome === 'refused';
    if (isOpen && this.#random.chance(0.5)) await this.#attempt(caller, input, false);
  }

  async #attempt(
    caller: NodeCaller,
    { name, partition, message }: TakenInput,
    fails: boolean,
  ): Promise<PipelineAttempt['outcome']> {
    const value = `${name}.${this.#attempts.length}.${Math.floor(performance.now() * 1000)}`;
    const { transactionId, partitionId, leaseId } = message;
    const push = { queue: this.#results, partition, payload: value };
    const place = { ns: this.#namespace, required: true };
    const body = {
      operations: [
        { type: 'ack', transactionId, partitionId, consumerGroup: GROUP, leaseId },
        { type: 'push', ...push },
      ],
      kv: [
        { op: 'incr', ...place, key: COUNTER, delta: 1, forever: true },
        ...(fails ? [{ op: 'check', ...place, key: 'never', expect: 1 }] : []),
      ],
    };
    const beganMs = performance.now();
    const reply = await caller.post('transaction', '/api/v1/transaction', JSON.stringify(body));
    const endedMs = performance.now();
    const answer = bodyOf<CountedAnswer>(reply);
    let outcome: PipelineAttempt['outcome'] = wasRefused(reply) ? 'refused' : 'unknown';
    let count: number | null = null;
    if (answer !== null) {
      outcome = answer.success ? 'committed' : 'rolled-back';
      count = answer.success ? countIn(answer) : null;
    }
    this.#attempts.push({ value, input: name, beganMs, endedMs, outcome, count });
    return outcome;
  }
}

function countIn({ results }: CountedAnswer): number | null {
  const counted = results.find(({ type }) => type === 'kv');
  return typeof counted?.value === 'number' ? counted.value : null;
}
