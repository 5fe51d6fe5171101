/**
 * The broker's calls as tests use them. Answers are checked for their status here, so that a
 * scenario states what it is about and nothing else.
 */
import type { Answer as AnswerTo } from '@svc/http/api';
import type { AckResult, FetchAnswer, PopAnswer, PushResult } from '@svc/wire';
import type { Answer, Caller, RequestOptions } from '../process/http-client.js';

type ExtendAnswer = AnswerTo<'POST /api/v1/lease/{leaseId}/extend'>;
type ConfigureAnswer = AnswerTo<'POST /api/v1/configure'>;
type DepthAnswer = AnswerTo<'GET /api/v1/resources/queues/{queue}/depth'>;
type QueueDetailAnswer = AnswerTo<'GET /api/v1/resources/queues/{queue}'>;

export interface PushItem {
  readonly queue: string;
  readonly partition?: string;
  readonly transactionId?: string;
  readonly payload: unknown;
}

export interface AckItem {
  readonly transactionId: string;
  readonly partitionId: string;
  readonly leaseId?: string;
  readonly status?: string;
  readonly error?: string;
}

export type Parameters = Readonly<Record<string, string | number | boolean>>;

export class BrokerApi {
  readonly client: Caller;

  constructor(client: Caller) {
    this.client = client;
  }

  async push(items: readonly PushItem[]): Promise<PushResult[]> {
    const answer = await this.client.post('/api/v1/push', { items });
    return bodyOf(answer, 201) as PushResult[];
  }

  /** Messages whose transaction ids are `ids` and whose payloads name them. */
  pushIds(queue: string, partition: string, ids: readonly string[]): Promise<PushResult[]> {
    return this.push(ids.map((id) => ({ queue, partition, transactionId: id, payload: { id } })));
  }

  /** null: 204. `path` is what follows `/api/v1/pop`. */
  async pop(
    path: string,
    parameters: Parameters = {},
    options: RequestOptions = {},
  ): Promise<PopAnswer | null> {
    const answer = await this.popRaw(path, parameters, options);
    if (answer.status === 204) return null;
    return bodyOf(answer, 200) as PopAnswer;
  }

  popRaw(path: string, parameters: Parameters, options: RequestOptions = {}): Promise<Answer> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters)) query.set(name, `${value}`);
    const text = query.toString();
    return this.client.get(`/api/v1/pop${path}${text === '' ? '' : `?${text}`}`, options);
  }

  popQueue(queue: string, parameters: Parameters = {}): Promise<PopAnswer | null> {
    return this.pop(`/queue/${encodeURIComponent(queue)}`, parameters);
  }

  popPartition(
    queue: string,
    partition: string,
    parameters: Parameters = {},
  ): Promise<PopAnswer | null> {
    const path = `/queue/${encodeURIComponent(queue)}/partition/${encodeURIComponent(partition)}`;
    return this.pop(path, parameters);
  }

  async ack(consumerGroup: string, acknowledgments: readonly AckItem[]): Promise<AckResult[]> {
    const body = { consumerGroup, acknowledgments };
    return bodyOf(await this.client.post('/api/v1/ack/batch', body), 200) as AckResult[];
  }

  async extend(leaseId: string, body: unknown): Promise<ExtendAnswer> {
    const answer = await this.client.post(`/api/v1/lease/${leaseId}/extend`, body);
    return bodyOf(answer, 200) as ExtendAnswer;
  }

  async configure(queue: string, options: Parameters): Promise<ConfigureAnswer> {
    const answer = await this.client.post('/api/v1/configure', { queue, options });
    return bodyOf(answer, 200) as ConfigureAnswer;
  }

  async depth(queue: string, group: string): Promise<DepthAnswer> {
    const path = `/api/v1/resources/queues/${encodeURIComponent(queue)}/depth`;
    const answer = await this.client.get(`${path}?group=${encodeURIComponent(group)}`);
    return bodyOf(answer, 200) as DepthAnswer;
  }

  async detail(queue: string): Promise<QueueDetailAnswer> {
    const answer = await this.client.get(`/api/v1/resources/queues/${encodeURIComponent(queue)}`);
    return bodyOf(answer, 200) as QueueDetailAnswer;
  }

  async fetch(queue: string, partition: string, offset = 0): Promise<FetchAnswer['entries'][0]> {
    const body = { entries: [{ queue, partition, offset }] };
    const { entries } = bodyOf(await this.client.post('/api/v1/fetch', body), 200) as FetchAnswer;
    const [entry] = entries;
    if (entry === undefined) throw new Error('fetch answered no entry');
    return entry;
  }
}

/** The parsed body, after a check of the status and of the content type. */
export function bodyOf(answer: Answer, status: number): unknown {
  if (answer.status !== status) {
    throw new Error(`status ${answer.status} instead of ${status}: ${answer.text.slice(0, 500)}`);
  }
  const type = answer.headers['content-type'];
  if (type !== 'application/json') throw new Error(`content type ${String(type)}`);
  return JSON.parse(answer.text);
}

/** The transaction ids of a pop's messages. */
export function idsOf(popped: PopAnswer | null): string[] {
  return (popped?.messages ?? []).map((message) => message.transactionId);
}
