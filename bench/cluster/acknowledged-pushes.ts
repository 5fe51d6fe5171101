// Producers that push single messages to whatever node answers, each message under an id of its
// own, until it is acknowledged; when each acknowledgement came; and whether all of them are
// stored.

import { setTimeout as sleep } from 'node:timers/promises';
import { pushBody } from '../load/push-requests.js';
import { HttpExchange } from '../rig/http-exchange.js';
import type { GroupNode } from '../rig/node-group.js';
import { PushClient } from './push-client.js';

const QUEUE = 'failover';
const PARTITIONS = 16;
const REQUEST_MS_MAX = 10_000;
const RETRY_MS = 5;
const PAYLOAD = `{"text":"${'x'.repeat(240)}"}`;

export interface Failures {
  /** Answers other than 201, by status and text. */
  readonly answers: ReadonlyMap<string, number>;
  /** The connection ended while a request was on it. */
  readonly lost: number;
}

export class AcknowledgedPushes {
  readonly #nodes: readonly GroupNode[];
  readonly #running: Promise<void>[] = [];
  readonly #ids: string[] = [];
  #ackedMs: number[] = [];
  #answers = new Map<string, number>();
  #lost = 0;
  #pushing = true;
  #count = 0;

  constructor(nodes: readonly GroupNode[]) {
    this.#nodes = nodes;
  }

  start(connections: number): void {
    for (let i = 0; i < connections; i += 1) this.#running.push(this.#push(i));
  }

  async stop(): Promise<void> {
    this.#pushing = false;
    await Promise.all(this.#running);
  }

  get acknowledged(): number {
    return this.#ids.length;
  }

  /** What went wrong since the last call. */
  takeFailures(): Failures {
    const failures = { answers: this.#answers, lost: this.#lost };
    this.#answers = new Map();
    this.#lost = 0;
    return failures;
  }

  /** The longest time between two acknowledgements since `sinceMs`; forgets what was before. */
  longestGapMs(sinceMs: number): number {
    let before = sinceMs;
    let longest = 0;
    for (const ackedMs of this.#ackedMs) {
      if (ackedMs < sinceMs) continue;
      longest = Math.max(longest, ackedMs - before);
      before = ackedMs;
    }
    this.#ackedMs = this.#ackedMs.filter((ackedMs) => ackedMs >= sinceMs);
    return longest;
  }

  /** Ids that were acknowledged and are not in the log of `node`, or more than once. */
  async missingAt(node: GroupNode): Promise<readonly string[]> {
    const times = new Map<string, number>();
    const exchange = new HttpExchange(node.process.address);
    for (let partition = 0; partition < PARTITIONS; partition += 1) {
      let offset = 0;
      for (;;) {
        const entries = [{ queue: QUEUE, partition: `p${partition}`, offset }];
        const { body } = await exchange.request(
          'POST',
          '/api/v1/fetch',
          JSON.stringify({ entries }),
        );
        const records = recordsOf(body);
        for (const { transactionId } of records) {
          times.set(transactionId, (times.get(transactionId) ?? 0) + 1);
        }
        const last = records.at(-1);
        if (last === undefined) break;
        offset = last.offset + 1;
      }
    }
    exchange.close();
    return this.#ids.filter((id) => times.get(id) !== 1);
  }

  async #push(index: number): Promise<void> {
    const clients = this.#nodes.map((node) => new PushClient(node.process.address));
    let at = index;
    while (this.#pushing) {
      const id = `f-${this.#count}`;
      const partition = `p${this.#count % PARTITIONS}`;
      this.#count += 1;
      const body = pushBody(QUEUE, partition, [PAYLOAD]).replace(
        '"payload"',
        `"transactionId":"${id}","payload"`,
      );
      let acknowledged = false;
      while (this.#pushing && !acknowledged) {
        const client = clients[at % clients.length];
        acknowledged = client !== undefined && (await this.#acknowledges(client, body));
        if (acknowledged) break;
        at += 1;
        await sleep(RETRY_MS);
      }
      if (acknowledged) this.#ids.push(id);
    }
    for (const client of clients) client.close();
  }

  async #acknowledges(client: PushClient, body: string): Promise<boolean> {
    const answer = await client.push(body, REQUEST_MS_MAX);
    if (answer === 'refused') return false;
    if (answer === 'lost') {
      this.#lost += 1;
      return false;
    }
    if (answer.status === 201) {
      this.#ackedMs.push(performance.now());
      return true;
    }
    const text = `${answer.status} ${answer.text.slice(0, 200)}`;
    this.#answers.set(text, (this.#answers.get(text) ?? 0) + 1);
    return false;
  }
}

function recordsOf(body: Buffer): readonly { offset: number; transactionId: string }[] {
  const { entries } = JSON.parse(body.toString('utf8')) as {
    entries: { records: { offset: number; transactionId: string }[] }[];
  };
  return entries[0]?.records ?? [];
}
