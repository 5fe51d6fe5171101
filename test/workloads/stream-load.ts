/**
 * Workload 9 (streams) on real processes: workers take batches of numbers, read what their query
 * has counted of the partition, and commit acknowledgement, count and a record of the batch in one
 * cycle; now and then of a part of the batch first, keeping the lease.
 */
import type { Answer } from '@svc/http/api';
import { groupBy } from '../checkers/history.js';
import { checkStreams, type StreamCell, type StreamCycle } from '../checkers/stream-checker.js';
import type { HttpClient } from '../process/http-client.js';
import type { NodeCaller } from '../process/node-caller.js';
import { sleep } from '../process/node-under-test.js';
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

type StreamRegisteredAnswer = Answer<'POST /streams/v1/queries'>;
type StreamStateAnswerBody = Answer<'POST /streams/v1/state/get'>;

const WORKERS = 2;
const BATCH_MAX = 5;
const CELL = 'cell';
const AGAIN_MS_MAX = 200;
const STATE_PATH = '/streams/v1/state/get';

interface Counted {
  readonly count: number;
  readonly sum: number;
}

export class StreamLoad implements LoadPart {
  readonly queues: readonly string[];
  readonly #inputs: InputLoad;
  readonly #loops: Loops;
  readonly #random: SeededRandom;
  readonly #sink: string;
  readonly #name: string;
  readonly #cycles: StreamCycle[] = [];
  /** By name, the id of each partition that was claimed. */
  readonly #partitionIds = new Map<string, string>();
  #queryId: string | null = null;

