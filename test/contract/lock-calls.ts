/** Calls of the locks route, as its contract tables make them. */
import { expect } from 'vitest';
import { bodyOf } from './broker-api.js';
import type { BrokerUnderTest } from './broker-under-test.js';

export const LOCKS = '/api/v1/locks';

export type LockResult = Readonly<Record<string, unknown>> & {
  readonly slot: number;
  readonly token: number;
  readonly guard: unknown;
};

/** The results, one for each operation. */
export async function runLocks(
  broker: BrokerUnderTest,
  ...ops: readonly object[]
): Promise<LockResult[]> {
  const { results } = bodyOf(await broker.client.post(LOCKS, ops), 200) as {
    results: LockResult[];
  };
  expect(results.map(({ index }) => index)).toEqual(ops.map((_, index) => index));
  return results;
}

export async function runLock(broker: BrokerUnderTest, op: object): Promise<LockResult> {
  return (await runLocks(broker, op))[0] as LockResult;
}

export const acquire = (name: string, owner: string | null = 'w-1', more: object = {}) => ({
  op: 'acquire',
  name,
  owner,
  ttlSeconds: 60,
  ...more,
});

export const renewal = { op: 'renew', name: 'l', token: 1, ttlSeconds: 5 };
export const release = { op: 'release', name: 'l', token: 1 };
