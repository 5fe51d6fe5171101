/**
 * Judges a history of deliveries and acks: every message of the log reaches every group, never
 * after its ack, never to two holders at once.
 *
 * A client knows only when a request began and ended, and the broker acted somewhere in between.
 * Each rule therefore reports what is wrong for every instant at which the broker could have acted,
 * and keeps silent when one instant would be right. A pop that got no answer is no delivery.
 */
import {
  type Ack,
  type Anomaly,
  type Delivery,
  groupBy,
  type ReadRecord,
  type Send,
} from './history.js';

export type QueueAnomalyKind =
  /** A stored message was never delivered to a group that ran until its queue was empty. */
  | 'lost'
  /** The group's last ack does not cover the end of the partition. */
  | 'unfinished'
  | 'acked_twice'
  /** Delivered by a pop that began after an ack at or above the message had succeeded. */
  | 'redelivered'
  | 'overlapping_leases'
  /** What one pop delivered of one partition is not one run of offsets, ascending. */
  | 'gap_in_pop'
  | 'payload'
  /** The id of a delivered message is not the one that its push was answered with. */
  | 'message_id'
  /** An ack was refused although its lease cannot have ended. */
  | 'valid_ack_refused';

export type QueueAnomaly = Anomaly<QueueAnomalyKind>;

export interface QueueHistory {
  readonly sends: readonly Send[];
  /** The log at the end, which every group is expected to have consumed. */
  readonly records: readonly ReadRecord[];
  readonly groups: readonly string[];
  readonly deliveries: readonly Delivery[];
  readonly acks: readonly Ack[];
}

/** How far the clients' clock and the broker's may drift apart over one lease. */
const CLOCK_MARGIN_MS = 20;

type Report = (kind: QueueAnomalyKind, text: string) => void;

export function checkQueue(history: QueueHistory): QueueAnomaly[] {
  const anomalies: QueueAnomaly[] = [];
  const report: Report = (kind, text) => anomalies.push({ kind, text });
  const deliveries = groupBy(history.deliveries, placeOf);
  const acks = groupBy(history.acks, placeOf);
  for (const place of new Set([...deliveries.keys(), ...acks.keys()])) {
    const delivered = deliveries.get(place) ?? [];
    const acked = acks.get(place) ?? [];
    const claims = claimsOf(delivered, acked);
    checkAckedTwice(place, acked, report);
    checkRedelivered(place, delivered, acked, report);
    checkOverlaps(place, claims, report);
    checkRuns(place, claims, report);
    checkRefusals(place, claims, acked, report);
  }
  checkContents(history, report);
  checkCompleteness(history, deliveries, acks, report);
  return anomalies;
}

function placeOf(item: { readonly group: string; readonly partition: string }): string {
  return `${item.group} on ${item.partition}`;
}

/** What one pop took of one partition. */
interface Claim {
  readonly leaseId: string;
  readonly offsets: readonly number[];
  readonly beganMs: number;
  readonly endedMs: number;
  /** The lease was held at least until then: its time, or the first ack that may have ended it. */
  readonly heldUntilMs: number;
  /** The lease's time alone. */
  readonly leasedUntilMs: number;
}

function claimsOf(deliveries: readonly Delivery[], acks: readonly Ack[]): Claim[] {
  const acksOf = groupBy(acks, (ack) => ack.leaseId);
  const claims: Claim[] = [];
  for (const own of groupBy(deliveries, (delivery) => `${delivery.call}`).values()) {
    const { leaseId, beganMs, endedMs, leaseMs } = own[0] as Delivery;
    const offsets = own.map((delivery) => delivery.offset);
    const last = Math.max(...offsets);
    const leasedUntilMs = beganMs + leaseMs - CLOCK_MARGIN_MS;
    let heldUntilMs = leasedUntilMs;
    for (const ack of acksOf.get(leaseId) ?? []) {
      if (ack.signal || ack.offset >= last) heldUntilMs = Math.min(heldUntilMs, ack.beganMs);
    }
    claims.push({ leaseId, offsets, beganMs, endedMs, heldUntilMs, leasedUntilMs });
  }
  return claims.sort((a, b) => a.beganMs - b.beganMs);
}

function checkAckedTwice(place: string, acks: readonly Ack[], report: Report): void {
  const done = new Set<number>();
  for (const ack of acks) {
    if (ack.outcome !== 'done') continue;
    if (done.has(ack.offset)) report('acked_twice', `${place}: offset ${ack.offset}`);
    done.add(ack.offset);
  }
}

