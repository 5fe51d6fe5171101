/**
 * Judges a history of pushes and reads by offset: what was acknowledged is there once, in order,
 * and nothing else is.
 *
 * Order is judged by real time and not by request: when the push of A was answered before the push
 * of B began, A stands before B in their partition. Two pushes that overlap in time may stand
 * either way. A message that was sent more than once counts from its first attempt to its first
 * answer.
 */
import { type Anomaly, groupBy, type ReadRecord, type Send, ZERO_ID } from './history.js';

export type LogAnomalyKind =
  /** An acknowledged message is in no record of its partition. */
  | 'lost'
  | 'value_at_two_offsets'
  | 'two_values_at_offset'
  | 'order'
  /** The offsets that a partition shows are not 0, 1, 2, ... */
  | 'gap'
  /** Every attempt was refused for good, and the message is stored all the same. */
  | 'refused_read'
  | 'never_sent'
  | 'wrong_partition'
  /** One transaction id was answered `queued` twice. */
  | 'two_queued'
  /** `duplicate` named another message than the one that was stored. */
  | 'wrong_original'
  /** A message is stored under its value's id with other bytes. */
  | 'payload';

export type LogAnomaly = Anomaly<LogAnomalyKind>;

export interface LogHistory {
  readonly sends: readonly Send[];
  /** Every partition from its first record to its last, read after the last push. */
  readonly records: readonly ReadRecord[];
  /** Whatever else was read at any time, in any order, any number of times. */
  readonly otherReads: readonly ReadRecord[];
  /** The value of a payload text; null when no client wrote it. */
  readonly readValue: (payload: string) => string | null;
}

interface Message {
  readonly value: string;
  readonly partition: string;
  readonly payload: string;
  readonly sends: readonly Send[];
  readonly beganMs: number;
  /** When the first answer acknowledged it; infinite without one. */
  readonly ackedMs: number;
  readonly refused: boolean;
}

export function checkLog(history: LogHistory): LogAnomaly[] {
  const anomalies: LogAnomaly[] = [];
  const report = (kind: LogAnomalyKind, text: string) => anomalies.push({ kind, text });
  const messages = new Map<string, Message>();
  for (const [value, sends] of groupBy(history.sends, (send) => send.value)) {
    const message = messageOf(value, sends);
    messages.set(value, message);
    checkAnswers(message, report);
  }
  const offsetOf = checkRecords(history, messages, report);
  for (const message of messages.values()) {
    if (message.ackedMs < Number.POSITIVE_INFINITY && !offsetOf.has(message.value)) {
      report('lost', `${message.value} was acknowledged and is not in ${message.partition}`);
    }
  }
  checkOtherReads(history, report);
  checkOrder(messages, offsetOf, report);
  checkCalls(history.sends, offsetOf, report);
  return anomalies;
}

type Report = (kind: LogAnomalyKind, text: string) => void;

function messageOf(value: string, sends: readonly Send[]): Message {
  const first = sends[0] as Send;
  let beganMs = Number.POSITIVE_INFINITY;
  let ackedMs = Number.POSITIVE_INFINITY;
  for (const send of sends) {
    beganMs = Math.min(beganMs, send.beganMs);
    if (acknowledged(send)) ackedMs = Math.min(ackedMs, send.endedMs);
  }
  const { partition, payload } = first;
  const refused = sends.every((send) => send.outcome === 'refused');
  return { value, partition, payload, sends, beganMs, ackedMs, refused };
}

function acknowledged(send: Send): boolean {
  return send.outcome === 'queued' || send.outcome === 'duplicate';
}

function checkAnswers(message: Message, report: Report): void {
  const queued = message.sends.filter((send) => send.outcome === 'queued');
  if (queued.length > 1) {
    report('two_queued', `${message.value} was answered "queued" ${queued.length} times`);
  }
  const ids = new Set<string>();
  for (const send of message.sends) {
    if (acknowledged(send) && send.messageId !== null && send.messageId !== ZERO_ID) {
      ids.add(send.messageId);
    }
  }
  if (ids.size > 1) {
    report('wrong_original', `${message.value} was answered with the ids ${[...ids].join(', ')}`);
  }
}

