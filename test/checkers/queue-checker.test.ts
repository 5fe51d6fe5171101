/**
 * Goal: the queue checker is silent on a right history and names each kind of wrong one.
 * Method: one right history of a partition and a group; each test plants one anomaly in it.
 */
import { describe, expect, it } from 'vitest';
import type { Ack, Delivery, ReadRecord, Send } from './history.js';
import { checkQueue, type QueueAnomalyKind, type QueueHistory } from './queue-checker.js';

const VALUES = ['a', 'b', 'c', 'd', 'e'];

function send(value: string, i: number): Send {
  return {
    value,
    partition: 'q/p',
    transactionId: `t-${value}`,
    payload: value,
    call: i,
    index: 0,
    beganMs: i,
    endedMs: i + 1,
    outcome: 'queued',
    messageId: `id-${value}`,
  };
}

function record(value: string, offset: number): ReadRecord {
  return { partition: 'q/p', offset, transactionId: `t-${value}`, payload: value };
}

/** A pop of `offsets` that took 10 ms from `beganMs`, with a lease of 3 s. */
function pop(offsets: number[], lease: string, beganMs: number, call: number): Delivery[] {
  return offsets.map((offset) => {
    const value = VALUES[offset] ?? '';
    return {
      ...record(value, offset),
      group: 'g',
      messageId: `id-${value}`,
      leaseId: lease,
      call,
      leaseMs: 3000,
      beganMs,
      endedMs: beganMs + 10,
    };
  });
}

function ack(offsets: number[], lease: string, beganMs: number, outcome: Ack['outcome']): Ack[] {
  return offsets.map((offset) => ({
    group: 'g',
    partition: 'q/p',
    offset,
    leaseId: lease,
    signal: false,
    beganMs,
    endedMs: beganMs + 5,
    outcome,
  }));
}

/** Two batches; the ack of the first got no answer and was repeated; the second expired once. */
const RIGHT: QueueHistory = {
  sends: VALUES.map(send),
  records: VALUES.map(record),
  groups: ['g'],
  deliveries: [
    ...pop([0, 1], 'L1', 100, 1),
    ...pop([2, 3, 4], 'L2', 200, 2),
    ...pop([2, 3, 4], 'L3', 3300, 3),
  ],
  acks: [
    ...ack([0, 1], 'L1', 120, 'unknown'),
    ...ack([0, 1], 'L1', 150, 'noop'),
    ...ack([2, 3, 4], 'L2', 3210, 'refused'),
    ...ack([2, 3, 4], 'L3', 3320, 'done'),
  ],
};

function kinds(changes: Partial<QueueHistory>): QueueAnomalyKind[] {
  return [...new Set(checkQueue({ ...RIGHT, ...changes }).map(({ kind }) => kind))];
}

function withDeliveries(...deliveries: Delivery[]): Partial<QueueHistory> {
  return { deliveries: [...RIGHT.deliveries, ...deliveries] };
}

function withAcks(...acks: Ack[]): Partial<QueueHistory> {
  return { acks: [...RIGHT.acks, ...acks] };
}

describe('checkQueue', () => {
  it('is silent on a right history', () => {
    expect(checkQueue(RIGHT)).toEqual([]);
  });

  it('is silent when a pop that overlaps an ack delivers what it acks', () => {
    const deliveries = [...RIGHT.deliveries, ...pop([2, 3, 4], 'L4', 3322, 4)];
    expect(kinds({ deliveries })).not.toContain('redelivered');
  });

  it('finds a stored message that a group never got', () => {
    expect(kinds({ deliveries: RIGHT.deliveries.filter(({ offset }) => offset !== 1) })).toContain(
      'lost',
    );
    expect(kinds({ groups: ['g', 'h'] })).toEqual(['lost', 'unfinished']);
  });

  it('finds a group that has not acked to the end', () => {
    expect(kinds({ acks: RIGHT.acks.filter(({ outcome }) => outcome !== 'done') })).toEqual([
      'unfinished',
    ]);
  });

  it('finds a message acked twice', () => {
    expect(kinds(withAcks(...ack([4], 'L3', 3400, 'done')))).toEqual(['acked_twice']);
  });

  it('finds a delivery after the ack, of the message acked and of those below it', () => {
    expect(kinds(withDeliveries(...pop([4], 'L4', 9000, 4)))).toEqual(['redelivered']);
    expect(kinds(withDeliveries(...pop([0], 'L4', 9000, 4)))).toEqual(['redelivered']);
  });

  it('finds two leases at once', () => {
    expect(kinds(withDeliveries(...pop([2, 3, 4], 'L9', 1000, 9)))).toEqual(['overlapping_leases']);
  });

  it('finds two leases at once when their pops overlap in time', () => {
    expect(kinds(withDeliveries(...pop([2, 3, 4], 'L9', 205, 9)))).toEqual(['overlapping_leases']);
  });

  it('allows a second lease when the first may have ended by then', () => {
    const later = [...RIGHT.deliveries.slice(0, 5), ...pop([2, 3, 4], 'L9', 3195, 9)];
    expect(kinds({ deliveries: later })).not.toContain('overlapping_leases');
    const deliveries = [...pop([0, 1], 'L1', 100, 1), ...pop([2], 'L2', 121, 2)];
    expect(kinds({ deliveries, acks: ack([0, 1], 'L1', 120, 'done') })).not.toContain(
      'overlapping_leases',
    );
  });

  it('finds a gap inside a pop, and offsets that do not ascend', () => {
    const gap = [...pop([0, 1], 'L1', 100, 1), ...pop([2, 4], 'L2', 200, 2)];
    expect(kinds({ deliveries: [...gap, ...pop([2, 3, 4], 'L3', 3300, 3)] })).toEqual([
      'gap_in_pop',
    ]);
    const turned = [...pop([1, 0], 'L1', 100, 1), ...RIGHT.deliveries.slice(2)];
    expect(kinds({ deliveries: turned })).toEqual(['gap_in_pop']);
  });

  it("finds a payload that is not its id's", () => {
    const deliveries = RIGHT.deliveries.map((d) => (d.offset === 1 ? { ...d, payload: 'x' } : d));
    expect(kinds({ deliveries })).toEqual(['payload']);
  });

  it('finds another message id than the one that was answered', () => {
    const deliveries = RIGHT.deliveries.map((d) => (d.offset === 1 ? { ...d, messageId: 'x' } : d));
    expect(kinds({ deliveries })).toEqual(['message_id']);
  });

  it('finds a refused ack of a lease that was alive', () => {
    expect(kinds(withAcks(...ack([2], 'L2', 250, 'refused')))).toEqual(['valid_ack_refused']);
  });
});
