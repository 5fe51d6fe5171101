/**
 * Compares what a standby has committed with what its source has: every entry of the source with
 * effects up to the last one that is mirrored, in order, once, byte for byte. It reads the bytes by
 * itself, not with the engine's codecs.
 */
import type { Committed, Judge } from './judge.js';

const NORMAL = 0;
const HEADER_BYTES = 9;
/** Kind and length of an effect. */
const EFFECT_HEAD_BYTES = 5;
const ROLE_CODE = 0x21;
const MIRROR_CODE = 0x22;
const ID_BYTES = 8;

interface Mirrored {
  readonly previous: number;
  readonly index: number;
  readonly term: number;
  /** The entry as it was at the source. */
  readonly source: Uint8Array;
}

export interface Mirror {
  readonly wrong: readonly string[];
  /** Entries of the source that the standby holds. */
  readonly entries: number;
  /** The last of them; 0: there is none. */
  readonly position: number;
  /** The standby's entry that ended it; null: it is a standby still. */
  readonly promotedAt: number | null;
}

/** Entries that nobody who lived had when they were committed are left out, as in the judge. */
export function checkMirror(source: Judge, standby: Judge): Mirror {
  const wrong: string[] = [];
  let [entries, position, roles] = [0, 0, 0];
  let promotedAt: number | null = null;
  for (let at = 1; at <= standby.commit; at++) {
    const entry = standby.committed(at);
    if (entry === undefined || !hasEffects(entry)) continue;
    const mirrored = mirroredOf(entry.data);
    if (mirrored === null) {
      if (entry.data[HEADER_BYTES] === ROLE_CODE) roles++;
      const isPromotion = isPromotionEntry(entry.data);
      if (isPromotion && promotedAt === null) promotedAt = at;
      else if (promotedAt === null && entry.data[HEADER_BYTES] !== ROLE_CODE) {
        wrong.push(`not_mirrored: entry ${at} of the standby is its own`);
      }
      continue;
    }
    if (promotedAt !== null) {
      wrong.push(`mirrored_late: entry ${at} follows the promotion at ${promotedAt}`);
    }
    if (mirrored.previous !== position) {
      const { previous, index } = mirrored;
      wrong.push(`mirror_chain: ${index} follows ${previous}, the position was ${position}`);
    }
    wrong.push(...missed(source, position, mirrored.index), ...differences(source, mirrored));
    entries++;
    position = mirrored.index;
  }
  // It takes the role, may note its source, and is promoted.
  if (roles > 3) wrong.push(`roles: the standby has ${roles} role entries`);
  return { wrong, entries, position, promotedAt };
}

/** Entries of the source between two that follow each other at the standby. */
function missed(source: Judge, after: number, before: number): string[] {
  const found: string[] = [];
  for (let index = after + 1; index < before; index++) {
    const entry = source.committed(index);
    if (entry !== undefined && hasEffects(entry)) {
      found.push(`not_followed: source entry ${index} is missing between ${after} and ${before}`);
    }
  }
  return found;
}

function differences(source: Judge, { index, term, source: bytes }: Mirrored): string[] {
  const entry = source.committed(index);
  if (entry === undefined) return [];
  if (entry.type !== NORMAL) return [`mirror_differs: source entry ${index} has no effects`];
  if (entry.term !== term) {
    return [`mirror_differs: source entry ${index} has term ${entry.term}, mirrored as ${term}`];
  }
  if (Buffer.compare(withoutMirror(entry.data), bytes) === 0) return [];
  return [`mirror_differs: source entry ${index} has other bytes at the standby`];
}

function hasEffects({ type, data }: Committed): boolean {
  return type === NORMAL && data.length > 0;
}

/** The last entry that a standby of this cluster is to hold; 0: there is none. */
export function lastWithEffects(judge: Judge): number {
  for (let index = judge.commit; index > 0; index--) {
    const entry = judge.committed(index);
    if (entry !== undefined && hasEffects(entry)) return index;
  }
  return 0;
}

/** The entry that a standby at this position lacks; null: it has all. */
export function nextWithEffects(judge: Judge, position: number): number | null {
  for (let index = position + 1; index <= judge.commit; index++) {
    const entry = judge.committed(index);
    if (entry === undefined || hasEffects(entry)) return index;
  }
  return null;
}

/** null: it is no mirrored entry. */
function mirroredOf(data: Uint8Array): Mirrored | null {
  if (data[HEADER_BYTES] !== MIRROR_CODE) return null;
  let at = HEADER_BYTES + EFFECT_HEAD_BYTES;
  const varint = (): number => {
    for (let value = 0, unit = 1; ; unit *= 128) {
      const byte = data[at++] ?? 0;
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) return value;
    }
  };
  const [previous, index, term] = [varint(), varint(), varint()];
  return { previous, index, term, source: withoutMirror(data) };
}

/** As it was first planned: along a chain of standbys one such effect replaces another. */
function withoutMirror(data: Uint8Array): Uint8Array {
  if (data[HEADER_BYTES] !== MIRROR_CODE) return data;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const end = HEADER_BYTES + EFFECT_HEAD_BYTES + view.getUint32(HEADER_BYTES + 1);
  return Buffer.concat([data.subarray(0, HEADER_BYTES), data.subarray(end)]);
}

/** The role is the first byte of its row: a standby, or promoted. */
function isPromotionEntry(data: Uint8Array): boolean {
  if (data[HEADER_BYTES] !== ROLE_CODE) return false;
  const row = HEADER_BYTES + EFFECT_HEAD_BYTES;
  return data.length > row + ID_BYTES && data[row] === 1;
}
