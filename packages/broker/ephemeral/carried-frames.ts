/**
 * Rings on their way to another node, as bytes. A ring goes in parts, in order, the last of which
 * tells of its groups; a batch holds parts of many rings, or of one.
 *
 *     part:  place | incarnation | number | isLast u8 | count | (age ms, length) of each
 *            | groups if isLast | payloads
 *     group: name | isWhole u8 | next | skipped | count | (place, attempts) of each
 */
import { ByteWriter, type GuardedReader } from '@svc/engine';
import type { CarriedGroup, CarriedRing, RingPlace, StoredMessage } from '@svc/ephemeral';
import { EPHEMERAL_NAME_BYTES_MAX } from '@svc/wire';
import { askWriter, payloadsAfter, readPlace, writePlace } from './frames.js';

export interface RingPart {
  readonly place: RingPlace;
  /** Of the ring at the node that sends it. */
  readonly incarnation: number;
  /** From 0 on. */
  readonly number: number;
  readonly messages: readonly StoredMessage[];
  /** null: more parts follow. */
  readonly groups: readonly CarriedGroup[] | null;
}

const INCARNATION_MAX = 2 ** 48;
/** Of one ring; its own bounds are lower. */
const MESSAGES_MAX = 2 ** 31;
const GROUPS_MAX = 2 ** 20;
const PARTS_MAX = 2 ** 20;
const ATTEMPTS_MAX = 2 ** 20;
const PAYLOAD_BYTES_MAX = 2 ** 31;
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

/** Payloads are taken by reference. */
export function adoptParts(epoch: number, parts: readonly RingPart[], nowMs: number): Uint8Array[] {
  const bytes: Uint8Array[] = [];
  let w = askWriter('adopt');
  w.varint(epoch);
  w.varint(parts.length);
  for (const part of parts) {
    writePlace(w, part.place);
    w.varint(part.incarnation);
    w.varint(part.number);
    w.flag(part.groups !== null);
    w.varint(part.messages.length);
    for (const { atMs, start, end } of part.messages) {
      w.varint(Math.max(0, Math.round(nowMs - atMs)));
      w.varint(end - start);
    }
    if (part.groups !== null) writeGroups(w, part.groups);
    bytes.push(w.finish());
    for (const message of part.messages) {
      bytes.push(message.bytes.subarray(message.start, message.end));
    }
    w = new ByteWriter(PART_HEAD_BYTES);
  }
  return bytes;
}

export interface AskedAdopt {
  readonly epoch: number;
  readonly parts: readonly RingPart[];
}

/** The payloads are views of what was read: whoever keeps them copies them. */
export function readAdopt(r: GuardedReader, nowMs: number): AskedAdopt | null {
  const epoch = r.varint();
  const parts: RingPart[] = [];
  for (let left = r.count(8, PARTS_MAX); left > 0 && !r.refused; left--) {
    parts.push(readPart(r, nowMs));
  }
  return r.whole ? { epoch, parts } : null;
}

export function adoptedParts(w: ByteWriter, refused: readonly number[]): Uint8Array[] {
  w.varint(refused.length);
  for (const incarnation of refused) w.varint(incarnation);
  return [w.finish()];
}

/** Incarnations that were refused. */
export function readAdopted(r: GuardedReader): number[] | null {
  const refused: number[] = [];
  for (let left = r.count(1, PARTS_MAX); left > 0 && !r.refused; left--) {
    refused.push(r.within(0, INCARNATION_MAX));
  }
  return r.whole ? refused : null;
}

function readPart(r: GuardedReader, nowMs: number): RingPart {
  const place = readPlace(r);
  const incarnation = r.within(0, INCARNATION_MAX);
  const number = r.varint();
  const isLast = r.flag();
  const ages: number[] = [];
  const lengths: number[] = [];
  for (let left = r.count(2, MESSAGES_MAX); left > 0 && !r.refused; left--) {
    ages.push(r.varint());
    lengths.push(r.within(0, PAYLOAD_BYTES_MAX));
  }
  const groups = isLast ? readGroups(r) : null;
  const { bytes, start, end } = payloadsAfter(r, lengths);
  const messages = ages.map((ageMs, i) => ({
    bytes,
    start: start[i] ?? 0,
    end: end[i] ?? 0,
    atMs: nowMs - ageMs,
  }));
  return { place, incarnation, number, messages, groups };
}

function writeGroups(w: ByteWriter, groups: readonly CarriedGroup[]): void {
  w.varint(groups.length);
  for (const { name, isWhole, next, skipped, outstanding } of groups) {
    w.text(name);
    w.flag(isWhole);
    w.varint(next);
    w.varint(skipped);
    w.varint(outstanding.length);
    for (const [place, attempts] of outstanding) {
      w.varint(place);
      w.varint(attempts);
    }
  }
}

function readGroups(r: GuardedReader): CarriedGroup[] {
  const groups: CarriedGroup[] = [];
  for (let left = r.count(5, GROUPS_MAX); left > 0 && !r.refused; left--) {
    const name = r.text(EPHEMERAL_NAME_BYTES_MAX);
    const isWhole = r.flag();
    const next = r.within(0, MESSAGES_MAX);
    const skipped = r.varint();
    const outstanding: [number, number][] = [];
    for (let count = r.count(2, next); count > 0 && !r.refused; count--) {
      outstanding.push([r.within(0, next - 1), r.within(0, ATTEMPTS_MAX)]);
    }
    groups.push({ name, isWhole, next, outstanding, skipped });
  }
  return groups;
}
