/**
 * What of a tenant the broker has (`upkeep/inventory.ts`), read by calls to the front in the same
 * process: what the gateway sees is what a client of that tenant would see.
 */
import { type AnswerHead, type CallClient, ROLE_BITS } from '@svc/http';
import type { Upstream } from '../listener/relay.js';
import {
  type BrokerInventory,
  BrokerUnavailableError,
  type FoundPartitions,
  type ListedQueue,
} from '../upkeep/inventory.js';

const QUEUES_PER_PAGE = 500;
const PARTITIONS_PER_PAGE = 5_000;
/** An answer of that many partitions with the longest names has fewer. */
const ANSWER_BYTES_MAX = 32 * 1_048_576;
/** Its part of the front's budgets. */
const PEER = new TextEncoder().encode('gateway');

interface QueuesPage {
  readonly queues: readonly {
    readonly name: string;
    readonly partitions: number;
    readonly retainedBytes: number;
  }[];
  readonly nextAfter?: string | null;
}

interface SizesPage {
  readonly partitions: Readonly<Record<string, number>>;
  readonly nextAfter?: string | null;
}

export class FrontInventory implements BrokerInventory {
  readonly #upstream: Upstream;

  constructor(upstream: Upstream) {
    this.#upstream = upstream;
  }

  async *queues(brokerTenant: string): AsyncGenerator<readonly ListedQueue[]> {
    for (let after: string | null = ''; after !== null; ) {
      const path = `/api/v1/resources/queues?limit=${QUEUES_PER_PAGE}${afterText(after)}`;
      const page = (await this.#get(brokerTenant, path)) as QueuesPage | null;
      if (page === null) throw new BrokerUnavailableError('the broker lists no queues');
      yield page.queues.map(({ name, partitions, retainedBytes }) => {
        return { name, partitions, retainedBytes };
      });
      after = page.nextAfter ?? null;
    }
  }

  async partitions(
    brokerTenant: string,
    queue: string,
    names: readonly string[],
  ): Promise<FoundPartitions> {
    const asked = new Set(names);
    const found = new Set<string>();
    let partitions = 0;
    const path = `/api/v1/resources/queues/${encodeURIComponent(queue)}/sizes`;
    for (let after: string | null = ''; after !== null; ) {
      const query = `?limit=${PARTITIONS_PER_PAGE}${afterText(after)}`;
      const page = (await this.#get(brokerTenant, path + query)) as SizesPage | null;
      if (page === null) break;
      for (const name of Object.keys(page.partitions)) {
        partitions++;
        if (asked.has(name)) found.add(name);
      }
      after = page.nextAfter ?? null;
    }
    return { partitions, names: found };
  }

  async retainedBytes(brokerTenant: string): Promise<number> {
    let bytes = 0;
    for await (const page of this.queues(brokerTenant)) {
      for (const { retainedBytes } of page) bytes += retainedBytes;
    }
    return bytes;
  }

  /** null: there is no such thing. */
  #get(tenant: string, target: string): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#upstream.call(
        {
          method: 'GET',
          target,
          headers: [],
          body: null,
          peer: PEER,
          identity: { caller: { kind: 'caller', subject: null, roles: ROLE_BITS.admin }, tenant },
        },
        new JsonAnswer(resolve, reject),
      );
    });
  }
}

function afterText(after: string): string {
  return after === '' ? '' : `&after=${encodeURIComponent(after)}`;
}

/** Takes an answer of JSON as a whole. */
class JsonAnswer implements CallClient {
  readonly #resolve: (value: unknown) => void;
  readonly #reject: (error: Error) => void;
  readonly #chunks: Buffer[] = [];
  #length = 0;
  #status = '';

  constructor(resolve: (value: unknown) => void, reject: (error: Error) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onHead({ status }: AnswerHead): void {
    this.#status = status;
  }

  onBytes(bytes: Uint8Array): number {
    this.#length += bytes.length;
    if (this.#length <= ANSWER_BYTES_MAX) this.#chunks.push(Buffer.from(bytes));
    return bytes.length;
  }

  onEnd(): void {
    if (this.#status.startsWith('404')) {
      this.#resolve(null);
      return;
    }
    if (!this.#status.startsWith('200') || this.#length > ANSWER_BYTES_MAX) {
      this.#reject(new BrokerUnavailableError(`the broker answered ${this.#status}`));
      return;
    }
    this.#resolve(JSON.parse(Buffer.concat(this.#chunks).toString()));
  }

  onBroken(): void {
    this.#reject(new BrokerUnavailableError('the node stops'));
  }

  onReadOn(): void {}
}
