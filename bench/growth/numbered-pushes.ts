// Pushes of an open loop whose payloads say which publish they came with, so that the load program
// can tell when a message was due that a consumer has got.

import { partitionName, payloadTexts } from '../load/push-requests.js';
import { requestBytes } from '../rig/http-connection.js';
import { PAYLOAD_BYTES } from './growth.js';

const PARTITIONS = 64;

/** Single pushes, numbered from 0; message `i` goes to partition `i` modulo 64. */
export function numberedPushes(queue: string, count: number): readonly Buffer[] {
  const texts = payloadTexts(PARTITIONS, PAYLOAD_BYTES - '"number":000000,'.length);
  return Array.from({ length: count }, (_, i) => {
    const payload = `{"number":${i},${(texts[i % PARTITIONS] ?? '{}').slice(1)}`;
    const item = `{"queue":"${queue}","partition":"${partitionName(i % PARTITIONS)}"`;
    return requestBytes('POST', '/api/v1/push', `{"items":[${item},"payload":${payload}}]}`);
  });
}
