/**
 * Clients that read partitions by offset while the load runs, each time at whatever node: what a
 * node once showed has to be in the log at the end, at the same place. A read shows what that node
 * has; it may be behind, and it may have no such queue yet.
 */
import type { ReadRecord } from '../checkers/history.js';
import type { HttpClient } from '../process/http-client.js';
import { NodeCaller, type Observe } from '../process/node-caller.js';
import { sleep } from '../process/node-under-test.js';
import { fetchBody, fetchedRecords } from '../process/partition-reader.js';
import type { SeededRandom } from '../seeded-random.js';

export interface LogReadersOptions {
  readonly nodes: readonly HttpClient[];
  readonly random: SeededRandom;
  /** `<queue>/<partition>`. */
  readonly partitions: readonly string[];
  readonly requestMsMax: number;
  readonly observe?: Observe;
}

const READERS = 2;
const REST_MS_MAX = 60;
/** A read begins so many records before the end that was seen last. */
const BACK_MAX = 10;

export class LogReaders {
  readonly reads: ReadRecord[] = [];
  readonly #options: LogReadersOptions;
  readonly #running: Promise<void>[] = [];
  #reading = true;

  constructor(options: LogReadersOptions) {
    this.#options = options;
  }

  start(): void {
    for (let i = 0; i < READERS; i++) this.#running.push(this.#read());
  }

  async stop(): Promise<void> {
    this.#reading = false;
    await Promise.all(this.#running);
  }

  async #read(): Promise<void> {
    const { nodes, partitions, requestMsMax, observe } = this.#options;
    const random = this.#options.random.fork();
    const seen = new Map<string, number>();
    while (this.#reading) {
      await sleep(random.between(0, REST_MS_MAX));
      // A caller of its own for each read: no node is preferred.
      const caller = new NodeCaller({ nodes, random, requestMsMax, observe });
      const place = random.pick(partitions);
      const offset = Math.max(0, (seen.get(place) ?? 0) - random.between(0, BACK_MAX));
      const from = [{ place, offset }];
      const reply = await caller.post('fetch', '/api/v1/fetch', fetchBody(from));
      if (reply.kind !== 'answer' || reply.answer.status !== 200) continue;
      for (const record of fetchedRecords(from, reply.answer)) {
        this.reads.push(record);
        seen.set(place, Math.max(seen.get(place) ?? 0, record.offset + 1));
      }
    }
  }
}
