/**
 * Judges timers: what was scheduled is delivered once, not early, unless it was cancelled or
 * replaced first, and then never.
 *
 * Each schedule has an id of its own, and the messages that timers became are read from their
 * queues at the end. Those queues deduplicate nothing: firing twice shows. One client at a time
 * uses a timer's key, so the order of its calls is known; but a call without an answer may have its
 * effect at any time since it began, so of a key with such a call only those rules are judged that
 * hold whatever it did.
 */
import { type Anomaly, groupBy } from './history.js';

export type TimerAnomalyKind =
  | 'fired_twice'
  /** A cancel was told that it had removed it. */
  | 'fired_after_cancel'
  /** A later schedule was told that it had replaced it. */
  | 'fired_after_reschedule'
  | 'early'
  /** No call can have removed it, and it has not fired although it is long due. */
  | 'lost'
  /** A schedule was refused, and fired. */
  | 'refused_fired'
  | 'never_scheduled'
  /** A cancel found nothing where something was pending, or removed what was not. */
  | 'wrong_verdict'
  /** Fired under another id than the one that was promised. */
  | 'message_id'
  | 'payload';

export type TimerAnomaly = Anomaly<TimerAnomalyKind>;

export interface TimerSchedule {
  /** Names the schedule and nothing else in the history. */
  readonly transactionId: string;
  readonly delayMs: number;
  readonly payload: string;
  /** `<queue>/<partition>` that it fires into. */
  readonly destination: string;
}

export interface TimerCall {
  readonly key: string;
  /** null: a cancel. */
  readonly schedule: TimerSchedule | null;
  readonly beganMs: number;
  readonly endedMs: number;
  readonly outcome: 'scheduled' | 'rescheduled' | 'cancelled' | 'absent' | 'refused' | 'unknown';
  /** For a schedule: the id that was promised. */
  readonly messageId: string | null;
  /** For a cancel: the transaction id of what it removed. */
  readonly removed: string | null;
}

/** A message in a queue that timers fire into. */
export interface FiredMessage {
  readonly destination: string;
  readonly transactionId: string;
  readonly messageId: string;
  readonly payload: string;
  /** When somebody had it first; infinite if it was seen at the end alone. */
  readonly seenMs: number;
}

export interface TimerHistory {
  readonly calls: readonly TimerCall[];
  /** All of them, read when every timer was long due. */
  readonly messages: readonly FiredMessage[];
  /** Instants at which the time of timers may have moved: what was pending may be early or late. */
  readonly clockBreaksMs: readonly number[];
}

type Report = (kind: TimerAnomalyKind, text: string) => void;

const EARLY_MS_MAX = 300;

export function checkTimers(history: TimerHistory): TimerAnomaly[] {
  const anomalies: TimerAnomaly[] = [];
  const report: Report = (kind, text) => anomalies.push({ kind, text });
  const fired = groupBy(history.messages, (message) => message.transactionId);
  checkMessages(history, fired, report);
  for (const [key, calls] of groupBy(history.calls, (call) => call.key)) {
    calls.sort((a, b) => a.beganMs - b.beganMs);
    calls.forEach((call, i) => {
      const before = calls[i - 1];
      if (before !== undefined && before.endedMs > call.beganMs) {
        throw new Error(`${key} was used by two clients at once: this history cannot be judged`);
      }
    });
    checkRemovals(key, calls, fired, report);
    checkKey(key, calls, fired, history, report);
  }
  return anomalies;
}

type Fired = ReadonlyMap<string, readonly FiredMessage[]>;

