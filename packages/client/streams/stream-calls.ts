/** The calls of a worker: the three stream routes, and how much of its source is unread. */
import { ClientError } from '../base/errors.js';
import { type Call, path, type Transport, withQuery } from '../transport/transport.js';
import type { StateRow } from './partition-state.js';

/** The broker answers a stream call within this. */
const TIMEOUT_MS = 30_000;

export interface Place {
  readonly partitionId: string;
  readonly leaseId: string;
}

export interface Commit {
  /** JSON of each. */
  readonly operations: readonly string[];
  readonly pushes: readonly string[];
  /** null: a flush, which acknowledges nothing. */
  readonly count: number | null;
  /** The batch is done; else its lease goes on. */
  readonly isLast: boolean;
}

interface Named {
  readonly name: string;
  readonly id: string;
}

interface Depth {
  readonly partition: string;
  readonly pending: number;
}

interface Listed<Row> {
  readonly partitions: readonly Row[];
  readonly nextAfter?: string | null;
}

export class StreamCalls {
  readonly #transport: Transport;
  readonly #queue: string;
  readonly #group: string;
  readonly #errors = new WeakSet<Error>();
  #queryId = '';

  constructor(transport: Transport, queue: string, group: string) {
    this.#transport = transport;
    this.#queue = queue;
    this.#group = group;
  }

  /** What a call of a stream failed by; null: something else did, a function of the user say. */
  failureOf(error: unknown): ClientError | null {
    return error instanceof ClientError && this.#errors.has(error) ? error : null;
  }

  /** The id by which the other routes know the stream. */
  async register(query: object): Promise<string> {
    const body = JSON.stringify(query);
    const { query_id } = await this.#post<{ query_id: string }>('queries', body, 'any');
    this.#queryId = query_id;
    return query_id;
  }

  /** All that the stream remembers of the partition. */
  async state(partitionId: string): Promise<readonly StateRow[]> {
    const body = JSON.stringify({ query_id: this.#queryId, partition_id: partitionId });
    return (await this.#post<{ rows: readonly StateRow[] }>('state/get', body, 'any')).rows;
  }

  /**
   * Rejects when nothing was applied, and when that is unknown. It is not repeated after a lost
   * answer: a partial acknowledgement that is carried out twice passes messages over.
   */
  async commit({ partitionId, leaseId }: Place, commit: Commit): Promise<void> {
    const { operations, pushes, count, isLast } = commit;
    const ack = count === null ? null : { leaseId, status: 'completed', count };
    const body =
      `{${this.#names(partitionId)},"ack":${JSON.stringify(ack)},"release_lease":${isLast},` +
      `"state_ops":[${operations}],"push_items":[${pushes}]}`;
    const answer = await this.#post<{ success: boolean; error?: string; reason?: string }>(
      'cycle',
      body,
      'unapplied',
    );
    if (answer.success) return;
    const { error = '', reason } = answer;
    const facts = { code: reason, reason, body: answer };
    throw this.#own(new ClientError(`a cycle was refused: ${error}`, facts));
  }

  /**
   * Ends the lease, so that what is not acknowledged is delivered again, and a commit that is still
   * on its way is refused.
   */
  async giveBack({ partitionId, leaseId }: Place): Promise<void> {
    const ack = JSON.stringify({ leaseId, status: 'retry' });
    await this.#post('cycle', `{${this.#names(partitionId)},"ack":${ack}}`, 'any');
  }

  /** The partitions of the source, `most` of them or up to a page more. */
  async partitions(most: number): Promise<readonly Named[]> {
    let found: readonly Named[] = [];
    for (let after: string | undefined; found.length < most; ) {
      const { partitions, nextAfter } = await this.#get<Named>('', { limit: 1000, after });
      found = found.concat(partitions);
      if (typeof nextAfter !== 'string') break;
      after = nextAfter;
    }
    return found;
  }

  /** The names of partitions of which the group has done everything. */
  async drained(): Promise<ReadonlySet<string>> {
    const { partitions } = await this.#get<Depth>('/depth', { group: this.#group });
    const done = partitions.filter(({ pending }) => pending === 0);
    return new Set(done.map(({ partition }) => partition));
  }

  /** A view of the source. */
  async #get<Row>(view: string, query: Parameters<typeof withQuery>[1]): Promise<Listed<Row>> {
    const at = path`/api/v1/resources/queues/${this.#queue}` + view;
    const call = { method: 'GET', path: withQuery(at, query), repeat: 'any' } as const;
    return (await this.#transport.call<Listed<Row>>(call)).body ?? { partitions: [] };
  }

  #names(partitionId: string): string {
    const names = { query_id: this.#queryId, partition_id: partitionId };
    return JSON.stringify({ ...names, consumer_group: this.#group }).slice(1, -1);
  }

  async #post<Body>(route: string, body: string, repeat: Call<Body>['repeat']): Promise<Body> {
    const call = {
      method: 'POST',
      path: `/streams/v1/${route}`,
      body,
      repeat,
      timeoutMs: TIMEOUT_MS,
      affinity: [this.#queue, '', this.#group].join('\0'),
    } as const;
    try {
      return (await this.#transport.call<Body>(call)).body as Body;
    } catch (error) {
      throw this.#own(error as Error);
    }
  }

  #own(error: Error): Error {
    this.#errors.add(error);
    return error;
  }
}
