/** Reading resources, and a queue whose figures can be counted by hand. */
import type { PopAnswer } from '@svc/wire';
import { bodyOf } from './broker-api.js';
import type { BrokerUnderTest } from './broker-under-test.js';

export const RESOURCES = '/api/v1/resources';

export async function readResource<Answer>(
  { client }: BrokerUnderTest,
  path: string,
): Promise<Answer> {
  return bodyOf(await client.get(`${RESOURCES}${path}`), 200) as Answer;
}

/** p holds a, b, c of which group g has leased two; q holds d, e. */
export async function figures(broker: BrokerUnderTest): Promise<PopAnswer | null> {
  const { api, queue } = broker;
  await api.pushIds(queue, 'p', ['a', 'b', 'c']);
  await api.pushIds(queue, 'q', ['d', 'e']);
  return api.popPartition(queue, 'p', { consumerGroup: 'g', batch: 2 });
}
