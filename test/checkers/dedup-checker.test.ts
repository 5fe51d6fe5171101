/**
 * Goal: the dedup checker is silent on a right history and names each kind of wrong one. Method:
 * one right history of ids that were used again; each test plants one anomaly in it.
 */
import { describe, expect, it } from 'vitest';
import { checkDedup, type DedupAnomalyKind, type DedupHistory } from './dedup-checker.js';
import { type ReadRecord, type Send, ZERO_ID } from './history.js';

/** An attempt to store `value` under the id `id`. */
function send(id: string, value: string, beganMs: number, changes: Partial<Send> = {}): Send {
  return {
    value,
    partition: 'q/p',
    transactionId: id,
    payload: `{"value":"${value}"}`,
    call: beganMs,
    index: 0,
    beganMs,
    endedMs: beganMs + 5,
    outcome: 'queued',
    messageId: `id-${id}`,
    ...changes,
  };
}

function record(id: string, value: string, offset: number, partition = 'q/p'): ReadRecord {
  return { partition, offset, transactionId: id, payload: `{"value":"${value}"}` };
}

const UNKNOWN: Partial<Send> = { outcome: 'unknown', messageId: null };
const DUPLICATE: Partial<Send> = { outcome: 'duplicate' };
const REFUSED: Partial<Send> = { outcome: 'refused', messageId: null };

const RIGHT: DedupHistory = {
  sends: [
    send('a', 'a1', 0),
    send('a', 'a2', 10, DUPLICATE),
    // No answer, then again at another node, which had it already.
    send('b', 'b1', 20, UNKNOWN),
    send('b', 'b1', 30, DUPLICATE),
    // No answer, and not stored either: the next one is the first.
    send('c', 'c1', 40, UNKNOWN),
    send('c', 'c2', 50),
    send('d', 'd1', 60, UNKNOWN),
    send('e', 'e1', 70, REFUSED),
    send('a', 'a3', 80, { partition: 'q/other' }),
    send('f', 'f1', 90),
    send('f', 'f2', 95, { ...DUPLICATE, messageId: ZERO_ID }),
  ],
  records: [
    record('a', 'a1', 0),
    record('b', 'b1', 1),
    record('c', 'c2', 2),
    record('f', 'f1', 3),
    record('a', 'a3', 0, 'q/other'),
  ],
};

function kinds(sends: readonly Send[], records: readonly ReadRecord[] = []): DedupAnomalyKind[] {
  const history = {
    sends: [...RIGHT.sends, ...sends],
    records: [...RIGHT.records, ...records],
  };
  return [...new Set(checkDedup(history).map(({ kind }) => kind))];
}

describe('checkDedup', () => {
  it('is silent on a right history, whether an unanswered message is stored or not', () => {
    expect(checkDedup(RIGHT)).toEqual([]);
    expect(kinds([], [record('d', 'd1', 4)])).toEqual([]);
  });

  it('lets attempts that overlap decide among themselves who was first', () => {
    const both = [send('g', 'g1', 100, { ...DUPLICATE, endedMs: 120 }), send('g', 'g2', 110)];
    expect(kinds(both, [record('g', 'g2', 4)])).toEqual([]);
  });

  it('finds two records of one id', () => {
    expect(kinds([], [record('a', 'a2', 4)])).toEqual(['two_records']);
  });

  it('finds an id that was queued twice', () => {
    expect(kinds([send('a', 'a4', 100)])).toEqual(['two_queued']);
  });

  it('finds an acknowledged id without a record', () => {
    expect(kinds([send('x', 'x1', 100)])).toEqual(['lost']);
    const duplicate = send('x', 'x2', 110, DUPLICATE);
    expect(kinds([send('x', 'x1', 100, UNKNOWN), duplicate])).toEqual(['lost']);
  });

  it('finds that another message is stored than the one that was queued', () => {
    const twice = [send('x', 'x1', 100), send('x', 'x2', 110, UNKNOWN)];
    expect(kinds(twice, [record('x', 'x2', 4)])).toEqual(['other_queued']);
  });

  it('finds a duplicate that names another message', () => {
    const other = send('a', 'a4', 100, { ...DUPLICATE, messageId: 'id-b' });
    expect(kinds([other])).toEqual(['other_record']);
  });

  it('finds a duplicate of nothing', () => {
    const alone = send('x', 'x1', 100, DUPLICATE);
    expect(kinds([alone], [record('x', 'x1', 4)])).toEqual(['duplicate_of_nothing']);
    const later = send('x', 'x2', 200, UNKNOWN);
    expect(kinds([alone, later], [record('x', 'x1', 4)])).toEqual(['duplicate_of_nothing']);
    const refused = send('x', 'x2', 50, REFUSED);
    expect(kinds([alone, refused], [record('x', 'x1', 4)])).toEqual(['duplicate_of_nothing']);
  });

  it('finds that a refused message is stored', () => {
    expect(kinds([], [record('e', 'e1', 4)])).toEqual(['refused_stored']);
  });

  it('finds a record that nobody sent', () => {
    expect(kinds([], [record('z', 'z1', 4)])).toEqual(['never_sent']);
    expect(kinds([], [record('d', 'other', 4)])).toEqual(['never_sent']);
  });
});