  constructor(options: LoadPartOptions) {
    this.#inputs = new InputLoad(options, `${options.name}.in`);
    this.#loops = new Loops(options);
    this.#random = options.random.fork();
    this.#sink = `${options.name}.out`;
    this.#name = options.name;
    this.queues = [this.#inputs.queue, this.#sink];
  }

  get size(): number {
    return this.#cycles.length;
  }

  start(): void {
    this.#inputs.start();
    for (let i = 0; i < WORKERS; i++) this.#loops.run((caller) => this.#work(caller));
  }

  async finish(): Promise<void> {
    await this.#inputs.finish(groupOf(this.#queryId));
    await this.#loops.end();
  }

  async abandon(): Promise<void> {
    await Promise.all([this.#inputs.abandon(), this.#loops.end()]);
  }

  async judge(nodes: readonly HttpClient[]): Promise<readonly Finding[]> {
    const [node] = nodes;
    if (node === undefined) throw new Error('no node is running');
    const records = await readPartitions(node, this.#inputs.partitions);
    const sinks = this.#inputs.partitions.map((place) => place.replace('.in/', '.out/'));
    const outputs = await readPartitions(node, sinks);
    const inputs = records.map((record) => {
      const name = inputName(record);
      const partition = record.partition.slice(record.partition.lastIndexOf('/') + 1);
      return { partition, name, number: numberOf(name) };
    });
    const cells: StreamCell[] = [];
    for (const [i, each] of nodes.entries()) cells.push(...(await this.#cellsAt(each, i)));
    return checkStreams({
      inputs,
      cycles: this.#cycles,
      outputs: outputs.map(inputName),
      cells,
      nodes: nodes.map((_, i) => i),
    });
  }

  async #cellsAt(node: HttpClient, number: number): Promise<StreamCell[]> {
    const cells: StreamCell[] = [];
    for (const [partition, partitionId] of this.#partitionIds) {
      const body = { query_id: this.#queryId, partition_id: partitionId, keys: [CELL] };
      const answer = await node.post(STATE_PATH, body);
      if (answer.status !== 200) throw new Error(`state: ${answer.status} ${answer.text}`);
      const counted = countedOf(JSON.parse(answer.text) as StreamStateAnswerBody);
      cells.push({ node: number, partition, ...counted });
    }
    return cells;
  }

  async #work(caller: NodeCaller): Promise<void> {
    this.#queryId ??= await this.#register(caller);
    if (this.#queryId === null) return;
    const group = groupOf(this.#queryId);
    const size = this.#random.between(1, BATCH_MAX);
    const taken = await popInputs(caller, this.#inputs.queue, group, size);
    for (const batch of groupBy(taken, ({ partition }) => partition).values()) {
      await this.#commitBatch(caller, batch);
    }
  }

  async #register(caller: NodeCaller): Promise<string | null> {
    const queues = { source_queue: this.#inputs.queue, sink_queue: this.#sink };
    const body = JSON.stringify({ name: this.#name, ...queues, config_hash: 'h' });
    const reply = await caller.post('stream', '/streams/v1/queries', body);
    return bodyOf<StreamRegisteredAnswer>(reply)?.query_id ?? null;
  }

  async #commitBatch(caller: NodeCaller, batch: readonly TakenInput[]): Promise<void> {
    const [first] = batch;
    if (first === undefined) return;
    const { partition, message } = first;
    this.#partitionIds.set(partition, message.partitionId);
    const body = { query_id: this.#queryId, partition_id: message.partitionId, keys: [CELL] };
    const reply = await caller.post('state', STATE_PATH, JSON.stringify(body));
    // A standby that is a moment behind does not know of the query yet.
    if (reply.kind !== 'answer' || reply.answer.status !== 200) return;
    const state = JSON.parse(reply.answer.text) as StreamStateAnswerBody;
    const cell = countedOf(state);
    const isSplit = batch.length > 1 && this.#random.chance(0.2);
    const part = isSplit ? batch.slice(0, this.#random.between(1, batch.length - 1)) : batch;
    const outcome = await this.#cycle(caller, part, cell, !isSplit);
    if (isSplit && outcome === 'committed') {
      await this.#commitBatch(caller, batch.slice(part.length));
    } else if (!isSplit && this.#random.chance(outcome === 'committed' ? 0.1 : 0.5)) {
      // Under a lease that another worker may have by then.
      await sleep(this.#random.between(0, AGAIN_MS_MAX));
      await this.#cycle(caller, part, cell, true);
    }
  }

  async #cycle(
    caller: NodeCaller,
    batch: readonly TakenInput[],
    cell: Counted,
    releaseLease: boolean,
  ): Promise<StreamCycle['outcome']> {
    const inputs = batch.map(({ name }) => name);
    const { partition = '', message } = batch[0] ?? {};
    const value = `${partition}.${inputs[0]}.${Math.floor(performance.now() * 1000)}`;
    const sum = inputs.reduce((total, name) => total + numberOf(name), cell.sum);
    const counted = { count: cell.count + inputs.length, sum };
    const body = {
      query_id: this.#queryId,
      partition_id: message?.partitionId,
      consumer_group: groupOf(this.#queryId),
      state_ops: [{ type: 'upsert', key: CELL, value: counted }],
      push_items: [{ queue: this.#sink, partition, payload: value }],
      ack: { leaseId: message?.leaseId, status: 'completed', count: batch.length },
      release_lease: releaseLease,
    };
    const reply = await caller.post('cycle', '/streams/v1/cycle', JSON.stringify(body));
    const answer = bodyOf<{ readonly success: boolean }>(reply);
    let outcome: StreamCycle['outcome'] = wasRefused(reply) ? 'refused' : 'unknown';
    if (answer !== null) outcome = answer.success ? 'committed' : 'refused';
    this.#cycles.push({ value, partition, inputs, outcome });
    return outcome;
  }
}

function groupOf(queryId: string | null): string {
  return `streams.${queryId}`;
}

/** Inputs are numbered as they are sent. */
function numberOf(name: string): number {
  return Number(name.slice(1));
}

function countedOf({ rows }: StreamStateAnswerBody): Counted {
  const [row] = rows;
  return row === undefined ? { count: 0, sum: 0 } : (row.value as Counted);
}
