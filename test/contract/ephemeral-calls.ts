/** Calls of ephemeral queues, as the rows of their tables make them. */
import type {
  EphemeralAckAnswer,
  EphemeralDepthAnswer,
  EphemeralPopAnswer,
  EphemeralQueuesAnswer,
  EphemeralQueueView,
} from '@svc/wire';
import { expect } from 'vitest';
import type { Answer } from '../process/http-client.js';
import { bodyOf } from './broker-api.js';
import type { BrokerUnderTest } from './broker-under-test.js';

export const EPHEMERAL = '/api/v1/ephemeral';

type Delivered = EphemeralPopAnswer['messages'][number];

export function pushRaw(
  { client, queue }: BrokerUnderTest,
  payloads: readonly unknown[],
  more: object = {},
): Promise<Answer> {
  const messages = payloads.map((payload) => ({ payload }));
  return client.post(`${EPHEMERAL}/push`, { queue, messages, ...more });
}

export async function push(
  broker: BrokerUnderTest,
  payloads: readonly unknown[],
  more: object = {},
): Promise<void> {
  const answer = await pushRaw(broker, payloads, more);
  expect(bodyOf(answer, 201)).toEqual({ pushed: payloads.length });
}

export async function pop(
  { client, queue }: BrokerUnderTest,
  parameters: Readonly<Record<string, string | number | boolean>> = {},
): Promise<readonly Delivered[]> {
  const query = new URLSearchParams({ queue });
  for (const [name, value] of Object.entries(parameters)) query.set(name, `${value}`);
  const answer = bodyOf(await client.get(`${EPHEMERAL}/pop?${query}`), 200) as EphemeralPopAnswer;
  expect(answer.queue).toBe(query.get('queue'));
  return answer.messages;
}

export async function popPayloads(
  broker: BrokerUnderTest,
  parameters: Readonly<Record<string, string | number | boolean>> = {},
): Promise<unknown[]> {
  return (await pop(broker, parameters)).map(({ payload }) => payload);
}

export async function ack(
  { client, queue }: BrokerUnderTest,
  acks: readonly object[],
  more: object = {},
): Promise<EphemeralAckAnswer['results'][number]['outcome'][]> {
  const answer = await client.post(`${EPHEMERAL}/ack`, { queue, acks, ...more });
  const { results } = bodyOf(answer, 200) as EphemeralAckAnswer;
  return results.map(({ outcome }) => outcome);
}

export async function configure(
  { client, queue }: BrokerUnderTest,
  options: object,
): Promise<void> {
  const answer = await client.post(`${EPHEMERAL}/configure`, { queue, options });
  expect(bodyOf(answer, 201)).toEqual({ queue, options, declared: true });
}

/** Reads tell of the node that is asked: so each is, and what they hold is added up. */
export async function depth(
  broker: BrokerUnderTest,
  query = '',
): Promise<Omit<EphemeralDepthAnswer, 'tier'>> {
  const path = `${EPHEMERAL}/queues/${encodeURIComponent(broker.queue)}/depth${query}`;
  let sum: EphemeralDepthAnswer | null = null;
  for (const node of broker.eachNode) {
    const answer = await node.client.get(path);
    if (answer.status === 404) continue;
    const one = bodyOf(answer, 200) as EphemeralDepthAnswer;
    sum = sum === null ? one : addDepth(sum, one);
  }
  if (sum === null) throw new Error(`no node knows ${broker.queue}`);
  return sum;
}

/** As one node shows its queue, the one that holds most of it. */
export async function shown(broker: BrokerUnderTest): Promise<EphemeralQueueView> {
  const views: EphemeralQueueView[] = [];
  for (const node of broker.eachNode) {
    const answer = await node.client.get(`${EPHEMERAL}/queues`);
    const { queues } = bodyOf(answer, 200) as EphemeralQueuesAnswer;
    views.push(...queues.filter(({ queue }) => queue === broker.queue));
  }
  views.sort((one, other) => other.depth + other.partitions - one.depth - one.partitions);
  const [most] = views;
  if (most === undefined) throw new Error(`no node shows ${broker.queue}`);
  return most;
}

function addDepth(one: EphemeralDepthAnswer, other: EphemeralDepthAnswer): EphemeralDepthAnswer {
  return {
    ...one,
    pending: one.pending + other.pending,
    partitionsPending: one.partitionsPending + other.partitionsPending,
    bytes: one.bytes + other.bytes,
    partitions: [...one.partitions, ...other.partitions],
    groups: [...one.groups, ...other.groups],
  };
}
