// Sends its share of the messages in order, one push in flight, and sends a push again with the
// same transaction ids until it is answered: the broker's deduplication makes that harmless.

import type { Address } from '../rig/http-connection.js';
import { HttpExchange } from '../rig/http-exchange.js';
import type { OutgoingMessage } from './input.js';
import { readArray, readObject, readString } from './json-slices.js';
import type { Ledger } from './ledger.js';
import { persist } from './patience.js';

const BATCH = 50;

export async function runProducer(
  address: Address,
  messages: readonly OutgoingMessage[],
  ledger: Ledger,
  stopped: () => boolean,
): Promise<void> {
  const exchange = new HttpExchange(address);
  try {
    for (let at = 0; at < messages.length && !stopped(); at += BATCH) {
      const batch = messages.slice(at, at + BATCH);
      const body = pushBody(batch);
      const answer = await persist(exchange, 'POST', '/api/v1/push', body, stopped);
      if (answer.status !== 201) {
        throw new Error(`a push was answered ${answer.status}: ${answer.body.toString()}`);
      }
      acknowledgeAll(answer.body, batch, ledger);
    }
  } finally {
    exchange.close();
  }
}

/** Share `index` of `shares`: whole partitions, so that each has one producer. */
export function shareOf(
  messages: readonly OutgoingMessage[],
  index: number,
  shares: number,
): readonly OutgoingMessage[] {
  return messages.filter((message) => hashOf(message.partition) % shares === index);
}

function pushBody(batch: readonly OutgoingMessage[]): Buffer {
  const parts: Buffer[] = [];
  for (const { queue, partition, transactionId, payload } of batch) {
    const target = JSON.stringify({ queue, partition, transactionId });
    const opening = parts.length === 0 ? '{"items":[' : ',';
    parts.push(Buffer.from(`${opening}${target.slice(0, -1)},"payload":`), payload, CLOSING_BRACE);
  }
  return Buffer.concat([...parts, CLOSING_LIST]);
}

const CLOSING_BRACE = Buffer.from('}');
const CLOSING_LIST = Buffer.from(']}');

function acknowledgeAll(body: Buffer, batch: readonly OutgoingMessage[], ledger: Ledger): void {
  let results = 0;
  readArray(body, 0, (element) => {
    let transactionId = '';
    let status = '';
    readObject(element, 0, (key, value) => {
      if (key === 'transaction_id') {
        transactionId = readString(value);
      } else if (key === 'status') {
        status = readString(value);
      }
    });
    if (transactionId !== batch[results]?.transactionId) {
      throw new Error(`element ${results} of a push answer speaks of ${transactionId}`);
    }
    if (status !== 'queued' && status !== 'duplicate') {
      throw new Error(`the push of ${transactionId} ended with ${status}`);
    }
    ledger.acknowledge(transactionId);
    results += 1;
  });
  if (results !== batch.length) {
    throw new Error(`a push of ${batch.length} messages was answered for ${results}`);
  }
}

/** FNV-1a, so that the shares are the same in every run. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash;
}
