/**
 * Inputs for consumers that settle each of them exactly once: a client sends them, with ids, so
 * that what got no answer is sent again until it is known to be stored.
 */
import type { PopAnswer } from '@svc/wire';
import type { ReadRecord } from '../checkers/history.js';
import type { NodeCaller } from '../process/node-caller.js';
import { sleep } from '../process/node-under-test.js';
import { bodyOf, type LoadPartOptions, Loops } from './load-part.js';

const PARTITIONS = ['0', '1'];
const LEASE_SECONDS = 2;
const RETRY_MS = 25;
const POLL_MS = 50;
/** Without an input that is settled. */
const FINISH_MS_MAX = 60_000;

/** An input that a consumer holds. */
export interface TakenInput {
  readonly name: string;
  readonly partition: string;
  readonly message: PopAnswer['messages'][number];
}

export class InputLoad {
  readonly queue: string;
  /** `<queue>/<partition>`. */
  readonly partitions: readonly string[];
  readonly #options: LoadPartOptions;
  readonly #loops: Loops;
  #count = 0;
  #abandoned = false;

  constructor(options: LoadPartOptions, queue: string) {
    this.#options = options;
    this.#loops = new Loops(options);
    this.queue = queue;
    this.partitions = PARTITIONS.map((partition) => `${queue}/${partition}`);
  }

  start(): void {
    this.#loops.run((caller) => this.#send(caller));
  }

  /** Resolves when the group has nothing left. */
  async finish(group: string): Promise<void> {
    await this.#loops.end();
    let untilMs = performance.now() + FINISH_MS_MAX;
    let least = Number.POSITIVE_INFINITY;
    const caller = this.#loops.caller();
    const path = `/api/v1/resources/queues/${this.queue}/depth?group=${group}`;
    while (this.#count > 0) {
      const depth = bodyOf<{ readonly pending: number }>(await caller.get('depth', path));
      if (depth?.pending === 0) return;
      if (depth !== null && depth.pending < least) {
        least = depth.pending;
        untilMs = performance.now() + FINISH_MS_MAX;
      }
      if (performance.now() > untilMs) throw new Error(`${this.queue} is never consumed`);
      await sleep(POLL_MS);
    }
  }

  async abandon(): Promise<void> {
    this.#abandoned = true;
    await this.#loops.end();
  }

  async #send(caller: NodeCaller): Promise<void> {
    const { random } = this.#options;
    const items = Array.from({ length: random.between(1, 3) }, () => {
      const name = `i${this.#count++}`;
      const partition = random.pick(PARTITIONS);
      return { queue: this.queue, partition, transactionId: name, payload: name };
    });
    const body = JSON.stringify({ items });
    while (!this.#abandoned) {
      const reply = await caller.post('push', '/api/v1/push', body);
      if (reply.kind === 'answer' && reply.answer.status === 201) return;
      await sleep(RETRY_MS);
    }
  }
}

/** The name of an input or of a result that is named by its payload. */
export function inputName({ payload }: ReadRecord): string {
  return JSON.parse(payload) as string;
}

export async function popInputs(
  caller: NodeCaller,
  queue: string,
  group: string,
  batch: number,
): Promise<readonly TakenInput[]> {
  const query = `consumerGroup=${group}&batch=${batch}&leaseSeconds=${LEASE_SECONDS}`;
  const path = `/api/v1/pop/queue/${queue}?${query}&wait=true&timeout=1000`;
  const reply = await caller.get('pop', path);
  if (reply.kind !== 'answer' || reply.answer.status !== 200) return [];
  const { messages } = JSON.parse(reply.answer.text) as PopAnswer;
  return messages.map((message) => {
    return { name: `${message.data}`, partition: message.partition, message };
  });
}
