/** Reading status and analytics: rows come with the flush, a second after what they tell of. */
import type { Answer } from '@svc/http/api';
import { bodyOf } from './broker-api.js';
import type { BrokerUnderTest } from './broker-under-test.js';

type QueueOpsAnswer = Answer<'GET /api/v1/analytics/queue-ops'>;
type QueueOpsRow = Answer<'GET /api/v1/analytics/queue-ops'>['series'][number];

export const ANALYTICS = '/api/v1/analytics';

const WAIT_MS_MAX = 8000;
const PAUSE_MS = 150;

export async function readAnalytics<Answer>(
  { client }: BrokerUnderTest,
  path: string,
): Promise<Answer> {
  return bodyOf(await client.get(`/api/v1${path}`), 200) as Answer;
}

/** Reads until it is as wanted, and gives what was read last. */
export async function readUntil<Answer>(
  broker: BrokerUnderTest,
  path: string,
  isWanted: (answer: Answer) => boolean,
): Promise<Answer> {
  const untilMs = performance.now() + WAIT_MS_MAX;
  for (;;) {
    const answer = await readAnalytics<Answer>(broker, path);
    if (isWanted(answer) || performance.now() > untilMs) return answer;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

type Summed = 'pushMessages' | 'popMessages' | 'ackSuccess' | 'ackFailed' | 'popEmpty';

/** The operations of a queue once so many of a kind show, in however many buckets. */
export async function operations(
  broker: BrokerUnderTest,
  queue: string,
  column: Summed,
  count: number,
): Promise<QueueOpsAnswer> {
  return readUntil<QueueOpsAnswer>(
    broker,
    `/analytics/queue-ops?queue=${queue}`,
    ({ series }) => sumOf(series, column) >= count,
  );
}

export function sumOf(series: readonly QueueOpsRow[], column: keyof QueueOpsRow): number {
  return series.reduce((sum, row) => sum + Number(row[column] ?? 0), 0);
}

/** As `operations`, once all of `work` shows: its calls went to several nodes. */
export function settled(broker: BrokerUnderTest, queue: string): Promise<QueueOpsAnswer> {
  const wanted = [
    ['pushMessages', 3],
    ['popMessages', 2],
    ['ackSuccess', 1],
    ['ackFailed', 1],
    // By the node that answers, when it has applied it and flushed.
    ['partitionsCreated', 1],
  ] as const;
  return readUntil<QueueOpsAnswer>(broker, `/analytics/queue-ops?queue=${queue}`, ({ series }) =>
    wanted.every(([column, count]) => sumOf(series, column) >= count),
  );
}

/** Queue g pushes 3, pops 2 for group `g`, completes one and fails the other. */
export async function work(broker: BrokerUnderTest, queue: string): Promise<void> {
  const { api } = broker;
  await api.pushIds(queue, 'p', ['a', 'b', 'c']);
  const popped = await api.popQueue(queue, { consumerGroup: 'g', batch: 2 });
  const acks = (popped?.messages ?? []).map(({ transactionId, partitionId, leaseId }, i) => ({
    transactionId,
    partitionId,
    leaseId,
    status: i === 0 ? 'completed' : 'dlq',
    error: 'no luck',
  }));
  await api.ack('g', acks);
}