function checkMessages({ calls, clockBreaksMs }: TimerHistory, fired: Fired, report: Report): void {
  const callOf = new Map(calls.map((call) => [call.schedule?.transactionId ?? '', call]));
  for (const [id, messages] of fired) {
    if (messages.length > 1) report('fired_twice', `${id}: ${messages.length} messages`);
    const call = callOf.get(id);
    if (call === undefined || call.schedule === null) {
      report('never_scheduled', `${id} was scheduled by nobody`);
      continue;
    }
    if (call.outcome === 'refused') report('refused_fired', `${id} was refused, and fired`);
    for (const message of messages) checkMessage(call, call.schedule, message, report);
    const seenMs = Math.min(...messages.map((message) => message.seenMs));
    const dueMs = call.beganMs + call.schedule.delayMs;
    const isTimed = !clockBreaksMs.some((atMs) => atMs >= call.beganMs && atMs <= seenMs);
    if (isTimed && seenMs < dueMs - EARLY_MS_MAX) {
      report('early', `${id} was there ${(dueMs - seenMs).toFixed(0)} ms before it was due`);
    }
  }
}

function checkMessage(
  call: TimerCall,
  schedule: TimerSchedule,
  { destination, messageId, payload }: FiredMessage,
  report: Report,
): void {
  const { transactionId } = schedule;
  if (call.messageId !== null && call.messageId !== messageId) {
    report('message_id', `${transactionId} was promised as ${call.messageId}: ${messageId}`);
  }
  if (payload !== schedule.payload || destination !== schedule.destination) {
    report(
      'payload',
      `${transactionId}, ${schedule.payload} for ${schedule.destination}, ` +
        `fired as ${payload} into ${destination}`,
    );
  }
}

/** A cancel names what it removed, so this holds whatever else is not known of the key. */
function checkRemovals(
  key: string,
  calls: readonly TimerCall[],
  fired: Fired,
  report: Report,
): void {
  const scheduled = new Set(calls.map(({ schedule }) => schedule?.transactionId));
  const removed = new Set<string>();
  for (const call of calls) {
    if (call.outcome !== 'cancelled' || call.removed === null) continue;
    const id = call.removed;
    if (fired.has(id)) report('fired_after_cancel', `${key}: ${id}`);
    if (removed.has(id)) report('wrong_verdict', `${key}: ${id} was cancelled twice`);
    if (!scheduled.has(id)) report('wrong_verdict', `${key}: ${id} was cancelled, of nobody`);
    removed.add(id);
  }
}

/** Follows what is pending under a key, as long as that is known. */
function checkKey(
  key: string,
  calls: readonly TimerCall[],
  fired: Fired,
  { clockBreaksMs }: TimerHistory,
  report: Report,
): void {
  if (calls.some(({ outcome }) => outcome === 'unknown')) return;
  let pending: TimerCall | null = null;
  for (const call of calls) {
    if (call.outcome === 'refused') continue;
    const id = pending?.schedule?.transactionId ?? null;
    const replaces = call.outcome === 'rescheduled' || call.outcome === 'cancelled';
    if (replaces && pending === null) {
      report('wrong_verdict', `${key}: ${call.outcome} what nobody had scheduled`);
    } else if (call.outcome === 'rescheduled' && id !== null && fired.has(id)) {
      report('fired_after_reschedule', `${key}: ${id}`);
    } else if (call.outcome === 'cancelled' && id !== call.removed) {
      report('wrong_verdict', `${key}: ${call.removed} was cancelled, ${id} was pending`);
    } else if (!replaces && pending !== null) {
      if (!isMaybeDue(pending, call.endedMs, clockBreaksMs)) {
        report('wrong_verdict', `${key}: ${call.outcome}, although ${id} was pending`);
      }
      if (id !== null && !fired.has(id)) report('lost', `${key}: ${id} was gone, and never fired`);
    }
    if (call.schedule !== null) pending = call;
    else pending = null;
  }
  if (pending === null) return;
  const id = pending.schedule?.transactionId ?? '';
  const { beganMs } = pending;
  const isTimed = clockBreaksMs.every((atMs) => atMs < beganMs);
  if (isTimed && !fired.has(id)) report('lost', `${key}: ${id} never fired`);
}

function isMaybeDue(
  { schedule, beganMs }: TimerCall,
  nowMs: number,
  clockBreaksMs: readonly number[],
): boolean {
  const dueMs = beganMs + (schedule?.delayMs ?? 0) - EARLY_MS_MAX;
  return nowMs >= dueMs || clockBreaksMs.some((atMs) => atMs >= beganMs && atMs <= nowMs);
}
