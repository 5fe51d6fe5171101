/**
 * A history across the loss of a source, as the checkers are to see it. What the source answered
 * before `intactMs`, when it first had more than the standby came to hold, must stand. What it
 * answered between then and `switchedMs` may be lost with it or not: so it has no certain outcome.
 */
import type { Ack, Delivery, ReadRecord, Send } from '../checkers/history.js';
import type { SimulatedClients } from './simulated-clients.js';

export interface Cut {
  /** What is stored in the end. */
  readonly records: readonly ReadRecord[];
  readonly intactMs: number;
  readonly switchedMs: number;
  /** Leases that stood then may end early. */
  readonly leaseBreaksMs: readonly number[];
}

export interface CutHistory {
  readonly sends: readonly Send[];
  readonly acks: readonly Ack[];
  readonly deliveries: readonly Delivery[];
  readonly otherReads: readonly ReadRecord[];
  /** What clients saw that is wrong by itself. */
  readonly wrong: readonly string[];
}

const TAKEN_TWICE = 'taken twice';

type History = Pick<SimulatedClients, 'sends' | 'acks' | 'deliveries' | 'reads' | 'wrong'>;

export function cutHistory(
  { sends, acks, deliveries, reads, wrong }: History,
  { records, intactMs, switchedMs, leaseBreaksMs }: Cut,
): CutHistory {
  const isDoubtful = (endedMs: number) => endedMs > intactMs && endedMs <= switchedMs;
  const stored = new Map(records.map((record) => [placeOf(record), record]));
  const isStored = (read: ReadRecord) => {
    const record = stored.get(placeOf(read));
    return record?.payload === read.payload && record.transactionId === read.transactionId;
  };
  const idOf = new Map<string, string>();
  for (const { outcome, endedMs, partition, transactionId, messageId } of sends) {
    const isCertain = outcome === 'queued' && !isDoubtful(endedMs);
    if (isCertain && messageId !== null) idOf.set(`${partition} ${transactionId}`, messageId);
  }
  /** What was lost may have been sent again, and be stored at its old place by chance. */
  const isSame = ({ partition, transactionId, messageId }: Delivery) =>
    (idOf.get(`${partition} ${transactionId}`) ?? messageId) === messageId;
  const losesNothing = intactMs === Number.POSITIVE_INFINITY;
  const kept = deliveries
    .filter((one) => !isDoubtful(one.endedMs) || (isStored(one) && isSame(one)))
    .map((delivery) => {
      // A lease that was lost is over.
      const lostMs = isDoubtful(delivery.endedMs) ? [switchedMs] : [];
      return leased(delivery, [...lostMs, ...leaseBreaksMs]);
    });
  return {
    sends: sends.map((send) =>
      isDoubtful(send.endedMs) ? { ...send, outcome: 'unknown', messageId: null } : send,
    ),
    acks: acks.map((ack) => (isDoubtful(ack.endedMs) ? { ...ack, outcome: 'unknown' } : ack)),
    deliveries: kept,
    otherReads: [...(losesNothing ? reads : reads.filter(isStored)), ...kept],
    // A cursor that was moved in the tail goes back with it.
    wrong: losesNothing ? wrong : wrong.filter((text) => !text.startsWith(TAKEN_TWICE)),
  };
}

function placeOf({ partition, offset }: ReadRecord): string {
  return `${partition}@${offset}`;
}

/** A lease holds until wall clocks or a change of leader may have ended it early, or it is lost. */
function leased(delivery: Delivery, breaksMs: readonly number[]): Delivery {
  const { beganMs, endedMs, leaseMs } = delivery;
  const breaks = breaksMs.filter((atMs) => atMs >= beganMs && atMs <= endedMs + leaseMs);
  return { ...delivery, leaseMs: Math.min(leaseMs, ...breaks.map((atMs) => atMs - beganMs)) };
}
