/** Calls of the key/value store, as the rows of its tables make them. */
import type { KvCallAnswer, KvResultAnswer } from '@svc/wire';
import { bodyOf } from './broker-api.js';
import type { BrokerUnderTest } from './broker-under-test.js';
import type { ContractRow } from './table.js';

export const KV = '/api/v1/kv';

export async function kv(
  { client }: BrokerUnderTest,
  ...ops: readonly object[]
): Promise<readonly KvResultAnswer[]> {
  return (bodyOf(await client.post(KV, ops), 200) as KvCallAnswer).results;
}

export async function kvOne(broker: BrokerUnderTest, op: object): Promise<KvResultAnswer> {
  const [result] = await kv(broker, op);
  return result as KvResultAnswer;
}

export function put(key: string, value: unknown, more: object = {}): object {
  return { op: 'put', ns: 'n', key, value, forever: true, ...more };
}

export function get(key: string): object {
  return { op: 'get', ns: 'n', key };
}

/** One operation, or several, that are refused so. */
export function refusedKv(
  row: string,
  ops: object | readonly unknown[],
  reason: string,
  detail?: string,
  status = 400,
): ContractRow {
  const error = status === 413 ? 'payload_too_large' : 'kv_bad_request';
  return {
    row,
    does: `${JSON.stringify(ops).slice(0, 80)} is ${reason}`,
    send: `POST ${KV}`,
    body: Array.isArray(ops) ? ops : [ops],
    answer: { status, body: { error, reason, ...(detail === undefined ? {} : { detail }) } },
  };
}