/** An ack is cumulative: the highest offset acked before a pop began bounds what it delivers. */
function checkRedelivered(
  place: string,
  deliveries: readonly Delivery[],
  acks: readonly Ack[],
  report: Report,
): void {
  const succeeded = acks
    .filter((ack) => ack.outcome === 'done' || ack.outcome === 'noop')
    .sort((a, b) => a.endedMs - b.endedMs);
  const byBegin = [...deliveries].sort((a, b) => a.beganMs - b.beganMs);
  let next = 0;
  let acked = -1;
  for (const delivery of byBegin) {
    for (;;) {
      const ack = succeeded[next];
      if (ack === undefined || ack.endedMs >= delivery.beganMs) break;
      acked = Math.max(acked, ack.offset);
      next++;
    }
    if (delivery.offset <= acked) {
      report(
        'redelivered',
        `${place}: offset ${delivery.offset} by a pop begun at ` +
          `${delivery.beganMs.toFixed(1)} ms, after ${acked} had been acked`,
      );
    }
  }
}

/** Two claims overlap when in either order the later one lies inside the earlier one's hold. */
function checkOverlaps(place: string, claims: readonly Claim[], report: Report): void {
  for (let i = 0; i < claims.length; i++) {
    const first = claims[i] as Claim;
    for (let j = i + 1; j < claims.length; j++) {
      const second = claims[j] as Claim;
      if (second.beganMs > first.leasedUntilMs) break;
      const firstMayLead = first.beganMs <= second.endedMs;
      const secondMayLead = second.beganMs <= first.endedMs;
      const wrongIfFirstLeads = second.endedMs <= first.heldUntilMs;
      const wrongIfSecondLeads = first.endedMs <= second.heldUntilMs;
      if ((firstMayLead && !wrongIfFirstLeads) || (secondMayLead && !wrongIfSecondLeads)) continue;
      report(
        'overlapping_leases',
        `${place}: ${first.leaseId} (offsets ${first.offsets.join(' ')}) and ` +
          `${second.leaseId} (offsets ${second.offsets.join(' ')})`,
      );
    }
  }
}

function checkRuns(place: string, claims: readonly Claim[], report: Report): void {
  for (const { leaseId, offsets } of claims) {
    const run = offsets.every((offset, i) => i === 0 || offset === (offsets[i - 1] ?? 0) + 1);
    if (!run) report('gap_in_pop', `${place}: lease ${leaseId} has ${offsets.join(' ')}`);
  }
}

function checkRefusals(
  place: string,
  claims: readonly Claim[],
  acks: readonly Ack[],
  report: Report,
): void {
  const claimOf = new Map(claims.map((claim) => [claim.leaseId, claim]));
  // What got no answer may have ended the lease, and the broker remembers only the last one it
  // ended.
  const doubtful = new Set(
    acks.filter((ack) => ack.outcome === 'unknown').map((ack) => ack.leaseId),
  );
  for (const ack of acks) {
    const claim = claimOf.get(ack.leaseId);
    if (ack.outcome !== 'refused' || ack.signal || claim === undefined) continue;
    if (doubtful.has(ack.leaseId)) continue;
    if (ack.endedMs < claim.leasedUntilMs) {
      report('valid_ack_refused', `${place}: offset ${ack.offset} under lease ${ack.leaseId}`);
    }
  }
}

function checkContents(history: QueueHistory, report: Report): void {
  const payloadOf = new Map<string, string>();
  const messageIdOf = new Map<string, string>();
  for (const send of history.sends) {
    const key = `${send.partition} ${send.transactionId ?? send.messageId ?? ''}`;
    payloadOf.set(key, send.payload);
    if (send.outcome === 'queued' && send.messageId !== null) {
      messageIdOf.set(key, send.messageId);
    }
  }
  for (const delivery of history.deliveries) {
    const { partition, offset, transactionId, payload, messageId } = delivery;
    const key = `${partition} ${transactionId}`;
    const sent = payloadOf.get(key);
    if (sent !== undefined && sent !== payload) {
      report('payload', `${partition}@${offset}: ${transactionId} was sent as ${sent}: ${payload}`);
    }
    const answered = messageIdOf.get(key);
    if (answered !== undefined && answered !== messageId) {
      report('message_id', `${partition}@${offset}: answered ${answered}, delivered ${messageId}`);
    }
  }
}

/** A signal without an answer may have filed its message. */
function covers({ outcome, signal }: Ack): boolean {
  return outcome === 'done' || outcome === 'noop' || (signal && outcome === 'unknown');
}

function checkCompleteness(
  history: QueueHistory,
  deliveries: ReadonlyMap<string, readonly Delivery[]>,
  acks: ReadonlyMap<string, readonly Ack[]>,
  report: Report,
): void {
  for (const [partition, records] of groupBy(history.records, (record) => record.partition)) {
    for (const group of history.groups) {
      const place = placeOf({ group, partition });
      const seen = new Set((deliveries.get(place) ?? []).map((delivery) => delivery.offset));
      let last = -1;
      for (const { offset } of records) {
        last = Math.max(last, offset);
        if (!seen.has(offset)) report('lost', `${place}: offset ${offset} was never delivered`);
      }
      let acked = -1;
      for (const ack of acks.get(place) ?? []) {
        if (covers(ack)) acked = Math.max(acked, ack.offset);
      }
      if (acked < last) report('unfinished', `${place}: acked up to ${acked} of ${last}`);
    }
  }
}
