// The messages of the demo, made of the two files below bench/data.
//
// An access line travels as a JSON string, its partition is the client's address; a status
// document travels as its own text, spread over a few partitions. The files are sent several
// times over ("rounds") so that there is a stream to interrupt. Within a partition the order of
// this list is the order of sending.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkoutRoot } from '../rig/checkout.js';

export interface OutgoingMessage {
  readonly queue: string;
  readonly partition: string;
  readonly transactionId: string;
  /** The payload's JSON text, which must come back byte for byte. */
  readonly payload: Buffer;
}

export const ACCESS_QUEUE = 'demo.access';
export const STATUS_QUEUE = 'demo.status';
const STATUS_PARTITIONS = 8;

interface Line {
  readonly queue: string;
  readonly partition: string;
  readonly number: number;
  readonly payload: Buffer;
}

/** `rounds` times both files, interleaved in proportion to their lengths. */
export function readInput(rounds: number): readonly OutgoingMessage[] {
  const lines = interleave(accessLines(), statusLines());
  const messages: OutgoingMessage[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const { queue, partition, number, payload } of lines) {
      const transactionId = `${queue}-${round}-${number}`;
      messages.push({ queue, partition, transactionId, payload });
    }
  }
  return messages;
}

function accessLines(): readonly Line[] {
  return readLines('apache-access.log').map((text, number) => ({
    queue: ACCESS_QUEUE,
    partition: text.slice(0, text.indexOf(' ')),
    number,
    payload: Buffer.from(JSON.stringify(text)),
  }));
}

function statusLines(): readonly Line[] {
  return readLines('nginx-plus-status.jsonl').map((text, number) => ({
    queue: STATUS_QUEUE,
    partition: `status-${number % STATUS_PARTITIONS}`,
    number,
    payload: Buffer.from(text),
  }));
}

function readLines(name: string): readonly string[] {
  const text = readFileSync(join(checkoutRoot(), 'bench', 'data', name), 'utf8');
  return text.split('\n').filter((line) => line !== '');
}

function interleave(many: readonly Line[], few: readonly Line[]): readonly Line[] {
  const mixed: Line[] = [];
  let taken = 0;
  for (const [index, line] of many.entries()) {
    mixed.push(line);
    const due = Math.floor(((index + 1) * few.length) / many.length);
    mixed.push(...few.slice(taken, due));
    taken = due;
  }
  return mixed;
}
