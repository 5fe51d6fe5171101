/**
 * Producers that use transaction ids again, each at whatever node it comes to: the same message,
 * because no answer came, or another message under an id that was used a moment ago by itself or by
 * another producer, at the same time or later. What `checkDedup` judges.
 */
import type { PushResult } from '@svc/wire';
import type { ReadRecord, Send, SendOutcome } from '../checkers/history.js';
import type { HttpClient } from '../process/http-client.js';
import { NodeCaller, type Observe } from '../process/node-caller.js';
import { sleep } from '../process/node-under-test.js';
import { readPartitions } from '../process/partition-reader.js';
import type { SeededRandom } from '../seeded-random.js';

export interface DedupLoadOptions {
  readonly nodes: readonly HttpClient[];
  readonly random: SeededRandom;
  /** Name of the queue. */
  readonly name: string;
  readonly requestMsMax: number;
  readonly restMsMax: number;
  readonly observe?: Observe;
}

const PRODUCERS = 3;
const PARTITIONS = 4;
/** Ids used last, of which one is used again. */
const RECENT_IDS = 30;
const REUSE = 0.4;
const RETRY_MS = 25;

export class DedupLoad {
  readonly sends: Send[] = [];
  readonly queue: string;
  readonly partitions: readonly string[];
  readonly #options: DedupLoadOptions;
  readonly #running: Promise<void>[] = [];
  readonly #recent: string[] = [];
  #producing = true;
  #calls = 0;
  #values = 0;

  constructor(options: DedupLoadOptions) {
    this.#options = options;
    const { name } = options;
    this.queue = name;
    this.partitions = Array.from({ length: PARTITIONS }, (_, i) => `${name}/${i}`);
  }

  start(): void {
    for (let i = 0; i < PRODUCERS; i++) this.#running.push(this.#produce());
  }

  async stop(): Promise<void> {
    this.#producing = false;
    await Promise.all(this.#running);
  }

  readLog(client: HttpClient): Promise<ReadRecord[]> {
    return readPartitions(client, this.partitions);
  }

  async #produce(): Promise<void> {
    const { nodes, requestMsMax, observe, restMsMax } = this.#options;
    const random = this.#options.random.fork();
    const caller = new NodeCaller({ nodes, random, requestMsMax, observe });
    while (this.#producing) {
      await sleep(random.between(0, restMsMax));
      const partition = random.pick(this.partitions);
      const id = this.#drawId(random);
      const value = `d${this.#values++}`;
      const payload = `{"value":"${value}"}`;
      while (
        (await this.#send(caller, { value, partition, transactionId: id, payload })) !== 'done'
      ) {
        if (!this.#producing) break;
        await sleep(RETRY_MS);
      }
    }
  }

  #drawId(random: SeededRandom): string {
    const recent = this.#recent;
    if (recent.length > 0 && random.chance(REUSE)) return random.pick(recent);
    const id = `x-${this.#calls}-${random.between(0, 1_000_000)}`;
    recent.push(id);
    if (recent.length > RECENT_IDS) recent.shift();
    return id;
  }

  async #send(
    caller: NodeCaller,
    message: Pick<Send, 'value' | 'partition' | 'transactionId' | 'payload'>,
  ): Promise<'done' | 'again'> {
    const { partition, transactionId, payload } = message;
    const [queue, name] = partition.split('/');
    const item = `"queue":"${queue}","partition":"${name}","transactionId":"${transactionId}"`;
    const call = this.#calls++;
    const beganMs = performance.now();
    const body = `{"items":[{${item},"payload":${payload}}]}`;
    const reply = await caller.post('push', '/api/v1/push', body);
    if (reply.kind === 'not-sent') return 'again';
    let outcome: SendOutcome = reply.kind === 'refused' ? 'refused' : 'unknown';
    let messageId: string | null = null;
    if (reply.kind === 'answer' && reply.answer.status === 201) {
      const [result] = JSON.parse(reply.answer.text) as PushResult[];
      if (result?.status === 'queued' || result?.status === 'duplicate') {
        outcome = result.status;
        messageId = result.message_id;
      }
    }
    const endedMs = performance.now();
    this.sends.push({ ...message, call, index: 0, beganMs, endedMs, outcome, messageId });
    return messageId === null ? 'again' : 'done';
  }
}