/** Returns the offset of each value that is in its partition. */
function checkRecords(
  history: LogHistory,
  messages: ReadonlyMap<string, Message>,
  report: Report,
): Map<string, number> {
  const offsetOf = new Map<string, number>();
  for (const [partition, records] of groupBy(history.records, (record) => record.partition)) {
    let expected = 0;
    for (const record of [...records].sort((a, b) => a.offset - b.offset)) {
      if (record.offset !== expected) {
        const what = `${partition} goes from offset ${expected - 1} to ${record.offset}`;
        report(record.offset < expected ? 'two_values_at_offset' : 'gap', what);
      }
      expected = record.offset + 1;
      checkRecord(record, history.readValue(record.payload), messages, offsetOf, report);
    }
  }
  return offsetOf;
}

function checkRecord(
  record: ReadRecord,
  value: string | null,
  messages: ReadonlyMap<string, Message>,
  offsetOf: Map<string, number>,
  report: Report,
): void {
  const place = `${record.partition} at ${record.offset}`;
  const message = value === null ? undefined : messages.get(value);
  if (value === null || message === undefined) {
    report('never_sent', `${place} holds ${record.payload}, which nobody sent`);
    return;
  }
  if (message.partition !== record.partition) {
    report('wrong_partition', `${value} was sent to ${message.partition} and is in ${place}`);
    return;
  }
  const before = offsetOf.get(value);
  if (before !== undefined) {
    report('value_at_two_offsets', `${value} is at ${before} and at ${record.offset} (${place})`);
  }
  offsetOf.set(value, record.offset);
  if (message.refused) report('refused_read', `${value} was refused and is in ${place}`);
  const id = message.sends[0]?.transactionId ?? null;
  if (message.payload !== record.payload || (id !== null && id !== record.transactionId)) {
    report('payload', `${place}: ${record.transactionId} ${record.payload} is not what was sent`);
  }
}

function checkOtherReads(history: LogHistory, report: Report): void {
  const known = new Map<string, ReadRecord>();
  for (const record of history.records) known.set(`${record.partition}@${record.offset}`, record);
  for (const read of history.otherReads) {
    const place = `${read.partition}@${read.offset}`;
    const record = known.get(place);
    if (record === undefined) {
      report('lost', `${place} was read as ${read.payload} and is not there any more`);
    } else if (record.payload !== read.payload || record.transactionId !== read.transactionId) {
      report(
        'two_values_at_offset',
        `${place} was read as ${read.transactionId} ${read.payload} ` +
          `and as ${record.transactionId} ${record.payload}`,
      );
    }
  }
}

/** Sweeps each partition by offset with the latest beginning seen so far. */
function checkOrder(
  messages: ReadonlyMap<string, Message>,
  offsetOf: ReadonlyMap<string, number>,
  report: Report,
): void {
  const stored = [...messages.values()].filter((message) => offsetOf.has(message.value));
  for (const own of groupBy(stored, (message) => message.partition).values()) {
    own.sort((a, b) => (offsetOf.get(a.value) ?? 0) - (offsetOf.get(b.value) ?? 0));
    let latest: Message | null = null;
    for (const message of own) {
      if (latest !== null && message.ackedMs < latest.beganMs) {
        report(
          'order',
          `${message.value} was acknowledged before ${latest.value} was sent and stands after it ` +
            `in ${message.partition}`,
        );
      }
      if (latest === null || message.beganMs > latest.beganMs) latest = message;
    }
  }
}

/**
 * Messages that one call stored in one partition stand in the order of the request, one right after
 * the other. A message that an earlier attempt had stored already is not part of that run.
 */
function checkCalls(
  sends: readonly Send[],
  offsetOf: ReadonlyMap<string, number>,
  report: Report,
): void {
  const queued = sends.filter((send) => send.outcome === 'queued' && offsetOf.has(send.value));
  for (const run of groupBy(queued, (send) => `${send.call} ${send.partition}`).values()) {
    run.sort((a, b) => a.index - b.index);
    run.forEach((send, i) => {
      const before = run[i - 1];
      if (before === undefined) return;
      const from = offsetOf.get(before.value) ?? 0;
      const to = offsetOf.get(send.value) ?? 0;
      if (to === from + 1) return;
      report(
        'order',
        `call ${send.call} stored ${before.value} at ${from} and ${send.value}, its next, at ${to}`,
      );
    });
  }
}
