/**
 * What a client has been told, and what that obliges the nodes to: every acknowledged message is
 * there, byte for byte, at the place it had; what was acknowledged is not delivered again.
 */
import type { AckCommand, AckStatus } from '@svc/engine';
import type { DeliveredOutcome, FetchedOutcome, SubmittedOutcome } from '@svc/http';
import {
  type Message,
  messagesOf,
  pushCommand,
  sendOutcome,
  TENANT,
} from '../simulation/client-messages.js';
import type { World } from './world.js';

export const QUEUE = 'flips';
export const GROUP = 'readers';
const PARTITIONS = ['0', '1'] as const;
const LEASE_SECONDS = 2;
const RECORDS_MAX = 100_000;

/** One stored message, as a reader sees it. */
export interface Read {
  readonly partition: string;
  readonly offset: number;
  readonly messageId: string;
  readonly transactionId: string;
  readonly payload: string;
}

/** A read that a node would not answer, and what it said. */
export interface Withheld {
  readonly partition: string;
  readonly offset: number;
  readonly error: string;
}

interface Refused {
  readonly kind: 'refused';
  readonly refusal: { readonly reason: string; readonly error?: string };
}

export class History {
  /** Acknowledged pushes by their message ids. */
  readonly stored = new Map<string, Message>();
  /** `partition@offset` that the group has completed, or given up as dead. */
  readonly done = new Set<string>();
  values = 0;

  copy(): History {
    const copy = new History();
    for (const [id, message] of this.stored) copy.stored.set(id, message);
    for (const place of this.done) copy.done.add(place);
    copy.values = this.values;
    return copy;
  }

  compose(count: number, bytes: number): Message[] {
    return Array.from({ length: count }, () => {
      const value = `m${++this.values}`;
      const pad = 'x'.repeat(bytes + (this.values % 5));
      return {
        value,
        partition: PARTITIONS[this.values % PARTITIONS.length] ?? '0',
        transactionId: `t-${value}`,
        payload: `{"value":"${value}","pad":"${pad}"}`,
      };
    });
  }

  /** Until it is acknowledged. */
  push(world: World, messages: readonly Message[], queue = QUEUE): void {
    const answer = world.askLeader<SubmittedOutcome>((broker, reply) =>
      broker.submit(pushCommand(queue, messages), reply),
    );
    if (answer.kind !== 'pushed') throw new Error(`a push ended as ${answer.kind}`);
    if (queue !== QUEUE) return;
    messages.forEach((message, at) => {
      const id = answer.messageIds[at] ?? '';
      const outcome = sendOutcome(answer.status[at]);
      if (outcome !== 'queued' && outcome !== 'duplicate') throw new Error(`push: ${outcome}`);
      this.stored.set(id, message);
    });
  }

  /** Takes up to `count` messages and ends them all with `status`; how many there were. */
  consume(world: World, count: number, status: AckStatus): number {
    const outcome = world.askLeader<DeliveredOutcome | Refused>((broker, reply) =>
      broker.pop(
        {
          kind: 'pop',
          tenant: TENANT,
          scope: { kind: 'queue', queue: QUEUE },
          consumerGroup: GROUP,
          batch: count,
          partitions: PARTITIONS.length,
          autoAck: false,
          wait: false,
          leaseSeconds: LEASE_SECONDS,
          subscription: { mode: 'all' },
          conflation: null,
          autopilot: null,
          deadlineMs: broker.monotonicMs() + 100,
        },
        reply,
      ),
    );
    if (outcome.kind === 'refused') throw new Error(`a pop ended as ${JSON.stringify(outcome)}`);
    const items: AckCommand['items'][number][] = [];
    const places: string[] = [];
    for (const { partition, partitionNumber, batches } of outcome.claims) {
      for (const message of batches.flatMap((batch) => messagesOf(batch, partitionNumber))) {
        const place = `${partition}@${message.offset}`;
        if (this.done.has(place)) throw new Error(`delivered again: ${place}`);
        this.#check({ partition, ...message });
        places.push(place);
        items.push({
          transactionId: message.transactionId,
          partitionId: `${partitionNumber}`,
          leaseId: outcome.leaseId,
          status,
          error: null,
        });
      }
    }
    if (items.length > 0) this.#acknowledge(world, items, places);
    return items.length;
  }

  #acknowledge(world: World, items: AckCommand['items'], places: readonly string[]): void {
    const command: AckCommand = { kind: 'ack', tenant: TENANT, consumerGroup: GROUP, items };
    const answer = world.askLeader<SubmittedOutcome>((broker, reply) =>
      broker.submit(command, reply),
    );
    if (answer.kind !== 'acked') throw new Error(`an ack ended as ${answer.kind}`);
    answer.items.forEach(({ success }, at) => {
      if (success) this.done.add(places[at] ?? '');
    });
  }

  /** A message that a node serves must be the one that was stored under its id. */
  #check({ messageId, transactionId, payload, partition, offset }: Read): void {
    const known = this.stored.get(messageId);
    // A push that was not acknowledged may be there; its bytes are known by its value.
    if (known === undefined) return;
    const isSame =
      known.payload === payload &&
      known.transactionId === transactionId &&
      known.partition === partition;
    if (!isSame) throw new Error(`${partition}@${offset} is not what was stored: ${payload}`);
  }

  /**
   * Everything that one node serves, and what it withholds. null when the node answers nothing.
   */
  readAll(world: World, machine: number): { reads: Read[]; withheld: Withheld[] } | null {
    const reads: Read[] = [];
    const withheld: Withheld[] = [];
    for (const partition of PARTITIONS) {
      let offset = 0;
      for (;;) {
        // One record at a time is asked for where a larger answer is withheld.
        const bytes = withheld.at(-1)?.partition === partition ? 1 : RECORDS_MAX;
        const answer = this.#fetch(world, machine, partition, offset, bytes);
        if (answer === 'refused' || answer === 'unknown') return null;
        if (answer.kind === 'refused') {
          if (answer.refusal.reason !== 'internal') return null;
          if (bytes > 1) {
            withheld.push({ partition, offset: -1, error: '' });
            continue;
          }
          withheld.push({ partition, offset, error: answer.refusal.error ?? '' });
          offset++;
          continue;
        }
        const { batches = [], partitionNumber = 0, highWatermark = 0 } = answer.entries[0] ?? {};
        const messages = batches.flatMap((batch) => messagesOf(batch, partitionNumber));
        for (const message of messages) {
          const read = { partition, ...message };
          this.#check(read);
          reads.push(read);
        }
        offset += messages.length;
        if (offset >= highWatermark || messages.length === 0) break;
      }
    }
    return { reads, withheld: withheld.filter(({ offset }) => offset >= 0) };
  }

  #fetch(world: World, machine: number, partition: string, offset: number, maxBytes: number) {
    return world.ask<FetchedOutcome | Refused>(machine, (broker, reply) =>
      broker.fetch(
        {
          tenant: TENANT,
          entries: [{ queue: QUEUE, partition, offset, maxBytes }],
          maxWaitMs: 0,
          minBytes: 0,
          deadlineMs: broker.monotonicMs(),
        },
        reply as Parameters<typeof broker.fetch>[1],
      ),
    );
  }

  /** Acknowledged messages that are not among `reads`. */
  missing(reads: readonly Read[]): string[] {
    const found = new Set(reads.map(({ messageId }) => messageId));
    return [...this.stored.keys()].filter((id) => !found.has(id));
  }
}
