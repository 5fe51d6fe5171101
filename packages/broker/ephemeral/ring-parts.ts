/**
 * Rings on their way to another node. A ring goes in parts, in order, the last of which tells of
 * its groups; a batch holds parts of many rings, or of one.
 */
import type { CarriedGroup, CarriedRing, RingPlace, StoredMessage } from '@svc/ephemeral';

export interface RingPart {
  readonly place: RingPlace;
  /** The incarnation of the ring at the node that sends it. */
  readonly incarnation: number;
  /** From 0 on. */
  readonly number: number;
  readonly messages: readonly StoredMessage[];
  /** null: more parts follow. */
  readonly groups: readonly CarriedGroup[] | null;
}

/** A ring is small beside it, unless its messages are large. */
const PART_HEAD_BYTES = 256;

/** Parts of at most so many bytes, but for a message that is larger by itself. */
export function partsOf(ring: CarriedRing, bytesMax: number): RingPart[] {
  const { incarnation, messages, groups } = ring;
  const place = { tenant: ring.tenant, queue: ring.queue, partition: ring.partition };
  const parts: RingPart[] = [];
  let from = 0;
  do {
    let bytes = 0;
    let to = from;
    for (; to < messages.length; to++) {
      const message = messages[to];
      const size = message === undefined ? 0 : message.end - message.start;
      if (to > from && bytes + size > bytesMax) break;
      bytes += size;
    }
    const isLast = to === messages.length;
    parts.push({
      place,
      incarnation,
      number: parts.length,
      messages: messages.slice(from, to),
      groups: isLast ? groups : null,
    });
    from = to;
  } while (from < messages.length);
  return parts;
}

/** Roughly what it takes in a batch. */
export function partBytes({ messages, groups }: RingPart): number {
  let bytes = PART_HEAD_BYTES + 8 * messages.length;
  for (const { start, end } of messages) bytes += end - start;
  for (const { outstanding } of groups ?? []) bytes += PART_HEAD_BYTES + 6 * outstanding.length;
  return bytes;
}
