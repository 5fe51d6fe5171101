/**
 * The broker's word on a tenant (`upkeep/inventory.ts`), page by page (`front-broker.ts`).
 */
import {
  type BrokerInventory,
  BrokerUnavailableError,
  type FoundPartitions,
  type ListedPage,
} from '../upkeep/inventory.js';
import type { FrontBroker } from './front-broker.js';

const QUEUES_PER_PAGE = 500;
const PARTITIONS_PER_PAGE = 5_000;
const TIMEOUT_MS = 35_000;

interface QueuesPage {
  readonly queues: readonly {
    readonly name: string;
    readonly partitions: number;
    readonly retainedBytes: number;
  }[];
  readonly kvBytes: number;
  readonly timerBytes: number;
  readonly nextAfter?: string | null;
}

interface SizesPage {
  readonly partitions: Readonly<Record<string, number>>;
  readonly nextAfter?: string | null;
}

export class FrontInventory implements BrokerInventory {
  readonly #broker: Pick<FrontBroker, 'call'>;

  constructor(broker: Pick<FrontBroker, 'call'>) {
    this.#broker = broker;
  }

  async *queues(brokerTenant: string): AsyncGenerator<ListedPage> {
    for (let after: string | null = ''; after !== null; ) {
      const path = `/api/v1/resources/queues?limit=${QUEUES_PER_PAGE}${afterText(after)}`;
      const page = (await this.#get(brokerTenant, path)) as QueuesPage | null;
      if (page === null) throw new BrokerUnavailableError('the broker lists no queues');
      const queues = page.queues.map(({ name, partitions, retainedBytes }) => {
        return { name, partitions, retainedBytes };
      });
      yield { queues, otherBytes: page.kvBytes + page.timerBytes };
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
    let other = 0;
    for await (const { queues, otherBytes } of this.queues(brokerTenant)) {
      for (const { retainedBytes } of queues) bytes += retainedBytes;
      other = otherBytes;
    }
    return bytes + other;
  }

  /** null: there is no such thing. */
  async #get(tenant: string, target: string): Promise<unknown> {
    const request = { method: 'GET', target, body: null, timeoutMs: TIMEOUT_MS } as const;
    const { status, body } = await this.#broker.call(tenant, request);
    if (status === 404) return null;
    if (status !== 200) throw new BrokerUnavailableError(`the broker answered ${status}`);
    return JSON.parse(Buffer.from(body).toString());
  }
}

function afterText(after: string): string {
  return after === '' ? '' : `&after=${encodeURIComponent(after)}`;
}
