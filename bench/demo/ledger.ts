// Judges a run: what was sent and acknowledged against what each consumer group was given.
//
// The definitions, per group:
// - lost: the push of a message was acknowledged, and the group never received it.
// - duplicated: an offset was delivered by a pop that began after an acknowledgement covering it
//   was answered with success; or one message lies at two offsets. A lease that ended without
//   such an answer brings its messages again by contract: that is counted apart, as redelivered.
//   An acknowledgement whose answer was lost proves nothing and covers nothing.
// - out of order: the first delivery of an offset came after that of a higher offset of its
//   partition, or a message came before one that its producer had sent earlier.
// - altered: the payload differs from what was sent in any byte, or is in another queue or
//   partition, or was never sent, or an offset carries another message than it did before.
//
// Moments are ticks of a counter, taken by the consumers when a pop begins and when an
// acknowledgement's answer arrives. All of them run on one thread, so ticks order truly.

import type { OutgoingMessage } from './input.js';
import type { DeliveredMessage } from './pop-answer.js';

/** One row of the final table. */
export interface GroupResult {
  readonly queue: string;
  readonly group: string;
  readonly sent: number;
  readonly acknowledged: number;
  readonly delivered: number;
  readonly redelivered: number;
  readonly lost: number;
  readonly duplicated: number;
  readonly outOfOrder: number;
  readonly altered: number;
}

interface Tally {
  delivered: number;
  completed: number;
  redelivered: number;
  duplicated: number;
  outOfOrder: number;
  altered: number;
}

/** What one group saw of one partition. */
interface Reading {
  readonly seenOffsets: Set<number>;
  /** Offset -> tick at which its completion was known. */
  readonly completedTicks: Map<number, number>;
  highestOffset: number;
  highestIndex: number;
}

interface GroupBook {
  readonly name: string;
  /** 1 for each message, by its index, that the group has received. */
  readonly received: Uint8Array;
  readonly readings: Map<string, Reading>;
  readonly tallies: Map<string, Tally>;
}

const EXAMPLES_MAX = 10;

export class Ledger {
  /** The first anomalies in words. */
  readonly examples: string[] = [];

  readonly #messages: readonly OutgoingMessage[];
  readonly #indexByTransaction = new Map<string, number>();
  readonly #acknowledged: Uint8Array;
  readonly #groups: readonly GroupBook[];
  /** Partition -> offset -> index of the message there, over all groups. */
  readonly #contents = new Map<string, Map<number, number>>();
  #acknowledgedCount = 0;
  #tick = 0;

