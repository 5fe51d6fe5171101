/**
 * Judges a history of pushes whose transaction ids are used more than once: again for the same
 * message, because no answer came, and for another message, as by a client that lost its memory.
 * Whatever node was asked, one id names one record of its partition, and every answer says so.
 *
 * An attempt without an answer may have stored its message at any time up to the end of the
 * history: what a node forwarded may be planned long after its client gave up.
 */
import { type Anomaly, groupBy, type ReadRecord, type Send, ZERO_ID } from './history.js';

export type DedupAnomalyKind =
  /** Two records of one partition have one transaction id. */
  | 'two_records'
  /** Two attempts were told `queued`. */
  | 'two_queued'
  /** An id was acknowledged, and no record has it. */
  | 'lost'
  /** The record holds another message than the one that was told `queued`. */
  | 'other_queued'
  /** Answers to one id name different messages. */
  | 'other_record'
  /** Told `duplicate` before any other attempt can have been stored. */
  | 'duplicate_of_nothing'
  /** Every attempt was refused for good, and a record has the id. */
  | 'refused_stored'
  /** A record holds what nobody sent under its id. */
  | 'never_sent';

export type DedupAnomaly = Anomaly<DedupAnomalyKind>;

export interface DedupHistory {
  readonly sends: readonly Send[];
  /** Every partition from its first record to its last, read after the last push. */
  readonly records: readonly ReadRecord[];
}

type Report = (kind: DedupAnomalyKind, text: string) => void;

export function checkDedup(history: DedupHistory): DedupAnomaly[] {
  const anomalies: DedupAnomaly[] = [];
  const report: Report = (kind, text) => anomalies.push({ kind, text });
  const recordsOf = groupBy(history.records, keyOf);
  const sendsOf = groupBy(history.sends, keyOf);
  for (const [key, sends] of sendsOf) {
    checkAnswers(key, sends, report);
    checkStored(key, sends, recordsOf.get(key) ?? [], report);
  }
  for (const [key, records] of recordsOf) {
    if (!sendsOf.has(key)) report('never_sent', `${key} is at ${offsetsOf(records)}`);
  }
  return anomalies;
}

/** The scope of an id is its partition. */
function keyOf(item: {
  readonly partition: string;
  readonly transactionId: string | null;
}): string {
  return `${item.partition} ${item.transactionId}`;
}

function offsetsOf(records: readonly ReadRecord[]): string {
  return records.map(({ offset }) => offset).join(', ');
}

function checkAnswers(key: string, sends: readonly Send[], report: Report): void {
  const queued = sends.filter(({ outcome }) => outcome === 'queued');
  if (queued.length > 1) report('two_queued', `${key}: ${queued.length} times`);
  const named = new Set<string>();
  for (const { outcome, messageId } of sends) {
    const answered = outcome === 'queued' || outcome === 'duplicate';
    if (answered && messageId !== null && messageId !== ZERO_ID) named.add(messageId);
  }
  if (named.size > 1) report('other_record', `${key} was answered with ${[...named].join(', ')}`);
  for (const send of sends) {
    if (send.outcome !== 'duplicate') continue;
    const original = sends.some(
      (other) => other !== send && other.outcome !== 'refused' && other.beganMs < send.endedMs,
    );
    if (!original) report('duplicate_of_nothing', `${key}: ${send.value} at ${send.beganMs} ms`);
  }
}

function checkStored(
  key: string,
  sends: readonly Send[],
  records: readonly ReadRecord[],
  report: Report,
): void {
  const acknowledged = sends.filter(
    ({ outcome }) => outcome === 'queued' || outcome === 'duplicate',
  );
  const [record] = records;
  if (record === undefined) {
    if (acknowledged.length > 0) report('lost', `${key}: ${acknowledged[0]?.value}`);
    return;
  }
  if (records.length > 1) report('two_records', `${key} is at ${offsetsOf(records)}`);
  const payloads = new Set(sends.map(({ payload }) => payload));
  for (const { payload, offset } of records) {
    if (!payloads.has(payload)) report('never_sent', `${key} at ${offset}: ${payload}`);
  }
  if (sends.every(({ outcome }) => outcome === 'refused')) {
    report('refused_stored', `${key} is at ${offsetsOf(records)}`);
  }
  const first = sends.find(({ outcome }) => outcome === 'queued');
  if (first !== undefined && !records.some(({ payload }) => payload === first.payload)) {
    report('other_queued', `${key}: ${first.value} was queued and ${record.payload} is stored`);
  }
}
