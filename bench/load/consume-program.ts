// Pops a batch, acknowledges its last message as completed (which completes the whole batch:
// acknowledgements are cumulative), and pops again.
//
// The answer is searched for the few fields that the acknowledgement needs and not parsed; a pop
// claims one partition, so the first and the last offset give the number of messages. The first
// answer of each connection is parsed as well, and must say the same.

import { requestBytes } from '../http-connection.js';
import { LoadFailedError, type LoadProgram } from './closed-loop.js';

const OFFSET = Buffer.from('"offset":');
const LEASE_ID = Buffer.from('"leaseId":"');
const PARTITION_ID = Buffer.from('"partitionId":"');
const TRANSACTION_ID = Buffer.from('"transactionId":"');
const ACK_REFUSED = Buffer.from('"success":false');
const ACK_DONE = Buffer.from('"success":true');

export interface ConsumeTally {
  /** Messages whose acknowledgement was answered with success. */
  acknowledged: number;
}

export class ConsumeProgram implements LoadProgram {
  readonly #popRequest: Uint8Array;
  readonly #group: string;
  readonly #tally: ConsumeTally;
  #ackRequest: Uint8Array | null = null;
  #claimed = 0;
  #checked = false;

  constructor(queue: string, group: string, batch: number, tally: ConsumeTally) {
    const query = `consumerGroup=${group}&batch=${batch}&wait=true&timeout=5000&leaseSeconds=60`;
    this.#popRequest = requestBytes('GET', `/api/v1/pop/queue/${queue}?${query}`);
    this.#group = group;
    this.#tally = tally;
  }

  next(): Uint8Array {
    return this.#ackRequest ?? this.#popRequest;
  }

  take(status: number, body: Buffer): number {
    return this.#ackRequest === null ? this.#takePop(status, body) : this.#takeAck(status, body);
  }

  #takePop(status: number, body: Buffer): number {
    if (status === 204) {
      return 0;
    }
    if (status !== 200) {
      throw new LoadFailedError(`pop was answered ${status}: ${body.toString('utf8', 0, 300)}`);
    }
    const firstOffset = integerAt(body, body.indexOf(OFFSET), OFFSET.length);
    const lastOffset = integerAt(body, body.lastIndexOf(OFFSET), OFFSET.length);
    this.#claimed = lastOffset - firstOffset + 1;
    if (!this.#checked) {
      checkMessages(body, this.#claimed);
      this.#checked = true;
    }
    const lastId = textAt(body, body.lastIndexOf(TRANSACTION_ID), TRANSACTION_ID.length);
    const partitionId = textAt(body, body.lastIndexOf(PARTITION_ID), PARTITION_ID.length);
    const leaseId = textAt(body, body.lastIndexOf(LEASE_ID), LEASE_ID.length);
    this.#ackRequest = requestBytes(
      'POST',
      '/api/v1/ack',
      `{"transactionId":"${lastId}","partitionId":"${partitionId}","leaseId":"${leaseId}",` +
        `"consumerGroup":"${this.#group}","status":"completed"}`,
    );
    return 0;
  }

  #takeAck(status: number, body: Buffer): number {
    if (status !== 200 || body.indexOf(ACK_REFUSED) >= 0 || body.indexOf(ACK_DONE) < 0) {
      throw new LoadFailedError(`ack was answered ${status}: ${body.toString('utf8', 0, 300)}`);
    }
    this.#ackRequest = null;
    this.#tally.acknowledged += this.#claimed;
    return this.#claimed;
  }
}

function checkMessages(body: Buffer, claimed: number): void {
  const answer: unknown = JSON.parse(body.toString());
  const messages =
    typeof answer === 'object' && answer !== null && 'messages' in answer ? answer.messages : null;
  if (!Array.isArray(messages) || messages.length !== claimed) {
    throw new LoadFailedError(`offsets of a pop speak of ${claimed} messages, its array does not`);
  }
}

function integerAt(body: Buffer, keyAt: number, keyBytes: number): number {
  if (keyAt < 0) {
    throw new LoadFailedError('a pop answer has no offset');
  }
  return Number.parseInt(body.toString('latin1', keyAt + keyBytes, keyAt + keyBytes + 16), 10);
}

function textAt(body: Buffer, keyAt: number, keyBytes: number): string {
  const start = keyAt + keyBytes;
  if (keyAt < 0) {
    throw new LoadFailedError('a pop answer lacks a field that its acknowledgement needs');
  }
  return body.toString('latin1', start, body.indexOf(0x22, start));
}
