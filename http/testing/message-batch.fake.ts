/** Messages as a broker delivers them, for tests of what becomes of an answer. */
import type { MessageBatch } from '../ports/service.js';

/** `count` messages of one payload, without names of their own. */
export function batchOf(payload: string, count = 1): MessageBatch {
  const indexes = Array.from({ length: count }, (_, i) => i);
  return {
    bytes: Buffer.from(payload.repeat(count)),
    payloadStart: indexes.map((i) => i * payload.length),
    payloadEnd: indexes.map((i) => (i + 1) * payload.length),
    stampUs: 1_792_000_000_000_120,
    baseOffset: 0,
    first: 0,
    last: count - 1,
    transactionIds: indexes.map(() => null),
    producerSubs: null,
    traceIds: null,
  };
}
