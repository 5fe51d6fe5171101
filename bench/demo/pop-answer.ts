// Reads the answer of a pop, each payload as the bytes that stand in it.

import { JsonShapeError, readArray, readInteger, readObject, readString } from './json-slices.js';

export interface DeliveredMessage {
  readonly queue: string;
  readonly partition: string;
  readonly partitionId: string;
  readonly transactionId: string;
  readonly leaseId: string;
  readonly offset: number;
  /** The exact text of `data`; a view of the answer's body. */
  readonly data: Buffer;
}

/** Throws a JsonShapeError when a message lacks a field that the contract promises. */
export function readPopAnswer(body: Buffer): readonly DeliveredMessage[] {
  const messages: DeliveredMessage[] = [];
  readObject(body, 0, (key, value) => {
    if (key === 'messages') {
      readArray(value, 0, (message) => messages.push(readMessage(message)));
    }
  });
  return messages;
}

function readMessage(message: Buffer): DeliveredMessage {
  const values = new Map<string, Buffer>();
  readObject(message, 0, (key, value) => values.set(key, value));
  const field = (name: keyof DeliveredMessage): Buffer => {
    const value = values.get(name);
    if (value === undefined) {
      throw new JsonShapeError(`a delivered message has no ${name}`);
    }
    return value;
  };
  return {
    queue: readString(field('queue')),
    partition: readString(field('partition')),
    partitionId: readString(field('partitionId')),
    transactionId: readString(field('transactionId')),
    leaseId: readString(field('leaseId')),
    offset: readInteger(field('offset')),
    data: field('data'),
  };
}