  constructor(messages: readonly OutgoingMessage[], groups: readonly string[]) {
    this.#messages = messages;
    this.#acknowledged = new Uint8Array(messages.length);
    for (const [index, message] of messages.entries()) {
      this.#indexByTransaction.set(message.transactionId, index);
    }
    this.#groups = groups.map((name) => ({
      name,
      received: new Uint8Array(messages.length),
      readings: new Map(),
      tallies: new Map(),
    }));
  }

  get sentCount(): number {
    return this.#messages.length;
  }

  get acknowledgedCount(): number {
    return this.#acknowledgedCount;
  }

  /** Messages, each counted once per group, that were delivered. */
  get deliveredCount(): number {
    return this.#sum((tally) => tally.delivered);
  }

  get redeliveredCount(): number {
    return this.#sum((tally) => tally.redelivered);
  }

  /** Every message was acknowledged, and delivered to and completed by every group. */
  get finished(): boolean {
    const all = this.sentCount * this.#groups.length;
    return (
      this.#acknowledgedCount === this.sentCount && this.#sum((tally) => tally.completed) >= all
    );
  }

  nextTick(): number {
    this.#tick += 1;
    return this.#tick;
  }

  /** The push of the message was answered: it is stored. */
  acknowledge(transactionId: string): void {
    const index = this.#indexByTransaction.get(transactionId);
    if (index === undefined) {
      throw new Error(`a push was acknowledged that nobody sent: ${transactionId}`);
    }
    if (this.#acknowledged[index] === 0) {
      this.#acknowledged[index] = 1;
      this.#acknowledgedCount += 1;
    }
  }

  /** A pop that began at `popTick` brought the message. */
  deliver(group: string, message: DeliveredMessage, popTick: number): void {
    const book = this.#book(group);
    const tally = tallyOf(book, message.queue);
    const index = this.#indexByTransaction.get(message.transactionId);
    const sent = index === undefined ? undefined : this.#messages[index];
    if (index === undefined || sent === undefined) {
      tally.altered += 1;
      this.#note(`${group}: never sent`, message);
      return;
    }
    if (!isSame(sent, message) || !this.#agreesOnContent(message, index)) {
      tally.altered += 1;
      this.#note(`${group}: altered`, message);
    }
    const reading = readingOf(book, message);
    if (reading.seenOffsets.has(message.offset)) {
      this.#deliverAgain(group, tally, reading, message, popTick);
    } else {
      this.#deliverFirst(book, tally, reading, message, index);
    }
  }

  /** An acknowledgement up to `lastOffset` was answered with success. */
  complete(group: string, queue: string, partition: string, lastOffset: number): void {
    const book = this.#book(group);
    const reading = readingOf(book, { queue, partition });
    const tally = tallyOf(book, queue);
    const tick = this.nextTick();
    for (let offset = lastOffset; offset >= 0 && !reading.completedTicks.has(offset); offset -= 1) {
      reading.completedTicks.set(offset, tick);
      tally.completed += 1;
    }
  }

  /** The judgement as things stand; to be asked once, at the end. */
  verdicts(): readonly GroupResult[] {
    const queues = [...new Set(this.#messages.map((message) => message.queue))];
    return queues.flatMap((queue) => this.#groups.map((book) => this.#verdict(queue, book)));
  }

  #verdict(queue: string, book: GroupBook): GroupResult {
    let sent = 0;
    let acknowledged = 0;
    let lost = 0;
    for (const [index, message] of this.#messages.entries()) {
      if (message.queue === queue) {
        const stored = this.#acknowledged[index] ?? 0;
        sent += 1;
        acknowledged += stored;
        if (stored === 1 && book.received[index] === 0) {
          lost += 1;
          this.#note(`${book.name}: lost`, message);
        }
      }
    }
    const { delivered, redelivered, duplicated, outOfOrder, altered } = tallyOf(book, queue);
    const seen = { delivered, redelivered, lost, duplicated, outOfOrder, altered };
    return { queue, group: book.name, sent, acknowledged, ...seen };
  }

  #deliverFirst(
    book: GroupBook,
    tally: Tally,
    reading: Reading,
    message: DeliveredMessage,
    index: number,
  ): void {
    reading.seenOffsets.add(message.offset);
    if (message.offset < reading.highestOffset || index < reading.highestIndex) {
      tally.outOfOrder += 1;
      this.#note(`${book.name}: out of order`, message);
    }
    reading.highestOffset = Math.max(reading.highestOffset, message.offset);
    reading.highestIndex = Math.max(reading.highestIndex, index);
    if (book.received[index] === 1) {
      tally.duplicated += 1;
      this.#note(`${book.name}: one message at two offsets`, message);
      return;
    }
    book.received[index] = 1;
    tally.delivered += 1;
  }

  #deliverAgain(
    group: string,
    tally: Tally,
    reading: Reading,
    message: DeliveredMessage,
    popTick: number,
  ): void {
    const completedTick = reading.completedTicks.get(message.offset);
    if (completedTick === undefined || popTick < completedTick) {
      tally.redelivered += 1;
      return;
    }
    tally.duplicated += 1;
    this.#note(`${group}: delivered after its acknowledgement`, message);
  }

  #agreesOnContent(message: DeliveredMessage, index: number): boolean {
    const contents = getOrMake(this.#contents, partitionKey(message), () => new Map());
    const known = contents.get(message.offset);
    if (known === undefined) {
      contents.set(message.offset, index);
      return true;
    }
    return known === index;
  }

  #book(group: string): GroupBook {
    const book = this.#groups.find((candidate) => candidate.name === group);
    if (book === undefined) {
      throw new Error(`${group} is not a group of this run`);
    }
    return book;
  }

  #sum(value: (tally: Tally) => number): number {
    let sum = 0;
    for (const book of this.#groups) {
      for (const tally of book.tallies.values()) {
        sum += value(tally);
      }
    }
    return sum;
  }

  #note(what: string, message: OutgoingMessage | DeliveredMessage): void {
    if (this.examples.length < EXAMPLES_MAX) {
      const offset = 'offset' in message ? ` offset ${message.offset}` : '';
      const place = `${message.queue}/${message.partition}${offset}`;
      this.examples.push(`${what}: ${message.transactionId} at ${place}`);
    }
  }
}

/** Whether the run kept every promise. */
export function isClean(verdicts: readonly GroupResult[]): boolean {
  return verdicts.every(
    (row) =>
      row.acknowledged === row.sent &&
      row.lost === 0 &&
      row.duplicated === 0 &&
      row.outOfOrder === 0 &&
      row.altered === 0,
  );
}

function isSame(sent: OutgoingMessage, received: DeliveredMessage): boolean {
  return (
    sent.queue === received.queue &&
    sent.partition === received.partition &&
    sent.payload.equals(received.data)
  );
}

function partitionKey(place: { readonly queue: string; readonly partition: string }): string {
  return `${place.queue} ${place.partition}`;
}

function readingOf(
  book: GroupBook,
  place: { readonly queue: string; readonly partition: string },
): Reading {
  return getOrMake(book.readings, partitionKey(place), () => ({
    seenOffsets: new Set(),
    completedTicks: new Map(),
    highestOffset: -1,
    highestIndex: -1,
  }));
}

function tallyOf(book: GroupBook, queue: string): Tally {
  return getOrMake(book.tallies, queue, () => ({
    delivered: 0,
    completed: 0,
    redelivered: 0,
    duplicated: 0,
    outOfOrder: 0,
    altered: 0,
  }));
}

function getOrMake<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) {
    return known;
  }
  const made = make();
  map.set(key, made);
  return made;
}
