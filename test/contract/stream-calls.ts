/** The stream routes as rows use them: a query over the row's queue, and batches of it. */
import type { Answer as AnswerTo } from '@svc/http/api';
import type { PopAnswer } from '@svc/wire';
import type { Answer } from '../process/http-client.js';
import { bodyOf, type Parameters } from './broker-api.js';
import type { BrokerUnderTest } from './broker-under-test.js';

type StreamCycleAnswer = Extract<AnswerTo<'POST /streams/v1/cycle'>, { readonly success: true }>;
type StreamCycleRefusedAnswer = Extract<
  AnswerTo<'POST /streams/v1/cycle'>,
  { readonly success: false }
>;
type StreamRegisteredAnswer = AnswerTo<'POST /streams/v1/queries'>;
type StreamStateAnswerBody = AnswerTo<'POST /streams/v1/state/get'>;

export const QUERIES = '/streams/v1/queries';
export const STATE = '/streams/v1/state/get';
export const CYCLE = '/streams/v1/cycle';
export const PARTITION = 'p';

export const BAD_LEASE = {
  success: false,
  error: 'the lease is not the current one of this partition and group, or it has expired',
  reason: 'bad_lease',
};

export type Body = Readonly<Record<string, unknown>>;

/** A tenant other than the default one needs it. */
export async function grantStreams(broker: BrokerUnderTest, limits: Body = {}): Promise<void> {
  const answer = await broker.client.post('/api/v1/system/quotas', { kind: 'streams', ...limits });
  bodyOf(answer, 200);
}

/** A registered query, and the row's queue as its source. */
export class StreamUnderTest {
  readonly broker: BrokerUnderTest;
  readonly queryId: string;
  /** Partition and lease of the first pop. */
  partitionId = '';
  leaseId = '';

  private constructor(broker: BrokerUnderTest, queryId: string) {
    this.broker = broker;
    this.queryId = queryId;
  }

  static async register(broker: BrokerUnderTest, fields: Body = {}): Promise<StreamUnderTest> {
    await grantStreams(broker);
    const { query_id } = await registered(broker, fields);
    return new StreamUnderTest(broker, query_id);
  }

  /** With a batch of messages a, b, c of partition `p`, leased by the group of the query. */
  static async leased(broker: BrokerUnderTest, pop: Parameters = {}): Promise<StreamUnderTest> {
    const stream = await StreamUnderTest.register(broker);
    await broker.api.pushIds(broker.queue, PARTITION, ['a', 'b', 'c']);
    if ((await stream.pop(pop)) === null) throw new Error('nothing was delivered');
    return stream;
  }

  get sink(): string {
    return `${this.broker.queue}.sink`;
  }

  get group(): string {
    return `streams.${this.queryId}`;
  }

  /** Its lease becomes this one's. */
  async pop(parameters: Parameters = {}): Promise<PopAnswer | null> {
    const { api, queue } = this.broker;
    const popped = await api.popQueue(queue, {
      consumerGroup: this.group,
      batch: 10,
      ...parameters,
    });
    if (popped === null) return null;
    this.leaseId = popped.leaseId;
    this.partitionId = popped.partitionId;
    return popped;
  }

  get scope(): Body {
    const { queryId, partitionId, group } = this;
    return { query_id: queryId, partition_id: partitionId, consumer_group: group };
  }

  /** An acknowledgement of the batch that was popped last. */
  ack(fields: Body = {}): Body {
    return { leaseId: this.leaseId, status: 'completed', count: 3, ...fields };
  }

  cycleRaw(fields: Body): Promise<Answer> {
    return this.broker.client.post(CYCLE, { ...this.scope, ...fields });
  }

  async cycle(fields: Body): Promise<StreamCycleAnswer> {
    const answer = bodyOf(await this.cycleRaw(fields), 200) as StreamCycleAnswer;
    if (!answer.success) throw new Error(`the cycle was refused: ${JSON.stringify(answer)}`);
    return answer;
  }

  async refused(fields: Body): Promise<StreamCycleRefusedAnswer> {
    return bodyOf(await this.cycleRaw(fields), 200) as StreamCycleRefusedAnswer;
  }

  /** State alone. */
  async store(...ops: readonly (readonly [key: string, value: unknown])[]): Promise<void> {
    await this.cycle({ state_ops: ops.map(([key, value]) => ({ type: 'upsert', key, value })) });
  }

  stateRaw(fields: Body = {}): Promise<Answer> {
    const { query_id, partition_id } = this.scope;
    return this.broker.client.post(STATE, { query_id, partition_id, ...fields });
  }

  async rows(fields: Body = {}): Promise<StreamStateAnswerBody['rows']> {
    return (bodyOf(await this.stateRaw(fields), 200) as StreamStateAnswerBody).rows;
  }

  /** Key and value of each row. */
  async state(fields: Body = {}): Promise<(readonly [string, unknown])[]> {
    return (await this.rows(fields)).map(({ key, value }) => [key, value] as const);
  }

  async keys(fields: Body = {}): Promise<string[]> {
    return (await this.rows(fields)).map(({ key }) => key);
  }
}

export function queryFields(broker: BrokerUnderTest, fields: Body = {}): Body {
  return { name: 'sums', source_queue: broker.queue, config_hash: 'h1', ...fields };
}

export async function registered(
  broker: BrokerUnderTest,
  fields: Body = {},
): Promise<StreamRegisteredAnswer> {
  const answer = await broker.client.post(QUERIES, queryFields(broker, fields));
  return bodyOf(answer, 200) as StreamRegisteredAnswer;
}
