/**
 * Goal: the log checker is silent on a right history and names each kind of wrong one.
 * Method: one right history of two partitions; each test plants one anomaly in it.
 */
import { describe, expect, it } from 'vitest';
import type { ReadRecord, Send } from './history.js';
import { checkLog, type LogAnomalyKind, type LogHistory } from './log-checker.js';

function send(value: string, beganMs: number, changes: Partial<Send> = {}): Send {
  return {
    value,
    partition: 'q/p',
    transactionId: `t-${value}`,
    payload: `{"value":"${value}"}`,
    call: beganMs,
    index: 0,
    beganMs,
    endedMs: beganMs + 5,
    outcome: 'queued',
    messageId: `id-${value}`,
    ...changes,
  };
}

function record(value: string, offset: number, changes: Partial<ReadRecord> = {}): ReadRecord {
  return {
    partition: 'q/p',
    offset,
    transactionId: `t-${value}`,
    payload: `{"value":"${value}"}`,
    ...changes,
  };
}

const RIGHT: LogHistory = {
  sends: [
    send('a', 0),
    send('b', 10, { call: 10, index: 0 }),
    send('c', 10, { call: 10, index: 1 }),
    send('d', 20, { outcome: 'unknown', messageId: null }),
    send('d', 30, { outcome: 'duplicate' }),
    send('e', 21, { partition: 'q/other' }),
    send('f', 40, { outcome: 'unknown', messageId: null }),
    send('g', 50, { outcome: 'refused', messageId: null }),
  ],
  records: [
    record('a', 0),
    record('b', 1),
    record('c', 2),
    record('d', 3),
    record('e', 0, { partition: 'q/other' }),
  ],
  otherReads: [record('b', 1), record('b', 1), record('d', 3)],
  readValue: (payload) => (JSON.parse(payload) as { value?: string }).value ?? null,
};

function kinds(changes: Partial<LogHistory>): LogAnomalyKind[] {
  return [...new Set(checkLog({ ...RIGHT, ...changes }).map(({ kind }) => kind))];
}

function withSends(...sends: Send[]): Partial<LogHistory> {
  return { sends: [...RIGHT.sends, ...sends] };
}

function withRecords(...records: ReadRecord[]): Partial<LogHistory> {
  return { records: [...RIGHT.records, ...records] };
}

describe('checkLog', () => {
  it('is silent on a right history, whether an unanswered message is stored or not', () => {
    expect(checkLog(RIGHT)).toEqual([]);
    expect(kinds(withRecords(record('f', 4)))).toEqual([]);
  });

  it('lets pushes that overlap in time stand either way', () => {
    const sends = [send('x', 100, { endedMs: 120 }), send('y', 110, { endedMs: 115 })];
    expect(
      kinds({ ...withSends(...sends), ...withRecords(record('y', 4), record('x', 5)) }),
    ).toEqual([]);
  });

  it('finds an acknowledged message that is gone', () => {
    expect(kinds({ records: RIGHT.records.filter(({ offset }) => offset !== 3) })).toContain(
      'lost',
    );
  });

  it('finds a message that was read and is gone', () => {
    expect(kinds({ otherReads: [record('f', 4)] })).toEqual(['lost']);
  });

  it('finds one value at two offsets', () => {
    expect(kinds(withRecords(record('a', 4)))).toContain('value_at_two_offsets');
  });

  it('finds two values at one offset', () => {
    expect(kinds({ otherReads: [record('f', 1)] })).toEqual(['two_values_at_offset']);
    expect(kinds(withRecords(record('f', 3)))).toContain('two_values_at_offset');
  });

  it('finds a later push before an earlier one', () => {
    const swapped = [record('b', 0), record('c', 1), record('a', 2), record('d', 3)];
    expect(kinds({ records: [...swapped, ...RIGHT.records.slice(4)], otherReads: [] })).toEqual([
      'order',
    ]);
  });

  it('finds the items of one call out of order or apart', () => {
    const records = [record('a', 0), record('c', 1), record('b', 2), record('d', 3)];
    expect(kinds({ records: [...records, ...RIGHT.records.slice(4)], otherReads: [] })).toEqual([
      'order',
    ]);
    const apart = [record('a', 0), record('b', 1), record('f', 2), record('c', 3), record('d', 4)];
    expect(kinds({ records: [...apart, ...RIGHT.records.slice(4)], otherReads: [] })).toEqual([
      'order',
    ]);
  });

  it('finds a gap', () => {
    expect(kinds(withRecords(record('f', 5)))).toEqual(['gap']);
    expect(
      kinds({ records: RIGHT.records.map((r) => ({ ...r, offset: r.offset + 1 })) }),
    ).toContain('gap');
  });

  it('finds a refused message that is stored', () => {
    expect(kinds(withRecords(record('g', 4)))).toEqual(['refused_read']);
  });

  it('finds a message that nobody sent', () => {
    expect(kinds(withRecords(record('z', 4)))).toEqual(['never_sent']);
    const changes = { payload: '{}' };
    expect(kinds(withRecords(record('z', 4, changes)))).toEqual(['never_sent']);
  });

  it('finds a message in a partition that it was not sent to', () => {
    const moved = record('f', 1, { partition: 'q/other' });
    expect(kinds(withRecords(moved))).toEqual(['wrong_partition']);
  });

  it('finds one transaction id that was queued twice', () => {
    expect(kinds(withSends(send('a', 60)))).toEqual(['two_queued']);
  });

  it('finds a duplicate that names another message', () => {
    const other = send('a', 60, { outcome: 'duplicate', messageId: 'id-b' });
    expect(kinds(withSends(other))).toEqual(['wrong_original']);
  });

  it('finds changed bytes and a changed transaction id', () => {
    const spaced = RIGHT.records.map((r) =>
      r.offset === 2 ? { ...r, payload: '{"value": "c"}' } : r,
    );
    expect(kinds({ records: spaced })).toEqual(['payload']);
    const renamed = RIGHT.records.map((r) => (r.offset === 2 ? { ...r, transactionId: 't' } : r));
    expect(kinds({ records: renamed })).toEqual(['payload']);
  });
});
